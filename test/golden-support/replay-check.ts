// A replay held against what the real store answered and wrote.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { LMQ_PREFIX } from '../../lib/lmq.ts';
import type { Answers, Expected, FoundQueue, Row, Unit } from './expected.ts';
import { entriesOf, indexFiles } from './index-files.ts';
import { lightQueuesIn, unitsInFiles } from './queue-files.ts';
import type { Replayed } from './replay.ts';
import type { ReplayDeviation } from './replay-deviations.ts';
import { countedFiles } from './stores.ts';
import { theirAnswers } from './theirs.ts';

const OFFSETS = 'INNER_MULTI_QUEUE_OFFSET';

export class ReplayCheck {
  readonly #name: string;
  readonly #ours: Replayed;
  readonly #theirs: Answers | undefined;
  readonly #deviation: Omit<ReplayDeviation, 'row' | 'why'>;
  readonly #others: Readonly<Record<number, string>>;
  /** From this put on records differ by decision. */
  readonly #from: number;

  constructor(name: string, expected: Expected, ours: Replayed, deviation?: ReplayDeviation) {
    this.#name = name;
    this.#ours = ours;
    this.#theirs = expected.opened.loaded ? theirAnswers(expected.opened) : undefined;
    this.#deviation = deviation ?? {};
    this.#others = this.#deviation.others ?? {};
    this.#from = this.#deviation.from ?? Number.POSITIVE_INFINITY;
  }

  results(): void {
    for (const [index, { ours, theirs }] of this.#ours.results.entries()) {
      const put = `put ${index}`;
      const other = this.#others[index];
      if (other !== undefined) {
        expect.soft(outcome(ours), put).toBe(other);
        expect.soft(outcome(theirs), put).not.toBe(other);
      } else if (index < this.#from) {
        expect.soft(ours, put).toEqual(theirs);
      } else {
        expect.soft(outcome(ours), put).toBe(outcome(theirs));
      }
    }
  }

  /** The same bytes, up to the end of the last record that both have stored alike. */
  log(dir: string, theirDir: string): void {
    // Killed, the real store left the next file as it made it: zeros.
    const theirs = filesBelow('commitlog', theirDir).filter(
      (file) => !this.#ours.killed || readFileSync(path.join(theirDir, file)).some(Boolean),
    );
    const ours = filesBelow('commitlog', dir);
    const end = this.#whole ? undefined : this.#commonEnd();
    if (this.#whole) expect.soft(ours).toEqual(theirs);
    for (const file of ours) {
      const length = end === undefined ? undefined : Math.max(0, end - Number(path.basename(file)));
      const [mine, other] = [dir, theirDir].map((root) => readFileSync(path.join(root, file)));
      const same = mine!.subarray(0, length).equals(other!.subarray(0, length));
      expect.soft(same, file).toBe(true);
      if (end !== undefined && length! < mine!.length) break;
    }
  }

  /** Queues of topics: the same files with the same bytes, or units where one of the two has less. */
  queues(dir: string, theirDir: string): void {
    if (this.#from < Number.POSITIVE_INFINITY) return;
    const ours = filesBelow('consumequeue', dir);
    if (!this.#whole || this.#deviation.shortQueues || this.#name === 'cq-ext') {
      for (const queue of new Set(ours.map((file) => path.dirname(file)))) {
        this.#units(queue, dir, theirDir);
      }
      return;
    }
    const theirs = filesBelow('consumequeue', theirDir);
    expect.soft(ours).toEqual(theirs);
    for (const file of ours) {
      const [mine, other] = [dir, theirDir].map((root) => readFileSync(path.join(root, file)));
      expect.soft(mine!.equals(other!), file).toBe(true);
    }
  }

  /** The key index: the same bytes. */
  keys(dir: string, theirDir: string, slots: number): void {
    const [ours, theirs] = [indexFiles(dir), indexFiles(theirDir)];
    const entries = entriesOf(theirs, slots);
    if (!this.#whole || entries.length === 0) return;
    if (this.#ours.killed) {
      // The real store drops its newest file after a kill, and enters again only what it recovers.
      expect.soft(entriesOf(ours, slots).slice(-entries.length)).toEqual(entries);
      return;
    }
    expect.soft(ours.length, 'index files').toBe(theirs.length);
    for (const [index, file] of ours.entries()) {
      expect.soft(file.equals(theirs[index] ?? Buffer.of()), `index file ${index}`).toBe(true);
    }
  }

  #units(queue: string, dir: string, theirDir: string): void {
    const [, topic, id] = queue.split('/') as [string, string, string];
    const [mine, other] = [dir, theirDir].map((root) => unitsInFiles(root, topic, Number(id)));
    const [less, more] = this.#whole ? [other!, mine!] : [mine!, other!];
    expect.soft(less, queue).toEqual(more.slice(0, less.length));
    if (!this.#deviation.shortQueues && this.#whole) expect.soft(mine, queue).toEqual(other);
  }

  /** From the first decision of our own on: record by record without positions. */
  records(): void {
    if (this.#from === Number.POSITIVE_INFINITY) return;
    const alone = (side: 'ours' | 'theirs') =>
      Object.keys(this.#others).map(
        (put) => this.#ours.results[Number(put)]?.[side]['physicalOffset'],
      );
    const both = (rows: readonly Row[], side: 'ours' | 'theirs') =>
      rows
        .filter((row) => !alone(side).includes(row['physicalOffset']))
        .slice(0, this.#deviation.readable)
        .map(withoutPositions);
    const theirs = both(this.#theirs!.records, 'theirs');
    expect.soft(both(this.#ours.records, 'ours')).toEqual(theirs);
    expect(theirs.length).toBeGreaterThan(0);
  }

  /** Light queues by their units; where positions differ, by the puts that are in them. */
  light(theirDir: string): void {
    const { light } = this.#deviation;
    const queues = this.#theirs?.queues ?? lightQueuesIn(theirDir);
    const theirs = queues.filter(({ topic }) => topic.startsWith(LMQ_PREFIX));
    if (light !== undefined || this.#from < Number.POSITIVE_INFINITY) {
      const puts = light ?? byName(theirs, (units) => this.#putsOf(units, 'theirs'));
      expect.soft(byName(this.#ours.light, (units) => this.#putsOf(units, 'ours'))).toEqual(puts);
      return;
    }
    // What was cut from the log or removed by hand has left the queues as well.
    const { min, max } = this.#theirs?.log ?? { min: 0, max: Number.POSITIVE_INFINITY };
    const left = (units: readonly Unit[]) =>
      units.filter(({ physicalOffset }) => physicalOffset >= min && physicalOffset < max);
    const ours = byName(this.#ours.light, left);
    expect.soft(ours).toEqual(byName(theirs, (units) => units));
  }

  /** Which puts the units stand for, without those that only one of the two took. */
  #putsOf(units: readonly Unit[], side: 'ours' | 'theirs'): number[] {
    const positions = this.#ours.results.map((result) => result[side]['physicalOffset']);
    const puts = units.map((unit) => positions.indexOf(unit.physicalOffset));
    return side === 'ours' ? puts : puts.filter((put) => this.#others[put] === undefined);
  }

  get #whole(): boolean {
    return this.#from === Number.POSITIVE_INFINITY;
  }

  #commonEnd(): number {
    const { results } = this.#ours;
    const last = results[Math.min(this.#from, results.length) - 1]?.ours as
      | { physicalOffset: number; size: number }
      | undefined;
    return last === undefined ? 0 : last.physicalOffset + last.size;
  }
}

/** What `of` makes of the units of each queue; queues without any left out. */
function byName<T>(
  queues: readonly FoundQueue[],
  of: (units: readonly Unit[]) => readonly T[],
): Record<string, readonly T[]> {
  const found = queues.map(({ topic, units }) => [topic, of(units)] as const);
  return Object.fromEntries(found.filter(([, units]) => units.length > 0));
}

function outcome(row: Row): unknown {
  return row['refused'] ?? row['putStatus'];
}

/** Files with content below a directory of the store, light queues apart. */
function filesBelow(name: string, dir: string): string[] {
  return countedFiles(dir)
    .filter(([file, size]) => size > 0 && file.startsWith(`${name}/`))
    .map(([file]) => file);
}

function withoutPositions(row: Row): Row {
  const { physicalOffset, size, queueOffset, msgId, rawProperties, tagsCode, ...rest } = row;
  const listed = (key: string) =>
    (rest[key] as [string, unknown][]).filter(([name]) => name !== OFFSETS);
  return { ...rest, properties: listed('properties'), shown: listed('shown') };
}
