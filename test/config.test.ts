import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MessageStoreOptions, resolveConfig } from '../lib/config.ts';
import { isStoreError } from '../lib/errors.ts';
import { formatHost, parseHost } from '../lib/host.ts';
import { OPTIONS } from '../lib/options.ts';

const config = (options: Partial<MessageStoreOptions> = {}) =>
  resolveConfig({ path: '/data', ...options }, false);

function refusal(given: unknown): unknown {
  try {
    resolveConfig(given as MessageStoreOptions, false);
  } catch (error) {
    const known = isStoreError(error, 'STORE_INVALID_ARGUMENT');
    return known ? `${error.constructor.name}: ${error.message}` : error;
  }
  return 'accepted';
}

describe('defaults', () => {
  it('are what the documentation says', () => {
    expect(config()).toMatchObject({
      maxMessageSize: 4194304,
      enabledAppendPropCRC: true,
      enableLmq: true,
      enableMultiDispatch: true,
      flushDiskType: 'ASYNC_FLUSH',
      flushIntervalCommitLog: 500,
      prepareAheadBytes: 16777216,
      maxPendingPutBytes: 67108864,
      maxLmqConsumeQueueNum: 0,
      topicLength: 255,
      propertyOrder: 'given',
      readMode: 'map',
      verify: true,
      adopt: false,
      commitLogRecoverMaxNum: 0,
      maxCheckMessageReuseBufferSize: 4259840,
      followInterval: 10,
    });
    expect(config().repair).toBeUndefined();
    expect(formatHost(config().storeHost.address, config().storeHost.port)).toBe('127.0.0.1:10911');
  });

  it('of file sizes are told apart from sizes that are given', () => {
    expect(config().native).toMatchObject({
      mappedFileSizeCommitLog: 0,
      mappedFileSizeConsumeQueue: 0,
      defaultCommitLogSize: 134217728,
      defaultConsumeQueueSize: 6000000,
    });
    const given = config({ mappedFileSizeCommitLog: 4096, mappedFileSizeConsumeQueue: 6_000_000 });
    expect(given.native.mappedFileSizeCommitLog).toBe(4096);
    expect(given.native.mappedFileSizeConsumeQueue).toBe(6000000);
  });

  it('stand for options that are undefined', () => {
    expect(config({ verify: undefined, topicLength: undefined })).toEqual(config());
  });

  it('keep their own rules', () => {
    for (const [name, option] of Object.entries(OPTIONS)) {
      if (option.initial === undefined) continue;
      expect(option.accepts(option.initial as never), name).toBe(true);
      expect(typeof option.initial, name).toBe(option.type);
    }
  });
});

describe('native gets complete values', () => {
  it('with nothing left out', () => {
    for (const [name, value] of Object.entries(config().native)) {
      expect(value, name).not.toBeUndefined();
    }
    expect(resolveConfig('/data', true).native.readOnly).toBe(true);
    expect(config().native.readOnly).toBe(false);
  });

  it('with an absolute path', () => {
    expect(resolveConfig('data', false).native.path).toBe(path.resolve('data'));
  });

  it('with consume queue files of whole units', () => {
    for (const [given, whole] of [
      [20, 20],
      [21, 40],
      [99, 100],
      [2147483640, 2147483640],
    ] as const) {
      const { native } = config({ mappedFileSizeConsumeQueue: given });
      expect(native.mappedFileSizeConsumeQueue).toBe(whole);
    }
  });

  it('with delay levels in milliseconds', () => {
    const { delayLevels } = config().native;
    expect(delayLevels).toHaveLength(18);
    expect(delayLevels.slice(0, 5)).toEqual([1000, 5000, 10000, 30000, 60000]);
    expect(delayLevels.at(-1)).toBe(7200000);
    expect(config({ messageDelayLevel: ' 1s  2d ' }).native.delayLevels).toEqual([1000, 172800000]);
  });

  it('with options in its own words', () => {
    const { native } = config({
      repair: 'truncate',
      flushDiskType: 'SYNC_FLUSH',
      readMode: 'pread',
      storeHost: '[2001:db8::ff]:10',
    });
    expect(native).toMatchObject({ repair: true, syncFlush: true, positionalReads: true });
    expect(native.storeAddress).toHaveLength(16);
    expect(native.storePort).toBe(10);
  });
});

describe('options are refused', () => {
  it('where they are unknown', () => {
    expect(refusal({ path: '/data', maxMesageSize: 1 })).toMatch(/^RangeError.*maxMesageSize/);
    expect(refusal({ path: '/data', fileReservedTimes: 72 })).toMatch(/^RangeError/);
    expect(refusal({ path: '/data', constructor: 1 })).toMatch(/^RangeError/);
  });

  it('where they have the wrong type', () => {
    for (const [name, option] of Object.entries(OPTIONS)) {
      for (const value of [null, 5, 'x', true, Symbol('x'), () => 0, {}, []]) {
        if (typeof value === option.type) continue;
        expect(refusal({ path: '/data', [name]: value }), name).toMatch(
          new RegExp(`^TypeError: ${name} must be `),
        );
      }
    }
  });

  it('where they are out of bounds', () => {
    const wrong: Record<string, unknown[]> = {
      mappedFileSizeCommitLog: [0, 1023, 2 ** 31, 1024.5, Number.NaN, Number.POSITIVE_INFINITY],
      mappedFileSizeConsumeQueue: [0, 19, 2147483641],
      maxMessageSize: [9, -1, 2147483647],
      maxPendingPutBytes: [0, 2 ** 53],
      flushIntervalCommitLog: [0],
      accessMessageInMemoryMaxRatio: [101, -1],
      topicLength: [128, 0],
      propertyOrder: ['java', ''],
      flushDiskType: ['sync', 'async_flush'],
      repair: ['yes', ''],
      messageDelayLevel: ['', 'soon', '1', '1s5s', '-1s', '1w'],
      logger: [{ info: 'x' }, null],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        expect(refusal({ path: '/data', [name]: value }), `${name}: ${value}`).toMatch(
          new RegExp(`^(Range|Type)Error: ${name} must be `),
        );
      }
    }
  });

  it('where there is no path', () => {
    for (const given of [undefined, null, 5, {}, { path: 5 }]) {
      expect(refusal(given)).toMatch(/^TypeError/);
    }
    for (const given of ['', 'a\0b', { path: '' }]) expect(refusal(given)).toMatch(/^RangeError/);
  });
});

describe('a host', () => {
  const parse = (text: unknown) => parseHost(text, 'bornHost', 'STORE_INVALID_MESSAGE');
  const again = (text: string) => formatHost(parse(text).address, parse(text).port);

  it('is read and written in one way', () => {
    expect([...parse('10.1.2.3:1234').address]).toEqual([10, 1, 2, 3]);
    for (const text of ['0.0.0.0:0', '255.255.255.255:65535', '[::]:1', '[::1]:10911']) {
      expect(again(text)).toBe(text);
    }
    expect(again('[2001:DB8:0:0:0:0:0:1]:5')).toBe('[2001:db8::1]:5');
    expect(again('[1:2:3:4:5:6:7:8]:9')).toBe('[1:2:3:4:5:6:7:8]:9');
    expect(parse('[fe80::1]:65535').address).toHaveLength(16);
  });

  it('in IPv6 dress is the IPv4 host it is, as in Java', () => {
    expect(again('[::ffff:1.2.3.4]:6')).toBe('1.2.3.4:6');
    expect(again('[::ffff:0102:0304]:6')).toBe('1.2.3.4:6');
    expect(again('[::1.2.3.4]:6'), 'not mapped').toBe('[::102:304]:6');
  });

  it('is refused where it is none', () => {
    const wrong = [
      '',
      'localhost:1',
      '1.2.3.4',
      '1.2.3:4',
      '1.2.3.4:',
      '1.2.3.4:65536',
      '1.2.3.4:-1',
    ];
    wrong.push('01.2.3.4:5', '256.1.1.1:1', '::1:80', '[::1]', '[::g]:1', '[]:1', '[1.2.3.4]:5');
    wrong.push('[fe80::1%eth0]:1', '[::1]x:1', '1.2.3.4:5 ', ' 1.2.3.4:5', '[::1/]:1');
    for (const text of wrong) expect(() => parse(text), text).toThrow(RangeError);
    for (const value of [undefined, 5, null]) expect(() => parse(value)).toThrow(TypeError);
    expect(() => config({ storeHost: 'localhost:10911' })).toThrow(RangeError);
  });
});
