// Consumer offsets that a broker left: read beside it, taken over, and winning once they change.
import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type StoreReader } from '../lib/index.ts';
import { BROKER, unpack } from './golden-support/stores.ts';
import { freshDirectories, treeOf } from './support/files.ts';
import { offsetFiles } from './support/offsets.ts';
import { quiet } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (at = dir) => MessageStore.open({ path: at, ...quiet });

function write(name: string, content: string, at = dir, time?: number): void {
  mkdirSync(path.join(at, 'config'), { recursive: true });
  const file = path.join(at, 'config', name);
  writeFileSync(file, content);
  if (time !== undefined) utimesSync(file, time, time);
}

/** With ten messages in t and in light queue x. */
async function filled(): Promise<void> {
  const store = await openWith();
  for (let i = 0; i < 10; i++) store.append({ topic: 't', body: String(i), lmq: ['x'] });
  await store.close();
}

const json = (offset: number, key = 't@g', id = 0) =>
  `{"offsetTable":{"${key}":{${id}:${offset}}}}`;
const found = (store: StoreReader) => store.queue('t').committed('g');

describe("a broker's offsets", () => {
  it('are read beside it, live', async () => {
    const at = unpack(BROKER);
    const before = treeOf(at);
    const reader = await MessageStore.openReader(at);
    expect(reader.queue('orders', 1).committed('g1')).toBe(5);
    expect(reader.lmq('bob').committed('%LMQ%g2')).toBe(7);
    expect(reader.groups()).toEqual(['%LMQ%g2', 'g1']);
    expect(treeOf(at)).toEqual(before);
    write('lmqConsumerOffset.json', '{"offsetTable":{"orders@g1":{1:9}}}', at);
    expect(reader.queue('orders', 1).committed('g1')).toBe(9);
    await reader.close();
  });

  it('win once they have changed, and only then', async () => {
    await filled();
    write('consumerOffset.json', json(3));
    const first = await openWith();
    expect(found(first)).toBe(3);
    first.queue('t').commit('g', 5);
    first.queue('t').commit('other', 6);
    await first.close();
    const second = await openWith();
    expect(found(second)).toBe(5);
    await second.close();
    write('consumerOffset.json', json(4));
    const third = await openWith();
    expect(found(third)).toBe(4);
    expect(third.queue('t').committed('other')).toBe(6);
    await third.close();
    rmSync(path.join(dir, 'config'), { recursive: true });
    await using fourth = await openWith();
    expect(found(fourth)).toBe(4);
  });

  it('are shown by a reader of our directory before a writer has taken them in', async () => {
    await filled();
    write('consumerOffset.json', json(3));
    await using reader = await MessageStore.openReader({ path: dir, ...quiet });
    expect(found(reader)).toBe(3);
    await using store = await openWith();
    store.queue('t').commit('g', 8);
    expect(found(reader)).toBe(8);
  });

  it.each([
    [1000, 2000, 7],
    [2000, 1000, 2],
  ])('come from the newer of both files last (%i, %i)', async (ordinary, light, offset) => {
    await filled();
    write('consumerOffset.json', json(2), dir, ordinary);
    write('lmqConsumerOffset.json', json(7), dir, light);
    await using store = await openWith();
    expect(found(store)).toBe(offset);
  });

  it('beyond the end of a queue are set back to it, and reported', async () => {
    await filled();
    write('lmqConsumerOffset.json', '{"offsetTable":{"t@g":{0:11,9:1},"%LMQ%x@g":{0:10}}}');
    await using store = await openWith();
    expect(found(store)).toBe(10);
    expect(store.lmq('x').committed('g')).toBe(10);
    expect(store.queue('t', 9).committed('g')).toBe(0);
    expect(store.recovery.notes.map(({ code, offset }) => [code, offset])).toEqual([
      ['STORE_OFFSET_TOO_LARGE', 11],
      ['STORE_OFFSET_TOO_LARGE', 1],
    ]);
  });

  it('that are damaged are reported; what the broker kept before counts', async () => {
    await filled();
    write('consumerOffset.json', '\0'.repeat(512));
    write('consumerOffset.json.bak', json(3));
    const store = await openWith();
    expect(found(store)).toBe(3);
    expect(store.recovery.notes).toMatchObject([
      { code: 'STORE_CORRUPT_FILE', path: path.join(dir, 'config', 'consumerOffset.json') },
    ]);
    store.queue('t').commit('g', 6);
    await store.close();
    write('consumerOffset.json.bak', '{');
    await using again = await openWith();
    expect(again.recovery.notes.map(({ code }) => code)).toEqual([
      'STORE_CORRUPT_FILE',
      'STORE_CORRUPT_FILE',
    ]);
    expect(found(again)).toBe(6);
  });

  it.each<[string, (file: string) => void]>([
    ['a directory', (file) => mkdirSync(path.join(file, 'in the way'), { recursive: true })],
    ['a link to itself', (file) => symlinkSync(file, file)],
    ['an empty file', (file) => writeFileSync(file, '')],
    ['garbage', (file) => writeFileSync(file, Buffer.alloc(5000, 0xff))],
    ['a part of a file', (file) => writeFileSync(file, json(5).slice(0, -1))],
    ['no table', (file) => writeFileSync(file, '"offsetTable"')],
  ])('in the place of which %s is are those that the broker kept before', async (_what, put) => {
    await filled();
    write('lmqConsumerOffset.json.bak', json(3));
    put(path.join(dir, 'config', 'lmqConsumerOffset.json'));
    const note = [{ code: 'STORE_CORRUPT_FILE' }];
    const store = await openWith();
    expect(found(store)).toBe(3);
    expect(store.recovery.notes).toMatchObject(note);
    store.queue('t').commit('g', 6);
    await store.close();
    // Nothing is new in them.
    const again = await openWith();
    expect(found(again)).toBe(6);
    await again.close();
    rmSync(path.join(dir, 'config', 'lmqConsumerOffset.json.bak'));
    await using reader = await MessageStore.openReader({ path: dir, ...quiet });
    expect(found(reader)).toBe(6);
    expect(reader.recovery.notes).toMatchObject(note);
  });

  it('are none where config is no directory', async () => {
    await filled();
    writeFileSync(path.join(dir, 'config'), 'offsetTable');
    await using store = await openWith();
    expect(store.groups()).toEqual([]);
    expect(store.recovery.notes).toEqual([]);
  });

  it('may be beyond all queues: set back to the end, the others as they are', async () => {
    await filled();
    write('consumerOffset.json', `{"offsetTable":{"t@g":{0:9223372036854775807},"t@h":{0:4}}}`);
    await using store = await openWith();
    expect(found(store)).toBe(10);
    expect(store.queue('t').committed('h')).toBe(4);
    expect(store.recovery.notes).toMatchObject([{ code: 'STORE_OFFSET_TOO_LARGE' }]);
  });

  it('with names that cannot be are left out, and reported', async () => {
    await filled();
    write('consumerOffset.json', `{"offsetTable":{"${'t'.repeat(256)}@g":{0:0},"t@g":{0:3}}}`);
    await using store = await openWith();
    expect(found(store)).toBe(3);
    expect(store.recovery.notes).toMatchObject([{ code: 'STORE_INVALID_ARGUMENT', offset: 0 }]);
  });

  it('that we wrote come back, a million of them within seconds', {
    timeout: 120_000,
  }, async () => {
    const store = await openWith();
    store.append({ topic: 't', body: '' });
    await store.close();
    const many = Array.from({ length: 1_000_000 }, (_, i) => ({
      group: 'g',
      topic: 't',
      queueId: i,
      offset: i === 0 ? 1 : 0,
    }));
    write('lmqConsumerOffset.json', offsetFiles(many).lmqConsumerOffset);
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const taken = await openWith();
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(50); // of the event loop: it was not held up
    expect(taken.recovery.notes).toEqual([]);
    await taken.close();
    await using again = await openWith();
    expect(again.queue('t', 999_999).committed('g')).toBe(0);
    expect(again.queue('t', 0).committed('g')).toBe(1);
    expect(again.queue('t', 1_000_000).committed('g')).toBeUndefined();
  });
});
