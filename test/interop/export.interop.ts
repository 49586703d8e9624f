// Light queues the other way: exported, RocketMQ's store has them too, and both take turns on one directory.
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { MessageStore } from '../../lib/index.ts';
import { put } from '../golden-support/puts.ts';
import { sessions, shapes } from './inputs.ts';
import { ourAnswers, theirAnswers } from './questions.ts';
import { judged, judgeOptions, lanes, ourOptions } from './runs.ts';
import { ourState, theirState } from './states.ts';

const forAll = lanes();

judged('a copy made while it is written, and the directory itself, hold every queue', async () => {
  await forAll([shapes, sessions(), sessions()], 8, async (judge, work, shape, before, after) => {
    const [dir, copy] = [path.join(work, 'ours'), path.join(work, 'copy')];
    const store = await MessageStore.open(ourOptions(dir, shape));
    for (const step of before) put(store, step);
    const copied = ourState(store);
    const copying = store.export(copy);
    for (const step of after) put(store, step);
    const whole = ourState(store);
    const answers = await ourAnswers(store, whole);
    await copying;
    await store.exportInPlace();

    await judge.open(copy, judgeOptions(shape));
    // What came meanwhile may be in it, to any record: then from what there was before on.
    for (const [name, messages] of Object.entries(await theirState(judge))) {
      const least = copied[name]?.length ?? 0;
      expect(messages.length).toBeGreaterThanOrEqual(least);
      expect(messages).toEqual(whole[name]!.slice(0, messages.length));
    }
    await judge.leave();
    await judge.open(dir, judgeOptions(shape));
    expect(await theirState(judge)).toEqual(whole);
    expect(await theirAnswers(judge, whole)).toEqual(answers);
    await judge.leave();
  });
});

const TURNS = 10;

judged('both take turns on one directory', async () => {
  const turns = fc.array(fc.tuple(sessions(20), sessions(20), fc.boolean()), {
    minLength: TURNS,
    maxLength: TURNS,
  });
  await forAll([shapes, turns], 4, async (judge, work, shape, all) => {
    const dir = path.join(work, 'both');
    for (const [ours, theirs, killed] of all) {
      const store = await MessageStore.open(ourOptions(dir, shape));
      for (const step of ours) put(store, step);
      const mine = ourState(store);
      const answers = await ourAnswers(store, mine);
      await store.exportInPlace();
      await judge.open(dir, judgeOptions(shape));
      expect(await theirState(judge)).toEqual(mine);
      expect(await theirAnswers(judge, mine)).toEqual(answers);
      for (const { refused } of await judge.put(theirs)) expect(refused).toBeUndefined();
      await judge.settle();
      const other = await theirState(judge);
      if (killed) await judge.halt();
      else await judge.close();
      const again = await MessageStore.open(ourOptions(dir, shape));
      expect(ourState(again)).toEqual(other);
      await again.close();
    }
  });
});
