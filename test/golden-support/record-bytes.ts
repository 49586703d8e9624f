// A record of the real store with other offsets, byte for byte: what we would have written. Version 1,
// IPv4 hosts.
import { crc32 } from 'node:zlib';

const QUEUE_OFFSET_AT = 20;
const PHYSICAL_OFFSET_AT = 28;
const BODY_LENGTH_AT = 84;
const BODY_AT = 88;
const CRC_MASK = 0x7fffffff;

export interface Offsets {
  readonly queueOffset?: number;
  readonly physicalOffset?: number;
  /** The value of INNER_MULTI_QUEUE_OFFSET; null takes the property out. */
  readonly light?: string | null;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the separators of the stored form
const LIGHT = /INNER_MULTI_QUEUE_OFFSET\x01[^\x02]*\x02/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the separators of the stored form
const CHECKSUM = /__CRC32#\x01\d{10}\x02$/;

export function withOffsets(
  record: string,
  { queueOffset, physicalOffset, light }: Offsets,
): string {
  const given = Buffer.from(record, 'hex');
  const topicAt = BODY_AT + given.readInt32BE(BODY_LENGTH_AT);
  const lengthAt = topicAt + 1 + given.readUInt8(topicAt);
  let properties = given.toString('latin1', lengthAt + 2);
  if (light !== undefined) {
    const property = light === null ? '' : `INNER_MULTI_QUEUE_OFFSET\x01${light}\x02`;
    properties = properties.replace(LIGHT, property);
  }
  const bytes = Buffer.concat([given.subarray(0, lengthAt + 2), Buffer.from(properties, 'latin1')]);
  bytes.writeInt32BE(bytes.length);
  bytes.writeInt16BE(properties.length, lengthAt);
  if (queueOffset !== undefined) bytes.writeBigInt64BE(BigInt(queueOffset), QUEUE_OFFSET_AT);
  if (physicalOffset !== undefined)
    bytes.writeBigInt64BE(BigInt(physicalOffset), PHYSICAL_OFFSET_AT);
  const checksum = CHECKSUM.exec(properties)?.[0];
  if (checksum === undefined) return bytes.toString('hex');
  const covered = bytes.subarray(0, bytes.length - checksum.length);
  const digits = String(crc32(covered) & CRC_MASK).padStart(10, '0');
  const written = `__CRC32#\x01${[...digits].reverse().join('')}\x02`;
  return Buffer.concat([covered, Buffer.from(written)]).toString('hex');
}
