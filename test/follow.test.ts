// Following a queue in the process that writes it: everything in order, woken by appends alone.
import { getEventListeners } from 'node:events';
import { rmSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Batch, type Follower, type FollowOptions, MessageStore } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile } from './support/files.ts';
import { run } from './support/programs.ts';
import { failureOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

/** Messages 'from', 'from + 1' … in topic t and light queue x. */
function fill(store: MessageStore, count: number, from = 0): void {
  for (let i = from; i < from + count; i++) {
    store.append({ topic: 't', body: String(i), tags: `tag${i % 2}`, lmq: ['x'] });
  }
}

const texts = (batch: Batch) => batch.messages.map((message) => message.text());
const nextOf = async (follower: Follower) => (await follower.next()).value as Batch;
/** Lets everything run that does not wait for anything. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What became of a promise that must not wait for time to pass. */
async function now<T>(promise: Promise<T>): Promise<T | 'waiting'> {
  await turn();
  return Promise.race([promise, Promise.resolve('waiting' as const)]);
}

const queuesOf = (store: MessageStore) => [store.queue('t'), store.lmq('x')];

describe('a follower', () => {
  it('gives what is there in pages, then what comes', async () => {
    await using store = await openWith();
    fill(store, 40);
    for (const queue of queuesOf(store)) {
      const follower = queue.follow();
      const batches = [await nextOf(follower), await nextOf(follower)];
      expect(batches.map(({ nextOffset, skipped }) => [nextOffset, skipped])).toEqual([
        [32, 0],
        [40, 0],
      ]);
      expect(batches.flatMap(texts)).toEqual(Array.from({ length: 40 }, (_, i) => String(i)));
      const waiting = follower.next();
      expect(await now(waiting)).toBe('waiting');
      await follower.return();
    }
  });

  it.each<[FollowOptions['from'], string]>([
    [undefined, '0'],
    ['first', '0'],
    [0, '0'],
    [3, '3'],
    [4n, '4'],
    ['end', '5'],
  ])('told to begin at %s begins with message %s', async (from, first) => {
    await using store = await openWith();
    fill(store, 5);
    const followers = queuesOf(store).map((queue) => queue.follow({ from, maxMessages: 1 }));
    fill(store, 1, 5);
    for (const follower of followers) expect(texts(await nextOf(follower))).toEqual([first]);
  });

  it('from the end gives what was appended after the call, although nothing was asked for yet', async () => {
    await using store = await openWith();
    fill(store, 3);
    const followers = queuesOf(store).map((queue) => queue.follow({ from: 'end' }));
    fill(store, 2, 3);
    for (const follower of followers) expect(texts(await nextOf(follower))).toEqual(['3', '4']);
  });

  it('waits for a queue that does not exist yet, and for an offset that is yet to come', async () => {
    await using store = await openWith();
    const followers = queuesOf(store).flatMap((queue) => [
      queue.follow(),
      queue.follow({ from: 2 }),
    ]);
    const waiting = followers.map((follower) => follower.next());
    for (const one of waiting) expect(await now(one)).toBe('waiting');
    fill(store, 1);
    expect(await now(waiting[0]!)).toMatchObject({ value: { nextOffset: 1 } });
    expect(await now(waiting[1]!)).toBe('waiting');
    fill(store, 2, 1);
    for (const one of [waiting[1]!, waiting[3]!]) {
      expect(texts((await one).value as Batch)).toEqual(['2']);
    }
  });

  it('is woken by the append itself, by no clock', async () => {
    await using store = await openWith();
    for (const queue of queuesOf(store)) {
      const follower = queue.follow({ from: 'end' });
      for (let i = 0; i < 100; i++) {
        const waiting = follower.next();
        expect(await now(waiting)).toBe('waiting');
        fill(store, 1, i);
        expect(await now(waiting)).toMatchObject({ done: false });
      }
      await follower.return();
    }
  });

  it('sleeps on when other queues get messages', async () => {
    await using store = await openWith();
    fill(store, 1);
    const waiting = [store.queue('t', 0), store.lmq('x')].map((q) =>
      q.follow({ from: 'end' }).next(),
    );
    await turn();
    store.append({ topic: 't', queueId: 1, body: '', lmq: ['y'] });
    store.append({ topic: 'u', body: '' });
    for (const one of waiting) expect(await now(one)).toBe('waiting');
  });

  it('gives an empty batch where tags match nothing, which still moves on', async () => {
    await using store = await openWith();
    fill(store, 6);
    const follower = store.lmq('x').follow({ tags: 'none' });
    expect(await nextOf(follower)).toEqual({ messages: [], nextOffset: 6, skipped: 0 });
    const odd = store.lmq('x').follow({ tags: 'tag1' });
    expect(texts(await nextOf(odd))).toEqual(['1', '3', '5']);
  });

  it('reads nothing before it is asked', async () => {
    await using store = await openWith();
    fill(store, 1);
    const follower = store.queue('t').follow();
    await turn();
    flipBit(logFile(dir), 88);
    expect(await rejectionOf(follower.next())).toBe('StoreError STORE_CORRUPT_RECORD');
  });

  it('answers calls that overlap in their order', async () => {
    await using store = await openWith();
    const follower = store.queue('t').follow({ maxMessages: 1 });
    const answers = [follower.next(), follower.next(), follower.next()];
    fill(store, 2);
    expect(texts((await answers[0]!).value as Batch)).toEqual(['0']);
    expect(texts((await answers[1]!).value as Batch)).toEqual(['1']);
    expect(await now(answers[2]!)).toBe('waiting');
    fill(store, 1, 2);
    expect(texts((await answers[2]!).value as Batch)).toEqual(['2']);
  });

  it('is one of many: each of two sees everything, each of a thousand its own queue', async () => {
    await using store = await openWith();
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    const { signal } = new AbortController();
    const followers = Array.from({ length: 1000 }, (_, i) =>
      store.lmq(`n${i}`).follow({ signal, maxMessages: 10 }),
    );
    const pair = [store.queue('t').follow(), store.queue('t').follow()];
    const waiting = [...followers, ...pair].map((follower) => follower.next());
    await turn();
    for (let i = 999; i >= 0; i--) store.append({ topic: 't', body: `${i}`, lmq: [`n${i}`] });
    const got = (await Promise.all(waiting)).map(({ value }) => texts(value as Batch));
    expect(got.slice(0, 1000)).toEqual(followers.map((_, i) => [`${i}`]));
    expect(got[1000]).toEqual(got[1001]);
    await turn();
    process.off('warning', note);
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('that is durable gives only what is on disk', async () => {
    await using store = await openWith();
    const waiting = queuesOf(store).map((queue) => queue.follow({ durable: true }).next());
    fill(store, 2);
    for (const one of waiting) expect(await now(one)).toBe('waiting');
    await store.flush();
    for (const one of waiting) expect(texts((await one).value as Batch)).toEqual(['0', '1']);
  });

  it('keeps the process alive while it waits, unless it was asked not to', async () => {
    const wait = (ref: boolean, path: string) =>
      run(
        async ({ lib, say }, ref: boolean, path: string) => {
          const store = await lib.MessageStore.open(path);
          // This timer alone would not keep the process alive.
          setTimeout(() => store.append({ topic: 't', body: 'late' }), 50).unref();
          const { value } = await store.queue('t').follow({ ref }).next();
          say(value?.messages.length);
        },
        [ref, path],
      );
    expect(await wait(true, fresh())).toMatchObject({ code: 0, said: [1], err: '' });
    expect(await wait(false, fresh())).toMatchObject({ code: 0, said: [], err: '' });
  });
});

describe('a follower ends', () => {
  it('with the reason of its signal, which keeps no listener', async () => {
    await using store = await openWith();
    fill(store, 1);
    for (const durable of [false, true]) {
      const controller = new AbortController();
      const { signal } = controller;
      const follower = store.queue('t').follow({ signal, from: 'end', durable });
      const waiting = follower.next();
      await turn();
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      const reason = new Error('enough');
      controller.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(await follower.next()).toEqual({ value: undefined, done: true });
    }
  });

  it('at once where its signal was aborted before', async () => {
    await using store = await openWith();
    fill(store, 1);
    const follower = store.queue('t').follow({ signal: AbortSignal.abort('no') });
    await expect(follower.next()).rejects.toBe('no');
    expect(await follower.next()).toEqual({ value: undefined, done: true });
  });

  it('when the store closes, in the middle of waiting or not', async () => {
    const store = await openWith();
    fill(store, 3);
    const seen: string[] = [];
    const loop = (async () => {
      for await (const batch of store.queue('t').follow()) seen.push(...texts(batch));
      return 'ended';
    })();
    const durable = store.queue('t').follow({ from: 'end', durable: true }).next();
    const idle = store.queue('t').follow();
    await turn();
    await store.close();
    expect(await loop).toBe('ended');
    expect(seen).toEqual(['0', '1', '2']);
    expect(await durable).toEqual({ value: undefined, done: true });
    expect(await idle.next()).toEqual({ value: undefined, done: true });
  });

  it('by return(), also while it waits and before it began, and by a break', async () => {
    await using store = await openWith();
    fill(store, 2);
    const done = { value: undefined, done: true };
    const waits = store.queue('t').follow({ from: 'end' });
    const waiting = waits.next();
    await turn();
    expect(await waits.return()).toEqual(done);
    expect(await waiting).toEqual(done);
    const idle = store.queue('t').follow();
    expect(await idle.return()).toEqual(done);
    expect(await idle.next()).toEqual(done);
    const broken = store.queue('t').follow({ maxMessages: 1 });
    for await (const batch of broken) {
      expect(texts(batch)).toEqual(['0']);
      break;
    }
    expect(await broken.next()).toEqual(done);
  });

  it('by throw(), with what is thrown', async () => {
    await using store = await openWith();
    const follower = store.queue('t').follow();
    const waiting = follower.next();
    await turn();
    const thrown = follower.throw(new Error('mine'));
    expect(await waiting).toEqual({ value: undefined, done: true });
    await expect(thrown).rejects.toThrow('mine');
  });
});

describe('a follower that meets damage', () => {
  const damage = async (store: MessageStore) => {
    fill(store, 6);
    const [, , third] = store.queue('t').read(0).messages;
    flipBit(logFile(dir), third!.physicalOffset + 88);
  };

  it('gives what lies before it, then fails with its offset', async () => {
    await using store = await openWith();
    await damage(store);
    for (const queue of queuesOf(store)) {
      const follower = queue.follow();
      expect(await nextOf(follower)).toMatchObject({ nextOffset: 2, skipped: 0 });
      await expect(follower.next()).rejects.toMatchObject({
        code: 'STORE_CORRUPT_RECORD',
        offset: 2,
      });
      expect(await follower.next()).toEqual({ value: undefined, done: true });
      expect(await rejectionOf(queue.follow({ from: 2 }).next())).toBe(
        'StoreError STORE_CORRUPT_RECORD',
      );
    }
  });

  it('passes it where gaps are skipped, and counts it', async () => {
    await using store = await openWith();
    await damage(store);
    for (const queue of queuesOf(store)) {
      const batch = await nextOf(queue.follow({ onGap: 'skip' }));
      expect(texts(batch)).toEqual(['0', '1', '3', '4', '5']);
      expect(batch).toMatchObject({ nextOffset: 6, skipped: 1 });
    }
  });
});

describe('a follower of what has left the log', () => {
  const expire = async () => {
    const options = { mappedFileSizeCommitLog: 1024 };
    {
      await using store = await openWith(options);
      for (let i = 0; i < 8; i++) {
        store.append({ topic: 't', body: `${i}`.padEnd(300), lmq: ['x'] });
      }
    }
    for (const base of [0, 1024]) rmSync(logFile(dir, base));
    return openWith(options);
  };

  it('fails where it was told to begin there, saying which messages are missing', async () => {
    await using store = await expire();
    for (const queue of queuesOf(store)) {
      const follower = queue.follow({ from: 1 });
      await expect(follower.next()).rejects.toMatchObject({
        code: 'STORE_GAP',
        offset: 1,
        limit: queue.minOffset,
      });
    }
  });

  it('goes on behind it where gaps are skipped, or where it begins at the first', async () => {
    await using store = await expire();
    for (const queue of queuesOf(store)) {
      const min = queue.minOffset;
      expect(min).toBeGreaterThan(1);
      const skips = queue.follow({ from: 1, onGap: 'skip' });
      expect(await nextOf(skips)).toEqual({ messages: [], nextOffset: min, skipped: min - 1 });
      expect((await nextOf(skips)).messages[0]!.offset).toBe(min);
      expect((await nextOf(queue.follow())).messages[0]!.offset).toBe(min);
    }
  });
});

describe('follow refuses', () => {
  it.each<[string, object, string]>([
    ['a negative offset', { from: -1 }, 'RangeError'],
    ['half an offset', { from: 0.5 }, 'RangeError'],
    ['another word to begin at', { from: 'middle' }, 'RangeError'],
    ['a date that is none', { from: new Date(Number.NaN) }, 'RangeError'],
    ['another word for gaps', { onGap: 'ignore' }, 'RangeError'],
    ['a flag for gaps', { onGap: true }, 'TypeError'],
    ['a controller as a signal', { signal: new AbortController() }, 'TypeError'],
    ['a word for durable', { durable: 'yes' }, 'TypeError'],
    ['a number for ref', { ref: 1 }, 'TypeError'],
    ['tags of none', { tags: ' || ' }, 'RangeError'],
    ['a negative count', { maxMessages: -1 }, 'RangeError'],
  ])('%s, at the call', async (_, options, kind) => {
    await using store = await openWith();
    expect(failureOf(() => store.queue('t').follow(options))).toBe(
      `${kind} STORE_INVALID_ARGUMENT`,
    );
  });
});
