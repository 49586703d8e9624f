/** Copies of a store while it is used: the steps that native takes, and snapshots. */
import { copyInto } from './copy-target.ts';
import { StoreError, type Trace } from './errors.ts';
import type { NativeExportKind, NativeExportStep } from './native.ts';
import type { Session } from './session.ts';

export interface CopyProgress {
  /** Bytes of the log that were copied and checked, of how many. */
  readonly position: number;
  readonly total: number;
  /** Entries of queues that were written so far; a snapshot copies their files as they are. */
  readonly units: number;
}

export interface CopyOptions {
  /** Ends the copy between two steps; the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CopyProgress) => void) | undefined;
}

export interface SnapshotReport {
  readonly path: string;
  /** The range of the commit log that the copy holds. */
  readonly logMin: number;
  readonly logEnd: number;
  readonly logFiles: number;
}

/** Native has one copy at a time. */
const running = new WeakSet<Session>();

/** All the steps of a copy; `finish` gets what the last one tells, while native still has the copy. */
export async function copySteps<T>(
  session: Session,
  kind: NativeExportKind,
  target: string,
  { signal, onProgress }: CopyOptions,
  finish: (last: NativeExportStep) => T | Promise<T>,
): Promise<T> {
  if (running.has(session)) {
    throw new StoreError('STORE_BUSY', 'Another snapshot or export of this store is under way.');
  }
  running.add(session);
  try {
    session.native.exportBegin(kind, target);
    for (;;) {
      signal?.throwIfAborted();
      if (kind !== 'inPlace') session.assertOpen(); // which closes the store by itself
      const step = await session.native.exportStep();
      const { position, total, units } = step;
      onProgress?.({ position, total, units });
      if (step.done) return await finish(step);
    }
  } finally {
    session.native.exportEnd();
    running.delete(session);
  }
}

export function snapshot(
  session: Session,
  dir: string,
  options: CopyOptions,
  trace: Trace,
): Promise<SnapshotReport> {
  const work = copyInto(dir, session.config.native.path, (aside, path) =>
    copySteps(session, 'snapshot', aside, options, ({ logMin, logEnd, logFiles }) => ({
      path,
      logMin,
      logEnd,
      logFiles,
    })),
  );
  return session.hold(work, trace);
}
