/** Where a queue's messages come from, for a queue that is read and for one that is followed. */
import { count, flag } from './checks.ts';
import { asking, type Trace } from './errors.ts';
import { type ReadResult, type Request, resultOfPage } from './page.ts';
import type { Session } from './session.ts';
import { tagFilter } from './subscription.ts';

export interface ReadOptions {
  /** Default 32. The store's transfer limits hold besides. */
  readonly maxMessages?: number | undefined;
  /** Default 256 KiB. The first message is read whatever its size. */
  readonly maxBytes?: number | undefined;
  /** '*' (the default) or tags such as 'A || B'. */
  readonly tags?: string | undefined;
  /** What `tags` is, in RocketMQ's words. 'SQL92' is refused with STORE_UNSUPPORTED. */
  readonly expressionType?: 'TAG' | 'SQL92' | undefined;
  /** Default: the store's option. */
  readonly verify?: boolean | undefined;
}

/** Options of a read or a follower, decided. */
export function requestOf(session: Session, from: number, options: ReadOptions): Request {
  const { config } = session;
  return {
    from,
    maxMessages: count(options.maxMessages, 'maxMessages', 32),
    maxBytes: count(options.maxBytes, 'maxBytes', 256 * 1024),
    tags: tagFilter(options.tags, options.expressionType),
    verify: flag(options.verify, 'verify', config.verify),
    durable: config.flushDiskType === 'SYNC_FLUSH',
  };
}

const UNKNOWN: ReadResult = Object.freeze({
  status: 'NO_MESSAGE_IN_QUEUE',
  messages: [],
  nextOffset: 0,
  minOffset: 0,
  maxOffset: 0,
});

/** A queue's session and its number in native, once it has one. */
export class QueueSource {
  readonly session: Session;
  readonly topic: string;
  readonly queueId: number;
  readonly #lightQueue: boolean;
  #number = -1;
  #generation = 0;

  constructor(session: Session, topic: string, queueId: number, lightQueue: boolean) {
    this.session = session;
    this.topic = topic;
    this.queueId = queueId;
    this.#lightQueue = lightQueue;
  }

  bounds(): { minOffset: number; maxOffset: number } {
    return this.session.pages.bounds(this.#lightQueue, this.#find());
  }

  /** The offset at a time; 0 where the queue is unknown. */
  async offsetAt(timestamp: number, upper: boolean, trace: Trace): Promise<number> {
    const number = this.#find();
    if (number < 0) return 0;
    const { session } = this;
    return session.hold(session.native.offsetAt(this.#lightQueue, number, timestamp, upper), trace);
  }

  times(): { earliest: number | undefined; latest: number | undefined } {
    const number = this.#find();
    if (number < 0) return { earliest: undefined, latest: undefined };
    return asking(() => this.session.native.times(this.#lightQueue, number));
  }

  read(request: Request): ReadResult {
    const number = this.#find();
    if (number < 0) return { ...UNKNOWN, messages: [] };
    return this.session.pages.read(this.#lightQueue, number, request);
  }

  /** The same off the event loop. */
  async readAsync(request: Request, trace: Trace): Promise<ReadResult> {
    const number = this.#find();
    if (number < 0) return { ...UNKNOWN, messages: [] };
    const { from, maxMessages, maxBytes, tags, verify, durable } = request;
    const { session } = this;
    const page = session.native.readAsync(
      this.#lightQueue,
      number,
      from,
      maxMessages,
      maxBytes,
      tags,
      verify,
      durable,
    );
    return resultOfPage(await session.hold(page, trace));
  }

  /** Takes the queue for a follower of a group; what it gives ends that. */
  follow(group: string): () => void {
    return this.session.offsets.follow(this.topic, this.queueId, group);
  }

  commit(group: string, offset: number): void {
    this.session.assertOpen();
    this.session.offsets.commit(this.topic, this.queueId, group, offset);
  }

  committed(group: string): number | undefined {
    this.session.assertOpen();
    return this.session.offsets.committed(this.topic, this.queueId, group);
  }

  #find(): number {
    const { session } = this;
    session.assertReadable();
    if (this.#number >= 0 && this.#generation === session.generation) return this.#number;
    this.#generation = session.generation;
    this.#number = asking(() =>
      this.#lightQueue
        ? session.native.findLmq(this.topic)
        : session.native.findQueue(this.topic, this.queueId),
    );
    return this.#number;
  }
}
