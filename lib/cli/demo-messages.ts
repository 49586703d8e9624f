/** The demo's messages. Each depends on (seed, index) alone: writer and checker make the same, apart. */
import type { Message } from '../index.ts';
import { LMQ_PREFIX } from '../lmq.ts';
import { Random } from './demo-random.ts';
import { chatText, deviceReport } from './demo-text.ts';

/** Where a message goes. */
export interface Route {
  readonly topic: string;
  readonly queueId: number;
  /** The light queues that get it: full names, each once. */
  readonly lmq: readonly string[];
  /** The list in the record, where it says more: names may repeat, or be none of a light queue. */
  readonly list?: readonly string[];
}

/** An endless row of messages that can be made again, any of them at any time. */
export interface Source {
  route(index: number): Route;
  message(index: number): Message;
  close(): Promise<void>;
}

const QUEUES_PER_TOPIC = 4;
const BEGIN = Date.UTC(2026, 0, 5);

/** Four of five light queues are inboxes of people, the others of devices. */
export class GeneratedMessages implements Source {
  readonly #seed: number;
  readonly #users: number;
  readonly #devices: number;

  constructor(seed: number, lightQueues: number) {
    this.#seed = seed;
    this.#users = Math.ceil(lightQueues * 0.8);
    this.#devices = lightQueues - this.#users;
  }

  route(index: number): Route {
    return this.#route(new Random(this.#seed, index));
  }

  message(index: number): Message {
    const random = new Random(this.#seed, index);
    const { topic, queueId, lmq } = this.#route(random);
    const names = lmq.map((name) => name.slice(LMQ_PREFIX.length));
    const at = BEGIN + index * 3 + random.below(3);
    const common = {
      topic,
      queueId,
      lmq: names,
      bornTimestamp: at,
      bornHost: `10.${random.below(4)}.${random.below(256)}.${random.below(256)}:${1024 + random.below(60_000)}`,
      flag: random.below(4),
    };
    if (topic.startsWith('device')) {
      return {
        ...common,
        body: deviceReport(random, names[0]!, at),
        tags: random.pick(['telemetry', 'telemetry', 'telemetry', 'alarm']),
        keys: `d-${index}`,
        properties: { device: names[0]!, firmware: `2.${random.below(9)}.${random.below(30)}` },
      };
    }
    return {
      ...common,
      body: chatText(random),
      tags: random.pick(['text', 'text', 'text', 'image', 'voice', 'recall']),
      keys: [`m-${index}`, `c-${names[0]}`],
      properties: {
        sender: `user-${random.below(this.#users)}`,
        client: random.pick(['ios', 'android', 'web']),
      },
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #route(random: Random): Route {
    if (this.#devices > 0 && random.next() < 0.3) {
      const device = `${LMQ_PREFIX}device-${random.below(this.#devices, 1.25)}`;
      const owners = this.#members(random, random.below(3));
      return {
        topic: 'device-report',
        queueId: random.below(QUEUES_PER_TOPIC),
        lmq: [device, ...owners],
      };
    }
    const lmq = this.#members(random, 1 + random.below(8, 3));
    const topic = lmq.length === 1 ? 'chat-direct' : 'chat-group';
    return { topic, queueId: random.below(QUEUES_PER_TOPIC), lmq };
  }

  /** Up to `count` people, few of them far more often than the many. */
  #members(random: Random, count: number): string[] {
    const names = new Set<string>();
    for (let i = 0; i < count; i++) names.add(`${LMQ_PREFIX}user-${random.below(this.#users, 2)}`);
    return [...names];
  }
}
