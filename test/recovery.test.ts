// Opening after a kill: the whole records are kept, nothing else is, and nothing that was cut comes back.
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AppendResult, type Message, MessageStore } from '../lib/index.ts';
import {
  contentOf,
  flipBit,
  freshDirectories,
  logFile,
  overwrite,
  queueFile,
} from './support/files.ts';
import { abandon, messagesOf, quiet, rejectionOf, textsOf } from './support/stores.ts';

const fresh = freshDirectories();

interface Killed {
  dir: string;
  results: AppendResult[];
}

/** What a kill leaves of a store with these messages; with `synced`, the log is known to be on disk. */
async function killed(
  messages: Message[],
  { synced = false, ...options }: { synced?: boolean; [name: string]: unknown } = {},
): Promise<Killed> {
  const from = fresh('living');
  await using store = await MessageStore.open({ path: from, ...quiet, ...options });
  const results = messages.map((message) => store.append(message));
  if (synced) await store.put(messages.at(-1)!);
  return { dir: abandon(from, fresh('killed')), results };
}

const message = (i: number, size = 100, rest: Partial<Message> = {}): Message => ({
  topic: 't',
  body: `${i}`.padEnd(size, '.'),
  tags: 'tag',
  keys: 'key',
  lmq: ['x', 'y'],
  ...rest,
});
const messages = (count: number, size?: number) =>
  Array.from({ length: count }, (_, i) => message(i, size));

/** The numbers of the messages in a store, which must be the same in each of its queues. */
function numbersIn(store: MessageStore): number[] {
  const of = [store.queue('t'), store.lmq('x'), store.lmq('y')].map((queue) => {
    const found = messagesOf(queue);
    expect(found.map((one) => one.offset)).toEqual(found.map((_, i) => i));
    expect(found.map((one) => one.queueOffset)).toEqual(found.map((_, i) => i));
    return found.map((one) => Number.parseInt(one.text(), 10));
  });
  expect(of[1]).toEqual(of[0]);
  expect(of[2]).toEqual(of[0]);
  return of[0]!;
}

/** Opens, looks, and leaves the directory as a kill would, in a copy. */
async function again(
  where: string,
  look: (store: MessageStore) => void | Promise<void> = () => {},
  options: object = {},
): Promise<string> {
  await using store = await MessageStore.open({ path: where, ...options });
  await look(store);
  return abandon(where, fresh('again'));
}

const range = (count: number) => [...Array(count).keys()];
const logOf = (where: string, base = 0) => readFileSync(logFile(where, base));

describe('a torn record at the end', () => {
  it('is cut wherever it is torn; the whole ones before it stay', async () => {
    const { dir: source, results } = await killed(messages(3, 10));
    const { physicalOffset, size } = results[2]!;
    const whole = logOf(source).subarray(physicalOffset, physicalOffset + size);
    for (let kept = 1; kept < size; kept++) {
      overwrite(
        logFile(source),
        physicalOffset,
        Buffer.concat([whole.subarray(0, kept), Buffer.alloc(size - kept)]),
      );
      if (kept % 17 !== 1 && kept > 8 && kept < size - 25) continue;
      const where = abandon(source, fresh());
      await using store = await MessageStore.open(where);
      expect([kept, numbersIn(store)]).toEqual([kept, [0, 1]]);
      expect(store.recovery.logEnd).toBe(physicalOffset);
      const last = whole.subarray(0, kept).findLastIndex((byte) => byte !== 0);
      expect(store.recovery.cut?.bytes ?? 0).toBe(last + 1);
    }
  });

  it('may be as short as you like: an append goes exactly to its place', async () => {
    const { dir: source, results } = await killed(messages(2));
    const { physicalOffset, size } = results[1]!;
    flipBit(logFile(source), physicalOffset + size - 1);
    const where = await again(source, (store) => {
      expect(store.append(message(7, 3))).toMatchObject({
        physicalOffset,
        queueOffset: 1,
        lmqOffsets: [1, 1],
      });
    });
    await again(where, (store) => expect(numbersIn(store)).toEqual([0, 7]));
  });

  it.each([true, false])(
    'is seen by its properties, with a checksum (%s) or without',
    async (crc) => {
      const { dir: source, results } = await killed(messages(2), { enabledAppendPropCRC: crc });
      const { physicalOffset, size } = results[1]!;
      const record = logOf(source).subarray(physicalOffset, physicalOffset + size);
      const properties = size - record.indexOf('KEYS');
      overwrite(logFile(source), physicalOffset + size - properties, Buffer.alloc(properties));
      await again(source, (store) => {
        expect(numbersIn(store)).toEqual([0]);
        expect(store.append(message(1)).physicalOffset).toBe(physicalOffset);
      });
    },
  );

  it('is kept in cut/, byte for byte, and told of', async () => {
    const { dir: source, results } = await killed(messages(3));
    const { physicalOffset, size } = results[1]!;
    flipBit(logFile(source), physicalOffset + 90);
    const bytes = logOf(source).subarray(physicalOffset, physicalOffset + 2 * size);
    const lines: string[] = [];
    const logger = { warn: (line: string) => void lines.push(line) };
    await again(
      source,
      ({ recovery }) => {
        expect(recovery).toMatchObject({ clean: false, logEnd: physicalOffset });
        expect(recovery.cut).toMatchObject({ from: physicalOffset, bytes: 2 * size });
        expect(recovery.cut!.verdict).not.toBe('');
        const { savedTo } = recovery.cut!;
        expect(path.dirname(savedTo!)).toBe(path.join(source, 'cut'));
        expect(readFileSync(savedTo!).equals(bytes)).toBe(true);
        expect(
          logOf(source)
            .subarray(physicalOffset)
            .every((byte) => byte === 0),
        ).toBe(true);
      },
      { logger },
    );
    expect(lines).toEqual([expect.stringContaining(`${2 * size} bytes`)]);
  });

  it('leaves a cut of before in cut/ untouched', async () => {
    let where = (await killed(messages(1))).dir;
    for (let round = 0; round < 3; round++) {
      let at = 0;
      where = await again(where, (store) => {
        at = store.append(message(9)).physicalOffset;
      });
      flipBit(logFile(where), at + 90);
      // The append may have been synced by then.
      const options = { repair: 'truncate' };
      where = await again(where, (store) => expect(numbersIn(store)).toEqual([0]), options);
      expect(readdirSync(path.join(where, 'cut'))).toHaveLength(round + 1);
    }
  });
});

describe('what was cut never comes back', () => {
  it('although whole records lay behind it, and the place is filled to the byte', async () => {
    const { dir: source, results } = await killed(messages(3, 64));
    flipBit(logFile(source), results[1]!.physicalOffset + 90);
    await again(source, (store) => expect(numbersIn(store)).toEqual([0]));
    {
      await using store = await MessageStore.open(source);
      expect(store.recovery.clean).toBe(true);
      expect(numbersIn(store)).toEqual([0]);
    }
    const where = await again(source, (store) => {
      expect(store.append(message(3, 64))).toMatchObject({
        physicalOffset: results[1]!.physicalOffset,
        size: results[1]!.size,
      });
    });
    await again(where, (store) => expect(numbersIn(store)).toEqual([0, 3]));
  });

  it('in later files either: they are gone', async () => {
    const { dir: source, results } = await killed(messages(12), { mappedFileSizeCommitLog: 1024 });
    flipBit(logFile(source), results[1]!.physicalOffset + 90);
    const where = await again(source, (store) => {
      expect(numbersIn(store)).toEqual([0]);
      expect(readdirSync(path.join(source, 'commitlog'))).toHaveLength(1);
      expect(readdirSync(path.join(source, 'cut')).length).toBeGreaterThan(3);
      for (let i = 1; i < 9; i++) store.append(message(i));
    });
    await again(where, (store) => expect(numbersIn(store)).toEqual(range(9)));
  });

  it('in the queues: their entries are trimmed with the log, twice over', async () => {
    const { dir: source, results } = await killed(messages(10));
    const cut = (where: string, at: number) =>
      overwrite(logFile(where), at, Buffer.alloc(logOf(where).length - at));
    cut(source, results[7]!.physicalOffset);
    let end = 0;
    const where = await again(source, (store) => {
      expect(numbersIn(store)).toEqual(range(7));
      for (let i = 7; i < 12; i++) end = store.append(message(i)).physicalOffset;
    });
    cut(where, end);
    // The appends may have been synced by then.
    const options = { repair: 'truncate' };
    await again(where, (store) => expect(numbersIn(store)).toEqual(range(11)), options);
  });
});

describe('the end of the log', () => {
  it('is that of the last record, to the byte, each time', async () => {
    let { dir: where } = await killed([]);
    for (let end = 0, i = 0; i < 5; i++) {
      where = await again(where, (store) => {
        const { physicalOffset, size } = store.append(message(i, 1));
        expect(physicalOffset).toBe(end);
        end += size;
        expect(numbersIn(store)).toEqual(range(i + 1));
      });
    }
  });

  it('may be that of its file: an empty next one, of zeros or without length, is used or passed', async () => {
    const options = { mappedFileSizeCommitLog: 4096 };
    const { dir: source, results } = await killed(messages(15), options);
    const inFirst = results.filter((one) => one.physicalOffset < 4096).length;
    const end = results[inFirst - 1]!.physicalOffset + results[inFirst - 1]!.size;
    const blank = Buffer.alloc(8);
    blank.writeUInt32BE(4096 - end);
    blank.writeUInt32BE(0xcbd43194, 4);
    for (const lengths of [[4096], [0], [0, 0], [4096, 0]]) {
      const where = abandon(source, fresh());
      overwrite(logFile(where), end, blank);
      for (const [i, length] of lengths.entries()) {
        writeFileSync(logFile(where, 4096 * (i + 1)), Buffer.alloc(length));
      }
      const next = await again(where, (store) => {
        expect(numbersIn(store)).toEqual(range(inFirst));
        expect(store.append(message(inFirst)).physicalOffset).toBe(4096);
      });
      await again(next, (store) => expect(numbersIn(store)).toEqual(range(inFirst + 1)));
    }
  });

  it('in a file that is full but for its blank record is followed by the next file', async () => {
    const options = { mappedFileSizeCommitLog: 1024, enabledAppendPropCRC: false };
    const sized = (size: number) => ({ topic: 't', body: 'x'.repeat(size - 92) });
    const { dir: source } = await killed([sized(300), sized(300), sized(300)], options);
    const where = await again(
      source,
      (store) => {
        expect(store.append(sized(300)).physicalOffset).toBe(1024);
        expect(logOf(source).toString('hex', 900, 908)).toBe('0000007ccbd43194');
      },
      { enabledAppendPropCRC: false },
    );
    await again(where, (store) => expect(messagesOf(store.queue('t'))).toHaveLength(4));
  });
});

describe('damage below what is known to be on disk', () => {
  /** Files of 1024 bytes, all synced, damaged in the first. */
  async function corrupt(): Promise<Killed> {
    const made = await killed(messages(12), { mappedFileSizeCommitLog: 1024, synced: true });
    flipBit(logFile(made.dir), made.results[1]!.physicalOffset + 90);
    return made;
  }

  it('is refused by name, with file and offset, and nothing changes', async () => {
    const { dir: where, results } = await corrupt();
    const before = contentOf(where);
    for (let i = 0; i < 2; i++) {
      await expect(MessageStore.open(where)).rejects.toMatchObject({
        code: 'STORE_CORRUPT_LOG',
        path: logFile(where),
        offset: results[1]!.physicalOffset,
        hint: expect.stringContaining('repair'),
      });
      expect(contentOf(where)).toEqual(before);
    }
  });

  it('is cut where repair is asked for, and all that is cut is kept', async () => {
    const { dir: where, results } = await corrupt();
    const files = readdirSync(path.join(where, 'commitlog'));
    const next = await again(
      where,
      (store) => {
        expect(numbersIn(store)).toEqual([0]);
        expect(store.recovery.cut).toMatchObject({ from: results[1]!.physicalOffset });
        expect(readdirSync(path.join(where, 'cut'))).toHaveLength(files.length);
        store.append(message(1));
      },
      { repair: 'truncate' },
    );
    await again(next, (store) => expect(numbersIn(store)).toEqual([0, 1]));
  });

  it('is a log that ends too early, too', async () => {
    const { dir: where, results } = await killed(messages(3), { synced: true });
    const { physicalOffset } = results[2]!;
    overwrite(logFile(where), physicalOffset, Buffer.alloc(4096));
    expect(await rejectionOf(MessageStore.open(where))).toBe('StoreError STORE_CORRUPT_LOG');
    await again(where, (store) => expect(numbersIn(store)).toEqual([0, 1]), { repair: 'truncate' });
  });
});

describe('a log with files amiss', () => {
  const options = { mappedFileSizeCommitLog: 1024, synced: true };
  const refused = async (where: string, code: string, rest: object = {}) => {
    const before = contentOf(where);
    await expect(MessageStore.open(where)).rejects.toMatchObject({ code, ...rest });
    expect(contentOf(where)).toEqual(before);
  };

  it('or without any, while queues exist, is refused and leaves the queues alone', async () => {
    const { dir: where } = await killed(messages(12), options);
    for (const name of readdirSync(path.join(where, 'commitlog'))) {
      copyFileSync(logFile(where, Number(name)), path.join(where, name));
    }
    for (const name of readdirSync(path.join(where, 'commitlog'))) {
      truncateSync(logFile(where, Number(name)), 0);
    }
    await refused(where, 'STORE_LOG_MISSING');
    await again(
      where,
      (store) => {
        expect(numbersIn(store)).toEqual([]);
        expect(store.append(message(0))).toMatchObject({ physicalOffset: 0, queueOffset: 0 });
        expect(existsSync(queueFile(where, 't'))).toBe(true);
      },
      { repair: 'truncate' },
    );
  });

  it.each([0, 1, 2])(
    'of which number %i is too short is refused by the name of that file',
    async (i) => {
      const { dir: where } = await killed(messages(12), options);
      truncateSync(logFile(where, 1024 * i), 1000);
      await refused(where, 'STORE_FILE_SIZE', { path: logFile(where, 1024 * i) });
    },
  );

  it('reads around strange names', async () => {
    const { dir: where } = await killed(messages(12), options);
    for (const name of ['.DS_Store', 'x.bak', '1024', '0000000000000001024', 'lost+found']) {
      writeFileSync(path.join(where, 'commitlog', name), 'not a log');
    }
    await again(where, (store) => {
      expect(textsOf(store.queue('t'))).toHaveLength(13);
      expect(existsSync(path.join(where, 'commitlog', 'x.bak'))).toBe(true);
    });
  });
});
