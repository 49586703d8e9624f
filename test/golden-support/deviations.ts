// Where we decide otherwise than the real store when a directory is opened: our answer, made from its
// own, and why. `row` is a row of section 9 of the format's specification, or a chapter of the design.
import { endAt, queueAt, queueOfRecords, setOffsets, setQueue } from './edits.ts';
import { type Answers, queueWith, type Row } from './expected.ts';
import type { Files } from './read-model.ts';

export interface Deviation {
  readonly stores: readonly string[];
  /** 'opened' or a variant; all of them, if absent. */
  readonly variant?: string;
  readonly row: string;
  readonly why: string;
  /** Changes its answers into ours. */
  edit?(answers: Answers, files: Files): void;
  /** Into those of a reader, where they are not the same. */
  editReader?(answers: Answers, files: Files): void;
  /** The same for what is put last. */
  editNext?(next: Row[]): void;
}

export const deviations: readonly Deviation[] = [
  {
    stores: ['expired-by-hand', 'expired-by-hand-unclean'],
    row: 'Q58',
    why: 'units of expired records are hidden in every file, not in the first alone',
    edit(answers, files) {
      for (const queueId of [0, 1]) setQueue(answers, files, queueOfRecords(answers, 't', queueId));
    },
  },
  {
    stores: ['extra-files'],
    row: 'Q46',
    why: 'an empty file is removed if it has the name of a log file',
    edit: (answers) => answers.files.splice(1, 0, ['commitlog/zzz', 0]),
  },
  {
    stores: ['inner-batch'],
    row: 'design 8',
    why: 'behind its last message a queue of inner batches has its end, as every other queue has',
    edit(answers) {
      const late = (row: Row) =>
        row['boundary'] === 'LOWER' && (row['time'] as number) > 1_796_053_048_251;
      answers.times = answers.times.map((row) => (late(row) ? { ...row, offset: 27 } : row));
    },
  },
  {
    stores: ['lmq-names'],
    row: 'Q22',
    why: 'a light queue without a name of its own can be read but not be written to',
    editNext: (next) => next.splice(0, 1, { refused: 'STORE_INVALID_LMQ_NAME' }),
  },
  {
    stores: ['lmq-excluded-topics'],
    row: 'Q20',
    why: 'half messages are in no light queue',
    editNext: (next) => setOffsets(next, [{}, {}, { light: null }]),
  },
  {
    stores: ['lmq-offsets-trusted'],
    row: 'Q21',
    why: "offsets that the store did not give out make no queue, so queue 2 of a light queue isn't one",
    edit: (answers, files) => setQueue(answers, files, queueWith('%LMQ%a', 2, 0, 0, [])),
  },
  {
    stores: ['lmq-offsets-trusted'],
    row: 'Q9',
    why: 'blank units before the first unit are no messages',
    edit: (answers, files) => setQueue(answers, files, queueAt(answers, '%LMQ%b', 0, [[3, 452]])),
  },
  {
    stores: ['lmq-trailing'],
    row: 'Q1, Q23, design 7',
    why: 'light queues before a plain name get their message too, from the last unit on',
    edit: lightOfLast,
    editReader(answers, files) {
      lightOfLast(answers, files);
      // A page of a queue that lies in files ends at the place that no message has.
      answers.gets = answers.gets.map((get) => endedAtGap(get, answers));
    },
    editNext: (next) => setOffsets(next, [{ light: '6,4' }]),
  },
  {
    stores: ['queue-short-clean'],
    row: 'Q11',
    why: 'the record at which the longest queue ends is dispatched as well',
    edit(answers, files) {
      for (const queueId of [0, 1]) setQueue(answers, files, queueOfRecords(answers, 't', queueId));
      for (const name of ['%LMQ%a', '%LMQ%b']) {
        const { units } = answers.queues.find(
          ({ topic }) => topic === name,
        ) as Answers['queues'][0];
        const places = units.map((unit) => [unit.queueOffset, unit.physicalOffset] as const);
        setQueue(answers, files, queueAt(answers, name, 0, [...places, [7, 3928]]));
      }
    },
    editNext: (next) => setOffsets(next, [{ queueOffset: 12, light: '8,8' }, { light: '9,9' }]),
  },
  {
    stores: ['queue-zeroed-clean'],
    row: 'Q56',
    why: 'a queue of zeros is noticed and built again',
    edit: (answers, files) => setQueue(answers, files, queueOfRecords(answers, 't', 0)),
    editNext: (next) => setOffsets(next, [{ queueOffset: 12 }]),
  },
  {
    stores: ['torn-copy', 'torn-copy-clean'],
    row: 'Q16',
    why: 'a record that belongs to another position ends the log',
    edit: (answers) => endAt(answers, 4672),
    editNext: (next) => setOffsets(next, [{ physicalOffset: 4672 }, { physicalOffset: 4842 }]),
  },
  {
    stores: ['torn-property-crc'],
    variant: 'not-forced',
    row: 'Q39',
    why: 'a checksum of the whole record is verified wherever there is one',
    edit(answers, files) {
      endAt(answers, 4898);
      setQueue(answers, files, queueOfRecords(answers, 't', 1));
    },
    editNext: (next) =>
      setOffsets(next, [{ physicalOffset: 4898 }, { physicalOffset: 5088, queueOffset: 11 }]),
  },
];

export function deviationsOf(store: string, variant: string): readonly Deviation[] {
  return deviations.filter(
    (one) => one.stores.includes(store) && (one.variant ?? variant) === variant,
  );
}

function lightOfLast(answers: Answers, files: Files): void {
  const [a, b] = answers.queues as [Answers['queues'][0], Answers['queues'][0]];
  const places = ({ units }: typeof a) =>
    units.map((unit) => [unit.queueOffset, unit.physicalOffset] as const);
  setQueue(answers, files, queueAt(answers, '%LMQ%a', 0, [...places(a), [5, 2155]]));
  setQueue(answers, files, queueAt(answers, '%LMQ%b', 0, [...places(b), [3, 2155]]));
}

function endedAtGap(get: Row, { queues }: Answers): Row {
  const offsets = get['queueOffsets'] as number[];
  const first = offsets.filter((offset, index) => offset === offsets[0]! + index);
  if (first.length === offsets.length) return get;
  const { units } = queues.find(({ topic }) => topic === get['topic']) as Answers['queues'][0];
  const found = units.filter(({ queueOffset }) => first.includes(queueOffset));
  return {
    ...get,
    nextBeginOffset: first.at(-1)! + 1,
    count: found.length,
    bytes: found.reduce((sum, { size }) => sum + size, 0),
    queueOffsets: first,
  };
}
