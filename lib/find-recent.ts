/** The messages of a topic stored in a span of time, newest first: its queues are read backwards side by side. */
import { Queue } from './queue.ts';
import type { Session } from './session.ts';
import { QueueSource } from './source.ts';
import type { StoredMessage } from './stored-message.ts';

/** Messages that are looked at together; so many of each queue are in memory at the most. */
const AT_ONCE = 32;

interface Span {
  readonly begin: number;
  readonly end: number;
  readonly signal: AbortSignal | undefined;
}

/** A queue, from a place on backwards. */
class Backwards {
  readonly #queue: Queue;
  readonly #first: number;
  #below: number;
  #page: StoredMessage[] = [];

  constructor(queue: Queue, first: number, below: number) {
    this.#queue = queue;
    this.#first = first;
    this.#below = below;
  }

  /** The next one; undefined where there is none any more. */
  async peek(): Promise<StoredMessage | undefined> {
    while (this.#page.length === 0 && this.#below > this.#first) {
      const end = this.#below;
      this.#below = Math.max(this.#first, end - AT_ONCE);
      this.#page = await this.#read(this.#below, end);
    }
    return this.#page.at(-1);
  }

  take(): void {
    this.#page.pop();
  }

  async #read(from: number, end: number): Promise<StoredMessage[]> {
    const found: StoredMessage[] = [];
    for (let at = from; at < end; ) {
      const page = await this.#queue.readAsync(at, { maxMessages: end - at });
      for (const message of page.messages) if (message.offset < end) found.push(message);
      if (page.nextOffset <= at) break;
      at = page.nextOffset;
    }
    return found;
  }
}

export async function* recent(
  session: Session,
  topic: string,
  { begin, end, signal }: Span,
): AsyncGenerator<StoredMessage, void> {
  const ready = () => {
    signal?.throwIfAborted();
    session.assertOpen();
  };
  const places: Backwards[] = [];
  for (const { queueId } of session.ask((native) => native.queues(topic))) {
    const queue = new Queue(new QueueSource(session, topic, queueId, false));
    const first = Math.max(queue.minOffset, await queue.offsetAt(begin));
    ready();
    const below = end < Number.MAX_SAFE_INTEGER ? await queue.offsetAt(end + 1) : queue.maxOffset;
    ready();
    places.push(new Backwards(queue, first, below));
  }
  for (;;) {
    let newest: StoredMessage | undefined;
    let from: Backwards | undefined;
    for (const place of places) {
      const message = await place.peek();
      if (message && !(newest && newest.physicalOffset > message.physicalOffset)) {
        newest = message;
        from = place;
      }
    }
    ready();
    if (!newest) return;
    from?.take();
    yield newest;
  }
}
