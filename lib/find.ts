/**
 * Search in a topic, newest first. By key: candidates from the key index, judged by the records
 * themselves. By time alone: find-recent.ts.
 */
import { textOf, timeOf, within } from './checks.ts';
import type { Trace } from './errors.ts';
import { recent } from './find-recent.ts';
import { signalOf } from './follow-options.ts';
import type { Session } from './session.ts';
import type { StoredMessage } from './stored-message.ts';
import { wellFormed } from './text.ts';

export interface FindOptions {
  readonly topic: string;
  /** One of the message's keys. Without it and `uniqueKey` all messages are found. */
  readonly key?: string | undefined;
  /** The message's UNIQ_KEY, which RocketMQ's clients set. */
  readonly uniqueKey?: string | undefined;
  /** Store times in milliseconds, or dates: from `begin` to `end`, both included. */
  readonly begin?: number | Date | undefined;
  readonly end?: number | Date | undefined;
  /** At most so many messages, the newest; without it, all. */
  readonly max?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Query {
  readonly topic: string;
  readonly key: string | undefined;
  readonly uniqueKey: string | undefined;
  readonly begin: number;
  readonly end: number;
  readonly max: number;
  readonly signal: AbortSignal | undefined;
}

/** A step of a search by key: positions of candidates, and where the next step goes on. */
export interface NativeFound {
  positions: number[];
  file: string;
  number: number;
  done: boolean;
}

/** Messages of a batch. */
const BATCH = 32;
const ALWAYS = Number.MAX_SAFE_INTEGER;

/** Options with everything decided. */
export function queryOf(options: FindOptions): Query {
  const { topic, key, uniqueKey, begin = 0, end = ALWAYS, max, signal } = options;
  const text = (value: string | undefined, name: string) =>
    value === undefined ? undefined : wellFormed(textOf(value, name));
  return {
    topic: wellFormed(textOf(topic, 'topic')),
    key: text(key, 'key'),
    uniqueKey: text(uniqueKey, 'uniqueKey'),
    begin: timeOf(begin, 'begin'),
    end: timeOf(end, 'end'),
    max: max === undefined ? ALWAYS : within(max, 'max', 1, ALWAYS),
    signal: signalOf(signal),
  };
}

export async function* search(
  session: Session,
  query: Query,
  trace: Trace,
): AsyncGenerator<StoredMessage[], void> {
  let left = query.max;
  let batch: StoredMessage[] = [];
  for await (const message of found(session, query, trace)) {
    query.signal?.throwIfAborted(); // one step gives many batches
    if (!matches(message, query)) continue;
    batch.push(message);
    left--;
    if (batch.length < BATCH && left > 0) continue;
    yield batch;
    batch = [];
    if (left === 0) return;
  }
  if (batch.length > 0) yield batch;
}

async function* found(
  session: Session,
  query: Query,
  trace: Trace,
): AsyncGenerator<StoredMessage, void> {
  const { topic, key, uniqueKey } = query;
  if (key === undefined && uniqueKey === undefined) return yield* recent(session, topic, query);
  for await (const position of candidates(session, query, trace)) {
    const message = session.pages.readAt(position, session.config.verify);
    if (message !== undefined) yield message;
  }
}

/** Another key may have the hash, and an entry's time is in whole seconds. */
function matches(message: StoredMessage, query: Query): boolean {
  const { key, uniqueKey, begin, end } = query;
  const { storeTimestamp } = message;
  return (
    message.topic === query.topic &&
    (key === undefined || message.keys.includes(key)) &&
    (uniqueKey === undefined || message.uniqueKey === uniqueKey) &&
    storeTimestamp >= begin &&
    storeTimestamp <= end
  );
}

/** Positions, falling. What a reader's files do not cover yet comes from the log and is newer. */
async function* candidates(session: Session, query: Query, trace: Trace): AsyncGenerator<number> {
  const { topic, begin, end, signal } = query;
  const text = query.uniqueKey ?? (query.key as string);
  const ready = () => {
    signal?.throwIfAborted();
    session.assertOpen();
  };
  ready();
  session.assertReadable();
  const { native } = session;
  let below = Number.POSITIVE_INFINITY;
  if (session.config.native.readOnly) {
    const newest: number[] = [];
    for (let from = -1, done = false; !done; ready()) {
      const step = await session.hold(native.findInLog(topic, text, from), trace);
      for (const position of step.positions) newest.push(position);
      from = step.number;
      done = step.done;
    }
    yield* newest.reverse();
    below = newest.at(-1) ?? below;
  }
  for (let file = '', number = -1, done = false; !done; ) {
    ready();
    const step = await session.hold(native.findByKey(topic, text, begin, end, file, number), trace);
    ready();
    // A message that has the key twice, or is in files and log, has two entries.
    for (const position of step.positions) {
      if (position >= below) continue;
      below = position;
      yield position;
    }
    ({ file, number, done } = step);
  }
}
