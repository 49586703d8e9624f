/** Where groups are in queues: committed, asked for, listed. */
import { realpathSync } from 'node:fs';
import { BrokerOffsets, type ContentStamp } from './broker-offsets.ts';
import { textOf, within } from './checks.ts';
import type { ConsumerOffset, ConsumerOffsetFile } from './consumer-offset-json.ts';
import { asking, failureOf, rangeMistake, StoreError } from './errors.ts';
import type { NativeStore, RecoveryNote } from './native.ts';
import { OUT_OFFSET, OUT_STATUS } from './native.ts';

export interface ConsumerOffsetsOptions {
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
  /** 1 to 2^31 - 1; default 1000. */
  readonly limit?: number | undefined;
}

export interface ConsumerOffsetsPage {
  readonly offsets: ConsumerOffset[];
  /** Where the next page begins; absent on the last. */
  readonly cursor?: string;
}

/** A group's name, as RocketMQ allows it. */
export function groupOf(group: unknown): string {
  const name = textOf(group, 'group');
  if (/^[%|a-zA-Z0-9_-]{1,255}$/.test(name)) return name;
  throw rangeMistake('STORE_INVALID_GROUP', `${JSON.stringify(name)} cannot name a group.`);
}

/** Of all stores of this process: directory, queue and group that have a follower. */
const followed = new Set<string>();

export class Offsets {
  readonly #native: NativeStore;
  readonly #broker: BrokerOffsets;
  readonly #readOnly: boolean;
  readonly #directory: string;
  readonly #following = new Set<string>();

  constructor(native: NativeStore, directory: string, readOnly: boolean) {
    this.#native = native;
    this.#readOnly = readOnly;
    this.#directory = realpathSync(directory);
    this.#broker = new BrokerOffsets(native, directory);
  }

  /** Takes in what RocketMQ wrote since we last looked; says what could not be. */
  load(): Promise<RecoveryNote[]> {
    return this.#broker.load();
  }

  commit(topic: string, queueId: number, group: string, offset: number): void {
    const native = this.#native;
    native.commit(group, topic, queueId, offset);
    if (native.out[OUT_STATUS] !== 0) throw failureOf(native.lastError());
  }

  committed(topic: string, queueId: number, group: string): number | undefined {
    this.#look();
    const native = this.#native;
    native.committed(group, topic, queueId);
    if (native.out[OUT_STATUS] !== 0) throw failureOf(native.lastError());
    const offset = native.out[OUT_OFFSET] as number;
    return offset < 0 ? undefined : offset;
  }

  groups(): string[] {
    this.#look();
    return asking(() => this.#native.groups());
  }

  page(options: ConsumerOffsetsOptions): ConsumerOffsetsPage {
    const cursor = within(Number(textOf(options.cursor ?? '0', 'cursor')), 'cursor', 0, 2 ** 53);
    const limit = within(options.limit ?? 1000, 'limit', 1, 2 ** 31 - 1);
    this.#look();
    const page = asking(() => this.#native.consumerOffsets(cursor, limit));
    return page.cursor < 0
      ? { offsets: page.offsets }
      : { offsets: page.offsets, cursor: String(page.cursor) };
  }

  /** Takes in what RocketMQ wrote meanwhile, in a store that is written too. */
  refresh(): void {
    this.#broker.refresh();
  }

  /**
   * That a file of RocketMQ's in this directory now has this content, which is ours: it is not
   * taken in when the directory is opened again.
   */
  noteWritten(file: ConsumerOffsetFile, content: ContentStamp): void {
    this.#broker.noteWritten(file, content);
  }

  /** Takes a queue for a group's follower; what it gives ends that. */
  follow(topic: string, queueId: number, group: string): () => void {
    const key = JSON.stringify([this.#directory, topic, queueId, group]);
    if (followed.has(key)) {
      throw new StoreError(
        'STORE_GROUP_BUSY',
        `Group ${group} already has a follower of queue ${queueId} of ${topic}.`,
      );
    }
    followed.add(key);
    this.#following.add(key);
    let held = true;
    return () => {
      // Once: the group may have another follower by the second time.
      if (held && this.#following.delete(key)) followed.delete(key);
      held = false;
    };
  }

  /** The store is closed: nothing follows any more. */
  end(): void {
    for (const key of this.#following) followed.delete(key);
    this.#following.clear();
  }

  #look(): void {
    if (this.#readOnly) this.#broker.refresh();
  }
}
