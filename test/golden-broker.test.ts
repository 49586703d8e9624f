// The directory of a whole RocketMQ broker, read beside it and taken over: what its own client read.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MessageStore, type StoredMessage, type StoreReader } from '../lib/index.ts';
import { BROKER, fileOf, treeOf, unpack } from './golden-support/stores.ts';

interface BrokerExpected {
  readonly commitLogFileSize: number;
  readonly consumeQueueFileSize: number;
  readonly queues: Readonly<Record<string, BrokerQueue>>;
  /** By 'topic@group': of the groups named like light queues one offset, of others one per queue. */
  readonly groupOffsets: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly lightGroupOffsets: Readonly<Record<string, number>>;
}

interface BrokerQueue {
  readonly min: number;
  readonly max: number;
  readonly bodiesSha256: string;
  readonly firstPhysicalOffset: number;
  readonly lastPhysicalOffset: number;
}

const expected: BrokerExpected = JSON.parse(readFileSync(fileOf(BROKER, 'expected.json'), 'utf8'));
const lines = gunzipSync(readFileSync(fileOf(BROKER, 'messages.tsv.gz')))
  .toString()
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t'));
const messages = lines.filter(([first]) => first !== 'end');
const ends = lines.filter(([first]) => first === 'end');

/** A message as a line of what the client read. */
function lineOf(queue: string, message: StoredMessage): string[] {
  const properties = Object.entries(message.properties).map(([name, value]) => `${name}=${value}`);
  return [
    queue,
    String(message.offset),
    message.body.toString('hex'),
    Buffer.from(properties.sort().join('\x01')).toString('hex'),
    message.topic,
    // Of a light queue's messages the client shows the id of the queue that it read.
    String(queue.startsWith('%LMQ%') ? 0 : message.queueId),
    String(message.queueOffset),
    String(message.physicalOffset),
    String(message.storeTimestamp),
    message.msgId,
  ];
}

function allOf(store: StoreReader, name: string): StoredMessage[] {
  const [topic, id] = splitName(name);
  const queue = store.queue(topic, id);
  const found: StoredMessage[] = [];
  for (let at = queue.minOffset; at < queue.maxOffset; ) {
    const page = queue.read(at);
    expect(page.status).toBe('FOUND');
    expect(page.damaged).toBeUndefined();
    found.push(...page.messages);
    at = page.nextOffset;
  }
  return found;
}

function splitName(name: string): [topic: string, queueId: number] {
  const colon = name.lastIndexOf(':');
  return [name.slice(0, colon), Number(name.slice(colon + 1))];
}

function compareOffsets(store: StoreReader): void {
  const theirs = [
    ...Object.entries(expected.groupOffsets).flatMap(([key, queues]) =>
      Object.entries(queues).map(([id, offset]) => `${key}:${id} ${offset}`),
    ),
    ...Object.entries(expected.lightGroupOffsets).map(([key, offset]) => `${key}:0 ${offset}`),
  ];
  const { offsets } = store.consumerOffsets();
  const ours = offsets.map(
    ({ group, topic, queueId, offset }) => `${topic}@${group}:${queueId} ${offset}`,
  );
  expect(ours.sort()).toEqual(theirs.sort());
  for (const { group, topic, queueId, offset } of offsets) {
    expect(store.queue(topic, queueId).committed(group)).toBe(offset);
  }
}

function compare(store: StoreReader): void {
  compareOffsets(store);
  const names = [
    ...store.queues().map(({ topic, queueId }) => `${topic}:${queueId}`),
    ...store.lmqs().names.map((name) => `${name}:0`),
  ];
  expect(names.sort()).toEqual(Object.keys(expected.queues).sort());
  const read: string[][] = [];
  for (const [name, queue] of Object.entries(expected.queues)) {
    const { minOffset, maxOffset } = store.queue(...splitName(name));
    const found = allOf(store, name);
    const bodies = createHash('sha256');
    for (const message of found) bodies.update(message.body);
    expect
      .soft(
        {
          min: minOffset,
          max: maxOffset,
          bodiesSha256: bodies.digest('hex'),
          firstPhysicalOffset: found[0]?.physicalOffset,
          lastPhysicalOffset: found.at(-1)?.physicalOffset,
        },
        name,
      )
      .toEqual(queue);
    read.push(...found.map((message) => lineOf(name, message)));
  }
  const byPlace = (a: string[], b: string[]) =>
    a[0] === b[0] ? Number(a[1]) - Number(b[1]) : (a[0] as string) < (b[0] as string) ? -1 : 1;
  expect(read.sort(byPlace)).toEqual([...messages].sort(byPlace));
}

describe('the directory of a broker', () => {
  it('is described by what its client read', () => {
    expect(messages).toHaveLength(550);
    for (const [, name, min, max, count] of ends) {
      const queue = expected.queues[name as string]!;
      expect([queue.min, queue.max]).toEqual([Number(min), Number(max)]);
      expect(messages.filter(([first]) => first === name)).toHaveLength(Number(count));
    }
  });

  it('is read as it is, without a change to it', async () => {
    const dir = unpack(BROKER);
    const before = treeOf(dir);
    const reader = await MessageStore.openReader(dir);
    compare(reader);
    await reader.close();
    expect(treeOf(dir)).toEqual(before);
  });

  it('is adopted with all that is in it, and written on', async () => {
    const { commitLogFileSize, consumeQueueFileSize } = expected;
    const options = {
      path: unpack(BROKER),
      adopt: true,
      mappedFileSizeCommitLog: commitLogFileSize,
      mappedFileSizeConsumeQueue: consumeQueueFileSize,
    };
    const store = await MessageStore.open(options);
    compare(store);
    const lmq = ['alice', 'bob', 'carol', 'dave'];
    const { queueOffset, lmqOffsets } = store.append({ topic: 'orders', body: 'next', lmq });
    expect({ queueOffset, lmqOffsets }).toEqual({ queueOffset: 55, lmqOffsets: [120, 120, 40, 0] });
    await store.close();
  });

  it('belongs to another program until it is adopted', async () => {
    const dir = unpack(BROKER);
    const before = treeOf(dir);
    await expect(MessageStore.open(dir)).rejects.toMatchObject({ code: 'STORE_FOREIGN_DIRECTORY' });
    expect(treeOf(dir)).toEqual(before);
  });
});
