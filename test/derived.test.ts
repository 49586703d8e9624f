// What can be made again from the log is made again: queues, the light-queue index, checkpoints. A
// store answers the same whichever of their files is missing or damaged.
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MessageStore, type StoreReader } from '../lib/index.ts';
import { contentOf, flipBit, freshDirectories, overwrite, queueFile } from './support/files.ts';
import { abandon, lightQueuesOf, messagesOf, quiet, rejectionOf } from './support/stores.ts';

const fresh = freshDirectories();

/** Everything that a store answers, by queue. */
function answers(store: StoreReader): Record<string, string[]> {
  const queues = store.queues().map(({ topic, queueId }) => store.queue(topic, queueId));
  const all = [...queues, ...lightQueuesOf(store).map((name) => store.lmq(name))];
  return Object.fromEntries(
    all.map((queue) => [
      `${queue.topic}:${queue.queueId}`,
      messagesOf(queue).map((one) => `${one.offset} ${one.queueOffset} ${one.text()}`),
    ]),
  );
}

const sizes = { mappedFileSizeCommitLog: 16 << 10, mappedFileSizeConsumeQueue: 1000 };
const COUNT = 400;
const made = { closed: '', killed: '' };
let expected: Record<string, string[]> = {};

beforeAll(async () => {
  made.closed = fresh('made');
  const store = await open(made.closed);
  for (let i = 0; i < COUNT; i++) {
    store.append({
      topic: i % 5 === 0 ? 'other' : 't',
      queueId: i % 2,
      body: String(i),
      lmq: ['all', `n${i % 7}`, `only-${i}`],
      ...(i % 11 === 0 ? { transaction: 'prepared' } : {}),
    });
    // A part of the queues and of the index is on disk, and our checkpoint says so.
    if (i === COUNT / 2) await store.flush();
  }
  expected = answers(store);
  made.killed = abandon(made.closed, fresh('killed'));
  await store.close();
});

type State = keyof typeof made;
const STATES: State[] = ['closed', 'killed'];

const open = (dir: string, options: object = {}) =>
  MessageStore.open({ path: dir, ...quiet, ...sizes, ...options });

/** Spoils a copy and opens it, twice: the answers are those of before, and new messages fit on. */
async function survives(state: State, spoil: (dir: string) => void, options: object = {}) {
  const dir = abandon(made[state], fresh(state));
  spoil(dir);
  const first = await open(dir, options);
  expect(answers(first)).toEqual(expected);
  await first.close();
  const second = await open(dir);
  expect(answers(second)).toEqual(expected);
  const { lmqOffsets, queueOffset } = second.append({
    topic: 't',
    queueId: 1,
    body: '',
    lmq: ['all', 'n3', 'brand-new'],
  });
  const next = (queue: string) => expected[queue]!.length;
  expect(queueOffset).toBe(next('t:1'));
  expect(lmqOffsets).toEqual([next('%LMQ%all:0'), next('%LMQ%n3:0'), 0]);
  await second.close();
  rmSync(dir, { recursive: true });
  return first.recovery;
}

/** Ways to spoil a file. */
const SPOILS: [name: string, spoil: (file: string) => void][] = [
  ['missing', (file) => rmSync(file)],
  ['empty', (file) => truncateSync(file, 0)],
  ['cut in half', (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
  ['all zero', (file) => overwrite(file, 0, Buffer.alloc(Math.min(statSync(file).size, 1 << 20)))],
  [
    'all ones',
    (file) => overwrite(file, 0, Buffer.alloc(Math.min(statSync(file).size, 4096), 255)),
  ],
  ['flipped at its start', (file) => flipBit(file, 5)],
  ['flipped further on', (file) => flipBit(file, Math.min(100, statSync(file).size - 1))],
];

describe.each(STATES)('of a %s store', (state) => {
  const index = ['lmq/table', 'lmq/checkpoint', 'lmq/entries', 'lmq/names'];
  const inIndex = (dir: string, name: string) => {
    const full = path.join(dir, name);
    return statSync(full).isDirectory() ? path.join(full, readdirSync(full)[0]!) : full;
  };

  for (const name of index) {
    // A clean open does not read every entry: damage inside them is met later, see below.
    const inside = (spoil: string) => /ones|flipped/.test(spoil) && name === 'lmq/entries';
    const spoils = SPOILS.filter(([spoil]) => state === 'killed' || !inside(spoil));
    it.each(spoils)(`${name} may be %s`, async (_, spoil) => {
      await survives(state, (dir) => spoil(inIndex(dir, name)));
    });
  }

  it('the whole light-queue index may be missing, and its making is told of', async () => {
    const { lmqRebuilt, clean } = await survives(state, (dir) =>
      rmSync(path.join(dir, 'lmq'), { recursive: true }),
    );
    expect(lmqRebuilt).toMatch(/./);
    expect(clean).toBe(state === 'closed');
  });

  it('all queues may be missing, or one, or one file of one', async () => {
    const gone = (...names: string[]) =>
      survives(state, (dir) =>
        rmSync(path.join(dir, 'consumequeue', ...names), { recursive: true }),
      );
    await gone();
    await gone('t');
    await gone('other', '0');
    await gone('t', '1', '00000000000000002000');
    await gone('t', '1', readdirSync(path.join(made[state], 'consumequeue', 't', '1')).at(-1)!);
  });

  it.each(SPOILS.filter(([name]) => name === 'all zero' || name === 'empty'))(
    'the last file of a queue may be %s',
    async (_, spoil) => {
      await survives(state, (dir) => {
        const queue = path.join(dir, 'consumequeue', 't', '1');
        spoil(path.join(queue, readdirSync(queue).sort().at(-1)!));
      });
    },
  );

  it('the last file of a queue may hold a part of an entry behind the last', async () => {
    await survives(state, (dir) => {
      const queue = path.join(dir, 'consumequeue', 't', '1');
      const last = path.join(queue, readdirSync(queue).sort().at(-1)!);
      const end = readFileSync(last).findLastIndex((byte) => byte !== 0) + 1;
      overwrite(last, Math.ceil(end / 20) * 20, Buffer.alloc(7, 1));
    });
  });

  it.each(SPOILS)('RocketMQ’s checkpoint may be %s', async (_, spoil) => {
    await survives(state, (dir) => {
      const file = path.join(dir, 'checkpoint');
      if (!existsSync(file)) writeFileSync(file, Buffer.alloc(4096));
      spoil(file);
    });
  });

  it('both checkpoints may be missing, with or without the index', async () => {
    const both = (dir: string) => {
      rmSync(path.join(dir, 'checkpoint'), { force: true });
      rmSync(path.join(dir, 'lmq', 'checkpoint'));
    };
    await survives(state, both);
    await survives(state, (dir) => {
      both(dir);
      rmSync(path.join(dir, 'lmq'), { recursive: true });
      rmSync(path.join(dir, 'consumequeue'), { recursive: true });
    });
  });

  it('the marker that it is ours may not: the directory then counts as another’s', async () => {
    const dir = abandon(made[state], fresh());
    rmSync(path.join(dir, 'lmq-store.json'));
    const before = contentOf(dir);
    expect(await rejectionOf(open(dir))).toBe('StoreError STORE_FOREIGN_DIRECTORY');
    expect(contentOf(dir)).toEqual(before);
    await survives(state, (copy) => rmSync(path.join(copy, 'lmq-store.json')), { adopt: true });
  });

  it.each(['', '{}', 'not JSON', '{"format": 0}', '{"format": 1}'])(
    'a marker that says %j is refused, and nothing changes',
    async (text) => {
      const dir = abandon(made[state], fresh());
      writeFileSync(path.join(dir, 'lmq-store.json'), text);
      const before = contentOf(dir);
      await expect(open(dir)).rejects.toMatchObject({
        code: 'STORE_CORRUPT_FILE',
        path: path.join(dir, 'lmq-store.json'),
      });
      expect(contentOf(dir)).toEqual(before);
    },
  );

  it('a file of another length in a queue is refused by its name, and nothing changes', async () => {
    const dir = abandon(made[state], fresh());
    const file = queueFile(dir, 't', 1, 1000);
    truncateSync(file, 500);
    const before = contentOf(dir);
    await expect(open(dir)).rejects.toMatchObject({
      code: 'STORE_FILE_SIZE',
      path: file,
    });
    expect(contentOf(dir)).toEqual(before);
  });
});

describe('a closed store with damage inside its light-queue index', () => {
  it('refuses the reads that meet it, by the file, and answers all others rightly', async () => {
    const dir = abandon(made.closed, fresh());
    const entries = path.join(dir, 'lmq', 'entries', '00000000000000000000');
    for (let at = 48 * 150; at < 48 * 151; at += 5) flipBit(entries, at);
    {
      await using store = await open(dir);
      const names = lightQueuesOf(store);
      const refused = names.filter((name) => {
        try {
          const texts = messagesOf(store.lmq(name)).map((one) => one.text());
          expect(texts).toEqual(expected[`${name}:0`]!.map((line) => line.split(' ')[2]));
          return false;
        } catch (error) {
          expect(error).toMatchObject({ code: 'STORE_CORRUPT_FILE', path: entries });
          return true;
        }
      });
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.length).toBeLessThan(3);
    }
    // The next open for writing makes the index anew.
    await using store = await open(dir);
    expect(store.recovery.lmqRebuilt).toMatch(/./);
    expect(answers(store)).toEqual(expected);
  });
});

describe('a killed store', () => {
  it('any part of an entry of the index may be flipped', async () => {
    for (let at = 0; at < 48; at += 5) {
      await survives('killed', (dir) => {
        const entries = path.join(dir, 'lmq', 'entries', '00000000000000000000');
        flipBit(entries, 48 * 150 + at);
      });
    }
  });

  it('may have lost the mark that it was not closed', async () => {
    await survives('killed', (dir) => rmSync(path.join(dir, 'abort')));
  });

  it('may have older queues than its checkpoints say', async () => {
    const old = fresh('old');
    const dir = fresh('store');
    const store = await open(dir);
    const append = (count: number) => {
      for (let i = 0; i < count; i++) store.append({ topic: 't', body: `${i}`, lmq: ['x'] });
    };
    append(5);
    await store.flush();
    abandon(path.join(dir, 'consumequeue'), old);
    append(20);
    await store.flush();
    const killed = abandon(dir, fresh('killed'));
    await store.close();
    rmSync(path.join(killed, 'consumequeue'), { recursive: true });
    abandon(old, path.join(killed, 'consumequeue'));
    await using reopened = await open(killed);
    expect(messagesOf(reopened.queue('t')).map((one) => one.queueOffset)).toEqual([
      ...Array(25).keys(),
    ]);
    expect(reopened.lmq('x').maxOffset).toBe(25);
  });

  it('may have entries beyond the log, which go', async () => {
    const dir = abandon(made.killed, fresh());
    const unit = readFileSync(queueFile(dir, 't', 1)).subarray(0, 20);
    const later = Buffer.from(unit);
    later.writeBigInt64BE(1n << 40n, 0);
    const files = readdirSync(path.join(dir, 'consumequeue', 't', '1')).sort();
    const last = path.join(dir, 'consumequeue', 't', '1', files.at(-1)!);
    const end = readFileSync(last).findIndex((_, i, all) => all.subarray(i).every((b) => b === 0));
    overwrite(last, Math.ceil(end / 20) * 20, later);
    await using store = await open(dir);
    expect(answers(store)).toEqual(expected);
  });
});
