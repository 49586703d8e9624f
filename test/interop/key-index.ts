// The files of the key index, as they lie on disk (spec 5.8).
import { expect } from 'vitest';
import { indexFiles } from '../golden-support/index-files.ts';

const COUNT_AT = 36;

/**
 * Oldest first: their names are times at which they were made. RocketMQ makes one for a message without
 * keys, too: files without entries are left out.
 */
export const indexOf = (dir: string): Buffer[] =>
  indexFiles(dir).filter((bytes) => bytes.readInt32BE(COUNT_AT) > 1);

/** The same bytes. */
export function expectIndex(ours: readonly Buffer[], theirs: readonly Buffer[]): void {
  expect(ours.length).toBe(theirs.length);
  for (const [index, bytes] of ours.entries()) {
    expect(bytes.equals(theirs[index]!), `index file ${index}`).toBe(true);
  }
}
