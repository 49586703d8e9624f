/**
 * Properties: which ones a message may have, and how the stored form, `name 01 value 02` repeated, is
 * read by Java's rules.
 */
import { rangeMistake, StoreError, typeMistake } from './errors.ts';
import { DISPATCH_OFFSETS } from './lmq.ts';
import type { Message, PropertiesInput } from './message.ts';

export const NAME_END = '\x01';
export const VALUE_END = '\x02';
export const TAGS = 'TAGS';
export const KEYS = 'KEYS';
export const UNIQUE_KEY = 'UNIQ_KEY';
export const CRC = '__CRC32#';
/** How many messages an inner batch has: of those, and nothing else, a broker takes it. */
export const INNER_NUM = 'INNER_NUM';

/** Bytes of all properties of a record together: a signed 16-bit length. */
export const MAX_PROPERTIES = 32_767;

const CODE = 'STORE_INVALID_PROPERTY';

/** Every property that Java sees, in stored order: none without name or value; repeated names stay. */
export function* storedProperties(text: string): Generator<[name: string, value: string]> {
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf(VALUE_END, start);
    const end = found < 0 ? text.length : found;
    const nameEnd = text.indexOf(NAME_END, start);
    if (nameEnd > start && nameEnd < end - 1) {
      yield [text.slice(start, nameEnd), text.slice(nameEnd + 1, end)];
    }
    start = end + 1;
  }
}

/** As opposed to an iterable. */
export function isObject(
  properties: PropertiesInput,
): properties is Readonly<Record<string, string>> {
  if (typeof properties !== 'object' || properties === null) {
    throw typeMistake(CODE, 'properties must be an object, a Map or an iterable of pairs.');
  }
  return !(Symbol.iterator in properties);
}

/** Pairs in their order. */
export function toMap(
  properties: Iterable<readonly [string, string]>,
): ReadonlyMap<string, string> {
  if (properties instanceof Map) return properties;
  const map = new Map<string, string>();
  for (const pair of properties) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw typeMistake(CODE, 'An iterable of properties must give [name, value] pairs.');
    }
    const [name, value] = pair as [string, string];
    if (map.has(name)) {
      throw rangeMistake(CODE, `Property ${JSON.stringify(name)} is given twice.`);
    }
    map.set(name, value);
  }
  return map;
}

/** Refuses what cannot be a property of the message. */
export function checkProperty(name: unknown, value: unknown, message: Message): void {
  if (
    typeof name !== 'string' ||
    typeof value !== 'string' ||
    name === '' ||
    value === '' ||
    name === CRC ||
    name === DISPATCH_OFFSETS ||
    name === INNER_NUM ||
    (name === TAGS && message.tags !== undefined) ||
    (name === KEYS && message.keys !== undefined)
  ) {
    throw refusal(name, value);
  }
}

function refusal(name: unknown, value: unknown): Error {
  if (typeof name !== 'string' || typeof value !== 'string') {
    return typeMistake(CODE, `Property ${String(name)} and its name must be strings.`);
  }
  if (name === '') return rangeMistake(CODE, 'A property must have a name.');
  if (name === INNER_NUM) return innerBatch();
  const property = `Property ${JSON.stringify(name)}`;
  if (value === '') return rangeMistake(CODE, `${property} is empty, so no reader would see it.`);
  return name === TAGS || name === KEYS
    ? rangeMistake(CODE, `${property} is also given as a field of the message.`)
    : rangeMistake(CODE, `${property} is written by the store alone.`);
}

/** Inner batches are read, never written. */
export function innerBatch(): Error {
  return new StoreError('STORE_UNSUPPORTED', `Property ${INNER_NUM} makes an inner batch.`);
}

export function checkTags(tags: unknown): string {
  if (typeof tags !== 'string') throw typeMistake(CODE, 'tags must be a string.');
  if (tags === '') throw rangeMistake(CODE, 'tags must not be empty; leave it out.');
  return tags;
}

/** The value of KEYS; empty if there are none. */
export function keyText(keys: string | readonly string[]): string {
  if (typeof keys === 'string') {
    if (keys === '') throw rangeMistake(CODE, 'keys must not be empty; leave it out.');
    return keys;
  }
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== 'string')) {
    throw typeMistake(CODE, 'keys must be a string or an array of strings.');
  }
  for (const key of keys) {
    if (key === '' || key.includes(' ')) {
      throw rangeMistake(CODE, `${JSON.stringify(key)} is no key: a space separates keys.`);
    }
  }
  return keys.join(' ');
}
