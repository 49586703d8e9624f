// What each command of the command line shows.
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { json, makeStores, run, treeOf, workDirectory } from './support/cli.ts';

const work = workDirectory();
let whole = '';
let unclean = '';
let copies = 0;

/** A copy of a store, to spoil. */
function copyOf(dir: string): string {
  const copy = path.join(work, `copy-${copies++}`);
  cpSync(dir, copy, { recursive: true });
  return copy;
}

const logFile = (dir: string) => path.join(dir, 'commitlog', '0'.repeat(20));

beforeAll(async () => {
  ({ whole, unclean } = await makeStores(work));
});

describe('inspect', () => {
  it('tells everything of a closed store, as one object', () => {
    const { code, values } = json('inspect', whole);
    expect(code).toBe(0);
    expect(values).toHaveLength(1);
    const [found] = values;
    expect(found).toMatchObject({
      clean: true,
      lock: { held: false },
      crc: true,
      topicQueues: 4,
      lightQueues: 2,
      log: { min: 0 },
    });
    expect(found.log.end).toBeGreaterThan(50 * 100);
    expect(Object.keys(found.checkpoint)).toEqual([
      'physicMsgTimestamp',
      'logicsMsgTimestamp',
      'indexMsgTimestamp',
      'masterFlushedOffset',
      'confirmPhyOffset',
      'logicsPhysicalOffset',
    ]);
    expect(found.ownCheckpoint).toMatchObject({ logSynced: found.log.end });
    const log = found.files.find((f: { path: string }) => f.path.startsWith('commitlog/'));
    expect(log).toEqual({ path: `commitlog/${'0'.repeat(20)}`, size: 1 << 20 });
  });

  it('says it to people, without colour', () => {
    const { code, out, err } = run('inspect', whole);
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toMatch(/state +clean\n/);
    expect(out).toMatch(/record CRC +on\n/);
    expect(out).toContain(`${1 << 20}  commitlog/${'0'.repeat(20)}`);
    expect(out).not.toContain('\u001b');
  });

  it('sees that a store was not closed, and that records carry no CRC', async () => {
    expect(json('inspect', unclean).values[0]).toMatchObject({ clean: false });
    expect(run('inspect', unclean).out).toMatch(/state +not closed/);
    const dir = path.join(work, 'no-crc');
    const store = await MessageStore.open({ path: dir, enabledAppendPropCRC: false });
    expect(json('inspect', dir).values[0]).toMatchObject({ crc: null, log: { min: 0, end: 0 } });
    store.append({ topic: 't', body: 'x' });
    await store.close();
    expect(json('inspect', dir).values[0]).toMatchObject({ crc: false });
  });

  it('names the process that holds the lock', async () => {
    const dir = copyOf(whole);
    const store = await MessageStore.open(dir);
    const [found] = json('inspect', dir).values;
    await store.close();
    expect(found).toMatchObject({ clean: false, lock: { held: true, pid: process.pid } });
  });

  it('shows the files of a directory that cannot be opened, and says why it cannot', () => {
    const dir = copyOf(whole);
    writeFileSync(path.join(dir, 'lmq-store.json'), '{ "format": 99 }');
    expect(json('queues', dir)).toMatchObject({ code: 1, values: [{ error: expect.anything() }] });
    const { code, values } = json('inspect', dir);
    expect(code).toBe(1);
    expect(values[0].error).toMatchObject({ code: 'STORE_VERSION' });
    expect(values[0].files.length).toBeGreaterThan(3);
    const text = run('inspect', dir);
    expect(text.code).toBe(1);
    expect(text.out).toMatch(/refused +STORE_VERSION: /);
  });

  it('reads around a log file that cannot be one, and notes it', () => {
    const dir = copyOf(whole);
    renameSync(logFile(dir), logFile(dir).replace(/0$/, '1'));
    expect(json('queues', dir)).toMatchObject({ code: 0 });
    const { code, values } = json('inspect', dir);
    expect(code).toBe(0);
    expect(values[0].notes).toMatchObject([{ code: 'STORE_FILE_SIZE' }]);
  });

  it('passes stray files, and reads queue files of any size', async () => {
    const dir = path.join(work, 'strays');
    const store = await MessageStore.open({ path: dir, mappedFileSizeConsumeQueue: 300_000 });
    store.append({ topic: 'chat', body: 'x' });
    await store.close();
    mkdirSync(path.join(dir, 'commitlog', 'lost+found'));
    writeFileSync(path.join(dir, 'commitlog', '.DS_Store'), 'x');
    writeFileSync(path.join(dir, 'commitlog', 'x.bak'), 'x');
    writeFileSync(path.join(dir, 'consumequeue', 'chat', '0', 'note'), '');
    const before = treeOf(dir);
    const { code, values } = json('inspect', dir);
    expect(code).toBe(0);
    expect(values[0].files).toContainEqual({ path: 'commitlog/x.bak', size: 1 });
    expect(values[0].files).toContainEqual({
      path: `consumequeue/chat/0/${'0'.repeat(20)}`,
      size: 300_000,
    });
    expect(treeOf(dir)).toEqual(before);
  });
});

describe('queues', () => {
  it('lists every queue with its bounds', () => {
    const { code, values } = json('queues', whole);
    expect(code).toBe(0);
    expect(values).toHaveLength(6);
    expect(values).toContainEqual({
      queue: 'chat:0',
      topic: 'chat',
      queueId: 0,
      minOffset: 0,
      maxOffset: 20,
    });
    expect(values).toContainEqual({
      queue: '%LMQ%alice',
      topic: '%LMQ%alice',
      queueId: 0,
      minOffset: 0,
      maxOffset: 40,
    });
    const { out } = run('queues', whole);
    expect(out).toContain('0\t20\tchat:0\n');
    expect(out.split('\n')).toHaveLength(8);
  });

  it('selects light queues, and names by their beginning', () => {
    const names = (...args: string[]) =>
      json('queues', whole, ...args).values.map(({ queue }: { queue: string }) => queue);
    expect(names('--lmq')).toEqual(['%LMQ%alice', '%LMQ%bob']);
    expect(names('--prefix', 'al')).toEqual(['%LMQ%alice']);
    expect(names('--prefix', '%LMQ%bo')).toEqual(['%LMQ%bob']);
    expect(names('--prefix', 'news').sort()).toEqual(['news:0', 'news:1']);
    expect(names('--prefix', 'zzz')).toEqual([]);
  });
});

describe('cat', () => {
  it('prints all of a message', () => {
    const { code, values } = json('cat', whole, '%LMQ%bob', '--from', '3', '--max', '1');
    expect(code).toBe(0);
    expect(values).toHaveLength(1);
    const [message] = values;
    // Bob's are 2 4 6 8 12 …, so his number 3 is message 8; chat:0 holds 2 4 6 8, too.
    expect(message).toMatchObject({
      offset: 3,
      topic: 'chat',
      queueId: 0,
      queueOffset: 3,
      tags: 'T1',
      keys: ['k-8', 'all'],
      body: Buffer.from('message 8 äöü 好').toString('base64'),
      bornTimestamp: 1_700_000_000_008,
      bornHost: '10.1.2.3:4567',
      flag: 8,
      sysFlag: 0,
    });
    expect(message.properties).toMatchObject({
      from: 'user 8',
      text: 'ja, 好',
      INNER_MULTI_DISPATCH: '%LMQ%alice,%LMQ%bob',
      INNER_MULTI_QUEUE_OFFSET: '6,3',
    });
    expect(Object.keys(message).sort()).toEqual(
      'bornHost bornTimestamp body flag keys msgId offset physicalOffset properties queueId queueOffset size storeHost storeTimestamp sysFlag tags topic'
        .split(' ')
        .sort(),
    );
    expect(message.msgId).toMatch(/^[0-9A-F]{32}$/);
    expect(message.msgId.endsWith(message.physicalOffset.toString(16).toUpperCase())).toBe(true);
  });

  it('goes to the end, from the beginning or an offset, and past the end shows nothing', () => {
    const offsets = (...args: string[]) =>
      json('cat', whole, 'chat:1', ...args).values.map(({ offset }: { offset: number }) => offset);
    expect(offsets()).toEqual([...Array(20).keys()]);
    expect(offsets('--from', '17')).toEqual([17, 18, 19]);
    expect(offsets('--from', '20')).toEqual([]);
  });

  it('shows text on one line, with nothing in it that a terminal would obey', () => {
    const { code, out } = run('cat', whole, '%LMQ%alice', '--from', '5', '--max', '1');
    expect(code).toBe(0);
    expect(out.split('\n')).toHaveLength(2);
    expect(out).toContain('line one\\nline two\\u001b[31m red');
    expect(out).toContain('chat:1@');
    expect(out).toContain('keys=k-7 all');
  });
});

describe('verify', () => {
  it('finds nothing in a store that is whole', () => {
    expect(run('verify', whole)).toMatchObject({ code: 0, err: '' });
    const { code, values } = json('verify', whole);
    expect(code).toBe(0);
    expect(values.at(-1)).toMatchObject({ faults: 0 });
  });

  it('names the file and the offset of a damaged record, and cat shows the others', () => {
    const dir = copyOf(whole);
    const damaged = readFileSync(logFile(dir));
    const at = damaged.indexOf('message 21 ');
    damaged[at] = damaged[at]! ^ 1;
    writeFileSync(logFile(dir), damaged);
    const { code, values } = json('verify', dir);
    expect(code).toBe(1);
    const { physicalOffset } = json('cat', whole, '%LMQ%alice', '--from', '16', '--max', '1')
      .values[0];
    expect(values.length).toBeGreaterThan(1);
    expect(values[0]).toMatchObject({ offset: physicalOffset });
    expect(values[0].path).toContain('commitlog');
    expect(values[0].code).toMatch(/^STORE_/);
    expect(values.at(-1)).toMatchObject({ faults: values.length - 1 });
    expect(run('verify', dir)).toMatchObject({ code: 1 });

    const cat = json('cat', dir, '%LMQ%alice');
    expect(cat.code).toBe(1);
    const errors = cat.values.filter((value: object) => 'error' in value);
    expect(errors).toMatchObject([{ error: { code: 'STORE_CORRUPT_RECORD', offset: 16 } }]);
    expect(cat.values).toHaveLength(40);
    expect(run('cat', dir, '%LMQ%alice').err).toMatch(/^STORE_CORRUPT_RECORD: /);
  });
});
