/** Options as callers give them, made into what the store and native work with. */

import { join, resolve } from 'node:path';
import { type ConfReport, readConf } from './broker-conf.ts';
import { rangeMistake, StoreError, typeMistake } from './errors.ts';
import { type Host, parseHost } from './host.ts';
import type { NativeOptions } from './native.ts';
import { OPTIONS, type OptionInput, type OptionValues, optionValues } from './options.ts';

export interface MessageStoreOptions extends OptionInput {
  /** The store's directory: RocketMQ's storePathRootDir. It may be left out where `conf` names it. */
  readonly path?: string | undefined;
  /**
   * A `broker.conf` that gives options. A value given here wins over one of the file; a relative
   * `storePathRootDir` is one of the working directory. Keys that do not count are told to the
   * `logger` and listed in `store.conf`. An impossible value is a RangeError, a missing file
   * `STORE_NOT_FOUND`.
   */
  readonly conf?: string | undefined;
}

export interface Config extends Omit<OptionValues, 'storeHost'> {
  readonly storeHost: Host;
  /** Light queues are served. */
  readonly lightQueues: boolean;
  readonly native: NativeOptions;
  /** What became of the `broker.conf`, if one was given. */
  readonly conf: ConfReport | undefined;
}

const CODE = 'STORE_INVALID_ARGUMENT';
const UNIT = 20;
const MILLISECONDS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function resolveConfig(given: string | MessageStoreOptions, readOnly: boolean): Config {
  const { path, conf, ...code } = typeof given === 'string' ? { path: given } : objectOf(given);
  if (typeof path !== 'string' && (path !== undefined || conf === undefined))
    throw typeMistake(CODE, 'path must be a string.');
  if (path === '' || path?.includes('\0')) throw rangeMistake(CODE, 'path must name a directory.');
  const file = conf === undefined ? undefined : readConf(conf, path, code);
  const options: OptionInput = { ...file?.applied, ...present(code) };
  const values = optionValues({ ...code, ...options });
  const root = resolve(file?.root ?? path!);
  const storeHost = parseHost(values.storeHost, 'storeHost', CODE);
  const native = nativeOptions(root, readOnly, options, values, storeHost);
  const lightQueues = values.enableLmq && values.enableMultiDispatch;
  return Object.freeze({ ...values, storeHost, lightQueues, native, conf: reportOf(file) });
}

/** What is undefined is not given. */
function present(options: OptionInput): OptionInput {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function reportOf(file: ConfReport | undefined): ConfReport | undefined {
  return file && { path: file.path, applied: file.applied, notes: file.notes };
}

/** The commit log's directory where it is not the usual one; '' where it is. */
function elsewhere(path: string, commitLog: string, readOnly: boolean): string {
  const log = commitLog === '' ? '' : resolve(commitLog);
  if (log === '' || log === join(path, 'commitlog')) return '';
  if (readOnly) return log;
  const message = 'A store is written only with its commit log in its own directory';
  throw new StoreError('STORE_UNSUPPORTED', `${message} (storePathCommitLog).`, { path: log });
}

function nativeOptions(
  path: string,
  readOnly: boolean,
  given: OptionInput,
  values: OptionValues,
  storeHost: Host,
): NativeOptions {
  return {
    path,
    commitLogPath: elsewhere(path, values.storePathCommitLog, readOnly),
    readOnly,
    adopt: values.adopt,
    rebuild: false,
    rebuildQueues: false,
    repair: values.repair === 'truncate',
    // 0: the directory decides, and the default where it is new.
    mappedFileSizeCommitLog: given.mappedFileSizeCommitLog ?? 0,
    mappedFileSizeConsumeQueue: wholeUnits(given.mappedFileSizeConsumeQueue ?? 0),
    defaultCommitLogSize: OPTIONS.mappedFileSizeCommitLog.initial,
    defaultConsumeQueueSize: OPTIONS.mappedFileSizeConsumeQueue.initial,
    messageIndexEnable: values.messageIndexEnable,
    maxHashSlotNum: given.maxHashSlotNum ?? 0,
    maxIndexNum: given.maxIndexNum ?? 0,
    defaultHashSlotNum: OPTIONS.maxHashSlotNum.initial,
    defaultIndexNum: OPTIONS.maxIndexNum.initial,
    maxMessageSize: values.maxMessageSize,
    enabledAppendPropCRC: values.enabledAppendPropCRC,
    forceVerifyPropCRC: values.forceVerifyPropCRC,
    checkCRCOnRecover: values.checkCRCOnRecover,
    commitLogRecoverMaxNum: values.commitLogRecoverMaxNum,
    enableLmq: values.enableLmq,
    enableMultiDispatch: values.enableMultiDispatch,
    syncFlush: values.flushDiskType === 'SYNC_FLUSH',
    flushIntervalCommitLog: values.flushIntervalCommitLog,
    flushConsumeQueueThoroughInterval: values.flushConsumeQueueThoroughInterval,
    prepareAheadBytes: values.prepareAheadBytes,
    maxCheckMessageReuseBufferSize: values.maxCheckMessageReuseBufferSize,
    maxLmqConsumeQueueNum: values.maxLmqConsumeQueueNum,
    maxStoreBytes: values.maxStoreBytes ?? 0,
    deleteOldest: values.maxStoreBytes !== undefined && values.whenFull === 'deleteOldest',
    maxFilterMessageSize: values.maxFilterMessageSize,
    travelCqFileNumWhenGetMessage: values.travelCqFileNumWhenGetMessage,
    maxTransferBytesOnMessageInMemory: values.maxTransferBytesOnMessageInMemory,
    maxTransferCountOnMessageInMemory: values.maxTransferCountOnMessageInMemory,
    maxTransferBytesOnMessageInDisk: values.maxTransferBytesOnMessageInDisk,
    maxTransferCountOnMessageInDisk: values.maxTransferCountOnMessageInDisk,
    accessMessageInMemoryMaxRatio: values.accessMessageInMemoryMaxRatio,
    positionalReads: values.readMode === 'pread',
    delayLevels: delays(values.messageDelayLevel),
    storeAddress: storeHost.address,
    storePort: storeHost.port,
  };
}

function objectOf(given: MessageStoreOptions): MessageStoreOptions {
  if (typeof given === 'object' && given !== null) return given;
  throw typeMistake(CODE, 'A store is opened with a path or with an object of options.');
}

function wholeUnits(size: number): number {
  return Math.ceil(size / UNIT) * UNIT;
}

function delays(levels: string): number[] {
  return levels
    .trim()
    .split(/ +/)
    .map(
      (level) => Number.parseInt(level, 10) * MILLISECONDS[level.at(-1) as 's' | 'm' | 'h' | 'd'],
    );
}
