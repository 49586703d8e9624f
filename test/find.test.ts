// Search by key: which messages, in what order, and beside whatever else happens to the store.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type FindOptions,
  MessageStore,
  type MessageStoreOptions,
  type StoreReader,
} from '../lib/index.ts';
import { freshDirectories, treeOf } from './support/files.ts';
import { run, start } from './support/programs.ts';
import { failureOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let now = 0;
beforeEach(() => {
  dir = fresh();
  now = BEGIN;
});

const BEGIN = 1_700_000_000_000;
/** Nineteen entries a file. */
const SMALL = { maxHashSlotNum: 8, maxIndexNum: 20 };
const options = (rest: object = {}): MessageStoreOptions => ({ path: dir, ...quiet, ...rest });
const openWith = (rest: object = {}) => MessageStore.open({ ...options(rest), clock: () => now });
const indexFiles = () => readdirSync(path.join(dir, 'index')).sort();

async function bodies(store: StoreReader, what: Omit<FindOptions, 'topic'>, topic = 't') {
  const found: string[] = [];
  for await (const batch of store.find({ topic, ...what })) {
    for (const message of batch) found.push(message.text());
  }
  return found;
}

/** Messages 0, 1, … with a key of their own and one of all. */
function fill(store: MessageStore, count: number, from = 0): void {
  for (let i = from; i < from + count; i++) {
    store.append({ topic: 't', body: String(i), keys: [`k${i}`, 'all'] });
  }
}
const falling = (count: number) => Array.from({ length: count }, (_, i) => String(count - 1 - i));
async function expectEach(store: StoreReader, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    expect(await bodies(store, { key: `k${i}` }), `k${i}`).toEqual([String(i)]);
  }
  expect(await bodies(store, { key: 'all' })).toEqual(falling(count));
}

describe('arguments', () => {
  it.each([
    ['a key that is no text', { key: 7 }, 'TypeError'],
    ['a unique key that is no text', { uniqueKey: null }, 'TypeError'],
    ['a topic that is no text', { topic: undefined, key: 'k' }, 'TypeError'],
    ['a time that is text', { key: 'k', begin: '5' }, 'TypeError'],
    ['no time', { key: 'k', end: null }, 'TypeError'],
    ['a date that is none', { key: 'k', end: new Date(Number.NaN) }, 'RangeError'],
    ['part of a millisecond', { key: 'k', begin: 0.5 }, 'RangeError'],
    ['a maximum of 0', { key: 'k', max: 0 }, 'RangeError'],
    ['a maximum that is text', { key: 'k', max: '1' }, 'TypeError'],
    ['a signal that is none', { key: 'k', signal: {} }, 'TypeError'],
    ['part of a message', { key: 'k', max: 1.5 }, 'RangeError'],
  ])('refuses %s at once', async (_, wrong, kind) => {
    await using store = await openWith();
    const call = () => store.find({ topic: 't', ...wrong } as FindOptions);
    expect(failureOf(call)).toBe(`${kind} STORE_INVALID_ARGUMENT`);
  });

  it('are no reason to read: topics and keys that no message has find nothing', async () => {
    await using store = await openWith();
    expect(await bodies(store, { key: 'k0' })).toEqual([]);
    fill(store, 1);
    expect(await bodies(store, { key: 'k0' }, 'other')).toEqual([]);
    expect(await bodies(store, { key: '' })).toEqual([]);
    expect(await bodies(store, { key: 'k0 all' })).toEqual([]);
    expect(await bodies(store, { key: 'k0', begin: BEGIN + 1, end: BEGIN - 1 })).toEqual([]);
    expect(await bodies(store, { key: 'k0', begin: -5, end: -1 })).toEqual([]);
    expect(await bodies(store, { key: 'k0', begin: new Date(BEGIN), end: BEGIN })).toEqual(['0']);
  });

  it('may be abandoned: an aborted search fails with the reason, before and between batches', async () => {
    await using store = await openWith();
    fill(store, 100);
    const controller = new AbortController();
    const { signal } = controller;
    const search = store.find({ topic: 't', key: 'all', signal });
    expect((await search.next()).value).toHaveLength(32);
    controller.abort('enough');
    const rest = async () => {
      for await (const _ of search);
    };
    await expect(rest()).rejects.toBe('enough');
    await expect(bodies(store, { key: 'k0', signal })).rejects.toBe('enough');
    expect(await bodies(store, { key: 'k0' })).toEqual(['0']);
  });

  it('is over when the store is closed', async () => {
    const store = await openWith();
    fill(store, 1200);
    const search = store.find({ topic: 't', key: 'all' });
    await search.next();
    await store.close();
    const rest = async () => {
      for await (const _ of search);
    };
    expect(await rejectionOf(rest())).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => store.find({ topic: 't', key: 'k0' }))).toBe('StoreError STORE_CLOSED');
  });
});

describe('a maximum', () => {
  it('takes the newest, however batches fall', async () => {
    await using store = await openWith(SMALL);
    fill(store, 100);
    for (const max of [1, 31, 32, 33, 64, 99, 100, 101, 2147483647, Number.MAX_SAFE_INTEGER]) {
      expect(await bodies(store, { key: 'all', max })).toEqual(falling(100).slice(0, max));
    }
  });

  // BR-067
  it('takes no memory by itself', async () => {
    const { code, said, err } = await run(
      async ({ lib, fs, say, collectGarbage }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        for (let i = 0; i < 10; i++) store.append({ topic: 't', body: 'b', keys: 'k' });
        const find = async (max: number) => {
          let count = 0;
          for await (const batch of store.find({ topic: 't', key: 'k', max }))
            count += batch.length;
          return count;
        };
        const used = () => {
          collectGarbage();
          const { heapUsed, external, arrayBuffers } = process.memoryUsage();
          const size = (name: string) => {
            const line = new RegExp(`${name}:\\s+(\\d+)`).exec(
              fs.readFileSync('/proc/self/status', 'utf8'),
            );
            return Number(line?.[1]) * 1024;
          };
          return { held: heapUsed + external + arrayBuffers, peak: size('VmPeak') };
        };
        for (let i = 0; i < 100; i++) await find(1);
        const before = used();
        const count = await find(2147483647);
        const after = used();
        say([count, after.held - before.held, after.peak - before.peak]);
        await store.close();
      },
      [options()],
    );
    expect(err).toBe('');
    expect(code).toBe(0);
    const [count, held, peak] = said[0] as [number, number, number];
    expect(count).toBe(10);
    expect(held).toBeLessThan(5 << 20);
    expect(peak).toBeLessThan(2147483647); // not even promised, at one byte each
  });
});

describe('keys', () => {
  it('may be many in one message, repeated and empty', async () => {
    await using store = await openWith();
    const put = (body: string, keys: string | string[]) =>
      store.append({ topic: 't', body, keys, properties: { UNIQ_KEY: `u-${body}` } });
    put(
      'many',
      Array.from({ length: 300 }, (_, i) => `m${i}`),
    );
    put('repeated', 'same same  same');
    put('blanks', '  edge  ');
    store.append({ topic: 't', body: 'none', properties: { UNIQ_KEY: 'u-none' } });
    for (const i of [0, 1, 150, 298, 299]) {
      expect(await bodies(store, { key: `m${i}` })).toEqual(['many']);
    }
    expect(await bodies(store, { key: 'm300' })).toEqual([]);
    expect(await bodies(store, { key: 'same' })).toEqual(['repeated']);
    expect(await bodies(store, { key: 'edge' })).toEqual(['blanks']);
    expect(await bodies(store, { key: '' })).toEqual([]);
    expect(await bodies(store, { uniqueKey: 'u-none' })).toEqual(['none']);
  });

  it('and unique keys are asked for by their own names, or together', async () => {
    await using store = await openWith();
    for (const [body, keys, UNIQ_KEY] of [
      ['a', 'x', 'y'],
      ['b', 'y', 'x'],
      ['c', 'x', 'z'],
    ] as const) {
      store.append({ topic: 't', body, keys, properties: { UNIQ_KEY } });
    }
    expect(await bodies(store, { key: 'x' })).toEqual(['c', 'a']);
    expect(await bodies(store, { uniqueKey: 'x' })).toEqual(['b']);
    expect(await bodies(store, { key: 'x', uniqueKey: 'z' })).toEqual(['c']);
    expect(await bodies(store, { key: 'y', uniqueKey: 'y' })).toEqual([]);
  });

  // BR-062: Java has one hash for Aa and BB, and for topics that begin with them.
  it('of one hash are told apart, and so are topics', async () => {
    await using store = await openWith();
    for (const topic of ['AaTopic', 'BBTopic', 't']) {
      for (const key of ['Aa', 'BB']) {
        if (topic !== 't' && !topic.startsWith(key)) continue;
        store.append({ topic, body: `${topic} ${key}`, keys: key });
      }
    }
    expect(await bodies(store, { key: 'Aa' })).toEqual(['t Aa']);
    expect(await bodies(store, { key: 'BB' })).toEqual(['t BB']);
    expect(await bodies(store, { key: 'BB' }, 'AaTopic')).toEqual([]);
    expect(await bodies(store, { key: 'Aa' }, 'AaTopic')).toEqual(['AaTopic Aa']);
    expect(await bodies(store, { key: 'Aa' }, 'BBTopic')).toEqual([]);
  });

  it('are found over the ends of index files', async () => {
    await using store = await openWith(SMALL);
    fill(store, 200);
    // 400 entries, 19 a file; keys of one message in two files count once.
    expect(indexFiles()).toHaveLength(22);
    await expectEach(store, 200);
  });
});

describe('times', () => {
  // BR-064
  it('are exact within a second', async () => {
    await using store = await openWith();
    for (const time of [0, 999, 1000, 1001]) {
      now = BEGIN + time;
      store.append({ topic: 't', body: String(time), keys: 'k' });
    }
    const window = (from: number, to: number) =>
      bodies(store, { key: 'k', begin: BEGIN + from, end: new Date(BEGIN + to) });
    expect(await window(999, 999)).toEqual(['999']);
    expect(await window(1, 998)).toEqual([]);
    expect(await window(999, 1000)).toEqual(['1000', '999']);
    expect(await window(1001, 9999)).toEqual(['1001']);
  });

  // BR-065
  it.each([
    ['one file', {}],
    ['several files', SMALL],
  ])('are the same after reopening, in %s', async (_, shape) => {
    const COUNT = 25;
    const store = await openWith(shape);
    for (let i = 0; i < COUNT; i++, now += 10_000) fill(store, 1, i);
    await store.close();
    const last = BEGIN + (COUNT - 1) * 10_000;
    const check = async (opened: StoreReader) => {
      const within = { begin: last, end: last + 999 };
      expect(await bodies(opened, { key: 'all', ...within })).toEqual([`${COUNT - 1}`]);
      expect(await bodies(opened, { key: `k${COUNT - 1}`, ...within })).toEqual([`${COUNT - 1}`]);
      expect(await bodies(opened, { key: 'all', end: BEGIN + 10_000 })).toEqual(['1', '0']);
    };
    await using reader = await MessageStore.openReader(dir);
    await check(reader);
    await using reopened = await openWith(shape);
    await check(reopened);
    now = last + 10_000;
    fill(reopened, 1, COUNT);
    expect(await bodies(reopened, { key: 'all', begin: last + 1 })).toEqual([`${COUNT}`]);
    await check(reader);
  });
});

describe('beside a process that writes', () => {
  /** Appends so many each time it is told to, 100 ms apart; opened again it goes on. */
  async function writer(step: number, rest: object = {}) {
    const child = start(
      async ({ lib, say, told }, options: MessageStoreOptions, step: number, begin: number) => {
        let i = 0;
        const store = await lib.MessageStore.open({ ...options, clock: () => begin + i * 100 });
        for (say('open'); ; say(i)) {
          await told();
          for (const end = i + step; i < end; i++) {
            store.append({ topic: 't', body: String(i), keys: [`k${i}`, 'all'] });
          }
        }
      },
      [options(rest), step, BEGIN],
    );
    await child.said();
    const append = () => {
      child.tell();
      return child.said();
    };
    return { child, append };
  }

  it.each([
    ['one index file', {}],
    ['index files that come to be', SMALL],
  ])('a reader finds what is there and what comes, in %s', async (_, shape) => {
    const { child, append } = await writer(25, shape);
    await append();
    await using reader = await MessageStore.openReader(options(shape));
    for (let count = 25; count <= 125; count += 25) {
      if (count > 25) await append();
      await expectEach(reader, count);
      const begin = BEGIN + (count - 2) * 100;
      expect(await bodies(reader, { key: 'all', begin })).toEqual(falling(count).slice(0, 2));
      expect(await bodies(reader, { key: 'all', max: 1 })).toEqual([`${count - 1}`]);
    }
    await child.kill();
    await expectEach(reader, 125);
  });

  // BR-066
  it.each([
    ['one index file', {}],
    ['several index files', SMALL],
  ])('nothing is missing once it was killed, from %s', async (_, shape) => {
    const { child, append } = await writer(100, shape);
    await append();
    await child.kill();
    const left = treeOf(dir);
    const reader = await MessageStore.openReader(options(shape));
    expect(reader.recovery.clean).toBe(false);
    await expectEach(reader, 100);
    await reader.close();
    expect(treeOf(dir)).toEqual(left);
    await using store = await openWith(shape);
    await expectEach(store, 100);
    fill(store, 20, 100);
    await expectEach(store, 120);
  });
});
