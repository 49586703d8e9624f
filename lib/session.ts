/** An open store as the parts of this library share it. */
import { type Config, type MessageStoreOptions, resolveConfig } from './config.ts';
import {
  asking,
  converted,
  failureOf,
  StoreError,
  type StoreFailure,
  type Trace,
} from './errors.ts';
import { Life } from './life.ts';
import {
  addon,
  type NativeEvent,
  type NativeExpired,
  type NativeStore,
  type RecoveryReport,
} from './native.ts';
import { Offsets } from './offsets.ts';
import { Pages } from './page.ts';
import { Puts } from './puts.ts';
import { Waiters } from './waiters.ts';

export class Session {
  readonly native: NativeStore;
  readonly config: Config;
  readonly life: Life;
  readonly puts: Puts;
  readonly waiters: Waiters;
  readonly pages: Pages;
  readonly offsets: Offsets;
  /** What the open found and did. */
  recovery: RecoveryReport;
  readonly #running = new Set<Promise<unknown>>();
  closed = false;
  /** Numbers of queues hold for one of these. */
  generation = 0;
  /** The last thing that is done before native closes. */
  atEnd: (() => Promise<void>) | undefined;
  /** Told of faults in the background. */
  onFault: ((error: StoreFailure) => void) | undefined;
  /** Told of what retention deleted. */
  onExpired: ((expired: NativeExpired) => void) | undefined;

  static async open(
    given: string | MessageStoreOptions,
    readOnly: boolean,
    trace: Trace,
  ): Promise<Session> {
    const config = resolveConfig(given, readOnly);
    const early: NativeEvent[] = [];
    let receive = (event: NativeEvent): void => void early.push(event);
    try {
      const native = await addon.openStore(config.native, (event) => receive(event));
      const session = new Session(native, config);
      receive = (event) => session.#receive(event);
      // Once the store is made and listens.
      for (const event of early) setImmediate(receive, event);
      await session.#loadOffsets(trace);
      session.#reportRecovery();
      return session;
    } catch (error) {
      throw converted(error, trace);
    }
  }

  private constructor(native: NativeStore, config: Config) {
    const { followInterval, maxPendingPutBytes } = config;
    this.native = native;
    this.config = config;
    this.recovery = native.recovery;
    this.offsets = new Offsets(native, config.native.path, config.native.readOnly);
    this.life = new Life(native);
    this.puts = new Puts(native, this.life, maxPendingPutBytes);
    const poll = { interval: followInterval, look: () => this.#refresh() };
    this.waiters = new Waiters(this.life, config.native.readOnly ? poll : undefined);
    const { maxTransferCountOnMessageInMemory, maxTransferCountOnMessageInDisk } = config;
    this.pages = new Pages(
      native,
      Math.max(maxTransferCountOnMessageInMemory, maxTransferCountOnMessageInDisk),
    );
  }

  /** Refuses what is asked of a closed store. */
  assertOpen(): void {
    if (this.closed) throw new StoreError('STORE_CLOSED', 'The store is closed.');
  }

  /** Before anything is read: beside a writer, takes in what the writer has added. */
  assertReadable(): void {
    this.assertOpen();
    if (this.config.native.readOnly) this.#refresh();
  }

  /** Asks native what it answers with a value. */
  ask<T>(question: (native: NativeStore) => T): T {
    this.assertReadable();
    return asking(() => question(this.native));
  }

  /** Holds the process, and the end of a close, until a promise of native's settles. */
  async hold<T>(promise: Promise<T>, trace: Trace): Promise<T> {
    this.life.hold();
    this.#running.add(promise);
    try {
      return await promise;
    } catch (error) {
      throw converted(error, trace);
    } finally {
      this.#running.delete(promise);
      this.life.release();
    }
  }

  async close(trace: Trace): Promise<void> {
    this.closed = true;
    this.waiters.end();
    this.offsets.end();
    await this.puts.settled();
    await Promise.allSettled(this.#running);
    if (this.atEnd) await this.hold(this.atEnd(), trace);
    await this.hold(this.native.close(), trace);
    this.config.logger?.debug?.(`Closed ${this.config.native.path}.`);
  }

  /** A store whose offsets cannot be read is not open. */
  async #loadOffsets(trace: Trace): Promise<void> {
    try {
      const notes = await this.offsets.load();
      this.recovery = { ...this.recovery, notes: [...this.recovery.notes, ...notes] };
    } catch (error) {
      await this.close(trace);
      throw error;
    }
  }

  #refresh(): void {
    const news = asking(() => this.native.refresh());
    if (news === 2) this.generation++;
    // Whoever looks first wakes all: the next look would find nothing new.
    if (news > 0) this.waiters.news();
  }

  #receive(event: NativeEvent): void {
    if (event.event === 'synced') {
      this.puts.synced(event.position);
      this.waiters.news();
      return;
    }
    if (event.event === 'progress') return;
    if (event.event === 'expired') {
      const { bytes, logMin } = event.expired;
      this.config.logger?.info?.(`Deleted ${bytes} bytes; the log begins at ${logMin}.`);
      this.onExpired?.(event.expired);
      return;
    }
    const error = failureOf(event.facts);
    this.config.logger?.error?.(`${error.code}: ${error.message}`);
    if (event.event === 'syncFailed') {
      this.puts.failed(error);
      this.waiters.failed(error);
    }
    this.onFault?.(error);
  }

  #reportRecovery(): void {
    const { logger, native } = this.config;
    const { cut, notes, logMin, logEnd, clean } = this.recovery;
    logger?.info?.(
      `Opened ${native.path}: log ${logMin} to ${logEnd}${clean ? '' : ', after an unclean stop'}.`,
    );
    if (cut) logger?.warn?.(`Cut ${cut.bytes} bytes of the log from ${cut.from}: ${cut.verdict}.`);
    for (const { message } of this.config.conf?.notes ?? []) logger?.warn?.(message);
    for (const note of notes) logger?.warn?.(`${note.code}: ${note.message}`);
  }
}
