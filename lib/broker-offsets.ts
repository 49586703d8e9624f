/**
 * The consumer offsets that a broker left in `config/`. A file that has changed since it was last
 * read wins over ours: whoever changed it had the directory after us.
 */
import { readFileSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  CONSUMER_OFFSET_FILES,
  type ConsumerOffset,
  type ConsumerOffsetFile,
} from './consumer-offset-json.ts';
import { ConsumerOffsetParser } from './consumer-offset-parser.ts';
import { failureOf } from './errors.ts';
import type { NativeStore, RecoveryNote } from './native.ts';
import { OUT_OFFSET, OUT_STATUS } from './native.ts';

/** A million offsets take about 50 MB. */
export const MAX_OFFSET_FILE = 256 * 1024 * 1024;
/** Offsets set back that are noted one by one. */
const MAX_LOWERED = 20;
/** Between two chances for the event loop: a few ms. */
const AT_ONCE = 20_000;

interface Found {
  readonly number: number;
  readonly stamp: number;
  readonly time: number;
  readonly file: string;
  readonly offsets: ConsumerOffset[];
}

/** Work that may pause where it yields. */
type Work<T> = Generator<void, T>;

export class BrokerOffsets {
  readonly #native: NativeStore;
  readonly #config: string;
  /** Of the files as they were last looked at. */
  #seen = '';
  /** When a reader may look again, by performance.now(). */
  #notBefore = 0;

  constructor(native: NativeStore, directory: string) {
    this.#native = native;
    this.#config = path.join(directory, 'config');
  }

  /** Gives the event loop its turn every few ms. */
  async load(): Promise<RecoveryNote[]> {
    const work = this.#load();
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
      await setImmediate();
    }
  }

  /** A reader beside a broker, which writes its files every few seconds. */
  refresh(): void {
    const begun = performance.now();
    if (begun < this.#notBefore || this.#look() === this.#seen) return;
    const work = this.#load();
    let pauses = 0;
    while (!work.next().done) pauses++;
    // Reading very many takes long: never more than a tenth of the time goes into it.
    const now = performance.now();
    if (pauses > 0) this.#notBefore = now + 9 * (now - begun);
  }

  noteWritten(name: ConsumerOffsetFile, { value }: ContentStamp): void {
    this.#native.noteOffsetSource(CONSUMER_OFFSET_FILES.indexOf(name), value);
  }

  *#load(): Work<RecoveryNote[]> {
    this.#seen = this.#look();
    const notes: RecoveryNote[] = [];
    const changed: Found[] = [];
    for (const [number, name] of CONSUMER_OFFSET_FILES.entries()) {
      const found = yield* this.#read(name, number, notes);
      if (found) changed.push(found);
    }
    // Switching light queues on or off changes which of the two a broker writes.
    changed.sort((a, b) => a.time - b.time);
    for (const found of changed) yield* this.#take(found, notes);
    return notes;
  }

  #look(): string {
    const looks = CONSUMER_OFFSET_FILES.map((name) => {
      try {
        const stat = statOf(path.join(this.#config, `${name}.json`));
        return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : '';
      } catch (error) {
        return String(error); // said once more where the file is read
      }
    });
    return looks.join();
  }

  /** A file that has changed; as a broker does, what it kept before where the file is damaged. */
  *#read(name: string, number: number, notes: RecoveryNote[]): Work<Found | undefined> {
    for (const suffix of ['.json', '.json.bak']) {
      const file = path.join(this.#config, name + suffix);
      try {
        const stat = statOf(file);
        if (!stat) continue;
        if (stat.size > MAX_OFFSET_FILE)
          throw new RangeError(`it has more than ${MAX_OFFSET_FILE} bytes`);
        const bytes = readFileSync(file);
        const stamp = new ContentStamp().add(bytes).value;
        if (stamp === this.#native.offsetSource(number)) return undefined;
        const parser = new ConsumerOffsetParser(bytes.toString());
        while (!parser.step(AT_ONCE)) yield;
        return { number, stamp, time: stat.mtimeMs, file, offsets: parser.offsets };
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const message = `Consumer offsets could not be read from the file: ${why}`;
        notes.push({ code: 'STORE_CORRUPT_FILE', message, path: file });
      }
    }
    return undefined;
  }

  *#take({ number, stamp, file, offsets }: Found, notes: RecoveryNote[]): Work<void> {
    const native = this.#native;
    let lowered = 0;
    const note = (code: string, message: string, offset: number) => {
      if (++lowered <= MAX_LOWERED) notes.push({ code, message, path: file, offset });
    };
    for (const [i, { group, topic, queueId, offset }] of offsets.entries()) {
      if (i % AT_ONCE === AT_ONCE - 1) yield;
      native.restore(group, topic, queueId, offset);
      const where = `queue ${queueId} of ${topic}`;
      if (native.out[OUT_STATUS] !== 0) {
        const { code, message } = failureOf(native.lastError());
        // A name that RocketMQ could not have: the others count all the same.
        if (code !== 'STORE_INVALID_ARGUMENT') throw failureOf(native.lastError());
        note(code, `An offset of group ${group} in ${where} is left out. ${message}`, offset);
        continue;
      }
      const kept = native.out[OUT_OFFSET] as number;
      if (kept === offset) continue;
      const message = `Group ${group} was at ${offset} of ${where}, which ends at ${kept}: set back to the end.`;
      note('STORE_OFFSET_TOO_LARGE', message, offset);
    }
    if (lowered > MAX_LOWERED) {
      const message = `${lowered - MAX_LOWERED} more offsets were set back to the end or left out.`;
      notes.push({ code: 'STORE_OFFSET_TOO_LARGE', message, path: file });
    }
    native.noteOffsetSource(number, stamp);
  }
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** What a file holds, as a number that is exact in a double. */
export class ContentStamp {
  #crc = 0;
  #length = 0;

  add(bytes: Buffer): this {
    this.#crc = crc32(bytes, this.#crc);
    this.#length += bytes.length;
    return this;
  }

  /** Never 0. */
  get value(): number {
    return this.#crc * 2 ** 20 + (this.#length % 2 ** 20) + 1;
  }
}
