// lmdb without sync: a commit survives SIGKILL of the process, as our append does.

import { crc32 } from 'node:zlib';
import { open } from 'lmdb';
import { timed } from '../runner/timed.mjs';
import {
  BODY_BYTES,
  body,
  check,
  defaults,
  keys,
  primed,
  QUEUES,
  queueNumbers,
  RECORD_BYTES,
  random,
  storedProperties,
  TOPIC,
} from '../workload.mjs';

const MAP_BYTES = 16 * 2 ** 30;
const UNIT_BYTES = 20;
/** Writes between two waits of the asynchronous case; the next chunk is put while one is committed. */
const CHUNK = 1024;

function openAt(path, tuned = false) {
  const env = open({
    path,
    mapSize: MAP_BYTES,
    maxDbs: 4,
    noSync: true,
    compression: false,
    ...(tuned && { pageSize: 8192 }),
  });
  const table = (name) => env.openDB(name, { keyEncoding: 'binary', encoding: 'binary' });
  return { env, log: table('log'), index: table('index'), rows: table('rows') };
}

// lmdb copies a key when it is given, so one buffer serves all.
const logKey = Buffer.alloc(8);
const indexKey = Buffer.alloc(12);

function keyOfLog(position) {
  logKey.writeUInt32BE(Math.floor(position / 2 ** 32), 0);
  logKey.writeUInt32BE(position >>> 0, 4);
  return logKey;
}

function keyOfIndex(queue, offset) {
  indexKey.writeUInt32BE(queue, 0);
  indexKey.writeUInt32BE(Math.floor(offset / 2 ** 32), 4);
  indexKey.writeUInt32BE(offset >>> 0, 8);
  return indexKey;
}

/** Values are not copied before their transaction, so the asynchronous case gives a ring of them. */
function ring(asynchronous, bytes) {
  return Array.from({ length: asynchronous ? 4 * CHUNK : 1 }, () => Buffer.alloc(bytes));
}

// A message as one value: checksum, queue, time, the body, and then the text.
const BODY_AT = 16;
const TEXT_AT = BODY_AT + BODY_BYTES;
const MESSAGE_BYTES = TEXT_AT + `${TOPIC}\0${storedProperties(keys[0])}`.length;

function encode(value, queue, key) {
  value.writeUInt32BE(crc32(body), 0);
  value.writeUInt32BE(queue, 4);
  value.writeDoubleBE(Date.now(), 8);
  body.copy(value, BODY_AT);
  value.latin1Write(`${TOPIC}\0${storedProperties(key)}`, TEXT_AT);
  return value;
}

const bodyOf = (value) => value.subarray(BODY_AT, TEXT_AT);

/** One message: a log row with all of it, and a row in each of its queues. Gives lmdb's promise of the last. */
function writer({ log, index }, { light, transaction, tuned, ...shape }) {
  const units = ring(transaction === 'async', UNIT_BYTES);
  const values = ring(transaction === 'async', MESSAGE_BYTES);
  const queues = queueNumbers(shape);
  const offsets = new Float64Array(queues.count);
  const options = tuned ? { append: true } : undefined;
  return (i) => {
    const position = i * RECORD_BYTES;
    const unit = units[i % units.length];
    unit.writeUInt32BE(Math.floor(position / 2 ** 32), 0);
    unit.writeUInt32BE(position >>> 0, 4);
    unit.writeUInt32BE(BODY_BYTES, 8);
    const queue = queues.topic(i);
    const value = encode(values[i % values.length], queue, keys[i % keys.length]);
    log.put(keyOfLog(position), value, options);
    let last = index.put(keyOfIndex(queue, offsets[queue]++), unit);
    for (let k = 1; k <= light; k++) {
      const lightQueue = queues.light(i, k);
      last = index.put(keyOfIndex(lightQueue, offsets[lightQueue]++), unit);
    }
    return last;
  };
}

function inTransactions(env, from, to, size, write) {
  for (let i = from; i < to; i += size) {
    const end = Math.min(i + size, to);
    env.transactionSync(() => {
      for (let j = i; j < end; j++) write(j);
    });
  }
}

async function asynchronously(from, to, write) {
  let previous;
  let last;
  for (let i = from; i < to; i++) {
    last = write(i);
    if ((i + 1) % CHUNK === 0) {
      await previous;
      previous = last;
    }
  }
  await last;
}

function checkWritten({ log, index }, { light, ...shape }, messages) {
  check(log.getStats().entryCount === messages, 'lmdb log rows');
  check(index.getStats().entryCount === messages * (1 + light), 'lmdb index rows');
  const last = messages - 1;
  const queues = queueNumbers(shape);
  const queue = light ? queues.light(last, light) : queues.topic(last);
  const newest = { reverse: true, start: keyOfIndex(queue + 1, 0), limit: 1 };
  for (const { value } of index.getRange(newest))
    check(bodyOf(log.getBinary(value.subarray(0, 8))).equals(body), 'lmdb body');
}

async function append(given) {
  const args = { ...defaults, ...given };
  const { directory, messages, transaction, tuned } = args;
  const store = openAt(directory, tuned);
  const write = writer(store, args);
  const first = primed(args);
  const all = first + messages;
  inTransactions(store.env, 0, first, first, write);
  const result = await timed(messages, () =>
    transaction === 'async'
      ? asynchronously(first, all, write)
      : inTransactions(store.env, first, all, transaction, write),
  );
  checkWritten(store, args, all);
  await store.env.close();
  return result;
}

// Reading ------------------------------------------------------------------------------------------

const filled = new Map();

/** `index`: the log and the index of the append trials; `row`: the body itself under (queue, offset). */
async function fill({ directory, layout, messages }) {
  const store = openAt(directory);
  const row = (i) => store.rows.put(keyOfIndex(i % QUEUES, Math.floor(i / QUEUES)), body);
  const write = layout === 'row' ? row : writer(store, defaults);
  inTransactions(store.env, 0, messages, 4096, write);
  filled.set(layout, store);
}

const getters = {
  row: ({ rows }, queue, offset) => rows.getBinary(keyOfIndex(queue, offset)),
  index: ({ log, index }, queue, offset) => {
    index.getBinaryFast(keyOfIndex(queue, offset)).copy(logKey, 0, 0, 8);
    return bodyOf(log.getBinary(logKey));
  },
};

/** Without an allocation: lmdb copies into a buffer that it uses again. */
const reusingGetters = {
  row: ({ rows }, queue, offset) => rows.getBinaryFast(keyOfIndex(queue, offset)),
  index: ({ log, index }, queue, offset) => {
    index.getBinaryFast(keyOfIndex(queue, offset)).copy(logKey, 0, 0, 8);
    return bodyOf(log.getBinaryFast(logKey));
  },
};

function readRandom({ layout, messages, reads, seed, reuse }) {
  const store = filled.get(layout);
  const get = (reuse ? reusingGetters : getters)[layout];
  const next = random(seed);
  const perQueue = Math.floor(messages / QUEUES);
  return timed(reads, () => {
    let bytes = 0;
    for (let i = 0; i < reads; i++) bytes += get(store, next(QUEUES), next(perQueue)).length;
    check(bytes === reads * BODY_BYTES, 'lmdb read');
  });
}

const pages = {
  *row({ rows }, queue, offset, limit) {
    for (const { value } of rows.getRange({ start: keyOfIndex(queue, offset), limit })) yield value;
  },
  *index({ log, index }, queue, offset, limit) {
    for (const { value } of index.getRange({ start: keyOfIndex(queue, offset), limit }))
      yield bodyOf(log.getBinary(value.subarray(0, 8)));
  },
};

function readPage({ layout, messages, page, reads, seed }) {
  const store = filled.get(layout);
  const next = random(seed);
  const perQueue = Math.floor(messages / QUEUES);
  const count = Math.ceil(reads / page);
  return timed(count * page, () => {
    let bytes = 0;
    for (let i = 0; i < count; i++)
      for (const value of pages[layout](store, next(QUEUES), next(perQueue - page), page))
        bytes += value.length;
    check(bytes === count * page * BODY_BYTES, 'lmdb page');
  });
}

export const jobs = { append, fill, readRandom, readPage };
