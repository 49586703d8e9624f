/**
 * The consumer offsets that a broker left in `config/`. A file that has changed since it was last
 * read wins over ours: whoever changed it had the directory after us.
 */
import { readFileSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { type ConsumerOffset, parseConsumerOffsets } from './consumer-offset-json.ts';
import { failureOf } from './errors.ts';
import type { NativeStore, RecoveryNote } from './native.ts';
import { OUT_OFFSET, OUT_STATUS } from './native.ts';

/** By their numbers in native. */
const NAMES = ['consumerOffset', 'lmqConsumerOffset'] as const;
export type BrokerOffsetsName = (typeof NAMES)[number];

/** A million offsets take about 50 MB. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Offsets set back that are noted one by one. */
const MAX_LOWERED = 20;

interface Found {
  readonly number: number;
  readonly stamp: number;
  readonly time: number;
  readonly file: string;
  readonly offsets: ConsumerOffset[];
}

export class BrokerOffsets {
  readonly #native: NativeStore;
  readonly #config: string;
  /** Of the files as they were last looked at. */
  #seen = '';

  constructor(native: NativeStore, directory: string) {
    this.#native = native;
    this.#config = path.join(directory, 'config');
  }

  load(): RecoveryNote[] {
    this.#seen = this.#look();
    const notes: RecoveryNote[] = [];
    const changed = NAMES.map((name, number) => this.#read(name, number, notes)).filter(
      (found) => found !== undefined,
    );
    // Switching light queues on or off changes which of the two a broker writes.
    changed.sort((a, b) => a.time - b.time);
    for (const found of changed) this.#take(found, notes);
    return notes;
  }

  /** A reader beside a broker, which writes its files every few seconds. */
  refresh(): void {
    if (this.#look() !== this.#seen) this.load();
  }

  noteWritten(name: BrokerOffsetsName, content: string): void {
    this.#native.noteOffsetSource(NAMES.indexOf(name), stampOf(Buffer.from(content)));
  }

  #look(): string {
    const files = NAMES.map((name) => statOf(path.join(this.#config, `${name}.json`)));
    return files.map((s) => (s ? `${s.ino} ${s.size} ${s.mtimeMs}` : '')).join();
  }

  /** A file that has changed; as a broker does, what it kept before where the file is damaged. */
  #read(name: string, number: number, notes: RecoveryNote[]): Found | undefined {
    for (const suffix of ['.json', '.json.bak']) {
      const file = path.join(this.#config, name + suffix);
      const stat = statOf(file);
      if (!stat) continue;
      try {
        if (stat.size > MAX_BYTES) throw new RangeError(`it has more than ${MAX_BYTES} bytes`);
        const bytes = readFileSync(file);
        const stamp = stampOf(bytes);
        if (stamp === this.#native.offsetSource(number)) return undefined;
        const offsets = parseConsumerOffsets(bytes.toString());
        return { number, stamp, time: stat.mtimeMs, file, offsets };
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const message = `Consumer offsets could not be read from the file: ${why}`;
        notes.push({ code: 'STORE_CORRUPT_FILE', message, path: file });
      }
    }
    return undefined;
  }

  #take({ number, stamp, file, offsets }: Found, notes: RecoveryNote[]): void {
    const native = this.#native;
    let lowered = 0;
    const note = (code: string, message: string, offset: number) => {
      if (++lowered <= MAX_LOWERED) notes.push({ code, message, path: file, offset });
    };
    for (const { group, topic, queueId, offset } of offsets) {
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
  return statSync(file, { throwIfNoEntry: false });
}

/** Never 0, and exact in a double. */
function stampOf(bytes: Buffer): number {
  return crc32(bytes) * 2 ** 20 + (bytes.length % 2 ** 20) + 1;
}
