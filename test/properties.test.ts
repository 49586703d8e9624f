import { describe, expect, it } from 'vitest';
import { isStoreError } from '../lib/errors.ts';
import { javaHash } from '../lib/java-map.ts';
import type { Message } from '../lib/message.ts';
import { storedProperties } from '../lib/properties.ts';
import { PropertyWriter } from '../lib/property-writer.ts';
import {
  brokerOrder,
  cutChecksum,
  cutProperty,
  lastValue,
  rawProperties,
  terminated,
  withProperty,
} from '../lib/stored-form.ts';

/** Stored form, readable: '=' and ';' stand for 01 and 02. */
const stored = (text: string) => text.replaceAll('=', '\x01').replaceAll(';', '\x02');
const shown = (text: string) => text.replaceAll('\x01', '=').replaceAll('\x02', ';');

/** As many bytes as native gives. */
const MEMORY = 128 * 1024;

function write(
  message: Partial<Message>,
  writer = new PropertyWriter(new Uint8Array(MEMORY)),
  kind = 0,
): PropertyWriter {
  writer.write({ topic: 't', body: '', ...message }, kind);
  return writer;
}

const text = (message: Partial<Message>) => shown(write(message).text());

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (isStoreError(error, 'STORE_INVALID_PROPERTY')) {
      return `${error.constructor.name}: ${error.message}`;
    }
    throw error;
  }
  return 'accepted';
}

const refused = (message: unknown) => refusal(() => write(message as Partial<Message>));

describe('properties are written', () => {
  it('in the order they are given, then KEYS, then TAGS', () => {
    const properties = { zebra: '1', apple: '2', WAIT: 'true' };
    expect(text({ tags: 'T', keys: 'K', properties })).toBe(
      'zebra=1;apple=2;WAIT=true;KEYS=K;TAGS=T;',
    );
    expect(text({})).toBe('');
    expect(text({ tags: 'T' })).toBe('TAGS=T;');
  });

  it('from an object, a Map, or pairs', () => {
    const pairs: [string, string][] = [
      ['b', '1'],
      ['2', '2'],
      ['1', '3'],
    ];
    expect(text({ properties: new Map(pairs) })).toBe('b=1;2=2;1=3;');
    expect(text({ properties: pairs })).toBe('b=1;2=2;1=3;');
    expect(text({ properties: pairs.values() })).toBe('b=1;2=2;1=3;');
    expect(text({ properties: Object.assign(Object.create(null), { a: 'b' }) })).toBe('a=b;');
    expect(text({ properties: JSON.parse('{"__proto__":"x"}') })).toBe('__proto__=x;');
    expect(text({ properties: Object.create({ inherited: 'x' }) })).toBe('');
  });

  it('with several keys in one property', () => {
    expect(text({ keys: ['a', 'b'] })).toBe('KEYS=a b;');
    expect(text({ keys: [] })).toBe('');
    expect(text({ keys: 'a b' }), 'as Java would').toBe('KEYS=a b;');
  });

  it('as Java writes text that is no UTF-16', () => {
    expect(text({ tags: 'a\ud800b', properties: { '\udc00': '😀\udfff' } })).toBe(
      '?=😀?;TAGS=a?b;',
    );
    expect(text({ tags: '\ufffd' }), 'a replacement character is one').toBe('TAGS=\ufffd;');
  });

  it('with light queues in their own form noticed', () => {
    const properties = { INNER_MULTI_DISPATCH: '%LMQ%a,b' };
    expect(write({ properties }).list).toBe('%LMQ%a,b');
    expect(write({ properties: new Map(Object.entries(properties)) }).list).toBe('%LMQ%a,b');
    expect(write({ properties: { a: 'b' } }).list).toBeUndefined();
  });

  it('anew each time: nothing of the last message stays', () => {
    const writer = write({ tags: 'T', properties: { INNER_MULTI_DISPATCH: 'x' } });
    write({}, writer);
    expect([writer.text(), writer.length, writer.list]).toEqual(['', 0, undefined]);
  });
});

describe('properties are refused', () => {
  it('without a name or a value', () => {
    expect(refused({ properties: { '': 'x' } })).toMatch(/^RangeError.*name/);
    expect(refused({ properties: { a: '' } })).toMatch(/^RangeError.*"a" is empty/);
    expect(refused({ properties: [['a', '']] })).toMatch(/^RangeError/);
    expect(refused({ tags: '' })).toMatch(/^RangeError/);
    expect(refused({ keys: '' })).toMatch(/^RangeError/);
    expect(refused({ keys: ['a', ''] })).toMatch(/^RangeError/);
    expect(refused({ keys: ['a b'] })).toMatch(/^RangeError.*space/);
  });

  it('that the store alone writes', () => {
    for (const name of ['__CRC32#', 'INNER_MULTI_QUEUE_OFFSET']) {
      expect(refused({ properties: { [name]: '1' } })).toMatch(/^RangeError.*store alone/);
      expect(refused({ properties: new Map([[name, '1']]) })).toMatch(/^RangeError/);
    }
  });

  it('that are given twice', () => {
    expect(refused({ tags: 'a', properties: { TAGS: 'b' } })).toMatch(/^RangeError.*"TAGS"/);
    expect(refused({ keys: [], properties: { KEYS: 'b' } })).toMatch(/^RangeError.*"KEYS"/);
    expect(text({ properties: { TAGS: 'a', KEYS: 'b' } })).toBe('TAGS=a;KEYS=b;');
    const twice: [string, string][] = [
      ['a', '1'],
      ['a', '2'],
    ];
    expect(refused({ properties: twice })).toMatch(/^RangeError.*"a" is given twice/);
  });

  it('of the wrong type', () => {
    for (const properties of [
      null,
      'a=b',
      5,
      { a: 5 },
      { a: null },
      { a: undefined },
      { a: ['x'] },
    ]) {
      expect(refused({ properties }), JSON.stringify(properties)).toMatch(/^TypeError/);
    }
    for (const properties of [['ab'], [['a']], [['a', 'b', 'c']], [5], new Map([[5, 'x']])]) {
      expect(refused({ properties })).toMatch(/^TypeError/);
    }
    for (const tags of [null, 5, ['a'], {}]) expect(refused({ tags })).toMatch(/^TypeError/);
    for (const keys of [null, 5, [5], {}, new Set(['a'])]) {
      expect(refused({ keys })).toMatch(/^TypeError/);
    }
  });

  it('with a separator in a name or a value, by name', () => {
    const properties = { good: '1', bad: 'x\x02y' };
    expect(refused({ properties })).toMatch(/^RangeError.*"bad"/);
    expect(refused({ properties: new Map(Object.entries(properties)) })).toMatch(/"bad"/);
    expect(refused({ properties: { 'a\x01b': 'x' } })).toMatch(/"a\\u0001b"/);
    expect(refused({ tags: 'a\x02b\x01c' })).toMatch(/"tags"/);
    expect(refused({ keys: ['k', 'l\x01'] })).toMatch(/"keys"/);
    expect(refused({ properties: Object.entries(properties).values() })).toMatch(/"bad"/);
    expect(refused({ properties: { good: '1' }, tags: 'T', keys: 'K' })).toBe('accepted');
  });
});

describe('what lies in the memory from the last message', () => {
  const form = ({ properties = {}, keys, tags }: Partial<Message>) =>
    Object.entries({ ...properties, ...(keys && { KEYS: keys }), ...(tags && { TAGS: tags }) })
      .map(([name, value]) => `${name}=${value};`)
      .join('');

  it('stays or goes, whatever the next message of the kind has', () => {
    const values = ['a', 'b', 'ab', 'abc', 'é', '日本', 'x'.repeat(33), 'y'.repeat(400)];
    const found = ['KEYS', 'TAGS', 'UNIQ_KEY'];
    const names = ['p', 'q', 'longer', 'naïve', ...found, 'z'.repeat(40)];
    let state = 7;
    const pick = <T>(from: readonly T[]): T => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return from[Math.floor((state / 2 ** 32) * from.length)] as T;
    };
    const writer = new PropertyWriter(new Uint8Array(MEMORY));
    for (let i = 0; i < 20_000; i++) {
      const properties: Record<string, string> = {};
      for (let n = pick([0, 1, 2, 3, 4]); n > 0; n--) properties[pick(names)] = pick(values);
      const message = {
        properties,
        ...(!('KEYS' in properties) && pick([true, false]) && { keys: pick(values) }),
        ...(!('TAGS' in properties) && pick([true, false]) && { tags: pick(values) }),
      };
      write(message, writer, pick([0, 1, 64]));
      expect(shown(writer.text()), JSON.stringify(message)).toBe(form(message));
      const own = Object.keys(properties).some((name) => found.includes(name));
      expect(writer.keysFrom, JSON.stringify(message)).toBe(
        own ? 0 : Buffer.byteLength(form({ properties })),
      );
    }
  });

  it('is not what a refused message left there', () => {
    const writer = write({ properties: { a: '1', b: '2' } });
    expect(() => write({ properties: { a: '99', b: '' } }, writer)).toThrow(RangeError);
    expect(() => write({ properties: { a: 'x', b: 'y\x01' } }, writer)).toThrow(RangeError);
    expect(shown(write({ properties: { a: '1', b: '2' } }, writer).text())).toBe('a=1;b=2;');
  });

  it('does not hide that a field is given twice', () => {
    for (const before of [{ properties: { TAGS: 'a' } }, { tags: 'a' }]) {
      const writer = write(before);
      expect(() => write({ properties: { TAGS: 'a' }, tags: 'b' }, writer)).toThrow(/"TAGS"/);
    }
  });

  it('does not reach into the lines beside it', () => {
    const writer = new PropertyWriter(new Uint8Array(MEMORY));
    const few = { properties: { a: '1' } };
    const lines = Array.from({ length: 64 }, (_, kind) => {
      write(few, writer, kind);
      return writer.at;
    });
    expect(new Set(lines).size).toBe(64);
    write({ properties: { a: 'x'.repeat(1020) } }, writer, 5);
    write({ properties: { a: 'x'.repeat(1021) } }, writer, 6);
    for (const kind of [4, 7]) expect(shown(write(few, writer, kind).text())).toBe('a=1;');
  });

  it('has an end', () => {
    const writer = new PropertyWriter(new Uint8Array(MEMORY));
    const most = write({ properties: { a: 'x'.repeat(65_532) } }, writer);
    expect([most.at, most.length]).toEqual([64 * 1024, 65_535]);
    for (const value of ['x'.repeat(65_534), 'é'.repeat(40_000), 'x'.repeat(10_000_000)]) {
      const tooLarge = { properties: { a: value } };
      expect(() => write(tooLarge, writer)).toThrow(/32767 are allowed/);
    }
    expect(shown(write({ tags: 'T' }, writer).text())).toBe('TAGS=T;');
  });
});

describe('stored properties are read as Java reads them', () => {
  const read = (form: string) => [...storedProperties(stored(form))].map((pair) => pair.join('='));

  it('by segments', () => {
    const rows: [string, string[]][] = [
      ['', []],
      ['a=b;', ['a=b']],
      ['a=b', ['a=b']],
      ['a=b;c=d', ['a=b', 'c=d']],
      ['a=b;tail', ['a=b']],
      ['ab;c=d;', ['c=d']],
      ['a=b;a=c;', ['a=b', 'a=c']],
      [';;a=b;', ['a=b']],
      [' =a;', [' =a']],
    ];
    for (const [form, pairs] of rows) expect(read(form), form).toEqual(pairs);
    expect([...storedProperties('a\x01b\x01c\x02')]).toEqual([['a', 'b\x01c']]);
  });

  it('not seeing those without a name or a value', () => {
    for (const form of ['a=;', '=b;', '=;', ';', '=', 'a', 'ab;', 'a=', '==;', 'x;y=']) {
      expect(read(form), form).toEqual([]);
    }
  });

  it('the last value of a name winning, unless it is empty', () => {
    expect(lastValue(stored('a=1;b=2;a=3;'), 'a')).toBe('3');
    expect(lastValue(stored('a=1;a=;'), 'a')).toBe('1');
    expect(lastValue(stored('ba=1;c=a=2;'), 'a')).toBeUndefined();
  });
});

describe('properties in stored form', () => {
  it('stay as they are given', () => {
    const odd = stored('a=;a=1;a=2;tail');
    expect(rawProperties(odd)).toBe(odd);
    expect(rawProperties(Buffer.from('naïve 名'))).toBe('naïve 名');
    expect(rawProperties('\ud800')).toBe('?');
    expect(rawProperties(Buffer.from('\ufeffa\x01b'))).toBe('\ufeffa\x01b');
  });

  it('stay bytes where they are no text', () => {
    const bytes = Buffer.from([0x61, 1, 0xff, 2]);
    expect(rawProperties(bytes)).toEqual(bytes);
    const dirty = Buffer.concat([Buffer.from('__CRC32#\x011\x02'), bytes]);
    expect(cutChecksum(dirty, true)).toEqual(bytes);
    expect(cutChecksum(bytes, true)).toBe(bytes);
  });

  it('are text or bytes', () => {
    for (const given of [null, 5, {}, [1], new Map()]) {
      expect(refusal(() => rawProperties(given))).toMatch(/^TypeError/);
    }
  });

  it('lose a property where it stands at the start of a segment, only there', () => {
    const cut = (form: string) => shown(cutProperty(stored(form), '__CRC32#'));
    expect(cut('__CRC32#=1;__CRC32#=2;z=y')).toBe('z=y');
    expect(cut('a=b__CRC32#=123;c=d;')).toBe('a=b__CRC32#=123;c=d;');
    expect(cut('a=__CRC32#=x;')).toBe('a=__CRC32#=x;');
    expect(cut('a=b;__CRC32#=1')).toBe('a=b;');
    expect(cut('a=b;__CRC32#=1;c=d;__CRC32#=2;')).toBe('a=b;c=d;');
    expect(cut('a=__CRC32#=x;__CRC32#=1;')).toBe('a=__CRC32#=x;');
    expect(cut('__CRC32#')).toBe('__CRC32#');
    expect(cut('__CRC32#x=1;')).toBe('__CRC32#x=1;');
  });

  it('lose a checksum that readers would take for the record’s, even where none is written', () => {
    const cut = (form: string) => shown(cutChecksum(stored(form), false) as string);
    expect(cut('a=b;__CRC32#=1234567890;')).toBe('a=b;');
    expect(cut('__CRC32#=1234567890;__CRC32#=0000000000;')).toBe('');
    for (const kept of [
      '__CRC32#=12345;a=b;',
      '__CRC32#=1234567890;a=b;',
      'a=b;__CRC32#=123456789;',
      'a=b;__CRC32#=1234567890',
    ]) {
      expect(cut(kept)).toBe(kept);
    }
  });

  it('get a property behind them, with a separator where the last one has none', () => {
    expect(shown(withProperty('', 'a', 'b'))).toBe('a=b;');
    expect(shown(withProperty(stored('x=y'), 'a', 'b'))).toBe('x=y;a=b;');
    expect(shown(withProperty(stored('x=y;'), 'a', 'b'))).toBe('x=y;a=b;');
    expect([terminated(''), shown(terminated('x'))]).toEqual(['', 'x;']);
  });
});

describe("a broker's order", () => {
  const arrange = (form: string) => {
    const { head, tail } = brokerOrder(stored(form));
    return `${shown(head)}|${shown(tail)}`;
  };

  it('is that of a map of 128 buckets, the offsets in their place', () => {
    expect(arrange('TAGS=x;KEYS=k;WAIT=false;u1=v;UNIQ_KEY=uk;INNER_MULTI_DISPATCH=q;')).toBe(
      'UNIQ_KEY=uk;|TAGS=x;KEYS=k;u1=v;WAIT=false;INNER_MULTI_DISPATCH=q;',
    );
    expect(arrange('INNER_MULTI_DISPATCH=q;')).toBe('|INNER_MULTI_DISPATCH=q;');
  });

  it('keeps the place of offsets that came along, and drops their value', () => {
    expect(arrange('INNER_MULTI_QUEUE_OFFSET=9,9;INNER_MULTI_DISPATCH=q;')).toBe(
      '|INNER_MULTI_DISPATCH=q;',
    );
  });

  it('moves WAIT to the end of its bucket', () => {
    const bucketOf = (name: string) => (javaHash(name) ^ (javaHash(name) >>> 16)) & 127;
    const names = Array.from({ length: 5000 }, (_, i) => `n${i}`);
    const neighbour = names.find((name) => bucketOf(name) === bucketOf('WAIT'));
    expect(arrange(`WAIT=1;${neighbour}=2;`)).toBe(`|${neighbour}=2;WAIT=1;`);
    expect(arrange(`${neighbour}=2;WAIT=1;`)).toBe(`|${neighbour}=2;WAIT=1;`);
  });

  it('has what Java parsed: the last value in the first place, nothing empty', () => {
    expect(arrange('e=;dup=1;x;dup=2;INNER_MULTI_DISPATCH=q;')).toBe(
      '|INNER_MULTI_DISPATCH=q;dup=2;',
    );
  });
});
