/** Holds a store against the model: every queue, every message, every byte, in both directions. */
import { setImmediate as turn } from 'node:timers/promises';
import type { StoredMessage, StoreReader } from '../index.ts';
import { difference, type Written } from './demo-compare.ts';
import { type Model, queuesOf } from './demo-model.ts';
import { lightQueueNames, openQueue, queueName } from './queue-names.ts';

const MAX_PROBLEMS = 20;
/** Messages that are made again at a time; each is compared in all its queues before the next lot. */
const LOT = 4096;
const PAGE_BYTES = 1 << 20;

export class Checker {
  /** Entries of queues that were compared. */
  entries = 0;
  /** Messages that some queue of theirs does not have, or has wrong. */
  readonly lost = new Set<number>();
  /** Entries beyond what the model knows. */
  duplicated = 0;
  /** The first things that were wrong, in words. */
  readonly problems: string[] = [];
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  get good(): boolean {
    return this.lost.size === 0 && this.duplicated === 0 && this.problems.length === 0;
  }

  complain(problem: string | undefined): void {
    if (problem !== undefined && this.problems.length < MAX_PROBLEMS) this.problems.push(problem);
  }

  /** Whether `found` is message `index`; a difference counts it as lost. */
  message(found: StoredMessage, index: number, where: string, wanted = this.#model.message(index)) {
    this.entries++;
    const wrong = difference(found, wanted);
    if (wrong === undefined) return;
    this.lost.add(index);
    this.complain(`message ${index} in ${where}: ${wrong}`);
  }

  /** Every queue that there must be, all of it, and that there is nothing else. */
  async store(store: StoreReader, progress: (done: number, all: number) => void): Promise<void> {
    const { size, queues } = this.#model;
    const positions = new Map<string, number>();
    for (let first = 0; first < size; first += LOT) {
      await this.#lot(store, first, Math.min(first + LOT, size), positions);
      progress(first, size);
    }
    for (const [name, count] of queues) {
      const { minOffset, maxOffset } = openQueue(store, name);
      if (minOffset !== 0) this.complain(`${name} begins at ${minOffset}`);
      if (maxOffset > count)
        this.#duplicate(maxOffset - count, `${name} has ${maxOffset} messages, not ${count}`);
    }
    for (const { topic, queueId, maxOffset } of store.queues())
      this.#known(queueName(topic, queueId), maxOffset);
    for (const name of lightQueueNames(store)) {
      if (!queues.has(name)) this.#known(name, store.lmq(name).maxOffset);
    }
  }

  /** Messages `first` to `end` - 1 in all their queues, of which `positions` have been seen. */
  async #lot(store: StoreReader, first: number, end: number, positions: Map<string, number>) {
    const lot: Written[] = [];
    const due = new Map<string, number[]>();
    for (let index = first; index < end; index++) {
      lot.push(this.#model.message(index));
      for (const name of queuesOf(this.#model.source.route(index))) {
        const indexes = due.get(name);
        if (indexes) indexes.push(index);
        else due.set(name, [index]);
      }
    }
    let done = 0;
    for (const [name, indexes] of due) {
      const position = positions.get(name) ?? 0;
      this.#range(store, name, position, indexes, (index) => lot[index - first]!);
      positions.set(name, position + indexes.length);
      if (++done % 256 === 0) await turn();
    }
  }

  /** A queue must hold exactly the messages `indexes` from `position` on. */
  #range(
    store: StoreReader,
    name: string,
    position: number,
    indexes: number[],
    wanted: (index: number) => Written,
  ) {
    const queue = openQueue(store, name);
    const end = position + indexes.length;
    for (let at = position; at < end; ) {
      const { messages, nextOffset, status } = queue.read(at, {
        maxMessages: end - at,
        maxBytes: PAGE_BYTES,
      });
      let next = at;
      for (const found of messages) {
        if (found.offset < next) this.#duplicate(1, `${name} gives offset ${found.offset} again`);
        this.#missing(indexes, position, next, found.offset, `${name} (${status})`);
        const index = indexes[found.offset - position];
        if (index !== undefined) this.message(found, index, name, wanted(index));
        next = Math.max(next, found.offset + 1);
      }
      // A page may end before what is asked for; one that does not move at all will not do so later.
      const passed = Math.max(next, nextOffset > at ? nextOffset : end);
      if (messages.length === 0)
        this.#missing(indexes, position, next, passed, `${name} (${status})`);
      at = messages.length === 0 ? passed : next;
    }
  }

  #missing(indexes: number[], position: number, from: number, to: number, where: string) {
    for (let offset = from; offset < Math.min(to, position + indexes.length); offset++) {
      const index = indexes[offset - position]!;
      this.lost.add(index);
      this.complain(`message ${index} is not at offset ${offset} of ${where}`);
    }
  }

  #known(name: string, maxOffset: number): void {
    if (maxOffset === 0 || this.#model.queues.has(name)) return;
    this.#duplicate(maxOffset, `nothing was written to ${name}, and it has ${maxOffset} messages`);
  }

  #duplicate(entries: number, problem: string): void {
    this.duplicated += entries;
    this.complain(problem);
  }
}
