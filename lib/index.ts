export type { ConfNote, ConfReport } from './broker-conf.ts';
export type { Compression } from './compression.ts';
export type { MessageStoreOptions } from './config.ts';
export type { ConsumerOffset } from './consumer-offset-json.ts';
export { isStoreError, StoreError, type StoreErrorCode, type StoreFailure } from './errors.ts';
export type { ExportOptions, ExportReport } from './export.ts';
export type { ExportWarning } from './export-warnings.ts';
export type { FindOptions } from './find.ts';
export type { Follower } from './follow.ts';
export type { Batch, FollowOptions } from './follow-options.ts';
export { lmqName, lmqParts } from './lmq.ts';
export type { Message, PropertiesInput, Transaction } from './message.ts';
export { type MessageIdParts, messageId, parseMessageId } from './message-id.ts';
export type { RecoveryReport } from './native.ts';
export type { ConsumerOffsetsOptions, ConsumerOffsetsPage } from './offsets.ts';
export type { Logger } from './options.ts';
export type { DamagedRecord, ReadResult, ReadStatus } from './page.ts';
export type { Queue } from './queue.ts';
export {
  type LmqsOptions,
  type LmqsPage,
  type QueueInfo,
  type StoreEvents,
  StoreReader,
} from './reader.ts';
export type { RebuildOptions, RebuildProgress } from './rebuild.ts';
export { AppendResult } from './result.ts';
export type { DiskUse, Expired } from './retention.ts';
export type { CopyOptions, CopyProgress, SnapshotReport } from './snapshot.ts';
export type { ReadOptions } from './source.ts';
export { MessageStore } from './store.ts';
export type { StoredMessage } from './stored-message.ts';
export type { Fault, VerifyOptions, VerifyProgress } from './verify.ts';
