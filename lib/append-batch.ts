/**
 * The way of a batch into native: messages of one topic and queue, stored one behind the other, all
 * or none. What makes a single append fast is left out here: a batch is for its atomicity.
 */
import { Arranger, type PlanSource } from './arrange.ts';
import { Bodies } from './body.ts';
import { exactInteger, int32, queueIdOf, within } from './checks.ts';
import type { Config } from './config.ts';
import { asking, rangeMistake, typeMistake } from './errors.ts';
import { type Host, parseHost } from './host.ts';
import { fullLmqName } from './lmq.ts';
import type { Message } from './message.ts';
import type { NativeBatchMessage, NativeStore } from './native.ts';
import { namesOf, type Plan } from './plans.ts';
import { PropertyWriter } from './property-writer.ts';
import { AppendResult, fill } from './result.ts';
import { isTransactional, sysFlagOf } from './sys-flag.ts';
import { type Topic, Topics } from './topics.ts';
import type { Waiters } from './waiters.ts';

const CODE = 'STORE_INVALID_MESSAGE';
/** A broker counts the messages of a batch with 16 bits. */
const MOST = 32_767;
/** As much as native has for the properties of a single message. */
const PROPERTY_BYTES = 128 * 1024;

/** Light queues of one message of a batch: native makes its own plan of them. */
interface BatchPlan extends Plan {
  readonly writeQueues: boolean;
}

const plans: PlanSource = {
  ofNames(names, arranged): BatchPlan {
    const queues = names.map(fullLmqName);
    return { slot: -1, queues, list: queues.join(','), writeQueues: !arranged };
  },
  // Only asked for queues that a stored property names, and those get nothing of a batch.
  ofList: (list) => ({ slot: -1, queues: [], list }),
};

interface Taken {
  readonly native: NativeBatchMessage;
  readonly storeHost: Host;
  readonly queues: readonly string[];
}

export class BatchAppender {
  readonly #native: NativeStore;
  readonly #config: Config;
  readonly #waiters: Waiters;
  readonly #topics: Topics;
  readonly #arranger: Arranger;
  readonly #bodies = new Bodies();

  constructor(native: NativeStore, config: Config, waiters: Waiters) {
    this.#native = native;
    this.#config = config;
    this.#waiters = waiters;
    this.#topics = new Topics(native, config.topicLength);
    this.#arranger = new Arranger(config, plans);
  }

  append(messages: readonly Message[]): AppendResult[] {
    if (!Array.isArray(messages)) throw typeMistake(CODE, 'A batch must be an array of messages.');
    if (messages.length > MOST) {
      throw rangeMistake(CODE, `A batch has at most ${MOST} messages, not ${messages.length}.`, {
        limit: MOST,
      });
    }
    if (messages.length === 0) return [];
    const { topic, queueId } = this.#queueOf(messages);
    const writer = new PropertyWriter(Buffer.allocUnsafeSlow(PROPERTY_BYTES));
    const taken = Array.from(messages, (message) => this.#take(message, topic, writer));
    const { clock } = this.#config;
    if (clock !== undefined) {
      this.#native.setClock(within(clock(), 'What clock gives', 0, Number.MAX_SAFE_INTEGER));
    }
    const rows = asking(() =>
      this.#native.appendBatch(
        topic.handle,
        queueId,
        taken.map(({ native }) => native),
      ),
    );
    return rows.map((row, index) => {
      const { queues, storeHost } = taken[index] as Taken;
      if (this.#waiters.size !== 0) this.#waiters.appended(topic.name, queueId, queues);
      const result = new AppendResult();
      fill(result, row, storeHost);
      return result;
    });
  }

  /** The one queue that all of the messages name. */
  #queueOf(messages: readonly Message[]): { topic: Topic; queueId: number } {
    let given: Message | undefined;
    for (const message of messages) {
      if (typeof message !== 'object' || message === null) {
        throw typeMistake(CODE, 'A message must be an object.');
      }
      given ??= message;
      if (message.topic !== given.topic || (message.queueId ?? 0) !== (given.queueId ?? 0)) {
        throw rangeMistake(CODE, 'The messages of a batch must have one topic and one queueId.');
      }
    }
    const { topic, queueId = 0 } = given as Message;
    return { topic: this.#topics.get(topic), queueId: queueIdOf(queueId) };
  }

  #take(message: Message, topic: Topic, writer: PropertyWriter): Taken {
    const sysFlag = sysFlagOf(message);
    if (isTransactional(sysFlag)) {
      throw rangeMistake(CODE, 'A message of a batch cannot be part of a transaction.');
    }
    if (exactInteger(message.preparedTransactionOffset ?? 0, 'preparedTransactionOffset') !== 0) {
      throw rangeMistake(CODE, 'preparedTransactionOffset must be 0 in a batch.');
    }
    const { bornTimestamp, bornHost, storeHost: given } = message;
    const storeHost =
      given === undefined ? this.#config.storeHost : parseHost(given, 'storeHost', CODE);
    const from = bornHost === undefined ? storeHost : parseHost(bornHost, 'bornHost', CODE);
    const names = namesOf(message.lmq);
    if (message.rawProperties === undefined) writer.write(message, topic.handle);
    // Queues that a property names get nothing of a batch, as in a broker; those in `lmq` do.
    const queued = names !== undefined && topic.lightQueues;
    const { head, tail, plan } = this.#arranger.arrange(message, writer, names, queued);
    const { queues = [], list = '', writeQueues = false } = (plan as BatchPlan | undefined) ?? {};
    return {
      storeHost,
      queues,
      native: {
        body: this.#bodyOf(message.body),
        head: typeof head === 'string' ? Buffer.from(head) : head,
        tail: Buffer.from(tail),
        queues: list,
        queueCount: queues.length,
        writeQueues,
        bornTimestamp:
          bornTimestamp === undefined ? Number.NaN : exactInteger(bornTimestamp, 'bornTimestamp'),
        bornAddress: from.address,
        bornPort: from.port,
        storeAddress: storeHost.address,
        storePort: storeHost.port,
        flag: int32(message.flag, 'flag', 0),
        sysFlag,
        reconsumeTimes: int32(message.reconsumeTimes, 'reconsumeTimes', 0),
      },
    };
  }

  /** Bytes of its own where a string becomes bytes: the next message's come before these are stored. */
  #bodyOf(body: unknown): Uint8Array {
    const bytes = this.#bodies.bytesOf(body);
    const { length } = this.#bodies;
    return length < 0 ? bytes : Uint8Array.from(bytes.subarray(0, length));
  }
}
