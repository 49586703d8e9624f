// Who may open a directory, and which directories can be opened.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { MessageStore, type MessageStoreOptions } from '../lib/index.ts';
import { contentOf, freshDirectories, logFile } from './support/files.ts';
import { run, start, startWorker, type Tools } from './support/programs.ts';
import { messagesOf, quiet, rejectionOf, textsOf } from './support/stores.ts';

const fresh = freshDirectories();
let dir = '';
beforeEach(() => {
  dir = fresh();
});

const openWith = (options: object = {}) => MessageStore.open({ path: dir, ...quiet, ...options });
const LOCKED = 'StoreError STORE_LOCKED';

/** Opens, and says how that went. */
const tryToOpen = async ({ lib, say }: Tools, where: string) => {
  try {
    const store = await lib.MessageStore.open(where);
    store.append({ topic: 't', body: 'theirs' });
    await store.close();
    say('opened');
  } catch (error) {
    say((error as { code: string }).code);
  }
};
const inOtherProcess = async (where: string) => (await run(tryToOpen, [where])).said[0];

describe('a directory that is open', () => {
  it('is refused to everyone else, by whatever name, and goes on working', async () => {
    await using store = await openWith();
    store.append({ topic: 't', body: 'ours' });
    const link = fresh('link');
    symlinkSync(dir, link);
    const names = [
      dir,
      `${dir}/`,
      path.relative('.', dir),
      `${dir}/../${path.basename(dir)}`,
      link,
    ];
    for (const name of names) expect(await rejectionOf(MessageStore.open(name))).toBe(LOCKED);
    expect(await inOtherProcess(link)).toBe('STORE_LOCKED');
    const { said, ended } = startWorker(tryToOpen, [dir]);
    expect(await said()).toBe('STORE_LOCKED');
    expect(await ended).toBe(0);
    expect(store.append({ topic: 't', body: 'ours' }).queueOffset).toBe(1);
  });

  it('names the process that holds it', async () => {
    await using _ = await openWith();
    await expect(MessageStore.open(dir)).rejects.toMatchObject({
      path: dir,
      message: expect.stringContaining(String(process.pid)),
      hint: expect.stringContaining('openReader'),
    });
  });

  it('goes to one of many who ask at once', async () => {
    const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => openWith()));
    const stores = attempts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(stores).toHaveLength(1);
    for (const one of attempts) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STORE_LOCKED' });
    }
    await stores[0]!.close();
  });

  it('stays so when others open and close its lock file, or inherit and close all handles', async () => {
    await using _ = await openWith();
    closeSync(openSync(path.join(dir, 'lock'), 'r+'));
    readFileSync(path.join(dir, 'lock'));
    spawnSync('sh', ['-c', 'exec <&- >&- 2>&-']);
    expect(await inOtherProcess(dir)).toBe('STORE_LOCKED');
    expect(await rejectionOf(MessageStore.open(dir))).toBe(LOCKED);
  });
});

describe('a directory is free', () => {
  it('once its store is closed', async () => {
    await (await openWith()).close();
    expect(await inOtherProcess(dir)).toBe('opened');
    await using store = await MessageStore.open(dir);
    expect(textsOf(store.queue('t'))).toEqual(['theirs']);
  });

  it('after an open that failed', async () => {
    await (await openWith()).close();
    const marker = path.join(dir, 'lmq-store.json');
    const text = readFileSync(marker, 'utf8');
    writeFileSync(marker, '{}');
    expect(await rejectionOf(openWith())).toBe('StoreError STORE_CORRUPT_FILE');
    writeFileSync(marker, text);
    await using _ = await openWith();
  });

  it('when its owner was killed, although the lock file is still there', async () => {
    const owner = start(
      async ({ lib, say, told }, where: string) => {
        const store = await lib.MessageStore.open(where);
        store.append({ topic: 't', body: 'last words' });
        say('open');
        await told();
      },
      [dir],
    );
    await owner.said();
    expect(await rejectionOf(MessageStore.open(dir))).toBe(LOCKED);
    await owner.kill('SIGKILL');
    expect(existsSync(path.join(dir, 'lock'))).toBe(true);
    await using store = await MessageStore.open(dir);
    expect(store.recovery.clean).toBe(false);
    expect(textsOf(store.queue('t'))).toEqual(['last words']);
  });

  it('of another’s process id: an abort file of long ago locks nothing', async () => {
    await (await openWith()).close();
    for (const text of ['1', String(process.ppid), '', 'nonsense', '-7']) {
      writeFileSync(path.join(dir, 'abort'), text);
      await using store = await openWith();
      expect(store.recovery.clean).toBe(false);
    }
  });
});

describe('a path', () => {
  it('may be new, several levels deep, with any letters in it', async () => {
    const where = path.join(fresh('é'), '数据', '🔑 key', "it's");
    for (const round of [0, 1]) {
      await using store = await MessageStore.open({ path: where, ...quiet });
      expect(store.recovery.created).toBe(round === 0);
      expect(store.append({ topic: '数据', body: '', lmq: ['🔑'] }).queueOffset).toBe(round);
    }
    expect(readdirSync(path.dirname(where))).toEqual(["it's"]);
    expect(readdirSync(path.join(where, 'consumequeue'))).toEqual(['数据']);
  });

  it('may be relative, to where the process was when it opened', async () => {
    const ended = await run(
      async ({ lib, fs, say }, base: string) => {
        fs.mkdirSync(`${base}/elsewhere`, { recursive: true });
        process.chdir(base);
        const store = await lib.MessageStore.open('data');
        process.chdir(`${base}/elsewhere`);
        store.append({ topic: 't', body: '', lmq: ['x'] });
        await store.close();
        say(fs.readdirSync(base).sort());
      },
      [dir],
    );
    expect(ended).toMatchObject({ code: 0, said: [['data', 'elsewhere']], err: '' });
  });

  it('is refused where it is a file or lies below one', async () => {
    writeFileSync(dir, 'a file');
    for (const where of [dir, path.join(dir, 'below')]) {
      expect(await rejectionOf(MessageStore.open(where))).toBe('StoreError STORE_NOT_FOUND');
    }
    expect(readFileSync(dir, 'utf8')).toBe('a file');
  });

  it.each([['commitlog'], ['consumequeue'], ['lmq'], ['work'], ['lock']])(
    'is refused where something else has the name %s in it',
    async (name) => {
      mkdirSync(dir);
      if (name === 'lock') mkdirSync(path.join(dir, name));
      else writeFileSync(path.join(dir, name), 'something else');
      await expect(openWith({ adopt: true })).rejects.toMatchObject({ path: expect.any(String) });
      rmSync(path.join(dir, name), { recursive: true });
      await using store = await openWith({ adopt: true });
      expect(store.append({ topic: 't', body: '', lmq: ['x'] }).lmqOffsets).toEqual([0]);
    },
  );
});

describe('a directory of ours', () => {
  const filled = async () => {
    await using store = await openWith();
    store.append({ topic: 't', body: 'kept', lmq: ['x'] });
  };
  const refused = async (options: object, code: string, facts: object = {}) => {
    const before = contentOf(dir);
    await expect(MessageStore.open({ path: dir, ...options })).rejects.toMatchObject({
      code,
      ...facts,
    });
    expect(contentOf(dir)).toEqual(before);
  };

  it('decides its sizes: others are refused, saying which', async () => {
    await filled();
    for (const [option, given, found] of [
      ['mappedFileSizeCommitLog', 4096, 1 << 20],
      ['mappedFileSizeConsumeQueue', 3000, 6000],
    ] as const) {
      await refused({ [option]: given }, 'STORE_CONFIG_MISMATCH', {
        limit: found,
        message: expect.stringContaining(option),
      });
    }
    await using store = await MessageStore.open(dir);
    expect(textsOf(store.queue('t'))).toEqual(['kept']);
  });

  it('decides them also before it has a file', async () => {
    await (await openWith()).close();
    await refused({ mappedFileSizeCommitLog: 4096 }, 'STORE_CONFIG_MISMATCH');
    await using store = await MessageStore.open(dir);
    store.append({ topic: 't', body: '' });
    expect(readFileSync(logFile(dir))).toHaveLength(1 << 20);
  });

  it('of a later version is refused', async () => {
    await filled();
    const marker = path.join(dir, 'lmq-store.json');
    writeFileSync(marker, readFileSync(marker, 'utf8').replace(/"format": \d+/, '"format": 99'));
    await refused({}, 'STORE_VERSION', { path: marker });
    await refused({ adopt: true, repair: 'truncate' }, 'STORE_VERSION');
  });

  it('keeps files that are not its own', async () => {
    await filled();
    const strange = [
      'lost+found/',
      'notes.txt',
      'commitlog/lost+found/',
      'commitlog/.DS_Store',
      'commitlog/x.bak',
      'commitlog/00000000000000000000.bak',
      'consumequeue/note',
      'consumequeue/t/note',
      'consumequeue/t/0/note',
      'consumequeue/t/zero/',
      'lmq/note',
      'config/topics.json',
    ];
    mkdirSync(path.join(dir, 'config'));
    for (const name of strange) {
      if (name.endsWith('/')) mkdirSync(path.join(dir, name));
      else writeFileSync(path.join(dir, name), 'strange');
    }
    for (const round of [1, 2]) {
      await using store = await openWith();
      store.append({ topic: 't', body: 'more', lmq: ['x'] });
      expect([store.queue('t').maxOffset, store.lmq('x').maxOffset]).toEqual([
        round + 1,
        round + 1,
      ]);
      expect(store.topics()).toEqual(['t']);
    }
    for (const name of strange) expect(existsSync(path.join(dir, name)), name).toBe(true);
  });

  it('that a process left while it was being made is still ours', async () => {
    for (const kept of [['lock'], ['lock', 'abort'], ['lock', 'abort', 'lmq-store.json']]) {
      dir = fresh();
      await filled();
      for (const name of readdirSync(dir)) {
        if (!kept.includes(name)) rmSync(path.join(dir, name), { recursive: true });
      }
      await using store = await openWith();
      expect(store.append({ topic: 't', body: '', lmq: ['x'] }).physicalOffset).toBe(0);
    }
  });
});

describe('a directory of RocketMQ’s', () => {
  const golden = fileURLToPath(new URL('golden/lmq-simple/store.tar.gz', import.meta.url));
  const unpack = () => {
    mkdirSync(dir);
    execFileSync('tar', ['-xmzf', golden, '-C', dir]);
    dir = path.join(dir, 'store');
  };

  it('is opened for writing only by who says so, else nothing in it changes', async () => {
    unpack();
    const before = contentOf(dir);
    const given: MessageStoreOptions[] = [{ path: dir }, { path: dir, repair: 'truncate' }];
    for (const options of given) {
      expect(await rejectionOf(MessageStore.open(options))).toBe(
        'StoreError STORE_FOREIGN_DIRECTORY',
      );
    }
    expect(contentOf(dir)).toEqual(before);
    expect(existsSync(path.join(dir, 'lmq-store.json'))).toBe(false);
  });

  it('with positions that no number holds exactly is refused', async () => {
    mkdirSync(path.join(dir, 'commitlog'), { recursive: true });
    writeFileSync(logFile(dir, 2 ** 53), Buffer.alloc(1024));
    const before = contentOf(dir);
    for (const open of [MessageStore.open, MessageStore.openReader]) {
      expect(await rejectionOf(open({ path: dir, adopt: true }))).toBe('StoreError STORE_LIMIT');
    }
    expect(contentOf(dir)).toEqual({ ...before, lock: expect.any(Number) });
  });

  it('once taken over is ours, with all that was in it', async () => {
    unpack();
    let texts: string[][] = [];
    const all = (store: MessageStore) =>
      store
        .lmqs()
        .names.sort()
        .map((name) => messagesOf(store.lmq(name)).map((one) => one.msgId));
    {
      await using store = await MessageStore.open({ path: dir, adopt: true });
      expect(store.recovery).toMatchObject({ adopted: true, created: false });
      texts = all(store);
      expect(texts.flat().length).toBeGreaterThan(5);
    }
    await using store = await MessageStore.open(dir);
    expect(store.recovery.adopted).toBe(false);
    expect(all(store)).toEqual(texts);
  });
});
