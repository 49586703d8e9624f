/**
 * Properties in stored form: `name 01 value 02`, repeated. This file writes what callers give as
 * objects and reads what is stored, by Java's rules.
 */
import { rangeMistake, typeMistake } from './errors.ts';
import { DISPATCH, DISPATCH_OFFSETS } from './lmq.ts';
import type { Message, PropertiesInput } from './message.ts';
import { wellFormed } from './text.ts';

export const NAME_END = '\x01';
export const VALUE_END = '\x02';
export const TAGS = 'TAGS';
export const KEYS = 'KEYS';
export const UNIQUE_KEY = 'UNIQ_KEY';
export const CRC = '__CRC32#';

const CODE = 'STORE_INVALID_PROPERTY';
/** Free inside for-in, where Object.hasOwn is not. */
const hasOwn = Object.prototype.hasOwnProperty;

/** A message's properties in stored form. */
export interface Written {
  readonly text: string;
  /** How many they are. */
  readonly count: number;
  /** The value of INNER_MULTI_DISPATCH, where it is among them. */
  readonly list: string | undefined;
}

/**
 * Writes the properties of a message. One writer serves a store and is used again for every message,
 * so that an append makes nothing but the text; the results stay until the next `write`.
 *
 * Bytes 01 and 02 inside names and values are not looked for: native counts them against `count`.
 */
export class PropertyWriter implements Written {
  text = '';
  count = 0;
  list: string | undefined = undefined;

  write(message: Message): void {
    const { properties, keys, tags } = message;
    let text = '';
    let count = 0;
    let list: string | undefined;
    if (properties === undefined) {
      // Most messages have tags or keys at most.
    } else if (isObject(properties)) {
      for (const name in properties) {
        if (!hasOwn.call(properties, name)) continue;
        const value = properties[name];
        text += entry(name, value, message);
        if (name === DISPATCH) list = value;
        count++;
      }
    } else {
      const map = toMap(properties);
      for (const [name, value] of map) text += entry(name, value, message);
      list = map.get(DISPATCH);
      count = map.size;
    }
    if (keys !== undefined) {
      const value = keyText(keys);
      if (value !== '') {
        text += KEYS + NAME_END + value + VALUE_END;
        count++;
      }
    }
    if (tags !== undefined) {
      if (typeof tags !== 'string') throw typeMistake(CODE, 'tags must be a string.');
      if (tags === '') throw rangeMistake(CODE, 'tags must not be empty; leave it out.');
      text += TAGS + NAME_END + tags + VALUE_END;
      count++;
    }
    this.text = wellFormed(text);
    this.count = count;
    this.list = list;
  }
}

/** Refuses separators inside names and values, which a count betrays; says where one is, if it can. */
export function refuseSeparators(message: Message, text: string, count: number): void {
  const occurrences = [NAME_END, VALUE_END].map((mark) => text.split(mark).length - 1);
  if (occurrences.every((number) => number === count)) return;
  const { properties = {}, keys, tags } = message;
  const pairs = isObject(properties) ? Object.entries(properties) : toMap(properties);
  const parts = [...pairs, ['keys', String(keys ?? '')], ['tags', tags ?? '']];
  const bad = parts.find((pair) => pair.some((part) => separator.test(part)))?.[0];
  const property = bad === undefined ? 'A property' : `Property ${JSON.stringify(bad)}`;
  throw rangeMistake(CODE, `${property} holds a separator of the stored form: character 01 or 02.`);
}

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

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const separator = /[\x01\x02]/;

function isObject(properties: PropertiesInput): properties is Readonly<Record<string, string>> {
  if (typeof properties !== 'object' || properties === null) {
    throw typeMistake(CODE, 'properties must be an object, a Map or an iterable of pairs.');
  }
  return !(Symbol.iterator in properties);
}

function toMap(properties: Iterable<readonly [string, string]>): ReadonlyMap<string, string> {
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

function entry(name: string, value: string | undefined, message: Message): string {
  if (
    typeof name !== 'string' ||
    typeof value !== 'string' ||
    name === '' ||
    value === '' ||
    name === CRC ||
    name === DISPATCH_OFFSETS ||
    (name === TAGS && message.tags !== undefined) ||
    (name === KEYS && message.keys !== undefined)
  ) {
    throw refusal(name, value);
  }
  return name + NAME_END + value + VALUE_END;
}

function refusal(name: unknown, value: unknown): Error {
  if (typeof name !== 'string' || typeof value !== 'string') {
    return typeMistake(CODE, `Property ${String(name)} and its name must be strings.`);
  }
  if (name === '') return rangeMistake(CODE, 'A property must have a name.');
  const property = `Property ${JSON.stringify(name)}`;
  if (value === '') return rangeMistake(CODE, `${property} is empty, so no reader would see it.`);
  return name === TAGS || name === KEYS
    ? rangeMistake(CODE, `${property} is also given as a field of the message.`)
    : rangeMistake(CODE, `${property} is written by the store alone.`);
}

function keyText(keys: string | readonly string[]): string {
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
