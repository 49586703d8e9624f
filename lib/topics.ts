/** Topics: which names there may be, and the numbers that stand for them in native. */
import { asking, rangeMistake, typeMistake } from './errors.ts';
import { allowsLightQueues, LMQ_PREFIX } from './lmq.ts';
import type { NativeStore } from './native.ts';
import { wellFormed } from './text.ts';

export interface Topic {
  /** As the caller wrote it. */
  readonly given: string;
  readonly name: string;
  readonly handle: number;
  readonly lightQueues: boolean;
}

const CODE = 'STORE_INVALID_TOPIC';
const MAX_BYTES = 255;

/** The name as it is stored. `limit`: bytes of a topic that is no retry topic, 127 or 255. */
export function checkTopic(topic: unknown, limit: number): string {
  if (typeof topic !== 'string') throw typeMistake(CODE, 'topic must be a string.');
  const name = wellFormed(topic);
  const most = name.startsWith('%RETRY%') ? MAX_BYTES : limit;
  const size = Buffer.byteLength(name);
  if (size === 0) throw rangeMistake(CODE, 'topic must not be empty.');
  if (size > most) {
    throw rangeMistake(CODE, `topic has ${size} bytes, more than ${most}.`, { limit: most });
  }
  if (name === '.' || name === '..' || name.includes('/') || name.includes('\0')) {
    throw rangeMistake(CODE, `${JSON.stringify(name)} cannot be the name of a topic.`);
  }
  if (name.startsWith(LMQ_PREFIX)) {
    throw rangeMistake(CODE, `${JSON.stringify(name)} is a light queue: put it into lmq.`);
  }
  return name;
}

export class Topics {
  readonly #native: NativeStore;
  readonly #limit: number;
  readonly #known = new Map<string, Topic>();
  #last: Topic | undefined;

  constructor(native: NativeStore, limit: number) {
    this.#native = native;
    this.#limit = limit;
  }

  get(given: string): Topic {
    const last = this.#last;
    if (last !== undefined && last.given === given) return last;
    const topic = this.#known.get(given) ?? this.#add(given);
    this.#last = topic;
    return topic;
  }

  #add(given: string): Topic {
    const name = checkTopic(given, this.#limit);
    const handle = asking(() => this.#native.topic(name));
    const topic: Topic = { given, name, handle, lightQueues: allowsLightQueues(name) };
    this.#known.set(given, topic);
    return topic;
  }
}
