/**
 * The names of light queues: their prefix, which names are safe, how Java splits and joins lists of
 * them, and which messages take part. Nothing else knows this grammar.
 */
import { rangeMistake, typeMistake } from './errors.ts';

export const LMQ_PREFIX = '%LMQ%';
/** The property that holds a message's queue names, and the one with the offsets they got. */
export const DISPATCH = 'INNER_MULTI_DISPATCH';
export const DISPATCH_OFFSETS = 'INNER_MULTI_QUEUE_OFFSET';

const CODE = 'STORE_INVALID_LMQ_NAME';
const MAX_BYTES = 255;
/** Control characters, unpaired surrogates (stored as '?', so two names could become one), and separators. */
const unsafe = /[\p{Cc}\p{Cs},/]/u;

/** The full name of a light queue: checked, with the prefix added where it is missing. */
export function fullLmqName(name: unknown): string {
  if (typeof name !== 'string') throw typeMistake(CODE, 'A light queue name must be a string.');
  const full = name.startsWith(LMQ_PREFIX) ? name : LMQ_PREFIX + name;
  const own = full.slice(LMQ_PREFIX.length);
  if (own === '') throw rangeMistake(CODE, 'A light queue name must not be empty.');
  if (own === '.' || own === '..' || unsafe.test(own)) {
    throw rangeMistake(
      CODE,
      `${quoted(name)} is no light queue name: ',', '/', control characters, '.' and '..' are not allowed.`,
    );
  }
  if (Buffer.byteLength(full) > MAX_BYTES) {
    throw rangeMistake(CODE, `${quoted(name)} is longer than 255 bytes with its prefix.`, {
      limit: MAX_BYTES,
    });
  }
  return full;
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 300 ? `${name.slice(0, 300)}…` : name);
}

/**
 * A light queue name that is made of any texts, reversibly ({@link lmqParts}): different parts never
 * give the same name. `lmqName(...topic.split('/'))` is the queue of an MQTT topic or filter, and is
 * named as RocketMQ MQTT does ('home/room/1' is '%LMQ%home%room%1').
 *
 * Parts are joined by '%'; what a name cannot hold is written as '~' and two hexadecimal digits,
 * an unpaired surrogate as '~u' and four.
 */
export function lmqName(...parts: readonly string[]): string {
  if (parts.length === 0) throw typeMistake(CODE, 'lmqName() needs at least one part.');
  if (parts.some((part) => typeof part !== 'string')) {
    throw typeMistake(CODE, 'The parts of a light queue name must be strings.');
  }
  return fullLmqName(LMQ_PREFIX + joinParts(parts));
}

/** The parts of a name that {@link lmqName} made; undefined for any other. */
export function lmqParts(name: string): string[] | undefined {
  const own = name.startsWith(LMQ_PREFIX) ? name.slice(LMQ_PREFIX.length) : name;
  const parts = own === EMPTY ? [''] : own.split('%').map(unescapePart);
  return own !== '' && joinParts(parts) === own ? parts : undefined;
}

/** The one name that would have no characters: of the single part ''. */
const EMPTY = '~';

function joinParts(parts: readonly string[]): string {
  const joined = parts.map((part) => part.replace(/[\p{Cc}\p{Cs},/%~]/gu, escapeChar)).join('%');
  if (joined === '') return EMPTY;
  return joined === '.' || joined === '..' ? joined.replaceAll('.', escapeChar) : joined;
}

function escapeChar(char: string): string {
  const hex = char.charCodeAt(0).toString(16);
  return hex.length > 2 ? `~u${hex.padStart(4, '0')}` : `~${hex.padStart(2, '0')}`;
}

function unescapePart(part: string): string {
  return part.replace(/~(?:u([0-9a-f]{4})|([0-9a-f]{2}))/g, (_, four?: string, two?: string) =>
    String.fromCharCode(Number.parseInt(four ?? two ?? '', 16)),
  );
}

/** Java's `split(",")`: empty parts at the end are dropped, but a text without any comma is one part. */
export function splitList(list: string): string[] {
  const parts = list.split(',');
  if (parts.length > 1) while (parts.at(-1) === '') parts.pop();
  return parts;
}

/** Java's notion of a blank text: its white space only (without no-break spaces). */
export function isBlank(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: some of them are white space to Java
  return /^[\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]*$/.test(text);
}

/** Light queues and offsets of a stored record: a part without a number has no place in its queue. */
export function storedLightQueues(
  list: string,
  offsets: string,
): { names: string[]; offsets: number[] } {
  const stored: { names: string[]; offsets: number[] } = { names: [], offsets: [] };
  const numbers = offsets.split(',');
  for (const [index, name] of splitList(list).entries()) {
    const number = numbers[index] ?? '';
    if (!name.startsWith(LMQ_PREFIX) || !/^\d+$/.test(number)) continue;
    stored.names.push(name);
    stored.offsets.push(Number(number));
  }
  return stored;
}

/** Retried, dead, scheduled, system and half messages stay out of light queues. */
export function allowsLightQueues(topic: string): boolean {
  return !(
    topic.startsWith('%RETRY%') ||
    topic.startsWith('%DLQ%') ||
    topic.startsWith('rmq_sys_') ||
    topic === 'SCHEDULE_TOPIC_XXXX' ||
    topic === 'RMQ_SYS_TRANS_HALF_TOPIC'
  );
}
