// The real store's answers in the form in which they are compared with ours.
import type { Answers, FoundQueue, Opened, Row, Table } from './expected.ts';
import { rowsOf } from './expected.ts';
import { isCounted } from './stores.ts';

const CRC = '__CRC32#';

export function theirAnswers(opened: Opened): Answers {
  const { minPhyOffset, maxPhyOffset } = opened;
  return {
    // An empty log begins at -1 there and at 0 here.
    log: { min: Math.max(0, minPhyOffset), max: maxPhyOffset },
    records: rowsOf(opened.records).map(recordOf),
    blanks: [...opened.blanks],
    queues: rowsOf(opened.queues).map(queueOf),
    otherQueues: [],
    gets: rowsOf(opened.gets).map(getOf),
    times: rowsOf(opened.times),
    looks: rowsOf(opened.looks).map(({ exception, ...row }) => ({ found: false, ...row })),
    files: opened.filesAfter.filter(([name]) => isCounted(name)),
  };
}

export function theirNext(opened: Opened): Row[] {
  return opened.next.map(({ result }) => ({ ...result }));
}

function recordOf(row: Row): Row {
  const { storedPhysicalOffset, keys = '', ...same } = row;
  const properties = row['properties'] as [string, unknown][];
  return {
    ...same,
    keys: (keys as string).split(' ').filter((key) => key !== ''),
    properties,
    shown: properties.filter(([name]) => name !== CRC),
  };
}

function queueOf({ type, maxPhysicOffset, ...row }: Row): FoundQueue {
  const units = rowsOf(row['units'] as Table).map(({ batchNum, ...unit }) => unit);
  // Of a queue of inner batches this is the last record's start, and the next offset is none.
  const end = units.at(-1);
  if (type === 'BatchCQ' && end !== undefined) {
    const maxPhysicOffset = (end['physicalOffset'] as number) + (end['size'] as number);
    return {
      ...row,
      maxPhysicOffset,
      nextOffset: row['maxOffset'],
      units,
    } as unknown as FoundQueue;
  }
  const last = units.length > 0 && { maxPhysicOffset };
  return { ...row, ...last, units } as unknown as FoundQueue;
}

/** Their queue offsets are only stored where they are not simply one behind the other. */
function getOf(row: Row): Row {
  const { offset, count } = row as { offset: number; count: number };
  const simple = Array.from({ length: count }, (_, index) => offset + index);
  return { ...row, queueOffsets: row['queueOffsets'] ?? simple };
}
