// The same questions to both stores about what a state holds: pages, times, positions and keys.
import { expect } from 'vitest';
import type { StoreReader } from '../../lib/index.ts';
import type { Judge } from './judge.ts';
import type { State } from './states.ts';

export interface Answers {
  readonly gets: readonly unknown[];
  readonly times: readonly unknown[];
  readonly looks: readonly unknown[];
  /** By question: positions of the messages, rising. */
  readonly keys: Readonly<Record<string, readonly number[]>>;
}

/**
 * After a kill RocketMQ throws index files away that are not full, and what is older than the start of
 * its recovery stays lost; ours keeps them (Q28). So it may find less, but nothing else.
 */
export function expectKilled(mine: Answers, { keys, ...others }: Answers): void {
  const { keys: more, ...same } = mine;
  expect(same).toEqual(others);
  for (const [question, found] of Object.entries(keys)) {
    if (question.endsWith(NEWEST)) continue; // of fewer it may be another
    expect(more[question], question).toEqual(expect.arrayContaining([...found]));
  }
}

interface Asked {
  get(topic: string, queueId: number, offset: number, max: number, tags?: string): unknown;
  /** The offset, by both bounds. */
  time(topic: string, queueId: number, time: number): Promise<readonly [number, number]>;
  /** The topic and queue offset of the record at a position. */
  look(position: number): unknown;
  key(topic: string, key: string, max: number, begin: number, end: number): Promise<number[]>;
}

const NEWEST = ', the newest';
const ALL_BYTES = 128 * 1024 * 1024;
const ALL = 1000; // of one search by key
/** RocketMQ gives whatever has the hash of the key, and a message once for each time that it has it. */
const CANDIDATES = 10_000;
const EVER = Number.MAX_SAFE_INTEGER;
/** RocketMQ compares the times of keys in whole seconds, of another start in each file. */
const COARSE = 10_000;
const TAGS = [undefined, '*', 'red', 'red || TagA', '標', 'nobody'];

export const theirAnswers = (judge: Judge, state: State) => answersOf(theirs(judge), state);
export const ourAnswers = (store: StoreReader, state: State) => answersOf(ours(store), state);

const theirs = (judge: Judge): Asked => ({
  get: (...asked) => judge.get(...asked),
  time: async (topic, queueId, time) => [
    await judge.time(topic, queueId, time, 'LOWER'),
    await judge.time(topic, queueId, time, 'UPPER'),
  ],
  look: (position) => judge.look(position),
  async key(topic, key, max, begin, end) {
    const found = await judge.key(topic, key, CANDIDATES, Math.max(0, begin - COARSE), end);
    const exact = found.filter(
      (one) =>
        one.topic === topic && one.keys.includes(key) && one.time >= begin && one.time <= end,
    );
    return rising(exact.map(({ position }) => position)).slice(-max);
  },
});

const ours = (store: StoreReader): Asked => ({
  get(topic, queueId, offset, max, tags) {
    const limits = { maxMessages: max, maxBytes: ALL_BYTES, tags };
    const { messages, status, nextOffset, minOffset, maxOffset } = store
      .queue(topic, queueId)
      .read(offset, limits);
    return {
      ...{ status, nextOffset, minOffset, maxOffset },
      offsets: messages.map((one) => one.offset),
    };
  },
  async time(topic, queueId, time) {
    const queue = store.queue(topic, queueId);
    return [await queue.offsetAt(time, 'lower'), await queue.offsetAt(time, 'upper')];
  },
  look(position) {
    const { topic, queueOffset } = store.getAt(position)!;
    return { topic, queueOffset };
  },
  async key(topic, key, max, begin, end) {
    const positions: number[] = [];
    // They look for both with one word.
    for (const what of [{ key }, { uniqueKey: key }]) {
      for await (const batch of store.find({ topic, ...what, begin, end, max })) {
        positions.push(...batch.map((message) => message.physicalOffset));
      }
    }
    return rising(positions).slice(-max);
  },
});

const rising = (positions: readonly number[]) => [...new Set(positions)].sort((a, b) => a - b);

async function answersOf(asked: Asked, state: State): Promise<Answers> {
  const gets: unknown[] = [];
  const times: unknown[] = [];
  const looks: unknown[] = [];
  for (const [name, messages] of Object.entries(state)) {
    const [topic, queueId] = [name.replace(/:\d+$/, ''), Number(/\d+$/.exec(name)![0])];
    const rows = messages as unknown as readonly Row[];
    const [first, middle, last] = [rows[0]!, rows[rows.length >> 1]!, rows.at(-1)!];
    const [from, end] = [first.offset, last.offset + 1];
    const offsets = new Set([from - 1, from, middle.offset, end - 1, end, end + 1, end + 1000]);
    for (const offset of offsets) {
      for (const tags of TAGS) {
        for (const max of tags === undefined ? [1, 3, 32] : [3]) {
          const answer = await asked.get(topic, queueId, offset, max, tags);
          gets.push([name, offset, max, tags, answer]);
        }
      }
    }
    const around = [first, middle, last].flatMap(({ storeTimestamp: at }) => [at - 1, at, at + 1]);
    for (const time of new Set(around)) {
      times.push([name, time, await asked.time(topic, queueId, time)]);
    }
    for (const { physicalOffset } of [first, middle, last]) {
      looks.push([physicalOffset, await asked.look(physicalOffset)]);
    }
  }
  return { gets, times, looks, keys: await keysOf(asked, state) };
}

interface Row {
  readonly topic: string;
  readonly offset: number;
  readonly physicalOffset: number;
  readonly storeTimestamp: number;
  readonly properties: Readonly<Record<string, string>>;
}

async function keysOf(asked: Asked, state: State): Promise<Record<string, number[]>> {
  const rows = Object.values(state).flat() as unknown as Row[];
  if (rows.length === 0) return {};
  const times = rows.map((row) => row.storeTimestamp).sort((a, b) => a - b);
  const [first, middle, last] = [times[0]!, times[times.length >> 1]!, times.at(-1)!];
  const words = new Set(
    rows.flatMap(({ topic, properties }) => {
      const { KEYS = '', UNIQ_KEY } = properties;
      return [...KEYS.split(' '), ...(UNIQ_KEY ? [UNIQ_KEY] : [])]
        .filter((word) => word !== '')
        .map((word) => JSON.stringify([topic, word]));
    }),
  );
  const found: Record<string, number[]> = {};
  for (const word of [...words, JSON.stringify(['orders', 'nobody'])].sort()) {
    const [topic, key] = JSON.parse(word) as [string, string];
    const windows = [
      [0, EVER],
      [first, last],
      [middle, EVER],
      [0, first - 1],
      [last + COARSE * 2, EVER],
    ] as const;
    for (const [begin, end] of windows) {
      const name = `${word} from ${begin} to ${end}`;
      found[name] = await asked.key(topic, key, ALL, begin, end);
    }
    found[word + NEWEST] = await asked.key(topic, key, 1, 0, EVER);
  }
  return found;
}
