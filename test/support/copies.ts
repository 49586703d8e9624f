// What two stores have to share for one to be a copy of the other.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { StoreReader } from '../../lib/index.ts';
import { lightQueuesOf, messagesOf, quiet } from './stores.ts';

/** Small files, so that every copy has several of each. */
export const small = { ...quiet, mappedFileSizeCommitLog: 4096, mappedFileSizeConsumeQueue: 400 };

export type Said = Record<string, readonly [min: number, max: number, ...messages: string[]]>;

/** Bounds and messages of every queue. */
export function saidBy(store: StoreReader): Said {
  const said: Record<string, [number, number, ...string[]]> = {};
  const ask = (name: string, queue: ReturnType<StoreReader['queue']>) => {
    said[name] = [queue.minOffset, queue.maxOffset];
    for (const m of messagesOf(queue)) {
      said[name].push(`${m.offset} ${m.physicalOffset} ${m.tags} ${m.text()}`);
    }
  };
  for (const { topic, queueId } of store.queues())
    ask(`${topic}:${queueId}`, store.queue(topic, queueId));
  for (const name of lightQueuesOf(store).sort()) ask(name, store.lmq(name));
  return said;
}

/** Names beside a directory: a copy must leave none. */
export const besides = (dir: string): string[] => {
  const name = path.basename(dir);
  return readdirSync(path.dirname(dir)).filter((one) => one.startsWith(name) && one !== name);
};
