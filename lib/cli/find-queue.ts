/** The queue that a command is about. */
import type { Queue, StoreReader } from '../index.ts';
import { CommandError } from './errors.ts';
import { printable, UsageError } from './output.ts';
import { isLight, lightQueueNames, openQueue, parseQueueName } from './queue-names.ts';

/** A name that no queue can have is wrong usage, before anything is opened. */
export function assertQueueName(name: string): void {
  if (parseQueueName(name)) return;
  throw new UsageError(`'${printable(name)}' is no queue: write topic:id or %LMQ%name`);
}

/** Fails if the store has no queue of that name. */
export function findQueue(reader: StoreReader, path: string, name: string): Queue {
  assertQueueName(name);
  const queue = openQueue(reader, name);
  if (queue.maxOffset > 0 || isKnown(reader, name)) return queue;
  const hint = '`lmq-store queues DIR` lists those that are there.';
  throw new CommandError('QUEUE_NOT_FOUND', `there is no queue ${name} in ${path}`, hint);
}

/** For a queue without messages, whose bounds are those of a queue that never was. */
function isKnown(reader: StoreReader, name: string): boolean {
  if (!isLight(name)) {
    const { topic, queueId } = parseQueueName(name)!;
    return reader.queues(topic).some((queue) => queue.queueId === queueId);
  }
  for (const found of lightQueueNames(reader, name)) if (found === name) return true;
  return false;
}
