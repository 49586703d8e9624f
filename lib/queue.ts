/** A topic's queue or a light queue. Looking one up creates nothing. */
import { offsetOf } from './checks.ts';
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

  /** A page of messages from `offset` on, or the reason why there are none. */
  read(offset: number | bigint, options: ReadOptions = {}): ReadResult {
    const from = offsetOf(offset, 'offset', Number.MIN_SAFE_INTEGER);
    return this.#source.read(requestOf(this.#source.session, from, options));
  }

  /** Every message from a place on, and those still to come. Nothing is read before it is asked for. */
  follow(options: FollowOptions = {}): Follower {
    return new Follower(this.#source, options);
  }
}
