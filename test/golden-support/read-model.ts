// getMessage and the search by time, by the specification (sections 7.1 and 7.3), for queues of which we decide otherwise than the
// real store: their answers follow from the units that they have here. A test holds the model to the
// real store's answers about all the other queues.
import { javaHash } from '../../lib/java-map.ts';
import type { FoundQueue, Row, Unit } from './expected.ts';

const MOST_BYTES = 262_144;
const MOST_MESSAGES = 32;
const MOST_UNITS = 800;
const LEAST_BYTES = 100;
const UNIT_SIZE = 20;

export interface Files {
  readonly unitsPerFile: number;
  /** How many files one read looks into while it has found nothing. */
  readonly travel: number;
}

export function filesOf(options: Readonly<Record<string, unknown>>): Files {
  return {
    unitsPerFile: (options['mappedFileSizeConsumeQueue'] as number) / UNIT_SIZE,
    travel: (options['travelCqFileNumWhenGetMessage'] as number | undefined) ?? 1,
  };
}

/** The answer to what `asked` asks of a queue, every record of which can be read. */
export function getOf(queue: FoundQueue, asked: Row, files: Files): Row {
  const { topic, queueId, offset, maxMsgNums, maxTotalMsgSize, subscription } = asked;
  const { minOffset, maxOffset } = queue;
  const question = {
    ...{ topic, queueId, offset, maxMsgNums },
    ...(maxTotalMsgSize !== undefined && { maxTotalMsgSize }),
    ...(subscription !== undefined && { subscription }),
  };
  const answer = (status: string, nextBeginOffset: number, found: readonly Unit[] = []) => ({
    ...question,
    ...{ status, nextBeginOffset, minOffset, maxOffset },
    count: found.length,
    bytes: found.reduce((sum, { size }) => sum + size, 0),
    queueOffsets: found.map(({ queueOffset }) => queueOffset),
  });
  const from = offset as number;
  if (maxOffset === 0) return answer('NO_MESSAGE_IN_QUEUE', 0);
  if (from < minOffset) return answer('OFFSET_TOO_SMALL', minOffset);
  if (from === maxOffset) return answer('OFFSET_OVERFLOW_ONE', from);
  if (from > maxOffset) return answer('OFFSET_OVERFLOW_BADLY', maxOffset);
  const limit = Math.max(
    maxTotalMsgSize === undefined ? MOST_BYTES : (maxTotalMsgSize as number),
    LEAST_BYTES,
  );
  const { found, next } = scan(
    queue,
    from,
    maxMsgNums as number,
    Math.min(limit, MOST_BYTES),
    tagsOf(subscription),
    files,
  );
  return answer(found.length > 0 ? 'FOUND' : 'NO_MATCHED_MESSAGE', next, found);
}

function scan(
  queue: FoundQueue,
  from: number,
  count: number,
  bytes: number,
  tags: ReadonlySet<number> | undefined,
  files: Files,
) {
  const found: Unit[] = [];
  const { unitsPerFile, travel } = files;
  const firstFile = Math.floor(from / unitsPerFile);
  let next = from;
  let taken = 0;
  for (const unit of queue.units) {
    const { queueOffset, size, tagsCode } = unit;
    if (queueOffset < from) continue;
    const file = Math.floor(queueOffset / unitsPerFile);
    if (file >= firstFile + (found.length > 0 ? 1 : travel)) break;
    if (found.length > 0 && file > Math.floor((found[0] as Unit).queueOffset / unitsPerFile)) break;
    if (queueOffset - from >= Math.max(MOST_UNITS, count)) break;
    const full = found.length >= Math.min(count, MOST_MESSAGES) || taken + size > bytes;
    if (found.length > 0 && full) break;
    next = queueOffset + 1;
    if (tags !== undefined && !tags.has(tagsCode)) continue;
    found.push(unit);
    taken += size;
  }
  return { found, next };
}

function tagsOf(subscription: unknown): ReadonlySet<number> | undefined {
  if (subscription === undefined || subscription === '*') return undefined;
  return new Set((subscription as string).split('||').map((tag) => javaHash(tag.trim())));
}

/** The answer to what `asked` asks of a queue whose messages were stored in order. */
export function timeOf(queue: FoundQueue, asked: Row, records: readonly Row[]): Row {
  const { topic, queueId, time, boundary } = asked;
  const stored = new Map(records.map((row) => [row['physicalOffset'], row['storeTimestamp']]));
  const timed = queue.units.map(({ queueOffset, physicalOffset }) => ({
    queueOffset,
    storedAt: stored.get(physicalOffset) as number,
  }));
  const found =
    boundary === 'LOWER'
      ? timed.find(({ storedAt }) => storedAt >= (time as number))
      : timed.findLast(({ storedAt }) => storedAt <= (time as number));
  const none = boundary === 'LOWER' ? queue.maxOffset : queue.minOffset;
  return { topic, queueId, time, boundary, offset: found?.queueOffset ?? none };
}
