/** Options as callers give them, made into what the store and native work with. */

import { resolve } from 'node:path';
import { rangeMistake, typeMistake } from './errors.ts';
import { type Host, parseHost } from './host.ts';
import type { NativeOptions } from './native.ts';
import { OPTIONS, type OptionInput, type OptionValues, optionValues } from './options.ts';

export interface MessageStoreOptions extends OptionInput {
  /** The store's directory: RocketMQ's storePathRootDir. */
  readonly path: string;
}

export interface Config extends Omit<OptionValues, 'storeHost'> {
  readonly storeHost: Host;
  /** Light queues are served. */
  readonly lightQueues: boolean;
  readonly native: NativeOptions;
}

const CODE = 'STORE_INVALID_ARGUMENT';
const UNIT = 20;
const MILLISECONDS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function resolveConfig(given: string | MessageStoreOptions, readOnly: boolean): Config {
  const { path, ...options } = typeof given === 'string' ? { path: given } : objectOf(given);
  if (typeof path !== 'string') throw typeMistake(CODE, 'path must be a string.');
  if (path === '' || path.includes('\0')) throw rangeMistake(CODE, 'path must name a directory.');
  const values = optionValues(options);
  const storeHost = parseHost(values.storeHost, 'storeHost', CODE);
  const native = nativeOptions(resolve(path), readOnly, options, values, storeHost);
  const lightQueues = values.enableLmq && values.enableMultiDispatch;
  return Object.freeze({ ...values, storeHost, lightQueues, native });
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
    readOnly,
    adopt: values.adopt,
    repair: values.repair === 'truncate',
    // 0: the directory decides, and the default where it is new.
    mappedFileSizeCommitLog: given.mappedFileSizeCommitLog ?? 0,
    mappedFileSizeConsumeQueue: wholeUnits(given.mappedFileSizeConsumeQueue ?? 0),
    defaultCommitLogSize: OPTIONS.mappedFileSizeCommitLog.initial,
    defaultConsumeQueueSize: OPTIONS.mappedFileSizeConsumeQueue.initial,
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
