// RocketMQ writes; ours reads the same, takes the directory over, and reads the same again.
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { MessageStore } from '../../lib/index.ts';
import { sessions, shapes } from './inputs.ts';
import { type Answers, expectKilled, ourAnswers, theirAnswers } from './questions.ts';
import { copyOf, judged, judgeOptions, lanes, ourOptions } from './runs.ts';
import { ourState, theirState } from './states.ts';

const forAll = lanes();

judged('what RocketMQ wrote in sessions, closed or killed, is read the same', async () => {
  const ended = fc.constantFrom('closed' as const, 'killed' as const);
  const all = fc.array(fc.tuple(sessions(), ended), { minLength: 1, maxLength: 3 });
  await forAll([shapes, all], 12, async (judge, work, shape, parts) => {
    const dir = path.join(work, 'theirs');
    for (const [steps, end] of parts) {
      await judge.open(dir, judgeOptions(shape));
      for (const { refused } of await judge.put(steps)) expect(refused).toBeUndefined();
      if (end === 'killed') await judge.halt();
      else await judge.close();
    }
    const [read, adopted] = [copyOf(dir, 'read'), copyOf(dir, 'adopted')];
    await judge.open(dir, judgeOptions(shape));
    const theirs = await theirState(judge);
    const answers = await theirAnswers(judge, theirs);
    await judge.leave();
    const killed = parts.some(([, end]) => end === 'killed');
    const same = (mine: Answers) =>
      killed ? expectKilled(mine, answers) : expect(mine).toEqual(answers);

    const reader = await MessageStore.openReader({ ...shape, path: read });
    expect(ourState(reader)).toEqual(theirs);
    same(await ourAnswers(reader, theirs));
    await reader.close();
    for (let times = 0; times < 2; times++) {
      const store = await MessageStore.open({ ...ourOptions(adopted, shape), adopt: true });
      expect(ourState(store)).toEqual(theirs);
      same(await ourAnswers(store, theirs));
      await store.close();
    }
  });
});
