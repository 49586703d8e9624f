/** One stored message against the one that was written. */
import type { Message, StoredMessage } from '../index.ts';
import { DISPATCH, DISPATCH_OFFSETS, isBlank, LMQ_PREFIX } from '../lmq.ts';
import { CRC, KEYS, storedProperties, TAGS } from '../properties.ts';

/** What a queue must give: the message, and what its acknowledgement said. */
export interface Written {
  readonly message: Message;
  readonly body: Buffer;
  /** All properties of the record, its CRC apart. */
  readonly properties: ReadonlyMap<string, string>;
  readonly queueOffset: number;
  /** NaN if nobody told. */
  readonly physicalOffset: number;
}

export function written(
  message: Message,
  queueOffset: number,
  physicalOffset: number,
  lmqOffsets: string,
): Written {
  const { body } = message;
  const bytes =
    typeof body === 'string'
      ? Buffer.from(body)
      : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const properties = propertiesOf(message, lmqOffsets);
  return { message, body: bytes, properties, queueOffset, physicalOffset };
}

function propertiesOf(
  { properties = {}, rawProperties, keys, tags, lmq = [] }: Message,
  lmqOffsets: string,
): Map<string, string> {
  if (rawProperties !== undefined) {
    const stored = new Map(storedProperties(Buffer.from(rawProperties as string).toString()));
    stored.delete(CRC);
    if (!isBlank(stored.get(DISPATCH) ?? '')) stored.delete(DISPATCH_OFFSETS);
    if (lmqOffsets !== '') stored.set(DISPATCH_OFFSETS, lmqOffsets);
    return stored;
  }
  const all = new Map(Symbol.iterator in properties ? properties : Object.entries(properties));
  if (keys !== undefined) all.set(KEYS, typeof keys === 'string' ? keys : keys.join(' '));
  if (tags !== undefined) all.set(TAGS, tags);
  if (lmq.length > 0) {
    all.set(DISPATCH, lmq.map((name) => LMQ_PREFIX + name).join(','));
    all.set(DISPATCH_OFFSETS, lmqOffsets);
  }
  return all;
}

/** The first thing in which they differ, in words; undefined if they are the same, byte for byte. */
export function difference(found: StoredMessage, wanted: Written): string | undefined {
  const { message, body, properties, queueOffset, physicalOffset } = wanted;
  const differs = (name: string, is: unknown, should: unknown) =>
    is === should ? undefined : `${name} is ${is}, was ${should}`;
  return (
    differs('topic', found.topic, message.topic) ??
    differs('queueId', found.queueId, message.queueId) ??
    differs('queueOffset', found.queueOffset, queueOffset) ??
    (Number.isNaN(physicalOffset)
      ? undefined
      : differs('physicalOffset', found.physicalOffset, physicalOffset)) ??
    differs('bornTimestamp', found.bornTimestamp, message.bornTimestamp) ??
    differs('bornHost', found.bornHost, message.bornHost) ??
    differs('flag', found.flag, message.flag) ??
    differs('tags', found.tags, properties.get(TAGS)) ??
    propertyDifference(found.properties, properties) ??
    (found.rawBody.equals(body)
      ? undefined
      : `its ${found.rawBody.length} bytes of body are others`)
  );
}

function propertyDifference(
  found: Readonly<Record<string, string>>,
  wanted: ReadonlyMap<string, string>,
): string | undefined {
  let count = 0;
  for (const name in found) {
    if (name === CRC) continue;
    count++;
    if (found[name] === wanted.get(name)) continue;
    return `property ${name} is ${found[name]}, was ${wanted.get(name)}`;
  }
  if (count === wanted.size) return undefined;
  return `property ${[...wanted.keys()].find((name) => !(name in found))} is missing`;
}
