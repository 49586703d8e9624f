/**
 * Properties that come in stored form, and what the store does to them: it takes out what it writes
 * itself, and arranges a light-queue message's properties as a broker would.
 */
import { isUtf8 } from 'node:buffer';
import { typeMistake } from './errors.ts';
import { hashMapOrder } from './java-map.ts';
import { DISPATCH_OFFSETS } from './lmq.ts';
import { CRC, NAME_END, storedProperties, VALUE_END } from './properties.ts';
import { wellFormed } from './text.ts';

/** As text, if that is what it is; bytes that are no UTF-8 stay bytes. */
export function rawProperties(given: unknown): string | Uint8Array {
  if (typeof given === 'string') return wellFormed(given);
  if (!(given instanceof Uint8Array)) {
    throw typeMistake('STORE_INVALID_PROPERTY', 'rawProperties must be a string or bytes.');
  }
  const bytes = Buffer.from(given);
  return isUtf8(bytes) ? bytes.toString() : bytes;
}

/** Cuts every occurrence of a property: at the start or behind 02, up to the next 02 or the end. */
export function cutProperty(text: string, name: string): string {
  const head = name + NAME_END;
  let rest = text;
  for (let at = rest.indexOf(head); at >= 0; ) {
    if (at > 0 && rest[at - 1] !== VALUE_END) {
      at = rest.indexOf(head, at + 1);
      continue;
    }
    const end = rest.indexOf(VALUE_END, at);
    rest = end < 0 ? rest.slice(0, at) : rest.slice(0, at) + rest.slice(end + 1);
    at = rest.indexOf(head, at);
  }
  return rest;
}

/**
 * Takes an incoming checksum out. A store that writes checksums drops every one of them, as a broker
 * does; one that does not drops only what readers would take for the record's own.
 */
export function cutChecksum(
  properties: string | Uint8Array,
  written: boolean,
): string | Uint8Array {
  if (typeof properties !== 'string') {
    const text = Buffer.from(properties).toString('latin1');
    const cut = cutChecksum(text, written);
    return cut === text ? properties : Buffer.from(cut as string, 'latin1');
  }
  if (written) return cutProperty(properties, CRC);
  let text = properties;
  while (checksumAtEnd.test(text)) text = text.slice(0, text.lastIndexOf(CRC));
  return text;
}

/** The value Java sees for a name: the last one that is not empty. */
export function lastValue(text: string, name: string): string | undefined {
  if (!text.includes(name)) return undefined;
  let last: string | undefined;
  for (const [found, value] of storedProperties(text)) if (found === name) last = value;
  return last;
}

/** `text` with a property behind it. */
export function withProperty(text: string, name: string, value: string): string {
  return terminated(text) + name + NAME_END + value + VALUE_END;
}

/** `text`, ready to have something added behind it. */
export function terminated(text: string): string {
  return text === '' || text.endsWith(VALUE_END) ? text : text + VALUE_END;
}

/**
 * The properties of a light-queue message as a broker stores them: parsed, put into a Java HashMap and
 * written in its order. The offsets property, which native writes, comes between head and tail.
 */
export function brokerOrder(text: string): { head: string; tail: string } {
  const map = new Map(storedProperties(text));
  map.set(DISPATCH_OFFSETS, '');
  // A broker takes WAIT out for a moment, which moves it to the end of its bucket.
  const wait = map.get('WAIT');
  if (wait !== undefined) {
    map.delete('WAIT');
    map.set('WAIT', wait);
  }
  const names = hashMapOrder([...map.keys()]);
  const written = names.map((name) => name + NAME_END + map.get(name) + VALUE_END);
  const at = names.indexOf(DISPATCH_OFFSETS);
  return { head: written.slice(0, at).join(''), tail: written.slice(at + 1).join('') };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the separators of the stored form
const checksumAtEnd = /(?:^|\x02)__CRC32#\x01[0-9]{10}\x02$/;
