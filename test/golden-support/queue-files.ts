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
        tagsCode: Number(bytes.readBigInt64BE(at + 12)),
      });
    }
  }
  return units;
}

/** What a reader sees of it: not what has expired, and of light queues what can be read already. */
export function queueInFiles(
  dir: string,
  topic: string,
  queueId: number,
  logMin: number,
  logEnd: number,
): FoundQueue {
  const isLight = topic.startsWith('%LMQ%');
  // A light queue has no other queues than 0: another one comes of offsets that were made up (Q21).
  const units = isLight && queueId !== 0 ? [] : unitsInFiles(dir, topic, queueId);
  const shown = units.filter((unit) => unit.size !== BLANK && unit.physicalOffset >= logMin);
  const max = (units.at(-1)?.queueOffset ?? -1) + 1;
  const whole = shown.filter((unit) => unit.physicalOffset + unit.size <= logEnd);
  return queueWith(topic, queueId, shown[0]?.queueOffset ?? max, max, isLight ? whole : shown);
}

/** The light queues that have files. */
export function lightQueuesIn(dir: string): FoundQueue[] {
  const names = readdirSync(path.join(dir, 'consumequeue'));
  return names
    .filter((name) => name.startsWith('%LMQ%'))
    .map((name) => queueInFiles(dir, name, 0, 0, Number.POSITIVE_INFINITY));
}
