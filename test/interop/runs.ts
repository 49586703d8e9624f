// How a generated test is run: with a seed that is printed, in directories of its own, skipped without
// Java.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { inject, it } from 'vitest';
import type { MessageStoreOptions } from '../../lib/index.ts';
import { SEED, type Shape } from './inputs.ts';
import { Judge, type Options } from './judge.ts';

export const judged = it.skipIf(inject('classpath') === undefined);

export const judgeOptions = (shape: Shape): Options => ({
  ...shape,
  enableLmq: true,
  enableMultiDispatch: true,
  maxMsgsNumBatch: 10_000, // that one search by key gives
});

export const ourOptions = (dir: string, shape: Shape): MessageStoreOptions => ({
  ...shape,
  path: dir,
  propertyOrder: 'rocketmq',
});

/** A directory for one run, gone after it. */
export async function inWork(run: (work: string) => Promise<void>): Promise<void> {
  const work = mkdtempSync(path.join(tmpdir(), 'lmq-interop-'));
  try {
    await run(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

export function copyOf(dir: string, name: string): string {
  const copy = path.join(path.dirname(dir), name);
  cpSync(dir, copy, { recursive: true });
  return copy;
}

/** The real store sleeps for seconds when it closes: several runs at a time share the cores. */
const LANES = 4;

type Given<R> = R extends (judge: Judge, work: string, ...given: infer T) => unknown ? T : never;

/** Must be called at the top of a test file. */
export function lanes(): <T extends unknown[]>(
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
  count: number,
  run: (judge: Judge, work: string, ...given: T) => Promise<void>,
) => Promise<void> {
  const judges = Array.from({ length: LANES }, () => new Judge());
  return async (arbitraries, count, run) => {
    console.log(`LMQ_TEST_SEED=${SEED}`);
    const all = fc.tuple(...arbitraries) as unknown as fc.Arbitrary<Given<typeof run>>;
    const waiting = [...fc.sample(all, { seed: SEED, numRuns: count }).entries()];
    const work = async (judge: Judge) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, given] = next;
        try {
          await inWork((dir) => run(judge, dir, ...given));
        } catch (error) {
          waiting.length = 0;
          throw new Error(`Input ${index} of LMQ_TEST_SEED=${SEED} comes out differently.`, {
            cause: error,
          });
        }
      }
    };
    const ends = await Promise.allSettled(judges.map(work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };
}
