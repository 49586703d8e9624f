// Deleting beside readers and followers, on a device that fills, and up to a kill.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Batch, MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { run, start } from './support/programs.ts';
import { canShim, Shim } from './support/shim.ts';
import { failureOf, messagesOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const KiB = 1024;
const small = { ...quiet, mappedFileSizeCommitLog: 4 * KiB, mappedFileSizeConsumeQueue: 100 };
const openWith = (options: Partial<MessageStoreOptions> = {}) =>
  MessageStore.open({ path: dir, ...small, ...options });

function fill(store: MessageStore, count: number): void {
  for (let i = 0; i < count; i++) {
    const index = store.queue('t').maxOffset;
    store.append({ topic: 't', body: `${index}`.padEnd(KiB, '.'), lmq: ['x'] });
  }
}

describe('a reader beside the writer', () => {
  it('sees the new minimum of every queue, also of files that it had not opened', async () => {
    await using store = await openWith();
    fill(store, 30);
    await using reader = await MessageStore.openReader({ path: dir, ...small });
    expect(reader.queue('t').read(29).messages).toHaveLength(1);
    const { physicalOffset } = store.queue('t').read(1).messages[0]!;
    await store.deleteBefore(20 * KiB);
    for (const queue of [reader.queue('t'), reader.lmq('x')]) {
      expect(queue).toMatchObject({ minOffset: 15, maxOffset: 30 });
      expect(queue.read(0)).toMatchObject({ status: 'OFFSET_TOO_SMALL', nextOffset: 15 });
      expect(messagesOf(queue)).toHaveLength(15);
    }
    expect(reader.getAt(physicalOffset)).toBeUndefined();
    // All that it knew goes, and more comes.
    fill(store, 30);
    await store.deleteBefore(76 * KiB);
    fill(store, 1);
    for (const queue of [reader.queue('t'), reader.lmq('x')]) {
      expect(queue).toMatchObject({ minOffset: 57, maxOffset: 61 });
      expect(messagesOf(queue).map(({ offset }) => offset)).toEqual([57, 58, 59, 60]);
    }
  });

  it('goes on through any number of deletions, in a process of its own', async () => {
    const store = await openWith();
    fill(store, 9);
    const reading = start(
      async ({ lib, say }, options: MessageStoreOptions) => {
        const reader = await lib.MessageStore.openReader(options);
        say('open');
        let messages = 0;
        let last = -1;
        for await (const batch of reader.lmq('x').follow({ onGap: 'skip' })) {
          for (const { offset } of batch.messages) {
            if (offset <= last) throw new Error(`${offset} comes after ${last}`);
            last = offset;
            messages++;
          }
          messages += batch.skipped;
          const { minOffset } = reader.queue('t');
          reader.queue('t').read(minOffset);
          if (last === 1499) break;
        }
        say(messages);
        await reader.close();
      },
      [{ path: dir, ...small, followInterval: 1 }],
    );
    expect(await reading.said()).toBe('open');
    while (store.queue('t').maxOffset < 1500) {
      fill(store, Math.min(21, 1500 - store.queue('t').maxOffset));
      const { physicalOffset } = store.queue('t').read(store.queue('t').maxOffset - 1)
        .messages[0] as { physicalOffset: number };
      await store.deleteBefore(physicalOffset - 12 * KiB);
    }
    expect(await reading.ended).toMatchObject({ code: 0, signal: null, err: '', said: [1500] });
    await store.close();
  });
});

describe('a follower that meets expired messages', () => {
  it('fails with STORE_GAP, or passes and counts them', async () => {
    await using store = await openWith();
    fill(store, 12);
    const failing = store.lmq('x').follow({ from: 0, maxMessages: 1 });
    const passing = store.queue('t').follow({ from: 0, maxMessages: 1, onGap: 'skip' });
    await failing.next();
    await passing.next();
    await store.deleteBefore(8 * KiB);
    await expect(failing.next()).rejects.toMatchObject({ code: 'STORE_GAP', offset: 1, limit: 6 });
    const { value } = (await passing.next()) as { value: Batch };
    expect(value).toMatchObject({ skipped: 5, nextOffset: 6 });
    const next = (await passing.next()) as { value: Batch };
    expect(next.value.messages.map(({ offset }) => offset)).toEqual([6]);
    await passing.return();
  });
});

describe('a kill in the middle of deleting', () => {
  it.each([1, 4, 16, 64])('leaves whole files and every number, at step %i', async (steps) => {
    const ended = await run(
      async ({ lib, fs }, options: MessageStoreOptions, stepsBefore: number) => {
        const store = await lib.MessageStore.open(options);
        for (let i = 0; i < 300; i++) {
          store.append({ topic: 't', body: `${i}`.padEnd(1024, '.'), lmq: [i < 9 ? 'gone' : 'x'] });
        }
        await store.flush();
        const log = `${options.path}/commitlog`;
        const all = fs.readdirSync(log).length;
        void store.deleteBefore(380 * 1024);
        // The deleting thread goes on meanwhile.
        while (all - fs.readdirSync(log).length < stepsBefore);
        process.kill(process.pid, 'SIGKILL');
      },
      [{ path: dir, ...small }, steps],
    );
    expect(ended).toMatchObject({ signal: 'SIGKILL', err: '' });
    const left = readdirSync(path.join(dir, 'commitlog')).map(Number);
    const first = Math.min(...left) / (4 * KiB);
    expect(first).toBeGreaterThanOrEqual(steps);
    rmSync(path.join(dir, 'lmq'), { recursive: true });
    await using store = await openWith();
    expect(store.queue('t')).toMatchObject({ minOffset: first * 3, maxOffset: 300 });
    expect(messagesOf(store.queue('t'))).toHaveLength(300 - first * 3);
    expect(store.lmq('gone')).toMatchObject({ minOffset: Math.min(first * 3, 9), maxOffset: 9 });
    expect(store.lmq('x').maxOffset).toBe(291);
    expect(store.append({ topic: 't', body: '', lmq: ['gone'] }).lmqOffsets).toEqual([9]);
  });
});

describe.skipIf(!canShim)('a sync that fails (skipped where nothing can be preloaded)', () => {
  const shim = canShim ? new Shim(fresh('shim')) : undefined;
  it('lets no file go before what the log cannot tell is safe', async () => {
    const session = shim!.session();
    const ended = await run(
      async ({ lib, fs, say }, options: MessageStoreOptions, fail: string) => {
        const store = await lib.MessageStore.open(options);
        for (let i = 0; i < 12; i++) {
          store.append({ topic: 't', body: ''.padEnd(1024), lmq: [i < 3 ? 'gone' : 'x'] });
        }
        await store.flush();
        fs.writeFileSync(fail, '');
        say(await store.deleteBefore(8192).then(String, (error) => error.code));
        say(fs.readdirSync(`${options.path}/commitlog`).length);
        fs.rmSync(fail);
        say((await store.deleteBefore(8192)).files.length);
        say(fs.readdirSync(`${options.path}/commitlog`).length);
        await store.close();
      },
      [{ path: dir, ...small }, session.failFile],
      { env: session.env },
    );
    expect(ended).toEqual({ code: 0, signal: null, err: '', said: ['STORE_IO', 4, 2, 2] });
    const log = path.join(dir, 'commitlog');
    const calls = session.calls();
    const lastOf = (file: string) => calls.findLastIndex((call) => call.endsWith(` ${file}`));
    expect(calls.findIndex((call) => call.endsWith(` ${path.join(dir, 'state')}`))).toBeGreaterThan(
      -1,
    );
    expect(lastOf(path.join(dir, 'state'))).toBeLessThan(lastOf(log));
  });
});

/** A disk of so many bytes, if this process may make one. */
function mount(where: string, size: string): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  mkdirSync(where);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', where], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

const probe = fresh('probe');
const canMount = mount(probe, '1m');
if (canMount) execFileSync('umount', [probe]);

describe.skipIf(!canMount)('a device that fills (skipped where none can be mounted)', () => {
  const disk = fresh('disk');
  beforeAll(() => void mount(disk, '16m'));
  afterAll(() => void execFileSync('umount', ['-l', disk]));
  const MiB = 1 << 20;
  const often = { cleanResourceInterval: 1, mappedFileSizeCommitLog: MiB };
  const big = { topic: 't', body: 'x'.repeat(300_000) };

  it('refuses writes by name above a level, tells it, and takes them again below', async () => {
    const ballast = path.join(disk, 'ballast');
    dir = path.join(disk, 'refused');
    const store = await openWith({ ...often, diskSpaceWarningLevelRatio: 70 });
    store.append(big);
    const full = once(store, 'disk');
    writeFileSync(ballast, Buffer.alloc(12 * MiB));
    expect((await full)[0]).toMatchObject({ level: 'full', usedPercent: expect.any(Number) });
    expect(failureOf(() => store.append(big))).toBe('StoreError STORE_DISK_FULL');
    expect(failureOf(() => store.appendBatch([big]))).toBe('StoreError STORE_DISK_FULL');
    expect(await rejectionOf(store.put(big))).toBe('StoreError STORE_DISK_FULL');
    expect(store.queue('t').read(0).messages).toHaveLength(1);
    await store.flush();
    const normal = once(store, 'disk');
    rmSync(ballast);
    expect((await normal)[0]).toMatchObject({ level: 'normal' });
    await store.put(big);
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('deletes the oldest above a level, no more than needed, and only if allowed', async () => {
    const ballast = path.join(disk, 'ballast');
    dir = path.join(disk, 'cleaned');
    const options = { ...often, diskSpaceCleanForciblyRatio: 80 };
    const kept = await openWith({ ...options, cleanFileForciblyEnable: false });
    for (let i = 0; i < 18; i++) kept.append(big); // 6 MiB
    const above = once(kept, 'disk');
    writeFileSync(ballast, Buffer.alloc(8 * MiB));
    expect((await above)[0]).toMatchObject({ level: 'forcibly' });
    await kept.close();
    const files = () => readdirSync(path.join(dir, 'commitlog')).length;
    expect(files()).toBe(6);
    const store = await openWith(options);
    const [expired] = await once(store, 'expired');
    expect(expired).toMatchObject({ bytes: MiB, logMin: MiB });
    expect(store.queue('t').minOffset).toBeGreaterThan(0);
    await store.close();
    expect(files()).toBeGreaterThan(2);
    rmSync(ballast);
  });
});
