/** `tail DIR QUEUE`: the last messages of a queue and, with -f, those that come. */
import { MessageStore, type Queue } from '../index.ts';
import { assertQueueName, findQueue } from './find-queue.ts';
import { printPages } from './messages.ts';
import { DONE, WRONG } from './output.ts';
import { openQueue } from './queue-names.ts';
import type { Target } from './target.ts';

interface Options {
  json?: boolean;
  follow?: boolean;
  from?: number | Date;
  lines: number;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export async function tail(target: Target, name: string, options: Options): Promise<number> {
  assertQueueName(name);
  const stop = new AbortController();
  // The first signal ends the command, a second one the process.
  const end = () => stop.abort();
  for (const signal of SIGNALS) process.once(signal, end);
  const reader = await MessageStore.openReader(target);
  try {
    // Followed, a queue may come to be later.
    const queue = options.follow ? openQueue(reader, name) : findQueue(reader, target.path, name);
    let next = await placeOf(queue, options);
    let bad = false;
    do {
      const printed = await printPages(queue, name, next, { ...options, signal: stop.signal });
      next = printed.next;
      bad ||= printed.bad;
    } while (options.follow && (await more(queue, next, stop.signal)));
    return bad ? WRONG : DONE;
  } finally {
    await reader.close();
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

async function placeOf(queue: Queue, { from, lines }: Options): Promise<number> {
  const { minOffset, maxOffset } = queue;
  if (from instanceof Date) return maxOffset > 0 ? queue.offsetAt(from) : 0;
  return Math.max(minOffset, from ?? maxOffset - lines);
}

/** Waits until there is something at an offset or behind it; false once it is stopped. */
async function more(queue: Queue, offset: number, signal: AbortSignal): Promise<boolean> {
  const follower = queue.follow({ from: offset, onGap: 'skip', maxMessages: 1, signal });
  try {
    await follower.next();
    await follower.return();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return !signal.aborted;
}
