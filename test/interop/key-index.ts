// The files of the key index, as they lie on disk (spec 5.8).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { Shape } from './inputs.ts';

export interface IndexFile {
  readonly bytes: Buffer;
  /** The hash of each entry's key and the position of its record. */
  readonly entries: readonly (readonly [hash: number, position: number])[];
}

const HEADER = 40;
const COUNT_AT = 36;
const SLOT = 4;
const ENTRY = 20;

/**
 * Oldest first: their names are times at which they were made. RocketMQ makes one for a message without
 * keys, too: files without entries are left out.
 */
export function indexOf(dir: string, { maxHashSlotNum }: Shape): IndexFile[] {
  const index = path.join(dir, 'index');
  const names = existsSync(index) ? readdirSync(index).sort() : [];
  const files = names.map((name) => {
    const bytes = readFileSync(path.join(index, name));
    const entries = Array.from({ length: bytes.readInt32BE(COUNT_AT) - 1 }, (_, number) => {
      const at = HEADER + SLOT * maxHashSlotNum + ENTRY * (number + 1);
      return [bytes.readInt32BE(at), Number(bytes.readBigInt64BE(at + 4))] as const;
    });
    return { bytes, entries };
  });
  return files.filter(({ entries }) => entries.length > 0);
}

/** By position of a record with a tag, the hash of its entry. */
export type TagEntries = ReadonlyMap<number, number>;

/**
 * The same bytes where no message has a tag. RocketMQ writes one more entry for a tag, behind those of
 * the message's keys; ours does not (docs/architecture.md). Then the others are the same, in the same
 * order.
 */
export function expectIndex(
  ours: readonly IndexFile[],
  theirs: readonly IndexFile[],
  tags: TagEntries,
): void {
  if (tags.size === 0) {
    expect(ours.length).toBe(theirs.length);
    for (const [index, { bytes }] of ours.entries()) {
      expect(bytes.equals(theirs[index]!.bytes), `index file ${index}`).toBe(true);
    }
    return;
  }
  const all = theirs.flatMap(({ entries }) => entries);
  const keys = all.filter(([hash, position], number) => {
    return tags.get(position) !== hash || all[number + 1]?.[1] === position;
  });
  expect(ours.flatMap(({ entries }) => entries)).toEqual(keys);
}
