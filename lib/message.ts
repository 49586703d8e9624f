/** What is given to `append` and `put`. */

/** Names and values in their order; a repeated name is refused. */
export type PropertiesInput =
  | Readonly<Record<string, string>>
  | ReadonlyMap<string, string>
  | Iterable<readonly [name: string, value: string]>;

export type Transaction = 'prepared' | 'commit' | 'rollback';

export interface Message {
  readonly topic: string;
  /** Bytes are borrowed for the time of the call; a string is stored as UTF-8. */
  readonly body: string | ArrayBufferView;
  /** Default 0. */
  readonly queueId?: number | undefined;
  /** What subscriptions select by: the property TAGS. */
  readonly tags?: string | undefined;
  /** One key, or several: the property KEYS, in which a space separates them. */
  readonly keys?: string | readonly string[] | undefined;
  /** Stored in their order, followed by KEYS and TAGS. */
  readonly properties?: PropertiesInput | undefined;
  /** Light queues that get the message too. An element is one name; '%LMQ%' is added where it is missing. */
  readonly lmq?: readonly string[] | undefined;
  /** Milliseconds; default: the time of the append. */
  readonly bornTimestamp?: number | undefined;
  /** 'a.b.c.d:port' or '[v6]:port'; default: the store's own. */
  readonly bornHost?: string | undefined;
  readonly storeHost?: string | undefined;
  /** 32 bits that the store does not look at. */
  readonly flag?: number | undefined;
  /** A prepared or rolled-back message is stored, but gets no place in any queue. */
  readonly transaction?: Transaction | undefined;

  // For records that come from elsewhere.

  /**
   * Properties in stored form (name 01 value 02 …), stored as given, in place of `properties`, `tags`
   * and `keys`. Only what the store itself writes is taken out: a checksum, and light-queue offsets
   * where INNER_MULTI_DISPATCH names light queues.
   */
  readonly rawProperties?: string | Uint8Array | undefined;
  /** RocketMQ's flag bits. The two that tell IPv6 hosts follow from the hosts. */
  readonly sysFlag?: number | undefined;
  readonly reconsumeTimes?: number | undefined;
  readonly preparedTransactionOffset?: number | bigint | undefined;
}
