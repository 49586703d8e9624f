/** What the demo's parent and its writer agree on. */
import { Random } from './demo-random.ts';

/** File descriptors of the writer. */
export const ACKNOWLEDGEMENTS = 3;
export const CREDIT = 4;
/** The line after the last acknowledgement: the writer had nothing left to do. */
export const END = 'end\n';

/** What the messages are; the same in every round. */
export interface Plan {
  readonly dir: string;
  readonly seed: number;
  readonly queues: number;
  /** A directory whose messages are replayed. */
  readonly from: string | undefined;
}

export interface Job extends Plan {
  /** Messages `first` to `end` - 1 are to be written. */
  readonly first: number;
  readonly end: number;
  /** One byte of credit allows so many messages more. */
  readonly window: number;
}

/** One line of the writer. */
export interface Acknowledgement {
  readonly index: number;
  readonly physicalOffset: number;
  readonly queueOffset: number;
  readonly ns: number;
  /** As in the record: digits joined by ','. */
  readonly lmqOffsets: string;
}

/** A part of the list that names no light queue has an empty place among the offsets, as in the record. */
export const offsetsText = (offsets: readonly number[]): string =>
  offsets.map((offset) => (offset < 0 ? '' : offset)).join(',');

export const MIN_MESSAGES_PER_PART = 4;

/**
 * How far the writer may be ahead of what the parent has read, so that it is still at work when the
 * parent kills it. Only a short run feels it: a long one is held back by the pipe before.
 */
export function windowOf(messages: number, rounds: number): number {
  return Math.min(Math.max(Math.floor(messages / (16 * (rounds + 1))), 1), 4096);
}

/**
 * After how many acknowledgements the writer of `round` (0 first) is killed, when `first` messages are
 * there already. The run is cut into one part for each round and one for the live round; each kill
 * falls at random into its part, so far before its end that the writer, one window ahead, is in it too.
 */
export function killPoint(
  seed: number,
  messages: number,
  rounds: number,
  round: number,
  first: number,
) {
  const end = Math.floor((messages * (round + 1)) / (rounds + 1)) - 2 * windowOf(messages, rounds);
  return 1 + new Random(seed, -1 - round).below(Math.max(end - first, 1));
}
