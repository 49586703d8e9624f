// Export for a broker of RocketMQ: what it makes, and that our own adoption of it reads the same.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ExportReport, MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { json, run } from './support/cli.ts';
import { besides, saidBy, small } from './support/copies.ts';
import { contentOf, freshDirectories, nameOfFile, overwrite, queueFile } from './support/files.ts';
import { mount } from './support/mounts.ts';
import { start } from './support/programs.ts';
import { lightQueuesOf, quiet, rejectionOf, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let out = '';
beforeEach(() => {
  dir = fresh();
  out = fresh('broker');
});

const open = (rest: object = {}) => MessageStore.open({ path: dir, ...small, ...rest });
const adopt = (rest: object = {}) => MessageStore.open({ path: out, adopt: true, ...rest });

function fill(store: MessageStore, count: number, first = 0): void {
  for (let i = first; i < first + count; i++) {
    const lmq = ['x', ...(i % 3 === 0 ? ['y'] : []), ...(i % 10 === 0 ? [`n${i}`] : [])];
    store.append({ topic: `t${i % 2}`, queueId: i % 3, tags: 'T', body: `body ${i}`, lmq });
  }
}

const topicsOf = (where: string) =>
  JSON.parse(readFileSync(path.join(where, 'config/topics.json'), 'utf8')).topicConfigTable;
const confOf = (where: string) => readFileSync(path.join(where, 'broker.conf'), 'utf8').split('\n');
const kinds = ({ warnings }: ExportReport) => warnings.map(({ kind }) => kind).sort();
/** Units of a queue file: physical offset, size. */
function unitsOf(file: string): [bigint, number][] {
  const bytes = readFileSync(file);
  return Array.from({ length: bytes.length / 20 }, (_, i) => [
    bytes.readBigInt64BE(i * 20),
    bytes.readInt32BE(i * 20 + 8),
  ]);
}

describe('an exported directory', () => {
  it('is adopted with the same in every queue, and needs no rebuilding', async () => {
    await using store = await open();
    fill(store, 300);
    const expected = saidBy(store);
    const report = await store.export(out);
    expect(report).toMatchObject({
      path: out,
      conf: path.join(out, 'broker.conf'),
      logMin: 0,
      messages: 300,
      topics: 2,
      topicQueues: 6,
      lightQueues: 32,
    });
    expect(kinds(report)).toEqual(['recoveryLimit']);
    fill(store, 20, 300); // it is of its own moment
    expect(existsSync(path.join(out, 'abort'))).toBe(false);
    expect(existsSync(path.join(out, 'lmq-store.json'))).toBe(false);
    expect(existsSync(path.join(out, 'work'))).toBe(false);
    {
      await using reader = await MessageStore.openReader(out);
      expect(saidBy(reader)).toEqual(expected);
    }
    await using adopted = await adopt();
    expect(adopted.recovery.notes).toEqual([]);
    expect(adopted.recovery.lmqImported).toBe(300 + 100 + 30);
    expect(saidBy(adopted)).toEqual(expected);
    expect(besides(out)).toEqual([]);
  });

  it('has a directory with 20-byte units for each light queue, in files of full length', async () => {
    await using store = await open();
    fill(store, 45);
    await store.export(out);
    const files = readdirSync(path.join(out, 'consumequeue/%LMQ%x/0'));
    expect(files).toEqual([nameOfFile(0), nameOfFile(400), nameOfFile(800)]);
    const units = files.flatMap((name) => unitsOf(path.join(out, 'consumequeue/%LMQ%x/0', name)));
    expect(units).toHaveLength(60);
    const messages = store.lmq('x').read(0, { maxMessages: 45 }).messages;
    expect(units.slice(0, messages.length)).toEqual(
      messages.map((m) => [BigInt(m.physicalOffset), m.size]),
    );
    expect(units.slice(45).every(([at, size]) => at === 0n && size === 0)).toBe(true);
  });

  it('names sizes, switches and rows that a broker needs', async () => {
    await using store = await open();
    fill(store, 30);
    store.append({ topic: 'SCHEDULE_TOPIC_XXXX', queueId: 2, body: 'later' });
    await store.export(out);
    expect(confOf(out)).toEqual(
      expect.arrayContaining([
        `storePathRootDir=${out}`,
        `storePathCommitLog=${out}/commitlog`,
        'mappedFileSizeCommitLog=4096',
        'mappedFileSizeConsumeQueue=400',
        'maxHashSlotNum=50000',
        'maxIndexNum=200000',
        'enableLmq=true',
        'enableMultiDispatch=true',
        'commitLogRecoverMaxNum=100000',
      ]),
    );
    const topics = topicsOf(out);
    expect(topics.t1).toEqual({ topicName: 't1', readQueueNums: 3, writeQueueNums: 3, perm: 6 });
    expect(topics['%LMQ%n10']).toEqual({
      topicName: '%LMQ%n10',
      readQueueNums: 1,
      writeQueueNums: 1,
      perm: 4,
    });
    expect(topics).not.toHaveProperty('SCHEDULE_TOPIC_XXXX');
    // The file is a source of options for us, too.
    await using reader = await MessageStore.openReader({ conf: path.join(out, 'broker.conf') });
    expect(reader.lmq('x').maxOffset).toBe(30);
  });

  it('keeps rows and files that a broker has made', async () => {
    {
      await using store = await open();
      fill(store, 30);
      await store.export(out);
    }
    const row = { topicName: 't0', readQueueNums: 8, writeQueueNums: 4, perm: 2, order: true };
    const extra = { topicName: 'extra', readQueueNums: 1, writeQueueNums: 1, perm: 6 };
    const text = JSON.stringify({ topicConfigTable: { t0: row, extra, t1: { attributes: {} } } });
    writeFileSync(
      path.join(out, 'config/topics.json'),
      text.replace('"attributes":{}', '"a":{3:1}'),
    );
    writeFileSync(path.join(out, 'config/subscriptionGroup.json'), '{}');
    const second = fresh('second');
    await using reader = await MessageStore.openReader(out);
    await reader.export(second, { lightQueueRoutes: false });
    const topics = topicsOf(second);
    expect(topics).toMatchObject({ t0: row, extra, t1: { a: { 3: 1 }, readQueueNums: 3 } });
    expect(topics).not.toHaveProperty('%LMQ%x');
    expect(readFileSync(path.join(second, 'config/subscriptionGroup.json'), 'utf8')).toBe('{}');
    writeFileSync(path.join(out, 'config/topics.json'), '{');
    expect(kinds(await reader.export(fresh('third')))).toContain('topicsUnreadable');
  });

  it('of a store that has nothing is one that a store can begin in', async () => {
    await using store = await open();
    expect(await store.export(out)).toMatchObject({ messages: 0, warnings: [] });
    await using adopted = await adopt(small);
    fill(adopted, 3);
    expect(adopted.lmq('x').maxOffset).toBe(3);
  });

  it('begins the files of a queue at its minimum, blank below', async () => {
    {
      await using store = await open();
      fill(store, 100);
      await store.export(out);
    }
    // Retention as a broker does it: the oldest files of the log go.
    const log = path.join(out, 'commitlog');
    for (const name of readdirSync(log).slice(0, 3)) rmSync(path.join(log, name));
    await using reader = await MessageStore.openReader(out);
    const min = reader.lmq('x').minOffset;
    expect(min).toBeGreaterThan(20);
    const second = fresh('second');
    const report = await reader.export(second);
    const file = queueFile(second, '%LMQ%x', 0, Math.floor(min / 20) * 400);
    expect(readdirSync(path.dirname(file))[0]).toBe(path.basename(file));
    const units = unitsOf(file);
    expect(units[(min % 20) - 1]).toEqual([0n, 0x7fffffff]);
    expect(units[min % 20]![0]).toBe(BigInt(reader.lmq('x').read(min).messages[0]!.physicalOffset));
    expect(kinds(report)).toContain('emptied');
    await using adopted = await MessageStore.open({ path: second, adopt: true });
    expect(textsOf(adopted.lmq('x'))).toEqual(textsOf(reader.lmq('x')));
    expect(adopted.lmq('x').minOffset).toBe(min);
  });
});

describe('warnings', () => {
  it('name what a broker would trip over', async () => {
    await using store = await open();
    const light = 'INNER_MULTI_DISPATCH';
    const rawProperties = `${light}\u0001plain,%LMQ%a\u0002`;
    store.append({ topic: 'ok', body: '1', rawProperties });
    store.append({ topic: 'ok', body: '2', rawProperties: `${light}\u0001%LMQ%a,plain\u0002` });
    store.append({ topic: 'not ok', queueId: 5000, body: '3' });
    const report = await store.export(out, { lightQueueRoutes: false });
    expect(kinds(report)).toEqual(['mixedList', 'noRoutes', 'queueIds', 'topicName']);
    const mixed = report.warnings.find(({ kind }) => kind === 'mixedList')!;
    expect(mixed).toMatchObject({ count: 1, example: 'ok at 0' });
    expect(mixed.message).toContain('ok at 0');
  });

  it('name damage, which is copied as it is', async () => {
    {
      await using store = await open();
      fill(store, 100);
    }
    overwrite(path.join(dir, 'commitlog', nameOfFile(0)), 200, Buffer.from('damage'));
    await using reader = await MessageStore.openReader(dir);
    const report = await reader.export(out);
    expect(kinds(report)).toContain('damaged');
    expect(report.messages).toBe(99);
  });
});

describe('beside a process that appends', () => {
  it('is consistent, and holds all that was acknowledged before the call', async () => {
    const child = start(
      async ({ lib, say }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        for (let i = 0; ; i++) {
          store.append({ topic: 't', body: String(i), lmq: ['x', `q${i % 50}`, `new${i}`] });
          if (i % 500 === 0) say(i);
          if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        }
      },
      [{ path: dir, ...quiet, mappedFileSizeCommitLog: 64 * 1024 }],
    );
    for (let round = 0; round < 2; round++) {
      const acknowledged = (await child.said()) as number;
      out = fresh('broker');
      {
        await using reader = await MessageStore.openReader(dir);
        await reader.export(out);
      }
      await using store = await adopt();
      const texts = textsOf(store.queue('t'));
      expect(texts.length).toBeGreaterThan(acknowledged);
      expect(texts).toEqual(texts.map((_, i) => String(i)));
      expect(textsOf(store.lmq('x'))).toEqual(texts);
      expect(store.recovery.lmqImported).toBe(texts.length * 3);
      expect(lightQueuesOf(store, { prefix: 'new' })).toHaveLength(texts.length);
      for await (const fault of store.verify()) expect(fault).toBeUndefined();
    }
    await child.kill();
  });

  it('by kill -9 leaves no target', async () => {
    {
      await using store = await open({ mappedFileSizeCommitLog: 1 << 20 });
      for (let i = 0; i < 300; i++)
        store.append({ topic: 't', body: 'x'.repeat(100_000), lmq: ['x'] });
    }
    const child = start(
      async ({ lib, say }, from: string, to: string) => {
        const reader = await lib.MessageStore.openReader(from);
        await reader.export(to, { onProgress: ({ position }) => say(position) });
      },
      [dir, out],
    );
    while (((await child.said()) as number) === 0);
    await child.kill();
    expect(existsSync(out)).toBe(false);
    await using reader = await MessageStore.openReader(dir);
    expect((await reader.export(out)).messages).toBe(300);
  });
});

describe('exportInPlace', () => {
  it('makes the directory a broker’s, closes the store, and changes nothing for us', async () => {
    const store = await open();
    fill(store, 100);
    const expected = saidBy(store);
    const report = await store.exportInPlace();
    expect(report).toMatchObject({ path: dir, messages: 100, topicQueues: 6, lightQueues: 12 });
    expect(await rejectionOf(store.flush())).toBe('StoreError STORE_CLOSED');
    await store.close(); // once more is no harm
    expect(existsSync(path.join(dir, 'abort'))).toBe(false);
    expect(confOf(dir)).toContain(`storePathRootDir=${dir}`);
    // As RocketMQ sees it: nothing of ours, and its own opening of the rest.
    cpSync(dir, out, { recursive: true });
    for (const ours of ['lmq', 'state', 'work', 'cut', 'lmq-store.json', 'offsets']) {
      rmSync(path.join(out, ours), { recursive: true, force: true });
    }
    {
      await using adopted = await adopt();
      expect(saidBy(adopted)).toEqual(expected);
      expect(adopted.recovery.lmqImported).toBe(100 + 34 + 10);
    }
    await using again = await open();
    expect(again.recovery).toMatchObject({ clean: true, scannedRecords: 0 });
    expect(saidBy(again)).toEqual(expected);
  });

  it('goes on with what is there, and writes anew what differs', async () => {
    const rest = { mappedFileSizeConsumeQueue: 4000 };
    let store = await open(rest);
    fill(store, 50);
    await store.exportInPlace();
    const x = queueFile(dir, '%LMQ%x');
    const y = queueFile(dir, '%LMQ%y');
    const inode = statSync(x).ino;
    overwrite(y, 20, Buffer.alloc(8, 1)); // a unit that is not ours
    const stranger = path.join(dir, 'consumequeue/%LMQ%stranger/0');
    mkdirSync(stranger, { recursive: true });
    writeFileSync(path.join(stranger, nameOfFile(0)), Buffer.alloc(4000));
    store = await open(rest);
    fill(store, 50, 50);
    const expected = saidBy(store);
    await store.exportInPlace();
    expect(statSync(x).ino).toBe(inode);
    expect(existsSync(path.dirname(stranger))).toBe(false);
    cpSync(dir, out, { recursive: true });
    for (const ours of ['lmq', 'state', 'work', 'cut', 'lmq-store.json', 'offsets']) {
      rmSync(path.join(out, ours), { recursive: true, force: true });
    }
    await using adopted = await adopt();
    expect(saidBy(adopted)).toEqual(expected);
  });

  it('closes the store where it is broken off, too, and a second call makes it whole', async () => {
    const store = await open();
    fill(store, 50);
    await expect(store.exportInPlace({ signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(existsSync(path.join(dir, 'abort'))).toBe(false);
    const again = await open();
    expect(again.recovery.clean).toBe(true);
    expect((await again.exportInPlace()).lightQueues).toBe(7);
  });

  it('leaves a broker.conf of somebody else alone', async () => {
    const store = await open();
    fill(store, 3);
    writeFileSync(path.join(dir, 'broker.conf'), 'brokerName=mine\n');
    const report = await store.exportInPlace();
    expect(kinds(report)).toEqual(['confKept']);
    expect(readFileSync(path.join(dir, 'broker.conf'), 'utf8')).toBe('brokerName=mine\n');
    expect(existsSync(report.conf)).toBe(true);
  });
});

/** Takes away what is ours, as if RocketMQ had never heard of it; gives it back. */
function hideOurs(where: string): () => void {
  const aside = fresh('ours');
  mkdirSync(aside);
  const names = ['lmq', 'state', 'offsets', 'cut', 'lmq-store.json'].filter((name) =>
    existsSync(path.join(where, name)),
  );
  const move = (from: string, to: string) => {
    for (const name of names) {
      rmSync(path.join(to, name), { recursive: true, force: true });
      renameSync(path.join(from, name), path.join(to, name));
    }
  };
  move(where, aside);
  return () => move(aside, where);
}

describe('taking turns with another program on one directory', () => {
  it('each turn reads what the other wrote, and numbers on', async () => {
    let count = 0;
    let expected = {};
    for (let turn = 0; turn < 4; turn++) {
      const store = await open();
      expect(saidBy(store)).toEqual(expected);
      fill(store, 40, count);
      count += 40;
      expected = saidBy(store);
      await store.exportInPlace();
      const showOurs = hideOurs(dir);
      const other = await open({ adopt: true });
      expect(saidBy(other)).toEqual(expected);
      fill(other, 30, count);
      count += 30;
      expected = saidBy(other);
      await other.exportInPlace();
      showOurs();
    }
    await using store = await open();
    expect(saidBy(store)).toEqual(expected);
    expect(store.lmq('x').maxOffset).toBe(count);
    for await (const fault of store.verify()) expect(fault).toBeUndefined();
  });
});

const probe = fresh('probe');
const canMount = mount(probe, '1m');
if (canMount) execFileSync('umount', [probe]);

describe.skipIf(!canMount)('a full disk (skipped where no small one can be mounted)', () => {
  const disk = fresh('disk');
  beforeAll(() => void mount(disk, '2m'));
  afterAll(() => void execFileSync('umount', ['-l', disk]));

  it('is named, and keeps nothing of the copy', async () => {
    await using store = await open({ mappedFileSizeCommitLog: 1 << 20 });
    for (let i = 0; i < 40; i++)
      store.append({ topic: 't', body: 'x'.repeat(100_000), lmq: ['x'] });
    const target = path.join(disk, 'copy');
    expect(await rejectionOf(store.export(target))).toBe('StoreError STORE_DISK_FULL');
    expect(await rejectionOf(store.snapshot(target))).toBe('StoreError STORE_DISK_FULL');
    expect(readdirSync(disk)).toEqual([]);
    // A log that fits, with queues that do not.
    await using many = await MessageStore.open({ path: fresh(), ...small });
    for (let i = 0; i < 1000; i++) many.append({ topic: 't', body: '', lmq: [`n${i}`] });
    expect(await rejectionOf(many.export(target))).toBe('StoreError STORE_DISK_FULL');
    expect(readdirSync(disk)).toEqual([]);
    await store.export(out);
  });
});

describe('lmq-store export', () => {
  it('makes a copy or the directory itself ready, and tells what the report tells', async () => {
    {
      await using store = await open();
      fill(store, 30);
    }
    const before = contentOf(dir);
    const { code, values } = json('export', dir, out);
    expect(code).toBe(0);
    expect(values).toMatchObject([{ path: out, messages: 30, lightQueues: 5 }]);
    expect(contentOf(dir)).toEqual(before);
    expect(run('export', dir)).toMatchObject({ code: 2, out: '' });
    expect(run('export', dir, out, '--in-place')).toMatchObject({ code: 2, out: '' });
    const inPlace = run('export', dir, '--in-place');
    expect(inPlace).toMatchObject({ code: 0, err: '' });
    expect(inPlace.out).toContain('30 messages');
    expect(existsSync(queueFile(dir, '%LMQ%x'))).toBe(true);
  });
});
