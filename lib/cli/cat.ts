/** `cat DIR QUEUE`: the messages of one queue, from an offset on. */
import { MessageStore, type Queue, type StoredMessage, type StoreReader } from '../index.ts';
import { CommandError, describe, errorLine } from './errors.ts';
import { DONE, print, printable, printJson, style, UsageError, WRONG } from './output.ts';
import { isLight, lightQueueNames, openQueue, parseQueueName } from './queue-names.ts';
import type { Target } from './target.ts';

const PREVIEW = 100;

interface Options {
  json?: boolean;
  from?: number;
  max?: number;
}

/** The queue that `name` means, or undefined if the store has none of that name. */
function findQueue(reader: StoreReader, name: string): Queue | undefined {
  const parsed = parseQueueName(name);
  if (!parsed)
    throw new UsageError(`'${printable(name)}' is no queue: write topic:id or %LMQ%name`);
  const queue = openQueue(reader, name);
  if (queue.maxOffset > 0) return queue;
  const known = isLight(name)
    ? hasLmq(reader, name)
    : reader.queues(parsed.topic).some(({ queueId }) => queueId === parsed.queueId);
  return known ? queue : undefined;
}

/** For a queue without messages, whose bounds are those of a queue that never was. */
function hasLmq(reader: StoreReader, name: string): boolean {
  for (const found of lightQueueNames(reader, name)) if (found === name) return true;
  return false;
}

const asJson = (message: StoredMessage) => ({ ...message.toJSON(), tags: message.tags ?? null });

function asText(m: StoredMessage): string {
  const at = new Date(m.storeTimestamp);
  const time = Number.isNaN(at.getTime()) ? String(m.storeTimestamp) : at.toISOString();
  // In a stream, so that a character cut in two is left out.
  const bytes = Buffer.from(m.toJSON().body, 'base64');
  const body = new TextDecoder().decode(bytes.subarray(0, PREVIEW), { stream: true });
  const words = [
    time,
    `${m.topic}:${m.queueId}@${m.queueOffset}`,
    ...(m.tags ? [`tags=${m.tags}`] : []),
    ...(m.keys.length > 0 ? [`keys=${m.keys.join(' ')}`] : []),
    `${bytes.length} B`,
  ];
  const head = `${style('bold', String(m.offset))}  ${printable(words.join('  '))}`;
  return `${head}  ${style('dim', printable(body) + (bytes.length > PREVIEW ? '…' : ''))}`;
}

export async function cat(target: Target, name: string, options: Options): Promise<number> {
  const reader = await MessageStore.openReader(target);
  try {
    const queue = findQueue(reader, name);
    if (!queue) {
      const hint = '`lmq-store queues DIR` lists those that are there.';
      throw new CommandError(
        'QUEUE_NOT_FOUND',
        `there is no queue ${name} in ${target.path}`,
        hint,
      );
    }
    let left = options.max ?? Number.POSITIVE_INFINITY;
    let next = Math.max(options.from ?? 0, queue.minOffset);
    let bad = 0;
    while (left > 0 && next < queue.maxOffset) {
      const page = queue.read(next, { maxMessages: Math.min(left, 256) });
      for (const message of page.messages) {
        await (options.json ? printJson(asJson(message)) : print(asText(message)));
      }
      for (const { offset, physicalOffset } of page.damaged ?? []) {
        const message = `the record at ${physicalOffset}, offset ${offset} of ${name}, is damaged`;
        const error = describe({ code: 'STORE_CORRUPT_RECORD', message, offset });
        if (options.json) await printJson({ error });
        else process.stderr.write(`${errorLine(error)}\n`);
        bad++;
      }
      left -= page.messages.length;
      if (page.nextOffset <= next) break;
      next = page.nextOffset;
    }
    return bad > 0 ? WRONG : DONE;
  } finally {
    await reader.close();
  }
}
