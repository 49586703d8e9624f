import { describe, expect, it } from 'vitest';
import { isStoreError } from '../lib/errors.ts';
import { hashMapOrder, javaHash } from '../lib/java-map.ts';
import {
  allowsLightQueues,
  fullLmqName,
  isBlank,
  lmqName,
  lmqParts,
  splitList,
  storedLightQueues,
} from '../lib/lmq.ts';

function codeOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return isStoreError(error) ? `${error.constructor.name} ${error.code}` : error;
  }
  return 'accepted';
}

describe('a light queue name', () => {
  it('gets the prefix where it is missing, and once', () => {
    expect(fullLmqName('alice')).toBe('%LMQ%alice');
    expect(fullLmqName('%LMQ%alice')).toBe('%LMQ%alice');
    expect(fullLmqName('%LMQ%%LMQ%x')).toBe('%LMQ%%LMQ%x');
    expect(fullLmqName('%lmq%x'), 'the prefix is case sensitive').toBe('%LMQ%%lmq%x');
  });

  it('may be odd', () => {
    for (const name of [
      ' ',
      'a b',
      '用户一',
      'éè',
      'a.b.c',
      '#',
      '+',
      '-1',
      'a:b;c',
      '😀',
      '...',
    ]) {
      expect(fullLmqName(name)).toBe(`%LMQ%${name}`);
    }
  });

  it('is refused where it could be taken for another, or leave its place', () => {
    for (const name of [
      '',
      '%LMQ%',
      '.',
      '..',
      'a/b',
      '/',
      'a,b',
      ',',
      'a\0',
      'a\n',
      '\x1f',
      '\x7f',
    ]) {
      expect(
        codeOf(() => fullLmqName(name)),
        name,
      ).toBe('RangeError STORE_INVALID_LMQ_NAME');
    }
    expect(
      codeOf(() => fullLmqName('\u0085')),
      'a control character above ASCII',
    ).toMatch(/Range/);
    expect(
      codeOf(() => fullLmqName('a\ud800')),
      'stored as "a?"',
    ).toMatch(/Range/);
  });

  it('has 255 bytes at most, prefix included', () => {
    expect(fullLmqName('n'.repeat(250))).toHaveLength(255);
    expect(fullLmqName(`%LMQ%${'n'.repeat(250)}`)).toHaveLength(255);
    expect(codeOf(() => fullLmqName('n'.repeat(251)))).toMatch(/Range/);
    expect(
      codeOf(() => fullLmqName('中'.repeat(84))),
      'bytes, not characters',
    ).toMatch(/Range/);
  });

  it('is a string', () => {
    for (const name of [undefined, null, 5, {}, ['a']]) {
      expect(codeOf(() => fullLmqName(name))).toBe('TypeError STORE_INVALID_LMQ_NAME');
    }
  });
});

describe('lmqName', () => {
  it('leaves plain parts as they are, joined by percent signs', () => {
    expect(lmqName('alice')).toBe('%LMQ%alice');
    expect(lmqName('tenant', 'alice')).toBe('%LMQ%tenant%alice');
  });

  it('names the queue of an MQTT topic as RocketMQ MQTT does', () => {
    expect(lmqName(...'home/room/1'.split('/'))).toBe('%LMQ%home%room%1');
    expect(lmqName(...'/a//b/'.split('/'))).toBe('%LMQ%%a%%b%');
    expect(lmqName(...'home/+/#'.split('/'))).toBe('%LMQ%home%+%#');
  });

  it('escapes what a name cannot hold, and its own signs', () => {
    expect(lmqName('a,b/c')).toBe('%LMQ%a~2cb~2fc');
    expect(lmqName('50%~')).toBe('%LMQ%50~25~7e');
    expect(lmqName('\n\ud800')).toBe('%LMQ%~0a~ud800');
    expect(lmqName('.')).toBe('%LMQ%~2e');
    expect(lmqName('..')).toBe('%LMQ%~2e~2e');
    expect(lmqName('')).toBe('%LMQ%~');
  });

  it('gives different names for different parts, however they try', () => {
    const parts = [
      [''],
      ['', ''],
      ['~'],
      ['~7e'],
      ['.'],
      ['~2e'],
      ['a', 'b'],
      ['a%b'],
      ['a/b'],
      ['a,b'],
      ['a~25b'],
      ['a', '', 'b'],
      ['%LMQ%a'],
      ['', 'LMQ', 'a'],
      ['\ud800'],
      ['?'],
      ['~ud800'],
    ];
    const names = parts.map((part) => lmqName(...part));
    expect(new Set(names).size).toBe(parts.length);
    expect(names.map(lmqParts)).toEqual(parts);
  });

  it('is reversible for any text', () => {
    const alphabet = ['a', 'Z', '0', '%', '~', '/', ',', '.', '\0', '\x9f', 'é', '中', '😀'];
    alphabet.push('\ud800', '\udc00', '\u2028', '~2c', '%LMQ%', ' ', 'u', '2', 'f');
    let seed = 42;
    const random = (below: number) => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      return (seed >>> 8) % below;
    };
    const partsOf = new Map<string, string>();
    const wrong: string[][] = [];
    for (let i = 0; i < 20_000; i++) {
      const parts = Array.from({ length: 1 + random(3) }, () =>
        Array.from({ length: random(5) }, () => alphabet[random(alphabet.length)]).join(''),
      );
      const name = lmqName(...parts);
      const text = JSON.stringify(parts);
      const again = JSON.stringify(lmqParts(name));
      if (again !== text || (partsOf.get(name) ?? text) !== text) wrong.push(parts);
      partsOf.set(name, text);
    }
    expect(wrong).toEqual([]);
    expect(partsOf.size).toBeGreaterThan(10_000);
  });

  it('refuses what makes no name', () => {
    expect(codeOf(() => lmqName())).toBe('TypeError STORE_INVALID_LMQ_NAME');
    expect(codeOf(() => lmqName('a', 5 as never))).toBe('TypeError STORE_INVALID_LMQ_NAME');
    expect(codeOf(() => lmqName('/'.repeat(84)))).toBe('RangeError STORE_INVALID_LMQ_NAME');
  });

  it('does not make parts of names that it never gives', () => {
    for (const name of ['', '%LMQ%', 'a,b', 'a/b', '~2', 'a~', '~61', '~2F', '~u0061', '.', '..']) {
      expect(lmqParts(name), name).toBeUndefined();
    }
  });
});

describe("a list in Java's form", () => {
  it('is split as Java splits', () => {
    const rows: [string, string[]][] = [
      ['a', ['a']],
      ['a,', ['a']],
      ['a,,', ['a']],
      [',a', ['', 'a']],
      ['a,,b,,', ['a', '', 'b']],
      [',', []],
      [',,', []],
      ['', ['']],
      [' , ', [' ', ' ']],
    ];
    for (const [list, parts] of rows) expect(splitList(list), list).toEqual(parts);
  });

  it('gives a place to light queues with a number alone', () => {
    const rows: [string, string, string[], number[]][] = [
      ['%LMQ%a,%LMQ%b', '0,0', ['%LMQ%a', '%LMQ%b'], [0, 0]],
      ['%LMQ%b,a', '0,', ['%LMQ%b'], [0]],
      ['a,%LMQ%b', ',0', ['%LMQ%b'], [0]],
      ['a,b', ',', [], []],
      [',', '', [], []],
      ['%LMQ%a,%LMQ%b,,', '2,1', ['%LMQ%a', '%LMQ%b'], [2, 1]],
      ['%LMQ%first,normal,%LMQ%second', '7,,11', ['%LMQ%first', '%LMQ%second'], [7, 11]],
      ['%LMQ%a,%LMQ%a', '5,5', ['%LMQ%a', '%LMQ%a'], [5, 5]],
    ];
    for (const [list, stored, names, offsets] of rows) {
      expect(storedLightQueues(list, stored), list).toEqual({ names, offsets });
    }
  });

  it('gives no place where offsets are missing or no numbers', () => {
    for (const offsets of ['', 'x', '-1', '1.5', ' 1', '0x1', '1e3']) {
      expect(storedLightQueues('%LMQ%a', offsets), offsets).toEqual({ names: [], offsets: [] });
    }
    expect(storedLightQueues('%LMQ%a,%LMQ%b', '3').names).toEqual(['%LMQ%a']);
  });

  it("is blank where Java's white space is all there is", () => {
    for (const text of ['', ' ', '   ', '\t\n\r\f\x0b', '\x1c\x1f', '\u3000\u2003']) {
      expect(isBlank(text), JSON.stringify(text)).toBe(true);
    }
    for (const text of ['a', ' a ', ',', '\u00a0', '\u2007', '\u202f', '\ufeff', '\x85', '\0']) {
      expect(isBlank(text), JSON.stringify(text)).toBe(false);
    }
  });
});

describe('a topic', () => {
  it('has light queues unless it is one of the excluded ones', () => {
    for (const topic of [
      't',
      'rmq_sys',
      'RMQ_SYS_OTHER',
      '%retry%g',
      'SCHEDULE_TOPIC',
      'x%RETRY%',
    ]) {
      expect(allowsLightQueues(topic), topic).toBe(true);
    }
    const excluded = ['%RETRY%g', '%DLQ%g', 'rmq_sys_x', 'SCHEDULE_TOPIC_XXXX'];
    for (const topic of [...excluded, 'RMQ_SYS_TRANS_HALF_TOPIC']) {
      expect(allowsLightQueues(topic), topic).toBe(false);
    }
  });
});

describe("Java's HashMap", () => {
  it('hashes names as Java does', () => {
    // Name, hash, and bucket of 16, 32, 64 and 128.
    const rows: [string, number, number, number, number, number][] = [
      ['KEYS', 2303476, 7, 23, 23, 87],
      ['TAGS', 2567193, 14, 30, 62, 62],
      ['WAIT', 2656629, 13, 29, 29, 93],
      ['DELAY', 64930147, 13, 29, 61, 61],
      ['UNIQ_KEY', 488471169, 12, 28, 28, 28],
      ['CLUSTER', 1590074842, 12, 28, 28, 28],
      ['MSG_REGION', -1929015918, 7, 23, 23, 23],
      ['TRACE_ON', 2052958009, 4, 4, 36, 100],
      ['PGROUP', -1936543729, 13, 29, 29, 29],
      ['TRAN_MSG', 2063874125, 9, 9, 9, 73],
      ['REAL_TOPIC', -245408978, 1, 17, 49, 113],
      ['REAL_QID', -76236021, 15, 31, 63, 127],
      ['INNER_MULTI_DISPATCH', 627399177, 12, 12, 44, 108],
      ['INNER_MULTI_QUEUE_OFFSET', -1046529616, 15, 15, 47, 47],
      ['INNER_NUM', -2035045923, 14, 14, 46, 110],
      ['INNER_BASE', 1337709370, 1, 1, 1, 1],
      ['__CRC32#', -1527310512, 7, 7, 39, 39],
    ];
    for (const [name, hash, ...buckets] of rows) {
      expect(javaHash(name), name).toBe(hash);
      const spread = javaHash(name) ^ (javaHash(name) >>> 16);
      expect([15, 31, 63, 127].map((mask) => spread & mask)).toEqual(buckets);
    }
  });

  it('hashes UTF-16 units, not characters', () => {
    expect(javaHash('😀')).toBe(31 * 0xd83d + 0xde00);
    expect(javaHash('polygenelubricants')).toBe(-2147483648);
  });

  const put = 'TAGS KEYS WAIT u1 UNIQ_KEY INNER_MULTI_DISPATCH INNER_MULTI_QUEUE_OFFSET'.split(' ');

  it('walks a map made by hand, of 16 buckets', () => {
    expect(hashMapOrder(put, 16).join(' ')).toBe(
      'KEYS u1 UNIQ_KEY INNER_MULTI_DISPATCH WAIT TAGS INNER_MULTI_QUEUE_OFFSET',
    );
  });

  it('walks a parsed map, of 128 buckets', () => {
    expect(hashMapOrder(put).join(' ')).toBe(
      'UNIQ_KEY INNER_MULTI_QUEUE_OFFSET TAGS KEYS u1 WAIT INNER_MULTI_DISPATCH',
    );
  });

  it('keeps the order of putting inside a bucket', () => {
    expect(hashMapOrder(['WAIT', 'PGROUP'], 16)).toEqual(['WAIT', 'PGROUP']);
    expect(hashMapOrder(['PGROUP', 'WAIT'], 16)).toEqual(['PGROUP', 'WAIT']);
    expect(hashMapOrder(['BBBB', 'AaBB', 'AaAa']), 'equal hashes').toEqual([
      'BBBB',
      'AaBB',
      'AaAa',
    ]);
  });

  it('grows beyond three quarters, not before', () => {
    const filler = Array.from({ length: 94 }, (_, i) => `name-${i}`);
    const [low, high] = ['\x01', '\x80']; // buckets 1 and 128 of 256, 1 and 0 of 128
    const at = (names: string[], name: string) => hashMapOrder(names).indexOf(name);
    const fits = [...filler, low, high];
    expect(fits).toHaveLength(96);
    expect(at(fits, high)).toBeLessThan(at(fits, low));
    expect(at([...fits, 'one more'], high)).toBeGreaterThan(at([...fits, 'one more'], low));
  });
});
