// Directories of a test file, and what lies in them.
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll } from 'vitest';

/** Gives names for directories that are not there yet; whatever is put there is gone after the test file. */
export function freshDirectories(): (name?: string) => string {
  const work = mkdtempSync(path.join(tmpdir(), 'lmq-test-'));
  afterAll(() => rmSync(work, { recursive: true, force: true }), 60_000);
  let count = 0;
  return (name = 'store') => path.join(work, `${count++}-${name}`);
}

export const nameOfFile = (base: number): string => String(base).padStart(20, '0');
export const logFile = (dir: string, base = 0): string =>
  path.join(dir, 'commitlog', nameOfFile(base));
export const queueFile = (dir: string, topic: string, queueId = 0, base = 0): string =>
  path.join(dir, 'consumequeue', topic, String(queueId), nameOfFile(base));

/** Overwrites bytes of a file in place, also of one that a store has mapped. */
export function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

/** Turns one bit of a file round. */
export function flipBit(file: string, at: number): void {
  const byte = readFileSync(file)[at];
  if (byte === undefined) throw new RangeError(`${file} ends before ${at}`);
  overwrite(file, at, Uint8Array.of(byte ^ 1));
}

function entriesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
}

function checksumOf(file: string): number {
  return crc32(readFileSync(file));
}

/** Everything below a directory that a program could have changed: names, contents, inodes and times. */
export function treeOf(dir: string): string[] {
  return ['.', ...entriesBelow(dir)].map((name) => {
    const file = path.join(dir, name);
    const { size, mode, ino, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    const checksum = statSync(file).isFile() ? checksumOf(file) : '';
    return [name, size, mode, ino, mtimeNs, ctimeNs, checksum].join(' ');
  });
}

/** Names and contents of the files below a directory. */
export function contentOf(dir: string): Record<string, number> {
  if (!existsSync(dir)) return {};
  const files = entriesBelow(dir).filter((name) => statSync(path.join(dir, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, checksumOf(path.join(dir, name))]));
}
