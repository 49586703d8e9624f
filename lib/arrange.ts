/**
 * Properties and light queues of a message that says more than most do: brought in stored form, with
 * queues named in Java's form, to queues it may not go to, or to be stored in a broker's order.
 */
import type { Config } from './config.ts';
import { rangeMistake } from './errors.ts';
import { DISPATCH, DISPATCH_OFFSETS, fullLmqName, isBlank } from './lmq.ts';
import type { Message } from './message.ts';
import type { Plan, Plans } from './plans.ts';
import { INNER_NUM, innerBatch } from './properties.ts';
import type { PropertyWriter } from './property-writer.ts';
import {
  brokerOrder,
  cutChecksum,
  cutProperty,
  lastValue,
  rawProperties,
  terminated,
  withProperty,
} from './stored-form.ts';

/** Properties as they are stored; native writes the offsets of light queues between head and tail. */
export interface Arranged {
  readonly head: string | Uint8Array;
  readonly tail: string;
  readonly plan: Plan | undefined;
}

const CODE = 'STORE_INVALID_MESSAGE';

/** Where lists of light queues become plans. */
export type PlanSource = Pick<Plans, 'ofNames' | 'ofList'>;

export class Arranger {
  readonly #config: Config;
  readonly #plans: PlanSource;

  constructor(config: Config, plans: PlanSource) {
    this.#config = config;
    this.#plans = plans;
  }

  /**
   * `written` has the message's properties, unless it brings them in stored form. `queued`: it may go
   * to light queues; if not, they stay named in it, as in a broker's log.
   */
  arrange(
    message: Message,
    written: PropertyWriter,
    names: readonly string[] | undefined,
    queued: boolean,
  ): Arranged {
    const { lightQueues, propertyOrder } = this.#config;
    if (names !== undefined && !lightQueues) {
      throw rangeMistake(CODE, 'lmq needs a store with enableLmq and enableMultiDispatch.');
    }
    const raw = message.rawProperties !== undefined;
    const text = raw ? this.#given(message) : written.text();
    if (typeof text !== 'string') {
      refuseQueues(text, names);
      return { head: text, tail: '', plan: undefined };
    }
    const list = raw ? lastValue(text, DISPATCH) : written.list;
    if (names !== undefined && list !== undefined) {
      throw rangeMistake(CODE, `Both lmq and the property ${DISPATCH} name light queues.`);
    }
    if (names === undefined && (list === undefined || isBlank(list))) {
      return { head: text, tail: '', plan: undefined };
    }
    if (lightQueues && queued && propertyOrder === 'rocketmq') {
      return this.#inBrokerOrder(text, names, list);
    }
    // What came as an offset is no offset of this store: rebuilding queues must not take it for one.
    const head = terminated(cutProperty(text, DISPATCH_OFFSETS));
    if (lightQueues && queued) {
      return { head, tail: '', plan: this.#plan(names, list, false) };
    }
    if (names === undefined) return { head, tail: '', plan: undefined };
    const named = withProperty(head, DISPATCH, names.map(fullLmqName).join(','));
    return { head: named, tail: '', plan: undefined };
  }

  #given(message: Message): string | Uint8Array {
    for (const field of ['properties', 'tags', 'keys'] as const) {
      if (message[field] !== undefined) {
        throw rangeMistake(CODE, `rawProperties take the place of ${field}; give one of them.`);
      }
    }
    const text = rawProperties(message.rawProperties);
    const searched = typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
    if (lastValue(searched, INNER_NUM) !== undefined) throw innerBatch();
    return cutChecksum(text, this.#config.enabledAppendPropCRC);
  }

  #inBrokerOrder(text: string, names: readonly string[] | undefined, list?: string): Arranged {
    const plan = this.#plan(names, list, true);
    const all = names === undefined ? text : withProperty(text, DISPATCH, plan.list);
    return { ...brokerOrder(all), plan };
  }

  #plan(names: readonly string[] | undefined, list = '', arranged: boolean): Plan {
    return names === undefined ? this.#plans.ofList(list) : this.#plans.ofNames(names, arranged);
  }
}

/** Bytes that are no text cannot be searched for the names of light queues, or get any. */
function refuseQueues(properties: Uint8Array, names: readonly string[] | undefined): void {
  if (names === undefined && !Buffer.from(properties).includes(DISPATCH)) return;
  throw rangeMistake(
    'STORE_INVALID_PROPERTY',
    'rawProperties must be UTF-8 where light queues are named.',
  );
}
