// A process that appends is killed again and again, at random places. Whatever it was told is stored is
// there afterwards, and at most one message more: the one whose answer did not get out in time.
import { randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { start, type Tools } from './support/programs.ts';
import { lightQueuesOf, messagesOf } from './support/stores.ts';

const fresh = freshDirectories();
const ROUNDS = 20;
const MOST = 200;

/** The same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Planned {
  topic: string;
  queueId: number;
  body: string;
  lmq: string[];
}

/** Messages of all sizes that fit into a file, in three topics, two queues each, and in light queues. */
function planned(count: number, next: () => number): Planned[] {
  const up = (end: number) => Math.floor(next() * end);
  return Array.from({ length: count }, (_, i) => ({
    topic: `topic-${up(3)}`,
    queueId: up(2),
    body: `${i} `.padEnd(up(600), 'abcdefghij'),
    lmq: i % 9 === 0 ? [] : ['all', `user-${up(20)}`, ...(i % 7 === 0 ? [`once-${i}`, 'all'] : [])],
  }));
}

/** Appends one after the other, and says where each went, as soon as it is there. */
async function appendAll(
  { lib, fs, say }: Tools,
  options: MessageStoreOptions,
  file: string,
  from: number,
) {
  const messages = JSON.parse(fs.readFileSync(file, 'utf8')) as Planned[];
  const store = await lib.MessageStore.open(options);
  for (const message of messages.slice(from)) {
    const { queueOffset, lmqOffsets } = store.append(message);
    say([queueOffset, ...lmqOffsets]);
  }
  say('end');
}

/** What is in which queue, and where, if exactly these messages were stored. */
class Model {
  readonly queues = new Map<string, string[]>();

  /** Stores one more; its offsets. */
  add({ topic, queueId, body, lmq }: Planned): number[] {
    const names = lmq.map((name) => `%LMQ%${name}`);
    const offsets = [`${topic}:${queueId}`, ...names].map(
      (key) => this.queues.get(key)?.length ?? 0,
    );
    for (const key of new Set([`${topic}:${queueId}`, ...names])) {
      const queue = this.queues.get(key);
      if (queue) queue.push(body);
      else this.queues.set(key, [body]);
    }
    return offsets;
  }
}

/** The contents of every queue of a store; offsets must be contiguous. */
function contentsOf(store: MessageStore): Map<string, string[]> {
  const queues = store.queues().map(({ topic, queueId }) => store.queue(topic, queueId));
  const all = [...queues, ...lightQueuesOf(store).map((name) => store.lmq(name))];
  return new Map(
    all.map((queue) => {
      const found = messagesOf(queue);
      expect(found.map((one) => one.offset)).toEqual([...found.keys()]);
      const isLight = queue.topic.startsWith('%');
      return [
        isLight ? queue.topic : `${queue.topic}:${queue.queueId}`,
        found.map((one) => one.text()),
      ];
    }),
  );
}

const sorted = (map: Map<string, string[]>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

const { LMQ_TEST_SEED = String(randomInt(2 ** 31)) } = process.env;
const SEED = Number(LMQ_TEST_SEED);

describe.each([
  ['through memory', {}],
  ['by position', { LMQ_STORE_WRITE_MODE: 'positional' }],
])('killed while it writes %s', (_, env) => {
  it(`a store keeps every acknowledged message (LMQ_TEST_SEED=${SEED})`, async () => {
    const next = random(SEED);
    const messages = planned(ROUNDS * MOST, next);
    const work = fresh('kill');
    mkdirSync(work);
    const file = path.join(work, 'messages.json');
    writeFileSync(file, JSON.stringify(messages));
    const options = {
      path: path.join(work, 'store'),
      // Every border is met again and again, and syncs happen all the time.
      mappedFileSizeCommitLog: 4096,
      mappedFileSizeConsumeQueue: 400,
      prepareAheadBytes: 4096,
      flushIntervalCommitLog: 1,
      flushConsumeQueueThoroughInterval: 5,
    };
    const model = new Model();
    let stored = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const target = 1 + Math.floor(next() * (MOST - 1));
      const child = start(appendAll, [options, file, stored], { env });
      let acknowledged = 0;
      const acknowledge = (offsets: unknown) => {
        expect(offsets).toEqual(model.add(messages[stored + acknowledged]!));
        acknowledged++;
      };
      while (acknowledged < target) acknowledge(await child.said());
      const { signal, said, err } = await child.kill();
      expect([signal, err]).toEqual(['SIGKILL', '']);
      for (const offsets of said) acknowledge(offsets);

      await using store = await MessageStore.open(options);
      expect(store.recovery.clean).toBe(false);
      const found = store.queues().reduce((sum, { maxOffset }) => sum + maxOffset, 0);
      const more = found - stored - acknowledged;
      expect([0, 1]).toContain(more);
      stored += acknowledged;
      if (more === 1) model.add(messages[stored++]!);
      expect(sorted(contentsOf(store))).toEqual(sorted(model.queues));
    }
    expect(stored).toBeGreaterThan(ROUNDS * 40);
    expect(readdirSync(path.join(options.path, 'commitlog')).length).toBeGreaterThan(100);
  });
});
