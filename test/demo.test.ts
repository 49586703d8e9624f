// The demo: that it runs, that it can be repeated, and above all that it would notice.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Checker } from '../lib/cli/demo-check.ts';
import { killPoint } from '../lib/cli/demo-job.ts';
import { GeneratedMessages } from '../lib/cli/demo-messages.ts';
import { Model } from '../lib/cli/demo-model.ts';
import { type Message, MessageStore } from '../lib/index.ts';
import { json, run, workDirectory } from './support/cli.ts';

const work = workDirectory();
const temporary = path.join(work, 'tmp');
mkdirSync(temporary);
Object.assign(process.env, { TMPDIR: temporary });

/** What the demo's writer tells of an append. */
interface Told {
  physicalOffset: number;
  queueOffset: number;
  lmqOffsets: readonly number[];
}

describe('the check', () => {
  let made = 0;
  const source = new GeneratedMessages(7, 20);

  /** Appends 200 messages, each as `write` would have it, and checks the store against what was due. */
  async function check(write: (store: MessageStore, message: Message, index: number) => Told) {
    const store = await MessageStore.open(path.join(work, `check-${made++}`));
    const model = new Model(source);
    const checker = new Checker(model);
    for (let index = 0; index < 200; index++) {
      const { physicalOffset, queueOffset, lmqOffsets } = write(
        store,
        source.message(index),
        index,
      );
      checker.complain(
        model.add({ index, physicalOffset, queueOffset, lmqOffsets: lmqOffsets.join(',') }),
      );
    }
    await checker.store(store, () => {});
    await store.close();
    return checker;
  }

  const changed = (change: (message: Message) => Partial<Message>) =>
    check((store, message, index) =>
      store.append(index === 100 ? { ...message, ...change(message) } : message),
    );

  it('is content with what was written', async () => {
    const checker = await changed(() => ({}));
    expect(checker.problems).toEqual([]);
    expect(checker.good).toBe(true);
    expect(checker.entries).toBeGreaterThan(400);
  });

  it('notices one bit of a body, and every other field', async () => {
    const changes: ((message: Message) => Partial<Message>)[] = [
      ({ body }) => ({ body: `${String(body).slice(0, -1)}\u0001` }),
      ({ tags }) => ({ tags: `${tags}x` }),
      ({ keys }) => ({ keys: [...[keys!].flat(), 'x'] }),
      ({ properties }) => ({ properties: { ...(properties as object), more: 'x' } }),
      () => ({ properties: {} }),
      ({ flag }) => ({ flag: flag! ^ 1 }),
      ({ bornTimestamp }) => ({ bornTimestamp: bornTimestamp! + 1 }),
      () => ({ bornHost: '1.2.3.4:5' }),
    ];
    for (const change of changes) {
      const checker = await changed(change);
      expect([...checker.lost], change.toString()).toEqual([100]);
      expect(checker.duplicated).toBe(0);
      expect(checker.problems[0]).toMatch(/^message 100 in /);
    }
  });

  it('notices a message that is not there, in the topic queue or a light queue', async () => {
    let last: Told = { physicalOffset: 0, queueOffset: 0, lmqOffsets: [] };
    const never = await check((store, message, index) => {
      if (index === 199) return { ...last, physicalOffset: last.physicalOffset + 1 };
      const { physicalOffset, queueOffset, lmqOffsets } = store.append(message);
      last = { physicalOffset, queueOffset, lmqOffsets };
      return last;
    });
    expect([...never.lost]).toEqual([199]);
    const unheard = await changed(({ lmq }) => ({ lmq: lmq!.slice(1) }));
    expect(unheard.lost.has(100)).toBe(true);
    expect(unheard.good).toBe(false);
  });

  it('notices a message that is there twice, or where nothing was written', async () => {
    const twice = await check((store, message, index) => {
      if (index === 199) store.append(message);
      return store.append(message);
    });
    expect(twice.duplicated).toBeGreaterThan(1);
    const elsewhere = await check((store, message, index) => {
      if (index === 150) store.append({ topic: 'nobody', body: 'x', lmq: ['nobody'] });
      return store.append(message);
    });
    expect(elsewhere.duplicated).toBe(2);
    expect(elsewhere.problems.join()).toContain('nothing was written to %LMQ%nobody');
  });

  it('notices an acknowledgement that is not what was due', async () => {
    const checker = await check((store, message, index) => {
      const result = store.append(message);
      return index === 5 ? { ...result, lmqOffsets: [77] } : result;
    });
    expect(checker.problems).toHaveLength(1);
    expect(checker.problems[0]).toContain('acknowledged was number 5');
  });
});

describe('demo', () => {
  it('kills, recovers, checks and tells it in one object', () => {
    const { code, err, values } = json(
      'demo',
      '--messages',
      '3000',
      '--queues',
      '200',
      '--seed',
      '11',
    );
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(values).toHaveLength(1);
    const [report] = values;
    expect(report).toMatchObject({
      ok: true,
      seed: 11,
      rounds: 3,
      appended: 3000,
      lost: 0,
      duplicated: 0,
      lightQueues: 200,
      topicQueues: 12,
      problems: [],
    });
    expect(report.killedAt).toHaveLength(3);
    expect(report.killedAt[0]).toBe(killPoint(11, 3000, 3, 0, 0));
    for (const at of report.killedAt) expect(at > 0 && at < 3000).toBe(true);
    expect(report.acknowledged).toBeGreaterThanOrEqual(report.killedAt[2] - report.unacknowledged);
    expect(report.recovered).toBe(report.acknowledged + report.unacknowledged);
    expect(report.unacknowledged).toBeLessThanOrEqual(3);
    expect(report.nsPerAppend).toBeGreaterThan(0);
    expect(report.recoveryMs).toBeGreaterThan(0);
    expect(report.followed).toBeGreaterThan(0);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('tells people, and leaves a directory of theirs to them', () => {
    const dir = path.join(work, 'kept');
    const { code, out, err } = run('demo', '--messages', '400', '--queues', '10', '--dir', dir);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /good: 0 lost, 0 duplicated of 400 messages in 10 light queues \(seed \d+\)\n$/,
    );
    expect(json('verify', dir).values.at(-1)).toMatchObject({ faults: 0 });
    expect(json('inspect', dir).values[0]).toMatchObject({ clean: true, lightQueues: 10 });
  });

  it('replays a directory, as often as it takes', () => {
    const from = path.join(work, 'kept');
    const { code, values } = json('demo', '--from', from, '--messages', '1000', '--rounds', '2');
    expect(code).toBe(0);
    expect(values[0]).toMatchObject({ appended: 1000, rounds: 2, lost: 0, lightQueues: 10 });
  });

  it('does not write into a directory that holds something, and needs one to replay', () => {
    const dir = path.join(work, 'full');
    mkdirSync(dir);
    writeFileSync(path.join(dir, 'mine'), 'x');
    expect(run('demo', '--dir', dir)).toMatchObject({ code: 2, out: '' });
    expect(readdirSync(dir)).toEqual(['mine']);
    const nowhere = path.join(work, 'nowhere');
    expect(run('demo', '--from', nowhere).err).toMatch(/^STORE_NOT_FOUND: /);
    expect(run('demo', '--from', nowhere).code).toBe(1);
    expect(existsSync(nowhere)).toBe(false);
  });

  it('refuses numbers that make no run', () => {
    for (const args of [
      ['--messages', '15'],
      ['--messages', '0'],
      ['--rounds', '0'],
      ['--queues', 'x'],
    ]) {
      expect(run('demo', ...args), args.join(' ')).toMatchObject({ code: 2, out: '' });
    }
  });

  it('fails if the writer ends before it is killed', async () => {
    const built = new URL('../dist/cli/demo-kill.js', import.meta.url).href;
    const { writeAndKill } = (await import(built)) as typeof import('../lib/cli/demo-kill.ts');
    const job = { seed: 1, queues: 3, from: undefined, first: 0, end: 10, window: 100 };
    const through = writeAndKill({ ...job, dir: path.join(work, 'through') }, 11, () => {});
    await expect(through).rejects.toThrow('had finished before');
    const file = path.join(work, 'full', 'mine', 'below a file');
    await expect(writeAndKill({ ...job, dir: file }, 5, () => {})).rejects.toThrow(
      'ended by itself',
    );
  });
});
