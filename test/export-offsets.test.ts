// Consumer offsets in copies: snapshots that open as ours, and RocketMQ's two files in exports.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseConsumerOffsets } from '../lib/consumer-offset-parser.ts';
import { MessageStore, type MessageStoreOptions, type StoreReader } from '../lib/index.ts';
import { BROKER, unpack } from './golden-support/stores.ts';
import { json, run } from './support/cli.ts';
import { small } from './support/copies.ts';
import { freshDirectories, nameOfFile, treeOf } from './support/files.ts';
import { offsetFiles } from './support/offsets.ts';
import { type Child, start } from './support/programs.ts';
import { quiet } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let out = '';
beforeEach(() => {
  dir = fresh();
  out = fresh('copy');
});

const open = (rest: object = {}) => MessageStore.open({ path: dir, ...small, ...rest });

/** Messages in queues 0 and 1 of t, and in light queue x. */
function fill(store: MessageStore, count: number): void {
  for (let i = 0; i < count; i++) {
    store.append({ topic: 't', queueId: i % 2, body: String(i), lmq: ['x'] });
  }
}

/** Three groups, of which one is named like a light queue. */
function commit(store: MessageStore): void {
  store.queue('t', 0).commit('g', 3);
  store.queue('t', 1).commit('g', 5);
  store.lmq('x').commit('g', 10);
  store.lmq('x').commit('%LMQ%h', 7);
  store.queue('t', 0).commit('k', 0);
}
const COMMITTED = ['%LMQ%h %LMQ%x:0 7', 'g %LMQ%x:0 10', 'g t:0 3', 'g t:1 5', 'k t:0 0'];

const said = (offsets: ReturnType<typeof parseConsumerOffsets>) =>
  offsets.map((one) => `${one.group} ${one.topic}:${one.queueId} ${one.offset}`).sort();
const offsetsOf = (store: StoreReader) => said(store.consumerOffsets({ limit: 10_000 }).offsets);
const fileOf = (where: string, name = 'lmqConsumerOffset') =>
  path.join(where, 'config', `${name}.json`);
const inFile = (where: string, name?: string) =>
  said(parseConsumerOffsets(readFileSync(fileOf(where, name), 'utf8')));
const withoutLight = (list: string[]) => list.filter((one) => !one.startsWith('%LMQ%'));

describe('an export', () => {
  it('has the offsets in both files of RocketMQ’s, in plain JSON', async () => {
    await using store = await open();
    fill(store, 20);
    commit(store);
    expect((await store.export(out)).consumerOffsets).toBe(5);
    expect(JSON.parse(readFileSync(fileOf(out), 'utf8'))).toMatchObject({
      dataVersion: { counter: 1 },
      offsetTable: { 't@g': { 0: 3, 1: 5 }, '%LMQ%x@g': { 0: 10 }, 't@k': { 0: 0 } },
      lmqOffsetTable: { '%LMQ%x@%LMQ%h': 7 },
    });
    expect(JSON.parse(readFileSync(fileOf(out, 'consumerOffset'), 'utf8'))).not.toHaveProperty(
      'lmqOffsetTable',
    );
    expect(inFile(out, 'consumerOffset')).toEqual(withoutLight(COMMITTED));
    expect(readdirSync(path.join(out, 'config')).sort()).toEqual([
      'consumerOffset.json',
      'lmqConsumerOffset.json',
      'topics.json',
    ]);
    expect(existsSync(path.join(out, 'offsets'))).toBe(false);
    await using adopted = await MessageStore.open({ path: out, adopt: true });
    expect(offsetsOf(adopted)).toEqual(COMMITTED);
    expect(adopted.recovery.notes).toEqual([]);
  });

  it('without any has empty tables', async () => {
    await using store = await open();
    await store.export(out);
    const tables = { offsetTable: {}, lmqOffsetTable: {} };
    expect(JSON.parse(readFileSync(fileOf(out), 'utf8'))).toMatchObject(tables);
  });

  it('from a reader beside the writer has what was committed', async () => {
    await using store = await open();
    fill(store, 20);
    await using reader = await MessageStore.openReader(dir);
    commit(store);
    await reader.export(out);
    expect(inFile(out)).toEqual(COMMITTED);
    store.queue('t', 0).commit('g', 4);
    expect(inFile(out)).toEqual(COMMITTED);
  });

  it('has an offset of 0 for a queue of which no message is left', async () => {
    const store = await open();
    store.append({ topic: 'old', body: '', lmq: ['gone'] });
    store.lmq('gone').commit('g', 1);
    fill(store, 200);
    store.lmq('x').commit('g', 200);
    await store.deleteBefore(store.queue('t', 0).read(50).messages[0]!.physicalOffset);
    const { warnings } = await store.export(out);
    expect(inFile(out)).toEqual(['g %LMQ%gone:0 0', 'g %LMQ%x:0 200']);
    expect(warnings.find(({ kind }) => kind === 'offsetAhead')).toMatchObject({
      count: 1,
      example: 'g in queue 0 of %LMQ%gone',
    });
    await store.close();
  });

  it('of a broker’s directory keeps what else its file holds', async () => {
    const at = unpack(BROKER);
    const text =
      '{"dataVersion":{},"groupTopicMap":{"g1":["orders"]},"pullOffsetTable":{"orders@p":{0:1}},"offsetTable":{"orders@g1":{1:5,0:999}}}';
    writeFileSync(fileOf(at), text);
    writeFileSync(`${fileOf(at)}.bak`, '{}');
    const before = treeOf(at);
    await using reader = await MessageStore.openReader(at);
    const end = reader.queue('orders', 0).maxOffset;
    const { warnings } = await reader.export(out);
    expect(treeOf(at)).toEqual(before);
    expect(inFile(out)).toEqual([`g1 orders:0 ${end}`, 'g1 orders:1 5']);
    const written = readFileSync(fileOf(out), 'utf8');
    expect(written).toContain('"groupTopicMap":{"g1":["orders"]}');
    expect(written).toContain('"pullOffsetTable":{"orders@p":{0:1}}');
    expect(existsSync(`${fileOf(out)}.bak`)).toBe(false);
    expect(warnings.map(({ kind }) => kind)).toContain('offsetAhead');
  });

  it('of a directory whose file is damaged says so, and writes it anew', async () => {
    const at = unpack(BROKER);
    writeFileSync(`${fileOf(at)}.bak`, '{"offsetTable":{"orders@g1":{1:2}}}');
    writeFileSync(fileOf(at), '{"offsetTable"');
    await using reader = await MessageStore.openReader(at);
    const { warnings } = await reader.export(out);
    expect(warnings.map(({ kind }) => kind)).toContain('offsetsUnreadable');
    expect(inFile(out)).toEqual(['g1 orders:1 2']);
  });
});

describe('exportInPlace', () => {
  it('writes files that the next open does not take for a broker’s', async () => {
    const store = await open();
    fill(store, 20);
    commit(store);
    expect((await store.exportInPlace()).consumerOffsets).toBe(5);
    expect(inFile(dir)).toEqual(COMMITTED);
    const again = await open();
    expect(again.recovery.notes).toEqual([]);
    again.queue('t', 0).commit('g', 9);
    await again.close();
    const third = await open();
    expect(third.queue('t', 0).committed('g')).toBe(9);
    await third.exportInPlace();
    expect(inFile(dir)).toContain('g t:0 9');
    // A broker that had the directory in between wins.
    writeFileSync(fileOf(dir), '{"offsetTable":{"t@g":{0:2}}}');
    await using fourth = await open();
    expect(offsetsOf(fourth)).toContain('g t:0 2');
    expect(offsetsOf(fourth)).toContain('%LMQ%h %LMQ%x:0 7');
  });

  it('keeps what a broker wrote beside offsets, and the file that it would fall back to', async () => {
    const store = await open();
    fill(store, 20);
    mkdirSync(path.join(dir, 'config'), { recursive: true });
    writeFileSync(fileOf(dir), '{"offsetTable":{"t@g":{1:4}},"groupTopicMap":{"g":["t"]}}');
    writeFileSync(`${fileOf(dir)}.bak`, '{}');
    store.queue('t', 0).commit('g', 1);
    await store.exportInPlace();
    expect(inFile(dir)).toEqual(['g t:0 1', 'g t:1 4']);
    expect(readFileSync(fileOf(dir), 'utf8')).toContain('"groupTopicMap":{"g":["t"]}');
    expect(existsSync(`${fileOf(dir)}.bak`)).toBe(true);
    await using again = await open();
    expect(offsetsOf(again)).toEqual(['g t:0 1', 'g t:1 4']);
  });

  it('leaves a directory in the place of a file, and fails by name', async () => {
    const store = await open();
    fill(store, 2);
    mkdirSync(path.join(fileOf(dir), 'in the way'), { recursive: true });
    await expect(store.exportInPlace()).rejects.toMatchObject({ code: 'STORE_IO' });
    expect(readdirSync(path.join(dir, 'config')).sort()).toEqual([
      'consumerOffset.json',
      'lmqConsumerOffset.json',
      'topics.json',
    ]);
    rmSync(fileOf(dir), { recursive: true });
    const again = await open();
    expect(again.recovery.clean).toBe(true);
    await again.exportInPlace();
    expect(inFile(dir)).toEqual([]);
  });
});

describe('a snapshot', () => {
  it('has the offsets of its moment', async () => {
    await using store = await open();
    fill(store, 20);
    commit(store);
    await store.snapshot(out);
    store.queue('t', 0).commit('g', 10);
    await using copy = await MessageStore.open({ path: out, ...small });
    expect(offsetsOf(copy)).toEqual(COMMITTED);
    expect(copy.recovery.notes).toEqual([]);
    copy.queue('t', 0).commit('g', 1);
    expect(store.queue('t', 0).committed('g')).toBe(10);
  });

  it('does not take files of ours for a broker’s', async () => {
    const first = await open();
    fill(first, 20);
    commit(first);
    await first.exportInPlace();
    await using store = await open();
    store.queue('t', 0).commit('g', 9);
    await store.snapshot(out);
    await using copy = await MessageStore.open({ path: out, ...small });
    expect(copy.queue('t', 0).committed('g')).toBe(9);
  });

  it('of a broker’s directory has its files as they are', async () => {
    const at = unpack(BROKER);
    await using reader = await MessageStore.openReader(at);
    await reader.snapshot(out);
    expect(readFileSync(fileOf(out))).toEqual(readFileSync(fileOf(at)));
    await using copy = await MessageStore.openReader(out);
    expect(offsetsOf(copy)).toEqual(offsetsOf(reader));
  });
});

/** Appends and commits without end; says the number that was committed, in both queues. */
function writer(): Child {
  return start(
    async ({ lib, say }, options: MessageStoreOptions) => {
      const store = await lib.MessageStore.open(options);
      for (let i = 1; ; i++) {
        store.append({ topic: 't', body: String(i), lmq: ['x', `q${i % 50}`] });
        store.queue('t').commit('g', i);
        store.lmq('x').commit('g', i);
        store.lmq(`q${i % 50}`).commit(`g${i}`, 1);
        if (i % 200 === 0) say(i);
        if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    [{ path: dir, ...quiet, mappedFileSizeCommitLog: 64 * 1024 }],
  );
}

describe('beside a process that commits', () => {
  it('copies have every offset from before the call, and none beyond its queue', async () => {
    const child = writer();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 2; i++) await child.said();
      const acknowledged = (await child.said()) as number;
      const backup = fresh('backup');
      const broker = fresh('broker');
      {
        await using reader = await MessageStore.openReader(dir);
        await reader.snapshot(backup);
        await reader.export(broker);
      }
      await using copy = await MessageStore.open(backup);
      await using adopted = await MessageStore.open({ path: broker, adopt: true });
      for (const store of [copy, adopted]) {
        // None was set back.
        expect(store.recovery.notes).toEqual([]);
        for (const queue of [store.queue('t'), store.lmq('x')]) {
          expect(queue.committed('g')).toBeGreaterThanOrEqual(acknowledged);
          expect(queue.committed('g')).toBeLessThanOrEqual(queue.maxOffset);
        }
        expect(store.groups().length).toBeGreaterThan(acknowledged);
      }
    }
    await child.kill();
  });
});

describe('very many offsets', () => {
  it('are written without holding up the event loop', { timeout: 120_000 }, async () => {
    const count = 300_000;
    await (await open()).close();
    const many = Array.from({ length: count }, (_, i) => ({
      group: `g${i % 7}`,
      topic: 't',
      queueId: i,
      offset: 0,
    }));
    mkdirSync(path.join(dir, 'config'));
    writeFileSync(fileOf(dir), offsetFiles(many).lmqConsumerOffset);
    await using store = await open();
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const report = await store.export(out);
    clearInterval(ticking);
    expect(report.consumerOffsets).toBe(count);
    // A part for every 2,000 offsets of each file, with a turn of the event loop between.
    expect(turns).toBeGreaterThan(100);
    expect(parseConsumerOffsets(readFileSync(fileOf(out), 'utf8'))).toHaveLength(count);
  });
});

describe('lmq-store', () => {
  it('copies offsets, and takes a broker’s directory over in place only if it is told to', async () => {
    const at = unpack(BROKER);
    const before = treeOf(at);
    const refused = run('export', at, '--in-place');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/^STORE_FOREIGN_DIRECTORY: [^\n]+--adopt[^\n]*\n$/);
    expect(run('export', at, out, '--adopt')).toMatchObject({ code: 2, out: '' });
    expect(treeOf(at)).toEqual(before);
    const copied = json('export', at, out);
    expect(copied.values).toMatchObject([{ consumerOffsets: 6 }]);
    const offsets = inFile(out);
    expect(run('export', at, '--in-place', '--adopt')).toMatchObject({ code: 0, err: '' });
    expect(inFile(at)).toEqual(offsets);
    expect(existsSync(path.join(at, 'commitlog', nameOfFile(0)))).toBe(true);
    await using reader = await MessageStore.openReader(at);
    expect(reader.lmq('bob').committed('%LMQ%g2')).toBe(7);
  });
});
