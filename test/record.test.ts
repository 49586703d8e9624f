// The bytes of a record: those of the format's golden examples, its checksums, and the end of a file.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AppendResult, type Message, MessageStore } from '../lib/index.ts';
import { flipBit, freshDirectories, logFile } from './support/files.ts';
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

function bytesOf({ physicalOffset, size }: AppendResult): Buffer {
  return readFileSync(logFile(dir)).subarray(physicalOffset, physicalOffset + size);
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

describe('lengths and versions', () => {
  it('follow the bytes of the topic, not its characters', async () => {
    await using store = await openWith({ enabledAppendPropCRC: false });
    const of = (topic: string) => {
      const record = bytesOf(store.append({ topic, body: 'x' }));
      return `${record.length} ${record.toString('hex', 4, 8)} ${record.toString('hex', 89, 91)}`;
    };
    expect(of('a'.repeat(127))).toBe('219 daa320a7 7f61');
    expect(of('a'.repeat(128))).toBe('221 daa320ab 0080');
    expect(of('a'.repeat(255))).toBe('348 daa320ab 00ff');
    expect(of('é'.repeat(64))).toBe('221 daa320ab 0080');
  });
});

describe('checksums', () => {
  const record = async (options: object, message: Partial<Message>) => {
    await using store = await openWith(options);
    return bytesOf(store.append({ topic: 't', body: '', ...message }));
  };

  it.each([
    ['123456789', '4bf43926'],
    ['Hello', '77d18982'],
    ['a', '68b7be43'],
    ['hello world', '0d4a1185'],
    ['', '00000000'],
  ])('of the body %j are 31 bits of CRC-32', async (body, hex) => {
    expect((await record({}, { body })).toString('hex', 8, 12)).toBe(hex);
  });

  it('cover the whole record but themselves, digits in reverse', async () => {
    await using store = await openWith();
    for (let i = 0; i < 200; i++) {
      const message = {
        topic: 't',
        body: 'x'.repeat(i * 7),
        keys: `k${i}`,
        lmq: ['a', `b${i % 9}`],
      };
      const bytes = bytesOf(store.append(message));
      const digits = [...bytes.toString('latin1', bytes.length - 11, bytes.length - 1)];
      expect(bytes.toString('latin1', bytes.length - 20, bytes.length - 11)).toBe('__CRC32#\x01');
      expect(Number(digits.reverse().join(''))).toBe(crc32(bytes.subarray(0, -20)) & 0x7fffffff);
    }
  });

  it('take exactly 20 bytes, and none where they are off', async () => {
    for (const lmq of [undefined, ['a', 'b']]) {
      const message = { properties: { A: 'b' }, lmq };
      dir = fresh();
      const off = await record({ clock, enabledAppendPropCRC: false }, message);
      dir = fresh();
      const on = await record({ clock }, message);
      expect(on.length - off.length).toBe(20);
      expect(off.at(-1)).toBe(2);
      expect(off.includes('__CRC32#')).toBe(false);
      // But for the lengths at the start and before the properties, the rest is the same.
      const properties = off.lastIndexOf('A\x01b');
      expect(on.subarray(4, properties - 2)).toEqual(off.subarray(4, properties - 2));
      expect(on.subarray(properties, -20)).toEqual(off.subarray(properties));
    }
  });

  it('that come along are replaced by the store’s own, and never shown', async () => {
    const rawProperties = '__CRC32#\x011\x02a\x01b\x02__CRC32#\x012\x02';
    for (const [enabledAppendPropCRC, count] of [
      [true, 1],
      [false, 2],
    ] as const) {
      dir = fresh();
      await using store = await openWith({ enabledAppendPropCRC });
      const bytes = bytesOf(store.append({ topic: 't', body: '', rawProperties }));
      expect(bytes.toString('latin1').split('__CRC32#').length - 1).toBe(count);
      expect(store.queue('t').read(0).messages[0]!.properties).toEqual({ a: 'b' });
    }
  });

  it('notice any bit that turns round, anywhere in the record', async () => {
    await using store = await openWith();
    const message = { topic: 'topic', body: 'body', tags: 'tag', lmq: ['x'] };
    const { physicalOffset, size } = store.append(message);
    for (let at = 0; at < size; at++) {
      flipBit(logFile(dir), at);
      const { messages } = store.queue('topic').read(0);
      expect([at, messages.length, store.getAt(physicalOffset)]).toEqual([at, 0, undefined]);
      flipBit(logFile(dir), at);
    }
    expect(store.queue('topic').read(0).messages).toHaveLength(1);
  });

  it('fit what was stored, although another thread writes into the body meanwhile', async () => {
    await using store = await openWith({ mappedFileSizeCommitLog: 16 << 20 });
    const body = new Uint8Array(new SharedArrayBuffer(500));
    const scribble =
      "const { workerData: b } = require('node:worker_threads');\n" +
      'for (let i = 0; ; i++) b[i % b.length] = i;';
    const worker = new Worker(scribble, { eval: true, workerData: body });
    await new Promise((resolve) => worker.once('online', resolve));
    let count = 0;
    for (let changed = 0; changed < 100; count++) {
      const before = body[0];
      store.append({ topic: 't', body });
      if (body[0] !== before) changed++;
    }
    await worker.terminate();
    for (let at = 0; at < count; ) {
      const { messages, nextOffset, damaged } = store.queue('t').read(at);
      expect([at, damaged, messages.length > 0]).toEqual([at, undefined, true]);
      at = nextOffset;
    }
  });

  it('of the body alone cannot notice what stands outside it', async () => {
    await using store = await openWith({ enabledAppendPropCRC: false });
    store.append({ topic: 't', body: 'body', properties: { a: 'b' } });
    const first = readFileSync(logFile(dir)).indexOf('a\x01b');
    flipBit(logFile(dir), first + 2);
    expect(store.queue('t').read(0).messages[0]!.properties).toEqual({ a: 'c' });
    flipBit(logFile(dir), readFileSync(logFile(dir)).indexOf('body'));
    expect(store.queue('t').read(0).damaged).toEqual([{ offset: 0, physicalOffset: 0 }]);
  });
});

describe('the end of a file', () => {
  const options = { mappedFileSizeCommitLog: 1024, enabledAppendPropCRC: false };
  /** A message of a topic of one byte whose record has so many bytes. */
  const sized = (size: number): Message => ({ topic: 't', body: 'x'.repeat(size - 92) });
  const at = (base: number, from: number, to: number) =>
    readFileSync(logFile(dir, base)).toString('hex', from, to);

  it('is told by a blank record where the next message does not fit', async () => {
    await using store = await openWith(options);
    for (let i = 0; i < 3; i++) expect(store.append(sized(300)).physicalOffset).toBe(300 * i);
    expect(store.append(sized(300)).physicalOffset).toBe(1024);
    expect(at(0, 900, 908)).toBe('0000007ccbd43194');
    expect(store.queue('t').read(0).messages).toHaveLength(4);
  });

  it('keeps eight bytes free, which the next message turns into a blank record', async () => {
    await using store = await openWith(options);
    for (let i = 0; i < 3; i++) store.append(sized(300));
    expect(store.append(sized(116)).physicalOffset).toBe(900);
    expect(at(0, 1016, 1024)).toBe('0'.repeat(16));
    expect(store.append(sized(92)).physicalOffset).toBe(1024);
    expect(at(0, 1016, 1024)).toBe('00000008cbd43194');
  });

  it('is written on the first append after reopening, too', async () => {
    {
      await using store = await openWith(options);
      for (let i = 0; i < 3; i++) store.append(sized(300));
    }
    await using store = await openWith(options);
    expect(store.append(sized(300)).physicalOffset).toBe(1024);
    expect(at(0, 900, 908)).toBe('0000007ccbd43194');
    expect(store.queue('t').read(0).messages).toHaveLength(4);
  });

  it('is never reached by a message that fits into no file: no second file appears', async () => {
    await using store = await openWith(options);
    expect(failureOf(() => store.append(sized(1017)))).toBe('RangeError STORE_RECORD_TOO_LARGE');
    expect(existsSync(logFile(dir, 1024))).toBe(false);
    expect(store.append(sized(1016)).physicalOffset).toBe(0);
    expect(failureOf(() => store.append(sized(1017)))).toBe('RangeError STORE_RECORD_TOO_LARGE');
    expect(existsSync(logFile(dir, 1024))).toBe(false);
    expect(at(0, 1016, 1024)).toBe('0'.repeat(16));
  });
});
