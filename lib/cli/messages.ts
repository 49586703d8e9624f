/** Messages as commands show them: one line each, as text or JSON. */
import type { DamagedRecord, Queue, StoredMessage } from '../index.ts';
import { describe, errorLine } from './errors.ts';
import { print, printable, printJson, style } from './output.ts';

/** Bytes of a body that a line shows. */
const PREVIEW = 100;

export const messageJson = (message: StoredMessage) => ({
  ...message.toJSON(),
  tags: message.tags ?? null,
});

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

export function printMessage(message: StoredMessage, json: boolean | undefined): Promise<void> {
  return json ? printJson(messageJson(message)) : print(asText(message));
}

/** Names a record that is not shown: where the messages are objects, so is this. */
async function printDamage(
  { offset, physicalOffset }: DamagedRecord,
  queue: string,
  json: boolean | undefined,
): Promise<void> {
  const message = `the record at ${physicalOffset}, offset ${offset} of ${queue}, is damaged`;
  const error = describe({ code: 'STORE_CORRUPT_RECORD', message, offset });
  if (json) await printJson({ error });
  else process.stderr.write(`${errorLine(error)}\n`);
}

/** Prints what there is from an offset on; tells where that ended, and whether something was damaged. */
export async function printPages(
  queue: Queue,
  name: string,
  from: number,
  { json, max, signal }: { json?: boolean; max?: number; signal?: AbortSignal },
): Promise<{ next: number; bad: boolean }> {
  let left = max ?? Number.POSITIVE_INFINITY;
  let next = from;
  let bad = false;
  while (left > 0 && next < queue.maxOffset && !signal?.aborted) {
    const page = queue.read(next, { maxMessages: Math.min(left, 256) });
    for (const message of page.messages) {
      if (signal?.aborted) break;
      await printMessage(message, json);
    }
    for (const damaged of page.damaged ?? []) await printDamage(damaged, name, json);
    bad ||= page.damaged !== undefined;
    left -= page.messages.length;
    if (page.nextOffset <= next) break;
    next = page.nextOffset;
  }
  return { next, bad };
}
