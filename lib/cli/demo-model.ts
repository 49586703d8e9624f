/** What the store must hold: built from the messages and the acknowledgements, never from the store. */
import { type Written, written } from './demo-compare.ts';
import type { Acknowledgement } from './demo-job.ts';
import type { Route, Source } from './demo-messages.ts';
import { isLight, queueName } from './queue-names.ts';

/** The names of all queues that a message is in, its topic queue first. */
export const queuesOf = ({ topic, queueId, lmq }: Route): string[] => [
  queueName(topic, queueId),
  ...lmq,
];

export class Model {
  readonly source: Source;
  /** Messages in each queue, by its name. */
  readonly queues = new Map<string, number>();
  /** By message index; NaN where no acknowledgement said it. */
  readonly #physicalOffsets: number[] = [];
  readonly #queueOffsets: number[] = [];
  /** By message index: what INNER_MULTI_QUEUE_OFFSET must say. */
  readonly #lmqOffsets: string[] = [];

  constructor(source: Source) {
    this.source = source;
  }

  /** Messages that must be there. */
  get size(): number {
    return this.#physicalOffsets.length;
  }

  get lightQueues(): number {
    let count = 0;
    for (const name of this.queues.keys()) if (isLight(name)) count++;
    return count;
  }

  count(queue: string): number {
    return this.queues.get(queue) ?? 0;
  }

  /** Message `index` as every queue of its must give it. */
  message(index: number): Written {
    return written(
      this.source.message(index),
      this.#queueOffsets[index]!,
      this.#physicalOffsets[index]!,
      this.#lmqOffsets[index]!,
    );
  }

  /** Where the next message goes, and the offsets that it gets there. */
  next(): { route: Route; queueOffset: number; lmqOffsets: string } {
    const route = this.source.route(this.size);
    const { topic, queueId, lmq, list = lmq } = route;
    const offset = (name: string) => (lmq.includes(name) ? this.count(name) : '');
    const queueOffset = this.count(queueName(topic, queueId));
    return { route, queueOffset, lmqOffsets: list.map(offset).join(',') };
  }

  /** Takes the next message in; says what is wrong with its acknowledgement, if anything is. */
  add(ack: Omit<Acknowledgement, 'ns'> | undefined): string | undefined {
    const index = this.size;
    const { route, queueOffset, lmqOffsets } = this.next();
    const before = this.#physicalOffsets.findLast((offset) => !Number.isNaN(offset)) ?? -1;
    for (const name of queuesOf(route)) this.queues.set(name, this.count(name) + 1);
    this.#queueOffsets.push(queueOffset);
    this.#lmqOffsets.push(lmqOffsets);
    this.#physicalOffsets.push(ack?.physicalOffset ?? Number.NaN);
    if (!ack) return undefined;
    const expected = `number ${index}, queue offset ${queueOffset}, light-queue offsets ${lmqOffsets}`;
    const given = `number ${ack.index}, queue offset ${ack.queueOffset}, light-queue offsets ${ack.lmqOffsets}`;
    if (given !== expected) return `acknowledged was ${given}; it is ${expected}`;
    if (ack.physicalOffset > before) return undefined;
    return `number ${index} was acknowledged at ${ack.physicalOffset}, not behind ${before}`;
  }
}
