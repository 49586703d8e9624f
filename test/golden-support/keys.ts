// Searches by key. The real store gives whatever has the hash and, by whole seconds, the time; we give
// what has the key and the time: what its records say.
import type { StoreReader } from '../../lib/index.ts';
import { type Opened, type Row, rowsOf } from './expected.ts';

interface Asked {
  readonly topic: string;
  readonly key: string;
  readonly maxNum: number;
  readonly begin: number;
  readonly end: number;
}

export interface FoundKeys extends Asked {
  /** Positions of the messages, rising. */
  readonly found: readonly number[];
}

/** All that is larger is the largest number that a double holds exactly. */
const time = (text: unknown) => Math.min(Number(text), Number.MAX_SAFE_INTEGER);

function askedOf(row: Row): Asked {
  const { topic, key, maxNum, begin, end } = row as unknown as Asked;
  return { topic, key, maxNum, begin: time(begin), end: time(end) };
}

/** Every message that has the key and lies in the time, or the newest of them. */
export function keysOfRecords(records: readonly Row[], keys: Opened['keys']): FoundKeys[] {
  return rowsOf(keys).map((row) => {
    const asked = askedOf(row);
    const found = records.filter((record) => has(record, asked)).map(positionOf);
    return { ...asked, found: found.slice(-asked.maxNum) };
  });
}

/** Their answers, each message once, without those that only have the hash. */
export function theirKeys(records: readonly Row[], keys: Opened['keys']): FoundKeys[] {
  const byPosition = new Map(records.map((row) => [positionOf(row), row]));
  return rowsOf(keys).map((row) => {
    const asked = askedOf(row);
    const positions = [...new Set(row['physicalOffsets'] as number[])];
    const found = positions.filter((at) => has(byPosition.get(at) ?? {}, asked));
    return { ...asked, found };
  });
}

export async function ourKeys(store: StoreReader, keys: Opened['keys']): Promise<FoundKeys[]> {
  const answers: FoundKeys[] = [];
  for (const row of rowsOf(keys)) {
    const asked = askedOf(row);
    const { topic, key, maxNum: max, begin, end } = asked;
    const positions = new Set<number>();
    // They look for both with one word.
    for (const what of [{ key }, { uniqueKey: key }]) {
      for await (const batch of store.find({ topic, ...what, begin, end, max })) {
        for (const { physicalOffset } of batch) positions.add(physicalOffset);
      }
    }
    const found = [...positions].sort((a, b) => a - b).slice(-max);
    answers.push({ ...asked, found });
  }
  return answers;
}

const positionOf = (record: Row) => record['physicalOffset'] as number;

function has(record: Row, { topic, key, begin, end }: Asked): boolean {
  const { keys = [], uniqueKey, storeTimestamp, sysFlag } = record as Record<string, unknown>;
  const rolledBack = ((sysFlag as number) & 0xc) === 0xc;
  return (
    !rolledBack &&
    record['topic'] === topic &&
    (uniqueKey === key || (keys as readonly string[]).includes(key)) &&
    (storeTimestamp as number) >= begin &&
    (storeTimestamp as number) <= end
  );
}
