// A directory that RocketMQ could have left: a commit log and no more. Neither opening it nor reading
// it may lose a message, however many files the log has.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MessageStore, type StoreReader } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { messagesOf, quiet } from './support/stores.ts';

const FILES = 24;
const fresh = freshDirectories();
const ours = ['lmq-store.json', 'lmq', 'state', 'work', 'consumequeue', 'checkpoint'];

async function logOnly(): Promise<{ dir: string; count: number }> {
  const dir = fresh();
  const store = await MessageStore.open({ ...quiet, path: dir, mappedFileSizeCommitLog: 4096 });
  let count = 0;
  while (
    store.append({ topic: 't', body: `m${count}`, lmq: ['a'] }).physicalOffset <
    FILES * 4096
  ) {
    count++;
  }
  await store.close();
  for (const name of ours) rmSync(path.join(dir, name), { recursive: true, force: true });
  return { dir, count: count + 1 };
}

function expectAll(store: StoreReader, count: number): void {
  const bodies = Array.from({ length: count }, (_, i) => `m${i}`);
  expect(messagesOf(store.queue('t')).map((message) => message.text())).toEqual(bodies);
  expect(messagesOf(store.lmq('a')).map((message) => message.text())).toEqual(bodies);
}

it('a log of many files without queues is adopted whole', async () => {
  const { dir, count } = await logOnly();
  await using store = await MessageStore.open({ path: dir, adopt: true });
  expectAll(store, count);
  expect(store.append({ topic: 't', body: 'next' }).queueOffset).toBe(count);
});

it('a log of many files without queues is read whole, in memory', async () => {
  const { dir, count } = await logOnly();
  await using reader = await MessageStore.openReader(dir);
  expectAll(reader, count);
});
