/** What `append` and `put` answer. */
import type { Host } from './host.ts';
import {
  addon,
  OUT_LMQ_COUNT,
  OUT_LMQ_OFFSETS,
  OUT_PHYSICAL_OFFSET,
  OUT_QUEUE_OFFSET,
  OUT_SIZE,
  OUT_STORE_TIMESTAMP,
} from './native.ts';

const NONE: readonly number[] = Object.freeze([]);
const NOWHERE: Host = { address: new Uint8Array(4), port: 0 };

/**
 * The newest result, and with it the hidden class that results have by now. A collection that found none
 * of them alive would drop that class, and with it the compiled code of every append.
 */
const newest: { result: AppendResult | undefined } = { result: undefined };

/** Fills a result with what native answered. */
export let fill: (result: AppendResult, out: Float64Array, host: Host) => void;

/** Where a message was stored. One may be given to `append` to be filled again. */
export class AppendResult {
  /** Position of the record in the commit log. */
  physicalOffset = 0;
  /** Bytes of the record. */
  size = 0;
  /** Its offset in the topic's queue. */
  queueOffset = 0;
  /** Milliseconds. */
  storeTimestamp = 0;
  /** `lmqOffsets[i]` is the offset in `lmq[i]`; a name given twice has its offset twice. */
  lmqOffsets: readonly number[] = NONE;
  #host = NOWHERE;

  /** RocketMQ's offset message id: store host and physical offset. */
  get msgId(): string {
    return addon.messageId(this.#host.address, this.#host.port, this.physicalOffset);
  }

  static {
    fill = (result, out, host) => {
      result.physicalOffset = small(out[OUT_PHYSICAL_OFFSET] as number);
      result.size = small(out[OUT_SIZE] as number);
      result.queueOffset = small(out[OUT_QUEUE_OFFSET] as number);
      result.storeTimestamp = out[OUT_STORE_TIMESTAMP] as number;
      result.lmqOffsets = offsets(result.lmqOffsets, out);
      result.#host = host;
      newest.result = result;
    };
  }
}

/** In the list given, if it is one of that length. */
function offsets(own: readonly number[], out: Float64Array): readonly number[] {
  const count = out[OUT_LMQ_COUNT] as number;
  if (count === 0) return NONE;
  const list = own.length === count ? (own as number[]) : new Array<number>(count);
  for (let i = 0; i < count; i++) list[i] = small(out[OUT_LMQ_OFFSETS + i] as number);
  return list;
}

/** The same number; one of 32 bits in the form that needs no memory of its own. */
function small(value: number): number {
  return value < 2147483648 ? value | 0 : value;
}
