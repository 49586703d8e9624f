// Queues as they lie in the files of a directory that the real store wrote, light queues too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type FoundQueue, queueWith, type Unit } from './expected.ts';

const UNIT_SIZE = 20;
/** Of a unit that only fills a place. */
const BLANK = 0x7fffffff;

/** The units from the first byte on up to the first that is none. */
export function unitsInFiles(dir: string, topic: string, queueId: number): Unit[] {
  const files = path.join(dir, 'consumequeue', topic, String(queueId));
  if (!existsSync(files)) return [];
  const units: Unit[] = [];
  for (const name of readdirSync(files).sort()) {
    const bytes = readFileSync(path.join(files, name));
    for (let at = 0; at < bytes.length; at += UNIT_SIZE) {
      const size = bytes.readInt32BE(at + 8);
      if (size <= 0) return units;
      units.push({
        queueOffset: (Number(name) + at) / UNIT_SIZE,
        physicalOffset: Number(bytes.readBigInt64BE(at)),
        size,
        tagsCode: tagsCodeOf(dir, `${topic}/${queueId}`, bytes.readBigInt64BE(at + 12)),
      });
    }
  }
  return units;
}

/** Where a tags code is the address of an extension, the one that stands there (spec 5.5). */
function tagsCodeOf(dir: string, queue: string, tagsCode: bigint): number {
  if (tagsCode >= -(2n ** 31n)) return Number(tagsCode);
  const files = path.join(dir, 'consumequeue_ext', queue);
  const at = Number(tagsCode + 2n ** 63n);
  const [file] = readdirSync(files)
    .filter((name) => Number(name) <= at)
    .sort()
    .slice(-1);
  return Number(readFileSync(path.join(files, file!)).readBigInt64BE(at - Number(file) + 2));
}

/** The last record that any queue has: a kill may have come between its units, so it is looked at again. */
function lastRecordIn(dir: string): number {
  const root = path.join(dir, 'consumequeue');
  const queues = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  const last = queues
    .filter((queue) => /^[^/]+\/\d+$/.test(queue))
    .map((queue) => unitsInFiles(dir, path.dirname(queue), Number(path.basename(queue))).at(-1))
    .map((unit) => unit?.physicalOffset ?? 0);
  return Math.max(0, ...last);
}

/**
 * What a reader sees of a queue which, once adopted, is `adopted`: what lies in its files, and the
 * records that no queue has yet. Not what has expired, and of light queues what can be read already.
 */
export function shownQueue(
  dir: string,
  adopted: FoundQueue,
  { min, max }: { min: number; max: number },
): FoundQueue {
  const { topic, queueId } = adopted;
  const isLight = topic.startsWith('%LMQ%');
  // A light queue has no other queues than 0: another one comes of offsets that were made up (Q21).
  if (isLight && queueId !== 0) return queueWith(topic, queueId, 0, 0, []);
  const from = lastRecordIn(dir);
  const inFiles = unitsInFiles(dir, topic, queueId);
  const has = ({ physicalOffset }: Unit) =>
    physicalOffset <= (inFiles.at(-1)?.physicalOffset ?? -1);
  const units = [
    ...inFiles,
    ...adopted.units.filter((unit) => unit.physicalOffset >= from && !has(unit)),
  ];
  const left = units.filter((unit) => unit.size !== BLANK && unit.physicalOffset >= min);
  const whole = left.filter((unit) => unit.physicalOffset + unit.size <= max);
  const maxOffset = (units.at(-1)?.queueOffset ?? -1) + 1;
  const minOffset = left[0]?.queueOffset ?? maxOffset;
  return queueWith(topic, queueId, minOffset, maxOffset, isLight ? whole : left);
}

/** The light queues that have files, where every record of the log is there. */
export function lightQueuesIn(dir: string): FoundQueue[] {
  const names = readdirSync(path.join(dir, 'consumequeue'));
  return names
    .filter((name) => name.startsWith('%LMQ%'))
    .map((name) => {
      const units = unitsInFiles(dir, name, 0);
      return queueWith(name, 0, 0, units.length, units);
    });
}
