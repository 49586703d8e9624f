/** Compressed bodies: which way a sysFlag names (spec 2.3), and how they are taken apart. */
import * as zlib from 'node:zlib';
import { StoreError } from './errors.ts';

const COMPRESSED = 0x1;
/** By the three bits of the kind; 0 is what clients wrote before there was a choice. */
const KINDS = ['zlib', 'lz4', 'zstd', 'zlib', 'unknown', 'unknown', 'unknown', 'unknown'] as const;

/** How a body is stored compressed; 'unknown': RocketMQ has no such kind either. */
export type Compression = (typeof KINDS)[number];

/** A body of more bytes than this is not made: some hundred bytes can stand for a machine's memory. */
export const MAX_DECOMPRESSED = 64 * 1024 * 1024;

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer;

/** Node's own: zlib always, zstd from 22.15 on, lz4 never. */
const decompressors: Partial<Record<Compression, Decompress>> = {
  zlib: zlib.inflateSync,
  ...('zstdDecompressSync' in zlib && { zstd: zlib.zstdDecompressSync as Decompress }),
};

export function compressionOf(sysFlag: number): Compression | undefined {
  return (sysFlag & COMPRESSED) === 0 ? undefined : KINDS[(sysFlag >> 8) & 7];
}

export function canDecompress(kind: Compression): boolean {
  return decompressors[kind] !== undefined;
}

/** `stored` without its compression; `physicalOffset` is for the error. */
export function decompressed(stored: Buffer, kind: Compression, physicalOffset: number): Buffer {
  const decompress = decompressors[kind];
  if (decompress === undefined) return stored;
  try {
    return decompress(stored, { maxOutputLength: MAX_DECOMPRESSED });
  } catch (error) {
    const large = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const wrong = large
      ? new StoreError('STORE_LIMIT', 'The body is too large once it is decompressed.', {
          offset: physicalOffset,
          limit: MAX_DECOMPRESSED,
        })
      : new StoreError('STORE_CORRUPT_RECORD', `The body is no ${kind} stream.`, {
          offset: physicalOffset,
        });
    throw Object.assign(wrong, {
      cause: error,
      hint: 'rawBody gives the body as it is stored.',
    });
  }
}
