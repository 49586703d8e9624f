/** Consumer offsets in an export: RocketMQ's two files, written a part at a time. */
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ContentStamp, MAX_OFFSET_FILE } from './broker-offsets.ts';
import {
  CONSUMER_OFFSET_FILES,
  type ConsumerOffset,
  consumerOffsetText,
} from './consumer-offset-json.ts';
import { ConsumerOffsetParser } from './consumer-offset-parser.ts';
import { writeAside } from './copy-target.ts';
import type { ExportWarning } from './export-warnings.ts';
import type { Session } from './session.ts';

const AT_ONCE = 2000;
const VALUES_AT_ONCE = 20_000;

/** Into `config/` of the directory; gives how many offsets there are. */
export async function writeConsumerOffsets(
  session: Session,
  dir: string,
  inPlace: boolean,
  warnings: ExportWarning[],
): Promise<number> {
  let count = 0;
  for (const name of CONSUMER_OFFSET_FILES) {
    const file = join(dir, 'config', `${name}.json`);
    const rest = await restOf(file, warnings);
    const stamp = new ContentStamp();
    count = 0;
    const pages = function* () {
      for (const page of exported(session)) {
        count += page.length;
        yield page;
      }
    };
    const parts = function* () {
      for (const text of consumerOffsetText(name, pages(), rest)) {
        const bytes = Buffer.from(text);
        stamp.add(bytes);
        yield bytes;
      }
    };
    await writeAside(file, parts());
    if (inPlace) session.offsets.noteWritten(name, stamp);
    // What a broker would fall back to is of another moment than the copy.
    else await rm(`${file}.bak`, { force: true });
  }
  return count;
}

function* exported({ native }: Session): Generator<ConsumerOffset[], void> {
  for (let cursor = 0; cursor >= 0; ) {
    const page = native.exportOffsets(cursor, AT_ONCE);
    yield page.offsets;
    cursor = page.cursor;
  }
}

/** What a broker's file holds beside offsets. Of those, ours are what we took from it or newer. */
async function restOf(file: string, warnings: ExportWarning[]): Promise<Map<string, string>> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return new Map();
  try {
    if (found.size > MAX_OFFSET_FILE) throw new RangeError('it is too large');
    const parser = new ConsumerOffsetParser(await readFile(file, 'utf8'));
    while (!parser.step(VALUES_AT_ONCE)) await setImmediate();
    return parser.rest;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warnings.push({
      kind: 'offsetsUnreadable',
      count: 1,
      example: file,
      message: `A file of consumer offsets could not be read (${why}); it was written anew.`,
    });
    return new Map();
  }
}
