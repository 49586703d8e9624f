// Index files that are damaged or gone: never a wrong message, and the log has what they lost.
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions, type StoreReader } from '../lib/index.ts';
import { freshDirectories, overwrite, treeOf } from './support/files.ts';
import { abandon, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
const SLOTS = 8;
const COUNT = 45; // three files: 90 entries, 39 a file
const SHAPE = { maxHashSlotNum: SLOTS, maxIndexNum: 40 };
const HEADER = 40;
const options = (path: string): MessageStoreOptions => ({ path, ...quiet, ...SHAPE });
const made = { closed: '', killed: '' };
let dir = '';

beforeAll(async () => {
  made.closed = fresh('closed');
  const store = await MessageStore.open(options(made.closed));
  for (let i = 0; i < COUNT; i++) {
    store.append({ topic: 't', body: String(i), keys: [`k${i}`, 'all'] });
  }
  made.killed = abandon(made.closed, fresh('killed'));
  await store.close();
});

const filesOf = () => readdirSync(path.join(dir, 'index')).sort();
const file = (index: number) => path.join(dir, 'index', filesOf().at(index)!);

async function found(store: StoreReader, key: string): Promise<number[]> {
  const numbers: number[] = [];
  for await (const batch of store.find({ topic: 't', key })) {
    for (const message of batch) numbers.push(Number(message.text()));
  }
  return numbers;
}
const falling = Array.from({ length: COUNT }, (_, i) => COUNT - 1 - i);

/** Which messages are found by their own key; never another one, never one twice. */
async function reachable(store: StoreReader): Promise<number[]> {
  const numbers: number[] = [];
  for (const i of falling) {
    const one = await found(store, `k${i}`);
    expect([[], [i]]).toContainEqual(one);
    numbers.push(...one);
  }
  const all = await found(store, 'all');
  expect(all).toEqual([...new Set(all)].sort((a, b) => b - a));
  return numbers;
}

async function newest(store: StoreReader, key: string): Promise<string | undefined> {
  for await (const [message] of store.find({ topic: 't', key, max: 1 })) return message?.text();
  return undefined;
}

async function expectAll(store: StoreReader): Promise<void> {
  expect(await reachable(store)).toEqual(falling);
  expect(await found(store, 'all')).toEqual(falling);
}

const whole = (name: string) => readFileSync(name).length;

/** What can befall a file: that its last entry is not where it was, what its length tells, or neither. */
const damages: readonly (readonly [
  name: string,
  seen: 'end' | 'length' | 'never',
  damage: (name: string) => void,
])[] = [
  ['is missing', 'end', (name) => rmSync(name)],
  ['is all zero', 'end', (name) => writeFileSync(name, Buffer.alloc(whole(name)))],
  ['is empty', 'end', (name) => truncateSync(name, 0)],
  ['has another header', 'end', (name) => overwrite(name, 0, Buffer.alloc(HEADER, 0x5a))],
  [
    'is a directory',
    'end',
    (name) => {
      rmSync(name);
      mkdirSync(path.join(name, 'inner'), { recursive: true });
    },
  ],
  ['is cut', 'length', (name) => truncateSync(name, whole(name) - 1)],
  [
    'has slots that lead anywhere',
    'never',
    (name) => {
      const bytes = Buffer.alloc(4 * SLOTS);
      const slots = [-1, 0x7fffffff, 39, 40, 0, -0x80000000, 1, 38];
      for (const [i, slot] of slots.entries()) bytes.writeInt32BE(slot, 4 * i);
      overwrite(name, HEADER, bytes);
    },
  ],
  [
    'has entries of other bytes',
    'never',
    (name) => overwrite(name, HEADER + 4 * SLOTS + 20, Buffer.alloc(39 * 20, 0x5a)),
  ],
];

describe.each([
  ['closed', 'newest'],
  ['closed', 'oldest'],
  ['killed', 'newest'],
  ['killed', 'oldest'],
] as const)('of a store that was %s, the %s file', (state, age) => {
  /** What the other files have: of 39 entries, two a message. */
  const others = falling.filter((i) => (age === 'newest' ? i < 39 : i > 19));
  beforeEach(() => {
    dir = abandon(made[state], fresh());
  });

  it.each(damages)('%s', async (_, seen, damage) => {
    damage(file(age === 'newest' ? -1 : 0));
    const left = treeOf(dir);
    const reader = await MessageStore.openReader(options(dir));
    if (seen === 'length') await expectNamed(reader);
    else expect(await reachable(reader)).toEqual(expect.arrayContaining(others));
    await reader.close();
    expect(treeOf(dir)).toEqual(left);

    const store = await MessageStore.open(options(dir));
    if (seen === 'length') await expectNamed(store);
    else if (state === 'killed') await expectAll(store);
    else if (age === 'newest' && seen === 'end') {
      const codes = store.recovery.notes.map(({ code }) => code);
      expect(codes).toContain('STORE_CORRUPT_FILE');
      await expectAll(store);
    } else expect(await reachable(store)).toEqual(others); // a clean end is believed
    store.append({ topic: 't', body: '45', keys: 'new' });
    expect(await newest(store, 'new')).toBe('45');
    await store.close();

    await MessageStore.rebuild(dir);
    await using rebuilt = await MessageStore.open(options(dir));
    await expectAll(rebuilt);
    expect(await newest(rebuilt, 'new')).toBe('45');
  });

  /** Whoever asks for what the file may hold is told; what newer files hold is found before. */
  async function expectNamed(store: StoreReader): Promise<void> {
    const codes = store.recovery.notes.map(({ code }) => code);
    expect(codes).toContain('STORE_FILE_SIZE');
    expect(await rejectionOf(found(store, 'k0'))).toBe('StoreError STORE_FILE_SIZE');
    if (age === 'oldest') expect(await newest(store, 'k44')).toBe('44');
  }
});

it('a file in place of the directory is an error by name, and changes nothing', async () => {
  dir = abandon(made.closed, fresh());
  rmSync(path.join(dir, 'index'), { recursive: true });
  writeFileSync(path.join(dir, 'index'), 'no directory');
  const left = treeOf(dir);
  expect(await rejectionOf(MessageStore.openReader(options(dir)))).toBe(
    'StoreError STORE_NOT_FOUND',
  );
  expect(treeOf(dir)).toEqual(left);
  expect(await rejectionOf(MessageStore.open(options(dir)))).toBe('StoreError STORE_NOT_FOUND');
});
