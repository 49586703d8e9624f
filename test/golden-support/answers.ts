// Our answers to what the real store was asked, in the form that `theirs.ts` gives to its own.
import { createHash } from 'node:crypto';
import { parseHost } from '../../lib/host.ts';
import type { MessageStore, StoredMessage } from '../../lib/index.ts';
import { javaHash } from '../../lib/java-map.ts';
import { LMQ_PREFIX } from '../../lib/lmq.ts';
import { storedProperties } from '../../lib/properties.ts';
import type { Answers, FoundQueue, Opened, Row, Unit } from './expected.ts';
import { queueWith, rowsOf } from './expected.ts';
import type { OpenStore } from './open-store.ts';
import { type Put, put } from './puts.ts';
import { countedFiles } from './stores.ts';

/** RocketMQ's bound of one getMessage. */
const ALL_BYTES = 128 * 1024 * 1024;
/** Longer bodies (in bytes) and values (in characters) are stored as their hash. */
const LONG = 512;
const SCHEDULE = 'SCHEDULE_TOPIC_XXXX';

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

/** Everything but what `next` asks for, which changes the store. */
export async function answersOf(open: OpenStore, asked: Opened): Promise<Answers> {
  const queues = rowsOf(asked.queues).map((row) =>
    queueOf(open, row['topic'] as string, row['queueId'] as number),
  );
  const deliveries = new Map(
    queues
      .filter(({ topic }) => topic === SCHEDULE)
      .flatMap(({ units }) => units.map((unit) => [unit.physicalOffset, unit.tagsCode])),
  );
  const { messages, holes } = logOf(open);
  return {
    log: { min: open.logMin, max: open.logEnd },
    records: messages.map((message) => recordOf(open, message, deliveries)),
    blanks: holes,
    queues,
    otherQueues: otherQueues(open, queues),
    gets: await Promise.all(rowsOf(asked.gets).map((row) => getOf(open, row))),
    times: await Promise.all(rowsOf(asked.times).map((row) => timeOf(open, row))),
    looks: rowsOf(asked.looks).map((row) => lookOf(open, row['physicalOffset'] as number)),
    files: countedFiles(open.path),
  };
}

/** Every record from the minimum on, and the positions where something else ends a file. */
function logOf(open: OpenStore) {
  const fileSize = open.logFileSize;
  const messages: StoredMessage[] = [];
  const holes: number[] = [];
  for (let at = open.logMin; at < open.logEnd; ) {
    const message = open.store.getAt(at);
    if (message) messages.push(message);
    else holes.push(at);
    at = message ? at + message.size : at - (at % fileSize) + fileSize;
  }
  return { messages, holes };
}

export function recordsOf(open: OpenStore): Row[] {
  return logOf(open).messages.map((message) => recordOf(open, message, new Map()));
}

/** `deliveries`: the tags code of a delayed message is its time, which no user sees but in its unit. */
function recordOf(
  open: OpenStore,
  message: StoredMessage,
  deliveries: ReadonlyMap<number, number>,
): Row {
  const { bodyCrc, version } = open.hidden(message.physicalOffset, message.size);
  const { rawBody: body, tags, uniqueKey } = message;
  const hash = tags === undefined ? 0 : javaHash(tags);
  return {
    physicalOffset: message.physicalOffset,
    size: message.size,
    magic: version === 2 ? 'daa320ab' : 'daa320a7',
    topic: message.topic,
    queueId: message.queueId,
    queueOffset: message.queueOffset,
    flag: message.flag,
    sysFlag: message.sysFlag,
    bodyCRC: bodyCrc,
    bornTimestamp: message.bornTimestamp,
    bornHost: hostOf(message.bornHost),
    storeTimestamp: message.storeTimestamp,
    storeHost: hostOf(message.storeHost),
    reconsumeTimes: message.reconsumeTimes,
    preparedTransactionOffset: message.preparedTransactionOffset,
    bodyLength: body.length,
    ...(body.length > LONG ? { bodySha256: sha256(body) } : { body: body.toString('hex') }),
    msgId: message.msgId,
    ...propertiesOf(message),
    tagsCode: deliveries.get(message.physicalOffset) ?? hash,
    keys: message.keys,
    ...(uniqueKey !== undefined && { uniqueKey }),
  };
}

function hostOf(text: string): string {
  const { address, port } = parseHost(text, 'host', 'STORE_INTERNAL');
  return `${Buffer.from(address).toString('hex')}:${port}`;
}

/** `shown` are the ones that a user sees; the others have the checksum as well. */
function propertiesOf(message: StoredMessage): Row {
  const raw = message.rawProperties.toString();
  const last = new Map<string, string>();
  for (const [name, value] of storedProperties(raw)) {
    last.delete(name);
    last.set(name, value);
  }
  const all = [...last];
  const plain = all.map(([name, value]) => `${name}\x01${value}\x02`).join('');
  return {
    properties: all.map(([name, value]) => [name, shortened(value)]),
    shown: Object.entries(message.properties).map(([name, value]) => [name, shortened(value)]),
    ...(raw !== plain && { rawProperties: shortened(raw) }),
  };
}

function shortened(value: string): unknown {
  return value.length > LONG ? { length: value.length, sha256: sha256(value) } : value;
}

export function queueOf(open: OpenStore, topic: string, queueId: number): FoundQueue {
  const { minOffset, maxOffset } = open.store.queue(topic, queueId);
  const light = topic.startsWith(LMQ_PREFIX);
  const units = light ? [] : open.fileUnits(topic, queueId);
  // A reader has units that lie in no file.
  const next = (units.at(-1)?.queueOffset ?? minOffset - 1) + 1;
  units.push(...unitsFrom(open, topic, queueId, next));
  return queueWith(topic, queueId, minOffset, maxOffset, units);
}

/** By reads: a unit's tags code is told by what it selects. */
function unitsFrom(open: OpenStore, name: string, queueId: number, from: number): Unit[] {
  const queue = open.store.queue(name, queueId);
  const units: Unit[] = [];
  for (let at = from; at < queue.maxOffset; ) {
    const { messages, nextOffset } = queue.read(at, { maxMessages: 1 });
    for (const { offset: queueOffset, physicalOffset, size, tags } of messages) {
      const selects = (wanted: string) =>
        queue.read(queueOffset, { maxMessages: 1, tags: wanted }).messages[0]?.offset ===
        queueOffset;
      if (selects('another') || (tags !== undefined && !selects(tags))) {
        throw new Error(`${name} has a wrong tags code at ${queueOffset}.`);
      }
      const tagsCode = tags === undefined ? 0 : javaHash(tags);
      units.push({ queueOffset, physicalOffset, size, tagsCode });
    }
    // Beside a writer, a unit whose record is not there yet ends what can be read.
    if (nextOffset === at) break;
    at = nextOffset;
  }
  return units;
}

function otherQueues(open: OpenStore, known: readonly FoundQueue[]): string[] {
  const names = new Set(known.map(({ topic, queueId }) => `${topic}:${queueId}`));
  const topics = open.store.queues().map(({ topic, queueId }) => `${topic}:${queueId}`);
  const light = open.store.lmqs().names.map((name) => `${name}:0`);
  return [...topics, ...light].filter((name) => !names.has(name));
}

async function getOf(open: OpenStore, asked: Row): Promise<Row> {
  const { topic, queueId, offset, maxMsgNums, maxTotalMsgSize, subscription } = asked as {
    topic: string;
    queueId: number;
    offset: number;
    maxMsgNums: number;
    maxTotalMsgSize?: number;
    subscription?: string;
  };
  const queue = open.store.queue(topic, queueId);
  const options = {
    maxMessages: maxMsgNums,
    maxBytes: maxTotalMsgSize ?? ALL_BYTES,
    tags: subscription,
    verify: false,
  };
  const page = queue.read(offset, options);
  if (JSON.stringify(await queue.readAsync(offset, options)) !== JSON.stringify(page)) {
    throw new Error(`Off the event loop, ${topic} reads otherwise at ${offset}.`);
  }
  const { messages, ...result } = page;
  return {
    ...{ topic, queueId, offset, maxMsgNums },
    ...(maxTotalMsgSize !== undefined && { maxTotalMsgSize }),
    ...(subscription !== undefined && { subscription }),
    status: result.status,
    nextBeginOffset: result.nextOffset,
    minOffset: result.minOffset,
    maxOffset: result.maxOffset,
    count: messages.reduce((sum, { messageCount }) => sum + messageCount, 0),
    bytes: messages.reduce((sum, { size }) => sum + size, 0),
    queueOffsets: messages.map((message) => message.offset),
  };
}

async function timeOf(open: OpenStore, asked: Row): Promise<Row> {
  const { topic, queueId, time, boundary } = asked as {
    topic: string;
    queueId: number;
    time: number;
    boundary: 'LOWER' | 'UPPER';
  };
  const bound = boundary === 'LOWER' ? 'lower' : 'upper';
  const offset = await open.store.queue(topic, queueId).offsetAt(time, bound);
  return { topic, queueId, time, boundary, offset };
}

function lookOf(open: OpenStore, physicalOffset: number): Row {
  const found = physicalOffset < 0 ? undefined : open.store.getAt(physicalOffset);
  if (!found) return { physicalOffset, found: false };
  return { physicalOffset, found: true, topic: found.topic, queueOffset: found.queueOffset };
}

/** Puts what the real store was given last, at the same times. `setTime` sets the store's clock. */
export function nextOf(
  open: OpenStore<MessageStore>,
  asked: Opened['next'],
  setTime: (now: number) => void,
): Row[] {
  return asked.map(({ put: step, result }) => {
    const { record } = result as { record: string };
    setTime(Number(Buffer.from(record, 'hex').readBigInt64BE(STORE_TIMESTAMP_AT)));
    const { storeTimestamp, ...ours } = put(open.store, step as unknown as Put);
    if ('refused' in ours) return ours;
    const bytes = open.recordBytes(ours['physicalOffset'] as number, ours['size'] as number);
    return { ...ours, record: bytes.toString('hex') };
  });
}

/** In a record with IPv4 hosts, which these all have. */
const STORE_TIMESTAMP_AT = 56;
