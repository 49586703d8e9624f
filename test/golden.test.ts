// Every store that RocketMQ's own store wrote, opened by us: the same answers, field by field, or ours
// with the reason why (test/golden-support/deviations.ts).
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MessageStore } from '../lib/index.ts';
import { addon } from '../lib/native.ts';
import { answersOf, nextOf } from './golden-support/answers.ts';
import { deviationsOf } from './golden-support/deviations.ts';
import type { Answers, Expected, FoundQueue, Row } from './golden-support/expected.ts';
import { keysOfRecords, ourKeys } from './golden-support/keys.ts';
import { OpenStore } from './golden-support/open-store.ts';
import { optionsOf } from './golden-support/options.ts';
import { shownQueue } from './golden-support/queue-files.ts';
import { filesOf } from './golden-support/read-model.ts';
import { expectedOf, storeNames, treeOf, unpack } from './golden-support/stores.ts';
import { theirAnswers, theirNext } from './golden-support/theirs.ts';

const adopting = { adopt: true, repair: 'truncate' } as const;

/** The ways a store is opened: as its answers say first, then its variants. */
function waysOf({ openedWith, opened, variants = {} }: Expected) {
  return Object.entries({ opened: { openedWith, opened }, ...variants });
}

describe.each(storeNames)('%s', (name) => {
  const expected = expectedOf(name);

  it('is described by the inspector, which changes nothing', () => {
    const dir = unpack(name);
    const before = treeOf(dir);
    const { abort, filesBefore, checkpoint = null } = expected.opened;
    const found = addon.inspect(dir) as {
      files: { path: string; size: number }[];
      checkpoint: unknown;
      abort: { present: boolean };
    };
    expect(found.files.map((file) => [file.path, file.size])).toEqual(filesBefore);
    expect(found.checkpoint).toEqual(checkpoint);
    expect(found.abort.present).toBe(abort);
    expect(treeOf(dir)).toEqual(before);
  });

  const loaded = waysOf(expected).filter(([, { opened }]) => opened.loaded);
  it.each(loaded)('gives the same answers when it is adopted: %s', async (way, asked) => {
    const { openedWith, opened } = asked;
    let now = 0;
    const options = { ...optionsOf(unpack(name), openedWith), ...adopting };
    const open = await OpenStore.writer({ ...options, clock: () => now });
    const ours = await answersOf(open, opened);
    const keys = await ourKeys(open.store, opened.keys);
    const ourNext = nextOf(open, opened.next, (time) => {
      now = time;
    });
    const bounds = boundsOf(open.store);
    await open.store.close();
    // From now on it is ours, and opens without being told what to do.
    const again = await MessageStore.open(options.path!);
    expect.soft(boundsOf(again)).toEqual(bounds);
    await again.close();
    const theirs = theirAnswers(opened);
    const next = theirNext(opened);
    for (const { edit, editNext } of deviationsOf(name, way)) {
      edit?.(theirs, filesOf(openedWith));
      editNext?.(next);
    }
    compare(below(ours, opened.unreadableAt), theirs);
    expect.soft(keys, 'keys').toEqual(modelOf(asked, theirs));
    expect.soft(ourNext, 'next').toEqual(next);
  });

  it.each(loaded)('shows its records to a reader, who changes nothing: %s', async (way, asked) => {
    const { openedWith, opened } = asked;
    const dir = unpack(name);
    const tree = treeOf(dir);
    const open = await OpenStore.reader(optionsOf(dir, openedWith));
    const ours = await answersOf(open, opened);
    const keys = await ourKeys(open.store, opened.keys);
    await open.store.close();
    expect(treeOf(dir)).toEqual(tree);
    const theirs = theirAnswers(opened);
    for (const deviation of deviationsOf(name, way)) {
      if (deviation.editReader) deviation.editReader(theirs, filesOf(openedWith));
      else deviation.edit?.(theirs, filesOf(openedWith));
    }
    expect.soft(keys, 'keys').toEqual(modelOf(asked, theirs));
    const end = theirs.log.max;
    expect.soft(ours.log.max, 'end of the log').toBe(shownUpTo(name, way) ?? end);
    // Where queues are as they will be when they are adopted, reads and searches answer the same.
    const queues = theirs.queues.map((queue) => shownQueue(dir, queue, ours.log));
    const whole = (asked: Row) => {
      const same = (queue: FoundQueue) =>
        queue.topic === asked['topic'] && queue.queueId === asked['queueId'];
      return isDeepStrictEqual(queues.find(same), theirs.queues.find(same));
    };
    const before = (look: Answers['looks'][0]) => (look['physicalOffset'] as number) < end;
    const comparable = ({ gets, times, looks }: Answers) => ({
      gets: gets.filter(whole),
      times: times.filter(whole),
      looks: looks.filter(before),
    });
    const { log, files } = ours;
    compare(
      { ...below(ours, Math.min(end, opened.unreadableAt ?? end)), ...comparable(ours) },
      { ...theirs, ...comparable(theirs), log, queues, files },
    );
  });
});

/** What searches by key give: the model that golden-decisions.test.ts holds against theirs. */
function modelOf({ openedWith, opened }: Pick<Expected, 'openedWith' | 'opened'>, theirs: Answers) {
  const indexed = openedWith['messageIndexEnable'] !== false;
  return keysOfRecords(indexed ? theirs.records : [], opened.keys);
}

/** Without the records that the real store could not read, because it looks at checksums here. */
function below(answers: Answers, end = Number.POSITIVE_INFINITY): Answers {
  const records = answers.records.filter((row) => (row['physicalOffset'] as number) < end);
  return { ...answers, records, blanks: answers.blanks.filter((at) => at < end) };
}

function boundsOf(store: MessageStore) {
  const light = store.lmqs().names.map((name) => {
    const { minOffset, maxOffset } = store.lmq(name);
    return { name, minOffset, maxOffset };
  });
  return { topics: store.queues(), light };
}

/** A reader shows whole records on both sides of damage at which a writer would end the log. */
function shownUpTo(store: string, way: string): number | undefined {
  const ends: Record<string, number> = {
    'batches-crc, forced': 1690,
    'crc-off, forced': 13_130,
    'topic-length-units, opened': 577,
    'torn-middle, opened': 4672,
  };
  return ends[`${store}, ${way}`];
}

function compare(ours: Answers, theirs: Answers): void {
  for (const kind of Object.keys(theirs) as (keyof Answers)[]) {
    expect.soft(ours[kind], kind).toEqual(theirs[kind]);
  }
}
