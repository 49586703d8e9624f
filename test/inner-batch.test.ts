// Inner batches and consume-queue extensions: kinds of queues that a broker writes and we read.
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Fault, MessageStore } from '../lib/index.ts';
import { unpack } from './golden-support/stores.ts';
import { flipBit, freshDirectories, nameOfFile, overwrite } from './support/files.ts';
import { failureOf, messagesOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
const units = (dir: string) => path.join(dir, 'batchconsumequeue/bcq/0', nameOfFile(0));
const shown = async (dir: string) => {
  await using reader = await MessageStore.openReader(dir);
  const queue = reader.queue('bcq');
  const batches = messagesOf(queue).map((one) => [one.offset, one.messageCount, one.text()]);
  return { batches, maxOffset: queue.maxOffset };
};

const FILE = 'STORE_CORRUPT_FILE';
/** "code, place in the file, what is wrong" of every fault, which is in this file. */
async function faultsIn(file: string, dir: string): Promise<string[]> {
  await using reader = await MessageStore.openReader(dir);
  const faults: Fault[] = [];
  for await (const fault of reader.verify()) faults.push(fault);
  for (const fault of faults) expect(fault.path).toBe(file);
  return faults.map(({ code, offset, message }) => `${code} ${offset} ${message}`);
}

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
    {
      await using reader = await MessageStore.openReader(dir);
      expect(reader.queues()).toEqual([]);
    }
    const faults = await faultsIn(path.dirname(units(dir)), dir);
    expect(faults).toEqual([expect.stringMatching(/^STORE_FILE_SIZE 461 bcq: /)]);
  });

  const number = 46 * 3; // of the fourth unit's first byte
  it.each<[string, number, number[], string]>([
    ['size', 11, [1], 'this unit states another size than its record'],
    ['position', 7, [1], 'this unit leads to no whole record'],
    ['tags code', 19, [1], 'this unit has another tags code than its record'],
    ['store time', 27, [1], 'this unit states another store time than its record'],
    ['number of messages', 37, [1], 'this unit states another number of messages than its record'],
    [
      'offset before the last',
      34,
      [0, 1],
      'this unit does not follow the one before; a read ends here',
    ],
    ['zeros', 0, Array(46).fill(0), 'this unit does not follow the one before; a read ends here'],
  ])('with a unit of another %s is found by verify', async (what, at, bytes, message) => {
    const dir = unpack('inner-batch');
    expect(await faultsIn('', dir)).toEqual([]);
    overwrite(units(dir), number + at, Uint8Array.from(bytes));
    const place = what === 'zeros' ? number + 46 : number; // the first one behind the gap
    expect(await faultsIn(units(dir), dir)).toEqual([`${FILE} ${place} bcq: ${message}`]);
  });

  it('whose last unit has another offset is found by verify', async () => {
    const dir = unpack('inner-batch');
    overwrite(units(dir), 46 * 7 + 35, Uint8Array.of(100));
    expect(await faultsIn(units(dir), dir)).toEqual([
      `${FILE} ${46 * 7} bcq: this unit leads to a record of another queue or offset`,
    ]);
  });

  it('whose units are all there but whose log is damaged is found by verify', async () => {
    const dir = unpack('inner-batch');
    const at = readFileSync(units(dir)).readBigInt64BE(number);
    flipBit(path.join(dir, 'commitlog', nameOfFile(0)), Number(at) + 95);
    await using reader = await MessageStore.openReader(dir);
    const faults: Fault[] = [];
    for await (const fault of reader.verify()) faults.push(fault);
    expect(faults.map((fault) => [fault.path, fault.offset])).toEqual([
      [path.join(dir, 'commitlog', nameOfFile(0)), Number(at)],
      [units(dir), number],
    ]);
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

  it.each<[string, number, number[], string]>([
    ['size', 0, [0, 19], "the extension of this queue's unit is missing or damaged"],
    [
      'length of the bitmap',
      18,
      [0, 1],
      "the extension of this queue's unit is missing or damaged",
    ],
    ['tags code', 9, [99], 'this extension has another tags code than its record'],
    ['store time', 17, [255], 'this extension states another store time than its record'],
  ])('with another %s are found by verify', async (_, at, bytes, message) => {
    const dir = unpack('cq-ext');
    expect(await faultsIn('', dir)).toEqual([]);
    overwrite(ext(dir), 2 * 20 + at, Uint8Array.from(bytes));
    expect(await faultsIn(ext(dir), dir)).toEqual([`${FILE} 40 t 2: ${message}`]);
  });

  it('that are missing are found by verify, each by its unit', async () => {
    const dir = unpack('cq-ext');
    overwrite(ext(dir), 0, Buffer.alloc(1024));
    expect(await faultsIn(ext(dir), dir)).toHaveLength(12);
    rmSync(ext(dir));
    expect(await faultsIn(path.dirname(ext(dir)), dir)).toHaveLength(12);
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
