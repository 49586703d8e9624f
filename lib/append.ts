/**
 * The way of a message into native. It is taken apart and checked here, because reading objects is
 * cheap in JavaScript and dear in native; a refused message changes nothing.
 */
import { Arranger } from './arrange.ts';
import { Bodies } from './body.ts';
import { exactInteger, int32, queueIdOf, within } from './checks.ts';
import type { Config } from './config.ts';
import { failureOf, rangeMistake, typeMistake } from './errors.ts';
import { type Host, parseHost } from './host.ts';
import type { Message } from './message.ts';
import {
  ARG_BODY_LENGTH,
  ARG_BORN_TIMESTAMP,
  ARG_KEYS_FROM,
  ARG_PLAN,
  ARG_PROPERTIES_AT,
  ARG_PROPERTIES_LENGTH,
  ARG_QUEUE_ID,
  ARG_STORE,
  ARG_TOPIC,
  addon,
  type NativeStore,
  OUT_STATUS,
} from './native.ts';
import { namesOf, type Plan, Plans } from './plans.ts';
import { PropertyWriter } from './property-writer.ts';
import { AppendResult, fill } from './result.ts';
import { isQueued, sysFlagOf } from './sys-flag.ts';
import { type Topic, Topics } from './topics.ts';
import type { Waiters } from './waiters.ts';

const NO_PLAN = -1;
const NOW = Number.NaN;
const KEPT_HOSTS = 1024;

export class Appender {
  readonly #native: NativeStore;
  readonly #number: number;
  readonly #out: Float64Array;
  readonly #clock: (() => number) | undefined;
  readonly #storeHost: Host;
  readonly #waiters: Waiters;
  readonly #topics: Topics;
  readonly #plans: Plans;
  readonly #arranger: Arranger;
  readonly #properties: PropertyWriter;
  readonly #bodies = new Bodies();
  readonly #hosts = new Map<string, Host>();
  #appending = false;
  /** Native can write the names in `lmq` behind the other properties. */
  readonly #plainLists: boolean;

  constructor(native: NativeStore, config: Config, waiters: Waiters) {
    this.#native = native;
    this.#number = native.number;
    this.#out = native.out;
    this.#clock = config.clock;
    this.#storeHost = config.storeHost;
    this.#waiters = waiters;
    this.#properties = new PropertyWriter(native.staged);
    this.#topics = new Topics(native, config.topicLength);
    this.#plans = new Plans(native);
    this.#arranger = new Arranger(config, this.#plans);
    this.#plainLists = config.lightQueues && config.propertyOrder === 'given';
  }

  append(message: Message, into: AppendResult | undefined): AppendResult {
    // What is read of the message may be code of the caller's, and there is one memory for all appends.
    if (this.#appending) throw nested();
    this.#appending = true;
    try {
      return this.#append(message, into);
    } finally {
      this.#appending = false;
    }
  }

  #append(message: Message, into: AppendResult | undefined): AppendResult {
    if (typeof message !== 'object' || message === null) {
      throw typeMistake('STORE_INVALID_MESSAGE', 'A message must be an object.');
    }
    if (into !== undefined && !(into instanceof AppendResult)) {
      throw typeMistake('STORE_INVALID_ARGUMENT', 'into must be an AppendResult.');
    }
    this.#tick();
    const { bornTimestamp, body } = message;
    const topic = this.#topics.get(message.topic);
    const queueId = message.queueId === undefined ? 0 : queueIdOf(message.queueId);
    const born = bornTimestamp === undefined ? NOW : exactInteger(bornTimestamp, 'bornTimestamp');
    const names = namesOf(message.lmq);
    const properties = this.#properties;
    if (message.rawProperties === undefined) properties.write(message, topic.handle);
    let storeHost = this.#storeHost;
    let plan: Plan | undefined;
    if (
      isPlain(message) &&
      properties.list === undefined &&
      (names === undefined || (this.#plainLists && topic.lightQueues))
    ) {
      if (names !== undefined) plan = this.#plans.ofNames(names, false);
      const bytes = this.#bodies.bytesOf(body);
      const { args } = addon;
      args[ARG_STORE] = this.#number;
      args[ARG_TOPIC] = topic.handle;
      args[ARG_QUEUE_ID] = queueId;
      args[ARG_BODY_LENGTH] = this.#bodies.length;
      args[ARG_PROPERTIES_AT] = properties.at;
      args[ARG_PROPERTIES_LENGTH] = properties.length;
      args[ARG_PLAN] = plan === undefined ? NO_PLAN : plan.slot;
      args[ARG_BORN_TIMESTAMP] = born;
      args[ARG_KEYS_FROM] = properties.keysFrom;
      addon.append(bytes);
    } else {
      if (message.storeHost !== undefined) storeHost = this.#host(message.storeHost, 'storeHost');
      plan = this.#appendWith(message, topic, queueId, born, names, storeHost);
    }
    if (this.#out[OUT_STATUS] !== 0) throw failureOf(this.#native.lastError());
    if (this.#waiters.size !== 0) this.#waiters.appended(topic.name, queueId, plan?.queues);
    const result = into === undefined ? new AppendResult() : into;
    fill(result, this.#out, storeHost);
    return result;
  }

  /** The same for a message that says more than most do. */
  #appendWith(
    message: Message,
    topic: Topic,
    queueId: number,
    born: number,
    names: readonly string[] | undefined,
    storeHost: Host,
  ): Plan | undefined {
    const { bornHost, preparedTransactionOffset = 0 } = message;
    const sysFlag = sysFlagOf(message);
    const flag = int32(message.flag, 'flag', 0);
    const reconsumeTimes = int32(message.reconsumeTimes, 'reconsumeTimes', 0);
    const prepared = exactInteger(preparedTransactionOffset, 'preparedTransactionOffset');
    const from = bornHost === undefined ? storeHost : this.#host(bornHost, 'bornHost');
    const queued = topic.lightQueues && isQueued(sysFlag);
    const arranged = this.#arranger.arrange(message, this.#properties, names, queued);
    const body = this.#bodies.bytesOf(message.body);
    this.#native.appendWith(
      topic.handle,
      queueId,
      body,
      this.#bodies.length,
      arranged.head,
      arranged.tail,
      arranged.plan?.slot ?? NO_PLAN,
      born,
      from.address,
      from.port,
      storeHost.address,
      storeHost.port,
      flag,
      sysFlag,
      reconsumeTimes,
      prepared,
    );
    return arranged.plan;
  }

  /** The caller's clock, where there is one. */
  #tick(): void {
    const clock = this.#clock;
    if (clock !== undefined) {
      this.#native.setClock(within(clock(), 'What clock gives', 0, Number.MAX_SAFE_INTEGER));
    }
  }

  #host(text: string, name: string): Host {
    const known = this.#hosts.get(text);
    if (known !== undefined) return known;
    const host = parseHost(text, name, 'STORE_INVALID_MESSAGE');
    if (this.#hosts.size >= KEPT_HOSTS) this.#hosts.clear();
    this.#hosts.set(text, host);
    return host;
  }
}

function nested(): Error {
  return rangeMistake(
    'STORE_INVALID_MESSAGE',
    'A getter of the message, or the clock, appends to the same store while the message is read.',
  );
}

function isPlain(message: Message): boolean {
  return (
    message.flag === undefined &&
    message.transaction === undefined &&
    message.sysFlag === undefined &&
    message.bornHost === undefined &&
    message.storeHost === undefined &&
    message.rawProperties === undefined &&
    message.reconsumeTimes === undefined &&
    message.preparedTransactionOffset === undefined
  );
}
