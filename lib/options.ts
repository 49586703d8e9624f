/**
 * Every option: its name (RocketMQ's where RocketMQ has it), default and bounds. The types, the checks
 * and the defaults of the store are all made from this one table.
 */
import { rangeMistake, typeMistake } from './errors.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const INT_MAX = 2147483647;

interface Option<T> {
  readonly initial: T;
  /** What a value must be, in words and in fact. */
  readonly rule: string;
  readonly type: string;
  accepts(value: unknown): boolean;
}

function integer(initial: number, least: number, most: number): Option<number> {
  return {
    initial,
    rule: `an integer from ${least} to ${most}`,
    type: 'number',
    accepts: (v) => Number.isInteger(v) && (v as number) >= least && (v as number) <= most,
  };
}

function flag(initial: boolean): Option<boolean> {
  return { initial, rule: 'true or false', type: 'boolean', accepts: () => true };
}

function choice<const T extends string | number>(initial: T, ...others: T[]): Option<T> {
  const all: unknown[] = [initial, ...others];
  const rule = all.map((one) => JSON.stringify(one)).join(' or ');
  return { initial, rule, type: typeof initial, accepts: (v) => all.includes(v) };
}

function text(initial: string, rule: string, pattern: RegExp): Option<string> {
  return { initial, rule, type: 'string', accepts: (v) => pattern.test(v as string) };
}

/** An option that is absent unless it is given. */
function optional<T>(
  type: string,
  rule: string,
  accepts: (value: unknown) => boolean = () => true,
): Option<T | undefined> {
  return { initial: undefined, rule, type, accepts };
}

const isWithin =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

const HOURS = /^([01]?\d|2[0-3])(;([01]?\d|2[0-3]))*$/;

function isTimeZone(value: unknown): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: value as string }));
  } catch {
    return false;
  }
}

/** Where lines about rare events go: the console, pino and the like. */
export interface Logger {
  debug?(line: string): void;
  info?(line: string): void;
  warn?(line: string): void;
  error?(line: string): void;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const isLogger = (value: unknown) =>
  LEVELS.every((level) =>
    ['function', 'undefined'].includes(typeof (value as Logger | null)?.[level]),
  ) && value !== null;

export const OPTIONS = {
  // Files.

  /** Bytes of a commit log file. A directory that has files keeps their size. */
  mappedFileSizeCommitLog: integer(128 * MiB, KiB, INT_MAX),
  /** Bytes of a consume queue file, rounded up to whole units of 20. */
  mappedFileSizeConsumeQueue: integer(6_000_000, 20, INT_MAX - 7),
  /** The commit log's directory, where it is not `commitlog` in the store's; for reading only. */
  storePathCommitLog: text('', 'one directory, not a list', /^[^,\0]*$/),
  /** Take over a directory that RocketMQ wrote. */
  adopt: flag(false),
  /** Open a damaged log by cutting it where the damage begins; what is cut is kept in `cut/`. */
  repair: optional<'truncate'>('string', "'truncate'", (v) => v === 'truncate'),
  /** Map files into memory, or read them with `pread`. */
  readMode: choice('map', 'pread'),
  /** Bytes of the commit log that are reserved ahead of what is written. */
  prepareAheadBytes: integer(16 * MiB, 0, INT_MAX),

  // Messages.

  /** Bytes of a body. A record may be 64 KiB larger. */
  maxMessageSize: integer(4 * MiB, 10, INT_MAX - 64 * KiB),
  /** Bytes of a topic; 127 is what RocketMQ's brokers allow. */
  topicLength: choice(255, 127),
  /** Properties as they are given, or light-queue messages as a broker orders them. */
  propertyOrder: choice('given', 'rocketmq'),
  /** The address that is written into records and message ids. */
  storeHost: text('127.0.0.1:10911', "an address and a port, as '127.0.0.1:10911'", /:\d+$/),
  /** Delays of the schedule topic, level 1 first. */
  messageDelayLevel: text(
    '1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h',
    "delays such as '1s 5m 2h 1d', separated by spaces",
    /^ *\d{1,9}[smhd]( +\d{1,9}[smhd])* *$/,
  ),
  /** What is the time, in milliseconds; the system's unless given. */
  clock: optional<() => number>('function', 'a function'),

  // Light queues.

  /** Both must be on for light queues to be served. */
  enableLmq: flag(true),
  enableMultiDispatch: flag(true),
  /** How many light queues there may be; 0: no limit. */
  maxLmqConsumeQueueNum: integer(0, 0, INT_MAX),

  // Retention: nothing is deleted unless one of these is given.

  /** Hours after which a message has expired. Whole files go, when their last message has. */
  fileReservedTime: optional<number>('number', 'an integer from 1 to 87600', isWithin(1, 87_600)),
  /** Hours of the day at which what has expired is deleted, separated by ';'. */
  deleteWhen: text('04', "hours of the day such as '04' or '4;16'", HOURS),
  /** Whose hours these are: UTC, or a name such as Europe/Berlin. */
  deleteWhenTimeZone: { ...text('UTC', 'a time zone', /./), accepts: isTimeZone },
  /** Milliseconds between two looks at what has expired and at the device. */
  cleanResourceInterval: integer(10_000, 1, INT_MAX),
  /** Bytes that the files of the commit log may have. */
  maxStoreBytes: optional<number>('number', 'an integer from 1024 to 2^53 - 1', isWithin(KiB)),
  /** What happens at maxStoreBytes: STORE_DISK_FULL, or the oldest file goes. */
  whenFull: choice('refuse', 'deleteOldest'),
  /** Above so many percent of the device, what has expired is deleted at any hour. */
  diskMaxUsedSpaceRatio: optional<number>('number', 'an integer from 1 to 100', isWithin(1, 100)),
  /** Above so many percent, the oldest files are deleted, whatever their age. */
  diskSpaceCleanForciblyRatio: optional<number>(
    'number',
    'an integer from 1 to 100',
    isWithin(1, 100),
  ),
  /** False: not even then. */
  cleanFileForciblyEnable: flag(true),
  /** Above so many percent, writes fail with STORE_DISK_FULL. */
  diskSpaceWarningLevelRatio: optional<number>(
    'number',
    'an integer from 1 to 100',
    isWithin(1, 100),
  ),

  // Keys.

  /** Write an index of keys; without it {@link StoreReader.find} finds nothing by key. */
  messageIndexEnable: flag(true),
  /** Slots and entries of an index file. A directory that has files keeps their numbers; a broker's are
   * 5,000,000 and 20,000,000. */
  maxHashSlotNum: integer(50_000, 1, 100_000_000),
  maxIndexNum: integer(200_000, 2, 100_000_000),

  // Durability.

  /** SYNC_FLUSH: readers see only what is on disk. */
  flushDiskType: choice('ASYNC_FLUSH', 'SYNC_FLUSH'),
  /** Milliseconds after which an appended message is on disk. */
  flushIntervalCommitLog: integer(500, 1, INT_MAX),
  flushConsumeQueueThoroughInterval: integer(60_000, 1, INT_MAX),
  /** Bytes of puts that wait for the disk; one more put then fails with STORE_BUSY. */
  maxPendingPutBytes: integer(64 * MiB, 1, Number.MAX_SAFE_INTEGER),

  // Checks.

  /** Write a checksum over the whole record into it. */
  enabledAppendPropCRC: flag(true),
  /** Refuse records without that checksum. */
  forceVerifyPropCRC: flag(false),
  checkCRCOnRecover: flag(true),
  /** Reads verify checksums. */
  verify: flag(true),
  /**
   * How many files are tried when looking for the place where recovery of RocketMQ's directory starts;
   * 0: all. RocketMQ tries 10, and consumers lose what lies before them where queues are missing.
   */
  commitLogRecoverMaxNum: integer(0, 0, INT_MAX),
  /** Bytes of the buffer that is kept for checking records of files that are not mapped. */
  maxCheckMessageReuseBufferSize: integer(4 * MiB + 65_536, 0, INT_MAX),

  // Reading.

  /** Milliseconds between the looks of a reader's followers at what the writer added. */
  followInterval: integer(10, 1, INT_MAX),
  /** Bytes of consume queue that one read looks through. */
  maxFilterMessageSize: integer(16_000, 0, INT_MAX),
  /** Consume queue files that one read looks into. */
  travelCqFileNumWhenGetMessage: integer(1, 1, INT_MAX),
  maxTransferBytesOnMessageInMemory: integer(256 * KiB, 0, INT_MAX),
  maxTransferCountOnMessageInMemory: integer(32, 1, 65_536),
  maxTransferBytesOnMessageInDisk: integer(64 * KiB, 0, INT_MAX),
  maxTransferCountOnMessageInDisk: integer(8, 1, 65_536),
  /** Percent of the system's memory: what lies further back than that counts as on disk. */
  accessMessageInMemoryMaxRatio: integer(40, 0, 100),

  /** Gets a line for each rare event. */
  logger: optional<Logger>('object', 'an object with methods by level', isLogger),
} as const satisfies Record<string, Option<unknown>>;

type Table = typeof OPTIONS;
type ValueOf<O> = O extends Option<infer T> ? T : never;

/** Every option with its value. */
export type OptionValues = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

/** The options that may be given. */
export type OptionInput = { readonly [Name in keyof Table]?: ValueOf<Table[Name]> | undefined };

/** Fills in what is absent; refuses unknown names and impossible values. */
export function optionValues(given: Readonly<Record<string, unknown>>): OptionValues {
  const code = 'STORE_INVALID_ARGUMENT';
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(OPTIONS, name)) throw rangeMistake(code, `There is no option ${name}.`);
  }
  const entries = Object.entries<Option<unknown>>(OPTIONS).map(([name, option]) => {
    const value = given[name];
    if (value === undefined) return [name, option.initial];
    const message = `${name} must be ${option.rule}.`;
    if (typeof value !== option.type) throw typeMistake(code, message);
    if (!option.accepts(value)) throw rangeMistake(code, message);
    return [name, value];
  });
  return Object.fromEntries(entries) as OptionValues;
}
