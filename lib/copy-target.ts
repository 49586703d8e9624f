/** A directory that appears at its name whole or not at all. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { textOf } from './checks.ts';
import { rangeMistake, StoreError, type StoreErrorCode } from './errors.ts';

const CODES: Record<string, StoreErrorCode> = {
  ENOSPC: 'STORE_DISK_FULL',
  EDQUOT: 'STORE_DISK_FULL',
  EACCES: 'STORE_PERMISSION',
  EPERM: 'STORE_PERMISSION',
  EROFS: 'STORE_PERMISSION',
  ENOENT: 'STORE_NOT_FOUND',
};

/** Node's errors of the file system, as ours. */
export function fromSystem(error: unknown): unknown {
  const { code = '', message, path, errno } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || error instanceof StoreError || errno === undefined) return error;
  const facts = { ...(path === undefined ? {} : { path }), errno: Math.abs(errno) };
  return new StoreError(CODES[code] ?? 'STORE_IO', message, facts);
}

/** Where a copy of the store in `source` goes: absent or an empty directory, and outside of it. */
async function targetOf(dir: unknown, source: string): Promise<string> {
  const target = resolve(textOf(dir, 'dir'));
  const refuse = (what: string) =>
    rangeMistake('STORE_INVALID_ARGUMENT', `The target directory ${what}.`, { path: target });
  if (dir === '') throw refuse('is not named');
  const way = relative(resolve(source), target);
  if (way === '' || !(way === '..' || way.startsWith('../'))) throw refuse('lies in the store');
  try {
    if ((await readdir(target)).length > 0) throw refuse('is not empty');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw refuse('is a file');
    if (code !== 'ENOENT') throw error;
    const parent = await stat(dirname(target));
    if (!parent.isDirectory()) throw refuse('has no directory to lie in');
  }
  return target;
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Writes a small file that is on disk when this resolves. */
export async function writeSynced(path: string, text: string): Promise<void> {
  const handle = await open(path, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await sync(dirname(path));
}

/** Writes a file that is at its name whole and on disk when this resolves, or not at all. */
export async function writeAside(path: string, parts: Iterable<Buffer>): Promise<void> {
  const aside = `${path}.unfinished`;
  try {
    const handle = await open(aside, 'w');
    try {
      for (const part of parts) await handle.writeFile(part);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
  await sync(dirname(path));
}

/**
 * Lets `fill` write a directory beside `dir`, and moves it there once it is whole and on disk. A
 * failure leaves nothing; a killed process leaves the directory beside, whose name says so.
 */
export async function copyInto<T>(
  dir: string,
  source: string,
  fill: (aside: string, target: string) => Promise<T>,
): Promise<T> {
  let aside: string | undefined;
  try {
    const target = await targetOf(dir, source);
    const name = `${basename(target)}.unfinished-${randomUUID()}`;
    await mkdir(join(dirname(target), name));
    aside = join(dirname(target), name);
    const result = await fill(aside, target);
    await sync(aside);
    await rename(aside, target); // over an empty directory too, never over one that is not
    await sync(dirname(target));
    return result;
  } catch (error) {
    if (aside !== undefined) await rm(aside, { recursive: true, force: true });
    throw fromSystem(error);
  }
}
