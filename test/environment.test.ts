// The world around a store: threads that end, processes that exit, memory that is collected. None of it
// may take the process down, keep a directory locked, or lose what was stored.
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { run, startWorker, type Tools } from './support/programs.ts';
import { quiet, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const isLinux = process.platform === 'linux';

/** Files below a directory that this process holds open or mapped. */
function held(below: string): string[] {
  const links = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // the handle of this very listing
    }
  });
  const mapped = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return [...links, ...mapped].filter((one) => one.includes(below));
}

describe('a worker', () => {
  it('may be terminated in the middle of anything, fifty times', async () => {
    const busy = async ({ lib, say }: Tools, where: string, kind: number) => {
      const store = await lib.MessageStore.open({ path: where, mappedFileSizeCommitLog: 1 << 20 });
      const next = store.queue('t').maxOffset;
      if (kind === 1) store.lmq('x').follow({ from: 'end' }).next();
      for (let i = next; ; i++) {
        const message = { topic: 't', body: String(i), lmq: ['x', `n${i % 10}`] };
        if (kind === 2) await store.put(message);
        else store.append(message);
        if (kind === 3 && i % 16 === 0) store.flush();
        if (kind === 4 && i % 4 === 0) {
          store.queue('t').readAsync(Math.max(0, i - 32));
          store.lmq('x').offsetAt(Date.now() - 1);
        }
        if (i % 8 === 0) say(i + 1);
      }
    };
    let stored = 0;
    for (let i = 0; i < 50; i++) {
      // While it opens, too: then it says nothing at all.
      const { worker, said } = startWorker(busy, [dir, i % 5]);
      if (i % 10 !== 9) stored = Math.max(stored, (await said()) as number);
      await worker.terminate();
    }
    await using store = await MessageStore.open(dir);
    expect(store.recovery.cut).toBeUndefined();
    const texts = textsOf(store.queue('t'));
    expect(texts.length).toBeGreaterThanOrEqual(stored);
    expect(texts).toEqual(texts.map((_, i) => String(i)));
    expect(textsOf(store.lmq('x'))).toEqual(texts);
    expect(stored).toBeGreaterThan(100);
  });

  it('that ends without closing leaves no lock, no handle and no mapping', async () => {
    const { said, ended } = startWorker(
      async ({ lib, say }: Tools, where: string) => {
        const store = await lib.MessageStore.open(where);
        store.append({ topic: 't', body: 'left behind', lmq: ['x'] });
        store.lmq('x').follow({ from: 'end', ref: false }).next();
        say(true);
      },
      [dir],
    );
    await said();
    expect(await ended).toBe(0);
    if (isLinux) expect(held(dir)).toEqual([]);
    await using store = await MessageStore.open(dir);
    expect(textsOf(store.lmq('x'))).toEqual(['left behind']);
  });

  it('is one of many that load the library, each with a store of its own, again and again', async () => {
    const use = async ({ lib, say }: Tools, where: string) => {
      const store = await lib.MessageStore.open(where);
      const { queueOffset } = await store.put({ topic: 't', body: '' });
      await store.close();
      say(queueOffset);
    };
    for (let round = 0; round < 2; round++) {
      const workers = [0, 1, 2, 3].map((i) => startWorker(use, [`${dir}-${i}`]));
      const offsets = await Promise.all(workers.map(({ said }) => said()));
      expect(offsets).toEqual([round, round, round, round]);
      expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    }
    await using store = await MessageStore.open(`${dir}-0`);
    expect(store.queue('t').maxOffset).toBe(2);
  });
});

describe('a process that exits', () => {
  const exiting = async (program: (tools: Tools, where: string) => unknown) => {
    const { code, signal, said, err } = await run(program, [dir]);
    return { code, signal, said, err };
  };

  it('may use and close its store in exit handlers, and keeps its exit code', async () => {
    const ended = await exiting(async ({ lib, say }, where) => {
      const store = await lib.MessageStore.open(where);
      store.append({ topic: 't', body: 'before' });
      process.on('exit', () => {
        say(store.append({ topic: 't', body: 'at exit' }).queueOffset);
        store.put({ topic: 't', body: 'put at exit' });
        say(store.queue('t').read(0).messages.length);
        store.flush();
        store.close();
        store.close();
        try {
          store.append({ topic: 't', body: 'after close' });
        } catch (error) {
          say((error as { code: string }).code);
        }
      });
      process.exitCode = 7;
    });
    expect(ended).toEqual({ code: 7, signal: null, said: [1, 3, 'STORE_CLOSED'], err: '' });
    await using store = await MessageStore.open(dir);
    expect(textsOf(store.queue('t'))).toEqual(['before', 'at exit', 'put at exit']);
  });

  it('in the middle of puts, flushes and followers does so in peace', async () => {
    const ended = await exiting(async ({ lib }, where) => {
      const store = await lib.MessageStore.open(where);
      for (let i = 0; i < 1000; i++) store.put({ topic: 't', body: `${i}`, lmq: ['x'] });
      store.flush();
      store.lmq('y').follow().next();
      setImmediate(() => process.exit(3));
    });
    expect(ended).toEqual({ code: 3, signal: null, said: [], err: '' });
    await using store = await MessageStore.open(dir);
    expect(store.lmq('x').maxOffset).toBe(1000);
  });

  it('while a store opens, or closes, does so in peace', async () => {
    const opening = await exiting(({ lib }, where) => {
      lib.MessageStore.open(where);
      process.exit(4);
    });
    expect(opening).toEqual({ code: 4, signal: null, said: [], err: '' });
    const closing = await exiting(async ({ lib }, where) => {
      const store = await lib.MessageStore.open(where);
      store.append({ topic: 't', body: 'kept', lmq: ['x'] });
      store.close();
      process.exit(5);
    });
    expect(closing).toEqual({ code: 5, signal: null, said: [], err: '' });
    await using store = await MessageStore.open(dir);
    expect(textsOf(store.lmq('x'))).toEqual(['kept']);
  });

  it('by an error of its own tells that error, nothing else', async () => {
    const ended = await exiting(async ({ lib }, where) => {
      const store = await lib.MessageStore.open(where);
      store.append({ topic: 't', body: '' });
      setImmediate(() => {
        throw new Error('mine');
      });
    });
    expect([ended.code, ended.signal]).toEqual([1, null]);
    expect(ended.err).toContain('Error: mine');
  });
});

describe('stores that nobody holds any more', () => {
  it('may be collected or not: nothing is asserted, and their directories open later', async () => {
    const COUNT = 60;
    const { code, signal, said, err } = await run(
      async ({ lib, say, collectGarbage }, base: string, count: number) => {
        const turn = () => new Promise((resolve) => setImmediate(resolve));
        for (let i = 0; i < count; i++) {
          const store = await lib.MessageStore.open({
            path: `${base}/${i}`,
            mappedFileSizeCommitLog: 65536,
            prepareAheadBytes: 0,
          });
          store.append({ topic: 't', body: String(i) });
          const reader = await lib.MessageStore.openReader(`${base}/${i}`);
          say(reader.queue('t').read(0).messages[0]!.text());
          // Functions of a store that is gone, or half gone, are harmless.
          if (i % 3 === 0) await store.close();
          if (i % 4 === 0) await reader.close();
          collectGarbage();
          await turn();
        }
      },
      [dir, COUNT],
    );
    expect([code, signal, err]).toEqual([0, null, '']);
    expect(said).toEqual(Array.from({ length: COUNT }, (_, i) => String(i)));
    for (const i of [0, 1, COUNT - 1]) {
      await using store = await MessageStore.open(path.join(dir, String(i)));
      expect(textsOf(store.queue('t'))).toEqual([String(i)]);
    }
  });

  it.runIf(isLinux)('after close have no file, mapping or thread left, however often', async () => {
    const threads = () => readdirSync('/proc/self/task').length;
    let before = 0;
    for (let i = 0; i < 12; i++) {
      const store = await MessageStore.open({ path: dir, ...quiet });
      const reader = await MessageStore.openReader(dir);
      store.append({ topic: 't', body: String(i), lmq: ['x'] });
      const waiting = reader.lmq('x').follow({ from: 'end' }).next();
      expect(held(dir).length).toBeGreaterThan(3);
      await reader.close();
      await store.close();
      expect((await waiting).done).toBe(true);
      expect(held(dir)).toEqual([]);
      // The first round starts the pool of threads that all share.
      if (i === 0) before = threads();
      else expect(threads()).toBeLessThanOrEqual(before);
    }
    rmSync(dir, { recursive: true });
  });
});
