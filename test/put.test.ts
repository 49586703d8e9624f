// Putting: a promise that is kept, in groups, with errors of the disk passed on. Real processes, real
// syncs; failures of the disk come from a preloaded library.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Message, MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { addon } from '../lib/native.ts';
import { freshDirectories } from './support/files.ts';
import { run, start } from './support/programs.ts';
import { canShim, Shim } from './support/shim.ts';
import { quiet, rejectionOf, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });
const message = (i: number, rest: Partial<Message> = {}): Message => ({
  topic: 't',
  body: String(i),
  ...rest,
});
const range = (count: number) => [...Array(count).keys()];

/** What our checkpoint says is on disk. */
function syncedIn(path: string): number {
  const { ownCheckpoint } = addon.inspect(path) as { ownCheckpoint: { logSynced: number } };
  return ownCheckpoint.logSynced;
}

describe('a put', () => {
  it('answers as append does, once the record is on disk', async () => {
    await using store = await openWith();
    expect(syncedIn(dir)).toBe(0);
    const result = await store.put(message(0, { lmq: ['x', 'x'] }));
    expect(result).toMatchObject({ physicalOffset: 0, queueOffset: 0, lmqOffsets: [0, 0] });
    expect(syncedIn(dir)).toBeGreaterThanOrEqual(result.size);
    expect(result.msgId).toBe(store.queue('t').read(0).messages[0]!.msgId);
  });

  it('is readable before it is settled', async () => {
    await using store = await openWith();
    const promise = store.put(message(0));
    expect(textsOf(store.queue('t'))).toEqual(['0']);
    await promise;
  });

  it('is one of many in flight, which settle in their order with their own results', async () => {
    await using store = await openWith({ mappedFileSizeCommitLog: 64 << 10 });
    const settled: number[] = [];
    const puts = range(5000).map(async (i) => {
      const { queueOffset } = await store.put(message(i));
      settled.push(queueOffset);
    });
    await Promise.all(puts);
    expect(settled).toEqual(range(5000));
    expect(textsOf(store.queue('t'))).toEqual(range(5000).map(String));
  });

  it('takes the place among appends in which it was called', async () => {
    await using store = await openWith();
    const first = store.put(message(0));
    const second = store.append(message(1));
    const third = store.put(message(2));
    const offsets = [(await first).queueOffset, second.queueOffset, (await third).queueOffset];
    expect(offsets).toEqual([0, 1, 2]);
    expect(syncedIn(dir)).toBeGreaterThan(second.physicalOffset);
  });

  it('settles when a flush was asked for by someone else, too', async () => {
    await using store = await openWith();
    const puts = range(3).map((i) => store.put(message(i)));
    await store.flush();
    expect((await Promise.all(puts)).map((one) => one.queueOffset)).toEqual([0, 1, 2]);
  });

  it('keeps the process alive until it is settled', async () => {
    const ended = await run(
      async ({ lib, say }, path: string) => {
        const store = await lib.MessageStore.open(path);
        store.put({ topic: 't', body: 'kept' }).then(({ queueOffset }) => say(queueOffset));
      },
      [dir],
    );
    expect(ended).toEqual({ code: 0, signal: null, said: [0], err: '' });
    await using store = await MessageStore.open(dir);
    expect(textsOf(store.queue('t'))).toEqual(['kept']);
  });
});

describe('an open store', () => {
  it('keeps no process alive, whoever listens, and loses nothing that was put', async () => {
    const ended = await run(
      async ({ lib, say }, path: string) => {
        const store = await lib.MessageStore.open(path);
        store.on('fault', () => {});
        store.on('close', () => say('closed'));
        store.append({ topic: 't', body: 'appended' });
        await store.put({ topic: 't', body: 'put' });
        store.append({ topic: 't', body: 'appended last' });
        say('done');
      },
      [dir],
    );
    expect(ended).toEqual({ code: 0, signal: null, said: ['done'], err: '' });
    await using store = await MessageStore.open(dir);
    expect(store.recovery.clean).toBe(false);
    expect(textsOf(store.queue('t'))).toEqual(['appended', 'put', 'appended last']);
  });

  it('has appended messages on disk within its interval, without being asked', async () => {
    await using store = await openWith({ flushIntervalCommitLog: 1 });
    const follower = store.queue('t').follow({ durable: true });
    for (const i of range(20)) {
      store.append(message(i));
      const { value } = await follower.next();
      expect(value!.messages.map((one) => one.text())).toEqual([String(i)]);
      expect(syncedIn(dir)).toBeGreaterThan(0);
    }
  });
});

describe('close', () => {
  it('settles every put that waits, each as it is', async () => {
    const store = await openWith();
    const puts = range(100).map((i) => store.put(message(i)));
    const closing = store.close();
    const late = rejectionOf(store.put(message(100)));
    const results = await Promise.all(puts);
    expect(results.map((one) => one.queueOffset)).toEqual(range(100));
    await closing;
    expect(await late).toBe('StoreError STORE_CLOSED');
    await using again = await openWith();
    expect(again.recovery.clean).toBe(true);
    expect(textsOf(again.queue('t'))).toEqual(range(100).map(String));
  });

  it('may be asked for twice, and refuses all that comes later', async () => {
    const store = await openWith();
    const closing = store.close();
    expect(store.close()).toBe(closing);
    await closing;
    await store.close();
    expect(await rejectionOf(store.put(message(0)))).toBe('StoreError STORE_CLOSED');
    expect(await rejectionOf(store.flush())).toBe('StoreError STORE_CLOSED');
    expect(addon.inspect(dir)).toMatchObject({ abort: { present: false } });
  });

  it('waits for a flush that runs', async () => {
    const store = await openWith();
    store.append(message(0));
    const order: string[] = [];
    const flushing = store.flush().then(() => order.push('flush'));
    const closing = store.close().then(() => order.push('close'));
    await Promise.all([flushing, closing]);
    expect(order).toEqual(['flush', 'close']);
  });
});

describe('puts that wait', () => {
  it('are refused past maxPendingPutBytes, without a trace, and taken again later', async () => {
    await using store = await openWith({ maxPendingPutBytes: 1000 });
    const { size } = await store.put(message(0));
    const most = Math.ceil(1000 / size);
    const outcomes = range(most + 5).map((i) => store.put(message(i + 1)));
    const settled = await Promise.allSettled(outcomes);
    expect(settled.map((one) => one.status)).toEqual([
      ...range(most).map(() => 'fulfilled'),
      ...range(5).map(() => 'rejected'),
    ]);
    const { reason } = settled.at(-1) as PromiseRejectedResult;
    expect(reason).toMatchObject({ code: 'STORE_BUSY', limit: 1000 });
    expect(store.queue('t').maxOffset).toBe(most + 1);
    expect((await store.put(message(99))).queueOffset).toBe(most + 1);
  });

  it('do not keep appends from going on', async () => {
    await using store = await openWith({ maxPendingPutBytes: 1 });
    const put = store.put(message(0));
    expect(await rejectionOf(store.put(message(1)))).toBe('StoreError STORE_BUSY');
    expect(store.append(message(1)).queueOffset).toBe(1);
    await put;
  });
});

describe.skipIf(!canShim)('the disk', () => {
  const shim = canShim ? new Shim(fresh('shim')) : (undefined as never);

  it('syncs once for all puts of a turn', async () => {
    const { env, calls } = shim.session();
    const child = start(
      async ({ lib, say, told }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        await store.put({ topic: 't', body: 'first' });
        say('ready');
        await told();
        await Promise.all(Array.from({ length: 1000 }, () => store.put({ topic: 't', body: 'x' })));
        say('done');
        await told();
      },
      [{ path: dir, ...quiet }],
      { env },
    );
    await child.said();
    const before = calls().length;
    child.tell();
    await child.said();
    expect(calls().slice(before)).toEqual(['msync ']);
    await child.kill();
  });

  it('has the directory of a new file before a put in that file resolves', async () => {
    const { env, calls } = shim.session();
    const child = start(
      async ({ lib, say, told }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        for (;;) {
          const { physicalOffset } = await store.put({ topic: 't', body: 'x'.repeat(300) });
          say(physicalOffset);
          await told();
        }
      },
      [{ path: dir, ...quiet, mappedFileSizeCommitLog: 1024 }],
      { env },
    );
    const log = path.join(dir, 'commitlog');
    for (let files = 0, before = 0; files < 4; child.tell()) {
      const at = (await child.said()) as number;
      const since = calls().slice(before);
      before += since.length;
      if (at % 1024 !== 0) continue;
      expect(since).toContain(`fsync ${log}`);
      files++;
    }
    await child.kill();
  });

  it('that fails once fails every put, then and later, and leaves what is on disk as it was', async () => {
    const { env, fail, recover } = shim.session();
    const child = start(
      async ({ lib, say, told }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        store.on('fault', (error) => say(`fault ${error.code}`));
        const put = (body: string) =>
          store.put({ topic: 't', body, lmq: ['x'] }).then(
            () => `${body} put`,
            (error) => `${body} ${error.code}`,
          );
        say(await put('first'));
        await told();
        const waiting = [put('second'), put('third')];
        say(await Promise.all(waiting));
        await told();
        // The disk is well again, the store is not.
        say(await put('fourth'));
        const codes: unknown[] = [];
        try {
          store.append({ topic: 't', body: 'fifth' });
        } catch (error) {
          codes.push((error as { code: string }).code);
        }
        codes.push(await store.flush().catch((error) => error.code));
        codes.push(
          store
            .lmq('x')
            .read(0)
            .messages.map((one) => one.text()),
        );
        codes.push(await store.close().catch((error) => error.code));
        say(codes);
      },
      [{ path: dir, ...quiet }],
      { env },
    );
    expect(await child.said()).toBe('first put');
    const synced = syncedIn(dir);
    fail();
    child.tell();
    expect(await child.said()).toBe('fault STORE_SYNC_FAILED');
    expect(await child.said()).toEqual(['second STORE_SYNC_FAILED', 'third STORE_SYNC_FAILED']);
    expect(syncedIn(dir)).toBe(synced);
    recover();
    child.tell();
    expect(await child.said()).toBe('fourth STORE_SYNC_FAILED');
    expect(await child.said()).toEqual([
      'STORE_SYNC_FAILED',
      'STORE_SYNC_FAILED',
      ['first', 'second', 'third'],
      'STORE_SYNC_FAILED',
    ]);
    expect(await child.ended).toMatchObject({ code: 0, err: '' });
    expect(syncedIn(dir)).toBe(synced);
    expect(existsSync(path.join(dir, 'abort'))).toBe(true);
    await using store = await openWith();
    expect(store.recovery.clean).toBe(false);
    expect(textsOf(store.queue('t'))).toEqual(['first', 'second', 'third']);
    expect((await store.put(message(3))).queueOffset).toBe(3);
  });

  it('that fails in close fails the close: the directory counts as not closed', async () => {
    const { env, failFile } = shim.session();
    const { said, code } = await run(
      async ({ lib, fs, say }, options: MessageStoreOptions, failFile: string) => {
        const store = await lib.MessageStore.open(options);
        await store.put({ topic: 't', body: 'put', lmq: ['x'] });
        store.append({ topic: 't', body: 'appended', lmq: ['x'] });
        fs.writeFileSync(failFile, '');
        say(await store.close().catch((error) => error.code));
      },
      [{ path: dir, ...quiet }, failFile],
      { env },
    );
    expect([code, said]).toEqual([0, ['STORE_IO']]);
    expect(addon.inspect(dir)).toMatchObject({
      abort: { present: true },
      ownCheckpoint: { clean: false },
    });
    await using store = await openWith();
    expect(store.recovery.clean).toBe(false);
    for (const queue of [store.queue('t'), store.lmq('x')]) {
      expect(textsOf(queue)).toEqual(['put', 'appended']);
    }
  });

  it('is never trusted in silence: whichever sync of a life fails, some call says so', async () => {
    const life = async ({ lib, say }: Parameters<Parameters<typeof run>[0]>[0], path: string) => {
      const options = { path, mappedFileSizeCommitLog: 1024, prepareAheadBytes: 0 };
      const codeOf = (error: { code: string }) => error.code;
      let store: MessageStore;
      try {
        store = await lib.MessageStore.open({ ...options, flushIntervalCommitLog: 2147483647 });
      } catch (error) {
        return say({ open: codeOf(error as { code: string }), puts: [] });
      }
      const puts: unknown[] = [];
      for (let i = 0; i < 6; i++) {
        const body = `${i}`.padEnd(300);
        puts.push(
          await store.put({ topic: `t${i % 2}`, body, lmq: ['x'] }).then(() => 'put', codeOf),
        );
      }
      const flush = await store.flush().then(() => 'ok', codeOf);
      say({ open: 'ok', puts, flush, close: await store.close().then(() => 'ok', codeOf) });
    };
    let at = 1;
    for (; ; at++) {
      const { env } = shim.session();
      const where = fresh(`life-${at}`);
      const ended = await run(life, [where], { env: { ...env, SHIM_FAIL_AT: String(at) } });
      const [told] = ended.said as {
        open: string;
        puts: string[];
        flush?: string;
        close?: string;
      }[];
      expect(ended, `sync ${at}`).toMatchObject({ code: 0, signal: null, err: '' });
      const outcomes = [told!.open, ...told!.puts, told!.flush, told!.close];
      if (!outcomes.some((one) => one?.startsWith('STORE_'))) break;
      if (told!.open === 'ok') {
        // From the first failure on everything fails; close tells what the disk said, the rest that it did.
        const first = outcomes.findIndex((one) => one?.startsWith('STORE_'));
        const rest = outcomes.slice(first, -1);
        expect(rest, `sync ${at}`).toEqual(rest.map(() => 'STORE_SYNC_FAILED'));
        expect(outcomes.at(-1)).toBe(rest.length > 0 ? 'STORE_SYNC_FAILED' : 'STORE_IO');
      }
      await using store = await MessageStore.open(where);
      const found = store.lmq('x').maxOffset;
      expect(found).toBeGreaterThanOrEqual(told!.puts.filter((one) => one === 'put').length);
    }
    expect(at).toBeGreaterThan(15);
  });
});
