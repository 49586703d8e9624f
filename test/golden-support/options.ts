// RocketMQ's options, as the golden stores name them, made into ours.
import type { MessageStoreOptions } from '../../lib/index.ts';

/** RocketMQ's values of the options whose defaults differ here; reads give its answers. */
const BROKER_DEFAULTS = {
  enabledAppendPropCRC: false,
  enableLmq: false,
  enableMultiDispatch: false,
  propertyOrder: 'rocketmq',
  verify: false,
} as const satisfies Partial<MessageStoreOptions>;

const SAME = [
  'enableLmq',
  'enableMultiDispatch',
  'enabledAppendPropCRC',
  'flushDiskType',
  'forceVerifyPropCRC',
  'mappedFileSizeCommitLog',
  'mappedFileSizeConsumeQueue',
  'maxHashSlotNum',
  'maxIndexNum',
  'messageIndexEnable',
  'maxMessageSize',
  'travelCqFileNumWhenGetMessage',
];

/** What only RocketMQ has. */
const OTHERS = [
  'checkCommitLogOffsetOnRecover',
  'enableConsumeQueueExt',
  'mappedFileSizeConsumeQueueExt',
  'mapperFileSizeBatchConsumeQueue',
];

export function optionsOf(
  path: string,
  given: Readonly<Record<string, unknown>>,
): MessageStoreOptions {
  const ours: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (SAME.includes(name)) ours[name] = value;
    else if (!OTHERS.includes(name)) throw new Error(`No golden store has had the option ${name}.`);
  }
  return { ...BROKER_DEFAULTS, ...ours, path };
}
