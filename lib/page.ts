/** Reading: native copies a page's records into a buffer that is used again, and lists their fields. */
import { failureOf } from './errors.ts';
import {
  FIELDS,
  type NativePage,
  type NativeStore,
  OUT_BYTES,
  OUT_COUNT,
  OUT_DAMAGED,
  OUT_DAMAGED_LIST,
  OUT_MAX_OFFSET,
  OUT_MIN_OFFSET,
  OUT_NEXT_OFFSET,
  OUT_READ_STATUS,
  OUT_STATUS,
  READ_PAGE_TOO_SMALL,
} from './native.ts';
import { StoredMessage } from './stored-message.ts';

/** RocketMQ's GetMessageStatus by native's numbers; a test holds them to native's list. */
export const readStatuses = [
  'FOUND',
  'NO_MATCHED_MESSAGE',
  'MESSAGE_WAS_REMOVING',
  'OFFSET_FOUND_NULL',
  'OFFSET_OVERFLOW_BADLY',
  'OFFSET_OVERFLOW_ONE',
  'OFFSET_TOO_SMALL',
  'NO_MATCHED_LOGIC_QUEUE',
  'NO_MESSAGE_IN_QUEUE',
  'OFFSET_RESET',
] as const;

export type ReadStatus = (typeof readStatuses)[number];

export interface DamagedRecord {
  readonly offset: number;
  readonly physicalOffset: number;
}

export interface ReadResult {
  readonly status: ReadStatus;
  readonly messages: StoredMessage[];
  /** What to ask for next. */
  readonly nextOffset: number;
  readonly minOffset: number;
  readonly maxOffset: number;
  /** Records that are not delivered because their checksums are wrong. */
  readonly damaged?: DamagedRecord[];
}

/** A read with everything decided. */
export interface Request {
  readonly from: number;
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** Exact tags joined by character 01; '' for all. */
  readonly tags: string;
  readonly verify: boolean;
  readonly durable: boolean;
}

/** The buffer that is kept grows up to this; a larger page gets one of its own. */
const KEPT = 4 * 1024 * 1024;

export class Pages {
  readonly #native: NativeStore;
  readonly #out: Float64Array;
  /** No read gives more messages than this. */
  readonly #most: number;
  #page = Buffer.allocUnsafeSlow(64 * 1024);
  #fields = new Float64Array(32 * FIELDS);

  constructor(native: NativeStore, most: number) {
    this.#native = native;
    this.#out = native.out;
    this.#most = most;
  }

  read(lightQueue: boolean, queue: number, request: Request): ReadResult {
    const { from, maxMessages, maxBytes, tags, verify, durable } = request;
    const rows = Math.max(1, Math.min(maxMessages, this.#most));
    if (rows * FIELDS > this.#fields.length) this.#fields = new Float64Array(rows * FIELDS);
    const page = this.#fill((page) =>
      this.#native.read(
        lightQueue,
        queue,
        from,
        maxMessages,
        maxBytes,
        tags,
        verify,
        durable,
        page,
        this.#fields,
      ),
    );
    return resultOf(this.#out, this.#messages(page));
  }

  readAt(physicalOffset: number, verify: boolean): StoredMessage | undefined {
    const page = this.#fill((page) =>
      this.#native.readAt(physicalOffset, verify, page, this.#fields),
    );
    return this.#messages(page)[0];
  }

  bounds(lightQueue: boolean, queue: number): { minOffset: number; maxOffset: number } {
    if (queue < 0) return { minOffset: 0, maxOffset: 0 };
    this.#native.bounds(lightQueue, queue);
    this.#refuse();
    return { minOffset: this.#number(OUT_MIN_OFFSET), maxOffset: this.#number(OUT_MAX_OFFSET) };
  }

  /** Calls native with the buffer, and again with a larger one as long as it is too small. */
  #fill(read: (page: Buffer) => void): Buffer {
    for (let page = this.#page; ; ) {
      read(page);
      this.#refuse();
      if (this.#number(OUT_READ_STATUS) !== READ_PAGE_TOO_SMALL) return page;
      page = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(this.#number(OUT_BYTES))));
      if (page.length <= KEPT) this.#page = page;
    }
  }

  #messages(page: Buffer): StoredMessage[] {
    const count = this.#number(OUT_COUNT);
    if (count === 0) return [];
    const bytes = this.#number(OUT_BYTES);
    // Not from Node's pool: a caller may transfer the memory, which would take the pool along.
    const own = Buffer.allocUnsafeSlow(bytes);
    page.copy(own, 0, 0, bytes);
    return messagesOf(own, this.#fields, count);
  }

  #refuse(): void {
    if (this.#number(OUT_STATUS) !== 0) throw failureOf(this.#native.lastError());
  }

  #number(at: number): number {
    return this.#out[at] as number;
  }
}

/** What native read off the event loop. */
export function resultOfPage({ out, fields, page }: NativePage): ReadResult {
  return resultOf(out, messagesOf(page, fields, out[OUT_COUNT] as number));
}

function resultOf(out: Float64Array, messages: StoredMessage[]): ReadResult {
  const result = {
    status: readStatuses[out[OUT_READ_STATUS] as number] as ReadStatus,
    messages,
    nextOffset: out[OUT_NEXT_OFFSET] as number,
    minOffset: out[OUT_MIN_OFFSET] as number,
    maxOffset: out[OUT_MAX_OFFSET] as number,
  };
  return out[OUT_DAMAGED] === 0 ? result : { ...result, damaged: damagedOf(out) };
}

/** The messages whose records lie in `own`, one behind the other. */
function messagesOf(own: Buffer, table: Float64Array, count: number): StoredMessage[] {
  // An array on the heap costs less than memory of its own would.
  const fields = new Array<number>(count * FIELDS);
  for (let i = 0; i < fields.length; i++) fields[i] = table[i] as number;
  const messages = new Array<StoredMessage>(count);
  for (let i = 0; i < count; i++) messages[i] = new StoredMessage(own, fields, i);
  return messages;
}

function damagedOf(out: Float64Array): DamagedRecord[] {
  return Array.from({ length: out[OUT_DAMAGED] as number }, (_, i) => ({
    offset: out[OUT_DAMAGED_LIST + 2 * i] as number,
    physicalOffset: out[OUT_DAMAGED_LIST + 2 * i + 1] as number,
  }));
}
