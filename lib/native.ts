/**
 * The addon's surface, declared in one place. Everything here is internal: `lib/` alone calls it,
 * with values that are already checked; native asserts and answers in codes.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What a failure carries, in native and in {@link StoreError}. */
export interface NativeFacts {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly path?: string;
  /** A byte or queue offset, when the failure has one. */
  readonly offset?: number;
  readonly limit?: number;
  readonly errno?: number;
}

/** Complete options; every default and bound is lib/config.ts's. Sizes in bytes, times in ms; 0 of a file size: not given. */
export interface NativeOptions {
  path: string;
  readOnly: boolean;
  adopt: boolean;
  repair: boolean;
  mappedFileSizeCommitLog: number;
  mappedFileSizeConsumeQueue: number;
  maxMessageSize: number;
  enabledAppendPropCRC: boolean;
  forceVerifyPropCRC: boolean;
  checkCRCOnRecover: boolean;
  commitLogRecoverMaxNum: number;
  enableLmq: boolean;
  enableMultiDispatch: boolean;
  syncFlush: boolean;
  flushIntervalCommitLog: number;
  flushConsumeQueueThoroughInterval: number;
  prepareAheadBytes: number;
  maxCheckMessageReuseBufferSize: number;
  maxLmqConsumeQueueNum: number;
  maxFilterMessageSize: number;
  travelCqFileNumWhenGetMessage: number;
  maxTransferBytesOnMessageInMemory: number;
  maxTransferCountOnMessageInMemory: number;
  maxTransferBytesOnMessageInDisk: number;
  maxTransferCountOnMessageInDisk: number;
  accessMessageInMemoryMaxRatio: number;
  positionalReads: boolean;
  /** Milliseconds of delay levels, level 1 first. */
  delayLevels: number[];
  storeAddress: Uint8Array;
  storePort: number;
}

/** What recovery found and did; `cut` and the like are absent when there was nothing of the kind. */
export interface RecoveryReport {
  /** The previous writer closed the directory. */
  readonly clean: boolean;
  readonly created: boolean;
  readonly adopted: boolean;
  readonly logMin: number;
  readonly logEnd: number;
  /** Where the scan of the log began, and how many records it passed. */
  readonly scannedFrom: number;
  readonly scannedRecords: number;
  /** Records whose dispatch was repeated. */
  readonly dispatchedRecords: number;
  /** What was cut from the log's end; `savedTo` is the file that keeps the bytes (none if all were zero). */
  readonly cut?: { readonly from: number; readonly bytes: number; readonly verdict: string; readonly savedTo?: string };
  /** Why the light-queue index was rebuilt from the log. */
  readonly lmqRebuilt?: string;
  readonly lmqImported: number;
  /** Damage that was reported and left alone, topics that cannot be dispatched, and the like. */
  readonly notes: readonly { readonly code: string; readonly message: string; readonly path?: string; readonly offset?: number }[];
}

/** Positions in {@link NativeStore.out} after `append`. */
export const OUT_STATUS = 0;
export const OUT_PHYSICAL_OFFSET = 1;
export const OUT_QUEUE_OFFSET = 2;
export const OUT_SIZE = 3;
export const OUT_STORE_TIMESTAMP = 4;
export const OUT_LMQ_COUNT = 5;
export const OUT_LMQ_OFFSETS = 6;

/** Positions in `out` after `read`, `readAt` and `bounds`. */
export const OUT_READ_STATUS = 1;
export const OUT_COUNT = 2;
/** Bytes the page took, or needs when `OUT_READ_STATUS` is {@link READ_PAGE_TOO_SMALL}. */
export const OUT_BYTES = 3;
export const OUT_NEXT_OFFSET = 4;
export const OUT_MIN_OFFSET = 5;
export const OUT_MAX_OFFSET = 6;
/** Pairs (queue offset, physical offset) of damaged records follow from OUT_DAMAGED_LIST on. */
export const OUT_DAMAGED = 7;
export const OUT_DAMAGED_LIST = 8;
export const READ_PAGE_TOO_SMALL = -1;

/** One message's row in the field table that `read` fills: positions are within the page. */
export const FIELD = {
  offset: 0,
  start: 1,
  size: 2,
  queueId: 3,
  flag: 4,
  queueOffset: 5,
  physicalOffset: 6,
  sysFlag: 7,
  bornTimestamp: 8,
  bornHostAt: 9,
  bornAddressSize: 10,
  bornPort: 11,
  storeTimestamp: 12,
  storeHostAt: 13,
  storeAddressSize: 14,
  storePort: 15,
  reconsumeTimes: 16,
  preparedTransactionOffset: 17,
  bodyAt: 18,
  bodySize: 19,
  topicAt: 20,
  topicSize: 21,
  propertiesAt: 22,
  propertiesSize: 23,
  bodyCrc: 24,
  version: 25,
} as const;
export const FIELDS = 26;

/** `event` of the listener given to `openStore`. */
export type NativeEvent =
  | { readonly event: 'synced'; readonly position: number }
  | { readonly event: 'syncFailed'; readonly facts: NativeFacts }
  | { readonly event: 'fault'; readonly facts: NativeFacts };

export interface NativeQueueInfo {
  topic: string;
  queueId: number;
  minOffset: number;
  maxOffset: number;
}

export interface NativeFault {
  code: string;
  message: string;
  path: string;
  offset: number;
}

/**
 * An open store. `append`, `appendWith`, `read`, `readAt` and `bounds` answer in `out` (status first,
 * 0 is success; the facts of a failure by `lastError`), because building objects in native is slow;
 * the others return values or throw an Error whose `facts` are {@link NativeFacts}.
 */
export interface NativeStore {
  readonly out: Float64Array;
  readonly recovery: RecoveryReport;
  lastError(): NativeFacts;

  /** A number for a topic (already checked); the same topic gives the same number. Creates no queue. */
  topic(name: string): number;
  /**
   * Puts a parsed light-queue list into `slot` (0 to 4095, kept until the slot is used again).
   * `names` are joined by ','; `count` is their number; with `writeNames` the record gets an
   * INNER_MULTI_DISPATCH property with `names`.
   */
  plan(slot: number, names: string, count: number, writeNames: boolean): void;
  /** `bodyLength` -1: the whole body; `propertyCount` -1: properties are not counted; plan -1: none; bornTimestamp 0: now. */
  append(
    topic: number,
    queueId: number,
    body: Uint8Array,
    bodyLength: number,
    properties: string,
    propertyCount: number,
    plan: number,
    bornTimestamp: number,
  ): void;
  appendWith(
    topic: number,
    queueId: number,
    body: Uint8Array,
    bodyLength: number,
    propertiesHead: string | Uint8Array,
    propertiesTail: string | Uint8Array,
    propertyCount: number,
    plan: number,
    bornTimestamp: number,
    bornAddress: Uint8Array,
    bornPort: number,
    storeAddress: Uint8Array,
    storePort: number,
    flag: number,
    sysFlag: number,
    reconsumeTimes: number,
    preparedTransactionOffset: number,
  ): void;
  /** The store timestamp of the following appends, in ms; NaN: the system's clock again. */
  setClock(now: number): void;

  /** Asks the flusher to sync everything appended so far; 'synced' events tell how far it got. */
  requestSync(): void;
  syncedPosition(): number;
  /** While referenced, pending syncs keep the process alive. */
  ref(): void;
  unref(): void;
  flush(): Promise<void>;
  close(): Promise<void>;

  /** The number of a topic queue, or -1. Creates nothing. */
  findQueue(topic: string, queueId: number): number;
  /** The number of a light queue (full name), or -1. Creates nothing. */
  findLmq(name: string): number;
  bounds(lmq: boolean, queue: number): void;
  /** `tags`: exact tags joined by byte 01, '' for all. `durable`: only what is synced. */
  read(
    lmq: boolean,
    queue: number,
    from: number,
    maxMessages: number,
    maxBytes: number,
    tags: string,
    verify: boolean,
    durable: boolean,
    page: Uint8Array,
    fields: Float64Array,
  ): void;
  /** The record at a physical offset: OUT_COUNT 0 if there is none. */
  readAt(physicalOffset: number, verify: boolean, page: Uint8Array, fields: Float64Array): void;

  topics(): string[];
  queues(topic?: string): NativeQueueInfo[];
  /** Names in creation order from `cursor` on (0 first); `cursor` -1 when there are no more. */
  lmqs(prefix: string, cursor: number, limit: number): { names: string[]; cursor: number };
  lmqCount(): number;
  logMin(): number;
  logEnd(): number;
  /** A reader takes in what the writer has added; true if anything came. */
  refresh(): boolean;
  /** The next part of a verification: faults found, and whether it is over. */
  verifyStep(): Promise<{ done: boolean; position: number; total: number; records: number; units: number; faults: NativeFault[] }>;
}

export interface Addon {
  /** Every error code with its hint, in native's order. */
  readonly codes: readonly (readonly [string, string])[];
  /** GetMessageStatus names; OUT_READ_STATUS is an index into them. */
  readonly readStatuses: readonly string[];
  openStore(options: NativeOptions, listener: (event: NativeEvent) => void): Promise<NativeStore>;
  /** What lies in a directory, without opening it; throws STORE_NOT_FOUND. */
  inspect(path: string): Record<string, unknown>;
  /** 4 or 16 address bytes, or undefined if the text is no IP address. */
  parseAddress(text: string): Uint8Array | undefined;
  /** 32 or 56 upper-case hex digits (spec 2.7). */
  messageId(address: Uint8Array, port: number, physicalOffset: number): string;
  parseMessageId(id: string): number | undefined;
  /** 'clmul512', 'clmul256', 'clmul128' or 'table'. */
  crcKernel(): string;
  /** For measurement: ns per record of the native core alone, appending `count` times in one call. */
  benchAppend(store: NativeStore, topic: number, queueId: number, body: Uint8Array, properties: string, plan: number, count: number): number;
  benchCopy(bytes: number, ringBytes: number, count: number): number;
  /** Allocations made by the addon on this thread since the last call, where the build counts them; else -1. */
  allocations(): number;
}

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));

function load(): Addon {
  try {
    return require('node-gyp-build')(root) as Addon;
  } catch (cause) {
    const { glibcVersionRuntime: glibc } = (process.report?.getReport() as { header?: { glibcVersionRuntime?: string } })?.header ?? {};
    const libc = process.platform === 'linux' ? (glibc ? `glibc ${glibc}` : 'musl') : 'system libc';
    throw new Error(
      `lmq-store has no binary for ${process.platform}-${process.arch} (${libc}), Node ${process.versions.node}. ` +
        'Run `npx lmq-store-build` in your project to compile one.',
      { cause },
    );
  }
}

export const addon: Addon = load();
