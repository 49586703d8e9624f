// The same messages, at the store times that RocketMQ chose, are the same bytes.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { MessageStore } from '../../lib/index.ts';
import { javaHash } from '../../lib/java-map.ts';
import { put } from '../golden-support/puts.ts';
import { countedFiles } from '../golden-support/stores.ts';
import { sessions, shapes, withoutTags } from './inputs.ts';
import type { PutAnswer } from './judge.ts';
import { expectIndex, indexOf } from './key-index.ts';
import { judged, judgeOptions, lanes, ourOptions } from './runs.ts';

const forAll = lanes();

judged(
  'commit log, queues of topics, key index and checkpoint come out byte for byte',
  async () => {
    const sitting = sessions();
    const sittings = fc.array(sitting, { minLength: 1, maxLength: 2 });
    const some = fc.oneof(
      sittings,
      sittings.map((all) => all.map(withoutTags)),
    );
    await forAll([shapes, some], 10, async (judge, work, shape, all) => {
      const [theirs, ours] = [path.join(work, 'theirs'), path.join(work, 'ours')];
      let now = 0;
      const tags = new Map<number, number>();
      for (const steps of all) {
        await judge.open(theirs, judgeOptions(shape));
        const answers = await judge.put(steps);
        await judge.settle();
        await judge.close();
        const store = await MessageStore.open({ ...ourOptions(ours, shape), clock: () => now });
        const mine = steps.map((step, index) => {
          now = answers[index]!.storeTimestamp;
          const { putStatus, appendStatus, messages, ...answer } = put(store, step);
          return answer;
        });
        expect(mine).toEqual(answers);
        for (const answer of answers) addTags(store, answer, tags);
        await store.close();
      }
      const written = (dir: string) =>
        countedFiles(dir).filter(([name, size]) => size > 0 && someByte(path.join(dir, name)));
      expect(written(ours)).toEqual(written(theirs));
      for (const [name] of written(theirs)) {
        const [mine, other] = [ours, theirs].map((dir) => readFileSync(path.join(dir, name)));
        expect(mine!.equals(other!), name).toBe(true);
      }
      expectIndex(indexOf(ours, shape), indexOf(theirs, shape), tags);
      expect(timesOf(ours)).toEqual([now, now]);
      // It notes the times before it syncs, and its last sync without them: they may lag, down to none.
      for (const time of timesOf(theirs)) expect(time).toBeLessThanOrEqual(now);
    });
  },
);

/** The hashes of RocketMQ's index entries for the tags of what was put at once. */
function addTags(
  store: MessageStore,
  { physicalOffset, size }: PutAnswer,
  to: Map<number, number>,
) {
  for (let at = physicalOffset; at < physicalOffset + size; ) {
    const message = store.getAt(at)!;
    const { topic, tags } = message;
    if (tags !== undefined) to.set(at, Math.abs(javaHash(`${topic}#T#${tags}`)));
    at += message.size;
  }
}

/** RocketMQ makes files ahead. */
const someByte = (file: string) => readFileSync(file).some(Boolean);

/** Times of the last record that is in the log, and in the queues, as the checkpoint has them. */
function timesOf(dir: string): [log: number, queues: number] {
  expect(readdirSync(dir)).not.toContain('abort');
  const bytes = readFileSync(path.join(dir, 'checkpoint'));
  return [Number(bytes.readBigInt64BE(0)), Number(bytes.readBigInt64BE(8))];
}
