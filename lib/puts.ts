/**
 * Puts that wait for the disk, in the order of their records. A sync covers everything before its
 * position, so one sync settles all puts up to there (group commit).
 */
import { StoreError } from './errors.ts';
import type { Life } from './life.ts';
import type { NativeStore } from './native.ts';
import type { AppendResult } from './result.ts';

interface Put {
  /** What its promise gives. */
  readonly result: unknown;
  readonly end: number;
  readonly size: number;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  next: Put | undefined;
}

// A promise's functions, caught without making a closure for each promise.
let resolveNew: (result: never) => void;
let rejectNew: (error: unknown) => void;
const catchFunctions = (resolve: typeof resolveNew, reject: typeof rejectNew): void => {
  resolveNew = resolve;
  rejectNew = reject;
};

export class Puts {
  readonly #native: NativeStore;
  readonly #life: Life;
  readonly #limit: number;
  #first: Put | undefined;
  #last: Put | undefined;
  #bytes = 0;
  #asked = false;
  #idle: (() => void) | undefined;

  constructor(native: NativeStore, life: Life, limit: number) {
    this.#native = native;
    this.#life = life;
    this.#limit = limit;
  }

  /** Refuses one more put while too many bytes wait. */
  refuseIfBusy(): void {
    if (this.#bytes < this.#limit) return;
    throw new StoreError('STORE_BUSY', `Puts of ${this.#bytes} bytes wait for the disk.`, {
      limit: this.#limit,
    });
  }

  /** Resolves once the record is on disk. */
  wait(result: AppendResult): Promise<AppendResult> {
    const { size } = result;
    return this.#wait(result, result.physicalOffset + size, size);
  }

  /** Resolves once all records of a batch are on disk. */
  waitForAll(results: AppendResult[]): Promise<AppendResult[]> {
    const [first, last] = [results[0], results.at(-1)];
    if (first === undefined || last === undefined) return Promise.resolve(results);
    const end = last.physicalOffset + last.size;
    return this.#wait(results, end, end - first.physicalOffset);
  }

  #wait<Answer>(result: Answer, end: number, size: number): Promise<Answer> {
    const promise = new Promise<Answer>(catchFunctions);
    const put: Put = { result, end, size, resolve: resolveNew, reject: rejectNew, next: undefined };
    if (this.#last === undefined) {
      this.#first = put;
      this.#life.hold();
    } else {
      this.#last.next = put;
    }
    this.#last = put;
    this.#bytes += size;
    if (!this.#asked) {
      this.#asked = true;
      queueMicrotask(this.#ask);
    }
    return promise;
  }

  /** Everything below `position` is on disk. */
  synced(position: number): void {
    let put = this.#first;
    if (put === undefined) return;
    for (; put !== undefined && put.end <= position; put = put.next) {
      this.#bytes -= put.size;
      put.resolve(put.result as never);
    }
    this.#first = put;
    if (put === undefined) this.#empty();
  }

  /** A sync failed, and with it every put that waits. */
  failed(error: unknown): void {
    if (this.#first === undefined) return;
    for (let put: Put | undefined = this.#first; put !== undefined; put = put.next) {
      put.reject(error);
    }
    this.#first = undefined;
    this.#bytes = 0;
    this.#empty();
  }

  /** Resolves once no put waits. */
  settled(): Promise<void> {
    if (this.#first === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle = resolve;
    });
  }

  /** One request for all puts of a turn. */
  readonly #ask = (): void => {
    this.#asked = false;
    if (this.#first !== undefined) this.#native.requestSync();
  };

  #empty(): void {
    this.#last = undefined;
    this.#life.release();
    this.#idle?.();
  }
}
