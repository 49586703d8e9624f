/**
 * Consumer offsets as RocketMQ keeps them: `config/consumerOffset.json`, and where light queues are
 * on `config/lmqConsumerOffset.json` alone. Read by consumer-offset-parser.ts.
 */
import { LMQ_PREFIX } from './lmq.ts';

/** Where a group is in a queue. */
export interface ConsumerOffset {
  readonly group: string;
  /** The topic; of a light queue, its full name. */
  readonly topic: string;
  readonly queueId: number;
  /** Of the next message that the group will take. */
  readonly offset: number;
}

/** The files, in the order of their numbers in native. */
export const CONSUMER_OFFSET_FILES = ['consumerOffset', 'lmqConsumerOffset'] as const;
export type ConsumerOffsetFile = (typeof CONSUMER_OFFSET_FILES)[number];

/**
 * The text of a file, a part for each page of offsets. They come with groups that are named like
 * light queues (`%LMQ%…`) last, which the second file alone holds, and the queues of one topic and
 * group together. `rest` are members of the file that are not ours. `timestamp` is when, in ms.
 */
export function* consumerOffsetText(
  file: ConsumerOffsetFile,
  pages: Iterable<readonly ConsumerOffset[]>,
  rest: ReadonlyMap<string, string> = new Map(),
  timestamp = Date.now(),
): Generator<string, void> {
  // A broker that keeps its metadata in RocksDB takes in only a counter above its own 0.
  const dataVersion = JSON.stringify({ counter: 1, stateVersion: 0, timestamp });
  const others = [...rest].map(([name, text]) => `${JSON.stringify(name)}:${text},`);
  yield `{"dataVersion":${dataVersion},${others.join('')}"offsetTable":{`;
  let last: ConsumerOffset | undefined;
  let isLight = false;
  for (const page of pages) {
    let text = '';
    for (const one of page) {
      const { group, topic, queueId, offset } = one;
      if (group.startsWith(LMQ_PREFIX)) {
        if (file === 'consumerOffset') break;
        if (!isLight) text += `${last ? '}' : ''}},"lmqOffsetTable":{`;
        text += `${isLight ? ',' : ''}${JSON.stringify(`${topic}@${group}`)}:${offset}`;
        isLight = true;
      } else if (last?.group === group && last.topic === topic) {
        text += `,"${queueId}":${offset}`;
      } else {
        text += `${last ? '},' : ''}${JSON.stringify(`${topic}@${group}`)}:{"${queueId}":${offset}`;
      }
      last = one;
    }
    yield text;
  }
  yield `${last && !isLight ? '}' : ''}}${file === 'consumerOffset' || isLight ? '' : ',"lmqOffsetTable":{}'}}\n`;
}

/** JSON with quotes around the integer keys that have none. Strings are passed as they are. */
export function quotedKeys(json: string): string {
  return json.replace(
    /"[^"\\]*(?:\\.[^"\\]*)*"|([{,]\s*)(-?\d+)(?=\s*:)/g,
    (text, before?: string, key?: string) => (key === undefined ? text : `${before}"${key}"`),
  );
}
