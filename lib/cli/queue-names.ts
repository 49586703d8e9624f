/** How queues are named on the command line: `topic:id`, and `%LMQ%name` for a light queue. */
import type { Queue, StoreReader } from '../index.ts';
import { LMQ_PREFIX } from '../lmq.ts';

export interface QueueName {
  readonly topic: string;
  readonly queueId: number;
}

export const isLight = (name: string): boolean => name.startsWith(LMQ_PREFIX);

export const queueName = (topic: string, queueId: number): string =>
  isLight(topic) ? topic : `${topic}:${queueId}`;

/** Undefined if no queue is named so. A topic may hold colons. */
export function parseQueueName(name: string): QueueName | undefined {
  if (isLight(name)) return { topic: name, queueId: 0 };
  const [, topic, id] = /^(.+):(\d+)$/s.exec(name) ?? [];
  return topic === undefined ? undefined : { topic, queueId: Number(id) };
}

export function openQueue(reader: StoreReader, name: string): Queue {
  if (isLight(name)) return reader.lmq(name);
  const { topic, queueId } = parseQueueName(name)!;
  return reader.queue(topic, queueId);
}

/** Full names of light queues, in the order in which they came to be. */
export function* lightQueueNames(reader: StoreReader, prefix = ''): Generator<string> {
  let cursor: string | undefined;
  do {
    const page = reader.lmqs({
      ...(prefix && { prefix }),
      ...(cursor !== undefined && { cursor }),
    });
    for (const name of page.names) yield isLight(name) ? name : LMQ_PREFIX + name;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
