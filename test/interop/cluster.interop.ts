// An exported directory under a real broker: a stock client reads all of it and sends more, the broker
// stops, and ours reads what it left.
import { rmSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { type FindOptions, MessageStore, type StoreReader } from '../../lib/index.ts';
import { put } from '../golden-support/puts.ts';
import { Cluster, freePorts } from './cluster.ts';
import { SEED, sessions, shapes } from './inputs.ts';
import type { MessageAnswer } from './judge.ts';
import { inWork, judged, ourOptions } from './runs.ts';
import { ourState, type State } from './states.ts';

/** More than the ten that a broker looks through unless it is told otherwise. */
const LEAST_FILES = 11;
const SESSIONS = 30;

/** A delayed message is the broker's to deliver: it would add messages of its own. */
const history = fc
  .array(sessions(60), { minLength: SESSIONS, maxLength: SESSIONS })
  .map((all) => all.flat().filter(({ topic }) => topic !== 'SCHEDULE_TOPIC_XXXX'));
const shape = shapes.map((one) => ({ ...one, mappedFileSizeCommitLog: 4096 }));

const message = fc.record({
  topic: fc.constantFrom('orders', 'chat'),
  queueId: fc.integer({ min: 0, max: 2 }),
  tags: fc.constantFrom('red', 'blue'),
  keys: fc.constantFrom('key-1', 'key-2', 'sent'),
  body: fc
    .uint8Array({ minLength: 1, maxLength: 300 })
    .map((bytes) => Buffer.from(bytes).toString('hex')),
  light: fc
    .uniqueArray(fc.constantFrom('alice', 'bob', 'new'), { maxLength: 3 })
    .map((names) => names.map((name) => `%LMQ%${name}`).join(',')),
});
type Sending = typeof message extends fc.Arbitrary<infer T> ? T : never;
const sends = fc.array(message, { minLength: 10, maxLength: 40 });

const isLight = (name: string) => name.startsWith('%LMQ%');

/** What a client shows of messages; as their queue's number it tells the one that it asked. */
function shown(state: State): State {
  const all = Object.entries(state).map(([name, messages]) => {
    const asked = isLight(name) ? { queueId: 0 } : {};
    return [name, messages.map((message) => ({ ...asShown(message), ...asked }))];
  });
  return Object.fromEntries(all);
}
const asShown = ({ offset, sysFlag, msgId, bornHost, storeHost, ...rest }: MessageAnswer) => rest;

const nameOf = (name: string): [topic: string, queueId: number] => {
  const colon = name.lastIndexOf(':');
  return [name.slice(0, colon), Number(name.slice(colon + 1))];
};

/** Queues and where they end. */
type Ends = ReadonlyMap<string, number>;

function endsOf(state: State, sent: readonly Sending[] = []): Ends {
  const ends = new Map(Object.entries(state).map(([name, all]) => [name, 1 + lastOf(all)]));
  for (const { topic, queueId, light } of sent) {
    const lights = light.split(',').filter((name) => name !== '');
    for (const name of [`${topic}:${queueId}`, ...lights.map((name) => `${name}:0`)]) {
      ends.set(name, (ends.get(name) ?? 0) + 1);
    }
  }
  return ends;
}
const lastOf = (all: readonly MessageAnswer[]) => all.at(-1)!['offset'] as number;

async function clientState(cluster: Cluster, ends: Ends): Promise<State> {
  const state: Record<string, MessageAnswer[]> = {};
  for (const [name, end] of ends) state[name] = await cluster.read(...nameOf(name), end);
  return state;
}

async function positions(store: StoreReader, what: FindOptions): Promise<number[]> {
  const found: number[] = [];
  for await (const page of store.find(what)) {
    for (const { physicalOffset } of page) found.push(physicalOffset);
  }
  return found.sort((a, b) => a - b);
}

/** By key, message id, unique key and time, the cluster finds what the store does. */
async function sameFound(cluster: Cluster, store: StoreReader, state: State): Promise<void> {
  for (const [name, messages] of Object.entries(state)) {
    const [topic, queueId] = nameOf(name);
    const every = Math.ceil(messages.length / 5);
    for (const one of messages.filter((_, index) => index % every === 0)) {
      const time = one['storeTimestamp'] as number;
      const queue = isLight(topic) ? store.lmq(topic) : store.queue(topic, queueId);
      expect(await cluster.byTime(topic, queueId, time)).toBe(await queue.offsetAt(time));
      if (isLight(topic)) continue;
      const { KEYS, UNIQ_KEY } = one['properties'] as Record<string, string>;
      expect(await cluster.byId(topic, one['msgId'] as string)).toBe(one['physicalOffset']);
      if (UNIQ_KEY) {
        // of several the client gives one
        const known = await positions(store, { topic, uniqueKey: UNIQ_KEY });
        expect(known).toContain(await cluster.byUniqueKey(topic, UNIQ_KEY));
      }
      for (const key of KEYS?.split(' ').filter(Boolean) ?? []) {
        expect(await cluster.byKey(topic, key), key).toEqual(
          await positions(store, { topic, key }),
        );
      }
    }
  }
}

const given = fc.tuple(shape, history, sends);

for (const queues of ['with', 'without'] as const) {
  judged(`a broker takes an export ${queues} consume queues, ours what it left`, async () => {
    console.log(`LMQ_TEST_SEED=${SEED}`);
    const all = fc.sample(given, { seed: SEED, numRuns: 2 });
    const [form, steps, more] = all[queues === 'with' ? 0 : 1]!;
    await inWork(async (work) => {
      const ports = await freePorts();
      const store = await MessageStore.open(ourOptions(path.join(work, 'ours'), form));
      // A client asks the host in a message's id.
      for (const step of steps) put(store, { ...step, storeHost: `127.0.0.1:${ports.broker}` });
      const out = path.join(work, 'exported');
      expect((await store.export(out)).logFiles).toBeGreaterThanOrEqual(LEAST_FILES);
      const derived = queues === 'with' ? [] : ['consumequeue', 'index'];
      for (const folder of derived) rmSync(path.join(out, folder), { recursive: true });

      await using cluster = new Cluster(out, path.join(work, 'home'), ports);
      expect(await cluster.route('orders')).toBe(3);
      const before = ourState(store);
      expect(await clientState(cluster, endsOf(before))).toEqual(shown(before));
      await sameFound(cluster, store, before);
      await store.close();

      for (const one of more) expect((await cluster.send(one)).status).toBe('SEND_OK');
      const ends = endsOf(before, more);
      const after = await clientState(cluster, ends);
      await cluster.stop();
      const ours = await MessageStore.open({ ...ourOptions(out, form), adopt: true });
      expect(ours.recovery.clean).toBe(true);
      const left = ourState(ours);
      expect(shown(left)).toEqual(after);
      expect(endsOf(left)).toEqual(ends);
      await ours.close();
    });
  });
}
