// Deleting what has expired: what goes, what stays, what is told, and what is still known afterwards.
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions, type StoreReader } from '../lib/index.ts';
import { freshDirectories, nameOfFile, overwrite } from './support/files.ts';
import { abandon, failureOf, messagesOf, quiet, rejectionOf, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let now = 0;
beforeEach(() => {
  dir = fresh();
  now = 1_000_000;
});

const KiB = 1024;
const small = { ...quiet, mappedFileSizeCommitLog: 4 * KiB, mappedFileSizeConsumeQueue: 100 };
const openWith = (options: Partial<MessageStoreOptions> = {}) =>
  MessageStore.open({ path: dir, ...small, ...options, clock: () => now });

/** Messages of about a KiB, three in a file; `lmq` of each by its number. */
function fill(
  store: MessageStore,
  count: number,
  lmq: (index: number) => string[] = () => ['x'],
): void {
  for (let i = 0; i < count; i++) {
    const index = store.queue('t').maxOffset;
    store.append({ topic: 't', body: `${index}`.padEnd(KiB, '.'), lmq: lmq(index) });
  }
}

const logFiles = () => readdirSync(path.join(dir, 'commitlog')).sort();
const queueFiles = (topic: string) =>
  readdirSync(path.join(dir, 'consumequeue', topic, '0')).sort();
const names = (size: number, ...numbers: number[]) => numbers.map((one) => nameOfFile(one * size));
const numbersOf = (store: StoreReader, queue: 't' | 'x') =>
  messagesOf(queue === 't' ? store.queue('t') : store.lmq('x')).map((one) =>
    Number.parseInt(one.text(), 10),
  );

async function faultsOf(store: StoreReader): Promise<unknown[]> {
  const faults = [];
  for await (const fault of store.verify()) faults.push(fault);
  return faults;
}

describe('deleteBefore', () => {
  it('deletes whole files below an offset, and every minimum follows at once', async () => {
    await using store = await openWith();
    fill(store, 12, (index) => (index < 6 ? ['x', 'early'] : ['x']));
    const told = once(store, 'expired');
    const { physicalOffset } = store.queue('t').read(1).messages[0]!;
    const deleted = await store.deleteBefore(9 * KiB);
    const files = names(4 * KiB, 0, 1).map((name) => path.join(dir, 'commitlog', name));
    expect(deleted).toEqual({ files, bytes: 8 * KiB, logMin: 8 * KiB });
    expect(await told).toEqual([deleted]);
    expect(logFiles()).toEqual(names(4 * KiB, 2, 3));
    // A file of a queue holds five units.
    expect(queueFiles('t')).toEqual(names(100, 1, 2));
    expect(store.queue('t')).toMatchObject({ minOffset: 6, maxOffset: 12 });
    expect(store.lmq('x')).toMatchObject({ minOffset: 6, maxOffset: 12 });
    expect(store.lmq('early')).toMatchObject({ minOffset: 6, maxOffset: 6 });
    expect(numbersOf(store, 't')).toEqual([6, 7, 8, 9, 10, 11]);
    expect(numbersOf(store, 'x')).toEqual([6, 7, 8, 9, 10, 11]);
    expect(store.getAt(physicalOffset)).toBeUndefined();
    expect(await faultsOf(store)).toEqual([]);
  });

  it('says of an old offset that it is too small, and where to go on (BR-055)', async () => {
    await using store = await openWith();
    for (const topic of ['a', 'b', 'c']) {
      for (let i = 0; i < 6; i++) {
        store.append({ topic, body: `${i}`.padEnd(KiB, '.'), lmq: [`of-${topic}`] });
      }
    }
    await store.deleteBefore(17 * KiB);
    for (const queue of [store.queue('a'), store.lmq('of-a')]) {
      expect(queue).toMatchObject({ minOffset: 6, maxOffset: 6 });
      expect(queue.read(0)).toMatchObject({ status: 'OFFSET_TOO_SMALL', nextOffset: 6 });
      expect(queue.read(6)).toMatchObject({ status: 'OFFSET_OVERFLOW_ONE', nextOffset: 6 });
    }
    expect(store.queue('b')).toMatchObject({ minOffset: 6, maxOffset: 6 });
    expect(store.queue('c')).toMatchObject({ minOffset: 0, maxOffset: 6 });
    expect(queueFiles('a')).toEqual(names(100, 1));
  });

  it('deletes what was stored before a date, and nothing that was stored then', async () => {
    await using store = await openWith();
    for (const time of [1000, 2000, 3000]) {
      now = time;
      fill(store, 3);
    }
    expect(await store.deleteBefore(new Date(1999))).toMatchObject({ files: [] });
    expect(await store.deleteBefore(new Date(2000))).toMatchObject({ files: [] });
    expect(await store.deleteBefore(new Date(2001))).toMatchObject({ logMin: 4 * KiB });
    now = 3000;
    fill(store, 3); // as old as the file before
    expect(await store.deleteBefore(new Date(3000))).toMatchObject({ files: [] });
    expect(await store.deleteBefore(new Date(3001))).toMatchObject({ logMin: 12 * KiB });
  });

  it('deletes the files of the key index that lead nowhere any more, but not the newest', async () => {
    const indexFiles = () => readdirSync(path.join(dir, 'index'));
    const options = { maxHashSlotNum: 10, maxIndexNum: 4 }; // three entries a file
    {
      await using store = await openWith(options);
      for (let i = 0; i < 12; i++) {
        store.append({ topic: 't', body: ''.padEnd(KiB, '.'), keys: `k${i}` });
      }
      expect(indexFiles()).toHaveLength(4);
      await store.deleteBefore(9 * KiB);
      expect(indexFiles()).toHaveLength(2);
      await store.deleteBefore(100 * KiB);
      expect(indexFiles()).toHaveLength(1);
    }
    // A kill between the two leaves files behind that the next open removes.
    const [last] = indexFiles();
    copyFileSync(path.join(dir, 'index', last!), path.join(dir, 'index', '20200101000000000'));
    overwrite(path.join(dir, 'index', '20200101000000000'), 24, Buffer.alloc(8));
    await using store = await openWith(options);
    expect(indexFiles()).toEqual([last]);
    const found = async (key: string) => {
      let count = 0;
      for await (const batch of store.find({ topic: 't', key })) count += batch.length;
      return count;
    };
    expect(await Promise.all(['k0', 'k8', 'k9', 'k11'].map(found))).toEqual([0, 0, 1, 1]);
  });

  it('never deletes the file that is written, whatever is asked', async () => {
    await using store = await openWith();
    expect(await store.deleteBefore(Number.MAX_SAFE_INTEGER)).toEqual({
      files: [],
      bytes: 0,
      logMin: 0,
    });
    fill(store, 7);
    await store.deleteBefore(2n ** 52n);
    expect(logFiles()).toEqual(names(4 * KiB, 2));
    expect(await store.deleteBefore(new Date(8.64e15))).toMatchObject({ files: [] });
    fill(store, 3);
    expect(numbersOf(store, 'x')).toEqual([6, 7, 8, 9]);
  });

  it('refuses what is neither a date nor an offset, a closed store, and changes nothing', async () => {
    const store = await openWith();
    fill(store, 7);
    const before = logFiles();
    for (const wrong of ['4096', Number.NaN, -1, 1.5, null, undefined, 2n ** 60n, new Date('')]) {
      expect(await rejectionOf(store.deleteBefore(wrong as number))).toMatch(
        /^(Type|Range)Error STORE_INVALID_ARGUMENT$/,
      );
    }
    expect(logFiles()).toEqual(before);
    await store.close();
    expect(await rejectionOf(store.deleteBefore(9000))).toBe('StoreError STORE_CLOSED');
    await using reader = await MessageStore.openReader(dir);
    expect('deleteBefore' in reader).toBe(false);
  });

  it('lets nothing of the deleted files stay mapped (BR-072)', async () => {
    await using store = await openWith();
    fill(store, 12);
    expect(numbersOf(store, 't')).toHaveLength(12);
    await store.deleteBefore(12 * KiB);
    if (!existsSync('/proc/self/maps')) return;
    const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
    expect(maps.filter((line) => line.includes(`${dir}/`) && line.includes('(deleted)'))).toEqual(
      [],
    );
  });
});

/** Bounds of everything, and what the next message gets. */
async function facts(where: string): Promise<unknown> {
  await using store = await MessageStore.open({ path: where, ...small, clock: () => now });
  const queues = ['gone', 'x', 'early'].map((name) => {
    const { minOffset, maxOffset } = store.lmq(name);
    return [name, minOffset, maxOffset];
  });
  const { queueOffset, lmqOffsets, physicalOffset } = store.append({
    topic: 't',
    body: 'next',
    lmq: ['gone', 'x', 'early', 'new'],
  });
  const offsets = [...lmqOffsets];
  return { queues, read: numbersOf(store, 't'), queueOffset, offsets, physicalOffset };
}

describe('what the log can no longer tell', () => {
  const lists = (index: number) => (index < 4 ? ['gone', 'x'] : index < 7 ? ['early', 'x'] : ['x']);
  const expected = {
    queues: [
      ['gone', 4, 4],
      ['x', 6, 10],
      ['early', 2, 3],
    ],
    read: [6, 7, 8, 9, Number.NaN],
    queueOffset: 10,
    offsets: [4, 10, 3, 0],
    physicalOffset: expect.any(Number),
  };

  const ways = {
    'a clean reopen': async () => {},
    'a clean reopen without the index': async () => rmSync(path.join(dir, 'lmq/table')),
    'a clean reopen without lmq/': async () => rmSync(path.join(dir, 'lmq'), { recursive: true }),
    'a clean reopen without queues': async () => {
      rmSync(path.join(dir, 'lmq'), { recursive: true });
      rmSync(path.join(dir, 'consumequeue'), { recursive: true });
    },
  };
  it.each(Object.entries(ways))('is known after %s', async (_, change) => {
    const store = await openWith();
    fill(store, 10, lists);
    await store.deleteBefore(8 * KiB);
    await store.close();
    await change();
    expect(await facts(dir)).toEqual(expected);
  });

  it.each(Object.entries(ways))('is known after a kill and %s', async (_, change) => {
    const store = await openWith();
    fill(store, 10, lists);
    await store.deleteBefore(8 * KiB);
    const copy = abandon(dir, fresh());
    await store.close();
    dir = copy;
    await change();
    expect(await facts(dir)).toEqual(expected);
  });

  it('is known again when all has expired twice', async () => {
    const store = await openWith();
    fill(store, 10, lists);
    await store.deleteBefore(8 * KiB);
    store.append({ topic: 't', body: 'again', lmq: ['gone'] });
    fill(store, 6, () => []);
    await store.deleteBefore(16 * KiB);
    expect(store.lmq('gone')).toMatchObject({ minOffset: 5, maxOffset: 5 });
    await store.close();
    rmSync(path.join(dir, 'lmq'), { recursive: true });
    await using again = await openWith();
    expect(again.lmq('gone')).toMatchObject({ minOffset: 5, maxOffset: 5 });
    expect(again.append({ topic: 't', body: 'x', lmq: ['gone'] }).lmqOffsets).toEqual([5]);
  });

  // The state is synced first, then files go one by one, oldest first, then those of queues.
  it.each([0, 1, 2, 3])('is known when the process ends after %i files', async (gone) => {
    const store = await openWith();
    fill(store, 16, (index) => (index < 3 ? ['gone'] : ['x']));
    await store.flush();
    const before = abandon(dir, fresh());
    await store.deleteBefore(12 * KiB);
    await store.close();
    const state = path.join(dir, 'state');
    cpSync(state, path.join(before, 'state'));
    for (const name of names(4 * KiB, 0, 1, 2).slice(0, gone)) {
      rmSync(path.join(before, 'commitlog', name));
    }
    await using left = await MessageStore.open({ path: before, ...small });
    const first = gone * 3;
    expect(left.queue('t')).toMatchObject({ minOffset: first, maxOffset: 16 });
    expect(numbersOf(left, 't')).toEqual([...Array(16).keys()].slice(first));
    expect(left.lmq('gone')).toMatchObject({ minOffset: Math.min(first, 3), maxOffset: 3 });
    expect(left.lmq('x')).toMatchObject({ minOffset: Math.max(first, 3) - 3, maxOffset: 13 });
    expect(await faultsOf(left)).toEqual([]);
  });
});

describe('by age', () => {
  const hour = 3_600_000;
  const often = { cleanResourceInterval: 1 };

  it('deletes at the hour of deleteWhen in the given time zone, and not before', async () => {
    const day = Date.UTC(2026, 6, 1);
    now = day;
    // In July Berlin is two hours ahead: 04 there is 02 here.
    const options = { fileReservedTime: 24, deleteWhen: '4', deleteWhenTimeZone: 'Europe/Berlin' };
    const store = await openWith({ ...often, ...options });
    fill(store, 3);
    now = day + hour;
    fill(store, 6);
    now = day + 25 * hour;
    const early = await store.deleteBefore(0); // a run of the timer comes before or after it
    expect(early.files).toEqual([]);
    expect(logFiles()).toHaveLength(3);
    now = day + 26 * hour;
    const [expired] = await once(store, 'expired');
    expect(expired).toMatchObject({ bytes: 8 * KiB, logMin: 8 * KiB });
    await store.close();
  });

  it('keeps a file until its last message has expired', async () => {
    const store = await openWith({ ...often, fileReservedTime: 1, deleteWhen: '0;12' });
    now = Date.UTC(2026, 0, 1, 11);
    fill(store, 3);
    now += 1;
    fill(store, 4);
    now = Date.UTC(2026, 0, 1, 12) + 1;
    const [expired] = await once(store, 'expired');
    expect(expired).toMatchObject({ logMin: 8 * KiB });
    expect(numbersOf(store, 't')).toEqual([6]);
    await store.close();
  });

  it('deletes nothing without being asked', async () => {
    const store = await openWith({ ...often });
    fill(store, 10);
    now += 10_000 * hour;
    await store.flush();
    expect(logFiles()).toHaveLength(4);
    await store.close();
    expect(logFiles()).toHaveLength(4);
  });

  it('refuses impossible options', async () => {
    for (const wrong of [
      { fileReservedTime: 0 },
      { deleteWhen: '24' },
      { deleteWhen: '' },
      { deleteWhenTimeZone: 'Europe/Nowhere' },
      { maxStoreBytes: 10 },
      { whenFull: 'wait' },
      { diskMaxUsedSpaceRatio: 101 },
    ]) {
      expect(await rejectionOf(openWith(wrong as object))).toBe(
        'RangeError STORE_INVALID_ARGUMENT',
      );
    }
  });
});

describe('by size', () => {
  it('refuses what needs another file, by name, until there is room', async () => {
    await using store = await openWith({ maxStoreBytes: 12 * KiB });
    fill(store, 9);
    const body = 'x'.repeat(KiB);
    expect(failureOf(() => store.append({ topic: 't', body }))).toBe('StoreError STORE_DISK_FULL');
    expect(await rejectionOf(store.put({ topic: 't', body, lmq: ['y'] }))).toBe(
      'StoreError STORE_DISK_FULL',
    );
    expect(store.lmq('y').maxOffset).toBe(0);
    expect(store.queue('t').maxOffset).toBe(9);
    await store.deleteBefore(4 * KiB);
    fill(store, 3);
    expect(failureOf(() => fill(store, 1))).toBe('StoreError STORE_DISK_FULL');
    expect(logFiles()).toEqual(names(4 * KiB, 1, 2, 3));
  });

  it('deletes the oldest in place of refusing', async () => {
    const store = await openWith({ maxStoreBytes: 16 * KiB, whenFull: 'deleteOldest' });
    for (let round = 0; round < 6; round++) {
      const expired = once(store, 'expired');
      fill(store, round === 0 ? 12 : 3);
      await expired;
      const files = logFiles();
      expect(files.length).toBeLessThanOrEqual(4);
      expect(files.at(-1)).toBe(nameOfFile((3 + round) * 4 * KiB));
      expect(textsOf(store.queue('t')).at(-1)).toMatch(new RegExp(`^${11 + round * 3}\\.`));
    }
    await store.close();
    await using again = await openWith();
    expect(again.queue('t').maxOffset).toBe(27);
    expect(again.queue('t').minOffset).toBe(again.lmq('x').minOffset);
  });
});
