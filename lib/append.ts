/**
 * The way of a message into native. It is taken apart and checked here, because reading objects is
 * cheap in JavaScript and dear in native; a refused message changes nothing.
 */
import { Arranger } from './arrange.ts';
import { Bodies } from './body.ts';
import { exactInteger, int32, queueIdOf, within } from './checks.ts';
import type { Config } from './config.ts';
import { failureOf, typeMistake } from './errors.ts';
import { type Host, parseHost } from './host.ts';
import type { Message } from './message.ts';
import { type NativeStore, OUT_STATUS } from './native.ts';
import { namesOf, type Plan, Plans } from './plans.ts';
import { PropertyWriter, refuseSeparators, type Written } from './properties.ts';
import { AppendResult, fill } from './result.ts';
import { isQueued, sysFlagOf } from './sys-flag.ts';
import { type Topic, Topics } from './topics.ts';
import type { Waiters } from './waiters.ts';

const NO_PLAN = -1;
const NOW = Number.NaN;
const KEPT_HOSTS = 1024;

export class Appender {
  readonly #native: NativeStore;
  readonly #out: Float64Array;
  readonly #config: Config;
  readonly #waiters: Waiters;
  readonly #topics: Topics;
  readonly #plans: Plans;
  readonly #arranger: Arranger;
  readonly #properties = new PropertyWriter();
  readonly #bodies = new Bodies();
  readonly #hosts = new Map<string, Host>();
  /** Native can write the names in `lmq` behind the other properties. */
  readonly #plainLists: boolean;

  constructor(native: NativeStore, config: Config, waiters: Waiters) {
    this.#native = native;
    this.#out = native.out;
    this.#config = config;
    this.#waiters = waiters;
    this.#topics = new Topics(native, config.topicLength);
    this.#plans = new Plans(native);
    this.#arranger = new Arranger(config, this.#plans);
    this.#plainLists = config.lightQueues && config.propertyOrder === 'given';
  }

  append(message: Message, into: AppendResult | undefined): AppendResult {
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
    if (message.rawProperties === undefined) properties.write(message);
    const { text, count, list } = properties;
    let storeHost = this.#config.storeHost;
    let plan: Plan | undefined;
    if (
      isPlain(message) &&
      list === undefined &&
      (names === undefined || (this.#plainLists && topic.lightQueues))
    ) {
      if (names !== undefined) plan = this.#plans.ofNames(names, false);
      const bytes = this.#bodies.bytesOf(body);
      this.#native.append(
        topic.handle,
        queueId,
        bytes,
        this.#bodies.length,
        text,
        count,
        plan === undefined ? NO_PLAN : plan.slot,
        born,
      );
    } else {
      if (message.storeHost !== undefined) storeHost = this.#host(message.storeHost, 'storeHost');
      const written = { text, count, list };
      plan = this.#appendWith(message, topic, queueId, born, names, written, storeHost);
    }
    if (this.#out[OUT_STATUS] !== 0) throw this.#refusal(message);
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
    written: Written,
    storeHost: Host,
  ): Plan | undefined {
    const { bornHost, preparedTransactionOffset = 0 } = message;
    const sysFlag = sysFlagOf(message);
    const flag = int32(message.flag, 'flag', 0);
    const reconsumeTimes = int32(message.reconsumeTimes, 'reconsumeTimes', 0);
    const prepared = exactInteger(preparedTransactionOffset, 'preparedTransactionOffset');
    const from = bornHost === undefined ? storeHost : this.#host(bornHost, 'bornHost');
    const queued = topic.lightQueues && isQueued(sysFlag);
    const arranged = this.#arranger.arrange(message, written, names, queued);
    const body = this.#bodies.bytesOf(message.body);
    this.#native.appendWith(
      topic.handle,
      queueId,
      body,
      this.#bodies.length,
      arranged.head,
      arranged.tail,
      arranged.count,
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
    const { clock } = this.#config;
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

  #refusal(message: Message): Error {
    const facts = this.#native.lastError();
    if (facts.code === 'STORE_INVALID_PROPERTY' && message.rawProperties === undefined) {
      const { text, count } = this.#properties;
      refuseSeparators(message, text, count);
    }
    return failureOf(facts);
  }
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
