// Batches: one call, consecutive offsets, and all of the messages or none.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Message, MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { freshDirectories, logFile, overwrite } from './support/files.ts';
import { start, type Tools } from './support/programs.ts';
import {
  abandon,
  failureOf,
  lightQueuesOf,
  messagesOf,
  quiet,
  rejectionOf,
  textsOf,
} from './support/stores.ts';

const fresh = freshDirectories();
const open = (options: Partial<MessageStoreOptions> = {}) =>
  MessageStore.open({ ...quiet, path: fresh(), ...options });
const texts = (...bodies: string[]): Message[] => bodies.map((body) => ({ topic: 't', body }));

describe('a batch', () => {
  it('is stored in its order, with consecutive offsets and one time', async () => {
    await using store = await open();
    store.append({ topic: 't', body: 'before' });
    const results = store.appendBatch([
      { topic: 't', body: 'a', tags: 'x', flag: 7, properties: { k: 'v' } },
      { topic: 't', body: Buffer.alloc(0), queueId: 0 },
      { topic: 't', body: 'ü', keys: ['k1', 'k2'] },
    ]);
    expect(store.append({ topic: 't', body: 'after' }).queueOffset).toBe(4);
    const found = messagesOf(store.queue('t'));
    expect(found.map((one) => one.text())).toEqual(['before', 'a', '', 'ü', 'after']);
    expect(found.slice(1, 4).map(({ tags, keys, flag }) => [tags, keys, flag])).toEqual([
      ['x', [], 7],
      [undefined, [], 0],
      [undefined, ['k1', 'k2'], 0],
    ]);
    expect(found[1]!.properties['k']).toBe('v');
    for (const [i, result] of results.entries()) {
      const { physicalOffset, size, queueOffset, storeTimestamp, msgId } = found[i + 1]!;
      expect(result).toMatchObject({ physicalOffset, size, queueOffset, storeTimestamp });
      expect(result.msgId).toBe(msgId);
      expect(storeTimestamp).toBe(results[0]!.storeTimestamp);
    }
  });

  it('of no messages is no batch', async () => {
    const store = await open();
    expect(store.appendBatch([])).toEqual([]);
    expect(await store.putBatch([])).toEqual([]);
    expect(store.queues()).toEqual([]);
    await store.close();
    expect(failureOf(() => store.appendBatch([]))).toBe('StoreError STORE_CLOSED');
    expect(await rejectionOf(store.putBatch([]))).toBe('StoreError STORE_CLOSED');
  });

  it('goes to the light queues in lmq, each message in turn', async () => {
    const path = fresh();
    await using store = await open({ path });
    store.append({ topic: 't', body: '0', lmq: ['a'] });
    const results = store.appendBatch([
      { topic: 't', body: '1', lmq: ['a', 'b'] },
      { topic: 't', body: '2' },
      { topic: 't', body: '3', lmq: ['b', 'a', 'b'] },
    ]);
    expect(results.map(({ lmqOffsets }) => lmqOffsets)).toEqual([[1, 0], [], [1, 2, 1]]);
    expect(textsOf(store.lmq('a'))).toEqual(['0', '1', '3']);
    await using killed = await open({ path: abandon(path, fresh()) });
    expect(textsOf(killed.lmq('a'))).toEqual(['0', '1', '3']);
    expect(textsOf(killed.lmq('b'))).toEqual(['1', '3']);
  });

  it('leaves queues that a property names alone, as a broker does', async () => {
    await using store = await open();
    const list = 'INNER_MULTI_DISPATCH\x01%LMQ%a\x02';
    const [one, two] = store.appendBatch([
      { topic: 't', body: '1', rawProperties: list },
      { topic: 't', body: '2', rawProperties: `${list}INNER_MULTI_QUEUE_OFFSET\x010\x02` },
    ]);
    expect(lightQueuesOf(store)).toEqual([]);
    expect([one!.size, two!.lmqOffsets]).toEqual([two!.size, []]);
    expect(messagesOf(store.queue('t'))[1]!.rawProperties.toString('utf8', 0, list.length)).toBe(
      list,
    );
  });

  it('gets a separator before its checksum, and loses checksums that come', async () => {
    // BR-034, SRC-3, spec Q36; BR-030: the checksum is always the store's own.
    const path = fresh();
    await using store = await open({ path });
    store.appendBatch([
      { topic: 't', body: 'hello', rawProperties: 'DELAY\x014' },
      { topic: 't', body: 'world', rawProperties: '__CRC32#\x015\x02k\x01v\x02' },
    ]);
    const [hello, world] = messagesOf(store.queue('t'));
    expect(hello!.properties['DELAY']).toBe('4');
    const shown = (stored: Buffer) =>
      stored.toString().replaceAll('\x01', '=').replaceAll('\x02', ';');
    expect(shown(hello!.rawProperties)).toMatch(/^DELAY=4;__CRC32#=\d{10};$/);
    expect(shown(world!.rawProperties)).toMatch(/^k=v;__CRC32#=\d{10};$/);
    const log = readFileSync(logFile(path));
    const sums = [hello!, world!].map((one) => log.readUInt32BE(one.physicalOffset + 8));
    expect(sums).toEqual([0x3610a686, 0x3a771143]);
  });

  it('wakes a follower once it is whole', async () => {
    await using store = await open();
    const follower = store.queue('t').follow({ from: 0 });
    const next = follower.next();
    store.appendBatch(texts('a', 'b', 'c'));
    expect((await next).value?.messages.map((one) => one.text())).toEqual(['a', 'b', 'c']);
    await follower.return?.();
  });

  it('is on disk when putBatch resolves', async () => {
    await using store = await open();
    const results = await store.putBatch(texts('a', 'b'));
    expect(results.map(({ queueOffset }) => queueOffset)).toEqual([0, 1]);
    expect(textsOf(store.queue('t'))).toEqual(['a', 'b']);
  });
});

describe('a refused batch', () => {
  const good: Message = { topic: 't', body: 'good', lmq: ['new'] };
  const refusals: [name: string, bad: unknown, failure: string][] = [
    ['no object', 7, 'TypeError STORE_INVALID_MESSAGE'],
    ['another topic', { topic: 'u', body: '' }, 'RangeError STORE_INVALID_MESSAGE'],
    ['another queue', { topic: 't', body: '', queueId: 1 }, 'RangeError STORE_INVALID_MESSAGE'],
    ['no body', { topic: 't' }, 'TypeError STORE_INVALID_MESSAGE'],
    [
      'a body that is too large',
      { topic: 't', body: 'x'.repeat(4097) },
      'RangeError STORE_BODY_TOO_LARGE',
    ],
    [
      'bodies that are too large together',
      { topic: 't', body: 'x'.repeat(4093) },
      'RangeError STORE_BODY_TOO_LARGE',
    ],
    [
      'properties that are too long',
      { topic: 't', body: '', properties: { k: 'x'.repeat(32767) } },
      'RangeError STORE_PROPERTIES_TOO_LARGE',
    ],
    [
      'a property of the store',
      { topic: 't', body: '', properties: { '__CRC32#': '1' } },
      'RangeError STORE_INVALID_PROPERTY',
    ],
    [
      'an impossible light queue',
      { topic: 't', body: '', lmq: ['a/b'] },
      'RangeError STORE_INVALID_LMQ_NAME',
    ],
    [
      'a prepared message',
      { topic: 't', body: '', transaction: 'prepared' },
      'RangeError STORE_INVALID_MESSAGE',
    ],
    [
      'a committed message',
      { topic: 't', body: '', sysFlag: 8 },
      'RangeError STORE_INVALID_MESSAGE',
    ],
    [
      'a prepared offset',
      { topic: 't', body: '', preparedTransactionOffset: 1 },
      'RangeError STORE_INVALID_MESSAGE',
    ],
    ['an inner batch', { topic: 't', body: '', sysFlag: 0x80 }, 'StoreError STORE_UNSUPPORTED'],
  ];

  it.each(refusals)('with %s leaves no trace of the others', async (_, bad, failure) => {
    await using store = await open({ maxMessageSize: 4096 });
    store.append({ topic: 't', body: 'before' });
    const batch = [good, good, bad] as Message[];
    expect(failureOf(() => store.appendBatch(batch))).toBe(failure);
    expect(await rejectionOf(store.putBatch(batch))).toBe(failure);
    expect(textsOf(store.queue('t'))).toEqual(['before']);
    expect(lightQueuesOf(store)).toEqual([]);
    expect(store.appendBatch([good, good])[1]!.lmqOffsets).toEqual([1]);
  });

  it('is no array, or has more messages than a broker can count', async () => {
    await using store = await open({ mappedFileSizeCommitLog: 1 << 23 });
    const none = undefined as unknown as Message[];
    expect(failureOf(() => store.appendBatch(none))).toBe('TypeError STORE_INVALID_MESSAGE');
    const many = new Array<Message>(32_768).fill({ topic: 't', body: '' });
    expect(failureOf(() => store.appendBatch(many))).toBe('RangeError STORE_INVALID_MESSAGE');
    expect(store.appendBatch(many.slice(1)).at(-1)!.queueOffset).toBe(32_766);
  });

  it('does not fit into a file, and no file is spent on it', async () => {
    await using store = await open({ mappedFileSizeCommitLog: 8192 });
    const large = texts(...new Array<string>(3).fill('x'.repeat(2700)));
    store.append({ topic: 't', body: 'before' });
    expect(failureOf(() => store.appendBatch(large))).toBe('RangeError STORE_RECORD_TOO_LARGE');
    expect(store.append({ topic: 't', body: 'after' }).physicalOffset).toBeLessThan(8192);
    expect(store.appendBatch(large.slice(1)).map(({ queueOffset }) => queueOffset)).toEqual([2, 3]);
  });
});

/** Batches of three between single messages, until it is killed. */
async function appendAll({ lib, say }: Tools, options: MessageStoreOptions) {
  const store = await lib.MessageStore.open(options);
  for (let i = 0; ; i++) {
    const messages = ['a', 'b', 'c'].map((one) => ({
      topic: 't',
      body: `${i}${one}`.padEnd(900, '.'),
      lmq: ['all', `own-${i}`],
    }));
    say(store.appendBatch(messages)[0]!.queueOffset);
    store.append({ topic: 't', body: `${i}` });
  }
}

describe('a kill', () => {
  it.each([false, true])('leaves whole batches (written by position: %s)', async (byPosition) => {
    const options = { ...quiet, path: fresh(), mappedFileSizeCommitLog: 65536 };
    const env = byPosition ? { LMQ_STORE_WRITE_MODE: 'positional' } : {};
    for (let round = 0; round < 4; round++) {
      const child = start(appendAll, [options], { env });
      for (let i = 0; i < 20 + round; i++) await child.said();
      await child.kill();
      await using store = await MessageStore.open(options);
      const groups = new Map<string, number>();
      for (const text of textsOf(store.lmq('all'))) {
        const group = Number.parseInt(text, 10).toString();
        groups.set(group, (groups.get(group) ?? 0) + 1);
      }
      expect([...groups.values()].filter((count) => count % 3 !== 0)).toEqual([]);
      expect(groups.size).toBeGreaterThanOrEqual(20);
      const offsets = messagesOf(store.queue('t')).map(({ offset }) => offset);
      expect(offsets).toEqual([...offsets.keys()]);
    }
  });

  it('before the first word of a batch is stored leaves nothing of it', async () => {
    const path = fresh();
    await using store = await open({ path });
    store.append({ topic: 't', body: 'before' });
    const [first] = store.appendBatch(texts('a', 'b', 'c'));
    const copy = abandon(path, fresh());
    overwrite(logFile(copy), first!.physicalOffset, Buffer.alloc(4));
    await using killed = await open({ path: copy });
    expect(killed.recovery?.cut?.from).toBe(first!.physicalOffset);
    expect(textsOf(killed.queue('t'))).toEqual(['before']);
  });
});
