// Snapshots: whole, of one moment, beside whoever writes, and never half a directory.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { run } from './support/cli.ts';
import { besides, saidBy, small } from './support/copies.ts';
import { contentOf, freshDirectories, nameOfFile, treeOf } from './support/files.ts';
import { type Child, start } from './support/programs.ts';
import { failureOf, messagesOf, quiet, rejectionOf, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let out = '';
beforeEach(() => {
  dir = fresh();
  out = fresh('copy');
});

const open = (rest: object = {}) => MessageStore.open({ path: dir, ...small, ...rest });

function fill(store: MessageStore, count: number, first = 0): void {
  for (let i = first; i < first + count; i++) {
    const lmq = ['x', ...(i % 3 === 0 ? ['y'] : []), ...(i % 10 === 0 ? [`n${i}`] : [])];
    store.append({ topic: `t${i % 2}`, queueId: i % 3, tags: 'T', body: `body ${i}`, lmq });
  }
}

describe('a snapshot', () => {
  it('of an open store opens as ours and says the same', async () => {
    await using store = await open();
    fill(store, 200);
    const expected = saidBy(store);
    const report = await store.snapshot(out);
    expect(report).toMatchObject({ path: out, logMin: 0 });
    expect(report.logFiles).toBeGreaterThan(5);
    fill(store, 50, 200); // it is of its own moment
    {
      await using reader = await MessageStore.openReader(out);
      expect(saidBy(reader)).toEqual(expected);
    }
    await using copy = await MessageStore.open({ path: out, ...small });
    expect(copy.recovery.cut).toBeUndefined();
    expect(saidBy(copy)).toEqual(expected);
    for await (const fault of copy.verify()) expect(fault).toBeUndefined();
    fill(copy, 10, 1000); // and lives on by itself
    expect(copy.lmq('x').maxOffset).toBe(210);
    expect(store.lmq('x').maxOffset).toBe(250);
    expect(besides(out)).toEqual([]);
  });

  it('copies what is needed and no more: no queue is built again', async () => {
    await using store = await open();
    fill(store, 200);
    await store.snapshot(out);
    await using copy = await MessageStore.open({ path: out, ...small });
    expect(copy.recovery).toMatchObject({ adopted: false, notes: [], scannedRecords: 0 });
    expect(copy.recovery.lmqRebuilt).toBeUndefined();
    expect(copy.recovery.dispatchedRecords).toBe(0);
  });

  it('ends at a border between records, with zeros behind it', async () => {
    await using store = await open({ mappedFileSizeCommitLog: 1 << 20 });
    fill(store, 20);
    const { logEnd } = await store.snapshot(out);
    const copy = path.join(out, 'commitlog', nameOfFile(0));
    expect(statSync(copy).size).toBe(1 << 20);
    await using reader = await MessageStore.openReader(out);
    expect(reader.recovery).toMatchObject({ logEnd, notes: [] });
    expect(messagesOf(reader.queue('t0', 0)).at(-1)!.physicalOffset).toBeLessThan(logEnd);
  });

  it('of an empty store is an empty store', async () => {
    await using store = await open();
    await store.snapshot(out);
    await using copy = await MessageStore.open({ path: out, ...small });
    expect(copy.topics()).toEqual([]);
    fill(copy, 3);
    expect(copy.lmq('x').maxOffset).toBe(3);
  });

  it('shares no file with the store', async () => {
    await using store = await open();
    fill(store, 100);
    await store.snapshot(out);
    for (const name of readdirSync(path.join(out, 'commitlog'))) {
      expect(statSync(path.join(out, 'commitlog', name)).nlink).toBe(1);
    }
    const before = contentOf(path.join(out, 'commitlog'));
    fill(store, 100, 100);
    await store.flush();
    expect(contentOf(path.join(out, 'commitlog'))).toEqual(before);
  });

  it('goes into an empty directory too', async () => {
    await using store = await open();
    fill(store, 5);
    mkdirSync(out);
    await store.snapshot(out);
    await using reader = await MessageStore.openReader(out);
    expect(reader.lmq('x').maxOffset).toBe(5);
  });

  it('of a directory of RocketMQ’s is one of RocketMQ’s', async () => {
    {
      await using store = await open();
      fill(store, 60);
      await store.export(out);
    }
    const copy = fresh('second');
    await using foreign = await MessageStore.openReader(out);
    await foreign.snapshot(copy);
    const said = saidBy(foreign);
    expect(await rejectionOf(MessageStore.open(copy))).toBe('StoreError STORE_FOREIGN_DIRECTORY');
    await using adopted = await MessageStore.open({ path: copy, adopt: true });
    expect(saidBy(adopted)).toEqual(said);
  });
});

/** Appends without end, and says the last number that was acknowledged when it is told to. */
function writer(): Child {
  return start(
    async ({ lib, say }, options: MessageStoreOptions) => {
      const store = await lib.MessageStore.open(options);
      for (let i = 0; ; i++) {
        store.append({ topic: 't', body: String(i), lmq: ['x', `q${i % 50}`] });
        if (i % 500 === 0) say(i);
        // At a pace that a reader can follow: each look of its ends where the log ends then.
        if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    [{ path: dir, ...quiet, mappedFileSizeCommitLog: 64 * 1024 }],
  );
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));

describe('beside a process that appends', () => {
  it('loses nothing that was acknowledged before the call', async () => {
    const child = writer();
    let acknowledged = 0;
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 4; i++) acknowledged = (await child.said()) as number;
      const copy = fresh('copy');
      {
        await using reader = await MessageStore.openReader(dir);
        await reader.snapshot(copy);
      }
      await using store = await MessageStore.open(copy);
      const texts = textsOf(store.queue('t'));
      expect(texts.length).toBeGreaterThan(acknowledged);
      expect(texts).toEqual(numbers(texts.length));
      expect(textsOf(store.lmq('x'))).toEqual(texts);
      const spread = numbers(50).flatMap((i) => textsOf(store.lmq(`q${i}`)));
      expect(spread.length).toBe(texts.length);
      for await (const fault of store.verify()) expect(fault).toBeUndefined();
    }
    await child.kill();
  });

  it('changes nothing in the store', async () => {
    const child = writer();
    await child.said();
    await child.kill();
    const before = treeOf(dir);
    await using reader = await MessageStore.openReader(dir);
    await reader.snapshot(out);
    expect(treeOf(dir)).toEqual(before);
  });
});

describe('a failure', () => {
  it('leaves nothing at the target: what is there stays, what was begun goes', async () => {
    await using store = await open();
    fill(store, 50);
    mkdirSync(out);
    writeFileSync(path.join(out, 'mine'), 'x');
    const refused = 'RangeError STORE_INVALID_ARGUMENT';
    expect(await rejectionOf(store.snapshot(out))).toBe(refused);
    expect(readdirSync(out)).toEqual(['mine']);
    expect(await rejectionOf(store.snapshot(path.join(out, 'mine')))).toBe(refused);
    expect(await rejectionOf(store.snapshot(dir))).toBe(refused);
    expect(await rejectionOf(store.snapshot(path.join(dir, 'backup')))).toBe(refused);
    expect(await rejectionOf(store.snapshot(''))).toBe(refused);
    expect(await rejectionOf(store.snapshot(1 as unknown as string))).toBe(
      'TypeError STORE_INVALID_ARGUMENT',
    );
    const nowhere = path.join(fresh('nowhere'), 'deep');
    expect(await rejectionOf(store.snapshot(nowhere))).toBe('StoreError STORE_NOT_FOUND');
    expect(besides(out)).toEqual([]);
    expect(existsSync(path.join(dir, 'backup'))).toBe(false);
  });

  it('by an abort rejects with its reason', async () => {
    await using store = await open();
    fill(store, 200);
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error('enough'));
    const { signal } = controller;
    await expect(store.snapshot(out, { signal, onProgress })).rejects.toThrow('enough');
    await expect(store.snapshot(out, { signal })).rejects.toThrow('enough');
    expect(existsSync(out)).toBe(false);
    expect(besides(out)).toEqual([]);
    await store.snapshot(out);
  });

  it('by closing the store, or beside another copy, has a code', async () => {
    const store = await open();
    fill(store, 200);
    // Both sync first: whichever is ready first makes its copy.
    const both = [store.snapshot(out), store.snapshot(fresh('other'))].map(rejectionOf);
    expect((await Promise.all(both)).sort()).toEqual(['StoreError STORE_BUSY', 'nothing']);
    const second = rejectionOf(store.snapshot(fresh('third')));
    await store.close();
    expect(await second).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => store.snapshot(out))).toBe('StoreError STORE_CLOSED');
  });

  it('by a damaged state file changes nothing and names the file', async () => {
    await using store = await open();
    fill(store, 10);
    const state = path.join(dir, 'state');
    mkdirSync(state);
    const failure = await rejectionOf(store.snapshot(out));
    expect(failure).toMatch(/^StoreError STORE_/);
    expect(existsSync(out)).toBe(false);
    expect(besides(out)).toEqual([]);
  });

  it('by kill -9 leaves no target, and the next call needs no help', async () => {
    {
      await using store = await open({ mappedFileSizeCommitLog: 1 << 20 });
      for (let i = 0; i < 300; i++)
        store.append({ topic: 't', body: 'x'.repeat(100_000), lmq: ['x'] });
    }
    const child = start(
      async ({ lib, say }, from: string, to: string) => {
        const reader = await lib.MessageStore.openReader(from);
        await reader.snapshot(to, { onProgress: ({ position }) => say(position) });
      },
      [dir, out],
    );
    while (((await child.said()) as number) === 0);
    await child.kill();
    expect(existsSync(out)).toBe(false);
    expect(besides(out)).toHaveLength(1);
    const unfinished = path.join(path.dirname(out), besides(out)[0]!);
    expect(await rejectionOf(MessageStore.open(unfinished))).toBe(
      'StoreError STORE_FOREIGN_DIRECTORY',
    );
    await using reader = await MessageStore.openReader(dir);
    await reader.snapshot(out);
    await using copy = await MessageStore.open(out);
    expect(copy.lmq('x').maxOffset).toBe(300);
  });
});

describe('lmq-store snapshot', () => {
  it('makes one, and refuses a target that is not empty with exit 1', async () => {
    {
      await using store = await open();
      fill(store, 20);
    }
    const done = run('snapshot', dir, out);
    expect(done).toMatchObject({ code: 0, err: '' });
    expect(done.out).toContain(out);
    appendFileSync(path.join(out, 'mine'), 'x');
    expect(run('snapshot', dir, out)).toMatchObject({ code: 1, out: '' });
    expect(run('snapshot', dir)).toMatchObject({ code: 2, out: '' });
    await using copy = await MessageStore.open({ path: out, ...small });
    expect(copy.lmq('x').maxOffset).toBe(20);
  });
});
