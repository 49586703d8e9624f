/** A topic's queue or a light queue. Looking one up creates nothing. */
import { offsetOf, textOf, timeOf } from './checks.ts';
import { rangeMistake, traceOf } from './errors.ts';
import { Follower } from './follow.ts';
import type { FollowOptions } from './follow-options.ts';
import { groupOf } from './offsets.ts';
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

  /**
   * Notes where a group is: `offset` is that of the next message it will take, from 0 to
   * `maxOffset`; going back is allowed. When this returns it survives the end of the process, and
   * it is on disk within `flushIntervalCommitLog`. Throws STORE_OFFSET_TOO_LARGE beyond the end,
   * STORE_INVALID_GROUP for a name that RocketMQ would not take, STORE_READ_ONLY in a reader.
   */
  commit(group: string, offset: number | bigint): void {
    this.#source.commit(groupOf(group), offsetOf(offset, 'offset'));
  }

  /** Where a group is; undefined if it has committed nothing here. */
  committed(group: string): number | undefined {
    return this.#source.committed(textOf(group, 'group'));
  }

  /** How many messages are still there for a group: all of them, if it has committed nothing here. */
  lag(group: string): number {
    const committed = this.committed(group) ?? 0;
    const { minOffset, maxOffset } = this.#source.bounds();
    return Math.max(0, maxOffset - Math.max(committed, minOffset));
  }

  /** Every message from a place on, and those still to come. Nothing is read before it is asked for. */
  follow(options: FollowOptions = {}): Follower {
    return new Follower(this.#source, options);
  }
}
