// Inner batches and consume-queue extensions: kinds of queues that a broker writes and we read.
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { unpack } from './golden-support/stores.ts';
import { freshDirectories, nameOfFile, overwrite } from './support/files.ts';
import { failureOf, messagesOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
const units = (dir: string) => path.join(dir, 'batchconsumequeue/bcq/0', nameOfFile(0));
const shown = async (dir: string) => {
  await using reader = await MessageStore.openReader(dir);
  const queue = reader.queue('bcq');
  const batches = messagesOf(queue).map((one) => [one.offset, one.messageCount, one.text()]);
  return { batches, maxOffset: queue.maxOffset };
};

describe('a queue of inner batches', () => {
  it('gives a message for each batch, and passes all its offsets', async () => {
    const { batches, maxOffset } = await shown(unpack('inner-batch'));
    expect(batches.slice(0, 3)).toEqual([
      [0, 3, 'inner 0'],
      [3, 1, 'inner 1'],
      [4, 5, 'inner 2'],
    ]);
    expect(batches).toHaveLength(8);
    expect(maxOffset).toBe(27);
  });

  it('is followed from inside a batch', async () => {
    await using reader = await MessageStore.openReader(unpack('inner-batch'));
    const { messages, nextOffset } = reader.queue('bcq').read(13, { maxMessages: 10 });
    expect([messages.map((one) => one.offset), nextOffset]).toEqual([[11], 21]);
    expect(reader.queues('bcq')).toEqual([
      { topic: 'bcq', queueId: 0, minOffset: 0, maxOffset: 27 },
    ]);
  });

  it('is not written by us, and stays as it is', async () => {
    const dir = unpack('inner-batch');
    const before = readFileSync(units(dir));
    await using store = await MessageStore.open({
      ...quiet,
      mappedFileSizeCommitLog: 65536,
      path: dir,
      adopt: true,
    });
    const message = { topic: 'bcq', body: 'x' };
    expect(failureOf(() => store.append(message))).toBe('StoreError STORE_UNSUPPORTED');
    expect(failureOf(() => store.appendBatch([message]))).toBe('StoreError STORE_UNSUPPORTED');
    store.append({ topic: 'other', body: 'x' });
    expect(messagesOf(store.queue('bcq'))).toHaveLength(8);
    expect(readdirSync(path.join(dir, 'consumequeue'))).toEqual(['other']);
    expect(readFileSync(units(dir)).equals(before)).toBe(true);
  });

  it.each<[string, number, number[], number]>([
    ['no size', 46 * 3 + 8, [0, 0, 0, 0], 3],
    ['an impossible count', 46 * 2 + 36, [0xff, 0xff], 2],
    ['an offset that goes back', 46 * 4 + 28, [0, 0, 0, 0, 0, 0, 0, 1], 4],
    ['an offset beyond all', 46 * 1 + 28, [0x7f, 255, 255, 255, 255, 255, 255, 255], 1],
    ['a position below all', 46 * 5, [255], 5],
  ])('ends before a unit with %s', async (_, at, bytes, left) => {
    const dir = unpack('inner-batch');
    overwrite(units(dir), at, Uint8Array.from(bytes));
    expect((await shown(dir)).batches).toHaveLength(left);
  });

  it('with a unit that leads nowhere passes it', async () => {
    const dir = unpack('inner-batch');
    overwrite(units(dir), 46 + 7, Uint8Array.of(142));
    expect((await shown(dir)).batches).toHaveLength(7);
  });

  it('of a strange length is left alone', async () => {
    const dir = unpack('inner-batch');
    overwrite(units(dir), 460, Uint8Array.of(1));
    await using reader = await MessageStore.openReader(dir);
    expect(reader.queues()).toEqual([]);
  });
});

describe('consume-queue extensions', () => {
  const ext = (dir: string) => path.join(dir, 'consumequeue_ext/t/0', nameOfFile(0));
  const byTag = async (dir: string) => {
    await using reader = await MessageStore.openReader(dir);
    const { messages } = reader.queue('t').read(0, { tags: 'a' });
    return messages.map((one) => one.offset);
  };

  it('have the tags by which messages are selected', async () => {
    expect(await byTag(unpack('cq-ext'))).toEqual([2, 6, 10]);
    const dir = unpack('cq-ext');
    overwrite(ext(dir), 2 * 20 + 2, Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 98]));
    expect(await byTag(dir)).toEqual([6, 10]); // so that is where they were looked for
  });

  it.each<[string, (dir: string) => void]>([
    ['missing', (dir) => rmSync(path.join(dir, 'consumequeue_ext'), { recursive: true })],
    ['zeros', (dir) => overwrite(ext(dir), 0, Buffer.alloc(1024))],
    ['beside a file of another place', (dir) => cpSync(ext(dir), ext(dir).replace(/0$/, '7'))],
    ['no units', (dir) => overwrite(ext(dir), 0, Buffer.alloc(1024, 0xff))],
  ])('that are %s leave it to the records', async (_, harm) => {
    const dir = unpack('cq-ext');
    harm(dir);
    expect(await byTag(dir)).toEqual([2, 6, 10]);
  });

  it('are read by whoever adopts the directory', async () => {
    const dir = fresh();
    cpSync(unpack('cq-ext'), dir, { recursive: true });
    await using store = await MessageStore.open({ path: dir, adopt: true });
    store.append({ topic: 't', body: 'ours', tags: 'a' });
    const { messages } = store.queue('t').read(0, { tags: 'a' });
    expect(messages.map((one) => one.offset)).toEqual([2, 6, 10, 12]);
  });
});
