// RocketMQ's files of consumer offsets, as texts.
import {
  CONSUMER_OFFSET_FILES,
  type ConsumerOffset,
  type ConsumerOffsetFile,
  consumerOffsetText,
} from '../../lib/consumer-offset-json.ts';

const isLight = ({ group }: ConsumerOffset) => (group.startsWith('%LMQ%') ? 1 : 0);
const keyOf = ({ group, topic }: ConsumerOffset) => `${topic}@${group}`;

/** In the order that the files need, in pages of so many. */
export function offsetFiles(
  offsets: readonly ConsumerOffset[],
  timestamp = 7,
  pageSize = 1000,
): Record<ConsumerOffsetFile, string> {
  const sorted = offsets.toSorted(
    (a, b) => isLight(a) - isLight(b) || (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0),
  );
  const pages: ConsumerOffset[][] = [];
  for (let i = 0; i < sorted.length; i += pageSize) pages.push(sorted.slice(i, i + pageSize));
  const text = (file: ConsumerOffsetFile) =>
    [...consumerOffsetText(file, pages, undefined, timestamp)].join('');
  const [consumerOffset, lmqConsumerOffset] = CONSUMER_OFFSET_FILES.map(text) as [string, string];
  return { consumerOffset, lmqConsumerOffset };
}
