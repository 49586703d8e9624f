// Files of the key index, as bytes and as entries. The real store also enters the tags of a message,
// as topic#T#tags; we do not.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Row } from './expected.ts';

const HEADER = 40;
const ENTRY = 20;

export interface KeyEntry {
  readonly hash: number;
  readonly physicalOffset: number;
}

/** Contents by age; names are times of the day on which a file was made. */
export function indexFiles(dir: string): Buffer[] {
  const index = path.join(dir, 'index');
  if (!existsSync(index)) return [];
  return readdirSync(index)
    .sort()
    .map((name) => readFileSync(path.join(index, name)));
}

export function entriesOf(files: readonly Buffer[], slots: number): KeyEntry[] {
  return files.flatMap((file) => {
    const entries: KeyEntry[] = [];
    for (let number = 1; number < file.readInt32BE(36); number++) {
      const at = HEADER + 4 * slots + ENTRY * number;
      const physicalOffset = Number(file.readBigInt64BE(at + 4));
      entries.push({ hash: file.readInt32BE(at), physicalOffset });
    }
    return entries;
  });
}

/** The hashes that the tags of these records have in the real store's index. */
export function tagHashes(records: readonly Row[]): Set<number> {
  const tagged = records.flatMap((row) => {
    const properties = row['properties'] as [string, string][];
    const tags = properties.find(([name]) => name === 'TAGS')?.[1];
    return tags ? [hashOf(`${row['topic']}#T#${tags}`)] : [];
  });
  return new Set(tagged);
}

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash === -2147483648 ? 0 : Math.abs(hash);
}
