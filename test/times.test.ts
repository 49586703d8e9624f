// Searching a queue by store time: first at or after, last at or before, as RocketMQ answers it.
import { rmSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions, type StoreReader } from '../lib/index.ts';
import { freshDirectories, logFile, overwrite, queueFile } from './support/files.ts';
import { failureOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let now = 0;
beforeEach(() => {
  dir = fresh();
  now = 0;
});

const UNIT = 20;
const FOUR_UNITS = { mappedFileSizeConsumeQueue: 4 * UNIT };
const BLANK_UNIT = Buffer.from('00000000000000007fffffff0000000000000000', 'hex');

const openWith = (options: Partial<MessageStoreOptions> = {}) =>
  MessageStore.open({ path: dir, ...quiet, ...options, clock: () => now });

/** One message of topic t and light queue x for each time. */
function fill(store: MessageStore, times: readonly number[], extra = {}): void {
  for (const time of times) {
    now = time;
    store.append({ topic: 't', body: `at ${time}`, lmq: ['x'], ...extra });
  }
}

/** Lower and upper bound, the same of both kinds of queue. */
async function at(store: StoreReader, time: number | Date): Promise<[number, number]> {
  const of = async (queue: ReturnType<StoreReader['queue']>): Promise<[number, number]> => [
    await queue.offsetAt(time),
    await queue.offsetAt(time, 'upper'),
  ];
  const found = await of(store.queue('t'));
  expect(await of(store.lmq('x'))).toEqual(found);
  return found;
}

/** By looking at every message. */
function byHand(times: readonly number[], time: number): [number, number] {
  const lower = times.findIndex((one) => one >= time);
  return [
    lower < 0 ? times.length : lower,
    Math.max(
      0,
      times.findLastIndex((one) => one <= time),
    ),
  ];
}

describe('an offset by time', () => {
  it('is before the first and after the last what RocketMQ says (BR-059)', async () => {
    await using store = await openWith();
    fill(store, [1000, 2000, 3000]);
    expect(await at(store, 500)).toEqual([0, 0]);
    expect(await at(store, -5)).toEqual([0, 0]);
    expect(await at(store, 5000)).toEqual([3, 2]);
    expect(await at(store, new Date(2000))).toEqual([1, 1]);
    expect(await at(store, 2001)).toEqual([2, 1]);
    expect(await at(store, Number.MAX_SAFE_INTEGER)).toEqual([3, 2]);
  });

  it('passes over none of equal times, also at the border of files (BR-060)', async () => {
    await using store = await openWith(FOUR_UNITS);
    fill(store, [1000, 1000, 1000, 3000, 3000]);
    expect(await at(store, 1000)).toEqual([0, 2]);
    expect(await at(store, 2000)).toEqual([3, 2]);
    expect(await at(store, 3000)).toEqual([3, 4]);
    fill(store, [4000, 4000, 4000, 4000, 4000, 4000]); // offsets 5 to 10: three files
    expect(await at(store, 4000)).toEqual([5, 10]);
    expect(await at(store, 3999)).toEqual([5, 4]);
  });

  it('is right at every time of many, in a writer and in a reader', async () => {
    await using store = await openWith(FOUR_UNITS);
    const times = Array.from({ length: 100 }, (_, i) => 1000 + 3 * Math.floor((i * i) / 90));
    fill(store, times);
    await using reader = await MessageStore.openReader(dir);
    for (let time = 998; time < 1340; time++) {
      const expected = byHand(times, time);
      expect(await at(store, time), String(time)).toEqual(expected);
      expect(await at(reader, time), String(time)).toEqual(expected);
    }
  });

  it('does not depend on where in a record its time stands (BR-025)', async () => {
    await using store = await openWith();
    const ipv6 = '[2001:db8::1]:1';
    const ipv4 = '10.0.0.1:1';
    const hosts = [
      [ipv4, ipv4, 93, 0],
      [ipv6, ipv4, 105, 16],
      [ipv4, ipv6, 105, 32],
      [ipv6, ipv6, 117, 48],
    ] as const;
    for (const [i, [bornHost, storeHost, size, sysFlag]] of hosts.entries()) {
      now = 1000 * (i + 1);
      const message = { topic: 'T', body: 'b', bornHost, storeHost, properties: {} };
      const { physicalOffset } = store.append(message);
      const crc = 20;
      expect(store.getAt(physicalOffset)).toMatchObject({ size: size + crc, sysFlag });
    }
    const queue = store.queue('T');
    for (const offset of [0, 1, 2, 3]) {
      const time = 1000 * (offset + 1);
      expect(await queue.offsetAt(time)).toBe(offset);
      expect(await queue.offsetAt(time + 1, 'upper')).toBe(offset);
    }
    expect([queue.earliestTime, queue.latestTime, store.earliestTime]).toEqual([1000, 4000, 1000]);
  });

  it('never leads to a blank unit or to a damaged one', async () => {
    await using store = await openWith();
    const times = [1000, 2000, 3000, 4000, 5000, 6000, 7000];
    fill(store, times);
    const queue = store.queue('t');
    const units = queueFile(dir, 't');
    for (const offset of [2, 3]) overwrite(units, offset * UNIT, BLANK_UNIT);
    // Its record claims to be longer than the log.
    overwrite(units, 5 * UNIT + 8, Buffer.from('7ffffffe', 'hex'));
    const left = [0, 1, 4, 6];
    for (let time = 500; time < 8000; time += 250) {
      const lower = left.find((offset) => (times[offset] as number) >= time) ?? 7;
      const upper = left.findLast((offset) => (times[offset] as number) <= time) ?? 0;
      expect(await queue.offsetAt(time), String(time)).toBe(lower);
      expect(await queue.offsetAt(time, 'upper'), String(time)).toBe(upper);
    }
    for (const offset of [0, 1, 4, 6]) overwrite(units, offset * UNIT, BLANK_UNIT);
    expect(await queue.offsetAt(3000)).toBe(7);
    expect([queue.earliestTime, queue.latestTime]).toEqual([undefined, undefined]);
  });

  it('is not below the first message that is left', async () => {
    const small = { mappedFileSizeCommitLog: 1024, ...FOUR_UNITS };
    const times = Array.from({ length: 30 }, (_, i) => 1000 * (i + 1));
    {
      await using store = await openWith(small);
      fill(store, times);
    }
    for (const base of [0, 1024]) rmSync(logFile(dir, base));
    await using store = await openWith(small);
    const { minOffset, earliestTime } = store.queue('t');
    expect(minOffset).toBeGreaterThan(4);
    expect(earliestTime).toBe(times[minOffset]);
    expect(store.earliestTime).toBe(times[minOffset]);
    expect(store.getAt(0)).toMatchObject({ queueOffset: minOffset });
    expect(store.getAt(0)!.physicalOffset).toBe(2048);
    expect(store.getAt(1)).toBeUndefined();
    expect(await at(store, 1000)).toEqual([minOffset, minOffset]);
    expect(await at(store, 1000 * (minOffset + 2))).toEqual([minOffset + 1, minOffset + 1]);
    expect(await at(store, 1e9)).toEqual([30, 29]);
  });

  it('of a queue that nobody knows, or without messages, is 0 (BR-059)', async () => {
    await using store = await openWith();
    expect(await at(store, 1000)).toEqual([0, 0]);
    const { earliestTime, latestTime } = store.queue('t');
    expect([earliestTime, latestTime, store.earliestTime]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(store.topics()).toEqual([]);
  });

  it('is refused for what is no time and no bound', async () => {
    await using store = await openWith();
    const queue = store.queue('t');
    const of = (...args: unknown[]) =>
      rejectionOf(queue.offsetAt(...(args as Parameters<typeof queue.offsetAt>)));
    expect(await of(new Date(Number.NaN))).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(await of(0.5)).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(await of('1000')).toBe('TypeError STORE_INVALID_ARGUMENT');
    expect(await of(undefined)).toBe('TypeError STORE_INVALID_ARGUMENT');
    expect(await of(0, 'middle')).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(await of(0, 1)).toBe('TypeError STORE_INVALID_ARGUMENT');
  });

  it('is found while the store closes, and refused when it is closed', async () => {
    const store = await openWith();
    fill(store, [1000, 2000, 3000]);
    const queue = store.queue('t');
    const pending = Array.from({ length: 20 }, () => queue.offsetAt(2000));
    const closing = store.close();
    expect(await Promise.all(pending)).toEqual(Array(20).fill(1));
    await closing;
    expect(await rejectionOf(queue.offsetAt(2000))).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => queue.earliestTime)).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => store.earliestTime)).toBe('StoreError STORE_CLOSED');
  });
});

describe('times', () => {
  it('are those of the first and the last message', async () => {
    await using store = await openWith();
    fill(store, [1000, 2000]);
    now = 3000;
    store.append({ topic: 'u', body: 'of another queue' });
    for (const queue of [store.queue('t'), store.lmq('x')]) {
      expect([queue.earliestTime, queue.latestTime]).toEqual([1000, 2000]);
    }
    expect(store.earliestTime).toBe(1000);
  });

  it('a clock that goes back does not make fall (Q52)', async () => {
    await using store = await openWith();
    fill(store, [1000, 3000, 2000, 4000]);
    expect(await at(store, 2000)).toEqual([1, 0]);
    expect(await at(store, 3000)).toEqual([1, 2]);
  });
});

describe('a follower from a date', () => {
  const texts = async (store: StoreReader, from: Date, count: number) => {
    const found: string[] = [];
    for await (const { messages } of store.lmq('x').follow({ from })) {
      found.push(...messages.map((message) => message.text()));
      if (found.length >= count) break;
    }
    return found;
  };

  it('begins with the first message stored at or after it', async () => {
    await using store = await openWith();
    fill(store, [1000, 2000, 3000]);
    expect(await texts(store, new Date(1500), 2)).toEqual(['at 2000', 'at 3000']);
    expect(await texts(store, new Date(0), 3)).toEqual(['at 1000', 'at 2000', 'at 3000']);
    const later = texts(store, new Date(9000), 1);
    await new Promise((resolve) => setImmediate(resolve));
    fill(store, [9500]);
    expect(await later).toEqual(['at 9500']);
  });

  it('waits for the first message of a queue that is not there yet', async () => {
    await using store = await openWith();
    const first = texts(store, new Date(9000), 1);
    fill(store, [9500]);
    expect(await first).toEqual(['at 9500']);
  });

  it('ends where it is left, aborted or the store is closed before it has begun', async () => {
    const store = await openWith();
    fill(store, [1000]);
    const from = new Date(1000);
    const left = store.lmq('x').follow({ from });
    const next = left.next();
    await left.return();
    expect((await next).value?.messages.length ?? 0).toBeLessThanOrEqual(1);
    const ended = new AbortController();
    const aborted = store.lmq('x').follow({ from, signal: ended.signal });
    ended.abort(new Error('enough'));
    await expect(aborted.next()).rejects.toThrow('enough');
    const closed = store.lmq('x').follow({ from });
    const last = closed.next();
    await store.close();
    expect((await last).done ?? false).toBe(true);
  });
});
