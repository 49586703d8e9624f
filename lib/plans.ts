/**
 * Lists of light queues, parsed once. A list that was seen before is found by comparing its elements
 * and costs one number in the call to native; the cache is a fixed table of 1024 sets of four slots.
 */
import { failureOf, typeMistake } from './errors.ts';
import { fullLmqName, LMQ_PREFIX, splitList } from './lmq.ts';
import { type NativeStore, OUT_STATUS } from './native.ts';

export interface Plan {
  /** The number by which native knows the list. */
  readonly slot: number;
  /** The light queues in it, full names. */
  readonly queues: readonly string[];
  /** As the property holds it. */
  readonly list: string;
}

/** Names given as an array, whose property native writes; the same, written here; a list in Java's form. */
type Kind = 'names' | 'arranged' | 'list';

interface Entry extends Plan {
  readonly kind: Kind;
  readonly hash: number;
  readonly elements: readonly string[];
}

const SETS = 1024;
const WAYS = 4;

export class Plans {
  readonly #native: NativeStore;
  readonly #entries = new Array<Entry | undefined>(SETS * WAYS).fill(undefined);
  #turn = 0;

  constructor(native: NativeStore) {
    this.#native = native;
  }

  /** For names given one by one. `arranged`: the caller writes the property that holds them. */
  ofNames(names: readonly string[], arranged: boolean): Plan {
    return this.#find(arranged ? 'arranged' : 'names', names);
  }

  /** For a list in Java's form: split at commas; a part that is no light queue gets no offset. */
  ofList(list: string): Plan {
    return this.#find('list', [list]);
  }

  #find(kind: Kind, elements: readonly string[]): Plan {
    const hash = hashOf(elements);
    const first = (hash & (SETS - 1)) * WAYS;
    for (let slot = first; slot < first + WAYS; slot++) {
      const entry = this.#entries[slot];
      if (entry !== undefined && entry.hash === hash && entry.kind === kind) {
        if (same(entry.elements, elements)) return entry;
      }
    }
    this.#turn = (this.#turn + 1) % WAYS;
    return this.#make(kind, elements.slice(), hash, first + this.#turn);
  }

  #make(kind: Kind, elements: readonly string[], hash: number, slot: number): Plan {
    const parts = kind === 'list' ? listParts(elements[0] as string) : elements.map(fullLmqName);
    const queues = parts.filter((part) => part.startsWith(LMQ_PREFIX));
    const list = parts.join(',');
    // What the slot held is gone for native as soon as it is told, even if it then refuses.
    this.#entries[slot] = undefined;
    this.#native.plan(slot, list, parts.length, kind === 'names');
    if (this.#native.out[OUT_STATUS] !== 0) throw failureOf(this.#native.lastError());
    const entry: Entry = { slot, queues, list, kind, hash, elements };
    this.#entries[slot] = entry;
    return entry;
  }
}

/** A list as it comes is stored as it comes, but names that cannot be queues are refused there too. */
function listParts(list: string): string[] {
  const parts = splitList(list);
  for (const part of parts) if (part.startsWith(LMQ_PREFIX)) fullLmqName(part);
  return parts;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Of a few names' few characters, since names are compared anyway: lists that differ in none of these
 * share a set, which only costs time.
 */
function hashOf(names: readonly string[]): number {
  const { length } = names;
  const step = 1 + ((length - 1) >> 2);
  let hash = mixed(length, names[length - 1]);
  for (let i = 0; i < length - 1; i += step) hash = mixed(hash, names[i]);
  return hash ^ (hash >>> 15);
}

function mixed(hash: number, name: unknown): number {
  if (typeof name !== 'string') {
    throw typeMistake('STORE_INVALID_LMQ_NAME', 'lmq must be an array of strings.');
  }
  const { length } = name;
  let mix = Math.imul(hash ^ length, 0x85ebca6b);
  for (let i = length > 3 ? length - 4 : 0; i < length; i++) {
    mix = Math.imul(mix ^ name.charCodeAt(i), 0x01000193);
  }
  return Math.imul(mix ^ name.charCodeAt(length >> 1), 0x9e3779b1);
}

/** The names of a message's `lmq`; undefined if there are none. */
export function namesOf(lmq: unknown): readonly string[] | undefined {
  if (lmq === undefined) return undefined;
  if (!Array.isArray(lmq)) {
    throw typeMistake('STORE_INVALID_LMQ_NAME', 'lmq must be an array of strings.');
  }
  return lmq.length === 0 ? undefined : lmq;
}
