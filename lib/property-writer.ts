/**
 * The way of a message's properties into native: in stored form, in memory that both sides see. What
 * a message has in common with the one before it on its line stays there, so the names of properties
 * are encoded once and an append makes no string.
 */
import { rangeMistake } from './errors.ts';
import { DISPATCH } from './lmq.ts';
import type { Message } from './message.ts';
import {
  checkProperty,
  checkTags,
  isObject,
  KEYS,
  keyText,
  MAX_PROPERTIES,
  NAME_END,
  TAGS,
  toMap,
  UNIQUE_KEY,
  VALUE_END,
} from './properties.ts';
import { isAt, Line, type Slot } from './property-line.ts';
import { wellFormed } from './text.ts';

const LINES = 64;
const LINE_BYTES = 1024;
/** Behind the lines. */
const LONG_AT = LINES * LINE_BYTES;
/** What is longer is copied faster by a call of its own. */
const SHORT = 32;
/** In place of a value that is not expected to stay; no property is empty. */
const CHANGING = '';
/** No room on the line. */
const FULL = -1;

const NAME_END_CODE = NAME_END.charCodeAt(0);
const VALUE_END_CODE = VALUE_END.charCodeAt(0);
/** Free inside for-in, where Object.hasOwn is not. */
const hasOwn = Object.prototype.hasOwnProperty;

/** A message's properties, or those of them that are no iterator: they may be gone through again. */
type Pairs = Readonly<Record<string, string>> | ReadonlyMap<string, string> | undefined;

export class PropertyWriter {
  /** Where in the memory the properties of the last message are, and how many bytes. */
  at = 0;
  length = 0;
  /** How many of these bytes hold nothing that a message is found by: no key, no tags. */
  keysFrom = 0;
  /** The value of its INNER_MULTI_DISPATCH, where it has one. */
  list: string | undefined = undefined;

  readonly #memory: Buffer;
  readonly #lines: readonly Line[];
  /** Among the properties is one whose place in the message matters, or that it is found by. */
  #special = false;
  #sought = false;

  constructor(memory: Uint8Array) {
    this.#memory = Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength);
    const line = (_: unknown, i: number) => new Line(i * LINE_BYTES, (i + 1) * LINE_BYTES);
    this.#lines = Array.from({ length: LINES }, line);
  }

  /** Messages of the same `kind` are expected to be alike; any number will do. */
  write(message: Message, kind: number): void {
    const { properties } = message;
    const pairs = properties === undefined || isObject(properties) ? properties : toMap(properties);
    this.list = undefined;
    let line = this.#lines[kind % LINES] as Line;
    let end = this.#fill(line, message, pairs);
    if (end === FULL) {
      line = new Line(LONG_AT, this.#memory.length);
      end = this.#fill(line, message, pairs);
      if (end === FULL) throw tooLarge(this.#memory.length - LONG_AT);
    }
    this.at = line.start;
    this.length = end - line.start;
  }

  /** What was written last. */
  text(): string {
    return this.#memory.toString('utf8', this.at, this.at + this.length);
  }

  #fill(line: Line, message: Message, pairs: Pairs): number {
    const { keys, tags } = message;
    const { slots, known } = line;
    line.known = 0; // in case of an error
    this.#special = this.#sought = false;
    let at = line.start;
    let count = 0;
    if (pairs === undefined) {
      // Most messages have tags or keys at most.
    } else if (pairs instanceof Map) {
      for (const [name, value] of pairs) {
        const slot = count < known ? slots[count] : undefined;
        at = this.#property(line, count++, slot, at, name, value, message);
        if (at === FULL) return FULL;
      }
    } else {
      const object = pairs as Readonly<Record<string, string>>;
      for (const name in object) {
        if (!hasOwn.call(object, name)) continue;
        const value = object[name];
        const slot = count < known ? slots[count] : undefined;
        if (isAt(slot, at, name, value) && !slot.field) at = slot.end;
        else at = this.#property(line, count, slot, at, name, value, message);
        if (at === FULL) return FULL;
        count++;
      }
    }
    this.keysFrom = this.#sought ? 0 : at - line.start;
    if (keys !== undefined) {
      const value = keyText(keys);
      if (value !== '') {
        at = this.#put(line, count, count < known ? slots[count] : undefined, at, KEYS, value);
        if (at === FULL) return FULL;
        count++;
      }
    }
    if (tags !== undefined) {
      const slot = count < known ? slots[count] : undefined;
      if (isAt(slot, at, TAGS, tags)) at = slot.end;
      else at = this.#put(line, count, slot, at, TAGS, checkTags(tags));
      if (at === FULL) return FULL;
      (line.slots[count] as Slot).field = true;
      count++;
    }
    line.known = this.#special ? 0 : count;
    return at;
  }

  #property(
    line: Line,
    i: number,
    slot: Slot | undefined,
    at: number,
    name: unknown,
    value: unknown,
    message: Message,
  ): number {
    checkProperty(name, value, message);
    if (name === TAGS || name === KEYS || name === DISPATCH) this.#special = this.#sought = true;
    if (name === DISPATCH) this.list = value as string;
    if (name === UNIQUE_KEY) this.#sought = true;
    return this.#put(line, i, slot, at, name as string, value as string);
  }

  /** Writes a property at `at`, and gives its end. `slot`: the one that was its like last time. */
  #put(
    line: Line,
    i: number,
    slot: Slot | undefined,
    at: number,
    name: string,
    value: string,
  ): number {
    const memory = this.#memory;
    let valueStart: number;
    if (slot !== undefined && slot.start === at && slot.name === name) {
      valueStart = slot.valueStart;
    } else {
      const nameEnd = this.#encode(name, at, line.end, name);
      if (nameEnd === FULL) return FULL;
      memory[nameEnd] = NAME_END_CODE;
      valueStart = nameEnd + 1;
    }
    const valueEnd = this.#encode(value, valueStart, line.end, name);
    if (valueEnd === FULL) return FULL;
    memory[valueEnd] = VALUE_END_CODE;
    const end = valueEnd + 1;
    const kept = name === KEYS || name === UNIQUE_KEY ? CHANGING : value;
    const own = line.slots[i];
    if (own === undefined) {
      line.slots.push({ name, value: kept, start: at, valueStart, end, field: false });
    } else {
      // A reference from old memory to new is work for the collector.
      if (own.name !== name) own.name = name;
      own.value = kept;
      own.start = at;
      own.valueStart = valueStart;
      own.end = end;
      own.field = false;
    }
    return end;
  }

  /** Gives the end of the text, behind which there is room for one byte. */
  #encode(text: string, at: number, lineEnd: number, name: string): number {
    const { length } = text;
    if (length > SHORT) return this.#encodeAny(text, at, lineEnd, name);
    if (at + length >= lineEnd) return FULL;
    const memory = this.#memory;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code <= VALUE_END_CODE || code > 0x7f) return this.#encodeAny(text, at, lineEnd, name);
      memory[at + i] = code;
    }
    return at + length;
  }

  #encodeAny(text: string, at: number, lineEnd: number, name: string): number {
    if (text.includes(NAME_END) || text.includes(VALUE_END)) throw separatorIn(name);
    const right = wellFormed(text);
    const room = lineEnd - at - 1;
    if (right.length * 3 > room && Buffer.byteLength(right) > room) return FULL;
    return at + this.#memory.write(right, at);
  }
}

function separatorIn(name: string): Error {
  const shown = name === KEYS ? 'keys' : name === TAGS ? 'tags' : name;
  return rangeMistake(
    'STORE_INVALID_PROPERTY',
    `Property ${JSON.stringify(shown)} holds a separator of the stored form: character 01 or 02.`,
  );
}

function tooLarge(size: number): Error {
  return rangeMistake(
    'STORE_PROPERTIES_TOO_LARGE',
    `The properties have more than ${size} bytes, and ${MAX_PROPERTIES} are allowed.`,
    { limit: MAX_PROPERTIES },
  );
}
