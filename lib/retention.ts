/** Deleting what has expired: by hand, and every now and then as the options say. */
import { offsetOf, timeOf } from './checks.ts';
import type { Config } from './config.ts';
import { converted, type StoreFailure, type Trace, traceOf } from './errors.ts';
import type { NativeExpired, NativeRetained } from './native.ts';
import type { Session } from './session.ts';

/** Files of the commit log that were deleted. */
export interface Expired extends NativeExpired {}

/** How much of the device is used, and what that means by the options. */
export interface DiskUse {
  /** In percent, rounded up, of what this process could use at most. */
  readonly usedPercent: number;
  /**
   * Above diskMaxUsedSpaceRatio ('clean': what has expired goes at any hour), above
   * diskSpaceCleanForciblyRatio ('forcibly': the oldest go whatever their age), above
   * diskSpaceWarningLevelRatio ('full': writes fail with STORE_DISK_FULL).
   */
  readonly level: 'normal' | 'clean' | 'forcibly' | 'full';
}

export interface RetentionListener {
  disk(use: DiskUse): void;
  failed(error: StoreFailure): void;
}

const HOUR = 3_600_000;
const NOTHING = -1;

export class Retention {
  readonly #session: Session;
  readonly #config: Config;
  readonly #listener: RetentionListener;
  #level: DiskUse['level'] = 'normal';
  #timer: NodeJS.Timeout | undefined;

  constructor(session: Session, listener: RetentionListener) {
    this.#session = session;
    this.#config = session.config;
    this.#listener = listener;
    if (this.#reserved !== undefined || this.#looksAtDisk) this.#wait(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** See `MessageStore.deleteBefore`. */
  async deleteBefore(end: Date | number | bigint, trace: Trace): Promise<Expired> {
    const time = end instanceof Date ? timeOf(end, 'end') : NOTHING;
    const offset = end instanceof Date ? NOTHING : offsetOf(end, 'end');
    return (await this.#retain(time, offset, 0, 0, trace)).expired;
  }

  #retain(time: number, offset: number, clean: number, full: number, trace: Trace) {
    const { native } = this.#session;
    return this.#session.hold<NativeRetained>(native.retain(time, offset, clean, full), trace);
  }

  get #reserved(): number | undefined {
    return this.#config.fileReservedTime;
  }

  get #looksAtDisk(): boolean {
    const { diskMaxUsedSpaceRatio, diskSpaceCleanForciblyRatio, diskSpaceWarningLevelRatio } =
      this.#config;
    return Boolean(
      diskMaxUsedSpaceRatio ?? diskSpaceCleanForciblyRatio ?? diskSpaceWarningLevelRatio,
    );
  }

  /** Does not keep the process alive. */
  #wait(millis: number): void {
    this.#timer = setTimeout(() => this.#look(), millis).unref();
  }

  async #look(): Promise<void> {
    const session = this.#session;
    if (session.closed) return;
    try {
      await this.#run();
    } catch (error) {
      if (!session.closed) this.#listener.failed(converted(error) as StoreFailure);
    }
    if (!session.closed) this.#wait(this.#config.cleanResourceInterval);
  }

  async #run(): Promise<void> {
    const config = this.#config;
    const trace = traceOf(this.#look);
    const full = config.diskSpaceWarningLevelRatio ?? 0;
    // A device is measured where it is compared with something; nothing can be above 100.
    const measured = this.#looksAtDisk
      ? await this.#retain(NOTHING, NOTHING, 100, full, trace)
      : undefined;
    const used = measured?.usedPercent ?? 0;
    const level = this.#levelOf(used);
    const now = config.clock?.() ?? Date.now();
    const due = used > (config.diskMaxUsedSpaceRatio ?? 100) || this.#isHour(now);
    // A message that is exactly as old as that has expired, too.
    const time = due && this.#reserved !== undefined ? now - this.#reserved * HOUR + 1 : NOTHING;
    const clean =
      level === 'forcibly' || level === 'full' ? (config.diskSpaceCleanForciblyRatio ?? 0) : 0;
    const forced = config.cleanFileForciblyEnable ? clean : 0;
    let left = used;
    if ((time > 0 || forced > 0) && !this.#session.closed) {
      const after = await this.#retain(time, NOTHING, forced, full, trace);
      if (after.usedPercent >= 0) left = after.usedPercent;
    }
    if (measured) this.#tell(level, used);
    if (measured && left !== used) this.#tell(this.#levelOf(left), left);
  }

  #tell(level: DiskUse['level'], usedPercent: number): void {
    if (level === this.#level) return;
    this.#level = level;
    this.#listener.disk({ usedPercent, level });
  }

  #levelOf(used: number): DiskUse['level'] {
    const config = this.#config;
    if (used > (config.diskSpaceWarningLevelRatio ?? 100)) return 'full';
    if (used > (config.diskSpaceCleanForciblyRatio ?? 100)) return 'forcibly';
    return used > (config.diskMaxUsedSpaceRatio ?? 100) ? 'clean' : 'normal';
  }

  /** Is it one of the hours of deleteWhen, where deleteWhenTimeZone is the time? */
  #isHour(now: number): boolean {
    const { deleteWhen, deleteWhenTimeZone: timeZone } = this.#config;
    const hour = new Intl.DateTimeFormat('en', { hour: 'numeric', hourCycle: 'h23', timeZone });
    return deleteWhen
      .split(';')
      .map(Number)
      .includes(Number(hour.format(now)));
  }
}
