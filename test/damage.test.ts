// Reading where records are damaged or gone: what is left is read, and nothing else is shown.
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile, overwrite, queueFile } from './support/files.ts';
import { found, none, page, range } from './support/pages.ts';
import { messagesOf, quiet, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

/** Messages '0', '1' … in queue 0 of topic t and in light queue x. */
function fill(store: MessageStore, count: number): void {
  for (let i = 0; i < count; i++) {
    store.append({ topic: 't', body: String(i), lmq: ['x'] });
  }
}

describe('a damaged record', () => {
  it('is passed and named, the others come', async () => {
    await using store = await openWith();
    fill(store, 6);
    const [, , third] = messagesOf(store.queue('t'));
    flipBit(logFile(dir), third!.physicalOffset + 88);
    expect(page(store, 0)).toEqual({ ...found(0, 6), offsets: [0, 1, 3, 4, 5] });
    expect(store.lmq('x').read(0).damaged).toEqual([
      { offset: 2, physicalOffset: third!.physicalOffset },
    ]);
    expect(page(store, 2, { maxMessages: 1 })).toEqual({ ...found(3, 4), nextOffset: 4 });
    expect(store.getAt(third!.physicalOffset)).toBeUndefined();
    expect(store.queue('t').read(3)).not.toHaveProperty('damaged');
  });

  it('is delivered where nobody verifies, by option or by call', async () => {
    {
      await using store = await openWith({ verify: false });
      fill(store, 2);
      flipBit(logFile(dir), 88);
      expect(page(store, 0)).toEqual(found(0, 2));
      expect(store.getAt(0)!.text()).toBe('1');
      expect(store.queue('t').read(0, { verify: true }).damaged).toHaveLength(1);
    }
    await using store = await openWith();
    expect(page(store, 0, { verify: false })).toEqual(found(0, 2));
    expect(page(store, 0).offsets).toEqual([1]);
  });

  it('alone in a page leaves the page without messages, and the next offset behind it', async () => {
    await using store = await openWith();
    fill(store, 1);
    flipBit(logFile(dir), 88);
    expect(page(store, 0)).toEqual(none('MESSAGE_WAS_REMOVING', 1));
  });

  it('whose very length is nonsense is passed, verified or not', async () => {
    await using store = await openWith();
    fill(store, 3);
    const { physicalOffset } = store.queue('t').read(1).messages[0]!;
    for (const length of ['00000000', '7fffffff', '80000000', '00000001', 'ffffffff']) {
      overwrite(logFile(dir), physicalOffset, Buffer.from(length, 'hex'));
      for (const verify of [true, false]) {
        expect(page(store, 0, { verify })).toEqual({ ...found(0, 3), offsets: [0, 2] });
        expect(store.getAt(physicalOffset)).toBeUndefined();
      }
    }
  });
});

describe('what has left the log', () => {
  it('has left the queues: their bounds meet, and the old offsets are too small', async () => {
    const options = { mappedFileSizeCommitLog: 1024 };
    {
      await using store = await openWith(options);
      for (const topic of ['first', 'second', 'third']) {
        for (let i = 0; i < 8; i++) store.append({ topic, body: 'b'.repeat(200), lmq: [topic] });
      }
    }
    for (const base of [0, 1024, 2048, 3072, 4096]) rmSync(logFile(dir, base));
    await using store = await openWith(options);
    for (const queue of [store.queue('first'), store.lmq('first')]) {
      expect([queue.minOffset, queue.maxOffset]).toEqual([8, 8]);
      expect(queue.read(0)).toMatchObject({ status: 'OFFSET_TOO_SMALL', nextOffset: 8 });
      expect(queue.read(8).status).toBe('OFFSET_OVERFLOW_ONE');
    }
    const second = store.lmq('second');
    expect([second.minOffset, store.queue('second').minOffset]).toEqual([2, 2]);
    expect(messagesOf(second).map((one) => one.offset)).toEqual(range(2, 8));
    expect(messagesOf(store.queue('third'))).toHaveLength(8);
    expect(store.append({ topic: 'first', body: '', lmq: ['first'] })).toMatchObject({
      queueOffset: 8,
      lmqOffsets: [8],
    });
    expect(messagesOf(store.lmq('first')).map((one) => one.offset)).toEqual([8]);
  });

  it('may be all that queues had: what comes next is readable', async () => {
    const options = { mappedFileSizeCommitLog: 1024 };
    {
      await using store = await openWith(options);
      for (let i = 0; i < 8; i++) {
        store.append({ topic: 't', body: 'b'.repeat(200), lmq: ['x'] });
      }
    }
    // The first files have expired, the first record of those that are left is broken.
    for (const base of [0, 1024]) rmSync(logFile(dir, base));
    flipBit(logFile(dir, 2048), 90);
    writeFileSync(path.join(dir, 'abort'), '1');
    rmSync(path.join(dir, 'lmq', 'checkpoint'));
    await using store = await openWith({ ...options, repair: 'truncate' });
    expect(store.recovery).toMatchObject({ logMin: 2048, logEnd: 2048 });
    const { queueOffset, lmqOffsets } = store.append({ topic: 't', body: 'new', lmq: ['x'] });
    for (const [queue, next] of [
      [store.queue('t'), queueOffset],
      [store.lmq('x'), lmqOffsets[0]],
    ] as const) {
      expect([queue.minOffset, queue.maxOffset]).toEqual([next, next! + 1]);
      expect(textsOf(queue)).toEqual(['new']);
    }
  });

  it('may have left blank entries, which are below the minimum', async () => {
    {
      await using store = await openWith();
      fill(store, 4);
    }
    const blank = Buffer.from('00000000000000007fffffff0000000000000000', 'hex');
    for (const i of [0, 1, 2]) overwrite(queueFile(dir, 't'), 20 * i, blank);
    await using store = await openWith();
    const queue = store.queue('t');
    expect([queue.minOffset, queue.maxOffset]).toEqual([3, 4]);
    expect(queue.read(0)).toMatchObject({ status: 'OFFSET_TOO_SMALL', nextOffset: 3 });
    expect(textsOf(queue)).toEqual(['3']);
  });
});
