/**
 * The addon's surface, declared in one place: its functions here, what they take and give in
 * native-values.ts. Everything is internal: `lib/` alone calls it, with values that are already
 * checked; native asserts and answers in codes.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ConsumerOffset } from './consumer-offset-json.ts';
import { learnHints } from './errors.ts';
import type { NativeFound } from './find.ts';
import type { NativeRetained } from './native-retention.ts';
import type {
  NativeBatchMessage,
  NativeEvent,
  NativeExportKind,
  NativeExportStep,
  NativeFacts,
  NativeOptions,
  NativePage,
  NativeQueueInfo,
  NativeVerifyStep,
  RecoveryReport,
} from './native-values.ts';

export * from './native-args.ts';
export * from './native-retention.ts';
export * from './native-values.ts';

/**
 * An open store. `plan`, `appendWith`, `read`, `readAt` and `bounds` answer in `out` (status first,
 * 0 is success; the facts of a failure by `lastError`), because building objects in native is slow;
 * the others return values or throw an Error whose `facts` are {@link NativeFacts}.
 */
export interface NativeStore {
  readonly out: Float64Array;
  /** By which `append` knows it. */
  readonly number: number;
  /** Memory in which properties lie when `append` takes them; written by lib/property-writer.ts. */
  readonly staged: Uint8Array;
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
  /** `bodyLength`, `plan` and `bornTimestamp` as in `args`. */
  appendWith(
    topic: number,
    queueId: number,
    body: Uint8Array,
    bodyLength: number,
    propertiesHead: string | Uint8Array,
    propertiesTail: string | Uint8Array,
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
  /** All of them or none, at most 32767; an answer like `out` for each. */
  appendBatch(
    topic: number,
    queueId: number,
    messages: readonly NativeBatchMessage[],
  ): Float64Array[];
  /** The store timestamp of the following appends, in ms; NaN: the system's clock again. */
  setClock(now: number): void;

  /** Asks the flusher to sync everything appended so far; 'synced' events tell how far it got. */
  requestSync(): void;
  syncedPosition(): number;
  /** While referenced, pending syncs keep the process alive. */
  ref(): void;
  unref(): void;
  flush(): Promise<void>;
  /**
   * Deletes commit log files: those stored before a time, those below a physical offset (-1: none),
   * and the oldest while more than `cleanPercent` of the device is used (0: none). Above
   * `fullPercent` appends are refused from now on (0: never).
   */
  retain(
    beforeTime: number,
    beforeOffset: number,
    cleanPercent: number,
    fullPercent: number,
  ): Promise<NativeRetained>;
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
  /** As `read`, on another thread. */
  readAsync(
    lmq: boolean,
    queue: number,
    from: number,
    maxMessages: number,
    maxBytes: number,
    tags: string,
    verify: boolean,
    durable: boolean,
  ): Promise<NativePage>;
  /** The record at a physical offset: OUT_COUNT 0 if there is none. */
  readAt(physicalOffset: number, verify: boolean, page: Uint8Array, fields: Float64Array): void;

  /** The first offset stored at or after a time, or with `upper` the last at or before it. */
  offsetAt(lmq: boolean, queue: number, timestamp: number, upper: boolean): Promise<number>;
  /** Store timestamps of a queue's first and last message. */
  times(lmq: boolean, queue: number): { earliest: number | undefined; latest: number | undefined };
  /** The store timestamp of the first message in the log. */
  earliestTime(): number | undefined;

  /** The offset must not pass the queue's end. Answers in `out`, as the next two do. */
  commit(group: string, topic: string, queueId: number, offset: number): void;
  /** An offset that RocketMQ kept: a writer lowers it to the queue's end, a reader keeps it to itself. */
  restore(group: string, topic: string, queueId: number, offset: number): void;
  committed(group: string, topic: string, queueId: number): void;
  groups(): string[];
  consumerOffsets(cursor: number, limit: number): NativeOffsetsPage;
  /** What a file of RocketMQ's held when offsets were last taken from it; 0: never. */
  offsetSource(file: number): number;
  noteOffsetSource(file: number, stamp: number): void;

  topics(): string[];
  queues(topic?: string): NativeQueueInfo[];
  /** Names in creation order from `cursor` on (0 first); `cursor` -1 when there are no more. */
  lmqs(prefix: string, cursor: number, limit: number): { names: string[]; cursor: number };
  lmqCount(): number;
  logMin(): number;
  logEnd(): number;
  /**
   * A reader takes in what the writer has added. 0: nothing came; 1: something did; 2: it has taken
   * in everything anew, and queues have other numbers.
   */
  refresh(): 0 | 1 | 2;
  /** Candidates in the key index, newest first, for store times from `begin` to `end`; '' and -1 begin. */
  findByKey(
    topic: string,
    key: string,
    begin: number,
    end: number,
    file: string,
    number: number,
  ): Promise<NativeFound>;
  /** A reader's: candidates that the key index does not have yet, oldest first; `from` -1 begins. */
  findInLog(topic: string, key: string, from: number): Promise<NativeFound>;
  /** The next part of a verification, or with `restart` the first one. */
  verifyStep(restart: boolean): Promise<NativeVerifyStep>;
  /** Begins a copy into an empty directory; takes the place of any other. */
  exportBegin(kind: NativeExportKind, target: string): void;
  exportStep(): Promise<NativeExportStep>;
  /**
   * Offsets of an export that is done, none beyond the end of its exported queue: groups that are no
   * light queues first, the queues of one topic and group together.
   */
  exportOffsets(cursor: number, limit: number): NativeOffsetsPage;
  /** Lets go of what the copy holds. */
  exportEnd(): void;
}

/** `cursor` -1 when there are no more. */
export interface NativeOffsetsPage {
  readonly offsets: ConsumerOffset[];
  readonly cursor: number;
}

export interface Addon {
  /** Every error code with its hint, in native's order. */
  readonly codes: readonly (readonly [string, string])[];
  /** GetMessageStatus names; OUT_READ_STATUS is an index into them. */
  readonly readStatuses: readonly string[];
  /** The numbers that `append` takes: a store to an array costs less than an argument of a call. */
  readonly args: Float64Array;
  /** To the store, topic and queue that `args` name; answers in the store's `out`. The born host is its own. */
  append(body: Uint8Array): void;
  openStore(options: NativeOptions, listener: (event: NativeEvent) => void): Promise<NativeStore>;
  /** What lies in a directory, without opening it; throws STORE_NOT_FOUND. */
  inspect(path: string, commitLogPath?: string): Record<string, unknown>;
  /** 32 or 56 upper-case hex digits (spec 2.7). */
  messageId(address: Uint8Array, port: number, physicalOffset: number): string;
  parseMessageId(id: string): number | undefined;
  /** 'clmul512', 'clmul256', 'clmul128' or 'table'. */
  crcKernel(): string;
  /** For measurement: ns per record of the native core alone, appending `count` times in one call. */
  benchAppend(
    store: NativeStore,
    topic: number,
    queueId: number,
    body: Uint8Array,
    properties: string,
    plan: number,
    count: number,
  ): number;
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
    const { glibcVersionRuntime: glibc } =
      (process.report?.getReport() as { header?: { glibcVersionRuntime?: string } })?.header ?? {};
    const libc = process.platform === 'linux' ? (glibc ? `glibc ${glibc}` : 'musl') : 'system libc';
    throw new Error(
      `lmq-store has no binary for ${process.platform}-${process.arch} (${libc}), Node ${process.versions.node}. ` +
        'Run `npx lmq-store-build` in your project to compile one.',
      { cause },
    );
  }
}

export const addon: Addon = load();
learnHints(addon.codes);
