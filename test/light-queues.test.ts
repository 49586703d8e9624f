// Light queues: one offset per queue and message, no gap, no duplicate, whatever the message says.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Message, MessageStore } from '../lib/index.ts';
import { freshDirectories, logFile } from './support/files.ts';
import { failureOf, lightQueuesOf, messagesOf, quiet, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });
const to = (lmq: string[], rest: Partial<Message> = {}): Message => ({
  topic: 't',
  body: lmq.join(),
  lmq,
  ...rest,
});

/** Opens the directory with its light-queue index made anew from the log. */
async function rebuilt(options: object = {}): Promise<MessageStore> {
  rmSync(path.join(dir, 'lmq'), { recursive: true });
  return openWith(options);
}

describe('a message in several queues', () => {
  it('has an offset of its own in each, which its record tells', async () => {
    await using store = await openWith();
    const lists = [['a'], ['a', 'b'], ['b', 'c'], ['c', 'a'], ['a', 'b', 'c']];
    const offsets = lists.map((names) => store.append(to(names)).lmqOffsets);
    expect(offsets).toEqual([[0], [1, 0], [1, 0], [1, 2], [3, 2, 2]]);
    const [last] = store.lmq('c').read(2).messages;
    expect(last).toMatchObject({
      offset: 2,
      queueOffset: 4,
      topic: 't',
      lmq: ['%LMQ%a', '%LMQ%b', '%LMQ%c'],
      lmqOffsets: [3, 2, 2],
      properties: {
        INNER_MULTI_DISPATCH: '%LMQ%a,%LMQ%b,%LMQ%c',
        INNER_MULTI_QUEUE_OFFSET: '3,2,2',
      },
    });
    expect(textsOf(store.lmq('a'))).toEqual(['a', 'a,b', 'c,a', 'a,b,c']);
  });

  it('is one record, read through any of them', async () => {
    await using store = await openWith();
    const { physicalOffset } = store.append(to(['a', 'b'], { queueId: 3 }));
    for (const queue of [store.lmq('a'), store.lmq('%LMQ%b'), store.queue('t', 3)]) {
      expect(messagesOf(queue).map((one) => one.physicalOffset)).toEqual([physicalOffset]);
    }
    expect(store.queue('%LMQ%a').maxOffset).toBe(1);
    expect(store.queues()).toHaveLength(1);
  });

  it('is there once where a name is given twice', async () => {
    await using store = await openWith();
    for (const at of [0, 1, 2]) {
      expect(store.append(to(['a', 'b', '%LMQ%a', 'a'])).lmqOffsets).toEqual([at, at, at, at]);
    }
    expect(store.lmq('a').maxOffset).toBe(3);
    const [first] = store.lmq('a').read(0).messages;
    expect(first!.properties).toMatchObject({
      INNER_MULTI_DISPATCH: '%LMQ%a,%LMQ%b,%LMQ%a,%LMQ%a',
      INNER_MULTI_QUEUE_OFFSET: '0,0,0,0',
    });
  });

  it('leaves the numbering of its own queue as it is', async () => {
    {
      await using store = await openWith();
      for (let i = 0; i < 3; i++) store.append({ topic: 't', body: '' });
      expect(store.append(to(['a'])).queueOffset).toBe(3);
    }
    rmSync(path.join(dir, 'consumequeue'), { recursive: true });
    await using store = await openWith();
    expect([store.queue('t').maxOffset, store.lmq('a').maxOffset]).toEqual([4, 1]);
    expect(messagesOf(store.queue('t')).map((one) => one.queueOffset)).toEqual([0, 1, 2, 3]);
  });
});

describe('offsets', () => {
  it('are contiguous over topics and queue ids', async () => {
    await using store = await openWith({ mappedFileSizeConsumeQueue: 20_000 });
    const offsets: number[] = [];
    for (let i = 0; i < 2000; i++) {
      const message = to(['x'], { topic: i % 3 === 0 ? 'one' : 'two', queueId: i % 4 });
      offsets.push(store.append(message).lmqOffsets[0]!);
    }
    expect(offsets).toEqual([...Array(2000).keys()]);
    const found = messagesOf(store.lmq('x'));
    expect(found.map((one) => one.offset)).toEqual(offsets);
    expect(found.map((one) => one.lmqOffsets[0])).toEqual(offsets);
  });

  it('rise by one over every border of a file', async () => {
    {
      await using store = await openWith({ mappedFileSizeCommitLog: 1024 });
      for (let i = 0; i < 300; i++) {
        // Of all lengths, so that every kind of rest is left behind at the end of a file.
        const result = store.append(to(['x', 'y'], { body: 'b'.repeat((i * 7) % 500) }));
        expect(result).toMatchObject({ queueOffset: i, lmqOffsets: [i, i] });
      }
      expect(readdirSync(path.join(dir, 'commitlog')).length).toBeGreaterThan(100);
    }
    await using store = await rebuilt({ mappedFileSizeCommitLog: 1024 });
    for (const name of ['x', 'y']) {
      const found = messagesOf(store.lmq(name));
      expect(found.map((one) => [one.offset, one.lmqOffsets])).toEqual(
        [...Array(300).keys()].map((i) => [i, [i, i]]),
      );
    }
  });

  it('belong to the names as they are at the call, also in an array that changes', async () => {
    await using store = await openWith();
    const names = ['a', 'b'];
    store.append(to(names));
    names[1] = 'c';
    store.append(to(names));
    names.push('a');
    expect(store.append(to(names)).lmqOffsets).toEqual([2, 1, 2]);
    expect(textsOf(store.lmq('b'))).toEqual(['a,b']);
    expect(textsOf(store.lmq('c'))).toEqual(['a,c', 'a,c,a']);
  });

  it('belong to every name of a long list, whichever of them changes', async () => {
    await using store = await openWith();
    const names = Array.from({ length: 100 }, (_, i) => `name-${i}`);
    for (let i = 0; i < names.length; i++) {
      store.append(to(names, { body: '' }));
      names[i] = `other-${i}`;
      expect(store.append(to(names, { body: '' })).lmqOffsets[i]).toBe(0);
    }
  });

  it('are those of more lists than are remembered', async () => {
    await using store = await openWith({ mappedFileSizeCommitLog: 8 << 20 });
    const next = new Map<string, number>();
    for (let i = 0; i < 18_000; i++) {
      const names = [`n${i % 9000}`, `n${(i % 9000) + 1}`];
      expect(store.append(to(names)).lmqOffsets).toEqual(names.map((name) => next.get(name) ?? 0));
      for (const name of names) next.set(name, (next.get(name) ?? 0) + 1);
    }
    for (const [name, count] of next) expect(store.lmq(name).maxOffset).toBe(count);
  });

  it('of any message in a long queue lead to it', async () => {
    await using store = await openWith({ mappedFileSizeCommitLog: 16 << 20 });
    const queue = store.lmq('long');
    for (let i = 0; i < 20_000; i++) store.append(to(['long', `n${i % 7}`], { body: String(i) }));
    for (let i = 0; i < 20_000; i += 37) {
      expect(queue.read(i, { maxMessages: 1 }).messages.map((one) => one.text())).toEqual([`${i}`]);
    }
    expect(queue.read(20_000)).toMatchObject({ status: 'OFFSET_OVERFLOW_ONE', messages: [] });
  });
});

describe('lists of light queues', () => {
  it('have a queue from its first message on, in the order of creation', async () => {
    await using store = await openWith();
    expect(store.lmqs()).toEqual({ names: [] });
    store.append(to(['user-z']));
    expect(store.lmqs({ prefix: 'user-' }).names).toEqual(['%LMQ%user-z']);
    store.append(to(['other', 'user-a']));
    expect(store.lmqs({ prefix: '%LMQ%user' }).names).toEqual(['%LMQ%user-z', '%LMQ%user-a']);
    expect(store.lmqs({ prefix: 'nobody' })).toEqual({ names: [] });
  });

  it('come in pages that stay right while queues are made', async () => {
    await using store = await openWith();
    for (let i = 0; i < 10; i++) store.append(to([`n${i}`]));
    const first = store.lmqs({ limit: 4 });
    for (let i = 10; i < 12; i++) store.append(to([`n${i}`]));
    expect(first.names).toHaveLength(4);
    const second = store.lmqs({ limit: 4, cursor: first.cursor });
    const third = store.lmqs({ limit: 4, cursor: second.cursor });
    expect([...first.names, ...second.names, ...third.names]).toEqual(
      Array.from({ length: 12 }, (_, i) => `%LMQ%n${i}`),
    );
    expect(third.cursor).toBeUndefined();
  });

  it('have every name as it was given, in any script and length', async () => {
    const names = [
      'ключ',
      '数据',
      '🔑',
      'a b',
      '%',
      '%LMQ',
      '~',
      '..a',
      'x'.repeat(250),
      'é'.repeat(125),
    ];
    {
      await using store = await openWith();
      for (const name of names) store.append(to([name]));
    }
    for (const open of [openWith, rebuilt]) {
      await using store = await open();
      expect(store.lmqs().names).toEqual(names.map((name) => `%LMQ%${name}`));
      for (const name of names) expect(textsOf(store.lmq(name))).toEqual([name]);
    }
  });

  it('are refused where what is asked makes no sense', async () => {
    await using store = await openWith();
    expect(failureOf(() => store.lmqs({ cursor: 'x' }))).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(failureOf(() => store.lmqs({ limit: -1 }))).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(failureOf(() => store.lmqs({ prefix: 1 as never }))).toBe(
      'TypeError STORE_INVALID_ARGUMENT',
    );
    expect(failureOf(() => store.lmq('a/b'))).toBe('RangeError STORE_INVALID_LMQ_NAME');
    expect(store.lmqs({ cursor: '1000000' })).toEqual({ names: [] });
  });
});

describe('messages that stay out of light queues', () => {
  const TOPICS = [
    '%RETRY%g',
    '%DLQ%g',
    'rmq_sys_x',
    'SCHEDULE_TOPIC_XXXX',
    'RMQ_SYS_TRANS_HALF_TOPIC',
  ];

  it('are those of topics for retries, delays and the like, also in a rebuilt index', async () => {
    {
      await using store = await openWith();
      store.append(to(['x']));
      for (const topic of TOPICS) {
        expect(store.append(to(['x', 'new'], { topic })).lmqOffsets).toEqual([]);
        const rawProperties = 'INNER_MULTI_DISPATCH\x01%LMQ%x\x02INNER_MULTI_QUEUE_OFFSET\x015\x02';
        store.append({ topic, body: '', rawProperties });
        expect(store.queue(topic).maxOffset).toBe(2);
        expect(messagesOf(store.queue(topic))[0]!.lmq).toEqual([]);
      }
      expect(store.append(to(['x'])).lmqOffsets).toEqual([1]);
    }
    await using store = await rebuilt();
    expect(store.lmqs().names).toEqual(['%LMQ%x']);
    expect(textsOf(store.lmq('x'))).toEqual(['x', 'x']);
  });

  it('are prepared and rolled-back ones, also in a rebuilt index', async () => {
    {
      await using store = await openWith();
      store.append(to(['x'], { transaction: 'prepared' }));
      store.append(to(['x', 'y'], { transaction: 'rollback' }));
      expect(store.append(to(['x'], { transaction: 'commit' })).lmqOffsets).toEqual([0]);
    }
    await using store = await rebuilt();
    expect(store.lmqs().names).toEqual(['%LMQ%x']);
    expect(store.lmq('x').maxOffset).toBe(1);
  });

  it('are all of a store without light queues, which refuses names', async () => {
    await using store = await openWith({ enableLmq: false });
    expect(failureOf(() => store.append(to(['x'])))).toBe('RangeError STORE_INVALID_MESSAGE');
    const properties = { INNER_MULTI_DISPATCH: '%LMQ%x', INNER_MULTI_QUEUE_OFFSET: '3' };
    const raw = Object.entries(properties).map(([name, value]) => `${name}\x01${value}\x02`);
    store.append({ topic: 't', body: '', rawProperties: raw.join('') });
    store.append({ topic: 't', body: '', properties: { INNER_MULTI_DISPATCH: '%LMQ%x' } });
    expect(store.lmqs().names).toEqual([]);
    expect(store.queue('t').maxOffset).toBe(2);
  });

  it.each<[string, Partial<Message>]>([
    ['no names', { lmq: [] }],
    ['no properties', { properties: {} }],
    ['an empty list', { rawProperties: 'INNER_MULTI_DISPATCH\x01\x02' }],
    ['a blank list', { properties: { INNER_MULTI_DISPATCH: '   ' } }],
  ])('are ordinary ones: those with %s', async (_, rest) => {
    await using store = await openWith();
    expect(store.append({ topic: 't', body: 'b', ...rest }).lmqOffsets).toEqual([]);
    const [found] = store.queue('t').read(0).messages;
    expect(found!.properties).not.toHaveProperty('INNER_MULTI_QUEUE_OFFSET');
    expect(store.lmqs().names).toEqual([]);
  });
});

describe("a list in Java's form", () => {
  const listed = (list: string, more = ''): Message => ({
    topic: 't',
    body: list,
    rawProperties: `INNER_MULTI_DISPATCH\x01${list}\x02${more}`,
  });

  it.each([
    ['%LMQ%a', '0', 'a'],
    ['%LMQ%a,,', '0', 'a'],
    ['%LMQ%a,%LMQ%b', '0,0', 'a b'],
    ['%LMQ%b,a', '0,', 'b'],
    ['a,%LMQ%b', ',0', 'b'],
    [',%LMQ%b', ',0', 'b'],
    ['%LMQ%a,,%LMQ%b,,', '0,,0', 'a b'],
    [' %LMQ%a,%lmq%b,%LMQ%c', ',,0', 'c'],
    ['%LMQ%a,%LMQ%a', '0,0', 'a'],
    ['a,b', ',', ''],
    ['a', '', ''],
  ])('%j has the offsets %j and goes to %j, also when rebuilt', async (list, offsets, names) => {
    const queues = names.split(' ').filter(Boolean);
    {
      await using store = await openWith();
      const { physicalOffset, size } = store.append(listed(list));
      const record = readFileSync(logFile(dir)).subarray(physicalOffset, physicalOffset + size);
      expect(record.toString('latin1')).toContain(
        `INNER_MULTI_DISPATCH\x01${list}\x02INNER_MULTI_QUEUE_OFFSET\x01${offsets}\x02`,
      );
      store.append(to(['z', ...queues]));
    }
    for (const open of [openWith, rebuilt]) {
      await using store = await open();
      expect(store.lmqs().names.sort()).toEqual([...queues, 'z'].map((name) => `%LMQ%${name}`));
      for (const name of queues) {
        expect(messagesOf(store.lmq(name)).map((one) => one.queueOffset)).toEqual([0, 1]);
      }
    }
  });

  it('is not believed about offsets that came along', async () => {
    {
      await using store = await openWith();
      store.append(to(['a']));
      const own = 'INNER_MULTI_QUEUE_OFFSET\x01';
      store.append(listed('%LMQ%a', `${own}77\x02k\x01v\x02${own}99\x02`));
      const found = store.lmq('a').read(1).messages[0]!;
      expect(found.properties).toMatchObject({ INNER_MULTI_QUEUE_OFFSET: '1', k: 'v' });
      expect(found.rawProperties.toString().split('QUEUE_OFFSET')).toHaveLength(2);
    }
    await using store = await rebuilt();
    expect(store.lmq('a').maxOffset).toBe(2);
  });

  it('is refused beside lmq', async () => {
    await using store = await openWith();
    const message = { ...listed('%LMQ%a'), lmq: ['b'] };
    expect(failureOf(() => store.append(message))).toBe('RangeError STORE_INVALID_MESSAGE');
    expect(store.lmqs().names).toEqual([]);
  });
});

describe('twenty thousand light queues', () => {
  const COUNT = 20_000;
  const isHeld = (target: string) => target.includes(dir);
  const handles = () => readdirSync('/proc/self/fd').length;
  const mappings = () => readFileSync('/proc/self/maps', 'utf8').split('\n').filter(isHeld).length;

  it('cost a handful of files, handles and mappings, and all are there when reopened', async () => {
    const options = { mappedFileSizeCommitLog: 16 << 20, mappedFileSizeConsumeQueue: 6_000_000 };
    {
      await using store = await openWith(options);
      for (let i = 0; i < COUNT; i++) store.append(to([`user-${i}`], { body: String(i) }));
      expect(handles()).toBeLessThan(200);
      expect(mappings()).toBeLessThan(50);
    }
    expect(readdirSync(dir, { recursive: true }).length).toBeLessThan(50);
    for (const open of [openWith, rebuilt]) {
      await using store = await open(options);
      expect(lightQueuesOf(store)).toHaveLength(COUNT);
      expect(lightQueuesOf(store, { prefix: 'user-19999' })).toEqual(['%LMQ%user-19999']);
      for (let i = 0; i < COUNT; i += 7) {
        const { messages, maxOffset } = store.lmq(`user-${i}`).read(0);
        expect([maxOffset, messages[0]!.text()]).toEqual([1, String(i)]);
      }
      expect(handles()).toBeLessThan(200);
      expect(mappings()).toBeLessThan(50);
    }
  });
});
