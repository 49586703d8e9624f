// What append writes: every field of a message, byte for byte, and what it answers.
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AppendResult, type Message, MessageStore, type StoredMessage } from '../lib/index.ts';
import { freshDirectories, logFile } from './support/files.ts';
import { failureOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
let now = 1_700_000_000_123;
const clock = () => now;

beforeEach(() => {
  dir = fresh();
  now = 1_700_000_000_123;
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

/** The bytes of the log from a record on. */
function bytesOf({ physicalOffset, size }: AppendResult): Buffer {
  return readFileSync(logFile(dir)).subarray(physicalOffset, physicalOffset + size);
}

/** Appends a message and reads it back, from its queue and by its place. */
function stored(store: MessageStore, message: Message): StoredMessage {
  const { physicalOffset, queueOffset, msgId } = store.append(message);
  const [found] = store.queue(message.topic, message.queueId).read(queueOffset).messages;
  expect(found).toMatchObject({ physicalOffset, queueOffset, msgId });
  expect(store.getAt(physicalOffset)!.toJSON()).toEqual(found!.toJSON());
  expect(store.getById(msgId)!.toJSON()).toEqual(found!.toJSON());
  return found!;
}

describe('the golden records of the format are written byte for byte', () => {
  const base = {
    topic: 'TopicTest',
    body: 'Hello',
    flag: 7,
    bornTimestamp: 1_700_000_000_000,
    bornHost: '10.1.2.3:1234',
  };
  const head =
    'daa320a777d1898200000000000000070000000000000000000000000000000000000000' +
    '0000018bcfe568000a010203000004d20000018bcfe5687b7f00000100002a9f0000000000000000' +
    '000000000000000548656c6c6f09546f70696354657374';
  const golden = async (options: object, message: Message, hex: string) => {
    await using store = await openWith({ clock, ...options });
    expect(bytesOf(store.append(message)).toString('hex')).toBe(hex);
  };

  it('A: keys and tags, without the CRC property', () =>
    golden(
      { enabledAppendPropCRC: false },
      { ...base, keys: 'k1', tags: 'TagA' },
      `0000007b${head}00124b455953016b31025441475301546167 4102`.replace(' ', ''),
    ));

  it('B: the same with the CRC property', () =>
    golden(
      {},
      { ...base, keys: 'k1', tags: 'TagA' },
      `0000008f${head}00264b455953016b310254414753015461674102` +
        '5f5f435243333223013930303337333131393102',
    ));

  it('C: stored properties without their last separator get it', () =>
    golden(
      {},
      { ...base, rawProperties: 'a\x01b' },
      `00000081${head}00186101620 25f5f435243333223013331343932313637393002`.replace(' ', ''),
    ));

  it('D: neither body nor properties', () =>
    golden(
      {},
      { ...base, body: '' },
      '00000078daa320a70000000000000000000000070000000000000000000000000000000000000000' +
        '0000018bcfe568000a010203000004d20000018bcfe5687b7f00000100002a9f0000000000000000' +
        '000000000000000009546f7069635465737400145f5f435243333223013836333631363830303202',
    ));

  it('E: light queues and their offsets', () =>
    golden(
      {},
      {
        ...base,
        properties: { INNER_MULTI_DISPATCH: '%LMQ%a,%LMQ%b', WAIT: 'true', TAGS: 'TagA' },
      },
      `000000d1${head}0068494e4e45525f4d554c54495f44495350` +
        '4154434801254c4d5125612c254c4d512562025741495401747275650254414753015461674102' +
        '494e4e45525f4d554c54495f51554555455f4f464653455401302c3002' +
        '5f5f435243333223013735333031363634383002',
    ));

  it('F: IPv6 hosts, third message of its queue', async () => {
    await using store = await openWith({
      clock,
      enabledAppendPropCRC: false,
      storeHost: '[::1]:10911',
    });
    const hosts = { storeHost: '127.0.0.1:1', bornHost: '127.0.0.1:1' };
    store.append({ topic: 'TopicTest', body: '', ...hosts });
    store.append({ topic: 'TopicTest', body: 'x'.repeat(63), ...hosts });
    const third = store.append({
      ...base,
      body: 'x',
      bornHost: '[2001:db8::1]:1',
      properties: { a: 'b' },
    });
    expect(bytesOf(third).toString('hex')).toBe(
      '00000081daa320a70cdc168300000000000000070000000000000002000000000000010700000030' +
        '0000018bcfe5680020010db8000000000000000000000001000000010000018bcfe5687b00000000' +
        '00000000000000000000000100002a9f000000000000000000000000000000017809546f70696354' +
        '657374000461016202',
    );
  });

  it('and a worked example: 121 bytes, CRC 1944777102', async () => {
    now = 1_700_000_000_000;
    await using store = await openWith({ clock });
    const record = bytesOf(store.append({ topic: 'T', body: 'hello', properties: { A: 'b' } }));
    expect(record).toHaveLength(121);
    expect(record.subarray(-20).toString()).toBe('__CRC32#\x012017774491\x02');
    expect(crc32(record.subarray(0, -20)) & 0x7fffffff).toBe(1_944_777_102);
  });
});

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
      const { size, sysFlag, msgId, ...found } = stored(store, {
        topic: 'T',
        body: 'x',
        bornHost,
        storeHost,
        // Flags that contradict the hosts are not believed.
        sysFlag: 0x30,
      });
      expect(found).toMatchObject({});
      return [size, sysFlag, msgId.length];
    };
    expect(of(v4, v4)).toEqual([93, 0, 32]);
    expect(of(v6, v4)).toEqual([105, 16, 32]);
    expect(of(v4, v6)).toEqual([105, 32, 56]);
    expect(of(v6, v6)).toEqual([117, 48, 56]);
  });

  it('with topics of either length form, also after reopening', async () => {
    const topics = ['a'.repeat(127), 'b'.repeat(128), 'é'.repeat(127) + 'c'];
    const sizes: string[] = [];
    {
      await using store = await openWith({ enabledAppendPropCRC: false });
      for (const topic of topics) {
        const record = bytesOf(store.append({ topic, body: 'x' }));
        sizes.push(
          `${record.length} ${record.toString('hex', 4, 8)} ${record.toString('hex', 89, 91)}`,
        );
      }
    }
    expect(sizes).toEqual(['219 daa320a7 7f61', '221 daa320ab 0080', '348 daa320ab 00ff']);
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
