/** Following a queue: batches of what is there, then of what comes. */
import { flag, timeOf } from './checks.ts';
import { StoreError, traceOf } from './errors.ts';
import {
  type Batch,
  FollowedBatch,
  type FollowOptions,
  followedGroup,
  positionOf,
  signalOf,
  skipsGaps,
} from './follow-options.ts';
import type { ReadResult, Request } from './page.ts';
import { type QueueSource, requestOf } from './source.ts';
import type { Waiter } from './waiters.ts';

export class Follower implements AsyncIterableIterator<Batch> {
  readonly #source: QueueSource;
  readonly #request: Request;
  readonly #skipsGaps: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #ref: boolean;
  readonly #group: string | undefined;
  readonly #batches = this.#run();
  /** A date to begin at, as long as it has not been looked up. */
  #time: number | undefined;
  /** Undefined until the queue has a first message. */
  #position: number | undefined;
  #ended = false;
  #endWaiting: (() => void) | undefined;
  #release: (() => void) | undefined;

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
    this.#group = followedGroup(options.group);
    if (options.from instanceof Date) this.#time = timeOf(options.from, 'from');
    else this.#position = positionOf(options, source);
    // Last: from here on the group is taken.
    if (this.#group !== undefined) this.#release = source.follow(this.#group);
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
    try {
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
    } finally {
      this.#release?.();
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
      return this.#made(messages, nextOffset, damaged ? damaged.length : gone);
    }
    if (bad && bad.offset > position) {
      // What comes before the damage is delivered; the next look begins with the damage and fails.
      this.#position = bad.offset;
      const good = messages.filter((message) => message.offset < bad.offset);
      return this.#made(good, bad.offset, 0);
    }
    if (bad) throw this.#damage(bad.offset, bad.physicalOffset);
    if (gone > 0) throw this.#gap(position, nextOffset);
    this.#position = nextOffset;
    return this.#made(messages, nextOffset, 0);
  }

  #made(messages: Batch['messages'], nextOffset: number, skipped: number): Batch {
    return new FollowedBatch(messages, nextOffset, skipped, this.#source, this.#group);
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
    this.#release?.();
    this.#endWaiting?.();
  }
}
