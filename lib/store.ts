/** A store that is written. */
import { Appender } from './append.ts';
import { BatchAppender } from './append-batch.ts';
import type { MessageStoreOptions } from './config.ts';
import { converted, traceOf } from './errors.ts';
import { type ExportOptions, type ExportReport, exportInPlace } from './export.ts';
import type { Message } from './message.ts';
import type { RecoveryReport } from './native.ts';
import { StoreReader } from './reader.ts';
import { type RebuildOptions, rebuild } from './rebuild.ts';
import type { AppendResult } from './result.ts';
import { type Expired, Retention } from './retention.ts';
import { Session } from './session.ts';

export class MessageStore extends StoreReader {
  readonly #session: Session;
  readonly #appender: Appender;
  readonly #batches: BatchAppender;
  readonly #retention: Retention;

  /** Opens a directory, and creates it if there is none. */
  static async open(pathOrOptions: string | MessageStoreOptions): Promise<MessageStore> {
    return new MessageStore(await Session.open(pathOrOptions, false, traceOf(MessageStore.open)));
  }

  /** Opens a directory for reading, also beside the process that writes it. Changes no byte. */
  static async openReader(pathOrOptions: string | MessageStoreOptions): Promise<StoreReader> {
    const trace = traceOf(MessageStore.openReader);
    return new StoreReader(await Session.open(pathOrOptions, true, trace));
  }

  /**
   * Makes the files that follow from the commit log anew: the index of light queues and, with
   * `consumeQueues`, the queues of topics. A kill on the way is healed by the next open. The store
   * must be closed (`STORE_LOCKED`) and this library's (`STORE_FOREIGN_DIRECTORY`, `STORE_NOT_FOUND`
   * where there is none); a refusal changes nothing.
   */
  static rebuild(
    pathOrOptions: string | MessageStoreOptions,
    options: RebuildOptions = {},
  ): Promise<RecoveryReport> {
    return rebuild(pathOrOptions, options, traceOf(MessageStore.rebuild));
  }

  /** Stores are opened with {@link MessageStore.open}. */
  constructor(session: Session) {
    super(session);
    this.#session = session;
    this.#appender = new Appender(session.native, session.config, session.waiters);
    this.#batches = new BatchAppender(session.native, session.config, session.waiters);
    this.#retention = new Retention(session, {
      disk: (use) => this.emit('disk', use),
      failed: (error) => session.onFault?.(error),
    });
  }

  /**
   * Stores a message. When this returns, the message survives the end of the process, and it is on
   * disk within `flushIntervalCommitLog`. `into` is a result to fill again in place of a new one.
   */
  append(message: Message, into?: AppendResult): AppendResult {
    this.#session.assertOpen();
    return this.#appender.append(message, into);
  }

  /** Stores a message as `append` does; resolves once it is on disk and survives a power cut. */
  put(message: Message): Promise<AppendResult> {
    const { puts } = this.#session;
    let result: AppendResult;
    try {
      puts.refuseIfBusy();
      result = this.append(message);
    } catch (error) {
      return Promise.reject(error);
    }
    return puts.wait(result);
  }

  /**
   * Stores messages of one topic and queue (1 to 32,767) one behind the other, with consecutive queue
   * offsets and one store timestamp: all of them or, if any is refused or the process is killed
   * meanwhile, none. When this returns, they survive the end of the process.
   *
   * Together their bodies have at most `maxMessageSize` bytes (`STORE_BODY_TOO_LARGE`), and their
   * records fit into one commit-log file (`STORE_RECORD_TOO_LARGE`). They take no part in transactions
   * (`STORE_INVALID_MESSAGE`). No messages give no results.
   */
  appendBatch(messages: readonly Message[]): AppendResult[] {
    this.#session.assertOpen();
    return this.#batches.append(messages);
  }

  /**
   * Stores messages as `appendBatch` does; resolves once all of them are on disk. A power cut before
   * that may leave the first of them only.
   */
  putBatch(messages: readonly Message[]): Promise<AppendResult[]> {
    const { puts } = this.#session;
    let results: AppendResult[];
    try {
      puts.refuseIfBusy();
      results = this.appendBatch(messages);
    } catch (error) {
      return Promise.reject(error);
    }
    return puts.waitForAll(results);
  }

  /** Resolves once everything stored so far is on disk. */
  async flush(): Promise<void> {
    this.#session.assertOpen();
    await this.#session.hold(this.#session.native.flush(), traceOf(this.flush));
  }

  /**
   * Makes this directory ready for a broker of RocketMQ and closes the store: a directory for each
   * light queue, `config/topics.json`, `broker.conf`. Nothing is appended meanwhile, and the store
   * is closed also where this fails. What a broker then writes, the next open takes in.
   */
  async exportInPlace(options: ExportOptions = {}): Promise<ExportReport> {
    this.#session.assertOpen();
    const trace = traceOf(this.exportInPlace);
    let outcome: { report: ExportReport } | { error: unknown } | undefined;
    this.#session.atEnd = async () => {
      outcome = await exportInPlace(this.#session, options).then(
        (report) => ({ report }),
        (error: unknown) => ({ error: converted(error, trace) }),
      );
    };
    await this.close();
    if (outcome && 'report' in outcome) return outcome.report;
    throw outcome?.error;
  }

  /**
   * Deletes the commit log files in which everything was stored before a date, or lies below a
   * physical offset; never the last one. Minimum offsets of all queues follow. Resolves to what was
   * deleted, which the event 'expired' tells, too: possibly nothing.
   */
  async deleteBefore(end: Date | number | bigint): Promise<Expired> {
    this.#session.assertOpen();
    return this.#retention.deleteBefore(end, traceOf(this.deleteBefore));
  }

  override close(): Promise<void> {
    this.#retention.stop();
    return super.close();
  }
}
