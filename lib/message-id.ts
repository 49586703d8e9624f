/** RocketMQ's offset message id: store host and physical offset in hexadecimal (spec 2.7). */
import { offsetOf, textOf } from './checks.ts';
import { formatHost, parseHost } from './host.ts';
import { addon } from './native.ts';

export interface MessageIdParts {
  /** 'a.b.c.d:port' or '[v6]:port'. */
  readonly storeHost: string;
  /** Position of the record in the commit log. */
  readonly physicalOffset: number;
}

/** The id of the message that a host stored at an offset: 32 upper-case digits, or 56 with IPv6. */
export function messageId(storeHost: string, physicalOffset: number | bigint): string {
  const { address, port } = parseHost(storeHost, 'storeHost', 'STORE_INVALID_ARGUMENT');
  return addon.messageId(address, port, offsetOf(physicalOffset, 'physicalOffset'));
}

/** What an id says; undefined if the text is none. Digits may have either case. */
export function parseMessageId(id: string): MessageIdParts | undefined {
  const physicalOffset = addon.parseMessageId(textOf(id, 'id'));
  if (physicalOffset === undefined) return undefined;
  const host = Buffer.from(id.slice(0, -16), 'hex');
  const port = Number.parseInt(id.slice(-24, -16), 16);
  return { storeHost: formatHost(host.subarray(0, -4), port), physicalOffset };
}
