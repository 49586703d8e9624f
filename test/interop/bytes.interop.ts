// The same messages, at the store times that RocketMQ chose, are the same bytes.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { MessageStore } from '../../lib/index.ts';
import { put } from '../golden-support/puts.ts';
import { countedFiles } from '../golden-support/stores.ts';
import { sessions, shapes } from './inputs.ts';
import { expectIndex, indexOf } from './key-index.ts';
import { judged, judgeOptions, lanes, ourOptions } from './runs.ts';

const forAll = lanes();

judged(
  'commit log, queues of topics, key index and checkpoint come out byte for byte',
  async () => {
    const sitting = sessions();
    const some = fc.array(sitting, { minLength: 1, maxLength: 2 });
    await forAll([shapes, some], 10, async (judge, work, shape, all) => {
      const [theirs, ours] = [path.join(work, 'theirs'), path.join(work, 'ours')];
      let now = 0;
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
        await store.close();
      }
      const written = (dir: string) =>
        countedFiles(dir).filter(([name, size]) => size > 0 && someByte(path.join(dir, name)));
      expect(written(ours)).toEqual(written(theirs));
      for (const [name] of written(theirs)) {
        const [mine, other] = [ours, theirs].map((dir) => readFileSync(path.join(dir, name)));
        expect(mine!.equals(other!), name).toBe(true);
      }
      expectIndex(indexOf(ours), indexOf(theirs));
      expect(timesOf(ours)).toEqual([now, now]);
      // It notes the times before it syncs, and its last sync without them: they may lag, down to none.
      for (const time of timesOf(theirs)) expect(time).toBeLessThanOrEqual(now);
    });
  },
);

/** RocketMQ makes files ahead. */
const someByte = (file: string) => readFileSync(file).some(Boolean);

/** Times of the last record that is in the log, and in the queues, as the checkpoint has them. */
function timesOf(dir: string): [log: number, queues: number] {
  expect(readdirSync(dir)).not.toContain('abort');
  const bytes = readFileSync(path.join(dir, 'checkpoint'));
  return [Number(bytes.readBigInt64BE(0)), Number(bytes.readBigInt64BE(8))];
}
