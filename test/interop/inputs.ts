// Generated sessions: what both stores are given. Only what both take alike; where we decide otherwise
// than RocketMQ is the matter of test/golden-support/deviations.ts.
import { randomInt } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import type { BatchPut, Put } from '../golden-support/puts.ts';

export type Step = Put | BatchPut;

/** Options that both stores know by the same names. */
export interface Shape {
  readonly mappedFileSizeCommitLog: number;
  readonly mappedFileSizeConsumeQueue: number;
  readonly enabledAppendPropCRC: boolean;
  /** Small: what is not looked at must not cost 420 MB. */
  readonly maxHashSlotNum: number;
  readonly maxIndexNum: number;
}

const { LMQ_TEST_SEED = String(randomInt(2 ** 31)) } = process.env;
/** Of everything that is generated; LMQ_TEST_SEED sets it. */
export const SEED = Number(LMQ_TEST_SEED);

export const shapes: fc.Arbitrary<Shape> = fc.record({
  mappedFileSizeCommitLog: fc.constantFrom(4096, 10_000, 1 << 20),
  mappedFileSizeConsumeQueue: fc.constantFrom(100, 2000),
  enabledAppendPropCRC: fc.boolean(),
  maxHashSlotNum: fc.constantFrom(7, 64),
  maxIndexNum: fc.constantFrom(40, 512),
});

const PREPARED = 4;
const COMMIT = 8;
const ROLLBACK = 12;
const COMPRESSED = 1;
const ZLIB = 0x300;
const SCHEDULE = 'SCHEDULE_TOPIC_XXXX';
const DELAY_LEVELS = 18;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the separators of the stored form
const SEPARATORS = /[\x01\x02]/g;
const text = (maxLength: number) =>
  fc
    .oneof(fc.string({ maxLength }), fc.string({ unit: 'grapheme', maxLength }))
    .map((given) => given.replace(SEPARATORS, ''));
const uniqueKey = fc.oneof(
  fc.stringMatching(/^[0-9A-F]{32}$/),
  // Given to several messages, and a key of others as well.
  fc.constantFrom('0A0B0C0D', 'key-7'),
);
const key = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }).map((n) => `key-${n}`) },
  // Of one hash, beyond ASCII and beyond 16 bits, and what stands between two spaces: no key.
  { weight: 2, arbitrary: fc.constantFrom('Aa', 'BB', 'AaBB', 'BBAa', '鍵', '😀', '') },
  { weight: 1, arbitrary: uniqueKey },
);
const lightName = fc.constantFrom('alice', 'bob', 'room%1', '好', 'd'.repeat(60), 'e f');

/** Names that mean nothing to either store, then those that do. */
const pairs = fc.record({
  others: fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,12}$/), text(30)), {
    maxLength: 3,
    selector: ([name]) => name,
  }),
  keys: fc.array(key, { maxLength: 5 }),
  tags: fc.option(fc.constantFrom('red', 'blue', 'TagA', '標')),
  uniqueKey: fc.option(uniqueKey),
  light: fc.uniqueArray(lightName, { maxLength: 4 }),
});
type Pairs = typeof pairs extends fc.Arbitrary<infer T> ? T : never;

/** In stored form. Half messages are in no light queue here. */
function stored(
  { others, keys, tags, uniqueKey, light }: Pairs,
  more: readonly string[][],
): string {
  const list = light.map((name) => `%LMQ%${name}`).join(',');
  const all = [
    ...others,
    ...(keys.length > 0 ? [['KEYS', keys.join(' ')]] : []),
    ...(tags === null ? [] : [['TAGS', tags]]),
    ...(uniqueKey === null ? [] : [['UNIQ_KEY', uniqueKey]]),
    ...(list === '' ? [] : [['INNER_MULTI_DISPATCH', list]]),
    ...more,
  ];
  return all.map(([name, value]) => `${name}\x01${value}\x02`).join('');
}

const body = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.uint8Array({ minLength: 300, maxLength: 700 }),
);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const bornHost = fc.constantFrom('10.1.2.3:1234', '192.168.0.9:65535', '[2001:db8::7]:40000');
const storeHost = fc.constantFrom('127.0.0.1:10911', '127.0.0.1:10911', '[fe80::1]:10911');

const common = fc.record({
  topic: fc.constantFrom('orders', 'orders', 'chat', '話題', 't'.repeat(127)),
  queueId: fc.integer({ min: 0, max: 2 }),
  reconsumeTimes: fc.integer({ min: 0, max: 3 }),
  bornTimestamp: fc.integer({ min: 1_600_000_000_000, max: 1_700_000_000_000 }),
  bornHost,
  storeHost,
});
const flag = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

const plain = fc.tuple(common, pairs, body, flag).map(([given, named, bytes, flag]): Put => {
  return { op: 'put', ...given, flag, body: hex(bytes), properties: stored(named, []) };
});
const compressed = fc.tuple(plain, body).map(([given, bytes]): Put => {
  return { ...given, body: hex(deflateSync(bytes)), sysFlag: COMPRESSED | ZLIB };
});
const transaction = fc
  .tuple(common, pairs, body, flag, fc.constantFrom(PREPARED, COMMIT, ROLLBACK), fc.nat(10_000))
  .map(([given, named, bytes, flag, sysFlag, preparedTransactionOffset]): Put => {
    const light = sysFlag === COMMIT ? named.light : [];
    const properties = stored({ ...named, light }, [['TRAN_MSG', 'true']]);
    return {
      ...{ op: 'put', ...given, flag, body: hex(bytes), properties },
      ...{ sysFlag, preparedTransactionOffset },
    };
  });
const delayed = fc
  .tuple(common, pairs, body, fc.integer({ min: 1, max: DELAY_LEVELS }))
  .map(([given, named, bytes, level]): Put => {
    const properties = stored({ ...named, light: [] }, [
      ['DELAY', String(level)],
      ['REAL_TOPIC', given.topic],
      ['REAL_QID', String(given.queueId)],
    ]);
    return {
      ...{ op: 'put', ...given, topic: SCHEDULE, queueId: level - 1 },
      ...{ body: hex(bytes), properties },
    };
  });
const part = fc
  .tuple(pairs, fc.uint8Array({ maxLength: 300 }), flag)
  .map(([named, bytes, flag]) => {
    return { body: hex(bytes), properties: stored({ ...named, light: [] }, []), flag };
  });
const batch = fc
  .tuple(common, fc.array(part, { minLength: 1, maxLength: 4 }))
  .map(([given, messages]): BatchPut => ({ op: 'batch', ...given, messages }));

/** One message or batch after the other. */
export function sessions(maxLength = 80): fc.Arbitrary<Step[]> {
  const step = fc.oneof(
    { weight: 8, arbitrary: plain },
    { weight: 2, arbitrary: compressed },
    { weight: 3, arbitrary: transaction },
    { weight: 1, arbitrary: delayed },
    { weight: 2, arbitrary: batch },
  );
  return fc.array(step, { minLength: 1, maxLength, size: 'max' });
}
