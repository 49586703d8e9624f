// Reading: what a page holds, why it holds no more, and where to go on.
import { rmSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type ReadOptions } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { found, none, page, range } from './support/pages.ts';
import { failureOf, messagesOf, quiet, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

/** Messages '0', '1' … in queue 0 of topic t and in light queue x. */
function fill(store: MessageStore, count: number, tags: (i: number) => string = () => 'tag'): void {
  for (let i = 0; i < count; i++) {
    store.append({ topic: 't', body: String(i), tags: tags(i), lmq: ['x'] });
  }
}

describe('a page', () => {
  it('has the status and the next offset that RocketMQ gives', async () => {
    await using store = await openWith();
    fill(store, 40);
    expect(page(store, 0)).toEqual(found(0, 32));
    expect(page(store, 32)).toEqual(found(32, 40));
    expect(page(store, 39n)).toEqual(found(39, 40));
    expect(page(store, 40)).toEqual(none('OFFSET_OVERFLOW_ONE', 40));
    expect(page(store, 41)).toEqual(none('OFFSET_OVERFLOW_BADLY', 40));
    expect(page(store, 2 ** 53 - 1)).toEqual(none('OFFSET_OVERFLOW_BADLY', 40));
    expect(page(store, -1)).toEqual(none('OFFSET_TOO_SMALL', 0));
    expect(store.queue('t').read(0)).toMatchObject({ minOffset: 0, maxOffset: 40 });
  });

  it('of a queue that nobody knows is empty, and asking makes no queue', async () => {
    await using store = await openWith();
    fill(store, 1);
    for (const queue of [store.queue('t', 1), store.queue('unknown'), store.lmq('unknown')]) {
      for (const offset of [0, -1, 7]) {
        expect(queue.read(offset)).toEqual({
          status: 'NO_MESSAGE_IN_QUEUE',
          messages: [],
          nextOffset: 0,
          minOffset: 0,
          maxOffset: 0,
        });
      }
      expect([queue.minOffset, queue.maxOffset]).toEqual([0, 0]);
    }
    expect([store.topics(), store.queues().length, store.lmqs().names]).toEqual([
      ['t'],
      1,
      ['%LMQ%x'],
    ]);
  });

  it('of a queue that was looked up before its first message shows that message', async () => {
    await using store = await openWith();
    const queues = [store.queue('t'), store.lmq('x')];
    for (const queue of queues) expect(queue.read(0).status).toBe('NO_MESSAGE_IN_QUEUE');
    fill(store, 1);
    for (const queue of queues) expect(textsOf(queue)).toEqual(['0']);
  });

  it('is as long as asked, and 32 messages at most', async () => {
    await using store = await openWith();
    fill(store, 40);
    expect(page(store, 0, { maxMessages: 5 })).toEqual(found(0, 5));
    expect(page(store, 0, { maxMessages: 100 })).toEqual(found(0, 32));
    expect(page(store, 0, { maxMessages: 1 })).toEqual(found(0, 1));
  });

  it('has the first message whatever the limits say', async () => {
    await using store = await openWith();
    fill(store, 3);
    for (const options of [{ maxMessages: 0 }, { maxBytes: 0 }, { maxBytes: 1 }]) {
      expect(page(store, 1, options)).toEqual(found(1, 2));
    }
  });

  it('has as many bytes as asked, and 256 KiB at most', async () => {
    await using store = await openWith({ mappedFileSizeCommitLog: 8 << 20 });
    for (let i = 0; i < 9; i++)
      store.append({ topic: 't', body: Buffer.alloc(60_000), lmq: ['x'] });
    expect(page(store, 0, { maxBytes: 130_000 })).toEqual(found(0, 2));
    expect(page(store, 0)).toEqual(found(0, 4));
    expect(page(store, 0, { maxBytes: 2 ** 31 - 1 })).toEqual(found(0, 4));
    store.append({ topic: 't', body: Buffer.alloc(4_194_304, 1), lmq: ['x'] });
    expect(page(store, 9)).toEqual(found(9, 10));
    expect(store.queue('t').read(9).messages[0]!.body.equals(Buffer.alloc(4_194_304, 1))).toBe(
      true,
    );
  });

  it('has the limits that the store was opened with', async () => {
    await using store = await openWith({
      maxTransferCountOnMessageInMemory: 100,
      maxTransferCountOnMessageInDisk: 100,
    });
    fill(store, 150);
    expect(page(store, 0, { maxMessages: 90 })).toEqual(found(0, 90));
    expect(page(store, 0, { maxMessages: 1000 })).toEqual(found(0, 100));
  });

  it('ends at the border of a queue’s file, and goes on behind it', async () => {
    {
      await using store = await openWith({ mappedFileSizeConsumeQueue: 200 });
      fill(store, 10);
      await store.flush();
      expect(page(store, 9)).toEqual(found(9, 10));
      fill(store, 11);
      expect(page(store, 5)).toEqual(found(5, 10));
      expect(page(store, 10)).toEqual(found(10, 20));
      expect(page(store, 20)).toEqual(found(20, 21));
    }
    await using store = await openWith({ mappedFileSizeConsumeQueue: 200 });
    expect(messagesOf(store.queue('t')).map((one) => one.offset)).toEqual(range(0, 21));
  });
});

describe('tags', () => {
  it('select exactly, also where two have the same hash', async () => {
    await using store = await openWith();
    fill(store, 50, (i) => (i % 2 === 0 ? 'Aa' : 'BB'));
    for (const [tags, first] of [
      ['Aa', 0],
      ['BB', 1],
    ] as const) {
      for (let at = 0; at < 50; ) {
        const { status, offsets, nextOffset } = page(store, at, { tags, maxMessages: 10 });
        expect(status).toBe('FOUND');
        expect(offsets).toEqual(
          range(0, 50).filter((i) => i >= at && i < nextOffset && i % 2 === first),
        );
        expect(offsets.length).toBeLessThanOrEqual(10);
        expect(nextOffset).toBeGreaterThan(at);
        at = nextOffset;
      }
    }
    expect(page(store, 0, { tags: 'CC', maxMessages: 10 })).toEqual(none('NO_MATCHED_MESSAGE', 50));
  });

  it('may be several, or all', async () => {
    await using store = await openWith();
    fill(store, 9, (i) => 'abc'[i % 3]!);
    expect(page(store, 0, { tags: 'a || c' }).offsets).toEqual([0, 2, 3, 5, 6, 8]);
    expect(page(store, 0, { tags: '*' })).toEqual(found(0, 9));
    store.append({ topic: 't', body: 'without', lmq: ['x'] });
    expect(page(store, 0, { tags: 'a||b||c' }).offsets).toEqual(range(0, 9));
  });

  it('that match nothing move on by what one read looks at', async () => {
    await using store = await openWith({ maxFilterMessageSize: 100 });
    fill(store, 40);
    expect(page(store, 0, { tags: 'none', maxMessages: 1 })).toEqual(none('NO_MATCHED_MESSAGE', 5));
    expect(page(store, 38, { tags: 'none', maxMessages: 1 })).toEqual(
      none('NO_MATCHED_MESSAGE', 40),
    );
  });
});

describe('what is asked', () => {
  it.each<[string, number | bigint, ReadOptions, string]>([
    ['half an offset', 0.5, {}, 'RangeError'],
    ['no number', Number.NaN, {}, 'RangeError'],
    ['a text', '0' as never, {}, 'TypeError'],
    ['an offset past 2^53', 2n ** 53n, {}, 'RangeError'],
    ['a negative count', 0, { maxMessages: -1 }, 'RangeError'],
    ['half a byte', 0, { maxBytes: 0.5 }, 'RangeError'],
    ['tags of none', 0, { tags: '||' }, 'RangeError'],
    ['tags that are no text', 0, { tags: 1 as never }, 'TypeError'],
    ['a word for verify', 0, { verify: 'yes' as never }, 'TypeError'],
  ])('must make sense: %s does not', async (_, offset, options, kind) => {
    await using store = await openWith();
    fill(store, 1);
    const failure = `${kind} STORE_INVALID_ARGUMENT`;
    for (const queue of [store.queue('t'), store.queue('unknown')]) {
      expect(failureOf(() => queue.read(offset, options))).toBe(failure);
    }
  });

  it('is answered by an open store only', async () => {
    const store = await openWith();
    fill(store, 1);
    const queue = store.queue('t');
    const calls = [
      () => queue.read(0),
      () => queue.maxOffset,
      () => queue.minOffset,
      () => queue.follow(),
      () => store.queue('t'),
      () => store.lmq('x'),
      () => store.topics(),
      () => store.queues(),
      () => store.lmqs(),
      () => store.getAt(0),
      () => store.getById('7F00000100002A9F0000000000000000'),
      () => store.verify(),
    ];
    const message = queue.read(0).messages[0]!;
    await store.close();
    for (const call of calls) expect(failureOf(call)).toBe('StoreError STORE_CLOSED');
    expect(message.text()).toBe('0');
  });

  it('by place or id is a whole record of this store, or nothing', async () => {
    await using store = await openWith();
    fill(store, 3);
    const [, second] = messagesOf(store.queue('t'));
    expect(store.getAt(BigInt(second!.physicalOffset))!.text()).toBe('1');
    expect(store.getById(second!.msgId.toLowerCase())!.text()).toBe('1');
    for (const at of [1, second!.physicalOffset - 1, second!.size * 3, 1 << 20, 2 ** 53 - 1]) {
      expect(store.getAt(at)).toBeUndefined();
    }
    const id = second!.msgId;
    for (const other of ['', 'x', id.slice(1), `${id}0`, id.replace('7F', '7E'), 'Z'.repeat(32)]) {
      expect(store.getById(other)).toBeUndefined();
    }
    expect(failureOf(() => store.getAt(-1))).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(failureOf(() => store.getById(1 as never))).toBe('TypeError STORE_INVALID_ARGUMENT');
  });
});

describe('queues', () => {
  it('are listed with their bounds, of all topics or one', async () => {
    await using store = await openWith();
    for (const [topic, queueId] of [
      ['b', 2],
      ['a', 0],
      ['b', 0],
      ['b', 2],
    ] as const) {
      store.append({ topic, queueId, body: '' });
    }
    const of = (topic: string, queueId: number, maxOffset: number) => ({
      topic,
      queueId,
      minOffset: 0,
      maxOffset,
    });
    expect(store.queues('b')).toHaveLength(2);
    expect(store.queues('b')).toEqual(expect.arrayContaining([of('b', 2, 2), of('b', 0, 1)]));
    expect(store.queues()).toHaveLength(3);
    expect(store.queues()).toContainEqual(of('a', 0, 1));
    expect(store.queues('c')).toEqual([]);
    expect(store.topics().sort()).toEqual(['a', 'b']);
    expect(failureOf(() => store.queues(1 as never))).toBe('TypeError STORE_INVALID_ARGUMENT');
  });
});

describe('what was read', () => {
  it('stays as it was, whatever is read and written later', async () => {
    const store = await openWith({ mappedFileSizeCommitLog: 8 << 20 });
    fill(store, 1000);
    const { messages } = store.queue('t').read(0, { maxMessages: 2 });
    const kept = [messages[0]!.body, messages[1]!.detach().body];
    for (let i = 0; i < 1000; i++) store.queue('t').read(i);
    fill(store, 1000, () => 'other');
    await store.close();
    rmSync(dir, { recursive: true });
    expect(kept.map(String)).toEqual(['0', '1']);
    expect(messages[1]).toMatchObject({ tags: 'tag', topic: 't', offset: 1 });
  });

  it.each([1, 100_000])('of %i bytes has memory that no other result shares', async (size) => {
    await using store = await openWith({ mappedFileSizeCommitLog: 8 << 20 });
    for (const letter of ['a', 'b']) store.append({ topic: 't', body: letter.repeat(size) });
    const [one, other] = [0, 0].map(() => store.queue('t').read(0).messages);
    // A small one may lie in memory that Node shares out and keeps.
    structuredClone(one![0]!.body.buffer, { transfer: [one![0]!.body.buffer as ArrayBuffer] });
    if (size > 4096) expect(one![0]!.body).toHaveLength(0);
    other![1]!.body.fill('y');
    setFlagsFromString('--expose-gc');
    for (let i = 0; i < 100; i++) runInNewContext('gc')();
    expect(other!.map((message) => message.text()[0])).toEqual(['a', 'y']);
    expect(textsOf(store.queue('t'))).toEqual(['a'.repeat(size), 'b'.repeat(size)]);
  });

  it('is text, JSON or an error of JSON', async () => {
    await using store = await openWith();
    store.append({ topic: 't', body: '{"a":[1]}' });
    store.append({ topic: 't', body: 'é{' });
    const [good, bad] = messagesOf(store.queue('t'));
    expect(good!.json()).toEqual({ a: [1] });
    expect(bad!.text()).toBe('é{');
    expect(() => bad!.json()).toThrow(SyntaxError);
    expect(JSON.parse(JSON.stringify(good))).toMatchObject({
      body: Buffer.from('{"a":[1]}').toString('base64'),
      topic: 't',
    });
  });
});

describe('with SYNC_FLUSH', () => {
  it('readers see what is on disk, and nothing else', async () => {
    await using store = await openWith({ flushDiskType: 'SYNC_FLUSH' });
    fill(store, 2);
    expect(page(store, 0)).toEqual(none('OFFSET_OVERFLOW_ONE', 0));
    await store.flush();
    fill(store, 1);
    expect(page(store, 0)).toEqual(found(0, 2));
    expect(page(store, 2)).toEqual(none('OFFSET_OVERFLOW_ONE', 2));
    await store.put({ topic: 't', body: '', lmq: ['x'] });
    expect(page(store, 2)).toEqual(found(2, 4));
  });
});
