/** A store that is read: every question that changes nothing. */
import { EventEmitter } from 'node:events';
import type { ConfReport } from './broker-conf.ts';
import { offsetOf, queueIdOf, textOf, within } from './checks.ts';
import { type StoreFailure, traceOf } from './errors.ts';
import { type ExportOptions, type ExportReport, exportTo } from './export.ts';
import { type FindOptions, queryOf, search } from './find.ts';
import { fullLmqName, LMQ_PREFIX } from './lmq.ts';
import { addon, type RecoveryReport } from './native.ts';
import type { ConsumerOffsetsOptions, ConsumerOffsetsPage } from './offsets.ts';
import { Queue } from './queue.ts';
import type { DiskUse, Expired } from './retention.ts';
import type { Session } from './session.ts';
import { type CopyOptions, type SnapshotReport, snapshot } from './snapshot.ts';
import { QueueSource } from './source.ts';
import type { StoredMessage } from './stored-message.ts';
import { wellFormed } from './text.ts';
import { type Fault, type VerifyOptions, verification } from './verify.ts';

export interface StoreEvents {
  /** Something failed in the background; the next write fails too. */
  fault: [error: StoreFailure];
  /** Retention has deleted files of the commit log; minimum offsets have followed. */
  expired: [expired: Expired];
  /** The device is used more, or less, than one of the options allows. */
  disk: [use: DiskUse];
  close: [];
}

export interface QueueInfo {
  readonly topic: string;
  readonly queueId: number;
  readonly minOffset: number;
  readonly maxOffset: number;
}

export interface LmqsOptions {
  /** Names that begin so; '%LMQ%' is added where it is missing. */
  readonly prefix?: string | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
  /** Default 1000. */
  readonly limit?: number | undefined;
}

export interface LmqsPage {
  /** Full names, in the order of creation; fewer than `limit`, or none, where a page looked at enough. */
  readonly names: string[];
  /** Where the next page begins; absent on the last. */
  readonly cursor?: string;
}

export class StoreReader extends EventEmitter<StoreEvents> {
  readonly #session: Session;
  #closing: Promise<void> | undefined;

  /** Stores are opened with `MessageStore.open` and `MessageStore.openReader`. */
  constructor(session: Session) {
    super();
    this.#session = session;
    session.onFault = (error) => this.emit('fault', error);
    session.onExpired = (expired) => this.emit('expired', expired);
  }

  /** What opening the directory found and did. */
  get recovery(): RecoveryReport {
    return this.#session.recovery;
  }

  /** What became of the `broker.conf` that was given as `conf`. */
  get conf(): ConfReport | undefined {
    return this.#session.config.conf;
  }

  /** A queue of a topic; a name with '%LMQ%' is a light queue. */
  queue(topic: string, queueId = 0): Queue {
    this.#session.assertOpen();
    const name = wellFormed(textOf(topic, 'topic'));
    const id = queueIdOf(queueId);
    if (name.startsWith(LMQ_PREFIX) && id === 0) return this.lmq(topic);
    return new Queue(new QueueSource(this.#session, name, id, false));
  }

  /** A light queue; '%LMQ%' is added where it is missing. */
  lmq(name: string): Queue {
    this.#session.assertOpen();
    // A broker's log may have names that no message may bring here: what there is can be read.
    const known =
      typeof name === 'string' && this.#session.ask((native) => native.findLmq(name)) >= 0;
    const full = known ? name : fullLmqName(name);
    return new Queue(new QueueSource(this.#session, full, 0, true));
  }

  /** Topics that have queues. */
  topics(): string[] {
    return this.#session.ask((native) => native.topics());
  }

  /** The queues of a topic, or of all topics; light queues are listed by {@link lmqs}. */
  queues(topic?: string): QueueInfo[] {
    const name = topic === undefined ? undefined : wellFormed(textOf(topic, 'topic'));
    return this.#session.ask((native) => native.queues(name));
  }

  /** A page of the light queues there are. */
  lmqs(options: LmqsOptions = {}): LmqsPage {
    const prefix = textOf(options.prefix ?? '', 'prefix');
    const full = prefix.startsWith(LMQ_PREFIX) ? prefix : LMQ_PREFIX + prefix;
    const cursor = within(Number(textOf(options.cursor ?? '0', 'cursor')), 'cursor', 0, 2 ** 53);
    const limit = within(options.limit ?? 1000, 'limit', 1, 2 ** 31 - 1);
    const page = this.#session.ask((native) => native.lmqs(full, cursor, limit));
    return page.cursor < 0
      ? { names: page.names }
      : { names: page.names, cursor: String(page.cursor) };
  }

  /** The message at a position in the commit log; at 0, the first one that is left. */
  getAt(physicalOffset: number | bigint): StoredMessage | undefined {
    const at = offsetOf(physicalOffset, 'physicalOffset');
    this.#session.assertReadable();
    return this.#session.pages.readAt(at, this.#session.config.verify);
  }

  /** The message with an offset message id; undefined if this store has none with that id. */
  getById(msgId: string): StoredMessage | undefined {
    const at = addon.parseMessageId(textOf(msgId, 'msgId'));
    const message = at === undefined ? undefined : this.getAt(at);
    return message?.msgId === msgId.toUpperCase() ? message : undefined;
  }

  /** The store timestamp of the first message in the log, in ms; undefined where there is none. */
  get earliestTime(): number | undefined {
    return this.#session.ask((native) => native.earliestTime());
  }

  /**
   * The messages of a topic that have a key, or all that were stored in a span of time, newest first,
   * in batches. Exact: records say whether they have the key, the index only where to look. Without an
   * index (`messageIndexEnable: false`) no key is found.
   * @throws STORE_FILE_SIZE, while iterating, at an index file whose form is not known.
   */
  find(options: FindOptions): AsyncGenerator<StoredMessage[], void> {
    this.#session.assertOpen();
    return search(this.#session, queryOf(options), traceOf(this.find));
  }

  /** Groups that have an offset in any queue, by name. */
  groups(): string[] {
    this.#session.assertOpen();
    return this.#session.offsets.groups();
  }

  /** A page of all committed offsets, in no particular order. */
  consumerOffsets(options: ConsumerOffsetsOptions = {}): ConsumerOffsetsPage {
    this.#session.assertOpen();
    return this.#session.offsets.page(options);
  }

  /** Checks every record, and every queue entry against its record; gives what is wrong. */
  verify(options: VerifyOptions = {}): AsyncGenerator<Fault, void> {
    this.#session.assertOpen();
    return verification(this.#session, options, traceOf(this.verify));
  }

  /**
   * Copies the store into `dir`, which must be absent or empty, while it is used: a backup that
   * opens as this store does, with everything in it that was stored before the call. Of a directory
   * of RocketMQ's the copy is one too. Nothing is at `dir` until all is there and on disk. Fails
   * with `STORE_DISK_FULL` and the like, with `STORE_BUSY` beside another copy, with `STORE_CLOSED`
   * if the store is closed meanwhile.
   */
  snapshot(dir: string, options: CopyOptions = {}): Promise<SnapshotReport> {
    this.#session.assertOpen();
    return snapshot(this.#session, dir, options, traceOf(this.snapshot));
  }

  /**
   * Copies the store into `dir`, absent or empty, as a directory on which a broker of RocketMQ
   * boots, with `broker.conf` and a directory for each light queue. It holds everything that was
   * stored before the call; the report's `warnings` tell what a broker would trip over. Fails as
   * {@link snapshot} does.
   */
  export(dir: string, options: ExportOptions = {}): Promise<ExportReport> {
    this.#session.assertOpen();
    return exportTo(this.#session, dir, options, traceOf(this.export));
  }

  /** Waits for pending puts, ends followers, and lets the directory go. */
  close(): Promise<void> {
    this.#closing ??= this.#session.close(traceOf(this.close)).finally(() => this.emit('close'));
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
