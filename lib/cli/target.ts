/** The store that a command is about: DIR, a broker.conf, or both. */
import { resolveConfig } from '../config.ts';
import { isStoreError } from '../errors.ts';
import { UsageError } from './output.ts';

/** What `MessageStore.open` and `openReader` take. */
export interface Target {
  readonly path: string;
  readonly conf?: string;
}

export function targetOf(dir: string | undefined, conf: string | undefined): Target {
  if (dir === '') throw new UsageError('DIR is empty');
  if (conf === undefined) return { path: dir! };
  try {
    // What is wrong with the file is wrong usage, before anything is opened.
    const { path } = resolveConfig({ path: dir, conf }, true).native;
    return { path: dir ?? path, conf };
  } catch (error) {
    if (isStoreError(error, 'STORE_INVALID_ARGUMENT')) throw new UsageError(error.message);
    throw error;
  }
}
