// better-sqlite3 in WAL mode without sync: a commit survives SIGKILL of the process, as our append does.

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import Database from 'better-sqlite3';
import { timed } from '../runner/timed.mjs';
import {
  BODY_BYTES,
  body,
  check,
  defaults,
  keys,
  primed,
  propertyText,
  QUEUES,
  queueNumbers,
  RECORD_BYTES,
  random,
  TOPIC,
  tags,
} from '../workload.mjs';

function openAt(directory, tuned = false) {
  const db = new Database(join(directory, 'bench.db'));
  if (tuned) db.pragma('page_size = 16384');
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -65536');
  db.pragma('mmap_size = 4294967296');
  return db;
}

function createLog(db) {
  db.exec(`
    CREATE TABLE log (position INTEGER PRIMARY KEY, topic TEXT, queueId INTEGER, born INTEGER, tags TEXT,
                      keys TEXT, properties TEXT, crc INTEGER, body BLOB);
    CREATE TABLE ix (queue INTEGER, offset INTEGER, position INTEGER, size INTEGER,
                     PRIMARY KEY (queue, offset)) WITHOUT ROWID;`);
}

/** One message: a log row with all of it, and a row in each of its queues. */
function writer(db, { light, ...shape }) {
  const log = db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const index = db.prepare('INSERT INTO ix VALUES (?, ?, ?, ?)');
  const queues = queueNumbers(shape);
  const offsets = new Float64Array(queues.count);
  return (i) => {
    const position = i * RECORD_BYTES;
    const queue = queues.topic(i);
    const key = keys[i % keys.length];
    log.run(position, TOPIC, queue, Date.now(), tags, key, propertyText, crc32(body), body);
    index.run(queue, offsets[queue]++, position, BODY_BYTES);
    for (let k = 1; k <= light; k++) {
      const lightQueue = queues.light(i, k);
      index.run(lightQueue, offsets[lightQueue]++, position, BODY_BYTES);
    }
  };
}

function inTransactions(db, from, to, size, write) {
  const run = db.transaction((first, end) => {
    for (let i = first; i < end; i++) write(i);
  });
  for (let i = from; i < to; i += size) run(i, Math.min(i + size, to));
}

function checkWritten(db, { light }, messages) {
  const count = (table) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  check(count('log') === messages, 'sqlite log rows');
  check(count('ix') === messages * (1 + light), 'sqlite index rows');
}

async function append(given) {
  const args = { ...defaults, ...given };
  const { directory, messages, transaction, tuned } = args;
  const db = openAt(directory, tuned);
  createLog(db);
  const write = writer(db, args);
  const first = primed(args);
  const all = first + messages;
  inTransactions(db, 0, first, first, write);
  const result = await timed(messages, () => inTransactions(db, first, all, transaction, write));
  checkWritten(db, args, all);
  db.close();
  return result;
}

// Reading ------------------------------------------------------------------------------------------

const filled = new Map();

/** `index`: the log and the index of the append trials; `row`: the body itself under (queue, offset). */
function fill({ directory, layout, messages }) {
  const db = openAt(directory);
  let write;
  if (layout === 'row') {
    db.exec('CREATE TABLE message (queue INTEGER, offset INTEGER, body BLOB)');
    db.exec('CREATE UNIQUE INDEX by_queue ON message (queue, offset)');
    const insert = db.prepare('INSERT INTO message VALUES (?, ?, ?)');
    write = (i) => insert.run(i % QUEUES, Math.floor(i / QUEUES), body);
  } else {
    createLog(db);
    write = writer(db, defaults);
  }
  inTransactions(db, 0, messages, 4096, write);
  const from =
    layout === 'row'
      ? 'SELECT body FROM message WHERE queue = ?'
      : 'SELECT body FROM ix JOIN log USING (position) WHERE queue = ?';
  filled.set(layout, {
    get: db.prepare(`${from} AND offset = ?`).pluck(),
    page: db.prepare(`${from} AND offset >= ? ORDER BY offset LIMIT ?`).pluck(),
  });
}

function readRandom({ layout, messages, reads, seed }) {
  const { get } = filled.get(layout);
  const next = random(seed);
  const perQueue = Math.floor(messages / QUEUES);
  return timed(reads, () => {
    let bytes = 0;
    for (let i = 0; i < reads; i++) bytes += get.get(next(QUEUES), next(perQueue)).length;
    check(bytes === reads * BODY_BYTES, 'sqlite read');
  });
}

function readPage({ layout, messages, page, reads, seed }) {
  const { page: select } = filled.get(layout);
  const next = random(seed);
  const perQueue = Math.floor(messages / QUEUES);
  const count = Math.ceil(reads / page);
  return timed(count * page, () => {
    let bytes = 0;
    for (let i = 0; i < count; i++)
      for (const value of select.all(next(QUEUES), next(perQueue - page), page))
        bytes += value.length;
    check(bytes === count * page * BODY_BYTES, 'sqlite page');
  });
}

export const jobs = { append, fill, readRandom, readPage };
