// What append takes and answers: every field of a message comes back as it was given.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppendResult, type Message, MessageStore, type StoredMessage } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { failureOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let now = 0;
const clock = () => now;

beforeEach(() => {
  dir = fresh();
  now = 1_700_000_000_123;
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

/** Appends a message and reads it back, from its queue and by its place. */
function stored(store: MessageStore, message: Message): StoredMessage {
  const { physicalOffset, queueOffset, msgId } = store.append(message);
  const [found] = store.queue(message.topic, message.queueId).read(queueOffset).messages;
  expect(found).toMatchObject({ physicalOffset, queueOffset, msgId });
  expect(store.getAt(physicalOffset)!.toJSON()).toEqual(found!.toJSON());
  expect(store.getById(msgId)!.toJSON()).toEqual(found!.toJSON());
  return found!;
}

describe('a message comes back as it was given', () => {
  it('with every field that a record has', async () => {
    await using store = await openWith({ clock });
    const given = {
      topic: 'orders',
      queueId: 2147483647,
      body: Buffer.from([0, 1, 2, 255, 254]),
      flag: -2147483648,
      sysFlag: 0x8,
      bornTimestamp: -5,
      bornHost: '255.1.0.9:65535',
      storeHost: '[fe80::1]:0',
      reconsumeTimes: 2147483647,
      preparedTransactionOffset: -9007199254740991n,
    };
    const found = stored(store, {
      ...given,
      tags: 'TagA',
      keys: ['k1', 'k2'],
      properties: { UNIQ_KEY: 'u', 'ключ 🔑': 'значение' },
    });
    expect(found).toMatchObject({
      ...given,
      preparedTransactionOffset: -9007199254740991,
      sysFlag: 0x28,
      transaction: 'commit',
      storeTimestamp: now,
      tags: 'TagA',
      keys: ['k1', 'k2'],
      uniqueKey: 'u',
      queueOffset: 0,
    });
    expect(Object.entries(found.properties)).toEqual([
      ['UNIQ_KEY', 'u'],
      ['ключ 🔑', 'значение'],
      ['KEYS', 'k1 k2'],
      ['TAGS', 'TagA'],
    ]);
  });

  it('with the defaults of what was not given', async () => {
    await using store = await openWith({ clock });
    const found = stored(store, { topic: 't', body: 'b' });
    expect(found).toMatchObject({
      queueId: 0,
      flag: 0,
      sysFlag: 0,
      bornTimestamp: now,
      storeTimestamp: now,
      bornHost: '127.0.0.1:10911',
      storeHost: '127.0.0.1:10911',
      reconsumeTimes: 0,
      preparedTransactionOffset: 0,
      transaction: undefined,
      compressed: false,
      tags: undefined,
      keys: [],
      lmq: [],
      lmqOffsets: [],
    });
    expect(Object.keys(found.properties)).toEqual([]);
  });

  it('whatever the kind of its hosts, which move all that follows', async () => {
    await using store = await openWith({ enabledAppendPropCRC: false });
    const [v4, v6] = ['127.0.0.1:1', '[2001:db8::1]:1'];
    const of = (bornHost: string, storeHost: string) => {
      const { size, sysFlag, msgId } = stored(store, {
        topic: 'T',
        body: 'x',
        bornHost,
        storeHost,
        // Flags that contradict the hosts are not believed.
        sysFlag: 0x30,
      });
      return [size, sysFlag, msgId.length];
    };
    expect(of(v4, v4)).toEqual([93, 0, 32]);
    expect(of(v6, v4)).toEqual([105, 16, 32]);
    expect(of(v4, v6)).toEqual([105, 32, 56]);
    expect(of(v6, v6)).toEqual([117, 48, 56]);
  });

  it('with topics of one byte and of 255', async () => {
    const topics = ['a', 'b'.repeat(127), 'c'.repeat(128), `${'é'.repeat(127)}d`];
    {
      await using store = await openWith();
      for (const topic of topics) stored(store, { topic, body: topic });
    }
    await using store = await openWith();
    for (const topic of topics) {
      expect(store.queue(topic).read(0).messages[0]).toMatchObject({ topic, offset: 0 });
    }
    expect(store.topics().sort()).toEqual(topics);
  });

  it.each([0, 1, 4096, 70_000, 4_194_304])(
    'with a body of %i bytes, always a Buffer',
    async (size) => {
      await using store = await openWith({ mappedFileSizeCommitLog: 8 << 20 });
      const body = Buffer.alloc(size, 'abcdefg');
      const found = stored(store, { topic: 't', body });
      expect(Buffer.isBuffer(found.body)).toBe(true);
      expect(found.body.equals(body)).toBe(true);
    },
  );

  it('with exactly the bytes that a view shows, as they were at the call', async () => {
    await using store = await openWith();
    const memory = new ArrayBuffer(64);
    new Uint8Array(memory).set(Buffer.from('........hello........'));
    const shared = new SharedArrayBuffer(8);
    new Uint8Array(shared).set(Buffer.from('..hello.'));
    const bodies = [
      Buffer.from('hello'),
      new Uint8Array(memory, 8, 5),
      Buffer.from(memory).subarray(8, 13),
      new DataView(memory, 8, 5),
      new Uint8Array(shared, 2, 5),
      'hello',
    ];
    const results = bodies.map((body) => store.append({ topic: 't', body }));
    new Uint8Array(memory).fill(0);
    new Uint8Array(shared).fill(0);
    for (const { physicalOffset } of results) {
      expect(store.getAt(physicalOffset)!.text()).toBe('hello');
    }
  });

  it('with unpaired surrogates as the question marks that Java writes', async () => {
    await using store = await openWith();
    const lone = 'a\ud800b\udc00';
    const found = stored(store, {
      topic: 't',
      body: lone,
      tags: lone,
      properties: { [lone]: lone },
    });
    expect(found.text()).toBe('a?b?');
    expect({ ...found.properties }).toEqual({ 'a?b?': 'a?b?', TAGS: 'a?b?' });
    store.append({ topic: lone, body: '' });
    expect(store.topics()).toContain('a?b?');
  });

  it('with properties from an object, a Map or pairs, in their order', async () => {
    await using store = await openWith();
    const pairs = [
      ['z', '1'],
      ['a', '2'],
      ['m', '3'],
    ] as [string, string][];
    for (const properties of [Object.fromEntries(pairs), new Map(pairs), pairs, new Set(pairs)]) {
      const found = stored(store, { topic: 't', body: '', properties });
      expect(Object.entries(found.properties)).toEqual(pairs);
    }
  });

  it('with stored properties as they are, bytes that are no text too', async () => {
    await using store = await openWith({ enabledAppendPropCRC: false });
    for (const raw of ['a\x01\x02no name\x02\x01x\x02b\x01c', Buffer.from('ff01fe02', 'hex'), '']) {
      const found = stored(store, { topic: 't', body: '', rawProperties: raw });
      expect(found.rawProperties.equals(Buffer.from(raw as string))).toBe(true);
    }
    expect(
      stored(store, { topic: 't', body: '', rawProperties: 'a\x01b\x01c\x02a\x01d' }).properties,
    ).toEqual({ a: 'd' });
  });
});

describe('the answer of append', () => {
  it('tells where the message lies', async () => {
    await using store = await openWith({ clock });
    const message = { topic: 't', body: 'b', lmq: ['x', 'y', 'x'] };
    const first = store.append(message);
    const second = store.append({ ...message, lmq: ['y'] });
    const { physicalOffset, size, queueOffset, storeTimestamp, lmqOffsets } = second;
    expect({ physicalOffset, queueOffset, storeTimestamp, lmqOffsets }).toEqual({
      physicalOffset: first.size,
      queueOffset: 1,
      storeTimestamp: now,
      lmqOffsets: [1],
    });
    expect(first.lmqOffsets).toEqual([0, 0, 0]);
    expect(store.getAt(physicalOffset)!.size).toBe(size);
    expect(second.msgId).toBe(
      `7F00000100002A9F${first.size.toString(16).padStart(16, '0').toUpperCase()}`,
    );
  });

  it('fills a result that is given, and leaves others alone', async () => {
    await using store = await openWith({ clock });
    const kept = store.append({ topic: 't', body: '', lmq: ['x', 'y'] });
    const into = new AppendResult();
    expect(store.append({ topic: 't', body: '', lmq: ['x', 'y'] }, into)).toBe(into);
    expect(into).toMatchObject({ queueOffset: 1, lmqOffsets: [1, 1] });
    store.append({ topic: 't', body: '', storeHost: '[::1]:1' }, into);
    expect(into).toMatchObject({ queueOffset: 2, lmqOffsets: [] });
    expect(into.msgId).toBe(store.queue('t').read(2).messages[0]!.msgId);
    expect(kept).toMatchObject({ queueOffset: 0, lmqOffsets: [0, 0], storeTimestamp: now });
  });

  it('has no place in a queue for prepared and rolled-back messages', async () => {
    await using store = await openWith();
    const of = (transaction: 'prepared' | 'commit' | 'rollback') => {
      const result = store.append({ topic: 't', body: transaction, lmq: ['x'], transaction });
      expect(store.getAt(result.physicalOffset)).toMatchObject({ transaction });
      return result.lmqOffsets;
    };
    expect([of('prepared'), of('rollback'), of('commit')]).toEqual([[], [], [0]]);
    expect(store.queue('t').maxOffset).toBe(1);
    expect(
      store
        .lmq('x')
        .read(0)
        .messages.map((one) => one.text()),
    ).toEqual(['commit']);
  });

  it('never goes back in time, nor does it after reopening', async () => {
    const of = (store: MessageStore) => store.append({ topic: 't', body: '' }).storeTimestamp;
    {
      await using store = await openWith({ clock });
      expect(of(store)).toBe(1_700_000_000_123);
      now -= 1000;
      expect(of(store)).toBe(1_700_000_000_123);
    }
    await using store = await openWith({ clock });
    expect(of(store)).toBe(1_700_000_000_123);
    now += 2000;
    expect(of(store)).toBe(1_700_000_001_123);
  });
});

describe('what append shares', () => {
  it('between stores of a process keeps them apart, also when one of them is closed', async () => {
    const open = () => MessageStore.open({ path: fresh(), ...quiet });
    const stores = [await open(), await open(), await open()];
    const text = (i: number) => ({ topic: `t${i}`, body: `b${i}`, tags: `g${i}`, keys: `k${i}` });
    const check = (store: MessageStore, i: number) => {
      const read = store
        .queue(`t${i}`, 0)
        .read(0)
        .messages.map((m) => [m.tags, m.keys, String(m.body)]);
      expect(
        read.every(([tags, keys, body]) => `${tags}${keys}${body}` === `g${i}k${i}b${i}`),
      ).toBe(true);
      return read.length;
    };
    for (let round = 0; round < 3; round++) {
      for (const [i, store] of stores.entries()) store.append(text(i));
    }
    expect(stores.map(check)).toEqual([3, 3, 3]);
    const [first, second, third] = stores as [MessageStore, MessageStore, MessageStore];
    await second.close();
    const fourth = await open();
    fourth.append(text(3));
    first.append(text(0));
    expect(() => second.append(text(1))).toThrow(/closed/);
    third.append(text(2));
    expect([check(first, 0), check(third, 2), check(fourth, 3)]).toEqual([4, 4, 1]);
    await Promise.all([first, third, fourth].map((store) => store.close()));
  });

  it('within a store is not lent to a getter of the message', async () => {
    const store = await MessageStore.open({ path: fresh(), ...quiet });
    const within = () => store.append({ topic: 't', body: 'inner', tags: 'inner' });
    const messages: object[] = [
      {
        topic: 't',
        body: 'b',
        get queueId() {
          return within().queueOffset;
        },
      },
      {
        topic: 't',
        body: 'b',
        properties: {
          a: '1',
          get b() {
            return String(within().size);
          },
        },
      },
      {
        topic: 't',
        body: 'b',
        tags: 'x',
        get flag() {
          return within().size;
        },
      },
    ];
    for (const message of messages) {
      expect(() => store.append(message as Message)).toThrow(
        expect.objectContaining({ code: 'STORE_INVALID_MESSAGE' }),
      );
    }
    expect(
      store.append({ topic: 't', body: 'b', properties: { a: '1', b: '2' } }).queueOffset,
    ).toBe(0);
    expect(store.queue('t', 0).read(0).messages[0]?.properties).toEqual({ a: '1', b: '2' });
    await store.close();
  });
});

describe('append refuses', () => {
  let store: MessageStore;
  beforeAll(async () => {
    store = await MessageStore.open({ path: fresh(), ...quiet });
  });
  afterAll(() => store.close());

  const base = { topic: 't', body: 'b' };
  // The classes and codes, without STORE_INVALID_.
  const refusals: [what: string, message: unknown, failure: string][] = [
    ['no message', undefined, 'TypeError MESSAGE'],
    ['null', null, 'TypeError MESSAGE'],
    ['a text', 't', 'TypeError MESSAGE'],
    ['no topic', { body: '' }, 'TypeError TOPIC'],
    ['no body', { topic: 't' }, 'TypeError MESSAGE'],
    ['null as a body', { topic: 't', body: null }, 'TypeError MESSAGE'],
    ['a number as a body', { topic: 't', body: 1 }, 'TypeError MESSAGE'],
    ['memory without a view', { topic: 't', body: new ArrayBuffer(4) }, 'TypeError MESSAGE'],
    ['a list of bytes', { topic: 't', body: [1] }, 'TypeError MESSAGE'],
    ['a text as queueId', { ...base, queueId: '0' }, 'TypeError QUEUE_ID'],
    ['a text as flag', { ...base, flag: '1' }, 'TypeError MESSAGE'],
    ['a flag of 33 bits', { ...base, flag: 2 ** 31 }, 'RangeError MESSAGE'],
    ['half a flag', { ...base, sysFlag: 0.5 }, 'RangeError MESSAGE'],
    ['no integer', { ...base, reconsumeTimes: Number.NaN }, 'RangeError MESSAGE'],
    ['a date as a time', { ...base, bornTimestamp: new Date() }, 'TypeError MESSAGE'],
    ['a time past 2^53', { ...base, bornTimestamp: 2 ** 53 }, 'RangeError MESSAGE'],
    ['a long offset', { ...base, preparedTransactionOffset: 2n ** 53n }, 'RangeError MESSAGE'],
    ['a name as a host', { ...base, bornHost: 'localhost:1' }, 'RangeError MESSAGE'],
    ['a host without its port', { ...base, storeHost: '127.0.0.1' }, 'RangeError MESSAGE'],
    ['a number as a host', { ...base, bornHost: 1 }, 'TypeError MESSAGE'],
    ['another transaction', { ...base, transaction: 'begin' }, 'RangeError MESSAGE'],
    ['two transactions', { ...base, transaction: 'commit', sysFlag: 4 }, 'RangeError MESSAGE'],
    ['empty tags', { ...base, tags: '' }, 'RangeError PROPERTY'],
    ['tags that end the property', { ...base, tags: 'a\x02b' }, 'RangeError PROPERTY'],
    ['a key with a space in it', { ...base, keys: ['a b'] }, 'RangeError PROPERTY'],
    ['a number as a property', { ...base, properties: { a: 1 } }, 'TypeError PROPERTY'],
    ['a property without a name', { ...base, properties: { '': 'x' } }, 'RangeError PROPERTY'],
    ['a property without a value', { ...base, properties: { a: '' } }, 'RangeError PROPERTY'],
    ['a separator in a name', { ...base, properties: { 'a\x01': 'b' } }, 'RangeError PROPERTY'],
    ['a separator in a value', { ...base, properties: { a: 'b\x01c' } }, 'RangeError PROPERTY'],
    ['a checksum', { ...base, properties: { '__CRC32#': '1' } }, 'RangeError PROPERTY'],
    ['properties twice', { ...base, tags: 'a', rawProperties: '' }, 'RangeError MESSAGE'],
    ['a number as stored form', { ...base, rawProperties: 1 }, 'TypeError PROPERTY'],
    ['names that are no list', { ...base, lmq: 'alice' }, 'TypeError LMQ_NAME'],
    ['a name that is no text', { ...base, lmq: [1] }, 'TypeError LMQ_NAME'],
  ];

  it.each(refusals)('%s, and nothing changes', (_, message, failure) => {
    expect(failureOf(() => store.append(message as Message))).toBe(
      failure.replace(' ', ' STORE_INVALID_'),
    );
    expect(store.topics()).toEqual([]);
  });

  it('all that without effect on what comes then', () => {
    expect(store.append({ topic: 't', body: 'b', lmq: ['alice'] })).toMatchObject({
      physicalOffset: 0,
      queueOffset: 0,
      lmqOffsets: [0],
    });
  });

  it('memory that was transferred elsewhere', async () => {
    await using store = await openWith();
    for (const view of [new Uint8Array(4), new DataView(new ArrayBuffer(4))]) {
      structuredClone(view.buffer, { transfer: [view.buffer] });
      expect(failureOf(() => store.append({ topic: 't', body: view }))).toBe(
        'TypeError STORE_INVALID_MESSAGE',
      );
    }
  });

  it('to fill anything that is no result', async () => {
    await using store = await openWith();
    for (const into of [{}, null, [], { physicalOffset: 0, msgId: '' }]) {
      expect(failureOf(() => store.append({ topic: 't', body: '' }, into as AppendResult))).toBe(
        'TypeError STORE_INVALID_ARGUMENT',
      );
    }
    expect(store.queue('t').maxOffset).toBe(0);
  });

  it('a time that is none, whatever the clock is', async () => {
    await using store = await openWith({ clock });
    for (now of [Number.NaN, -1, 1.5, Infinity, 2 ** 53]) {
      expect(failureOf(() => store.append({ topic: 't', body: '' }))).toBe(
        'RangeError STORE_INVALID_ARGUMENT',
      );
    }
    now = 5;
    expect(store.append({ topic: 't', body: '' })).toMatchObject({
      queueOffset: 0,
      storeTimestamp: 5,
    });
  });

  it('what the clock throws', async () => {
    const lost = new Error('no time');
    await using store = await openWith({
      clock: () => {
        throw lost;
      },
    });
    expect(() => store.append({ topic: 't', body: '' })).toThrow(lost);
    expect(store.queue('t').maxOffset).toBe(0);
  });

  it('everything once the store is closed', async () => {
    const store = await openWith();
    await store.close();
    expect(failureOf(() => store.append({ topic: 't', body: '' }))).toBe('StoreError STORE_CLOSED');
  });
});
