// Reading off the event loop: the same pages, several at once, beside appends and a close.
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type Queue, type ReadOptions, type ReadResult } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile } from './support/files.ts';
import { range } from './support/pages.ts';
import { run, type Tools } from './support/programs.ts';
import { failureOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

function fill(store: MessageStore, count: number, from = 0): void {
  for (let i = from; i < from + count; i++) {
    store.append({ topic: 't', body: `body ${i}`, tags: `tag${i % 3}`, lmq: ['x'] });
  }
}

/** All that a page says, bytes included. */
const shown = ({ messages, ...rest }: ReadResult) => ({
  ...rest,
  messages: messages.map((message) => [message.offset, message.toJSON()]),
});

async function expectSame(queue: Queue, offset: number | bigint, options?: ReadOptions) {
  expect(shown(await queue.readAsync(offset, options))).toEqual(shown(queue.read(offset, options)));
}
const queuesOf = (store: MessageStore) => [store.queue('t'), store.lmq('x')];

describe('a page that is read off the event loop', () => {
  it('is the one that read gives, whatever its status', async () => {
    await using store = await openWith();
    fill(store, 100);
    for (const queue of queuesOf(store)) {
      for (const offset of [-1, 0, 50, 99, 100, 101, 5n]) await expectSame(queue, offset);
      await expectSame(queue, 0, { maxMessages: 7 });
      await expectSame(queue, 0, { maxMessages: 0 });
      await expectSame(queue, 0, { maxBytes: 0 });
      await expectSame(queue, 3, { maxBytes: 1000 });
      await expectSame(queue, 0, { tags: 'tag1 || tag2' });
      await expectSame(queue, 0, { tags: 'none' });
    }
    await expectSame(store.queue('unknown'), 0);
    await expectSame(store.lmq('unknown'), 7);
    expect(store.topics()).toEqual(['t']);
  });

  it('holds messages of any size, and more than one buffer of them', async () => {
    const most = { maxTransferBytesOnMessageInMemory: 16 << 20, mappedFileSizeCommitLog: 32 << 20 };
    await using store = await openWith(most);
    for (const size of [0, 100, 3 << 20, 4 << 20, 1 << 20, 5]) {
      store.append({ topic: 't', body: Buffer.alloc(size, size & 255) });
    }
    const all = { maxBytes: 32 << 20 };
    const { messages } = await store.queue('t').readAsync(0, all);
    expect(messages.map(({ body }) => body.length)).toEqual([0, 100, 3 << 20, 4 << 20, 1 << 20, 5]);
    await expectSame(store.queue('t'), 0, all);
    await expectSame(store.queue('t'), 3);
  });

  it('names damaged records, and passes them', async () => {
    await using store = await openWith();
    fill(store, 5);
    const { physicalOffset } = store.queue('t').read(2).messages[0]!;
    flipBit(logFile(dir), physicalOffset + 89);
    for (const queue of queuesOf(store)) {
      const page = await queue.readAsync(0);
      expect(page.damaged).toEqual([{ offset: 2, physicalOffset }]);
      expect(page.messages.map(({ offset }) => offset)).toEqual([0, 1, 3, 4]);
      await expectSame(queue, 0);
      await expectSame(queue, 0, { verify: false });
    }
  });

  it('has memory of its own, which stays as it was', async () => {
    await using store = await openWith();
    fill(store, 2);
    const first = (await store.queue('t').readAsync(0)).messages[0]!;
    structuredClone(first.body, { transfer: [first.body.buffer as ArrayBuffer] });
    fill(store, 1000, 2);
    const again = (await store.queue('t').readAsync(0)).messages[0]!;
    expect(again.text()).toBe('body 0');
  });

  it('of a reader shows what the writer has added', async () => {
    await using store = await openWith();
    await using reader = await MessageStore.openReader(dir);
    expect((await reader.lmq('x').readAsync(0)).status).toBe('NO_MESSAGE_IN_QUEUE');
    fill(store, 40);
    const { messages } = await reader.lmq('x').readAsync(32);
    expect(messages.map(({ offset }) => offset)).toEqual(range(32, 40));
  });

  it('with SYNC_FLUSH has what is on disk only', async () => {
    await using store = await openWith({ flushDiskType: 'SYNC_FLUSH' });
    await store.put({ topic: 't', body: 'safe' });
    store.append({ topic: 't', body: 'fast' });
    expect((await store.queue('t').readAsync(0)).messages.map((one) => one.text())).toEqual([
      'safe',
    ]);
  });
});

describe('several at once', () => {
  it('beside appends each give whole pages in order', async () => {
    await using store = await openWith({ mappedFileSizeConsumeQueue: 200 });
    fill(store, 500);
    const ends: number[] = [];
    const walk = async (queue: Queue) => {
      let at = 0;
      while (at < 3000) {
        const { messages, nextOffset } = await queue.readAsync(at, { maxMessages: 10 });
        for (const [i, message] of messages.entries()) {
          expect([message.offset, message.text()]).toEqual([at + i, `body ${at + i}`]);
        }
        at = nextOffset;
        if (queue.maxOffset < 3000) fill(store, 5, queue.maxOffset);
      }
      ends.push(at);
    };
    await Promise.all([...queuesOf(store), ...queuesOf(store)].map(walk));
    expect(ends).toEqual([3000, 3000, 3000, 3000]);
  });

  it('end before the store closes, and none begins afterwards', async () => {
    const store = await openWith();
    fill(store, 32);
    const pending = Array.from({ length: 50 }, (_, i) => store.lmq('x').readAsync(i % 32));
    const closing = store.close();
    const queue = pending.map(async (page, i) =>
      expect((await page).messages[0]!.text()).toBe(`body ${i % 32}`),
    );
    await Promise.all(queue);
    await closing;
  });

  it('do not keep a closed store readable', async () => {
    const store = await openWith();
    fill(store, 3);
    const queue = store.queue('t');
    await store.close();
    expect(await rejectionOf(queue.readAsync(0))).toBe('StoreError STORE_CLOSED');
  });
});

describe('a process', () => {
  it('does not end before a read that it waits for', async () => {
    const program = async ({ lib, say }: Tools, where: string) => {
      const store = await lib.MessageStore.open(where);
      store.append({ topic: 't', body: 'there' });
      const { messages } = await store.queue('t').readAsync(0);
      say([messages[0]!.text(), await store.queue('t').offsetAt(0)]);
    };
    expect((await run(program, [dir])).said).toEqual([['there', 0]]);
  });
});

describe('an SQL92 subscription', () => {
  it('is refused by name wherever a queue is read', async () => {
    await using store = await openWith();
    fill(store, 3);
    const options = { tags: 'a > 5', expressionType: 'SQL92' } as const;
    const refusal = 'StoreError STORE_UNSUPPORTED';
    for (const queue of queuesOf(store)) {
      expect(failureOf(() => queue.read(0, options))).toBe(refusal);
      expect(await rejectionOf(queue.readAsync(0, options))).toBe(refusal);
      expect(failureOf(() => queue.follow(options))).toBe(refusal);
    }
  });
});

describe('a mistake in an argument', () => {
  it.each<[string, unknown, object, string]>([
    ['half an offset', 0.5, {}, 'RangeError'],
    ['a text', '0', {}, 'TypeError'],
    ['a negative count', 0, { maxMessages: -1 }, 'RangeError'],
    ['tags of none', 0, { tags: '||' }, 'RangeError'],
  ])('rejects: %s', async (_, offset, options, kind) => {
    await using store = await openWith();
    expect(await rejectionOf(store.queue('t').readAsync(offset as number, options))).toBe(
      `${kind} STORE_INVALID_ARGUMENT`,
    );
  });
});
