// lmq-store in its default configuration, through the object API, into a fresh directory.

import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MessageStore } from '../../dist/index.js';
import { timed } from '../runner/timed.mjs';
import {
  BODY_BYTES,
  body,
  check,
  keys,
  lightQueueLists,
  primed,
  properties,
  QUEUES,
  random,
  TOPIC,
  tags,
} from '../workload.mjs';

/** Half of what the store keeps ready ahead of the writer, and a pause in which it makes that again. */
const BURST = 5000;
const PAUSE_MS = 20;

/** Message i: tags, one changing key, two properties. */
export function messages({ light = 0, queues = QUEUES, names = QUEUES } = {}) {
  const lists = light === 0 ? undefined : lightQueueLists({ light, names });
  const message = (i) => ({
    topic: TOPIC,
    queueId: i % queues,
    body,
    tags,
    keys: keys[i % keys.length],
    properties,
  });
  const messageToLightQueues = (i) => ({
    topic: TOPIC,
    queueId: i % queues,
    body,
    tags,
    keys: keys[i % keys.length],
    properties,
    lmq: lists[i % names],
  });
  return lists === undefined ? message : messageToLightQueues;
}

/** Bytes of one record. */
export async function recordSize(directory, light) {
  const store = await MessageStore.open(directory);
  const { size } = store.append(messages({ light })(0));
  await store.close();
  return size;
}

export function write(store, message, from, to) {
  for (let i = from; i < to; i++) store.append(message(i));
}

export function checkWritten(store, args, count) {
  const { queues = QUEUES } = args;
  const last = messages(args)(count - 1);
  const queue = last.lmq ? store.lmq(last.lmq.at(-1)) : store.queue(TOPIC, last.queueId);
  const read = queue.read(queue.maxOffset - 1, { maxMessages: 1 });
  check(read.messages[0]?.body.equals(body), 'our body');
  let stored = 0;
  for (let i = 0; i < queues; i++) stored += store.queue(TOPIC, i).maxOffset;
  check(stored === count, 'our topic queues');
}

async function append(args) {
  const store = await MessageStore.open(args.directory);
  const message = messages(args);
  const first = primed(args);
  const all = first + args.messages;
  write(store, message, 0, first);
  const result = await timed(args.messages, () => write(store, message, first, all));
  checkWritten(store, args, all);
  await store.close();
  return result;
}

/** The same in bursts, each into pages that were made ready before; the pauses do not count. */
async function appendPaced(args) {
  const store = await MessageStore.open(args.directory);
  const message = messages(args);
  const first = primed(args);
  const all = first + args.messages;
  write(store, message, 0, first);
  let wall = 0;
  for (let i = first; i < all; i += BURST) {
    await sleep(PAUSE_MS);
    const start = process.hrtime.bigint();
    write(store, message, i, Math.min(i + BURST, all));
    wall += Number(process.hrtime.bigint() - start);
  }
  checkWritten(store, args, all);
  await store.close();
  return { value: wall / args.messages };
}

// Reading ------------------------------------------------------------------------------------------

let queues;

async function fill({ directory, messages: count }) {
  const store = await MessageStore.open(directory);
  write(store, messages(), 0, count);
  await store.flush();
  queues = Array.from({ length: QUEUES }, (_, i) => store.queue(TOPIC, i));
}

function readRandom({ messages: count, reads, seed }) {
  const next = random(seed);
  const perQueue = Math.floor(count / QUEUES);
  const options = { maxMessages: 1 };
  return timed(reads, () => {
    let bytes = 0;
    for (let i = 0; i < reads; i++)
      bytes += queues[next(QUEUES)].read(next(perQueue), options).messages[0].body.length;
    check(bytes === reads * BODY_BYTES, 'our read');
  });
}

function readPage({ messages: count, page, reads, seed }) {
  const next = random(seed);
  const perQueue = Math.floor(count / QUEUES);
  const options = { maxMessages: page };
  const pages = Math.ceil(reads / page);
  return timed(pages * page, () => {
    let bytes = 0;
    for (let i = 0; i < pages; i++)
      for (const message of queues[next(QUEUES)].read(next(perQueue - page), options).messages)
        bytes += message.body.length;
    check(bytes === pages * page * BODY_BYTES, 'our page');
  });
}

// Recovery -----------------------------------------------------------------------------------------

/** Fills a directory in a process that is killed in the middle of its work. */
export function abandon({ directory, bytes }) {
  const script = fileURLToPath(new URL('abandoned.mjs', import.meta.url));
  const { signal } = spawnSync(process.execPath, [script, directory, String(bytes)], {
    stdio: ['ignore', 2, 2],
  });
  check(signal === 'SIGKILL', 'the writer was not killed');
}

async function recover({ prepared, directory }) {
  cpSync(prepared, directory, { recursive: true });
  let store;
  const time = await timed(1, async () => {
    store = await MessageStore.open(directory);
  });
  const { scannedFrom, logEnd, scannedRecords } = store.recovery;
  await store.close();
  check(scannedRecords > 0, 'nothing was scanned');
  const bytes = logEnd - scannedFrom;
  return {
    value: bytes / time.value,
    cpu: time.cpu / bytes,
    details: { scannedMiB: bytes / 2 ** 20, openMs: time.value / 1e6 },
  };
}

export const jobs = { append, appendPaced, fill, readRandom, readPage, abandon, recover };
