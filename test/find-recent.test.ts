// Search by time alone: all messages of a topic, from all of its queues, newest first.
import { beforeEach, describe, expect, it } from 'vitest';
import { type FindOptions, MessageStore } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile } from './support/files.ts';
import { quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
const BEGIN = 1_700_000_000_000;
let dir = '';
let now = 0;
beforeEach(() => {
  dir = fresh();
  now = BEGIN;
});

const open = () => MessageStore.open({ path: dir, ...quiet, clock: () => now });
const falling = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => String(to - 1 - i));

/** Messages 0, 1, … in five queues, two a millisecond, and others of another topic between them. */
function fill(store: MessageStore, count: number): void {
  for (let i = 0; i < count; i++) {
    now = BEGIN + Math.floor(i / 2);
    store.append({ topic: 't', queueId: (i * 7 + (i >> 4)) % 5, body: String(i) });
    store.append({ topic: 'other', body: 'x' });
  }
}

async function bodies(store: MessageStore, options: Partial<FindOptions> = {}) {
  const found: string[] = [];
  for await (const batch of store.find({ topic: 't', ...options })) {
    expect(batch.length).toBeLessThanOrEqual(32);
    for (const message of batch) found.push(message.text());
  }
  return found;
}

describe('what was stored in a span of time', () => {
  it('comes newest first, whatever queues it is in', async () => {
    await using store = await open();
    expect(await bodies(store)).toEqual([]);
    fill(store, 1000);
    expect(await bodies(store)).toEqual(falling(0, 1000));
    expect(await bodies(store, { max: 70 })).toEqual(falling(930, 1000));
    expect(await bodies(store, { topic: 'none' })).toEqual([]);
  });

  it('is exact at both of its ends', async () => {
    await using store = await open();
    fill(store, 200);
    const at = (begin: number, end: number) =>
      bodies(store, { begin: BEGIN + begin, end: new Date(BEGIN + end) });
    expect(await at(0, 0)).toEqual(['1', '0']);
    expect(await at(10, 12)).toEqual(falling(20, 26));
    expect(await at(99, 5000)).toEqual(['199', '198']);
    expect(await at(100, 5000)).toEqual([]);
    expect(await at(-5000, -1)).toEqual([]);
    expect(await at(12, 10)).toEqual([]);
  });

  it('leaves out what has expired, and what is damaged', async () => {
    await using store = await MessageStore.open({
      ...{ path: dir, ...quiet, clock: () => now },
      ...{ mappedFileSizeCommitLog: 4096, mappedFileSizeConsumeQueue: 100 },
    });
    fill(store, 100);
    await store.deleteBefore(8192);
    const left = await bodies(store);
    expect(left).toEqual(falling(100 - left.length, 100));
    expect(left.length).toBeLessThan(100);
    const { physicalOffset, size } = (await store.find({ topic: 't' }).next()).value![5]!;
    const base = physicalOffset - (physicalOffset % 4096);
    flipBit(logFile(dir, base), physicalOffset - base + size - 30);
    expect(await bodies(store)).toEqual(left.filter((text) => text !== '94'));
  });

  it('is what was there when it was asked for, while more is stored', async () => {
    await using store = await open();
    fill(store, 300);
    const found: string[] = [];
    for await (const batch of store.find({ topic: 't' })) {
      store.append({ topic: 't', queueId: batch.length % 5, body: 'later' });
      for (const message of batch) found.push(message.text());
    }
    expect(found).toEqual(falling(0, 300));
  });

  it('ends with its signal, and with the store', async () => {
    const store = await open();
    fill(store, 300);
    const stop = new AbortController();
    const search = store.find({ topic: 't', signal: stop.signal });
    await search.next();
    stop.abort();
    await expect(search.next()).rejects.toThrow('aborted');
    const another = store.find({ topic: 't' });
    await another.next();
    await store.close();
    expect(await rejectionOf(another.next())).toContain('STORE_CLOSED');
  });
});
