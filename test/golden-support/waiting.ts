// What the real store answered and we cannot be asked yet: each such answer by name. A later issue
// takes names off this list.
import type { Answers, FoundQueue } from './expected.ts';

/** What a store holds that is not served yet. */
const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  // Consume-queue extensions: a tags code may be an address in another file.
  'cq-ext': ['tags codes of t:0', 'gets by tag of t:0'],
  // A batch consume queue: one unit of 46 bytes for the messages of one record.
  'inner-batch': ['queues', 'gets', 'times', 'queue files', 'results'],
};

/** Names of all answers that are not compared. */
export function waitingAnswers(): string[] {
  return Object.entries(SPECIAL).flatMap(([store, answers]) =>
    answers.map((answer) => `${store}: ${answer}`),
  );
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
