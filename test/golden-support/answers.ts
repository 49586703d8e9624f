// Our answers to what the real store was asked, in the form in which its own are stored.
import { createHash } from 'node:crypto';
import type { StoredMessage } from '../../lib/index.ts';
import { javaHash } from '../../lib/java-map.ts';
import { LMQ_PREFIX } from '../../lib/lmq.ts';
import type { Row } from './expected.ts';
import type { FileUnit, Opened } from './opened.ts';

/** RocketMQ's bound of one getMessage. */
const ALL_BYTES = 128 * 1024 * 1024;
const LONG_BODY = 512;
const LONG_VALUE = 512;

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

/** Every record from the minimum on, and the positions where something else ends a file. */
export function logOf(
  opened: Opened,
  fileSize: number,
): { messages: StoredMessage[]; holes: number[] } {
  const messages: StoredMessage[] = [];
  const holes: number[] = [];
  for (let at = opened.logMin; at < opened.logEnd; ) {
    const message = opened.store.getAt(at);
    if (message) messages.push(message);
    else holes.push(at);
    at = message ? at + message.size : at - (at % fileSize) + fileSize;
  }
  return { messages, holes };
}

export function recordRow(opened: Opened, message: StoredMessage): Row {
  const { bodyCrc, version } = opened.hidden(message.physicalOffset, message.size);
  const { body, tags, uniqueKey } = message;
  return {
    physicalOffset: message.physicalOffset,
    size: message.size,
    magic: version === 2 ? 'daa320ab' : 'daa320a7',
    topic: message.topic,
    queueId: message.queueId,
    queueOffset: message.queueOffset,
    storedPhysicalOffset: message.physicalOffset,
    flag: message.flag,
    sysFlag: message.sysFlag,
    bodyCRC: bodyCrc,
    bornTimestamp: message.bornTimestamp,
    bornHost: message.bornHost,
    storeTimestamp: message.storeTimestamp,
    storeHost: message.storeHost,
    reconsumeTimes: message.reconsumeTimes,
    preparedTransactionOffset: message.preparedTransactionOffset,
    bodyLength: body.length,
    ...(body.length > LONG_BODY ? { bodySha256: sha256(body) } : { body: body.toString('hex') }),
    msgId: message.msgId,
    properties: propertiesOf(message),
    tagsCode: tags === undefined ? 0 : javaHash(tags),
    keys: message.keys,
    ...(uniqueKey !== undefined && { uniqueKey }),
  };
}

/** The checksum, which `properties` leave out, is read as Java reads it: a property like any other. */
function propertiesOf(message: StoredMessage): [name: string, value: unknown][] {
  const pairs = Object.entries(message.properties);
  const checksum = message.rawProperties.toString().split('\x02').at(-2) ?? '';
  const own = /^__CRC32#\x01(\d{10})$/.exec(checksum);
  if (own) pairs.push(['__CRC32#', own[1] as string]);
  return pairs.map(([name, value]) => [
    name,
    value.length > LONG_VALUE ? { length: value.length, sha256: sha256(value) } : value,
  ]);
}

export function queueRow(opened: Opened, topic: string, queueId: number): Row {
  const { minOffset, maxOffset } = opened.store.queue(topic, queueId);
  const units = unitsOf(opened, topic, queueId);
  const last = units.at(-1);
  return {
    topic,
    queueId,
    minOffset,
    maxOffset,
    maxPhysicOffset: last ? last.physicalOffset + last.size : -1,
    messageTotal: maxOffset - minOffset,
    units,
  };
}

/** Of a topic's queue from its files; of a light queue by reads, tags codes by what they select. */
function unitsOf(opened: Opened, topic: string, queueId: number): FileUnit[] {
  if (!topic.startsWith(LMQ_PREFIX)) return opened.fileUnits(topic, queueId);
  const queue = opened.store.lmq(topic);
  const units: FileUnit[] = [];
  for (let at = queue.minOffset; at < queue.maxOffset; ) {
    const { messages, nextOffset } = queue.read(at, { maxMessages: 1, verify: false });
    for (const { offset, physicalOffset, size, tags } of messages) {
      const tagsCode = tags === undefined ? 0 : javaHash(tags);
      units.push({ queueOffset: offset, physicalOffset, size, tagsCode });
    }
    // Beside a writer, a unit whose record is not there yet ends what can be read.
    if (nextOffset === at) break;
    at = nextOffset;
  }
  return units;
}

export function getRow(opened: Opened, asked: Row): Row {
  const { topic, queueId, offset, maxMsgNums, maxTotalMsgSize, subscription } = asked as {
    topic: string;
    queueId: number;
    offset: number;
    maxMsgNums: number;
    maxTotalMsgSize?: number;
    subscription?: string;
  };
  const result = opened.store.queue(topic, queueId).read(offset, {
    maxMessages: maxMsgNums,
    maxBytes: maxTotalMsgSize ?? ALL_BYTES,
    tags: subscription,
    verify: false,
  });
  const offsets = result.messages.map((message) => message.offset);
  const simple = offsets.every((found, index) => found === offset + index);
  return {
    ...{ topic, queueId, offset, maxMsgNums },
    ...(maxTotalMsgSize !== undefined && { maxTotalMsgSize }),
    ...(subscription !== undefined && { subscription }),
    status: result.status,
    nextBeginOffset: result.nextOffset,
    minOffset: result.minOffset,
    maxOffset: result.maxOffset,
    count: offsets.length,
    bytes: result.messages.reduce((sum, { size }) => sum + size, 0),
    ...(!simple && { queueOffsets: offsets }),
  };
}

export function lookRow(opened: Opened, physicalOffset: number): Row {
  const found = physicalOffset < 0 ? undefined : opened.store.getAt(physicalOffset);
  if (!found) return { physicalOffset, found: false };
  return { physicalOffset, found: true, topic: found.topic, queueOffset: found.queueOffset };
}
