// Every limit: what lies on it is accepted, what lies past it is refused and leaves no trace.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Message, MessageStore, type StoreFailure } from '../lib/index.ts';
import { contentOf, freshDirectories } from './support/files.ts';
import { failureOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });

/** Appends what must be refused: the directory, the queues and the next offsets stay as they were. */
function refused(store: MessageStore, message: Message): string {
  const state = () => [store.queues(), store.lmqs(), store.lmq('x').maxOffset, contentOf(dir)];
  const before = state();
  const failure = failureOf(() => store.append(message));
  expect(state()).toEqual(before);
  return failure;
}

function errorOf(call: () => unknown): StoreFailure {
  try {
    call();
  } catch (error) {
    return error as StoreFailure;
  }
  throw new Error('It was accepted.');
}

describe('a body', () => {
  const MOST = 4096;
  const paths: [name: string, rest: Partial<Message>][] = [
    ['plain', {}],
    ['to light queues', { lmq: ['x', 'y'] }],
    ['with every field', { flag: 1, bornHost: '[::1]:1', lmq: ['x'] }],
    ['with stored properties', { rawProperties: 'a\x01b' }],
  ];

  it.each(paths)('%s may have maxMessageSize bytes, not one more', async (_, rest) => {
    await using store = await openWith({ maxMessageSize: MOST });
    const sized = (size: number): Message => ({ topic: 't', body: Buffer.alloc(size), ...rest });
    expect(refused(store, sized(MOST + 1))).toBe('RangeError STORE_BODY_TOO_LARGE');
    expect(store.append(sized(MOST))).toMatchObject({ physicalOffset: 0, queueOffset: 0 });
    expect(refused(store, sized(MOST + 1))).toBe('RangeError STORE_BODY_TOO_LARGE');
    const last = store.append(sized(0));
    expect(last.queueOffset).toBe(1);
    if (rest.lmq) expect(last.lmqOffsets).toEqual(rest.lmq.map(() => 1));
  });

  it('of text counts in bytes', async () => {
    await using store = await openWith({ maxMessageSize: MOST });
    expect(refused(store, { topic: 't', body: 'é'.repeat(MOST / 2 + 1) })).toBe(
      'RangeError STORE_BODY_TOO_LARGE',
    );
    store.append({ topic: 't', body: 'é'.repeat(MOST / 2) });
  });

  it('has its limit named in the error, with a hint', async () => {
    await using store = await openWith({ maxMessageSize: MOST });
    const error = errorOf(() => store.append({ topic: 't', body: Buffer.alloc(5000) }));
    expect(error).toMatchObject({ limit: MOST, hint: expect.stringContaining('maxMessageSize') });
    expect(error.message).not.toBe('');
  });
});

describe('a record', () => {
  const options = { mappedFileSizeCommitLog: 1024 };
  /** A record of so many bytes, with a checksum and a topic of one byte. */
  const sized = (size: number, rest: Partial<Message> = {}): Message => {
    const lists = rest.lmq ? '%LMQ%x'.length + 21 + 1 + 24 + 1 + 1 + 1 : 0;
    return { topic: 't', body: Buffer.alloc(size - 92 - 20 - lists), ...rest };
  };

  it('fits into a file with eight bytes to spare, or nowhere', async () => {
    await using store = await openWith(options);
    for (const rest of [{}, { lmq: ['x'] }]) {
      const offset = store.queue('t').maxOffset;
      expect(refused(store, sized(1017, rest))).toBe('RangeError STORE_RECORD_TOO_LARGE');
      const result = store.append(sized(1016, rest));
      expect(result).toMatchObject({ size: 1016, queueOffset: offset });
      expect(refused(store, sized(1017, rest))).toBe('RangeError STORE_RECORD_TOO_LARGE');
    }
    expect(store.lmq('x').maxOffset).toBe(1);
  });

  it('that is refused at the end of a file does not begin the next', async () => {
    await using store = await openWith(options);
    store.append(sized(900));
    expect(refused(store, sized(1017))).toBe('RangeError STORE_RECORD_TOO_LARGE');
    expect(store.append(sized(116)).physicalOffset).toBe(900);
  });
});

describe('properties', () => {
  const TOO_LARGE = 'RangeError STORE_PROPERTIES_TOO_LARGE';
  const text = (size: number) => 'x'.repeat(size);

  it.each<[name: string, options: object, largest: number, Partial<Message>]>([
    ['with the checksum', {}, 32_744, {}],
    ['without it', { enabledAppendPropCRC: false }, 32_764, {}],
    ['with two light queues', {}, 32_744 - 35 - 29, { lmq: ['x', 'y'] }],
    ['with a key and a tag', {}, 32_744 - 7 - 7, { keys: 'k', tags: 't' }],
    ['in a broker’s order', { propertyOrder: 'rocketmq' }, 32_744 - 28 - 27, { lmq: ['x'] }],
  ])('%s have 32767 bytes together', async (_, options, largest, rest) => {
    await using store = await openWith(options);
    const of = (size: number) => ({ topic: 't', body: '', properties: { a: text(size) }, ...rest });
    expect(refused(store, of(largest + 1))).toBe(TOO_LARGE);
    expect(refused(store, of(200_000))).toBe(TOO_LARGE);
    const { size } = store.append(of(largest));
    expect(size).toBe(92 + 32_767);
    const { a } = store.queue('t').read(0).messages[0]!.properties;
    expect(a).toHaveLength(largest);
    expect(refused(store, of(largest + 1))).toBe(TOO_LARGE);
  });

  it('in stored form count with the separator that they get', async () => {
    await using store = await openWith();
    const of = (size: number) => ({ topic: 't', body: '', rawProperties: `a\x01${text(size)}` });
    expect(refused(store, of(32_745))).toBe(TOO_LARGE);
    expect(store.append(of(32_744)).size).toBe(92 + 32_767);
  });

  it('grow with the digits of an offset: what fitted at offset 9 may not fit at 10', async () => {
    await using store = await openWith();
    const message = {
      topic: 't',
      body: '',
      properties: { a: text(32_744 - 28 - 27) },
      lmq: ['x'],
    };
    for (let i = 0; i < 10; i++) expect(store.append(message).lmqOffsets).toEqual([i]);
    expect(refused(store, message)).toBe(TOO_LARGE);
    const next = store.append({ ...message, properties: {} });
    expect(next).toMatchObject({ queueOffset: 10, lmqOffsets: [10] });
  });

  it('count in bytes, not in characters', async () => {
    await using store = await openWith();
    const of = (length: number) => ({
      topic: 't',
      body: '',
      properties: { a: '好'.repeat(length) },
    });
    expect(refused(store, of(10_915))).toBe(TOO_LARGE);
    store.append(of(10_914));
  });

  it('limit how many light queues one message can have, and none of too many is made', async () => {
    await using store = await openWith();
    const names = (count: number) => Array.from({ length: count }, (_, i) => `name-${i}`);
    expect(refused(store, { topic: 't', body: '', lmq: names(3000) })).toBe(TOO_LARGE);
    const { lmqOffsets } = store.append({ topic: 't', body: '', lmq: names(1500) });
    expect(lmqOffsets).toEqual(names(1500).map(() => 0));
    expect(store.lmq('name-1499').read(0).messages[0]!.lmq).toHaveLength(1500);
  });
});

describe('names', () => {
  const BAD_TOPIC = 'RangeError STORE_INVALID_TOPIC';
  const BAD_LMQ = 'RangeError STORE_INVALID_LMQ_NAME';
  const topic = (name: string): Message => ({ topic: name, body: '' });

  it('of topics have 255 bytes at most', async () => {
    await using store = await openWith();
    expect(refused(store, topic('a'.repeat(256)))).toBe(BAD_TOPIC);
    expect(refused(store, topic('好'.repeat(100)))).toBe(BAD_TOPIC);
    store.append(topic('a'.repeat(255)));
    store.append(topic('好'.repeat(85)));
    expect(store.topics()).toHaveLength(2);
  });

  it('of topics have 127 bytes where a broker’s limit is kept, but for retry topics', async () => {
    await using store = await openWith({ topicLength: 127 });
    expect(refused(store, topic('a'.repeat(128)))).toBe(BAD_TOPIC);
    expect(errorOf(() => store.append(topic('a'.repeat(128)))).limit).toBe(127);
    expect(refused(store, topic(`%RETRY%${'a'.repeat(249)}`))).toBe(BAD_TOPIC);
    store.append(topic('a'.repeat(127)));
    store.append(topic(`%RETRY%${'a'.repeat(248)}`));
  });

  it.each(['', '.', '..', 'a/b', '/', 'a\0b', '%LMQ%a', '%LMQ%'])(
    'no topic is %j',
    async (name) => {
      await using store = await openWith();
      expect(refused(store, topic(name))).toBe(BAD_TOPIC);
      expect(store.append(topic('t')).queueOffset).toBe(0);
    },
  );

  it.each([
    '',
    '%LMQ%',
    '.',
    '..',
    'a/b',
    'a,b',
    ',',
    'a\0',
    'a\n',
    '\x7f',
    '\ud800',
    'x'.repeat(251),
  ])('no light queue is %j, and those beside it in a message get nothing', async (name) => {
    await using store = await openWith();
    expect(refused(store, { topic: 't', body: '', lmq: ['x', name, 'z'] })).toBe(BAD_LMQ);
    const rawProperties = 'INNER_MULTI_DISPATCH\x01%LMQ%x,%LMQ%a/b\x02';
    expect(refused(store, { topic: 't', body: '', rawProperties })).toBe(BAD_LMQ);
    const { lmqOffsets } = store.append({ topic: 't', body: '', lmq: ['x', 'x'.repeat(250)] });
    expect(lmqOffsets).toEqual([0, 0]);
  });

  it.each([-1, 0.5, 2 ** 31, Number.NaN, Infinity])('no queue has the id %d', async (queueId) => {
    await using store = await openWith();
    const failure = 'RangeError STORE_INVALID_QUEUE_ID';
    expect(refused(store, { topic: 't', body: '', queueId })).toBe(failure);
    expect(failureOf(() => store.queue('t', queueId))).toBe(failure);
  });
});

describe('the number of light queues', () => {
  const LIMIT = 'StoreError STORE_LMQ_LIMIT';
  const to = (...lmq: string[]): Message => ({ topic: 't', body: '', lmq });

  it('is limited for new ones only, and a name counts once', async () => {
    await using store = await openWith({ maxLmqConsumeQueueNum: 3 });
    store.append(to('x', 'b'));
    expect(refused(store, to('x', 'c', 'd'))).toBe(LIMIT);
    expect(store.append(to('c', 'c', 'x')).lmqOffsets).toEqual([0, 0, 1]);
    expect(refused(store, to('d'))).toBe(LIMIT);
    expect(refused(store, to('x', 'd'))).toBe(LIMIT);
    expect(errorOf(() => store.append(to('d')))).toMatchObject({ limit: 3 });
    expect(store.append(to('x', 'b', 'c'))).toMatchObject({
      queueOffset: 2,
      lmqOffsets: [2, 1, 1],
    });
  });

  it('does not count messages that go to no queue', async () => {
    await using store = await openWith({ maxLmqConsumeQueueNum: 1 });
    store.append({ ...to('a', 'b'), transaction: 'prepared' });
    store.append({ ...to('a', 'b'), topic: '%RETRY%g' });
    expect(store.append(to('x')).lmqOffsets).toEqual([0]);
    expect(refused(store, to('a'))).toBe(LIMIT);
  });

  it('counts those of before, and never keeps a directory from opening or being rebuilt', async () => {
    {
      await using store = await openWith();
      store.append(to('x', 'b', 'c'));
    }
    {
      await using store = await openWith({ maxLmqConsumeQueueNum: 2 });
      expect(store.append(to('x', 'c')).lmqOffsets).toEqual([1, 1]);
      expect(refused(store, to('d'))).toBe(LIMIT);
    }
    await using store = await openWith({ maxLmqConsumeQueueNum: 4 });
    expect(store.append(to('d')).lmqOffsets).toEqual([0]);
    expect(refused(store, to('e'))).toBe(LIMIT);
  });
});

describe('a refused message', () => {
  it('uses up no offset, in no queue', async () => {
    await using store = await openWith({ maxMessageSize: 100 });
    const offsets: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      const message = { topic: 't', body: Buffer.alloc(i % 2 === 0 ? 100 : 101), lmq: ['x', 'y'] };
      try {
        const { queueOffset, lmqOffsets } = store.append(message);
        offsets.push([queueOffset, ...lmqOffsets]);
      } catch {
        offsets.push('refused');
      }
    }
    expect(offsets).toEqual([[0, 0, 0], 'refused', [1, 1, 1], 'refused', [2, 2, 2], 'refused']);
  });

  it('makes no topic, no queue and no light queue, also not for a reopened store', async () => {
    {
      await using store = await openWith({ maxMessageSize: 100 });
      const body = Buffer.alloc(101);
      refused(store, { topic: 'new', queueId: 7, body, lmq: ['new'] });
      refused(store, { topic: 'new', queueId: 7, body, flag: 1, lmq: ['new'] });
      expect(store.topics()).toEqual([]);
    }
    await using store = await openWith();
    expect([store.topics(), store.queues(), store.lmqs().names]).toEqual([[], [], []]);
  });

  it('is refused by put as by append, as a rejection', async () => {
    await using store = await openWith({ maxMessageSize: 100 });
    const before = contentOf(dir);
    await expect(store.put({ topic: 't', body: Buffer.alloc(101) })).rejects.toMatchObject({
      code: 'STORE_BODY_TOO_LARGE',
      limit: 100,
    });
    expect(contentOf(dir)).toEqual(before);
  });
});
