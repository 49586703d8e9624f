/** `get DIR ID`: one message, by its offset message id or its position in the commit log. */
import { MessageStore, type StoredMessage, type StoreReader } from '../index.ts';
import { CommandError } from './errors.ts';
import { messageJson } from './messages.ts';
import { DONE, print, printable, printJson, style, UsageError } from './output.ts';
import type { Target } from './target.ts';

/** Of a store host and a position: 32 digits with an IPv4 host, 56 with an IPv6 one. */
const MESSAGE_ID = /^(?:[0-9A-Fa-f]{32}|[0-9A-Fa-f]{56})$/;

function finderOf(id: string): (reader: StoreReader) => StoredMessage | undefined {
  if (MESSAGE_ID.test(id)) return (reader) => reader.getById(id);
  const offset = Number(id);
  if (/^\d+$/.test(id) && Number.isSafeInteger(offset)) return (reader) => reader.getAt(offset);
  throw new UsageError(`'${printable(id)}' is neither a message id nor an offset of the log`);
}

/** Text, if that is what the body is. */
function bodyText(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  try {
    return printable(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return `${base64} (base64)`;
  }
}

async function printAll(message: StoredMessage): Promise<void> {
  const { properties, body, ...fields } = messageJson(message);
  const row = (name: string, value: unknown) =>
    print(`${style('bold', name.padEnd(26))}${printable(String(value))}`);
  for (const [name, value] of Object.entries(fields)) {
    await row(name, Array.isArray(value) ? value.join(' ') : (value ?? ''));
  }
  for (const [name, value] of Object.entries(properties)) {
    await row(`property ${printable(name)}`, value);
  }
  await print(`${style('bold', 'body'.padEnd(26))}${bodyText(body)}`);
}

export async function get(target: Target, id: string, { json }: { json?: boolean }) {
  const find = finderOf(id);
  const reader = await MessageStore.openReader(target);
  try {
    const message = find(reader);
    if (!message) {
      const hint =
        'An offset is that of a whole record; `lmq-store verify DIR` names damaged ones.';
      throw new CommandError('MESSAGE_NOT_FOUND', `${target.path} has no message ${id}`, hint);
    }
    await (json ? printJson(messageJson(message)) : printAll(message));
    return DONE;
  } finally {
    await reader.close();
  }
}
