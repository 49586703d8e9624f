/** Derived files made anew from the commit log. */
import { type MessageStoreOptions, resolveConfig } from './config.ts';
import { converted, type Trace, typeMistake } from './errors.ts';
import { addon, type NativeEvent, type RecoveryReport } from './native.ts';

export interface RebuildProgress {
  /** Bytes of the log that were dispatched, of how many. */
  readonly position: number;
  readonly total: number;
}

export interface RebuildOptions {
  /** The consume queues of topics too, not just the index of light queues. */
  readonly consumeQueues?: boolean | undefined;
  readonly onProgress?: ((progress: RebuildProgress) => void) | undefined;
}

export async function rebuild(
  given: string | MessageStoreOptions,
  { consumeQueues = false, onProgress }: RebuildOptions,
  trace: Trace,
): Promise<RecoveryReport> {
  if (typeof consumeQueues !== 'boolean') {
    throw typeMistake('STORE_INVALID_ARGUMENT', 'consumeQueues must be true or false.');
  }
  const { native } = resolveConfig(given, false);
  const told = (event: NativeEvent) => {
    if (event.event === 'progress') onProgress?.({ position: event.position, total: event.total });
  };
  try {
    const options = { ...native, rebuild: true, rebuildQueues: consumeQueues };
    const store = await addon.openStore(options, told);
    const { recovery } = store;
    await store.close();
    return recovery;
  } catch (error) {
    throw converted(error, trace);
  }
}
