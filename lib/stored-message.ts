/** A message that was read. Nothing is decoded before it is asked for. */
import { type Compression, canDecompress, compressionOf, decompressed } from './compression.ts';
import { formatHost } from './host.ts';
import { DISPATCH, DISPATCH_OFFSETS, storedLightQueues } from './lmq.ts';
import type { Transaction } from './message.ts';
import { addon, FIELD, FIELDS } from './native.ts';
import { CRC, INNER_NUM, KEYS, storedProperties, TAGS, UNIQUE_KEY } from './properties.ts';
import { isInnerBatch, transactionOf } from './sys-flag.ts';

type Field = keyof typeof FIELD;

const POSITIONS = ['bornHostAt', 'storeHostAt', 'bodyAt', 'topicAt', 'propertiesAt'] as const;

/**
 * The messages of one read share a page of memory: one of them keeps the whole page alive, and its
 * `body` is a view of it, until it is detached.
 */
export class StoredMessage {
  readonly #page: Buffer;
  readonly #fields: readonly number[];
  /** Where this message's row begins in the table of fields. */
  readonly #row: number;
  #body: Buffer | undefined = undefined;
  #properties: Readonly<Record<string, string>> | undefined = undefined;

  /** Made by reads alone. */
  constructor(page: Buffer, fields: readonly number[], index: number) {
    this.#page = page;
    this.#fields = fields;
    this.#row = index * FIELDS;
  }

  /** Its position in the queue that was read: what `read` takes. */
  get offset(): number {
    return this.#field('offset');
  }
  get topic(): string {
    return this.#text('topicAt', 'topicSize');
  }
  get queueId(): number {
    return this.#field('queueId');
  }
  /** Its position in the topic's queue. */
  get queueOffset(): number {
    return this.#field('queueOffset');
  }
  get physicalOffset(): number {
    return this.#field('physicalOffset');
  }
  /** Bytes of the record. */
  get size(): number {
    return this.#field('size');
  }
  /** RocketMQ's offset message id. */
  get msgId(): string {
    const address = this.#bytes('storeHostAt', 'storeAddressSize');
    return addon.messageId(address, this.#field('storePort'), this.physicalOffset);
  }

  /**
   * The body, decompressed where this Node can do that (see {@link compressed}). Throws
   * `STORE_CORRUPT_RECORD` where it is not what its sysFlag says, `STORE_LIMIT` where it would have
   * more than 64 MiB.
   */
  get body(): Buffer {
    this.#body ??= this.#decompressed();
    return this.#body;
  }
  /** The body as it is stored. */
  get rawBody(): Buffer {
    return this.#bytes('bodyAt', 'bodySize');
  }
  /** `body` is as it is stored, compressed: by lz4, zstd before Node 22.15, or an unknown kind. */
  get compressed(): boolean {
    const kind = this.compression;
    return kind !== undefined && !canDecompress(kind);
  }
  /** How the stored body is compressed; undefined where it is not. */
  get compression(): Compression | undefined {
    return compressionOf(this.sysFlag);
  }
  text(): string {
    return this.compression === undefined
      ? this.#text('bodyAt', 'bodySize')
      : this.body.toString('utf8');
  }
  json(): unknown {
    return JSON.parse(this.text());
  }

  /** By name, as Java reads them; without the store's checksum. The object has no prototype. */
  get properties(): Readonly<Record<string, string>> {
    this.#properties ??= readProperties(this.#text('propertiesAt', 'propertiesSize'));
    return this.#properties;
  }
  /** The stored bytes, checksum included. */
  get rawProperties(): Buffer {
    return this.#bytes('propertiesAt', 'propertiesSize');
  }
  get tags(): string | undefined {
    return this.properties[TAGS];
  }
  get keys(): string[] {
    return (this.properties[KEYS] ?? '').split(' ').filter((key) => key !== '');
  }
  get uniqueKey(): string | undefined {
    return this.properties[UNIQUE_KEY];
  }
  /** How many messages it stands for: more than one where its body is an inner batch of a broker's. */
  get messageCount(): number {
    const count = isInnerBatch(this.sysFlag) ? Number(this.properties[INNER_NUM]) : 1;
    return Number.isInteger(count) && count > 0 ? count : 1;
  }
  /** Full names of the light queues that the message is in. */
  get lmq(): string[] {
    return this.#lightQueues().names;
  }
  /** `lmqOffsets[i]` is the offset in `lmq[i]`. */
  get lmqOffsets(): number[] {
    return this.#lightQueues().offsets;
  }

  get bornTimestamp(): number {
    return this.#field('bornTimestamp');
  }
  get storeTimestamp(): number {
    return this.#field('storeTimestamp');
  }
  get bornHost(): string {
    return formatHost(this.#bytes('bornHostAt', 'bornAddressSize'), this.#field('bornPort'));
  }
  get storeHost(): string {
    return formatHost(this.#bytes('storeHostAt', 'storeAddressSize'), this.#field('storePort'));
  }
  get flag(): number {
    return this.#field('flag');
  }
  get sysFlag(): number {
    return this.#field('sysFlag');
  }
  get transaction(): Transaction | undefined {
    return transactionOf(this.sysFlag);
  }
  get reconsumeTimes(): number {
    return this.#field('reconsumeTimes');
  }
  get preparedTransactionOffset(): number {
    return this.#field('preparedTransactionOffset');
  }

  /** The same message with memory of its own, so that it may be kept without its page. */
  detach(): StoredMessage {
    const start = this.#field('start');
    if (start === 0 && this.size === this.#page.length) return this;
    const fields = this.#fields.slice(this.#row, this.#row + FIELDS);
    const page = Buffer.allocUnsafeSlow(this.size);
    this.#page.copy(page, 0, start, start + this.size);
    for (const field of POSITIONS) fields[FIELD[field]] = this.#field(field) - start;
    fields[FIELD.start] = 0;
    return new StoredMessage(page, fields, 0);
  }

  /** For one line of JSON: the body in base64, as it is stored where it cannot be decompressed. */
  toJSON() {
    const { offset, topic, queueId, queueOffset, physicalOffset, size, msgId, tags, keys } = this;
    const { properties, bornTimestamp, storeTimestamp, bornHost, storeHost, flag, sysFlag } = this;
    const body = this.#shown().toString('base64');
    return {
      ...{ offset, topic, queueId, queueOffset, physicalOffset, size, msgId, tags, keys },
      ...{ properties, body, bornTimestamp, storeTimestamp, bornHost, storeHost, flag, sysFlag },
    };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { ...this.toJSON(), body: this.#shown() };
  }

  #field(name: Field): number {
    return this.#fields[this.#row + FIELD[name]] as number;
  }
  #bytes(at: Field, size: Field): Buffer {
    const start = this.#field(at);
    return this.#page.subarray(start, start + this.#field(size));
  }
  #text(at: Field, size: Field): string {
    const start = this.#field(at);
    return this.#page.toString('utf8', start, start + this.#field(size));
  }
  #decompressed(): Buffer {
    const { compression, rawBody } = this;
    if (compression === undefined) return rawBody;
    return decompressed(rawBody, compression, this.physicalOffset);
  }
  #shown(): Buffer {
    try {
      return this.body;
    } catch {
      return this.rawBody;
    }
  }
  #lightQueues() {
    const { [DISPATCH]: list = '', [DISPATCH_OFFSETS]: offsets = '' } = this.properties;
    return storedLightQueues(list, offsets);
  }
}

function readProperties(text: string): Readonly<Record<string, string>> {
  const properties: Record<string, string> = Object.create(null);
  for (const [name, value] of storedProperties(text)) if (name !== CRC) properties[name] = value;
  return properties;
}
