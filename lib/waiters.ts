/** Followers that have read everything and wait for more. */
import type { Life } from './life.ts';

export interface Waiter {
  /** The topic or the light queue's full name. */
  readonly topic: string;
  readonly queueId: number;
  /** Waits for messages on disk. */
  readonly durable: boolean;
  /** Keeps the process alive. */
  readonly ref: boolean;
  /** There may be more to read; with false, there never will be: the store is closing. */
  wake(open: boolean): void;
  fail(error: unknown): void;
}

/** How a process that does not write learns that there is more. */
export interface Poll {
  readonly interval: number;
  look(): void;
}

export class Waiters {
  /** How many wait for an append; where it is 0, an append need not look further. */
  size = 0;
  readonly #life: Life;
  readonly #poll: Poll | undefined;
  /** Those who wait for an append, by topic or light queue. */
  readonly #queues = new Map<string, Set<Waiter>>();
  /** Those who wait for a sync or, where another process writes, for anything new. */
  readonly #news = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  /** Why nothing more will be on disk. */
  #failure: unknown;

  constructor(life: Life, poll?: Poll) {
    this.#life = life;
    this.#poll = poll;
  }

  add(waiter: Waiter): void {
    if (waiter.durable && this.#failure !== undefined) {
      queueMicrotask(() => waiter.fail(this.#failure));
      return;
    }
    if (waiter.ref) this.#life.hold();
    if (this.#poll || waiter.durable) {
      this.#news.add(waiter);
      this.#startTimer();
      return;
    }
    const same = this.#queues.get(waiter.topic);
    if (same) same.add(waiter);
    else this.#queues.set(waiter.topic, new Set([waiter]));
    this.size++;
  }

  remove(waiter: Waiter): void {
    const same = this.#queues.get(waiter.topic);
    if (same?.delete(waiter)) {
      this.size--;
      if (same.size === 0) this.#queues.delete(waiter.topic);
    } else if (!this.#news.delete(waiter)) {
      return;
    }
    if (this.#news.size === 0) this.#stopTimer();
    if (waiter.ref) this.#life.release();
  }

  /** A message went into a topic's queue and into light queues. */
  appended(topic: string, queueId: number, lightQueues: readonly string[] | undefined): void {
    this.#wakeQueue(topic, queueId);
    if (lightQueues === undefined) return;
    for (const name of lightQueues) this.#wakeQueue(name, 0);
  }

  /** More is on disk, or came from the process that writes. */
  news(): void {
    for (const waiter of [...this.#news]) waiter.wake(true);
  }

  /** A sync failed, which is final: whoever waits for the disk waits in vain. */
  failed(error: unknown): void {
    this.#failure = error;
    for (const waiter of this.#all()) if (waiter.durable) waiter.fail(error);
  }

  /** Nothing will come any more. */
  end(): void {
    for (const waiter of this.#all()) waiter.wake(false);
  }

  #wakeQueue(name: string, queueId: number): void {
    const same = this.#queues.get(name);
    if (same === undefined) return;
    for (const waiter of [...same]) if (waiter.queueId === queueId) waiter.wake(true);
  }

  #all(): Waiter[] {
    return [...this.#news, ...[...this.#queues.values()].flatMap((same) => [...same])];
  }

  #startTimer(): void {
    const poll = this.#poll;
    if (!poll || this.#timer) return;
    this.#timer = setInterval(() => {
      try {
        poll.look();
      } catch (error) {
        for (const waiter of this.#all()) waiter.fail(error);
      }
    }, poll.interval);
    // What keeps the process alive is the waiters' own choice.
    this.#timer.unref();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
