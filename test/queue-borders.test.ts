// Consume queues at the borders of their files, and cut away whole.
import { statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile, queueFile } from './support/files.ts';
import { abandon, messagesOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
const options = (path: string, units: number) => ({
  path,
  ...quiet,
  mappedFileSizeConsumeQueue: units * 20,
});

/** Directories of so many messages, closed and killed. */
async function made(count: number, units: number): Promise<string[]> {
  const path = fresh();
  const store = await MessageStore.open(options(path, units));
  for (let i = 0; i < count; i++) store.append({ topic: 't', body: String(i), lmq: ['x'] });
  const killed = abandon(path, fresh('killed'));
  await store.close();
  return [path, killed];
}

describe('the end of a queue', () => {
  it('is at the border of a file where the next one is empty or holds a part of a unit (BR-053)', async () => {
    const zeros = Buffer.alloc(6000);
    const stray = Buffer.concat([Buffer.from([1, 2, 3, 4, 5, 6, 7]), zeros.subarray(7)]);
    for (const [content, name] of [
      [zeros, 'zeros'],
      [stray, 'stray'],
      [Buffer.alloc(0), 'none'],
    ] as const) {
      for (const dir of await made(300, 300)) {
        writeFileSync(queueFile(dir, 't', 0, 6000), content);
        {
          await using reader = await MessageStore.openReader(dir);
          expect([name, reader.queue('t').maxOffset]).toEqual([name, 300]);
          expect(reader.queue('t').read(299).messages[0]!.text()).toBe('299');
        }
        await using store = await MessageStore.open(options(dir, 300));
        expect(store.queue('t').maxOffset).toBe(300);
        expect(store.append({ topic: 't', body: '300' }).queueOffset).toBe(300);
        expect(messagesOf(store.queue('t')).map((one) => one.text())).toEqual(
          Array.from({ length: 301 }, (_, i) => String(i)),
        );
      }
    }
  });

  it('is legal there in flush, read, close and reopen (BR-057)', async () => {
    for (const count of [100, 200]) {
      const path = fresh();
      {
        await using store = await MessageStore.open(options(path, 100));
        for (let i = 0; i < count; i++) store.append({ topic: 't', body: String(i) });
        await store.flush();
        expect(store.queue('t').read(count).status).toBe('OFFSET_OVERFLOW_ONE');
        await store.flush();
      }
      await using store = await MessageStore.open(options(path, 100));
      expect(store.recovery).toMatchObject({ clean: true, dispatchedRecords: 0, notes: [] });
      const { messages, nextOffset } = store.queue('t').read(count - 1);
      expect([messages[0]!.text(), nextOffset]).toEqual([String(count - 1), count]);
      expect((await store.put({ topic: 't', body: 'next' })).queueOffset).toBe(count);
      expect(store.queue('t').read(count).messages[0]!.text()).toBe('next');
      expect(statSync(queueFile(path, 't', 0, count * 20)).size).toBe(2000);
      await using reader = await MessageStore.openReader(path);
      expect(reader.queue('t').maxOffset).toBe(count + 1);
    }
  });
});

describe('a queue that is cut away whole', () => {
  it('has its minimum at its end, and goes on there (BR-054)', async () => {
    const path = fresh();
    const dir = fresh('killed');
    const small = { ...options(path, 100), mappedFileSizeCommitLog: 16384 };
    let cut = 0;
    let base = 0;
    {
      await using store = await MessageStore.open(small);
      for (let i = 0; i < 100; i++) store.append({ topic: 't', body: `${i}`, lmq: ['x'] });
      for (let at = 0; at < 40_000; ) {
        at = store.append({ topic: 'other', body: Buffer.alloc(900) }).physicalOffset;
      }
      await store.deleteBefore(40_000);
      base = store.getAt(0)!.physicalOffset;
      cut = store.append({ topic: 't', body: '100', lmq: ['x'] }).physicalOffset;
      for (let i = 101; i < 150; i++) store.append({ topic: 't', body: `${i}`, lmq: ['x'] });
      for (const queue of [store.queue('t'), store.lmq('x')]) {
        expect(queue).toMatchObject({ minOffset: 100, maxOffset: 150 });
      }
      abandon(path, dir);
    }
    const file = cut - (cut % 16384);
    expect([base > 0, cut < 49_152]).toEqual([true, true]);
    flipBit(logFile(dir, file), cut - file + 89);
    await using store = await MessageStore.open({ ...small, path: dir });
    expect(store.recovery.cut?.from).toBe(cut);
    for (const queue of [store.queue('t'), store.lmq('x')]) {
      const { minOffset, maxOffset } = queue;
      expect([minOffset, maxOffset]).toEqual([100, 100]);
      expect(queue.read(0)).toMatchObject({ status: 'OFFSET_TOO_SMALL', nextOffset: 100 });
    }
    expect(store.append({ topic: 't', body: 'next', lmq: ['x'] })).toMatchObject({
      queueOffset: 100,
      lmqOffsets: [100],
    });
    expect(messagesOf(store.lmq('x')).map((one) => one.text())).toEqual(['next']);
    expect(messagesOf(store.queue('t')).map((one) => one.text())).toEqual(['next']);
  });
});
