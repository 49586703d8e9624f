/** `find DIR --topic T`: messages by key, unique key, tag or time, newest first. */
import { MessageStore } from '../index.ts';
import { printMessage } from './messages.ts';
import { DONE, Progress, UsageError } from './output.ts';
import type { Target } from './target.ts';

interface Options {
  json?: boolean;
  topic?: string;
  key?: string;
  uniqueKey?: string;
  tag?: string;
  begin?: Date;
  end?: Date;
  max?: number;
}

export async function find(target: Target, options: Options): Promise<number> {
  const { json, topic, key, uniqueKey, tag, begin, end, max = Number.MAX_SAFE_INTEGER } = options;
  if (topic === undefined) throw new UsageError('missing option --topic');
  if (begin && end && begin > end) throw new UsageError('--begin is later than --end');
  const reader = await MessageStore.openReader(target);
  const progress = new Progress('find');
  try {
    let left = max;
    let newest: number | undefined;
    for await (const batch of reader.find({ topic, key, uniqueKey, begin, end })) {
      for (const message of batch) {
        if (tag !== undefined && message.tags !== tag) continue;
        progress.stop();
        await printMessage(message, json);
        if (--left === 0) return DONE;
      }
      if (left < max) continue; // what was printed shows how far it is
      newest ??= batch[0]!.physicalOffset;
      progress.update(newest - batch.at(-1)!.physicalOffset, newest);
    }
    return DONE;
  } finally {
    progress.stop();
    await reader.close();
  }
}
