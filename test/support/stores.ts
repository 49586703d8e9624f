// What tests ask of stores again and again.
import { execFileSync } from 'node:child_process';
import {
  isStoreError,
  type LmqsOptions,
  type MessageStoreOptions,
  type Queue,
  type StoredMessage,
  type StoreReader,
} from '../../lib/index.ts';

/** Nothing happens in the background: no sync by the clock, no file made ahead. */
export const quiet = {
  flushIntervalCommitLog: 2147483647,
  flushConsumeQueueThoroughInterval: 2147483647,
  prepareAheadBytes: 0,
  mappedFileSizeCommitLog: 1 << 20,
  mappedFileSizeConsumeQueue: 6000,
} as const satisfies Partial<MessageStoreOptions>;

/** Every message of a queue, page by page. */
export function messagesOf(queue: Queue): StoredMessage[] {
  const messages: StoredMessage[] = [];
  for (let at = queue.minOffset; ; ) {
    const page = queue.read(at);
    messages.push(...page.messages);
    if (page.nextOffset <= at) return messages;
    at = page.nextOffset;
  }
}

/** Every light queue, page by page. */
export function lightQueuesOf(store: StoreReader, options: LmqsOptions = {}): string[] {
  const names: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = store.lmqs({ ...options, cursor });
    names.push(...page.names);
    cursor = page.cursor;
    if (cursor === undefined) return names;
  }
}

export const textsOf = (queue: Queue): string[] => messagesOf(queue).map((one) => one.text());

/** How something fails: class and code, or 'nothing'. */
export function failureOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return described(error);
  }
  return 'nothing';
}

export async function rejectionOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(() => 'nothing', described);
}

function described(error: unknown): string {
  if (!isStoreError(error)) throw error;
  return `${error.constructor.name} ${error.code}`;
}

/** The directory of an open store as a kill or a power cut would leave it. */
export function abandon(dir: string, copy: string): string {
  execFileSync('cp', ['-a', dir, copy]); // which leaves holes out
  return copy;
}
