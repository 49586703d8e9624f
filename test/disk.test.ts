// What the disk does to a store: syncs that fail, no room, calls that a file system does not know. Real
// processes; failures come from a preloaded library and from a disk of a few MiB.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { addon } from '../lib/native.ts';
import { freshDirectories, logFile } from './support/files.ts';
import { mount } from './support/mounts.ts';
import { run, start, type Tools } from './support/programs.ts';
import { canShim, Shim } from './support/shim.ts';
import { messagesOf, quiet, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

/** What our checkpoint says is on disk. */
function syncedIn(path: string): number {
  const { ownCheckpoint } = addon.inspect(path) as { ownCheckpoint: { logSynced: number } };
  return ownCheckpoint.logSynced;
}

describe.skipIf(!canShim)('a disk', () => {
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
    await using store = await MessageStore.open(dir);
    expect(store.recovery.clean).toBe(false);
    expect(textsOf(store.queue('t'))).toEqual(['first', 'second', 'third']);
    expect((await store.put({ topic: 't', body: '' })).queueOffset).toBe(3);
  });

  it('that fails ends durable followers with the failure, then and later, and no others', async () => {
    const { env, fail } = shim.session();
    const child = start(
      async ({ lib, say, told }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        await store.put({ topic: 't', body: 'safe' });
        const next = (durable: boolean) =>
          store
            .queue('t')
            .follow({ from: 1, durable })
            .next()
            .then(
              ({ value }) => value?.messages[0]?.text(),
              (error) => error.code,
            );
        const [durable, other] = [next(true), next(false)];
        say('waits');
        await told();
        store.append({ topic: 't', body: 'unsafe' });
        store.flush().catch(() => {});
        say([await durable, await other, await next(true), await next(false)]);
        const first = await store.queue('t').follow({ durable: true }).next();
        say(first.value?.messages.map((one) => one.text()));
        await store.close().catch((error) => say(error.code));
      },
      [{ path: dir, ...quiet }],
      { env },
    );
    expect(await child.said()).toBe('waits');
    fail();
    child.tell();
    const code = 'STORE_SYNC_FAILED';
    expect(await child.said()).toEqual([code, 'unsafe', code, 'unsafe']);
    expect(await child.said()).toEqual(['safe']);
    expect(await child.said()).toBe(code);
    expect(await child.ended).toMatchObject({ code: 0, err: '' });
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
    await using store = await MessageStore.open(dir);
    expect(store.recovery.clean).toBe(false);
    for (const queue of [store.queue('t'), store.lmq('x')]) {
      expect(textsOf(queue)).toEqual(['put', 'appended']);
    }
  });

  it('is never trusted in silence: whichever sync of a life fails, some call says so', async () => {
    const life = async ({ lib, say }: Tools, path: string) => {
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
  }, 180_000); // a process for every sync of a life
});

describe.skipIf(!canShim)('a file system', () => {
  const shim = canShim ? new Shim(fresh('shim')) : (undefined as never);
  const options = () => ({ path: dir, ...quiet, mappedFileSizeCommitLog: 8192 });
  const fill = async ({ lib, say }: Tools, options: MessageStoreOptions) => {
    const store = await lib.MessageStore.open(options);
    let count = 0;
    try {
      for (; count < 100; count++) store.append({ topic: 't', body: 'x'.repeat(300), lmq: ['x'] });
    } catch (error) {
      say((error as { code: string }).code);
    }
    say([count, store.queue('t').maxOffset, store.lmq('x').maxOffset]);
    say(store.queue('t').read(0).status);
    await store.close();
  };

  it.each(['EOPNOTSUPP', 'EINVAL', 'ENOSYS'])(
    'that knows no reservation (%s) has its blocks used all the same',
    async (error) => {
      const { env } = shim.session();
      const ended = await run(fill, [options()], { env: { ...env, SHIM_FALLOCATE: error } });
      expect(ended).toMatchObject({ code: 0, said: [[100, 100, 100], 'FOUND'], err: '' });
      expect(statSync(logFile(dir)).blocks * 512).toBeGreaterThanOrEqual(8192);
      await using store = await MessageStore.open(dir);
      expect(store.recovery.clean).toBe(true);
      expect(messagesOf(store.lmq('x'))).toHaveLength(100);
    },
  );

  it('that has no room to reserve refuses, by name, the first append that needs it', async () => {
    const { env } = shim.session();
    const ended = await run(fill, [options()], { env: { ...env, SHIM_FALLOCATE: 'ENOSPC' } });
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.said).toEqual(['STORE_DISK_FULL', [0, 0, 0], 'NO_MESSAGE_IN_QUEUE']);
    expect(existsSync(logFile(dir))).toBe(false);
  });

  it('that refuses more mappings leaves no half-made file, and what is there works on', async () => {
    const { env } = shim.session();
    const ended = await run(fill, [options()], { env: { ...env, SHIM_MAPS: '7' } });
    const [code, counts, status] = ended.said as [string, number[], string];
    expect([ended.code, ended.err, code, status]).toEqual([0, '', 'STORE_NO_MEMORY', 'FOUND']);
    expect(counts[0]).toBeGreaterThan(0);
    expect(counts).toEqual([counts[0], counts[0], counts[0]]);
    await using store = await MessageStore.open(dir);
    expect(store.append({ topic: 't', body: '', lmq: ['x'] })).toMatchObject({
      queueOffset: counts[0],
      lmqOffsets: [counts[0]],
    });
  });
});

const probe = fresh('probe');
const canMount = mount(probe, '1m');
if (canMount) execFileSync('umount', [probe]);

describe.skipIf(!canMount)('a full disk (skipped where no small one can be mounted)', () => {
  const disk = fresh('disk');
  beforeAll(() => void mount(disk, '8m'));
  afterAll(() => void execFileSync('umount', ['-l', disk]));

  it('refuses what does not fit by name, and takes it once there is room, without reopening', async () => {
    const ended = await run(
      async ({ lib, fs, say }, options: MessageStoreOptions, ballast: string) => {
        const store = await lib.MessageStore.open(options);
        fs.writeFileSync(ballast, Buffer.alloc(1 << 20));
        const put = (body: string) =>
          store.put({ topic: 't', body, lmq: ['x', `n${body.slice(0, 4)}`] }).then(
            () => 'put',
            (error) => error.code,
          );
        let count = 0;
        const body = () => `${count}`.padEnd(30_000, '.');
        for (;;) {
          const outcome = await put(body());
          if (outcome !== 'put') {
            say(outcome);
            break;
          }
          count++;
        }
        // Reading goes on, refusing goes on, and nothing is counted twice.
        say(
          store
            .lmq('x')
            .read(count - 1)
            .messages[0]!.text()
            .trimEnd() === body().replace(/^\d+/, String(count - 1)),
        );
        say([
          await put(body()),
          store.queue('t').maxOffset === count,
          store.lmq('x').maxOffset === count,
        ]);
        try {
          store.append({ topic: 't', body: body() });
        } catch (error) {
          say((error as { code: string }).code);
        }
        fs.rmSync(ballast);
        say([await put(body()), store.lmq('x').maxOffset === count + 1]);
        await store.close();
        say(count + 1);
      },
      [
        { path: path.join(disk, 'store'), mappedFileSizeCommitLog: 4 << 20 },
        path.join(disk, 'ballast'),
      ],
    );
    expect(ended).toMatchObject({ code: 0, signal: null, err: '' });
    const count = ended.said.at(-1) as number;
    expect(ended.said.slice(0, -1)).toEqual([
      'STORE_DISK_FULL',
      true,
      ['STORE_DISK_FULL', true, true],
      'STORE_DISK_FULL',
      ['put', true],
    ]);
    expect(count).toBeGreaterThan(50);
    await using store = await MessageStore.open(path.join(disk, 'store'));
    expect(store.recovery.clean).toBe(true);
    expect(messagesOf(store.lmq('x')).map((one) => Number.parseInt(one.text(), 10))).toEqual([
      ...Array(count).keys(),
    ]);
    await store.close();
    rmSync(path.join(disk, 'store'), { recursive: true });
  });

  it('fails a flush that has to write there, but no put, and not for good', async () => {
    const where = path.join(disk, 'second');
    const ended = await run(
      async ({ lib, fs, say }, options: MessageStoreOptions, ballast: string) => {
        const store = await lib.MessageStore.open(options);
        store.on('fault', (error) => say(error.code));
        store.append({ topic: 't', body: 'before', lmq: ['x'] });
        const descriptor = fs.openSync(ballast, 'w');
        try {
          for (;;) fs.writeSync(descriptor, Buffer.alloc(4096));
        } catch (error) {
          say((error as { code: string }).code);
        }
        const outcome = (promise: Promise<unknown>) =>
          promise.then(
            () => 'ok',
            (error) => error.code,
          );
        say(await outcome(store.put({ topic: 't', body: 'full', lmq: ['x'] })));
        say(await outcome(store.flush()));
        fs.rmSync(ballast);
        fs.closeSync(descriptor);
        say(await outcome(store.put({ topic: 't', body: 'after', lmq: ['x'] })));
        say(await outcome(store.flush()));
        say(await outcome(store.close()));
      },
      [{ path: where, ...quiet }, path.join(disk, 'ballast')],
    );
    expect(ended).toEqual({
      code: 0,
      signal: null,
      said: ['ENOSPC', 'ok', 'STORE_DISK_FULL', 'ok', 'ok', 'ok'],
      err: '',
    });
    await using store = await MessageStore.open(where);
    expect(store.recovery.clean).toBe(true);
    expect(textsOf(store.lmq('x'))).toEqual(['before', 'full', 'after']);
  });
});
