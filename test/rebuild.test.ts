// Derived files made anew because somebody asks: what is there is not believed, and nothing is lost.
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { json, run } from './support/cli.ts';
import {
  contentOf,
  flipBit,
  freshDirectories,
  logFile,
  queueFile,
  treeOf,
} from './support/files.ts';
import { start } from './support/programs.ts';
import { abandon, lightQueuesOf, messagesOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
const sizes = { ...quiet, mappedFileSizeCommitLog: 16 << 10, mappedFileSizeConsumeQueue: 1000 };
const COUNT = 400;
let made = '';
let expected: Record<string, string[]> = {};

async function answers(dir: string): Promise<Record<string, string[]>> {
  await using reader = await MessageStore.openReader(dir);
  const topics = reader.queues().map(({ topic, queueId }) => reader.queue(topic, queueId));
  const all = [...topics, ...lightQueuesOf(reader).map((name) => reader.lmq(name))];
  return Object.fromEntries(
    all.map((queue) => [
      `${queue.topic}:${queue.queueId}`,
      messagesOf(queue).map((one) => `${one.offset} ${one.text()}`),
    ]),
  );
}

beforeAll(async () => {
  made = fresh('made');
  const store = await MessageStore.open({ path: made, ...sizes });
  for (let i = 0; i < COUNT; i++) {
    store.append({ topic: 't', queueId: i % 2, body: String(i), lmq: ['all', `n${i % 7}`] });
  }
  await store.close();
  expected = await answers(made);
});

const copyOf = (): string => abandon(made, fresh('copy'));
const entriesOf = (dir: string): string => path.join(dir, 'lmq', 'entries', '0'.repeat(20));

describe('rebuild', () => {
  it('makes the light-queue index anew, whatever is in it', async () => {
    const dir = copyOf();
    for (let at = 0; at < 4800; at += 48) flipBit(entriesOf(dir), at);
    expect(await rejectionOf(answers(dir))).toBe('StoreError STORE_CORRUPT_FILE');
    const report = await MessageStore.rebuild(dir);
    expect(report).toMatchObject({ clean: true, dispatchedRecords: COUNT, notes: [] });
    expect(report.lmqRebuilt).toBe('It was asked for.');
    expect(await answers(dir)).toEqual(expected);
  });

  it('makes consume queues anew where asked: flipped bits, a file of another length, none at all', async () => {
    const spoils: ((dir: string) => void)[] = [
      (dir) => flipBit(queueFile(dir, 't', 1, 1000), 40 * 7 + 3),
      (dir) => truncateSync(queueFile(dir, 't', 1, 1000), 500),
      (dir) => truncateSync(queueFile(dir, 't'), 2000),
      (dir) => rmSync(path.join(dir, 'consumequeue'), { recursive: true }),
    ];
    for (const spoil of spoils) {
      const dir = copyOf();
      spoil(dir);
      const progress: number[] = [];
      const report = await MessageStore.rebuild(
        { path: dir, ...sizes },
        { consumeQueues: true, onProgress: ({ position }) => progress.push(position) },
      );
      expect(report.dispatchedRecords).toBe(COUNT);
      expect(await answers(dir)).toEqual(expected);
      expect(json('verify', dir)).toMatchObject({ code: 0, values: [{ faults: 0 }] });
      expect(progress).toEqual([]); // it takes a moment only
    }
  });

  it('leaves the bytes of a store that is whole as they were, but for its checkpoints', async () => {
    const dir = copyOf();
    await MessageStore.rebuild(dir, { consumeQueues: true });
    const derived = (name: string) => /^(checkpoint|lmq\/checkpoint|lmq\/table)$/.test(name);
    const rest = (tree: Record<string, number>) =>
      Object.fromEntries(Object.entries(tree).filter(([name]) => !derived(name)));
    expect(rest(contentOf(dir))).toEqual(rest(contentOf(made)));
  });

  it('heals a store that was not closed, and goes on where it was', async () => {
    const dir = fresh('live');
    const store = await MessageStore.open({ path: dir, ...sizes });
    for (let i = 0; i < 50; i++) store.append({ topic: 't', body: String(i), lmq: ['x'] });
    const copy = abandon(dir, fresh('killed'));
    await store.close();
    expect(await MessageStore.rebuild(copy, { consumeQueues: true })).toMatchObject({
      clean: false,
      dispatchedRecords: 50,
    });
    await using again = await MessageStore.open({ path: copy, ...sizes });
    expect(again.recovery.clean).toBe(true);
    expect(again.append({ topic: 't', body: '', lmq: ['x'] })).toMatchObject({
      queueOffset: 50,
      lmqOffsets: [50],
    });
  });

  it('keeps the numbering of an adopted directory', async () => {
    const dir = copyOf();
    // A broker's directory for %LMQ%all, without our index and our marker: three messages.
    const units = path.join(dir, 'consumequeue', '%LMQ%all', '0');
    mkdirSync(units, { recursive: true });
    cpSync(queueFile(dir, 't'), path.join(units, '0'.repeat(20)));
    for (const name of ['lmq', 'lmq-store.json']) rmSync(path.join(dir, name), { recursive: true });
    await (await MessageStore.open({ path: dir, adopt: true, ...sizes })).close();
    const before = await answers(dir);
    expect(before['%LMQ%all:0']).not.toEqual(expected['%LMQ%all:0']);
    await MessageStore.rebuild(dir, { consumeQueues: true });
    expect(await answers(dir)).toEqual(before);
  });
});

describe('a rebuild is refused, and nothing changes', () => {
  it('of a directory of RocketMQ’s, by its name, also with adopt', async () => {
    const dir = copyOf();
    rmSync(path.join(dir, 'lmq-store.json'));
    const before = treeOf(dir);
    for (const adopt of [false, true]) {
      await expect(MessageStore.rebuild({ path: dir, adopt })).rejects.toMatchObject({
        code: 'STORE_FOREIGN_DIRECTORY',
        path: dir,
      });
    }
    expect(run('rebuild', dir, '--queues').err).toMatch(/^STORE_FOREIGN_DIRECTORY: [^\n]+\n$/);
    expect(treeOf(dir)).toEqual(before);
  });

  it('where there is no store', async () => {
    const dir = fresh('none');
    expect(await rejectionOf(MessageStore.rebuild(dir))).toBe('StoreError STORE_NOT_FOUND');
    expect(() => statSync(dir)).toThrow();
    mkdirSync(dir);
    expect(await rejectionOf(MessageStore.rebuild(dir))).toBe('StoreError STORE_NOT_FOUND');
    expect(readdirSync(dir)).toEqual([]);
  });

  it('while somebody writes', async () => {
    const dir = copyOf();
    await using store = await MessageStore.open({ path: dir, ...sizes });
    expect(await rejectionOf(MessageStore.rebuild(dir))).toBe('StoreError STORE_LOCKED');
    expect(store.lmq('all').maxOffset).toBe(COUNT);
  });

  it('where the log is damaged below what was synced', async () => {
    const dir = copyOf();
    flipBit(logFile(dir), 100);
    const before = contentOf(dir);
    const rebuilt = MessageStore.rebuild(dir, { consumeQueues: true });
    expect(await rejectionOf(rebuilt)).toBe('StoreError STORE_CORRUPT_LOG');
    expect(contentOf(dir)).toEqual(before);
  });

  it('with a wrong argument', async () => {
    const wrong = MessageStore.rebuild(made, { consumeQueues: 1 as never });
    await expect(wrong).rejects.toThrow(TypeError);
    expect(run('rebuild')).toMatchObject({ code: 2, out: '' });
  });
});

describe('lmq-store rebuild', () => {
  it('says what it made', () => {
    const dir = copyOf();
    expect(json('rebuild', dir)).toMatchObject({
      code: 0,
      err: '',
      values: [{ made: ['light-queue index'], records: COUNT, log: { min: 0 }, notes: [] }],
    });
    expect(run('rebuild', dir, '--queues')).toEqual({
      code: 0,
      err: '',
      out: `made light-queue index and consume queues from ${COUNT} records\n`,
    });
  });

  it('may be killed at any time: the next open makes the rest', async () => {
    for (let i = 0; i < 4; i++) {
      const dir = copyOf();
      const child = start(
        async ({ lib, say }, path: string) => {
          say('begun');
          for (;;) await lib.MessageStore.rebuild(path, { consumeQueues: true });
        },
        [dir],
      );
      await child.said();
      // Whenever its files have changed so often: somewhere in the middle of one of the rebuilds.
      for (let seen = 0, last = ''; seen < 3 * i + 1; ) {
        const now = String(statSync(path.join(dir, 'lmq', 'checkpoint')).mtimeMs);
        if (now !== last) seen++;
        last = now;
      }
      await child.kill();
      await (await MessageStore.open({ path: dir, ...sizes })).close();
      expect(await answers(dir)).toEqual(expected);
    }
  });
});
