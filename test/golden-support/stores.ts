// The folders of test/golden: what is in them, unpacked for one test.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Expected } from './expected.ts';

const golden = fileURLToPath(new URL('../golden/', import.meta.url));

/** Written by a whole broker, and of another form than the rest. */
export const BROKER = 'broker-dir';

export const storeNames = readdirSync(golden, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== BROKER)
  .map((entry) => entry.name)
  .sort();

export function fileOf(store: string, name: string): string {
  return path.join(golden, store, name);
}

export function expectedOf(store: string): Expected {
  return JSON.parse(readFileSync(fileOf(store, 'expected.json'), 'utf8'));
}

/** Unpacks an archive of a store for the running test; the directory of the store. */
export function unpack(store: string, archive = 'store.tar.gz'): string {
  const dir = workDirectory(store);
  execFileSync('tar', ['-xmzf', fileOf(store, archive), '-C', dir]);
  return store === BROKER ? dir : path.join(dir, 'store');
}

const ROOM = 1 << 30;

/** In memory where there is room: hundreds of stores are opened, and each of them syncs its files. */
function workRoot(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > ROOM ? memory : tmpdir();
}

/** A directory that is gone after the running test. */
export function workDirectory(store: string): string {
  const dir = mkdtempSync(path.join(workRoot(), `lmq-golden-${store}-`));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Names, sizes, times and contents of everything below a directory. */
export function treeOf(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { size, mtimeNs, ctimeNs, mode, ino } = statSync(path.join(dir, name), {
        bigint: true,
      });
      const isFile = (mode & 0o170000n) === 0o100000n;
      const bytes = isFile ? readFileSync(path.join(dir, name)) : '';
      const hash = createHash('sha1').update(bytes).digest('hex');
      return [name, size, mtimeNs, ctimeNs, mode, ino, hash].join(' ');
    });
}

/** Files below a directory with their sizes, as the golden stores list them. */
export function filesOf(dir: string): [name: string, size: number][] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file): [string, number] => [path.relative(dir, file), statSync(file).size])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The log and the queues of topics are kept as the real store keeps them; other files are our own. */
export function isCounted(name: string): boolean {
  return name.startsWith('commitlog/') || /^consumequeue\/(?!%LMQ%)/.test(name);
}

export function countedFiles(dir: string): [name: string, size: number][] {
  return filesOf(dir).filter(([name]) => isCounted(name));
}
