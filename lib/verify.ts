/** Verification of a whole store, in steps that leave the event loop free. */
import { StoreError, type Trace } from './errors.ts';
import type { NativeFault } from './native.ts';
import type { Session } from './session.ts';

/** Something that is wrong in a file. */
export type Fault = Readonly<NativeFault>;

export interface VerifyProgress {
  /** Bytes of the log that were checked, of how many. */
  readonly position: number;
  readonly total: number;
  readonly records: number;
  /** Entries of topic queues and of light queues. */
  readonly units: number;
}

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined;
}

/** The newest run of each store: native has one at a time. */
const runs = new WeakMap<Session, object>();

export async function* verification(
  session: Session,
  options: VerifyOptions,
  trace: Trace,
): AsyncGenerator<Fault, void> {
  const { signal, onProgress } = options;
  const run = {};
  runs.set(session, run);
  for (let restart = true; ; restart = false) {
    signal?.throwIfAborted();
    session.assertOpen();
    if (runs.get(session) !== run) {
      throw new StoreError('STORE_BUSY', 'A later verification took the place of this one.');
    }
    const { faults, done, ...progress } = await session.hold(
      session.native.verifyStep(restart),
      trace,
    );
    onProgress?.(progress);
    yield* faults;
    if (done) return;
  }
}
