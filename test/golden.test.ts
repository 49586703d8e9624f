// Every store that RocketMQ's own store wrote, opened by us: the same answers, field by field, or ours
// with the reason why.
import { describe, expect, it } from 'vitest';
import { addon } from '../lib/native.ts';
import { answersOf, nextOf } from './golden-support/answers.ts';
import { deviations, deviationsOf } from './golden-support/deviations.ts';
import type { Answers, Expected } from './golden-support/expected.ts';
import { OpenStore } from './golden-support/open-store.ts';
import { optionsOf } from './golden-support/options.ts';
import { filesOf } from './golden-support/read-model.ts';
import { expectedOf, storeNames, treeOf, unpack, workDirectory } from './golden-support/stores.ts';
import { theirAnswers, theirNext } from './golden-support/theirs.ts';

const work = workDirectory();

/** The ways a store is opened: as its answers say first, then its variants. */
function waysOf({ openedWith, opened, variants = {} }: Expected) {
  return Object.entries({ opened: { openedWith, opened }, ...variants });
}

describe.each(storeNames)('%s', (name) => {
  const expected = expectedOf(name);

  it('is described by the inspector, which changes nothing', () => {
    const dir = unpack(name, work);
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

  it.each(waysOf(expected))('gives the same answers when it is adopted: %s', async (way, asked) => {
    const { openedWith, opened } = asked;
    if (!opened.loaded) return;
    let now = 0;
    const open = await OpenStore.writer({
      ...optionsOf(unpack(name, work), openedWith),
      ...({ adopt: true, repair: 'truncate', clock: () => now } as const),
    });
    const ours = answersOf(open, opened, openedWith['mappedFileSizeCommitLog'] as number);
    const ourNext = nextOf(open, opened.next, (time) => {
      now = time;
    });
    await open.store.close();
    const theirs = theirAnswers(opened);
    const next = theirNext(opened);
    for (const { edit, editNext } of deviationsOf(name, way)) {
      edit?.(theirs, filesOf(openedWith));
      editNext?.(next);
    }
    compare(readable(ours, opened.unreadableAt), theirs);
    expect.soft(ourNext, 'next').toEqual(next);
  });
});

/** Without the records that the real store could not read, because it looks at checksums here. */
function readable(answers: Answers, end = Number.POSITIVE_INFINITY): Answers {
  const records = answers.records.filter((row) => (row['physicalOffset'] as number) < end);
  return { ...answers, records, blanks: answers.blanks.filter((at) => at < end) };
}

function compare(ours: Answers, theirs: Answers): void {
  for (const kind of Object.keys(theirs) as (keyof Answers)[]) {
    expect.soft(ours[kind], kind).toEqual(theirs[kind]);
  }
}

void deviations;
