// What the real store answered and we cannot be asked yet: each such answer by name. A later issue
// takes names off this list.
import type { Answers, Expected, FoundQueue } from './expected.ts';
import { rowsOf } from './expected.ts';

/** What a store holds that is not served yet, beside searches by key. */
const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  // Consume-queue extensions: a tags code may be an address in another file.
  'cq-ext': ['tags codes of t:0', 'gets by tag of t:0'],
  // A batch consume queue: one unit of 46 bytes for the messages of one record.
  'inner-batch': ['queues', 'gets', 'times', 'queue files', 'results'],
  // Offsets of consumer groups.
  'broker-dir': ['group offsets'],
};

/** Names of all answers that are not compared. */
export function waitingAnswers(stores: ReadonlyMap<string, Expected>): string[] {
  const searches = [...stores].flatMap(([store, { openedWith, opened, variants = {} }]) =>
    Object.entries({ opened: { openedWith, opened }, ...variants }).flatMap(([way, asked]) =>
      (['keys'] as const)
        .filter((kind) => asked.opened.loaded && rowsOf(asked.opened[kind]).length > 0)
        .map((kind) => `${store}, ${way}: ${kind}`),
    ),
  );
  const special = Object.entries(SPECIAL).flatMap(([store, answers]) =>
    answers.map((answer) => `${store}: ${answer}`),
  );
  return [...searches, ...special];
}

/** Takes out of ours and theirs alike what waits. */
export function withoutWaiting(store: string, answers: Answers): Answers {
  if (store === 'inner-batch') {
    const files = answers.files.filter(([name]) => name.startsWith('commitlog/'));
    return { ...answers, queues: [], gets: [], times: [], files };
  }
  if (store !== 'cq-ext') return answers;
  const byTag = (get: Answers['gets'][0]) =>
    get['topic'] === 't' && get['subscription'] !== undefined;
  return {
    ...answers,
    queues: answers.queues.map((queue) => (queue.topic === 't' ? withoutTagsCodes(queue) : queue)),
    gets: answers.gets.filter((get) => !byTag(get) || get['subscription'] === '*'),
  };
}

function withoutTagsCodes(queue: FoundQueue): FoundQueue {
  return { ...queue, units: queue.units.map((unit) => ({ ...unit, tagsCode: 0 })) };
}
