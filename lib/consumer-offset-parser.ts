/**
 * Reads RocketMQ's files of consumer offsets, a part at a time: a million offsets take a while, and
 * the event loop need not wait for them. The form is JSON, but integer keys may lack their quotes.
 */
import type { ConsumerOffset } from './consumer-offset-json.ts';

/** What a file holds at a depth; what is below is named by `keys`. */
interface Level {
  readonly isObject: boolean;
  count: number;
  key: string;
}

const QUOTE = 0x22;
/** Deeper than any file of RocketMQ's. */
const MAX_DEPTH = 64;
const KNOWN = new Set(['dataVersion', 'offsetTable', 'lmqOffsetTable']);

export class ConsumerOffsetParser {
  readonly offsets: ConsumerOffset[] = [];
  /** The text of members that are no offsets, by name: other versions of RocketMQ write more. */
  readonly rest = new Map<string, string>();
  readonly #text: string;
  readonly #levels: Level[] = [];
  #at = 0;
  #begin = 0;
  #place: { readonly key: string; readonly topic: string; readonly group: string } | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads so many values; true once all are read. Throws a SyntaxError where the file is damaged. */
  step(values: number): boolean {
    for (let left = values; left > 0; left--) {
      if (this.#at > 0 && this.#levels.length === 0) return this.#atEnd();
      this.#value();
    }
    return false;
  }

  #atEnd(): boolean {
    this.#space();
    if (this.#at === this.#text.length) return true;
    throw this.#damage();
  }

  /** One value: to its end, or into it where it is a table. Then what closes behind it. */
  #value(): void {
    const level = this.#levels.at(-1);
    if (level) {
      if (level.count === 0 && this.#next() === (level.isObject ? '}' : ']')) {
        this.#close();
        return;
      }
      if (level.count++ > 0) this.#take(',');
      if (level.isObject) this.#key(level);
    }
    const c = this.#next();
    if (this.#levels.length === 1) this.#begin = this.#at;
    if (c === '{' || c === '[') {
      this.#at++;
      this.#checkPlace(c === '{');
      if (this.#levels.push({ isObject: c === '{', count: 0, key: '' }) > MAX_DEPTH)
        throw this.#damage();
      return;
    }
    if (c === '"') {
      this.#string();
      this.#found(undefined);
    } else {
      const word = this.#word();
      this.#found(word === 'null' ? null : Number(word), word);
    }
    this.#ended();
  }

  /** What may follow the end of a value: the ends of the tables that it was the last of. */
  #ended(): void {
    if (this.#levels.length === 1) this.#keep();
    const level = this.#levels.at(-1);
    if (level && this.#next() === (level.isObject ? '}' : ']')) this.#close();
  }

  #close(): void {
    this.#at++;
    this.#levels.pop();
    this.#ended();
  }

  #keep(): void {
    const name = this.#levels[0]!.key;
    if (!KNOWN.has(name)) this.rest.set(name, this.#text.slice(this.#begin, this.#at));
  }

  #key(level: Level): void {
    level.key = this.#next() === '"' ? this.#string() : this.#word();
    this.#take(':');
  }

  /** In tables of offsets, a table may only be where one belongs. */
  #checkPlace(isObject: boolean): void {
    const depth = this.#levels.length;
    const name = this.#levels[0]?.key;
    if (depth === 0 && !isObject) throw this.#damage();
    const isTable = name === 'offsetTable' || name === 'lmqOffsetTable';
    if (depth === 0 || !isTable) return;
    if (!isObject || depth > (name === 'offsetTable' ? 2 : 1)) throw this.#damage();
  }

  /** A plain value; undefined is a string. */
  #found(value: number | null | undefined, word = 'text'): void {
    const [root, keys, ids] = this.#levels;
    if (root === undefined) throw this.#damage();
    if (root.key !== 'offsetTable' && root.key !== 'lmqOffsetTable') return;
    if (keys === undefined && value === null) return;
    const isLight = root.key === 'lmqOffsetTable';
    if (keys === undefined || isLight !== (ids === undefined))
      throw new SyntaxError(`${keys?.key ?? root.key} is no table.`);
    if (this.#place?.key !== keys.key) this.#place = { key: keys.key, ...placeOf(keys.key) };
    const { topic, group } = this.#place;
    const queueId = ids === undefined ? 0 : integer(ids.key, keys.key, 2 ** 31 - 1);
    // Java's numbers reach further: no queue does.
    const offset = Math.min(integer(word, keys.key, Infinity), Number.MAX_SAFE_INTEGER);
    this.offsets.push({ group, topic, queueId, offset });
  }

  #space(): void {
    for (; ; this.#at++) {
      const c = this.#text.charCodeAt(this.#at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
    }
  }

  #next(): string {
    this.#space();
    const c = this.#text[this.#at];
    if (c === undefined) throw this.#damage();
    return c;
  }

  #take(c: string): void {
    if (this.#next() !== c) throw this.#damage();
    this.#at++;
  }

  #string(): string {
    const begin = this.#at;
    let plain = true;
    for (let at = begin + 1; ; at++) {
      const c = this.#text.charCodeAt(at);
      if (c === 0x5c) {
        plain = false;
        at++;
      } else if (c === QUOTE) {
        this.#at = at + 1;
        break;
      } else if (!(c >= 0x20)) throw this.#damage(); // or the end of the text
    }
    if (plain) return this.#text.slice(begin + 1, this.#at - 1);
    return JSON.parse(this.#text.slice(begin, this.#at)) as string;
  }

  /** A number, true, false or null. */
  #word(): string {
    const begin = this.#at;
    while (isOfWord(this.#text.charCodeAt(this.#at))) this.#at++;
    const word = this.#text.slice(begin, this.#at);
    if (/^(-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null)$/.test(word)) return word;
    throw this.#damage();
  }

  #damage(): SyntaxError {
    return new SyntaxError(`it is damaged at character ${this.#at} of ${this.#text.length}.`);
  }
}

/** The offsets in either file, all at once. Throws a SyntaxError where it is damaged. */
export function parseConsumerOffsets(text: string): ConsumerOffset[] {
  const parser = new ConsumerOffsetParser(text);
  while (!parser.step(1_000_000));
  return parser.offsets;
}

/** Letters, digits, and the signs of numbers. */
function isOfWord(c: number): boolean {
  return (
    (c >= 0x30 && c <= 0x39) ||
    (c >= 0x61 && c <= 0x7a) ||
    c === 0x45 ||
    c === 0x2b ||
    c === 0x2d ||
    c === 0x2e
  );
}

/** RocketMQ joins with '@', which neither a topic nor a group of a client's can hold. */
function placeOf(key: string): { topic: string; group: string } {
  const at = key.lastIndexOf('@');
  if (at <= 0 || at === key.length - 1) throw new SyntaxError(`${key} is no topic and group.`);
  return { topic: key.slice(0, at), group: key.slice(at + 1) };
}

function integer(word: string, name: string, most: number): number {
  const value = Number(word);
  if (/^\d+$/.test(word) && value <= most) return value;
  throw new SyntaxError(`${name} has ${word} where an offset should be.`);
}
