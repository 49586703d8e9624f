// How answers of the real store are changed into ours where we decide otherwise.
import { type Answers, type FoundQueue, queueWith, type Row, type Unit } from './expected.ts';
import { type Files, getOf, timeOf } from './read-model.ts';
import { type Offsets, withOffsets } from './record-bytes.ts';

type Place = readonly [queueOffset: number, physicalOffset: number];

/** Gives a queue other bounds and units. What reads of it and searches in it answer follows from them. */
export function setQueue(answers: Answers, files: Files, queue: FoundQueue): void {
  const same = (one: { topic?: unknown; queueId?: unknown }) =>
    one.topic === queue.topic && one.queueId === queue.queueId;
  answers.queues = answers.queues.map((one) => (same(one) ? queue : one));
  answers.gets = answers.gets.map((get) => (same(get) ? getOf(queue, get, files) : get));
  answers.times = answers.times.map((asked) =>
    same(asked) ? timeOf(queue, asked, answers.records) : asked,
  );
}

/** A queue whose units point at records of the log. */
export function queueAt(
  answers: Answers,
  topic: string,
  queueId: number,
  places: readonly Place[],
): FoundQueue {
  const units = places.map(([queueOffset, physicalOffset]): Unit => {
    const record = answers.records.find((row) => row['physicalOffset'] === physicalOffset);
    const { size, tagsCode } = record as unknown as Unit;
    return { queueOffset, physicalOffset, size, tagsCode };
  });
  const first = units.at(0)?.queueOffset ?? 0;
  return queueWith(topic, queueId, first, (units.at(-1)?.queueOffset ?? -1) + 1, units);
}

/** A topic's queue as the records in the log number it. */
export function queueOfRecords(answers: Answers, topic: string, queueId: number): FoundQueue {
  const rows = answers.records.filter(
    (row) => row['topic'] === topic && row['queueId'] === queueId,
  );
  const places = rows.map(({ queueOffset, physicalOffset }) => [queueOffset, physicalOffset]);
  return queueAt(answers, topic, queueId, places as unknown as Place[]);
}

function notFound(answers: Answers, position: number): void {
  answers.looks = answers.looks.map((look) =>
    look['physicalOffset'] === position ? { physicalOffset: position, found: false } : look,
  );
}

/** Ends the log at a record: what lies there is none. */
export function endAt(answers: Answers, position: number): void {
  answers.log.max = position;
  answers.records = answers.records.filter((row) => (row['physicalOffset'] as number) < position);
  notFound(answers, position);
}

/** Gives what is put last other offsets. */
export function setOffsets(next: Row[], offsets: readonly Offsets[]): void {
  for (const [index, row] of next.entries()) {
    const { light: _, ...fields } = { ...offsets[index] };
    const record = withOffsets(row['record'] as string, { ...offsets[index] });
    Object.assign(row, fields, { record, size: record.length / 2 });
    row['msgId'] = idAt(row['msgId'] as string, row['physicalOffset'] as number);
  }
}

const POSITION_DIGITS = 16;

function idAt(id: string, position: number): string {
  const digits = position.toString(16).toUpperCase().padStart(POSITION_DIGITS, '0');
  return id.slice(0, -POSITION_DIGITS) + digits;
}
