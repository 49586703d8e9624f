/** Following a queue: batches of what is there, then of what comes. */
import { setMaxListeners } from 'node:events';
import { flag, offsetOf, textOf, timeOf } from './checks.ts';
import { rangeMistake, StoreError, traceOf, typeMistake } from './errors.ts';
import type { ReadResult, Request } from './page.ts';
import { type QueueSource, type ReadOptions, requestOf } from './source.ts';
import type { StoredMessage } from './stored-message.ts';
import type { Waiter } from './waiters.ts';

export interface FollowOptions extends ReadOptions {
  /**
   * The offset to begin at, the first there is (default), the end at the time of the call, or the
   * first message stored at or after a date: the end, if there is none yet.
   */
  readonly from?: number | bigint | 'first' | 'end' | Date | undefined;
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
}

export class Follower implements AsyncIterableIterator<Batch> {
  readonly #source: QueueSource;
  readonly #request: Request;
  readonly #skipsGaps: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #ref: boolean;
  readonly #batches = this.#run();
  /** A date to begin at, as long as it has not been looked up. */
  #time: number | undefined;
  /** Undefined until the queue has a first message. */
  #position: number | undefined;
  #ended = false;
  #endWaiting: (() => void) | undefined;

  /** Made by `queue.follow()`. */
  constructor(source: QueueSource, options: FollowOptions) {
    const { session } = source;
    session.assertOpen();
    const request = requestOf(session, 0, options);
    this.#source = source;
    this.#request = {
      ...request,
      durable: flag(options.durable, 'durable', false) || request.durable,
    };
    this.#skipsGaps = skipsGaps(options.onGap);
    this.#signal = signalOf(options.signal);
    this.#ref = flag(options.ref, 'ref', true);
    if (options.from instanceof Date) this.#time = timeOf(options.from, 'from');
    else this.#position = positionOf(options.from, source);
  }

  next(): Promise<IteratorResult<Batch, void>> {
    return this.#batches.next();
  }

  /** Ends the loop, also while it waits. */
  return(): Promise<IteratorResult<Batch, void>> {
    this.#end();
    return this.#batches.return();
  }

  throw(error: unknown): Promise<IteratorResult<Batch, void>> {
    this.#end();
    return this.#batches.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** A generator queues calls of next() by itself; what it cannot do is end while it waits. */
  async *#run(): AsyncGenerator<Batch, void> {
    while (!this.#ended && !this.#source.session.closed) {
      this.#signal?.throwIfAborted();
      if (this.#time !== undefined) {
        await this.#lookUp(this.#time);
        continue;
      }
      const batch = this.#look();
      if (batch) yield batch;
      else if (!(await this.#more())) return;
    }
  }

  /** The place of a date. */
  async #lookUp(time: number): Promise<void> {
    // In a queue without messages it is before the first.
    if (this.#source.bounds().maxOffset > 0) {
      this.#position = await this.#source.offsetAt(time, false, traceOf(this.next));
    }
    this.#time = undefined;
  }

  /** One read; undefined if there is nothing new. */
  #look(): Batch | undefined {
    if (this.#position === undefined) {
      const { minOffset, maxOffset } = this.#source.bounds();
      if (maxOffset === 0) return undefined;
      this.#position = minOffset;
    }
    const position = this.#position;
    const result = this.#source.read({ ...this.#request, from: position });
    switch (result.status) {
      case 'FOUND':
      case 'NO_MATCHED_MESSAGE':
        return this.#batch(result, position, 0);
      case 'OFFSET_TOO_SMALL':
      case 'OFFSET_FOUND_NULL':
      case 'MESSAGE_WAS_REMOVING':
        if (result.nextOffset <= position) return undefined;
        return this.#batch(result, position, result.nextOffset - position);
      default:
        return undefined;
    }
  }

  /** `gone`: how many messages the read passed because they are no longer there. */
  #batch(result: ReadResult, position: number, gone: number): Batch {
    const { messages, nextOffset, damaged } = result;
    const bad = damaged?.[0];
    if (this.#skipsGaps) {
      this.#position = nextOffset;
      return { messages, nextOffset, skipped: damaged ? damaged.length : gone };
    }
    if (bad && bad.offset > position) {
      // What comes before the damage is delivered; the next look begins with the damage and fails.
      this.#position = bad.offset;
      const good = messages.filter((message) => message.offset < bad.offset);
      return { messages: good, nextOffset: bad.offset, skipped: 0 };
    }
    if (bad) throw this.#damage(bad.offset, bad.physicalOffset);
    if (gone > 0) throw this.#gap(position, nextOffset);
    this.#position = nextOffset;
    return { messages, nextOffset, skipped: 0 };
  }

  #damage(offset: number, at: number): StoreError {
    const { topic, queueId } = this.#source;
    return new StoreError(
      'STORE_CORRUPT_RECORD',
      `Message ${offset} of queue ${queueId} of ${topic}, at ${at} in the log, is damaged.`,
      { offset },
    );
  }

  #gap(offset: number, next: number): StoreError {
    const { topic, queueId } = this.#source;
    return new StoreError(
      'STORE_GAP',
      `Messages ${offset} to ${next - 1} of queue ${queueId} of ${topic} are no longer there.`,
      { offset, limit: next },
    );
  }

  /** Waits; false if the loop is to end. */
  #more(): Promise<boolean> {
    const { session, topic, queueId } = this.#source;
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        session.waiters.remove(waiter);
        signal?.removeEventListener('abort', abort);
        this.#endWaiting = undefined;
      };
      const waiter: Waiter = {
        topic,
        queueId,
        durable: this.#request.durable,
        ref: this.#ref,
        wake: (open) => {
          stop();
          resolve(open);
        },
        fail: (error) => {
          stop();
          reject(error);
        },
      };
      const abort = (): void => waiter.fail(signal?.reason);
      session.waiters.add(waiter);
      signal?.addEventListener('abort', abort);
      this.#endWaiting = () => waiter.wake(false);
    });
  }

  #end(): void {
    this.#ended = true;
    this.#endWaiting?.();
  }
}

function positionOf(
  from: Exclude<FollowOptions['from'], Date>,
  source: QueueSource,
): number | undefined {
  if (from === undefined || from === 'first') return undefined;
  if (from === 'end') return source.bounds().maxOffset;
  if (typeof from === 'string') {
    throw rangeMistake(
      'STORE_INVALID_ARGUMENT',
      "from must be an offset, 'first', 'end' or a Date.",
    );
  }
  return offsetOf(from, 'from');
}

function skipsGaps(onGap: unknown): boolean {
  if (onGap === undefined) return false;
  if (textOf(onGap, 'onGap') === 'throw' || onGap === 'skip') return onGap === 'skip';
  throw rangeMistake('STORE_INVALID_ARGUMENT', "onGap must be 'throw' or 'skip'.");
}

function signalOf(signal: unknown): AbortSignal | undefined {
  if (signal === undefined) return signal;
  if (signal instanceof AbortSignal) {
    // One signal may end any number of followers: that is no leak to warn of.
    setMaxListeners(0, signal);
    return signal;
  }
  throw typeMistake('STORE_INVALID_ARGUMENT', 'signal must be an AbortSignal.');
}
