// The floor: moving the same bytes and doing nothing else.

import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { addon } from '../../dist/native.js';
import { timed } from '../runner/timed.mjs';
import { BODY_BYTES, check, QUEUES, random } from '../workload.mjs';
import { abandon, recordSize } from './ours.mjs';

/** More than any cache holds, so that copies end in DRAM. */
const RING_BYTES = 256 * 2 ** 20;
const PIECE_BYTES = 2 ** 20;

let ring;
function memory() {
  ring ??= Buffer.allocUnsafeSlow(RING_BYTES).fill(1);
  return ring;
}

/** A record of our size, copied by native code into a ring. */
async function append({ directory, messages, light }) {
  const bytes = await recordSize(directory, light);
  return { value: addon.benchCopy(bytes, RING_BYTES, messages), details: { recordBytes: bytes } };
}

/** A body from anywhere in memory, into one buffer. */
function readRandom({ reads, seed }) {
  const from = memory();
  const into = Buffer.allocUnsafeSlow(BODY_BYTES);
  const next = random(seed);
  const places = RING_BYTES / BODY_BYTES / QUEUES;
  return timed(reads, () => {
    let bytes = 0;
    for (let i = 0; i < reads; i++) {
      const at = (next(QUEUES) * places + next(places)) * BODY_BYTES;
      bytes += from.copy(into, 0, at, at + BODY_BYTES);
    }
    check(bytes === reads * BODY_BYTES, 'copy');
  });
}

function readPage({ page, reads, seed }) {
  const from = memory();
  const pageBytes = page * BODY_BYTES;
  const into = Buffer.allocUnsafeSlow(pageBytes);
  const next = random(seed);
  const count = Math.ceil(reads / page);
  return timed(count * page, () => {
    for (let i = 0; i < count; i++) {
      const at = next(RING_BYTES / pageBytes) * pageBytes;
      from.copy(into, 0, at, at + pageBytes);
    }
  });
}

const gigabytesPerSecond = (bytes, { value, cpu }) => ({ value: bytes / value, cpu: cpu / bytes });

/** As many bytes as the recovery passes, from memory to memory. */
async function copy({ bytes }) {
  const from = memory();
  const into = Buffer.allocUnsafeSlow(PIECE_BYTES);
  const time = await timed(1, () => {
    for (let done = 0; done < bytes; done += PIECE_BYTES) {
      const at = done % RING_BYTES;
      from.copy(into, 0, at, at + PIECE_BYTES);
    }
  });
  return gigabytesPerSecond(bytes, time);
}

/** The log files of a directory, read from the page cache. */
async function read({ prepared }) {
  const log = join(prepared, 'commitlog');
  const into = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let bytes = 0;
  const time = await timed(1, () => {
    for (const name of readdirSync(log)) {
      const file = openSync(join(log, name), 'r');
      for (let got = 1; got > 0; bytes += got) got = readSync(file, into, 0, PIECE_BYTES, null);
      closeSync(file);
    }
  });
  return gigabytesPerSecond(bytes, time);
}

export const jobs = { abandon, append, readRandom, readPage, copy, read };
