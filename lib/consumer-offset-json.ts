/**
 * Consumer offsets as RocketMQ keeps them: `config/consumerOffset.json`, and where light queues are
 * on `config/lmqConsumerOffset.json` alone. Its writer leaves integer keys without quotes.
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

/** The content of both files. */
export interface ConsumerOffsetFiles {
  readonly consumerOffset: string;
  /** The one that a broker with `enableLmq` reads. */
  readonly lmqConsumerOffset: string;
}

/**
 * RocketMQ's two files for these offsets. Groups named like light queues (`%LMQ%…`) have a table of
 * their own, in the second file alone. `timestamp` is when, in ms: RocketMQ's data version has it.
 */
export function consumerOffsetJson(
  offsets: Iterable<ConsumerOffset>,
  timestamp = Date.now(),
): ConsumerOffsetFiles {
  const tables = new Map<string, string[]>();
  const light = new Map<string, number>();
  for (const { group, topic, queueId, offset } of offsets) {
    const key = `${topic}@${group}`;
    if (group.startsWith(LMQ_PREFIX)) {
      light.set(key, offset);
      continue;
    }
    const entry = `${JSON.stringify(String(queueId))}:${offset}`;
    const table = tables.get(key);
    if (table) table.push(entry);
    else tables.set(key, [entry]);
  }
  const offsetTable = object([...tables].map(([key, entries]) => [key, braced(entries)]));
  const lmqOffsetTable = object([...light].map(([key, offset]) => [key, String(offset)]));
  // A broker that keeps its metadata in RocksDB takes in only a counter above its own 0.
  const dataVersion = JSON.stringify({ counter: 1, stateVersion: 0, timestamp });
  const head = `{"dataVersion":${dataVersion},`;
  return {
    consumerOffset: `${head}"offsetTable":${offsetTable}}\n`,
    lmqConsumerOffset: `${head}"lmqOffsetTable":${lmqOffsetTable},"offsetTable":${offsetTable}}\n`,
  };
}

/** The offsets in either file, whatever else it holds. Throws a SyntaxError where it is damaged. */
export function parseConsumerOffsets(json: string): ConsumerOffset[] {
  const root = table(JSON.parse(quotedKeys(json)), 'the file');
  const found: ConsumerOffset[] = [];
  for (const [key, queues] of entriesOf(root['offsetTable'], 'offsetTable')) {
    const { topic, group } = placeOf(key);
    for (const [id, offset] of entriesOf(queues, key)) {
      found.push({
        group,
        topic,
        queueId: integer(Number(id), key, 2 ** 31 - 1),
        offset: integer(offset, key),
      });
    }
  }
  for (const [key, offset] of entriesOf(root['lmqOffsetTable'], 'lmqOffsetTable')) {
    found.push({ ...placeOf(key), queueId: 0, offset: integer(offset, key) });
  }
  return found;
}

/** JSON with quotes around the integer keys that have none. Strings are passed as they are. */
export function quotedKeys(json: string): string {
  return json.replace(
    /"[^"\\]*(?:\\.[^"\\]*)*"|([{,]\s*)(-?\d+)(?=\s*:)/g,
    (text, before?: string, key?: string) => (key === undefined ? text : `${before}"${key}"`),
  );
}

function object(members: readonly (readonly [key: string, value: string])[]): string {
  return braced(members.map(([key, value]) => `${JSON.stringify(key)}:${value}`));
}

function braced(members: readonly string[]): string {
  return `{${members.join(',')}}`;
}

function table(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new SyntaxError(`${name} is no table.`);
}

function entriesOf(value: unknown, name: string): [string, unknown][] {
  return value === undefined || value === null ? [] : Object.entries(table(value, name));
}

/** RocketMQ joins with '@', which neither a topic nor a group of a client's can hold. */
function placeOf(key: string): { topic: string; group: string } {
  const at = key.lastIndexOf('@');
  if (at <= 0 || at === key.length - 1) throw new SyntaxError(`${key} is no topic and group.`);
  return { topic: key.slice(0, at), group: key.slice(at + 1) };
}

function integer(value: unknown, name: string, most = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most) {
    return value as number;
  }
  throw new SyntaxError(`${name} has ${String(value)} where an offset should be.`);
}
