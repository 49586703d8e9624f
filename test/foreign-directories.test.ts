// Directories that a broker made and may still be writing: read as they are, and nothing in them changes.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { countKinds, kindOf } from '../lib/cli/file-kinds.ts';
import { MessageStore, type StoredMessage, type StoreReader } from '../lib/index.ts';
import { BROKER, unpack, workDirectory } from './golden-support/stores.ts';
import { json, run } from './support/cli.ts';
import { logFile, nameOfFile, overwrite, treeOf } from './support/files.ts';
import { lightQueuesOf, messagesOf, quiet, rejectionOf } from './support/stores.ts';

/** Files of a 5.x broker that no golden store has; what is in them does not matter to anybody here. */
const BROKER_FILES = [
  'abort.bak',
  'brokerIdentity',
  'epochFileCheckpoint',
  'timerwheel',
  `timerlog/${nameOfFile(0)}`,
  'config/timercheck',
  'config/timermetrics',
  'config/timermetrics.bak',
  'config/transactionMetrics',
  ...[
    'topics',
    'subscriptionGroup',
    'consumerOffset',
    'lmqConsumerOffset',
    'delayOffset',
    'consumerFilter',
    'consumerOrderInfo',
    'topicQueueMapping',
    'messageRequestMode',
  ].flatMap((name) => [`config/${name}.json`, `config/${name}.json.bak`]),
  'config/rdb/CURRENT',
  'config/topics/CURRENT',
  'rocksdbstore/CURRENT',
  'compaction/position-checkpoint',
  `compaction/compactionLog/t/0/${nameOfFile(0)}`,
  `compaction/compactionCq/t/0/${nameOfFile(0)}`,
  `consumequeue_ext/t/0/${nameOfFile(0)}`,
  `batchconsumequeue/other/0/${nameOfFile(0)}`,
];

function add(dir: string, files: readonly string[]): void {
  for (const name of files) {
    const file = path.join(dir, name);
    if (existsSync(file)) continue;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, name.includes('.json') ? '{}' : Buffer.alloc(460));
  }
}

/** The consume queues of a broker with storeType=defaultRocksDB, as far as anybody looks. */
function useRocksDb(dir: string): void {
  rmSync(path.join(dir, 'consumequeue'), { recursive: true });
  const files = ['CURRENT', 'IDENTITY', 'LOCK', 'LOG', 'MANIFEST-000004', 'OPTIONS-000007'];
  add(path.join(dir, 'consumequeue'), [...files, '000012.sst', '000015.log']);
}

function allOf(reader: StoreReader): Record<string, string[]> {
  const topics = reader.queues().map(({ topic, queueId }) => reader.queue(topic, queueId));
  const all = [...topics, ...lightQueuesOf(reader).map((name) => reader.lmq(name))];
  return Object.fromEntries(
    all.map((queue) => [
      `${queue.topic}:${queue.queueId}`,
      messagesOf(queue).map((one) => `${one.offset} ${one.physicalOffset}`),
    ]),
  );
}

/** Everything that a reader can be asked. */
async function askAll(dir: string): Promise<void> {
  const reader = await MessageStore.openReader(dir);
  for (const { topic, queueId } of reader.queues()) {
    const queue = reader.queue(topic, queueId);
    for (const one of messagesOf(queue)) reader.getById(one.msgId);
    await queue.readAsync(queue.minOffset);
    await queue.offsetAt(0);
  }
  for (const name of lightQueuesOf(reader)) messagesOf(reader.lmq(name));
  const controller = new AbortController();
  const waiting = reader.lmq('nobody').follow({ from: 'end', signal: controller.signal }).next();
  controller.abort('seen');
  await expect(waiting).rejects.toBe('seen');
  for await (const _ of reader.verify());
  reader.topics();
  await reader.close();
}

const KINDS: Record<string, () => string> = {
  'of a whole broker': () => unpack(BROKER),
  'with every file that a 5.x broker can leave': () => {
    const dir = unpack('lmq-simple');
    add(dir, BROKER_FILES);
    return dir;
  },
  'with consume queues in RocksDB': () => {
    const dir = unpack('lmq-simple');
    useRocksDb(dir);
    return dir;
  },
  'with consume queue extensions': () => unpack('cq-ext'),
  'with batch consume queues': () => unpack('inner-batch'),
  'that was killed': () => unpack('killed'),
  'whose old files have expired': () => unpack('expired'),
  'with a torn tail': () => unpack('torn-garbage'),
  'with damage far back': () => unpack('torn-early'),
  'without consume queues': () => unpack('queues-missing'),
  'without a log': () => unpack('log-missing'),
  'with a log file of another length': () => unpack('wrong-size'),
  'with odd files': () => unpack('extra-files'),
};

describe.each(Object.entries(KINDS))('a directory %s', (_, make) => {
  it('is not changed by a reader or by a command: no byte, mode, time or file', async () => {
    const dir = make();
    const before = treeOf(dir);
    await askAll(dir);
    expect(treeOf(dir)).toEqual(before);
    const queue = json('queues', dir).values[0]?.queue ?? 't:0';
    // Whatever each answers: some have damage to report.
    for (const command of [
      ['inspect', dir],
      ['cat', dir, queue],
      ['verify', dir],
    ]) {
      expect([0, 1]).toContain(run(...command).code);
    }
    expect(treeOf(dir)).toEqual(before);
  });
});

describe('consume queues in RocksDB', () => {
  it('are recognised: the log is read, with every queue that it tells of, and a note says so', async () => {
    const dir = unpack('lmq-simple');
    const plain = await MessageStore.openReader(dir);
    const expected = allOf(plain);
    // The index files of the store are smaller than any that is known without options.
    const notesOf = ({ recovery }: StoreReader) =>
      recovery.notes.filter(({ path: at = '' }) => !at.startsWith(path.join(dir, 'index')));
    expect(notesOf(plain)).toEqual([]);
    await plain.close();
    expect(Object.keys(expected).filter((name) => name.startsWith('%LMQ%')).length).toBeGreaterThan(
      1,
    );
    useRocksDb(dir);
    const reader = await MessageStore.openReader(dir);
    expect(notesOf(reader)).toMatchObject([
      { code: 'STORE_UNSUPPORTED', path: path.join(dir, 'consumequeue') },
    ]);
    expect(allOf(reader)).toEqual(expected);
    await reader.close();
    const { code, values } = json('inspect', dir);
    expect(code).toBe(0);
    expect(values[0].notes).toContainEqual(expect.objectContaining({ code: 'STORE_UNSUPPORTED' }));
    expect(values[0].kinds).toContainEqual(
      expect.objectContaining({ kind: 'consume queues in RocksDB', files: 8, use: 'left alone' }),
    );
    expect(run('inspect', dir).out).toMatch(/note +STORE_UNSUPPORTED: .*RocksDB/);
  });

  it('are not written to: a directory with them is not taken over', async () => {
    const dir = unpack('lmq-simple');
    useRocksDb(dir);
    const before = treeOf(dir);
    for (const adopt of [true, false]) {
      const opened = MessageStore.open({ path: dir, adopt });
      expect(await rejectionOf(opened)).toBe('StoreError STORE_UNSUPPORTED');
    }
    expect(treeOf(dir)).toEqual(before);
  });

  it('are told from a topic of such a name', async () => {
    const dir = workDirectory('names');
    const store = await MessageStore.open({ path: dir, ...quiet });
    store.append({ topic: 'CURRENT', body: 'x' });
    await store.close();
    await using reader = await MessageStore.openReader(dir);
    expect(reader.recovery.notes).toEqual([]);
    expect(reader.queue('CURRENT').read(0).messages).toHaveLength(1);
  });
});

describe('files of a broker that are none of ours', () => {
  it('are left alone when the directory is taken over and written', async () => {
    const dir = unpack('lmq-simple');
    add(dir, BROKER_FILES);
    const theirs = () => treeOf(dir).filter((line) => BROKER_FILES.includes(line.split(' ')[0]!));
    const before = theirs();
    expect(before).toHaveLength(BROKER_FILES.length);
    const store = await MessageStore.open({ path: dir, adopt: true });
    store.append({ topic: 't', body: 'x', lmq: ['mine'] });
    await store.close();
    await MessageStore.rebuild(dir, { consumeQueues: true });
    expect(theirs()).toEqual(before);
  });

  it('are all known by what they are', () => {
    for (const name of BROKER_FILES) expect(kindOf(name).kind, name).not.toBe('unknown');
    const dir = unpack(BROKER);
    const { kinds } = json('inspect', dir).values[0];
    const names = kinds.map(({ kind }: { kind: string }) => kind);
    expect(names).toEqual(expect.arrayContaining(['timer', 'compaction', 'RocksDB']));
    expect(names).not.toContain('unknown');
    for (const name of ['commitlog/x', 'config/mine.json', 'note.txt', 'index/1', 'lmqx/a']) {
      expect(kindOf(name).kind, name).toBe('unknown');
    }
    expect(
      countKinds([
        { path: 'a', size: 1 },
        { path: 'b', size: 2 },
      ]),
    ).toEqual([{ kind: 'unknown', use: 'left alone', files: 2, bytes: 3 }]);
  });
});

describe('a reader beside a broker', () => {
  const FILE = 4096;

  /** The records of a store in the order of the log. */
  async function recordsOf(dir: string): Promise<StoredMessage[]> {
    await using reader = await MessageStore.openReader(dir);
    const all = reader
      .queues()
      .flatMap(({ topic, queueId }) => messagesOf(reader.queue(topic, queueId)));
    return all.sort((a, b) => a.physicalOffset - b.physicalOffset);
  }

  /** A directory in which the broker of `full` has just begun; what it does next, step by step. */
  function brokerOf(full: string, dir: string) {
    mkdirSync(path.join(dir, 'commitlog'), { recursive: true });
    mkdirSync(path.join(dir, 'consumequeue'));
    const bytes = (base: number) => readFileSync(logFile(full, base));
    return {
      /** Stores a record; the file before gets its end. */
      log({ physicalOffset, size }: StoredMessage): void {
        const base = Math.floor(physicalOffset / FILE) * FILE;
        const file = logFile(dir, base);
        if (!existsSync(file)) {
          if (base > 0) overwrite(logFile(dir, base - FILE), 0, bytes(base - FILE));
          writeFileSync(file, '');
          truncateSync(file, FILE);
        }
        const at = physicalOffset - base;
        overwrite(file, at, bytes(base).subarray(at, at + size));
      },
      /** Dispatches all records below `end`: units in topic queues and in directories of light queues. */
      dispatch(end: number): void {
        const from = path.join(full, 'consumequeue');
        for (const name of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
          const source = path.join(from, name);
          if (!statSync(source).isFile()) continue;
          const units = readFileSync(source);
          for (let at = 0; at < units.length; at += 20) {
            if (units.readBigInt64BE(at) >= BigInt(end)) units.fill(0, at, at + 20);
          }
          if (units.every((byte) => byte === 0)) continue;
          const target = path.join(dir, 'consumequeue', name);
          mkdirSync(path.dirname(target), { recursive: true });
          if (existsSync(target)) overwrite(target, 0, units);
          else cpSync(source, target);
          overwrite(target, 0, units);
        }
      },
    };
  }

  it('follows it live: records before their units, over borders of files, in every queue', async () => {
    const full = unpack('roll');
    const records = await recordsOf(full);
    expect(records.at(-1)!.physicalOffset).toBeGreaterThan(2 * FILE);
    const dir = workDirectory('live');
    const broker = brokerOf(full, dir);
    broker.log(records[0]!);
    await using reader = await MessageStore.openReader({ path: dir, followInterval: 1 });
    const names = new Set(records.map(({ topic, queueId }) => `${topic}:${queueId}`));
    const seen: number[] = [];
    const following = [...names].map(async (name) => {
      const [topic = '', id] = name.split(':');
      const wanted = records.filter((one) => one.topic === topic && one.queueId === Number(id));
      let count = 0;
      for await (const { messages } of reader.queue(topic, Number(id)).follow({ from: 0 })) {
        seen.push(...messages.map((one) => one.physicalOffset));
        count += messages.length;
        if (count >= wanted.length) break;
      }
    });
    for (const [i, record] of records.entries()) {
      if (i > 0) broker.log(record);
      // The broker dispatches later, and not after each record.
      if (i % 5 === 4) broker.dispatch(records[i - 2]!.physicalOffset);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(following);
    expect(seen.sort((a, b) => a - b)).toEqual(records.map((one) => one.physicalOffset));
    broker.dispatch(Number.MAX_SAFE_INTEGER);
    await using whole = await MessageStore.openReader(full);
    expect(allOf(reader)).toEqual(allOf(whole));
    expect(lightQueuesOf(reader).length).toBeGreaterThan(0);
  });
});
