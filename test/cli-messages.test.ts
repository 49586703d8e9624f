// `get`, `find` and `tail`: one message, those that have something, the last ones, and those that come.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { BROKER, fileOf } from './golden-support/stores.ts';
import { json, makeStores, program, run, treeOf, workDirectory } from './support/cli.ts';
import { flipBit, logFile } from './support/files.ts';
import { quiet } from './support/stores.ts';

const work = workDirectory();
let whole = '';
const broker = path.join(work, 'broker');
let untouched: string[] = [];

beforeAll(async () => {
  mkdirSync(broker);
  execFileSync('tar', ['-xmzf', fileOf(BROKER, 'store.tar.gz'), '-C', broker]);
  untouched = treeOf(broker);
  ({ whole } = await makeStores(work));
});

afterAll(() => {
  expect(treeOf(broker), 'the broker’s directory').toEqual(untouched);
});

const lines = (text: string) => text.split('\n').filter(Boolean);
const brokerMessages = gunzipSync(readFileSync(fileOf(BROKER, 'messages.tsv.gz')))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t'))
  .filter(([first]) => first !== 'end');

describe('get', () => {
  it('shows a message of a broker by its id and by its position', () => {
    const [, , , , topic, , queueOffset, position, storeTimestamp, id] = brokerMessages[7]!;
    const message = {
      topic,
      queueOffset: Number(queueOffset),
      physicalOffset: Number(position),
      storeTimestamp: Number(storeTimestamp),
      msgId: id,
    };
    for (const name of [id!, id!.toLowerCase(), position!]) {
      const { code, values } = json('get', broker, name);
      expect({ code, values }, name).toMatchObject({ code: 0, values: [message] });
    }
  });

  it('shows the same as cat, and people all of it', () => {
    const seventh = json('cat', whole, '%LMQ%alice').values[5];
    const found = json('get', whole, seventh.msgId).values[0];
    expect(found).toEqual({ ...seventh, offset: seventh.queueOffset });
    const { code, out } = run('get', whole, String(seventh.physicalOffset));
    expect(code).toBe(0);
    expect(out).toMatch(/^topic +chat$/m);
    expect(out).toMatch(/^property from +user 7$/m);
    expect(out).toMatch(/^body +line one\\nline two\\u001b\[31m red$/m);
  });

  it('shows a body that is no text in base64', async () => {
    const dir = path.join(work, 'binary');
    const store = await MessageStore.open(dir);
    store.append({ topic: 't', body: Buffer.from('ff00', 'hex') });
    await store.close();
    expect(run('get', dir, '0').out).toMatch(/^body +\/wA= \(base64\)$/m);
  });

  it('finds nothing between records, in another store and in damage', async () => {
    const dir = path.join(work, 'damaged');
    const store = await MessageStore.open({ path: dir, ...quiet });
    const { msgId, physicalOffset } = store.append({ topic: 't', body: 'damaged' });
    await store.close();
    flipBit(logFile(dir), physicalOffset + 89);
    const foreign = brokerMessages[0]!.at(-1)!;
    for (const [of, id] of [
      [whole, '1'],
      [whole, '9007199254740991'],
      [whole, foreign],
      [whole, 'F'.repeat(32)],
      [dir, msgId],
      [dir, '0'],
    ] as const) {
      const { code, out, err } = run('get', of, id);
      expect({ code, out }, id).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/^MESSAGE_NOT_FOUND: [^\n]+\n$/);
      expect(json('get', of, id).values).toMatchObject([{ error: { code: 'MESSAGE_NOT_FOUND' } }]);
    }
  });

  it('refuses what is neither an id nor an offset', () => {
    for (const id of ['x', '-1', '0x10', '1.5', '9'.repeat(20), 'F'.repeat(31), '']) {
      const { code, out, err } = run('get', whole, id);
      expect({ code, out }, id).toEqual({ code: 2, out: '' });
      expect(lines(err), id).toHaveLength(1);
    }
    expect(run('get', whole).code).toBe(2);
  });
});

describe('find', () => {
  const ordersOf = (name: string) =>
    brokerMessages.filter(([queue]) => queue!.startsWith(`${name}:`)).map((row) => Number(row[7]));
  const placesOf = (...args: string[]) => {
    const { code, values } = json('find', ...args);
    expect(code).toBe(0);
    return values.map((message) => message.physicalOffset);
  };

  it('shows the messages of a broker by time, key and tag, newest first', () => {
    const conf = path.join(work, 'broker.conf');
    writeFileSync(conf, 'maxHashSlotNum=1000\nmaxIndexNum=4000\n');
    const orders = [broker, '--conf', conf, '--topic', 'orders'];
    const all = ordersOf('orders').sort((a, b) => b - a);
    expect(placesOf(...orders)).toEqual(all);
    expect(placesOf(...orders, '--max', '3')).toEqual(all.slice(0, 3));
    const row = brokerMessages[1]!;
    const position = Number(row[7]);
    const time = new Date(Number(row[8])).toISOString();
    expect(placesOf(...orders, '--begin', time, '--end', time)).toContain(position);
    expect(placesOf(...orders, '--key', 's1-3')).toEqual([position]);
    const { properties } = json('get', broker, String(position)).values[0];
    expect(placesOf(...orders, '--unique-key', properties.UNIQ_KEY)).toEqual([position]);
    const tagged = placesOf(...orders, '--tag', properties.TAGS);
    expect(tagged.length).toBeLessThan(all.length);
    expect(tagged).toEqual(all.filter((one) => tagged.includes(one)));
    expect(tagged).toContain(position);
  });

  it('shows people what cat shows, and finds nothing without an error', () => {
    const { code, out } = run('find', whole, '--topic', 'chat', '--key', 'k-7');
    expect(code).toBe(0);
    expect(lines(out)).toEqual([expect.stringContaining('chat:1@')]);
    for (const what of [
      ['--topic', 'none'],
      ['--topic', 'chat', '--key', 'k-777'],
      ['--topic', 'chat', '--tag', 'T7'],
      ['--topic', 'chat', '--end', '2001-01-01'],
    ]) {
      expect(run('find', whole, ...what), what.join(' ')).toMatchObject({ code: 0, out: '' });
    }
    const tagged = [whole, '--topic', 'chat', '--tag', 'T0'];
    expect(placesOf(...tagged, '--key', 'all')).toEqual(placesOf(...tagged));
    expect(placesOf(...tagged, '--max', '2')).toEqual(placesOf(...tagged).slice(0, 2));
  });

  it('refuses to look nowhere, and for times that are none', () => {
    for (const what of [
      [],
      ['--topic'],
      ['--topic', 'chat', '--begin', '17'],
      ['--topic', 'chat', '--end', 'noon'],
      ['--topic', 'chat', '--begin', '2026-02-01', '--end', '2026-01-01'],
      ['--topic', 'chat', '--max', '0'],
      ['--topic', 'chat', 'k-7'],
    ]) {
      const { code, out, err } = run('find', whole, ...what);
      expect({ code, out }, what.join(' ')).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/^error: [^\n]+\n$/);
    }
  });
});

describe('tail', () => {
  const offsetsOf = (...args: string[]) =>
    json('tail', ...args).values.map((message) => message.offset);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

  it('shows the last ten messages, or as many as asked', () => {
    expect(offsetsOf(broker, '%LMQ%alice')).toEqual(range(110, 120));
    expect(offsetsOf(broker, '%LMQ%alice', '-n', '3')).toEqual(range(117, 120));
    expect(offsetsOf(broker, '%LMQ%alice', '-n', '0')).toEqual([]);
    expect(offsetsOf(broker, 'clicks:1', '--lines', '1000')).toEqual(range(0, 50));
    expect(lines(run('tail', broker, 'clicks:0', '-n', '2').out)).toHaveLength(2);
  });

  it('begins at an offset or at a time', () => {
    expect(offsetsOf(broker, '%LMQ%alice', '--from', '100')).toEqual(range(100, 120));
    expect(offsetsOf(broker, '%LMQ%alice', '--from', '120')).toEqual([]);
    const all = json('cat', broker, '%LMQ%alice').values;
    const time = all[77].storeTimestamp;
    const first = all.findIndex((message) => message.storeTimestamp >= time);
    const from = new Date(time).toISOString();
    expect(offsetsOf(broker, '%LMQ%alice', '--from', from)).toEqual(range(first, 120));
    expect(offsetsOf(broker, '%LMQ%alice', '--from', '2000-01-01')).toEqual(range(0, 120));
    expect(offsetsOf(broker, '%LMQ%alice', '--from', '9000-01-01')).toEqual([]);
  });

  it('refuses places and counts that are none, and queues that are not there', () => {
    for (const wrong of [
      ['--from', 'yesterday'],
      ['--from', '-1'],
      ['--from', '2026-13-01'],
      ['-n', 'ten'],
    ]) {
      const { code, out, err } = run('tail', whole, 'chat:0', ...wrong);
      expect({ code, out }, wrong.join(' ')).toEqual({ code: 2, out: '' });
      expect(lines(err)).toHaveLength(1);
    }
    expect(run('tail', whole, 'chat').code).toBe(2);
    expect(run('tail', whole, 'chat', '-f').code).toBe(2);
    expect(run('tail', whole, 'nope:0')).toMatchObject({ code: 1, out: '' });
  });
});

describe('tail -f', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function follow(dir: string, queue: string, ...options: string[]) {
    const child = spawn(process.execPath, [program, 'tail', dir, queue, '-f', ...options], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    const printed = createInterface(child.stdout)[Symbol.asyncIterator]();
    let err = '';
    child.stderr.on('data', (text) => {
      err += text;
    });
    const ended = new Promise<object>((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal, err }));
    });
    return { child, ended, next: async () => (await printed.next()).value as string };
  }
  const textOf = (line: string) => Buffer.from(JSON.parse(line).body, 'base64').toString();

  let count = 0;
  const openStore = () => MessageStore.open({ path: path.join(work, `live-${count++}`), ...quiet });
  const append = (store: MessageStore, body: string) =>
    store.append({ topic: 't', body, lmq: ['x'] });

  it.each(['SIGINT', 'SIGTERM'] as const)('shows what comes, until %s', async (signal) => {
    const store = await openStore();
    const dir = path.join(work, `live-${count - 1}`);
    for (let i = 0; i < 12; i++) append(store, `old ${i}`);
    const { child, ended, next } = follow(dir, '%LMQ%x', '--json');
    for (let i = 2; i < 12; i++) expect(textOf(await next())).toBe(`old ${i}`);
    for (let i = 0; i < 50; i++) {
      append(store, `new ${i}`);
      expect(textOf(await next())).toBe(`new ${i}`);
    }
    child.kill(signal);
    expect(await ended).toEqual({ code: 0, signal: null, err: '' });
    await store.close();
  });

  it('waits for a queue that is not there yet', async () => {
    const store = await openStore();
    const dir = path.join(work, `live-${count - 1}`);
    append(store, 'in t and x');
    const [light, topic] = [follow(dir, '%LMQ%y', '--json'), follow(dir, 't:3', '--json')];
    // Both are there before the first message: they hold the directory open for good.
    store.append({ topic: 't', body: 'for y', lmq: ['y'] });
    store.append({ topic: 't', body: 'for t:3', queueId: 3 });
    expect(textOf(await light.next())).toBe('for y');
    expect(textOf(await topic.next())).toBe('for t:3');
    await store.close();
  });

  it('names a damaged record, goes on, and says so in the end', async () => {
    const store = await openStore();
    const dir = path.join(work, `live-${count - 1}`);
    append(store, 'first');
    const { physicalOffset } = append(store, 'second');
    append(store, 'third');
    await store.close();
    flipBit(logFile(dir), physicalOffset + 89);
    const { child, ended, next } = follow(dir, 't:0', '--json', '--from', '0');
    expect(textOf(await next())).toBe('first');
    expect(textOf(await next())).toBe('third');
    expect(JSON.parse(await next())).toMatchObject({
      error: { code: 'STORE_CORRUPT_RECORD', offset: 1 },
    });
    const again = await MessageStore.open({ path: dir, ...quiet });
    append(again, 'fourth');
    expect(textOf(await next())).toBe('fourth');
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 1, signal: null, err: '' });
    await again.close();
  });

  it('ends quietly when its reader goes away', async () => {
    const store = await openStore();
    const dir = path.join(work, `live-${count - 1}`);
    append(store, 'first');
    const { child, ended, next } = follow(dir, '%LMQ%x', '--json');
    expect(textOf(await next())).toBe('first');
    child.stdout!.destroy();
    append(store, 'nobody reads this');
    expect(await ended).toMatchObject({ signal: null, err: '' });
    await store.close();
  });

  it('changes nothing of a broker’s directory', async () => {
    const { child, ended, next } = follow(broker, '%LMQ%bob', '-n', '1', '--json');
    expect(JSON.parse(await next())).toMatchObject({ offset: 119 });
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, signal: null, err: '' });
    expect(treeOf(broker)).toEqual(untouched);
  });
});
