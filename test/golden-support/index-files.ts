// Files of the key index, as bytes and as entries.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

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
