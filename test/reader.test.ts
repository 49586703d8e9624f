// Reading beside a process that writes: everything is seen, and not one byte is changed.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Batch, MessageStore, type MessageStoreOptions, StoreReader } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile, queueFile, treeOf } from './support/files.ts';
import { type Child, start } from './support/programs.ts';
import {
  abandon,
  lightQueuesOf,
  messagesOf,
  quiet,
  rejectionOf,
  textsOf,
} from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const options = (rest: object = {}): MessageStoreOptions => ({ path: dir, ...quiet, ...rest });
const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => String(from + i));

/** A process that appends so many messages each time it is told to, numbered on. */
async function writer(step: number, rest: object = {}, first = 0) {
  const child = start(
    async ({ lib, say, told }, options: MessageStoreOptions, step: number, first: number) => {
      const store = await lib.MessageStore.open(options);
      say(store.recovery.clean);
      for (let i = first; ; ) {
        await told();
        for (const end = i + step; i < end; i++) {
          store.append({ topic: 't', body: String(i), lmq: ['x', `n${i}`] });
        }
        say(i);
      }
    },
    [options(rest), step, first],
  );
  await child.said();
  const append = () => {
    child.tell();
    return child.said();
  };
  return { child, append };
}

/** Stops a process, with all its threads, where it is. */
async function stop({ process: { pid } }: Child): Promise<void> {
  process.kill(pid!, 'SIGSTOP');
  const state = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]![0];
  while (state() !== 'T') await new Promise((resolve) => setImmediate(resolve));
}

const textsIn = ({ messages }: Batch) => messages.map((message) => message.text());

/** Everything that a reader can be asked. */
async function readAll(reader: StoreReader): Promise<number> {
  let count = 0;
  for (const { topic, queueId } of reader.queues()) {
    const found = messagesOf(reader.queue(topic, queueId));
    count += found.length;
    for (const one of found) expect(reader.getById(one.msgId)?.size).toBe(one.size);
  }
  for (const name of lightQueuesOf(reader)) {
    count += messagesOf(reader.lmq(name)).length;
    const controller = new AbortController();
    const follower = reader.lmq(name).follow({ from: 'end', signal: controller.signal });
    const waiting = follower.next();
    controller.abort('seen');
    await expect(waiting).rejects.toBe('seen');
  }
  reader.topics();
  for await (const _ of reader.verify()) count++;
  return count;
}

describe('a reader beside a writer', () => {
  it('sees each message as soon as it is appended, in old queues and in new ones', async () => {
    const { child, append } = await writer(3);
    const reader = await MessageStore.openReader(dir);
    expect(reader.topics()).toEqual([]);
    const [topic, light] = [reader.queue('t'), reader.lmq('x')];
    expect(topic.read(0).status).toBe('NO_MESSAGE_IN_QUEUE');
    for (let count = 3; count <= 30; count += 3) {
      await append();
      expect([topic.maxOffset, light.maxOffset]).toEqual([count, count]);
      expect(textsOf(topic)).toEqual(range(0, count));
      expect(textsOf(light)).toEqual(range(0, count));
      expect(textsOf(reader.lmq(`n${count - 1}`))).toEqual([String(count - 1)]);
      expect(lightQueuesOf(reader)).toHaveLength(count + 1);
    }
    await reader.close();
    await child.kill();
  });

  it('follows it over every border of a file, up to its end by kill and on with the next', async () => {
    const small = { mappedFileSizeCommitLog: 1024, mappedFileSizeConsumeQueue: 200 };
    const { child, append } = await writer(25, small);
    await using reader = await MessageStore.openReader(dir);
    await using other = await MessageStore.openReader(dir);
    const followers = [reader.queue('t'), reader.lmq('x'), other.lmq('x')].map((q) => q.follow());
    const seen = followers.map((): string[] => []);
    const until = (count: number) =>
      Promise.all(
        followers.map(async (follower, i) => {
          while (seen[i]!.length < count) seen[i]!.push(...textsIn((await follower.next()).value!));
        }),
      );
    for (let count = 25; count <= 100; count += 25) {
      await append();
      await until(count);
    }
    await child.kill();
    const next = await writer(25, small, 100);
    await next.append();
    await until(125);
    for (const texts of seen) expect(texts).toEqual(range(0, 125));
    await next.child.kill();
  });

  it.runIf(existsSync('/proc/self/stat'))('changes nothing, whatever it is asked', async () => {
    const { child, append } = await writer(40);
    await append();
    await stop(child);
    const before = treeOf(dir);
    {
      await using reader = await MessageStore.openReader(dir);
      expect(await readAll(reader)).toBe(40 + 80);
    }
    expect(treeOf(dir)).toEqual(before);
    await child.kill();
  });

  it('takes no lock: the writer can end, and another begin, which may begin queues anew', async () => {
    const first = await writer(3);
    await using reader = await MessageStore.openReader(dir);
    const [topic, light] = [reader.queue('t'), reader.lmq('x')];
    await first.append();
    expect([textsOf(topic), textsOf(light)]).toEqual([range(0, 3), range(0, 3)]);
    const follower = topic.follow({ from: 'end' });
    const waiting = follower.next();
    await first.child.kill();
    const queue = queueFile(dir, 't');
    const { ino } = statSync(queue);
    await using store = await MessageStore.open(options());
    expect(statSync(queue).ino).not.toBe(ino);
    for (let i = 3; i < 50; i++) store.append({ topic: 't', body: String(i), lmq: ['x'] });
    expect([textsOf(topic), textsOf(light)]).toEqual([range(0, 50), range(0, 50)]);
    expect(textsIn((await waiting).value!)[0]).toBe('3');
    await follower.return();
  });

  it('never shows a part of a message, nor an offset out of turn', async () => {
    const child = start(
      async ({ lib, say }, options: MessageStoreOptions) => {
        const store = await lib.MessageStore.open(options);
        const append = (i: number) =>
          store.append({ topic: 't', body: String(i).repeat(1 + (i % 300)), lmq: ['x'] });
        say('ready');
        for (let i = 0; i < 200_000; i++) append(i);
      },
      [options({ mappedFileSizeCommitLog: 1 << 20 })],
    );
    await child.said();
    const reader = await MessageStore.openReader(dir);
    let expected = 0;
    for await (const { messages } of reader.lmq('x').follow()) {
      for (const message of messages) {
        expect([message.offset, message.queueOffset]).toEqual([expected, expected]);
        expect(message.text()).toBe(String(expected).repeat(1 + (expected % 300)));
        expected++;
      }
      if (expected > 3000) break;
    }
    await reader.close();
    await child.kill();
  });
});

describe('a reader alone', () => {
  /** A closed store of 30 messages, and what a kill would have left of it. */
  async function make(): Promise<{ closed: string; killed: string }> {
    const store = await MessageStore.open(options({ mappedFileSizeCommitLog: 2048 }));
    for (let i = 0; i < 30; i++) {
      await store.put({ topic: `t${i % 2}`, body: `${i}`.padEnd(100), lmq: ['x', `n${i % 3}`] });
    }
    const killed = abandon(dir, fresh('killed'));
    await store.close();
    return { closed: dir, killed };
  }
  const golden = fileURLToPath(new URL('golden/', import.meta.url));
  const unpacked = (name: string) => {
    const to = fresh(name);
    mkdirSync(to);
    execFileSync('tar', ['-xmzf', path.join(golden, name, 'store.tar.gz'), '-C', to]);
    return path.join(to, 'store');
  };

  it.each<[what: string, make: () => Promise<string>, count: number]>([
    ['a closed store', async () => (await make()).closed, 90],
    ['a killed one', async () => (await make()).killed, 90],
    [
      'one without its light-queue index',
      async () => {
        const { killed } = await make();
        rmSync(path.join(killed, 'lmq'), { recursive: true });
        return killed;
      },
      90,
    ],
    [
      'one with odd files',
      async () => {
        const { closed } = await make();
        mkdirSync(path.join(closed, 'commitlog', 'lost+found'));
        for (const name of ['commitlog/.DS_Store', 'consumequeue/t0/0/note', 'x.bak']) {
          writeFileSync(path.join(closed, name), '');
        }
        return closed;
      },
      90,
    ],
    ['a directory of RocketMQ’s', async () => unpacked('lmq-simple'), 0],
    ['a killed one of RocketMQ’s', async () => unpacked('killed'), 0],
  ])('reads %s and changes nothing', async (_, make, count) => {
    const where = await make();
    const before = treeOf(where);
    {
      await using reader = await MessageStore.openReader(where);
      const found = await readAll(reader);
      if (count > 0) expect(found).toBe(count);
      expect(found).toBeGreaterThan(10);
    }
    expect(treeOf(where)).toEqual(before);
  });

  it('shows what lies on both sides of damage, in a log that cannot be opened for writing', async () => {
    const { killed } = await make();
    const { physicalOffset } = await (async () => {
      await using reader = await MessageStore.openReader(killed);
      return reader.queue('t0').read(1).messages[0]!;
    })();
    flipBit(logFile(killed), physicalOffset + 90);
    const before = treeOf(killed);
    expect(await rejectionOf(MessageStore.open(killed))).toBe('StoreError STORE_CORRUPT_LOG');
    {
      await using reader = await MessageStore.openReader(killed);
      const { notes } = reader.recovery;
      expect(notes).toContainEqual(
        expect.objectContaining({ code: 'STORE_CORRUPT_LOG', offset: physicalOffset }),
      );
      const queue = reader.queue('t0');
      expect(queue.maxOffset).toBe(15);
      expect(messagesOf(queue).map((one) => one.offset)).toEqual(
        [...Array(15).keys()].filter((i) => i !== 1),
      );
      expect(queue.read(0).damaged).toEqual([{ offset: 1, physicalOffset }]);
      expect(messagesOf(reader.lmq('x'))).toHaveLength(29);
    }
    expect(treeOf(killed)).toEqual(before);
  });

  it('sees a torn tail go, and what a writer then puts in its place', async () => {
    const { killed } = await make();
    await using reader = await MessageStore.openReader(killed);
    const file = Math.floor(reader.recovery.logEnd / 2048) * 2048;
    const at = reader.recovery.logEnd - file;
    const log = logFile(killed, file);
    flipBit(log, at + 10);
    expect(reader.queue('t0').maxOffset).toBe(15);
    await using store = await MessageStore.open(killed);
    expect(store.recovery.cut).toMatchObject({ from: reader.recovery.logEnd });
    store.append({ topic: 't0', body: 'new', lmq: ['x'] });
    expect(reader.queue('t0').read(15).messages[0]!.text()).toBe('new');
    expect(reader.lmq('x').read(30).messages[0]!.text()).toBe('new');
  });

  it('has no way to write, in its type or in fact', async () => {
    const { closed } = await make();
    await using reader = await MessageStore.openReader(closed);
    expect(reader).toBeInstanceOf(StoreReader);
    expect(reader).not.toBeInstanceOf(MessageStore);
    // @ts-expect-error: there is no such method
    expect(reader.append).toBeUndefined();
    // @ts-expect-error: there is no such method
    expect(reader.put).toBeUndefined();
    // @ts-expect-error: there is no such method
    expect(reader.flush).toBeUndefined();
  });

  it('ends its followers when it closes, and answers nothing more', async () => {
    const { closed } = await make();
    const reader = await MessageStore.openReader(closed);
    const queue = reader.lmq('x');
    const waiting = queue.follow({ from: 'end' }).next();
    await reader.close();
    expect(await waiting).toEqual({ value: undefined, done: true });
    expect(() => queue.read(0)).toThrow(expect.objectContaining({ code: 'STORE_CLOSED' }));
  });
});

describe('a reader is refused', () => {
  it('a directory that is not there, and makes none', async () => {
    expect(await rejectionOf(MessageStore.openReader(dir))).toBe('StoreError STORE_NOT_FOUND');
    expect(existsSync(dir)).toBe(false);
  });

  it('a file', async () => {
    writeFileSync(dir, 'x');
    await expect(MessageStore.openReader(dir)).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
      path: dir,
    });
  });

  it('a store of a later version', async () => {
    await (await MessageStore.open(options())).close();
    writeFileSync(path.join(dir, 'lmq-store.json'), '{"format": 2}');
    const before = treeOf(dir);
    expect(await rejectionOf(MessageStore.openReader(dir))).toBe('StoreError STORE_VERSION');
    expect(treeOf(dir)).toEqual(before);
  });

  it('sizes that are not those of the files', async () => {
    const store = await MessageStore.open(options());
    store.append({ topic: 't', body: '' });
    await store.close();
    for (const size of ['mappedFileSizeCommitLog', 'mappedFileSizeConsumeQueue']) {
      const wrong = { path: dir, [size]: 4000 };
      expect(await rejectionOf(MessageStore.openReader(wrong))).toBe(
        'StoreError STORE_CONFIG_MISMATCH',
      );
    }
  });

  it('nothing in an empty directory: there is only nothing to read', async () => {
    mkdirSync(dir);
    const before = treeOf(dir);
    await using reader = await MessageStore.openReader(dir);
    expect([reader.topics(), reader.lmqs().names, reader.getAt(0)]).toEqual([[], [], undefined]);
    expect(treeOf(dir)).toEqual(before);
  });
});
