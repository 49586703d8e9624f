// RocketMQ's files of consumer offsets: read as it writes them, written as it reads them.
import { describe, expect, it } from 'vitest';
import type { ConsumerOffset } from '../lib/consumer-offset-json.ts';
import { ConsumerOffsetParser, parseConsumerOffsets } from '../lib/consumer-offset-parser.ts';
import { offsetFiles } from './support/offsets.ts';

const offsets: ConsumerOffset[] = [
  { group: 'g1', topic: 'orders', queueId: 0, offset: 10 },
  { group: 'g1', topic: 'orders', queueId: 1, offset: 5 },
  { group: 'g1', topic: '%LMQ%alice', queueId: 0, offset: 33 },
  { group: '%LMQ%g2', topic: '%LMQ%alice', queueId: 0, offset: 44 },
];

const sorted = (list: readonly ConsumerOffset[]) =>
  list.map(({ group, topic, queueId, offset }) => `${group} ${topic} ${queueId} ${offset}`).sort();

describe('the files of consumer offsets', () => {
  it('have what a broker reads, groups named like light queues in a table of their own', () => {
    const { consumerOffset, lmqConsumerOffset } = offsetFiles(offsets, 7);
    const dataVersion = { counter: 1, stateVersion: 0, timestamp: 7 };
    const offsetTable = { 'orders@g1': { 0: 10, 1: 5 }, '%LMQ%alice@g1': { 0: 33 } };
    expect(JSON.parse(consumerOffset)).toEqual({ dataVersion, offsetTable });
    expect(JSON.parse(lmqConsumerOffset)).toEqual({
      dataVersion,
      offsetTable,
      lmqOffsetTable: { '%LMQ%alice@%LMQ%g2': 44 },
    });
  });

  it('are read with integer keys that have no quotes, spaced as a broker does', () => {
    const json = `{
\t"dataVersion":{"counter":3},
\t"groupTopicMap":{"g1":["orders"]},
\t"lmqOffsetTable":{"%LMQ%alice@%LMQ%g2":44\n\t},
\t"offsetTable":{"orders@g1":{0:10,\n\t\t1 : 5},"%LMQ%alice@g1":{\n0:33}},
\t"pullOffsetTable":{"orders@p":{0:1}}
}`;
    expect(sorted(parseConsumerOffsets(json))).toEqual(sorted(offsets));
  });

  it('keep what looks like such a key inside a string', () => {
    const json = String.raw`{"offsetTable":{"a{0:\"{1:@g,2:":{0:1}}}`;
    expect(parseConsumerOffsets(json)).toEqual([
      { topic: 'a{0:"{1:', group: 'g,2:', queueId: 0, offset: 1 },
    ]);
  });

  it('may be empty', () => {
    expect(parseConsumerOffsets('{}')).toEqual([]);
    expect(parseConsumerOffsets('{"offsetTable":{"a@g":{}},"lmqOffsetTable":null}')).toEqual([]);
    expect(parseConsumerOffsets(offsetFiles([]).lmqConsumerOffset)).toEqual([]);
  });

  it.each([
    '',
    'null',
    '[]',
    '{"offsetTable":{"a@g":{0:1}',
    '{"offsetTable":[1]}',
    '{"offsetTable":{"a@g":1}}',
    '{"offsetTable":{"a":{0:1}}}',
    '{"offsetTable":{"@g":{0:1}}}',
    '{"offsetTable":{"a@g":{0:-1}}}',
    '{"offsetTable":{"a@g":{-1:1}}}',
    '{"offsetTable":{"a@g":{2147483648:1}}}',
    '{"offsetTable":{"a@g":{0:1.5}}}',
    '{"offsetTable":{"a@g":{0:"1"}}}',
    '{"offsetTable":{"a@g":{0:1e3}}}',
    '{"offsetTable":{"a@g":{0:0x10}}}',
    '{"offsetTable":{"a@g":{0:null}}}',
    '{"offsetTable":{"a@g":{0:{}}}}',
    '{"offsetTable":{"a@g":{0:1}}}}',
    '{"offsetTable":{"a@g":{0:1,}}}',
    '{"offsetTable":{"a@g":{0 1}}}',
    '{"offsetTable":{"a@g":{0:1}}} and more',
    '{"offsetTable":{"a@g":{0:1}}\0',
    '{"offsetTable":{"a\0@g":{0:1}}}',
    String.raw`{"offsetTable":{"a\x@g":{0:1}}}`,
    '{"other":[1,2}',
    '{"other":tru}',
    '{"other":"text',
    `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
    '\uFEFF{}',
    '{"lmqOffsetTable":{"%LMQ%a@%LMQ%g":{}}}',
  ])('are refused as a whole where they are damaged: %s', (json) => {
    expect(() => parseConsumerOffsets(json)).toThrow(SyntaxError);
  });

  it('may have offsets beyond ours: the largest that is exact stands for them', () => {
    const most = Number.MAX_SAFE_INTEGER;
    for (const number of ['9007199254740992', '9223372036854775807', '9'.repeat(400)]) {
      const [found] = parseConsumerOffsets(`{"offsetTable":{"a@g":{0:${number}}}}`);
      expect(found!.offset, number).toBe(most);
    }
  });

  it('give what else they hold as it stands', () => {
    const parser = new ConsumerOffsetParser(
      '{"pullOffsetTable":{"a@p":{0: 1}} ,"x":[[],{},"}",-1.5e3],"offsetTable":{},"y":null,"dataVersion":{}}',
    );
    while (!parser.step(1));
    expect([...parser.rest]).toEqual([
      ['pullOffsetTable', '{"a@p":{0: 1}}'],
      ['x', '[[],{},"}",-1.5e3]'],
      ['y', 'null'],
    ]);
  });

  it('cut off anywhere are refused, and never read in part', () => {
    const text = offsetFiles(offsets).lmqConsumerOffset.trim();
    for (let size = 0; size < text.length; size++) {
      expect(() => parseConsumerOffsets(text.slice(0, size)), `${size}`).toThrow(SyntaxError);
    }
    expect(parseConsumerOffsets(text)).toHaveLength(offsets.length);
  });

  it('come back as they were written', () => {
    const names = ['a', '"', '\\', '{0:1', 'müller', '你好', '\n', '\u2028', '__proto__', '0'];
    const list = names.flatMap((name, i) => [
      { group: `g${name}`, topic: name, queueId: i, offset: i },
      { group: name, topic: `%LMQ%${name}`, queueId: 0, offset: Number.MAX_SAFE_INTEGER - i },
      { group: `%LMQ%${name}`, topic: name, queueId: 0, offset: i },
    ]);
    const { consumerOffset, lmqConsumerOffset } = offsetFiles(list, 7, 3);
    expect(sorted(parseConsumerOffsets(lmqConsumerOffset))).toEqual(sorted(list));
    const others = list.filter(({ group }) => !group.startsWith('%LMQ%'));
    expect(sorted(parseConsumerOffsets(consumerOffset))).toEqual(sorted(others));
  });
});
