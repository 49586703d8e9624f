/** A topic's queue or a light queue. Looking one up creates nothing. */
import { offsetOf, textOf, timeOf } from './checks.ts';
import { rangeMistake, traceOf } from './errors.ts';
import { Follower, type FollowOptions } from './follow.ts';
import type { ReadResult } from './page.ts';
import { type QueueSource, type ReadOptions, requestOf } from './source.ts';

export class Queue {
  /** The topic; of a light queue, its full name. */
  readonly topic: string;
  readonly queueId: number;
  readonly #source: QueueSource;

  /** Made by a store alone. */
  constructor(source: QueueSource) {
    this.topic = source.topic;
    this.queueId = source.queueId;
    this.#source = source;
  }

  /** The first offset that there is; 0 where the queue is unknown. */
  get minOffset(): number {
    return this.#source.bounds().minOffset;
  }

  /** One past the last offset; 0 where the queue is unknown. */
  get maxOffset(): number {
    return this.#source.bounds().maxOffset;
  }

  /** The store timestamp of the first message, in ms; undefined where there is no message. */
  get earliestTime(): number | undefined {
    return this.#source.times().earliest;
  }

  /** The store timestamp of the last message, in ms; undefined where there is no message. */
  get latestTime(): number | undefined {
    return this.#source.times().latest;
  }

  /**
   * An offset by store time (ms since 1970, or a Date). `'lower'` (the default): the first message
   * stored at or after it, `maxOffset` if there is none. `'upper'`: the last message stored at or
   * before it, `minOffset` if there is none. Looks off the event loop.
   */
  async offsetAt(timestamp: number | Date, bound: 'lower' | 'upper' = 'lower'): Promise<number> {
    const time = timeOf(timestamp, 'timestamp');
    if (textOf(bound, 'bound') !== 'lower' && bound !== 'upper') {
      throw rangeMistake('STORE_INVALID_ARGUMENT', "bound must be 'lower' or 'upper'.");
    }
    return this.#source.offsetAt(time, bound === 'upper', traceOf(this.offsetAt));
  }

  /** A page of messages from `offset` on, or the reason why there are none. */
  read(offset: number | bigint, options: ReadOptions = {}): ReadResult {
    const from = offsetOf(offset, 'offset', Number.MIN_SAFE_INTEGER);
    return this.#source.read(requestOf(this.#source.session, from, options));
  }

  /**
   * The same page, read and checked off the event loop: for messages that may not be in memory, and
   * for large ones. Any number at once; each shows what there was at some time during the call.
   */
  async readAsync(offset: number | bigint, options: ReadOptions = {}): Promise<ReadResult> {
    const from = offsetOf(offset, 'offset', Number.MIN_SAFE_INTEGER);
    const request = requestOf(this.#source.session, from, options);
    return this.#source.readAsync(request, traceOf(this.readAsync));
  }

  /** Every message from a place on, and those still to come. Nothing is read before it is asked for. */
  follow(options: FollowOptions = {}): Follower {
    return new Follower(this.#source, options);
  }
}
