// Putting: a promise that is kept, in groups, in order, and to the end of the store.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Message, MessageStore } from '../lib/index.ts';
import { addon } from '../lib/native.ts';
import { freshDirectories } from './support/files.ts';
import { run } from './support/programs.ts';
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
