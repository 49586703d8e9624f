// What retention leaves: bounds that fit at every kind of reopen, and for readers that open while
// files go. BR-049, BR-054, BR-055.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MessageStore, type StoreReader } from '../lib/index.ts';
import { flipBit, freshDirectories } from './support/files.ts';
import { run, start } from './support/programs.ts';
import { abandon, lightQueuesOf, messagesOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
const sizes = { ...quiet, mappedFileSizeCommitLog: 8192, mappedFileSizeConsumeQueue: 400 };
const COUNT = 300;

/** Bounds of every queue, and where its messages are. */
function queuesOf(store: StoreReader): Record<string, { bounds: number[]; found: number[][] }> {
  const topics = [0, 1, 2].map((id) => store.queue('t', id));
  const lights = lightQueuesOf(store).map((name) => store.lmq(name));
  return Object.fromEntries(
    [...topics, ...lights].map((queue) => {
      const bounds = [queue.minOffset, queue.maxOffset];
      const found = messagesOf(queue).map((one) => [one.offset, one.physicalOffset]);
      return [`${queue.topic}:${queue.queueId}`, { bounds, found }];
    }),
  );
}

/** A killed process's directory of which files have expired: some light queues in part, some whole. */
async function expired(): Promise<string> {
  const dir = fresh('expired');
  const { signal } = await run(
    async ({ lib }, options: object, count: number) => {
      const store = await lib.MessageStore.open(options as { path: string });
      for (let i = 0; i < count; i++) {
        const lmq = ['all', `mod ${i % 7}`, `tens ${Math.floor(i / 10)}`];
        store.append({ topic: 't', queueId: i % 3, body: String(i).padEnd(100), lmq });
      }
      await store.deleteBefore(3 * 8192);
      process.kill(process.pid, 'SIGKILL');
    },
    [{ path: dir, ...sizes }, COUNT],
  );
  expect(signal).toBe('SIGKILL');
  return dir;
}

const ways: [string, (dir: string) => unknown][] = [
  ['killed', () => {}],
  ['closed', async (dir) => (await MessageStore.open({ path: dir, ...sizes })).close()],
  ['killed without an index', (dir) => rmSync(path.join(dir, 'lmq'), { recursive: true })],
  ['killed with a damaged table', (dir) => flipBit(path.join(dir, 'lmq/table'), 20)],
  [
    'closed without an index',
    async (dir) => {
      await (await MessageStore.open({ path: dir, ...sizes })).close();
      rmSync(path.join(dir, 'lmq'), { recursive: true });
    },
  ],
  ['rebuilt', (dir) => MessageStore.rebuild(dir)],
  ['rebuilt with its consume queues', (dir) => MessageStore.rebuild(dir, { consumeQueues: true })],
];

describe('minimum offsets after retention', () => {
  it('are where the messages begin, and the same however the store is opened again', async () => {
    const dir = await expired();
    let before: ReturnType<typeof queuesOf>;
    {
      await using reader = await MessageStore.openReader(dir);
      before = queuesOf(reader);
      const logMin = reader.getAt(0)!.physicalOffset;
      expect(logMin).toBeGreaterThan(0);
      for (const { bounds, found } of Object.values(before)) {
        const [min, max] = bounds as [number, number];
        expect(min).toBeLessThanOrEqual(max);
        expect(found.map(([offset]) => offset)).toEqual(
          Array.from({ length: max - min }, (_, i) => min + i),
        );
        for (const [, at] of found) expect(at).toBeGreaterThanOrEqual(logMin);
      }
    }
    expect(before['%LMQ%tens 0:0']).toEqual({ bounds: [10, 10], found: [] });
    const [min = 0, max] = before['%LMQ%all:0']!.bounds;
    expect([min > 0, max]).toEqual([true, COUNT]);
    for (const [how, reopen] of ways) {
      const copy = abandon(dir, fresh('copy'));
      await reopen(copy);
      {
        await using reader = await MessageStore.openReader(copy);
        expect([how, queuesOf(reader)]).toEqual([how, before]);
      }
      await using store = await MessageStore.open({ path: copy, ...sizes });
      expect([how, queuesOf(store)]).toEqual([how, before]);
      const { queueOffset, lmqOffsets } = store.append({
        topic: 't',
        body: 'next',
        lmq: ['tens 0', 'all'],
      });
      expect([queueOffset, lmqOffsets]).toEqual([COUNT / 3, [10, COUNT]]);
      expect(messagesOf(store.lmq('tens 0')).map((one) => one.offset)).toEqual([10]);
    }
  });

  it('are their queues’ ends once nothing is left of them, and reads say so', async () => {
    const dir = await expired();
    await using store = await MessageStore.open({ path: dir, ...sizes });
    const gone = store.lmq('tens 0');
    expect([gone.earliestTime, gone.latestTime]).toEqual([undefined, undefined]);
    expect(gone.read(0)).toMatchObject({ status: 'OFFSET_TOO_SMALL', nextOffset: 10 });
    expect(gone.read(10).status).toBe('OFFSET_OVERFLOW_ONE');
    expect([await gone.offsetAt(0), await gone.offsetAt(Date.now() + 1)]).toEqual([10, 10]);
    expect(gone.lag('nobody')).toBe(0);
    await store.deleteBefore(store.getAt(0)!.physicalOffset + 1e9); // all but the last file
    for (const { bounds, found } of Object.values(queuesOf(store))) {
      expect(bounds[1]! - bounds[0]!).toBe(found.length);
    }
  });
});

describe('a reader that opens while files expire', () => {
  it('shows every queue, with bounds and a first message that fit, each time', async () => {
    const dir = fresh('racing');
    const child = start(
      async ({ lib, say }, options: object) => {
        const store = await lib.MessageStore.open(options as { path: string });
        for (let i = 0; ; ) {
          for (const end = i + 40; i < end; i++) {
            const lmq = ['all', `mod ${i % 7}`];
            store.append({ topic: 't', queueId: i % 3, body: String(i).padEnd(100), lmq });
          }
          if (i === 120) say('begun');
          if (i >= 120) await store.deleteBefore(store.getAt(0)!.physicalOffset + 8192);
        }
      },
      [{ path: dir, ...sizes }],
    );
    await child.said();
    const names = ['all', ...Array.from({ length: 7 }, (_, i) => `mod ${i}`)];
    const passing = ['OFFSET_TOO_SMALL', 'MESSAGE_WAS_REMOVING', 'OFFSET_FOUND_NULL'];
    let highest = 0;
    for (let round = 0; round < 150; round++) {
      await using reader = await MessageStore.openReader(dir);
      expect(lightQueuesOf(reader).sort()).toEqual(names.map((name) => `%LMQ%${name}`));
      const queues = reader.queues('t').map(({ queueId }) => reader.queue('t', queueId));
      expect(queues).toHaveLength(3);
      for (const queue of [...queues, ...names.map((name) => reader.lmq(name))]) {
        const { status, messages, minOffset, maxOffset } = queue.read(queue.minOffset);
        expect(minOffset).toBeLessThanOrEqual(maxOffset);
        // The writer may delete more between the two questions, or a file before it is looked at.
        if (status === 'FOUND') expect(messages[0]!.offset).toBeGreaterThanOrEqual(minOffset);
        else expect(passing).toContain(status);
        for (const message of messages) expect(message.text().trim()).toMatch(/^\d+$/);
      }
      const { maxOffset } = reader.lmq('all');
      expect(maxOffset).toBeGreaterThanOrEqual(highest);
      highest = maxOffset;
    }
    await child.kill();
  });
});
