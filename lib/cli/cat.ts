/** `cat DIR QUEUE`: the messages of one queue, from an offset on. */
import { MessageStore } from '../index.ts';
import { findQueue } from './find-queue.ts';
import { printPages } from './messages.ts';
import { DONE, WRONG } from './output.ts';
import type { Target } from './target.ts';

interface Options {
  json?: boolean;
  from?: number;
  max?: number;
}

export async function cat(target: Target, name: string, options: Options): Promise<number> {
  const reader = await MessageStore.openReader(target);
  try {
    const queue = findQueue(reader, target.path, name);
    const from = Math.max(options.from ?? 0, queue.minOffset);
    const { bad } = await printPages(queue, name, from, options);
    return bad ? WRONG : DONE;
  } finally {
    await reader.close();
  }
}
