// What we decide otherwise than the real store, and what waits: that the lists are right, and the
// stores that it could not open at all.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { queueOf } from './golden-support/answers.ts';
import { deviations } from './golden-support/deviations.ts';
import type { Answers, Row } from './golden-support/expected.ts';
import { keysOfRecords, theirKeys } from './golden-support/keys.ts';
import { OpenStore } from './golden-support/open-store.ts';
import { optionsOf } from './golden-support/options.ts';
import { filesOf, getOf, timeOf } from './golden-support/read-model.ts';
import { replayDeviations } from './golden-support/replay-deviations.ts';
import { expectedOf, storeNames, treeOf, unpack } from './golden-support/stores.ts';
import { theirAnswers, theirNext } from './golden-support/theirs.ts';

const adopting = { adopt: true, repair: 'truncate' } as const;
const expected = new Map(storeNames.map((name) => [name, expectedOf(name)]));

describe('the lists', () => {
  it('name 66 stores', () => {
    expect(storeNames).toHaveLength(66);
  });

  it.each(deviations)('has a reason to differ from $stores: $row', ({ stores, ...deviation }) => {
    for (const store of stores) {
      const { openedWith, opened, variants } = expected.get(store)!;
      const asked = variants?.[deviation.variant ?? '']?.opened ?? opened;
      const [before, after] = [theirAnswers(asked), theirAnswers(asked)];
      deviation.edit?.(after, filesOf(openedWith));
      const [nextBefore, nextAfter] = [theirNext(asked), theirNext(asked)];
      deviation.editNext?.(nextAfter);
      if (deviation.edit) expect(after).not.toEqual(before);
      if (deviation.editNext) expect(nextAfter).not.toEqual(nextBefore);
    }
    expect(deviation.row).toMatch(/^(Q\d+|design \d)/);
  });

  it('has a reason for each replay that differs', () => {
    for (const [store, { row }] of Object.entries(replayDeviations)) {
      expect(storeNames).toContain(store);
      expect(row).toMatch(/^(Q\d+|design \d|lib\/options)/);
    }
  });
});

describe('the model of reads', () => {
  /** Units that getMessage would not simply read: expired, zero, blank or of another form. */
  const plain = ({ log, queues }: Answers) =>
    queues.filter(({ units }) =>
      units.every(
        ({ physicalOffset, size }) => physicalOffset >= log.min && size > 0 && size < 0x7fffffff,
      ),
    );
  const without = ['inner-batch'];

  it('answers as the real store does', () => {
    const compared = { gets: 0, times: 0 };
    for (const [store, { openedWith, opened, variants = {} }] of expected) {
      for (const asked of [{ openedWith, opened }, ...Object.values(variants)]) {
        if (!asked.opened.loaded || without.includes(store)) continue;
        const theirs = theirAnswers(asked.opened);
        for (const queue of plain(theirs)) {
          const ofQueue = (asked: Row) =>
            asked['topic'] === queue.topic && asked['queueId'] === queue.queueId;
          const gets = theirs.gets.filter(ofQueue);
          // Behind damage records are not listed: nobody can tell when they were stored.
          const listed = queue.units.every((unit) =>
            theirs.records.some((row) => row['physicalOffset'] === unit.physicalOffset),
          );
          const times = theirs.times.filter((asked) => listed && ofQueue(asked));
          const files = filesOf(asked.openedWith);
          expect(gets.map((get) => getOf(queue, get, files))).toEqual(gets);
          expect(times.map((asked) => timeOf(queue, asked, theirs.records))).toEqual(times);
          compared.gets += gets.length;
          compared.times += times.length;
        }
      }
    }
    expect(compared.gets).toBeGreaterThan(4000);
    expect(compared.times).toBeGreaterThan(4000);
  });
});

describe('the model of searches by key', () => {
  /** Entries that an unclean end has cost the real store (Q28). */
  const lost = ['expired-by-hand-unclean', 'killed-second-session', 'torn-early'];
  /** There a record is none for us (Q16). */
  const others = ['torn-copy', 'torn-copy-clean'];

  it('gives what the real store gives, and what it misses by whole seconds (Q31)', () => {
    let same = 0;
    let more = 0;
    for (const [store, { openedWith, opened, variants = {} }] of expected) {
      for (const asked of [{ openedWith, opened }, ...Object.values(variants)]) {
        const indexed = asked.openedWith['messageIndexEnable'] !== false;
        if (!asked.opened.loaded || !indexed || others.includes(store)) continue;
        const { records } = theirAnswers(asked.opened);
        const theirs = theirKeys(records, asked.opened.keys);
        for (const [index, row] of keysOfRecords(records, asked.opened.keys).entries()) {
          const { found } = theirs[index]!;
          expect(row.found, store).toEqual(expect.arrayContaining([...found]));
          // Of one message, another key's may take the place.
          const always = row.begin === 0 && row.end === Number.MAX_SAFE_INTEGER && row.maxNum > 1;
          if (always && !lost.includes(store)) expect(row.found, store).toEqual(found);
          if (row.found.length > found.length) more++;
          else if (found.length > 0) same++;
        }
      }
    }
    expect(same).toBeGreaterThan(1000);
    expect(more).toBeGreaterThan(100);
  });
});

describe('wrong-size', () => {
  const { openedWith } = expected.get('wrong-size')!;

  it('is refused with both sizes, and nothing is changed (Q47)', async () => {
    const dir = unpack('wrong-size');
    const before = treeOf(dir);
    const options = optionsOf(dir, openedWith);
    const refusal = {
      code: 'STORE_CONFIG_MISMATCH',
      message: expect.stringMatching(/mappedFileSizeCommitLog.*65537.*65536/),
      path: path.join(dir, 'commitlog'),
    };
    await expect(MessageStore.open({ ...options, ...adopting })).rejects.toMatchObject(refusal);
    await expect(MessageStore.openReader(options)).rejects.toMatchObject(refusal);
    expect(treeOf(dir)).toEqual(before);
  });

  it('can be read by whoever claims no size', async () => {
    const dir = unpack('wrong-size');
    const reader = await MessageStore.openReader(dir);
    expect(reader.queue('t', 0).read(0).messages).toHaveLength(12);
    await reader.close();
  });
});

/** After a plain or empty name the real store stalls, and cannot be opened again (Q1). */
const STALLED = {
  'lmq-stall-mixed': {
    log: { min: 0, max: 581 },
    queues: {
      't:0': [0, 153, 319],
      'u:0': [480],
      '%LMQ%a:0': [0, 319],
      '%LMQ%b:0': [153, 319],
    },
  },
  'lmq-stall-empty': {
    log: { min: 0, max: 587 },
    queues: {
      't:0': [0, 153, 325],
      'u:0': [486],
      '%LMQ%a:0': [0, 153, 325],
      '%LMQ%b:0': [153, 325],
    },
  },
};

describe.each(Object.entries(STALLED))('%s', (name, { log, queues }) => {
  it('opens, and every message is in its queues (Q1)', async () => {
    const { openedWith, results } = expected.get(name)!;
    const options = optionsOf(unpack(name), openedWith);
    const open = await OpenStore.writer({ ...options, ...adopting });
    expect({ min: open.logMin, max: open.logEnd }).toEqual(log);
    for (const result of results.filter((row) => row['putStatus'] === 'PUT_OK')) {
      const { physicalOffset, size, queueOffset } = result as Record<string, number>;
      expect(open.store.getAt(physicalOffset!)).toMatchObject({ size, queueOffset });
    }
    const names = [
      ...open.store.queues().map(({ topic, queueId }) => `${topic}:${queueId}`),
      ...open.store.lmqs().names.map((light) => `${light}:0`),
    ];
    expect(names.sort()).toEqual(Object.keys(queues).sort());
    for (const [queue, positions] of Object.entries(queues)) {
      const { units } = queueOf(open, queue.slice(0, -2), 0);
      const found = units.map((unit) => [unit.queueOffset, unit.physicalOffset]);
      expect(found, queue).toEqual(positions.map((position, index) => [index, position]));
    }
    await open.store.close();
  });
});

describe('a strict mode', () => {
  it('refuses a log without checksums and leaves it as it is, unless told to cut (Q37)', async () => {
    const { openedWith } = expected.get('crc-off')!.variants!['forced']!;
    const dir = unpack('crc-off');
    const before = treeOf(dir);
    const opening = MessageStore.open({ ...optionsOf(dir, openedWith), adopt: true });
    await expect(opening).rejects.toMatchObject({ code: 'STORE_CORRUPT_LOG', offset: 0 });
    expect(treeOf(dir)).toEqual(before);
  });
});

describe('damage', () => {
  it('far before the end is named by reads that verify, and passed (torn-early)', async () => {
    const { openedWith, opened } = expected.get('torn-early')!;
    const options = optionsOf(unpack('torn-early'), openedWith);
    const store = await MessageStore.open({ ...options, ...adopting });
    const { messages, damaged, nextOffset } = store.queue('t', 1).read(0, { verify: true });
    expect(damaged).toEqual([{ offset: 1, physicalOffset: opened.unreadableAt }]);
    expect(messages.map(({ offset }) => offset)).not.toContain(1);
    expect(nextOffset).toBe(12);
    await store.close();
  });

  // In torn-early the damage is no tail; torn-blank ends with a blank record, which holds nothing.
  const torn = storeNames.filter((name) => /^torn-(?!early|blank)/.test(name));
  it.each(torn)('at the end is kept aside, and zeros follow (Q15): %s', async (name) => {
    const dir = unpack(name);
    const log = path.join(dir, 'commitlog', '0'.repeat(20));
    const before = readFileSync(log);
    const options = optionsOf(dir, expected.get(name)!.openedWith);
    const open = await OpenStore.writer({ ...options, ...adopting });
    const end = open.logEnd;
    const { cut } = open.store.recovery;
    await open.store.close();
    const after = readFileSync(log);
    expect(after.subarray(0, end)).toEqual(before.subarray(0, end));
    expect(after.subarray(end).every((byte) => byte === 0)).toBe(true);
    const lost = before.subarray(end);
    const bytes = lost.length - [...lost].reverse().findIndex((byte) => byte !== 0);
    if (lost.every((byte) => byte === 0)) return expect(cut?.savedTo).toBeUndefined();
    expect(cut).toMatchObject({ from: end, bytes });
    expect(readFileSync(cut!.savedTo!)).toEqual(lost.subarray(0, bytes));
  });
});
