// Where groups are in queues: committed, asked for, followed from; over reopens, kills and damage.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Batch,
  type Follower,
  MessageStore,
  type MessageStoreOptions,
  type StoreReader,
} from '../lib/index.ts';
import { freshDirectories, treeOf } from './support/files.ts';
import { start, type Tools } from './support/programs.ts';
import { abandon, failureOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });
const readerOf = (at = dir) => MessageStore.openReader({ path: at, ...quiet });
const logOf = (at = dir) => path.join(at, 'offsets', 'log');

/** Messages in queues 0 and 1 of t, and in light queue x. */
function fill(store: MessageStore, count: number): void {
  for (let i = 0; i < count; i++) {
    store.append({ topic: 't', body: String(i), lmq: ['x'] });
    store.append({ topic: 't', queueId: 1, body: String(i) });
  }
}

const queuesOf = (store: StoreReader) => [store.queue('t'), store.queue('t', 1), store.lmq('x')];
const texts = (batch: Batch) => batch.messages.map((message) => message.text());
const nextOf = async (follower: Follower) => (await follower.next()).value as Batch;

describe('an offset', () => {
  it('is one of a group in a queue', async () => {
    await using store = await openWith();
    fill(store, 10);
    queuesOf(store).forEach((queue, i) => {
      expect(queue.committed('g')).toBeUndefined();
      expect(queue.lag('g')).toBe(10);
      queue.commit('g', 3 + i);
      queue.commit('h', 1n);
    });
    expect(queuesOf(store).map((queue) => queue.committed('g'))).toEqual([3, 4, 5]);
    expect(queuesOf(store).map((queue) => queue.lag('g'))).toEqual([7, 6, 5]);
    expect(queuesOf(store).map((queue) => queue.committed('h'))).toEqual([1, 1, 1]);
    expect(store.groups()).toEqual(['g', 'h']);
    expect(store.queue('%LMQ%x').committed('g')).toBe(5);
  });

  it('may be any of the queue from 0 to its end, also an earlier one', async () => {
    await using store = await openWith();
    fill(store, 10);
    for (const queue of queuesOf(store)) {
      for (const offset of [7, 10, 0]) {
        queue.commit('g', offset);
        expect(queue.committed('g')).toBe(offset);
      }
      const first = await nextOf(queue.follow({ group: 'g' }));
      expect(texts(first)[0]).toBe('0');
    }
  });

  it('beyond the end is refused by name, and changes nothing', async () => {
    await using store = await openWith();
    fill(store, 10);
    for (const queue of queuesOf(store)) {
      queue.commit('g', 4);
      expect(() => queue.commit('g', 11)).toThrow(
        expect.objectContaining({ code: 'STORE_OFFSET_TOO_LARGE', offset: 11, limit: 10 }),
      );
      expect(queue.committed('g')).toBe(4);
    }
    const unknown = store.queue('none');
    expect(failureOf(() => unknown.commit('g', 1))).toBe('RangeError STORE_OFFSET_TOO_LARGE');
    unknown.commit('g', 0);
    expect([unknown.committed('g'), unknown.lag('g')]).toEqual([0, 0]);
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53, -1n, 2n ** 60n])('is never %s', async (offset) => {
    await using store = await openWith();
    fill(store, 1);
    expect(failureOf(() => store.queue('t').commit('g', offset))).toBe(
      'RangeError STORE_INVALID_ARGUMENT',
    );
    expect(existsSync(path.join(dir, 'offsets'))).toBe(false);
  });

  it('needs a group that RocketMQ would take', async () => {
    await using store = await openWith();
    fill(store, 1);
    const queue = store.queue('t');
    for (const group of ['', 'a b', 'a@b', 'ä', 'a/b', 'x'.repeat(256), 'a\n']) {
      expect(
        failureOf(() => queue.commit(group, 0)),
        group,
      ).toBe('RangeError STORE_INVALID_GROUP');
      expect(failureOf(() => queue.follow({ group }))).toBe('RangeError STORE_INVALID_GROUP');
      expect(queue.committed(group)).toBeUndefined();
    }
    expect(failureOf(() => queue.commit(1 as never, 0))).toBe('TypeError STORE_INVALID_ARGUMENT');
    for (const group of ['a', '%LMQ%g', 'CID_1-2|3', 'x'.repeat(255)]) {
      queue.commit(group, 1);
      expect(queue.committed(group)).toBe(1);
    }
  });

  it('is kept over closing and opening', async () => {
    const store = await openWith();
    fill(store, 10);
    for (const queue of queuesOf(store)) queue.commit('g', 6);
    await store.close();
    expect(failureOf(() => store.queue('t'))).toBe('StoreError STORE_CLOSED');
    await using again = await openWith();
    expect(queuesOf(again).map((queue) => queue.committed('g'))).toEqual([6, 6, 6]);
    expect(again.recovery.notes).toEqual([]);
  });

  it('cannot be committed in a closed store', async () => {
    const store = await openWith();
    fill(store, 1);
    const queue = store.queue('t');
    await store.close();
    expect(failureOf(() => queue.commit('g', 1))).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => queue.committed('g'))).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => store.groups())).toBe('StoreError STORE_CLOSED');
    expect(failureOf(() => store.consumerOffsets())).toBe('StoreError STORE_CLOSED');
  });

  it('may be one of very many, and takes one record when it is set again', async () => {
    await using store = await openWith();
    for (let i = 0; i < 2000; i++) store.append({ topic: 't', body: '', lmq: [`q${i}`] });
    for (let i = 0; i < 2000; i++) store.lmq(`q${i}`).commit('g', 1);
    const found = [];
    for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
      const page = store.consumerOffsets({ cursor, limit: 300 });
      found.push(...page.offsets);
      ({ cursor } = page);
    }
    expect(found.map(({ topic }) => topic).sort()).toEqual(
      Array.from({ length: 2000 }, (_, i) => `%LMQ%q${i}`).sort(),
    );
    expect(found[0]).toEqual({ group: 'g', topic: '%LMQ%q0', queueId: 0, offset: 1 });
    const size = readFileSync(logOf()).length;
    // 10000 resets: no growth.
    for (let i = 0; i < 10_000; i++) store.lmq('q0').commit('g', i % 2);
    expect(readFileSync(logOf()).length).toBe(size);
    expect(failureOf(() => store.consumerOffsets({ limit: 0 }))).toBe(
      'RangeError STORE_INVALID_ARGUMENT',
    );
    expect(failureOf(() => store.consumerOffsets({ cursor: 'x' }))).toBe(
      'RangeError STORE_INVALID_ARGUMENT',
    );
  });
});

describe('a follower of a group', () => {
  it('goes on where the group has committed', async () => {
    await using store = await openWith();
    fill(store, 40);
    for (const queue of queuesOf(store)) {
      for await (const batch of queue.follow({ from: 'committed', group: 'g', maxMessages: 10 })) {
        expect(texts(batch)).toHaveLength(10);
        if (batch.nextOffset === 30) break; // not committed
        batch.commit();
        expect(queue.committed('g')).toBe(batch.nextOffset);
      }
      const again = queue.follow({ from: 'committed', group: 'g', orElse: 'end' });
      expect(texts(await nextOf(again))[0]).toBe('20');
      await again.return();
    }
  });

  it('begins where orElse says, as long as the group has committed nothing', async () => {
    await using store = await openWith();
    fill(store, 5);
    const queue = store.queue('t');
    const first = queue.follow({ group: 'a' });
    expect(texts(await nextOf(first))).toHaveLength(5);
    const end = queue.follow({ group: 'b', from: 'committed', orElse: 'end' });
    const waiting = nextOf(end);
    store.append({ topic: 't', body: 'new' });
    const batch = await waiting;
    expect(texts(batch)).toEqual(['new']);
    batch.commit();
    expect(queue.committed('b')).toBe(6);
    expect(queue.committed('a')).toBeUndefined();
  });

  it('is the only one of its queue and group in this process', async () => {
    await using store = await openWith();
    fill(store, 5);
    await using reader = await readerOf();
    const [a, b] = queuesOf(store);
    const follower = a!.follow({ group: 'g' });
    for (const from of ['committed', 'first', 3, new Date()] as const) {
      expect(failureOf(() => a!.follow({ group: 'g', from }))).toBe('StoreError STORE_GROUP_BUSY');
    }
    expect(failureOf(() => reader.queue('t').follow({ group: 'g' }))).toBe(
      'StoreError STORE_GROUP_BUSY',
    );
    const others = [a!.follow({ group: 'h' }), b!.follow({ group: 'g' }), a!.follow()];
    await follower.return();
    const next = a!.follow({ group: 'g' });
    await follower.return(); // a second time: the next one keeps the queue
    expect(failureOf(() => a!.follow({ group: 'g' }))).toBe('StoreError STORE_GROUP_BUSY');
    for (const each of [next, ...others]) await each.return();
  });

  it('gives the queue back however it ends', async () => {
    const store = await openWith();
    fill(store, 5);
    const queue = store.queue('t');
    const follow = (options: object = {}) => queue.follow({ group: 'g', ...options });
    for await (const _ of follow()) break;
    await expect(follow().throw(new Error('mine'))).rejects.toThrow('mine');
    const aborted = new AbortController();
    const waiting = follow({ from: 'end', signal: aborted.signal });
    const rejected = expect(waiting.next()).rejects.toThrow('enough');
    aborted.abort(new Error('enough'));
    await rejected;
    expect(failureOf(() => follow({ from: 'nowhere' }))).toBe('RangeError STORE_INVALID_ARGUMENT');
    follow(); // never asked
    await store.close();
    await using again = await openWith();
    expect(texts(await nextOf(again.queue('t').follow({ group: 'g' })))).toHaveLength(5);
  });

  it('is asked for what makes sense', async () => {
    await using store = await openWith();
    fill(store, 1);
    const queue = store.queue('t');
    const failure = (options: object) => failureOf(() => queue.follow(options));
    expect(failure({ from: 'committed' })).toBe('TypeError STORE_INVALID_ARGUMENT');
    expect(failure({ group: 'g', orElse: 'middle' })).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(failure({ group: 'g', orElse: 1 })).toBe('TypeError STORE_INVALID_ARGUMENT');
    expect(failure({ group: 1 })).toBe('TypeError STORE_INVALID_ARGUMENT');
    const batch = await nextOf(queue.follow());
    expect(failureOf(() => batch.commit())).toBe('TypeError STORE_INVALID_ARGUMENT');
  });
});

describe('a reader', () => {
  it('sees what is committed, and commits nothing', async () => {
    const store = await openWith();
    fill(store, 5);
    await using reader = await readerOf();
    const queue = reader.queue('t');
    expect(queue.committed('g')).toBeUndefined();
    store.queue('t').commit('g', 2);
    expect(queue.committed('g')).toBe(2);
    expect(reader.groups()).toEqual(['g']);
    // Far beyond what one log holds: the writer has begun new ones.
    for (let i = 0; i < 100_000; i++) store.queue('t').commit('g', i % 5);
    expect(queue.committed('g')).toBe(4);
    expect(queue.lag('g')).toBe(1);
    expect(failureOf(() => queue.commit('g', 0))).toBe('StoreError STORE_READ_ONLY');
    const batch = await nextOf(queue.follow({ group: 'g' }));
    expect(texts(batch)).toEqual(['4']);
    expect(failureOf(() => batch.commit())).toBe('StoreError STORE_READ_ONLY');
    await store.close();
    expect(queue.committed('g')).toBe(4);
  });

  it('changes nothing', async () => {
    const store = await openWith();
    fill(store, 5);
    store.queue('t').commit('g', 2);
    await store.close();
    const before = treeOf(dir);
    const reader = await readerOf();
    expect(reader.queue('t').committed('g')).toBe(2);
    reader.consumerOffsets();
    await reader.close();
    expect(treeOf(dir)).toEqual(before);
  });
});

/** Commits one after the other in a queue and some light queues, and says each. */
async function commitAll({ lib, say }: Tools, options: MessageStoreOptions, count: number) {
  const store = await lib.MessageStore.open(options);
  const lmq = Array.from({ length: 50 }, (_, i) => `q${i}`);
  for (let i = 0; i < count; i++) store.append({ topic: 't', body: '', lmq });
  const queues = [store.queue('t'), ...lmq.map((name) => store.lmq(name))];
  say('ready');
  for (let i = 0; ; i++) {
    const queue = queues[i % queues.length]!;
    queue.commit('g', i % (count + 1));
    say([queue.topic, i % (count + 1)]);
  }
}

describe('after a kill', () => {
  it('every commit that returned is there', async () => {
    for (let round = 0; round < 5; round++) {
      const at = fresh();
      const child = start(commitAll, [{ path: at, ...quiet }, 20]);
      expect(await child.said()).toBe('ready');
      const committed = new Map<string, number>();
      const take = (said: unknown) => committed.set(...(said as [string, number]));
      for (let i = 0; i < 40 + 300 * round; i++) take(await child.said());
      child.process.kill('SIGKILL');
      const { signal, said } = await child.ended;
      expect(signal).toBe('SIGKILL');
      for (const one of said) take(one);
      await using store = await MessageStore.open({ path: at, ...quiet });
      expect(store.recovery.clean).toBe(false);
      expect(store.recovery.notes).toEqual([]);
      const different = [...committed].filter(
        ([topic, offset]) => store.queue(topic).committed('g') !== offset,
      );
      // The one whose answer did not get out in time.
      expect(different.length).toBeLessThanOrEqual(1);
    }
  });
});

describe('after an unclean end', () => {
  it('an offset beyond its queue is set back to the end, and reported', async () => {
    const store = await openWith();
    fill(store, 5);
    await store.flush();
    const short = abandon(dir, fresh());
    fill(store, 5);
    for (const queue of queuesOf(store)) queue.commit('g', 10);
    store.queue('t').commit('h', 5);
    await store.flush();
    // The log lost its end, the offsets did not.
    const offsets = readFileSync(logOf());
    await store.close();
    mkdirSync(path.join(short, 'offsets'));
    writeFileSync(logOf(short), offsets);
    const check = (opened: StoreReader) => {
      expect(queuesOf(opened).map((queue) => queue.committed('g'))).toEqual([5, 5, 5]);
      expect(opened.queue('t').committed('h')).toBe(5);
      expect(opened.recovery.notes).toHaveLength(3);
      expect(opened.recovery.notes[0]).toMatchObject({
        code: 'STORE_OFFSET_TOO_LARGE',
        offset: 10,
        message: 'Group g was at 10 of queue 0 of t, which ends at 5: set back to the end.',
      });
    };
    const before = treeOf(short);
    const reader = await readerOf(short);
    check(reader);
    await reader.close();
    expect(treeOf(short)).toEqual(before);
    const again = await MessageStore.open({ path: short, ...quiet });
    check(again);
    await again.close();
    await using last = await MessageStore.open({ path: short, ...quiet });
    expect(last.recovery.notes).toEqual([]);
    expect(last.queue('t', 1).committed('g')).toBe(5);
  });

  it('damage is reported, and what is behind it counts', async () => {
    const store = await openWith();
    fill(store, 5);
    for (const [i, queue] of queuesOf(store).entries()) queue.commit('g', i + 1);
    await store.close();
    // Two sources of 28 bytes, names of 32: this is in the first offset.
    const file = openSync(logOf(), 'r+');
    writeSync(file, 'x', 2 * 28 + 2 * 32 + 25);
    closeSync(file);
    const opened = await openWith();
    expect(opened.recovery.notes).toMatchObject([
      { code: 'STORE_CORRUPT_FILE', path: logOf(), offset: 2 * 28 + 2 * 32 },
    ]);
    expect(queuesOf(opened).map((queue) => queue.committed('g'))).toEqual([undefined, 2, 3]);
    await opened.close();
    await using again = await openWith();
    expect(again.recovery.notes).toEqual([]);
    expect(queuesOf(again).map((queue) => queue.committed('g'))).toEqual([undefined, 2, 3]);
  });

  it('a log of zeros or of anything else is no reason not to open', async () => {
    const store = await openWith();
    fill(store, 5);
    store.queue('t').commit('g', 1);
    await store.close();
    for (const content of [Buffer.alloc(512), Buffer.alloc(0), Buffer.alloc(70_000, 'offsets')]) {
      writeFileSync(logOf(), content);
      const opened = await openWith();
      expect(opened.queue('t').committed('g')).toBeUndefined();
      opened.queue('t').commit('g', 3);
      await opened.close();
      await using again = await openWith();
      expect(again.queue('t').committed('g')).toBe(3);
    }
    expect(readdirSync(path.join(dir, 'offsets'))).toEqual(['log']);
  });

  it('a log that cannot be read fails the open by name', async () => {
    await (await openWith()).close();
    mkdirSync(logOf(), { recursive: true });
    expect(await rejectionOf(openWith())).toBe('StoreError STORE_IO');
  });
});
