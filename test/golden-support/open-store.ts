// A store opened by us, with the parts of it that only tests look into.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { MessageStore, type MessageStoreOptions, StoreReader } from '../../lib/index.ts';
import { FIELD, FIELDS, OUT_COUNT } from '../../lib/native.ts';
import { Session } from '../../lib/session.ts';
import type { Unit } from './expected.ts';
import { unitsInFiles } from './queue-files.ts';
import { countedFiles } from './stores.ts';

const LOG_FILE = /^commitlog\/\d{20}$/;

export class OpenStore<S extends StoreReader = StoreReader> {
  readonly path: string;
  readonly store: S;
  readonly #session: Session;
  readonly #fields = new Float64Array(FIELDS);
  #page = Buffer.alloc(1 << 16);

  private constructor(session: Session, store: S) {
    this.#session = session;
    this.store = store;
    this.path = session.config.native.path;
  }

  static async writer(options: MessageStoreOptions): Promise<OpenStore<MessageStore>> {
    const session = await Session.open(options, false, { stack: '' });
    return new OpenStore(session, new MessageStore(session));
  }

  static async reader(options: MessageStoreOptions): Promise<OpenStore> {
    const session = await Session.open(options, true, { stack: '' });
    return new OpenStore(session, new StoreReader(session));
  }

  get logMin(): number {
    return this.#session.native.logMin();
  }
  get logEnd(): number {
    return this.#session.native.logEnd();
  }

  /** The first of them: they all have one size, and the directory may decide it. */
  get logFileSize(): number {
    return (
      countedFiles(this.path).find(([name, size]) => LOG_FILE.test(name) && size > 0)?.[1] ?? 0
    );
  }

  /** What native reads of a record and no user sees. */
  hidden(physicalOffset: number, size: number): { bodyCrc: number; version: number } {
    if (size > this.#page.length) this.#page = Buffer.alloc(size);
    const { native } = this.#session;
    native.readAt(physicalOffset, false, this.#page, this.#fields);
    if (native.out[OUT_COUNT] !== 1) throw new Error(`No record at ${physicalOffset}.`);
    const { bodyCrc, version } = FIELD;
    return { bodyCrc: this.#fields[bodyCrc] as number, version: this.#fields[version] as number };
  }

  recordBytes(position: number, size: number): Buffer {
    const log = path.join(this.path, 'commitlog');
    const file = readdirSync(log)
      .filter((name) => /^\d{20}$/.test(name) && Number(name) <= position)
      .sort()
      .at(-1) as string;
    return readFileSync(path.join(log, file))
      .subarray(position - Number(file))
      .subarray(0, size);
  }

  /** The units in the files of a topic's queue, as far as its bounds reach. */
  fileUnits(topic: string, queueId: number): Unit[] {
    const { minOffset, maxOffset } = this.store.queue(topic, queueId);
    return unitsInFiles(this.path, topic, queueId).filter(
      ({ queueOffset }) => queueOffset >= minOffset && queueOffset < maxOffset,
    );
  }
}
