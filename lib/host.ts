/** Hosts: 'a.b.c.d:port' and '[v6]:port' to and from the address bytes of a record. */
import { isIPv4 } from 'node:net';
import { rangeMistake, type StoreErrorCode, typeMistake } from './errors.ts';

export interface Host {
  /** 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly port: number;
}

export function parseHost(text: unknown, name: string, code: StoreErrorCode): Host {
  if (typeof text !== 'string') throw typeMistake(code, `${name} must be a string.`);
  const [, v6, v4 = '', port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const address = v6 === undefined ? v4Bytes(v4) : v6Bytes(v6);
  if (address && Number(port) <= 65535) return { address, port: Number(port) };
  throw rangeMistake(
    code,
    `${name} must be an IP address and a port, as '127.0.0.1:10911' or '[::1]:10911', not ${JSON.stringify(text)}.`,
  );
}

export function formatHost(address: Uint8Array, port: number): string {
  return address.length === 4 ? `${address.join('.')}:${port}` : `${v6Literal(address)}:${port}`;
}

function v4Bytes(text: string): Uint8Array | undefined {
  return isIPv4(text) ? Uint8Array.from(text.split('.'), Number) : undefined;
}

function v6Bytes(text: string): Uint8Array | undefined {
  // A URL brings every way of writing an address into one: hexadecimal groups and one '::' at most.
  if (!URL.canParse(`http://[${text}]`)) return undefined;
  const [front, back] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::').map(groups);
  if (!front) return undefined;
  const zeros = new Array<number>(8 - front.length - (back?.length ?? 0)).fill(0);
  const all = [...front, ...zeros, ...(back ?? [])];
  const bytes = Uint8Array.from(all.flatMap((group) => [group >> 8, group & 255]));
  // An IPv4 address in IPv6 dress is an IPv4 address, as in Java.
  const mapped = all.slice(0, 5).every((group) => group === 0) && all[5] === 0xffff;
  return mapped ? bytes.slice(12) : bytes;
}

function groups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function v6Literal(address: Uint8Array): string {
  const hex = Buffer.from(address)
    .toString('hex')
    .replace(/(....)(?=.)/g, '$1:');
  return new URL(`http://[${hex}]`).hostname;
}
