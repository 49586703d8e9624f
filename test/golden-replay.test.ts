// The steps that made the golden stores, taken again by us: the same answers, and the same bytes, up to
// the first step that we decide otherwise (test/golden-support/replay-deviations.ts). From there on the
// records are the same but for their positions.
import { describe, it } from 'vitest';
import { Replay } from './golden-support/replay.ts';
import { ReplayCheck } from './golden-support/replay-check.ts';
import { replayDeviations } from './golden-support/replay-deviations.ts';
import { expectedOf, storeNames, unpack, workDirectory } from './golden-support/stores.ts';

/** Inner batches are read, and refused by name where they are put. */
const replayable = storeNames.filter((name) => name !== 'inner-batch');

describe.each(replayable)('%s', (name) => {
  it('comes out the same', async () => {
    const expected = expectedOf(name);
    const dir = workDirectory(name);
    const replayed = await new Replay(name, expected, dir).run();
    const check = new ReplayCheck(name, expected, replayed, replayDeviations[name]);
    check.results();
    const theirDir = unpack(name);
    // Killed, the real store had not built its queues yet; it did so when it was opened again.
    const theirQueues = replayed.killed ? unpack(name, 'after.tar.gz') : theirDir;
    check.log(dir, theirDir);
    check.queues(dir, theirQueues);
    check.keys(dir, theirQueues, Number(expected.openedWith['maxHashSlotNum']));
    check.records();
    check.light(theirDir);
  });
});
