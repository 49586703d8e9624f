// Readers that stay open while a writer begins anew what they have read: light queues that are
// rebuilt, a log that is cut, files that expire.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Batch, MessageStore, type StoreReader } from '../lib/index.ts';
import { run as command } from './support/cli.ts';
import { flipBit, freshDirectories, logFile } from './support/files.ts';
import { run, start } from './support/programs.ts';
import { lightQueuesOf, messagesOf, quiet, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
const sizes = { ...quiet, mappedFileSizeCommitLog: 16 << 10, mappedFileSizeConsumeQueue: 1000 };
let dir = '';
beforeEach(() => {
  dir = fresh();
});

type End = 'close' | 'kill';

/** A process that opens the store, appends `from` to `to`, each into light queues, and ends. */
async function write(from: number, to: number, end: End, rest: object = {}): Promise<unknown> {
  const ended = await run(
    async ({ lib, say }, options: object, from: number, to: number, end: End) => {
      const store = await lib.MessageStore.open(options as { path: string });
      for (let i = from; i < to; i++) {
        const lmq = ['all', `mod ${i % 7}`, `only ${i}`];
        store.append({ topic: 't', queueId: i % 2, body: `message ${i}`, lmq });
      }
      say(store.recovery);
      if (end === 'kill') process.kill(process.pid, 'SIGKILL');
      await store.close();
    },
    [{ path: dir, ...sizes, ...rest }, from, to, end],
  );
  expect([ended.code, ended.signal]).toEqual(end === 'kill' ? [null, 'SIGKILL'] : [0, null]);
  return ended.said[0];
}

const texts = (numbers: readonly number[]) => numbers.map((i) => `message ${i}`);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** All that is there are these messages, in this order. */
async function expectIn(reader: StoreReader, numbers: readonly number[]): Promise<void> {
  expect(textsOf(reader.lmq('all'))).toEqual(texts(numbers));
  for (const id of [0, 1]) {
    expect(textsOf(reader.queue('t', id))).toEqual(texts(numbers.filter((i) => i % 2 === id)));
  }
  for (const rest of range(0, 7)) {
    const expected = texts(numbers.filter((i) => i % 7 === rest));
    expect(textsOf(reader.lmq(`mod ${rest}`))).toEqual(expected);
    const { messages } = await reader.lmq(`mod ${rest}`).readAsync(0);
    expect(messages.map((message) => message.text())).toEqual(expected.slice(0, 32));
  }
  // A name whose messages were cut stays.
  const only = lightQueuesOf(reader, { prefix: 'only ' }).filter(
    (name) => reader.lmq(name).maxOffset > 0,
  );
  expect(only.sort()).toEqual(numbers.map((i) => `%LMQ%only ${i}`).sort());
  for (const i of numbers) expect(textsOf(reader.lmq(`only ${i}`))).toEqual(texts([i]));
}

const lost: [string, () => void][] = [
  ['is gone', () => rmSync(path.join(dir, 'lmq'), { recursive: true })],
  ['has no table', () => rmSync(path.join(dir, 'lmq/table'))],
  ['has a damaged table', () => flipBit(path.join(dir, 'lmq/table'), 20)],
  ['has damaged names', () => flipBit(path.join(dir, 'lmq/names/00000000000000000000'), 9)],
];

describe('a reader that is open while light queues are built anew', () => {
  it.each(lost)('sees all of them, and what comes after, where the index %s', async (_, lose) => {
    for (const end of ['close', 'kill'] as const) {
      rmSync(dir, { recursive: true, force: true });
      await write(0, 100, end);
      await using reader = await MessageStore.openReader(dir);
      await expectIn(reader, range(0, 100));
      const old = reader.lmq('mod 3');
      const follower = reader.lmq('all').follow({ from: 100 });
      const waiting = follower.next();
      lose();
      expect(textsOf(old)).toEqual(texts(range(0, 100).filter((i) => i % 7 === 3)));
      const { lmqRebuilt } = (await write(100, 150, end)) as { lmqRebuilt?: string };
      // After a kill, names behind the table that are torn are cut and written again.
      if (end === 'close') expect(lmqRebuilt).toBeTruthy();
      await expectIn(reader, range(0, 150));
      expect(textsOf(old)).toEqual(texts(range(0, 150).filter((i) => i % 7 === 3)));
      expect(((await waiting).value as Batch).messages[0]!.text()).toBe('message 100');
      await write(150, 170, end);
      await expectIn(reader, range(0, 170));
      await follower.return();
    }
  });

  it('sees them through rebuilds by the command, also with queues that expired between', async () => {
    await write(0, 400, 'close');
    await using reader = await MessageStore.openReader(dir);
    await expectIn(reader, range(0, 400));
    {
      await using store = await MessageStore.open({ path: dir, ...sizes });
      await store.deleteBefore(2 * sizes.mappedFileSizeCommitLog);
    }
    const min = reader.lmq('all').minOffset;
    expect(min).toBeGreaterThan(0);
    const before = lightQueuesOf(reader).map((name) => {
      const { minOffset, maxOffset } = reader.lmq(name);
      return [name, minOffset, maxOffset];
    });
    for (const more of [[], ['--queues']]) {
      expect(command('rebuild', dir, ...more).code).toBe(0);
      for (const [name, minOffset, maxOffset] of before) {
        expect(reader.lmq(String(name))).toMatchObject({ minOffset, maxOffset });
      }
      expect(lightQueuesOf(reader).sort()).toEqual(before.map(([name]) => name).sort());
      expect(textsOf(reader.lmq('all'))).toEqual(texts(range(min, 400)));
    }
    await write(400, 450, 'kill');
    expect(textsOf(reader.lmq('all'))).toEqual(texts(range(min, 450)));
    expect(textsOf(reader.lmq('only 449'))).toEqual(texts([449]));
  });

  it('keeps what it had while they are built, and never shows less', async () => {
    await write(0, 2000, 'close', { mappedFileSizeCommitLog: 1 << 20 });
    await using reader = await MessageStore.openReader(dir);
    const whole = texts(range(0, 2000));
    expect(textsOf(reader.lmq('all'))).toEqual(whole);
    const child = start(
      async ({ lib, say }, path: string) => {
        for (let i = 0; i < 10; i++) {
          await lib.MessageStore.rebuild(path);
          say(i);
        }
      },
      [dir],
    );
    let ended = false;
    child.ended.then(() => {
      ended = true;
    });
    while (!ended) {
      expect(reader.lmq('all').maxOffset).toBe(2000);
      expect(textsOf(reader.lmq('only 1999'))).toEqual(['message 1999']);
      expect(reader.lmq('all').read(1990).messages).toHaveLength(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await child.ended).code).toBe(0);
    expect(textsOf(reader.lmq('all'))).toEqual(whole);
  });

  it('sees the rest after a kill while they were built', async () => {
    await write(0, 3000, 'close', { mappedFileSizeCommitLog: 1 << 20 });
    await using reader = await MessageStore.openReader(dir);
    for (let round = 0; round < 5; round++) {
      const child = start(
        async ({ lib, say }, path: string) => {
          say('begun');
          for (;;) await lib.MessageStore.rebuild(path);
        },
        [dir],
      );
      await child.said();
      for (let seen = 0; seen <= round; ) if (!existsSync(path.join(dir, 'lmq/table'))) seen++;
      await child.kill();
      expect(reader.lmq('all').maxOffset).toBe(3000);
      await using another = await MessageStore.openReader(dir);
      expect([another.lmq('all').maxOffset, another.lmq('only 2999').maxOffset]).toEqual([3000, 1]);
    }
    await write(3000, 3001, 'kill', { mappedFileSizeCommitLog: 1 << 20 });
    expect(textsOf(reader.lmq('only 3000'))).toEqual(['message 3000']);
    expect(lightQueuesOf(reader, { prefix: 'only ' })).toHaveLength(3001);
  });
});

describe('a reader that is open while the log is cut', () => {
  it('sees what is left, and what is written there instead, also over files', async () => {
    for (const kept of [20, 90, 200]) {
      rmSync(dir, { recursive: true, force: true });
      await write(0, 250, 'kill');
      await using reader = await MessageStore.openReader(dir);
      await expectIn(reader, range(0, 250));
      const { physicalOffset } = messagesOf(reader.lmq('all'))[kept]!;
      const base = physicalOffset - (physicalOffset % sizes.mappedFileSizeCommitLog);
      flipBit(logFile(dir, base), physicalOffset - base + 90);
      const report = await write(1000, 1001 + kept, 'kill', { repair: 'truncate' });
      expect(report).toMatchObject({ cut: { from: physicalOffset } });
      await expectIn(reader, [...range(0, kept), ...range(1000, 1001 + kept)]);
      await write(2000, 2400, 'close');
      await expectIn(reader, [
        ...range(0, kept),
        ...range(1000, 1001 + kept),
        ...range(2000, 2400),
      ]);
    }
  });

  it('sees a store that began again from nothing', async () => {
    await write(0, 50, 'close');
    await using reader = await MessageStore.openReader(dir);
    await expectIn(reader, range(0, 50));
    rmSync(path.join(dir, 'commitlog'), { recursive: true });
    await write(500, 520, 'kill', { repair: 'truncate' });
    await expectIn(reader, range(500, 520));
  });
});
