/**
 * A `broker.conf` as a source of options. Keys of RocketMQ's store that are options here count where
 * the caller gives no value; all others are named in a report, and stop nothing.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseLines } from 'dot-properties';
import { rangeMistake, StoreError, typeMistake } from './errors.ts';
import { OPTIONS } from './options.ts';
import { rocketMqStoreKeys } from './rocketmq-keys.ts';

/** A key of a `broker.conf` that was left out of account, and why. */
export interface ConfNote {
  readonly key: string;
  readonly value: string;
  readonly message: string;
}

/** What became of a `broker.conf`. */
export interface ConfReport {
  /** The file. */
  readonly path: string;
  /** Options that it set. */
  readonly applied: Readonly<Record<string, string | number | boolean>>;
  readonly notes: readonly ConfNote[];
}

interface Source extends ConfReport {
  /** The store's directory: the caller's, else the file's storePathRootDir. */
  readonly root: string;
}

/** Larger than any that a person wrote. */
const MOST_BYTES = 1 << 20;
const CODE = 'STORE_INVALID_ARGUMENT';

/** Keys that are options here, and whose value in a file does not count. */
const DECIDED: Readonly<Record<string, string>> = {
  maxLmqConsumeQueueNum: 'only a value given in code limits the number of light queues',
};

/** Reads `file` for a store whose caller gave `options`, and perhaps the directory `path`. */
export function readConf(
  file: string,
  path: string | undefined,
  options: Readonly<Record<string, unknown>>,
): Source {
  const pairs = pairsOf(file);
  const stated = pairs.get('storePathRootDir');
  const given = path ?? stated;
  if (!given) throw typeMistake(CODE, `There is no path, and ${file} names no storePathRootDir.`);
  const root = resolve(given);
  // The paths of a file belong together: one for another directory is not mixed into this one.
  const sameRoot = stated !== undefined && resolve(stated) === root;
  const applied: Record<string, string | number | boolean> = {};
  const notes: ConfNote[] = [];
  for (const [key, value] of pairs) {
    const why = reason(key, value, sameRoot, options);
    if (why !== undefined) notes.push({ key, value, message: `${key} was not applied: ${why}.` });
    else if (key !== 'storePathRootDir') applied[key] = typedValue(file, key, value);
  }
  return { path: resolve(file), root, applied, notes };
}

/** Why a key does not count; undefined if it does. */
function reason(
  key: string,
  value: string,
  sameRoot: boolean,
  options: Readonly<Record<string, unknown>>,
): string | undefined {
  if (!rocketMqStoreKeys.has(key)) return 'it is no key of RocketMQ’s store';
  if (key === 'storePathRootDir') return sameRoot ? undefined : 'the path given in code wins';
  if (key === 'storePathCommitLog' && !sameRoot)
    return 'it belongs to the storePathRootDir of the file';
  if (options[key] !== undefined) return 'the value given in code wins';
  if (key === 'readOnlyCommitLogStorePaths' && value !== '')
    throw new StoreError('STORE_UNSUPPORTED', `${key}=${value}: the log must be one directory.`);
  if (Object.hasOwn(DECIDED, key)) return DECIDED[key];
  return Object.hasOwn(OPTIONS, key) ? undefined : 'it has no meaning for this store';
}

/** A value of the option's type within its bounds, or a refusal that names the key, the value and the bounds. */
function typedValue(file: string, key: string, value: string): string | number | boolean {
  const option = OPTIONS[key as keyof typeof OPTIONS];
  const plain = value.trim();
  const typed =
    option.type === 'number' && /^[+-]?\d+$/.test(plain)
      ? Number(plain)
      : option.type === 'boolean' && /^(true|false)$/i.test(plain)
        ? plain.toLowerCase() === 'true'
        : value;
  if (typeof typed === option.type && option.accepts(typed)) return typed;
  throw rangeMistake(CODE, `${file}: ${key}=${value}, but ${key} must be ${option.rule}.`);
}

/** The pairs of a file in Java's properties format, here in UTF-8; the last of equal keys counts. */
function pairsOf(file: string): Map<string, string> {
  if (typeof file !== 'string') throw typeMistake(CODE, 'conf must be a string.');
  if (file === '' || file.includes('\0')) throw rangeMistake(CODE, 'conf must name a file.');
  const path = resolve(file);
  let text: string;
  try {
    const facts = statSync(path);
    if (!facts.isFile() || facts.size > MOST_BYTES)
      throw rangeMistake(CODE, 'conf must name a file of at most 1 MiB.');
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(error as NodeJS.ErrnoException, path);
  }
  const lines = parseLines(text.replace(/^\uFEFF/, ''));
  return new Map(lines.filter((line) => Array.isArray(line)) as [string, string][]);
}

function unreadable(error: NodeJS.ErrnoException, path: string): Error {
  if (error.syscall === undefined) return error;
  const code =
    error.code === 'ENOENT' || error.code === 'ENOTDIR'
      ? 'STORE_NOT_FOUND'
      : error.code === 'EACCES' || error.code === 'EPERM'
        ? 'STORE_PERMISSION'
        : 'STORE_IO';
  const errno = Math.abs(error.errno ?? 0);
  return new StoreError(code, `The conf ${path} cannot be read.`, { path, errno });
}
