/** What passes between lib/ and the addon; native has the same names and positions. */
import type { NativeExpired } from './native-retention.ts';

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

/**
 * Complete options; every default and bound is lib/options.ts's. Sizes in bytes, times in ms. A file
 * size of 0 is not given: the directory's own, or the default where there is none.
 */
export interface NativeOptions {
  path: string;
  /** Where the commit log is not `commitlog` below `path`; else ''. */
  commitLogPath: string;
  readOnly: boolean;
  adopt: boolean;
  /** Make derived files anew: the light-queue index, and with the second the consume queues. */
  rebuild: boolean;
  rebuildQueues: boolean;
  repair: boolean;
  mappedFileSizeCommitLog: number;
  mappedFileSizeConsumeQueue: number;
  defaultCommitLogSize: number;
  defaultConsumeQueueSize: number;
  messageIndexEnable: boolean;
  /** 0: not given, as file sizes. */
  maxHashSlotNum: number;
  maxIndexNum: number;
  defaultHashSlotNum: number;
  defaultIndexNum: number;
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
  /** Bytes; 0: no limit. */
  maxStoreBytes: number;
  deleteOldest: boolean;
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

/** A message of a batch, complete; its topic and queue are the batch's. */
export interface NativeBatchMessage {
  body: Uint8Array;
  /** Properties before and behind those of light queues, which native writes. */
  head: Uint8Array;
  tail: Uint8Array;
  /** Names of light queues joined by ',', their number (0: none), and whether native writes them. */
  queues: string;
  queueCount: number;
  writeQueues: boolean;
  /** NaN: the store timestamp. */
  bornTimestamp: number;
  bornAddress: Uint8Array;
  bornPort: number;
  storeAddress: Uint8Array;
  storePort: number;
  flag: number;
  sysFlag: number;
  reconsumeTimes: number;
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
  readonly cut?: {
    readonly from: number;
    readonly bytes: number;
    readonly verdict: string;
    readonly savedTo?: string;
  };
  /** Why the light-queue index was rebuilt from the log. */
  readonly lmqRebuilt?: string;
  readonly lmqImported: number;
  /** Damage that was reported and left alone, topics that cannot be dispatched, and the like. */
  readonly notes: readonly RecoveryNote[];
}

export interface RecoveryNote {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly offset?: number;
}

export type NativeExportKind = 'snapshot' | 'broker' | 'inPlace';

/** How far a snapshot or an export has come; after the last step, what was copied. */
export interface NativeExportStep {
  readonly done: boolean;
  /** Bytes of the log, copied and checked, of how many. */
  readonly position: number;
  readonly total: number;
  readonly logMin: number;
  readonly logEnd: number;
  readonly logFiles: number;
  readonly records: number;
  readonly topicQueues: number;
  readonly lightQueues: number;
  readonly units: number;
  readonly logFileSize: number;
  readonly queueFileSize: number;
  readonly indexSlots: number;
  readonly indexEntries: number;
  readonly troubles: readonly { kind: string; count: number; example: string }[];
}

/** Positions in {@link NativeStore.out} after `append`. */
export const OUT_STATUS = 0;
export const OUT_PHYSICAL_OFFSET = 1;
export const OUT_QUEUE_OFFSET = 2;
export const OUT_SIZE = 3;
export const OUT_STORE_TIMESTAMP = 4;
export const OUT_LMQ_COUNT = 5;
export const OUT_LMQ_OFFSETS = 6;

/** Position in `out` after `committed` (-1: none) and `restore` (what was kept). */
export const OUT_OFFSET = 1;

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
  | { readonly event: 'expired'; readonly expired: NativeExpired }
  | { readonly event: 'synced'; readonly position: number }
  | { readonly event: 'progress'; readonly position: number; readonly total: number }
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

/** `position` of `total` bytes of log and queues are looked at; `faults` are those of this step. */
export interface NativeVerifyStep {
  done: boolean;
  position: number;
  total: number;
  records: number;
  units: number;
  faults: NativeFault[];
}

/** A page that native read off the event loop: `out` and `fields` as `read` fills them. */
export interface NativePage {
  readonly out: Float64Array;
  readonly fields: Float64Array;
  /** The records' bytes, in memory of their own. */
  readonly page: Buffer;
}
