// A broker.conf as a source of options: what counts, what is reported, what is refused.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type MessageStoreOptions, resolveConfig } from '../lib/config.ts';
import { isStoreError } from '../lib/errors.ts';
import { MessageStore } from '../lib/index.ts';
import { json, makeStores, run, treeOf } from './support/cli.ts';
import { freshDirectories } from './support/files.ts';

const fresh = freshDirectories();
let work = '';
beforeEach(() => {
  work = fresh('conf');
  mkdirSync(work);
});

function confOf(...lines: string[]): string {
  const file = path.join(work, 'broker.conf');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

const config = (lines: string[], options: Partial<MessageStoreOptions> = {}, readOnly = false) =>
  resolveConfig({ path: '/data', conf: confOf(...lines), ...options }, readOnly);

function refusal(lines: string[], options: Partial<MessageStoreOptions> = {}, readOnly = false) {
  try {
    config(lines, options, readOnly);
  } catch (error) {
    if (!isStoreError(error)) return error;
    return `${error.name} ${error.code} ${error.message}`;
  }
  return 'accepted';
}

const notesOf = (lines: string[], options: Partial<MessageStoreOptions> = {}) =>
  Object.fromEntries(config(lines, options).conf!.notes.map(({ key, message }) => [key, message]));

describe('a broker.conf', () => {
  it('is read as Java reads it', () => {
    const made = config([
      '# a broker',
      '! another comment',
      'brokerClusterName = DefaultCluster',
      'namesrvAddr=10.0.0.1:9876;10.0.0.2:9876',
      'mappedFileSizeCommitLog: 1048576',
      'mappedFileSizeConsumeQueue 6000',
      'maxMessageSize=65\\',
      '    536   ',
      'flushDiskType=ASYNC_FLUSH',
      'flush\\u0044iskType = SYNC_FLUSH',
      'messageDelayLevel=1s 5s 2h',
      'enableLmq=TRUE',
      'enabledAppendPropCRC=false',
    ]);
    expect(made).toMatchObject({
      maxMessageSize: 65_536,
      flushDiskType: 'SYNC_FLUSH',
      enableLmq: true,
      enabledAppendPropCRC: false,
    });
    expect(made.native).toMatchObject({
      path: '/data',
      mappedFileSizeCommitLog: 1_048_576,
      mappedFileSizeConsumeQueue: 6000,
      delayLevels: [1000, 5000, 7_200_000],
    });
    expect(made.conf!.path).toBe(path.join(work, 'broker.conf'));
    expect(made.conf!.applied).toMatchObject({ maxMessageSize: 65_536, enableLmq: true });
    expect(made.conf!.notes.map(({ key }) => key)).toEqual(['brokerClusterName', 'namesrvAddr']);
    expect(made.conf!.notes[1]!.value).toBe('10.0.0.1:9876;10.0.0.2:9876');
  });

  it('may be empty, begin with a byte order mark, and hold odd keys', () => {
    expect(config([]).conf).toMatchObject({ applied: {}, notes: [] });
    expect(config(['\uFEFFmaxMessageSize=100']).maxMessageSize).toBe(100);
    const odd = ['__proto__=1', 'constructor=2', 'path=/elsewhere', 'repair=truncate', '=x'];
    expect(config(odd).conf!.notes.map(({ key }) => key)).toEqual([
      '__proto__',
      'constructor',
      'path',
      'repair',
      '',
    ]);
    expect(config(odd).native).toMatchObject({ path: '/data', repair: false });
  });

  it('gives way to values in code, also for what it sets wrongly', () => {
    const lines = ['maxMessageSize=1', 'flushDiskType=SYNC_FLUSH', 'enableLmq=false'];
    const made = config(lines, { maxMessageSize: 1000, enableLmq: undefined });
    expect(made).toMatchObject({ maxMessageSize: 1000, flushDiskType: 'SYNC_FLUSH' });
    expect(made.lightQueues).toBe(false);
    expect(notesOf(lines, { maxMessageSize: 1000 })).toEqual({
      maxMessageSize: 'maxMessageSize was not applied: the value given in code wins.',
    });
  });

  it('is told of what does not count: what we decide, what has no meaning, what is unknown', () => {
    const notes = notesOf([
      'maxLmqConsumeQueueNum=20000',
      'transientStorePoolEnable=true',
      'brokerName=broker-a',
      'maxMesageSize=5',
    ]);
    expect(notes).toEqual({
      maxLmqConsumeQueueNum: expect.stringMatching(/only a value given in code/),
      transientStorePoolEnable: expect.stringMatching(/no meaning for this store/),
      brokerName: expect.stringMatching(/no key of RocketMQ’s store/),
      maxMesageSize: expect.stringMatching(/no key of RocketMQ’s store/),
    });
    expect(config(['maxLmqConsumeQueueNum=20000']).maxLmqConsumeQueueNum).toBe(0);
    const given = config(['maxLmqConsumeQueueNum=20000'], { maxLmqConsumeQueueNum: 7 });
    expect(given.maxLmqConsumeQueueNum).toBe(7);
  });

  it('is refused with the key, the value and the bounds where a value is impossible', () => {
    for (const [key, value, bounds] of [
      ['maxMessageSize', '4MB', 'an integer from 10 to '],
      ['maxMessageSize', '9', 'an integer from 10 to '],
      ['maxMessageSize', '', 'an integer from 10 to '],
      ['maxMessageSize', '1e3', 'an integer from 10 to '],
      ['maxMessageSize', '99999999999999999999', 'an integer from 10 to '],
      ['enableLmq', 'yes', 'true or false'],
      ['flushDiskType', 'sync', '"ASYNC_FLUSH" or "SYNC_FLUSH"'],
      ['messageDelayLevel', 'soon', 'delays such as'],
    ] as const) {
      const text = `${key}=${value}, but ${key} must be ${bounds}`;
      expect(refusal([`${key}=${value}`])).toContain(`RangeError STORE_INVALID_ARGUMENT`);
      expect(refusal([`${key}=${value}`])).toContain(text);
    }
  });
});

describe('its paths', () => {
  it('storePathRootDir is the path where code gives none', () => {
    const root = path.join(work, 'store');
    const lines = [`storePathRootDir=${root}`, `storePathCommitLog=${root}/commitlog`];
    expect(config(lines, { path: undefined }).native).toMatchObject({
      path: root,
      commitLogPath: '',
    });
    expect(config(lines, { path: undefined }).conf!.notes).toEqual([]);
    const other = config(lines, { path: '/other' });
    expect(other.native).toMatchObject({ path: '/other', commitLogPath: '' });
    expect(other.conf!.notes.map(({ key }) => key)).toEqual([
      'storePathRootDir',
      'storePathCommitLog',
    ]);
    expect(config(['storePathRootDir=x'], { path: undefined }).native.path).toBe(path.resolve('x'));
  });

  it('are needed from one of the two', () => {
    for (const lines of [[], ['storePathRootDir='], ['storePathRootDir']]) {
      expect(refusal(lines, { path: undefined })).toMatch(/^TypeError.*storePathRootDir/);
    }
  });

  it('of more than one log directory are refused by name', () => {
    const root = `storePathRootDir=${work}`;
    const asks = { path: undefined };
    expect(refusal([root, `storePathCommitLog=${work}/a,${work}/b`], asks, true)).toContain(
      'storePathCommitLog must be one directory',
    );
    expect(refusal([root, 'readOnlyCommitLogStorePaths=/a'], asks)).toContain('STORE_UNSUPPORTED');
    expect(refusal([root, `storePathCommitLog=${work}/elsewhere`], asks)).toContain(
      'StoreError STORE_UNSUPPORTED',
    );
  });

  it('of the file itself are refused where they lead to none', () => {
    const open = (conf: string) => () => resolveConfig({ path: '/data', conf }, false);
    expect(open(path.join(work, 'nowhere'))).toThrow(
      expect.objectContaining({ code: 'STORE_NOT_FOUND', path: path.join(work, 'nowhere') }),
    );
    for (const wrong of ['', 'a\0b', work, '/dev/zero']) expect(open(wrong)).toThrow(RangeError);
    expect(open(5 as never)).toThrow(TypeError);
  });
});

describe('a store', () => {
  let whole = '';
  beforeAll(async () => {
    const dir = fresh('stores');
    mkdirSync(dir);
    ({ whole } = await makeStores(dir));
  });

  it('opens with it, and tells the logger what did not count', async () => {
    const root = path.join(work, 'store');
    const lines: string[] = [];
    const conf = confOf(
      `storePathRootDir=${root}`,
      'mappedFileSizeCommitLog=65536',
      'brokerName=a',
    );
    const logger = { warn: (line: string) => void lines.push(line) };
    await using store = await MessageStore.open({ conf, logger });
    expect(store.conf).toMatchObject({ applied: { mappedFileSizeCommitLog: 65_536 } });
    expect(lines).toEqual(['brokerName was not applied: it is no key of RocketMQ’s store.']);
    await expect(MessageStore.openReader({ conf: `${conf}.not` })).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
    });
  });

  it('whose log lies elsewhere is read where its conf says so, and not changed', async () => {
    const made = await makeStores(work);
    const log = path.join(work, 'log');
    renameSync(path.join(made.whole, 'commitlog'), log);
    const conf = confOf(`storePathRootDir=${made.whole}`, `storePathCommitLog=${log}`);
    const before = [treeOf(made.whole), treeOf(log)];
    const reader = await MessageStore.openReader({ conf });
    expect(reader.lmq('alice').read(39).messages[0]!.text()).toBe('message 49 äöü 好');
    await reader.close();
    expect(json('verify', '--conf', conf)).toMatchObject({ code: 0, values: [{ faults: 0 }] });
    const { files } = json('inspect', '--conf', conf).values[0];
    expect(files).toContainEqual({ path: path.join(log, '0'.repeat(20)), size: 1 << 20 });
    expect([treeOf(made.whole), treeOf(log)]).toEqual(before);
    await expect(MessageStore.open({ conf })).rejects.toMatchObject({ code: 'STORE_UNSUPPORTED' });
  });

  it('is found by every command through --conf, with DIR or without', () => {
    const conf = confOf(`storePathRootDir=${whole}`, 'brokerName=a');
    for (const [command = '', ...rest] of [
      ['inspect'],
      ['queues'],
      ['cat', 'chat:0'],
      ['verify'],
    ]) {
      const expected = run(command, whole, ...rest);
      expect(expected.code).toBe(0);
      expect(run(command, '--conf', conf, ...rest)).toEqual(expected);
      expect(run(command, whole, ...rest, '--conf', conf)).toEqual(expected);
    }
    expect(run('cat', '--conf', conf)).toMatchObject({ code: 2, out: '' });
    expect(run('inspect', '--conf', confOf('brokerName=a'))).toMatchObject({ code: 2, out: '' });
    const wrong = run('inspect', whole, '--conf', confOf('maxMessageSize=x'));
    expect(wrong).toMatchObject({ code: 2, out: '' });
    expect(wrong.err).toContain('maxMessageSize=x, but maxMessageSize must be an integer');
  });

  it('with files of another size than it says is refused, and changes nothing', async () => {
    const conf = confOf(`storePathRootDir=${whole}`, 'mappedFileSizeCommitLog=1073741824');
    const before = treeOf(whole);
    await expect(MessageStore.open({ conf })).rejects.toMatchObject({
      code: 'STORE_CONFIG_MISMATCH',
    });
    expect(run('queues', '--conf', conf).err).toMatch(/^STORE_CONFIG_MISMATCH: [^\n]+\n$/);
    expect(treeOf(whole)).toEqual(before);
  });
});
