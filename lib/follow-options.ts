/** What a follower is asked for, and what it gives. */
import { setMaxListeners } from 'node:events';
import { offsetOf, textOf } from './checks.ts';
import { rangeMistake, typeMistake } from './errors.ts';
import { groupOf } from './offsets.ts';
import type { QueueSource, ReadOptions } from './source.ts';
import type { StoredMessage } from './stored-message.ts';

export interface FollowOptions extends ReadOptions {
  /**
   * The offset to begin at, the first there is (default), the end at the time of the call, the
   * first message stored at or after a date (the end, if there is none yet), or where `group` is:
   * the default where a group is given.
   */
  readonly from?: number | bigint | 'first' | 'end' | 'committed' | Date | undefined;
  /**
   * A name for a position in the queue, which `batch.commit()` moves. One follower of this process
   * at a time: else STORE_GROUP_BUSY.
   */
  readonly group?: string | undefined;
  /** Where `from: 'committed'` begins as long as the group has no offset here. Default 'first'. */
  readonly orElse?: 'first' | 'end' | undefined;
  /** Deliver only what is on disk. */
  readonly durable?: boolean | undefined;
  /** Expired messages and damaged records: fail (default), or pass them and count them in `skipped`. */
  readonly onGap?: 'throw' | 'skip' | undefined;
  /** Ends waiting with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
  /** False: waiting does not keep the process alive. */
  readonly ref?: boolean | undefined;
}

export interface Batch {
  /** Empty where every message was filtered out. */
  readonly messages: StoredMessage[];
  /** Where to go on. */
  readonly nextOffset: number;
  /** Messages that were expired or damaged. */
  readonly skipped: number;
  /**
   * Notes that the group has done with this batch and all before it: its offset becomes
   * `nextOffset`. What is not committed comes again: at least once.
   */
  commit(): void;
}

export class FollowedBatch implements Batch {
  readonly messages: StoredMessage[];
  readonly nextOffset: number;
  readonly skipped: number;
  readonly #source: QueueSource;
  readonly #group: string | undefined;

  constructor(
    messages: StoredMessage[],
    nextOffset: number,
    skipped: number,
    source: QueueSource,
    group: string | undefined,
  ) {
    this.messages = messages;
    this.nextOffset = nextOffset;
    this.skipped = skipped;
    this.#source = source;
    this.#group = group;
  }

  commit(): void {
    if (this.#group === undefined) {
      throw typeMistake('STORE_INVALID_ARGUMENT', 'follow() was given no group to commit for.');
    }
    this.#source.commit(this.#group, this.nextOffset);
  }
}

export function followedGroup(group: unknown): string | undefined {
  return group === undefined ? undefined : groupOf(group);
}

/** Undefined: the first message, once there is one. */
export function positionOf(options: FollowOptions, source: QueueSource): number | undefined {
  const { group, orElse = 'first' } = options;
  const from = options.from ?? (group === undefined ? 'first' : 'committed');
  if (textOf(orElse, 'orElse') !== 'first' && orElse !== 'end') {
    throw rangeMistake('STORE_INVALID_ARGUMENT', "orElse must be 'first' or 'end'.");
  }
  if (from === 'committed') {
    if (group === undefined) {
      throw typeMistake('STORE_INVALID_ARGUMENT', "from: 'committed' needs a group.");
    }
    const committed = source.committed(group);
    if (committed !== undefined) return committed;
  }
  const place = from === 'committed' ? orElse : from;
  if (place === 'first') return undefined;
  if (place === 'end') return source.bounds().maxOffset;
  if (typeof place === 'string') {
    throw rangeMistake(
      'STORE_INVALID_ARGUMENT',
      "from must be an offset, 'first', 'end', 'committed' or a Date.",
    );
  }
  return offsetOf(place, 'from');
}

export function skipsGaps(onGap: unknown): boolean {
  if (onGap === undefined) return false;
  if (textOf(onGap, 'onGap') === 'throw' || onGap === 'skip') return onGap === 'skip';
  throw rangeMistake('STORE_INVALID_ARGUMENT', "onGap must be 'throw' or 'skip'.");
}

export function signalOf(signal: unknown): AbortSignal | undefined {
  if (signal === undefined) return signal;
  if (signal instanceof AbortSignal) {
    // One signal may end any number of followers: that is no leak to warn of.
    setMaxListeners(0, signal);
    return signal;
  }
  throw typeMistake('STORE_INVALID_ARGUMENT', 'signal must be an AbortSignal.');
}
