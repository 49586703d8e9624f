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
  properties,
  QUEUES,
  random,
  TOPIC,
  tags,
} from '../workload.mjs';

/** Half of what the store keeps ready ahead of the writer, and a pause in which it makes that again. */
const BURST = 5000;
const PAUSE_MS = 20;

/** Message i. Tags, one changing key, two properties. */
export function messages(light) {
  if (light === 0) {
    return (i) => ({
      topic: TOPIC,
      queueId: i % QUEUES,
      body,
      tags,
      keys: keys[i % keys.length],
      properties,
    });
  }
  const lists = lightQueueLists(light);
  return (i) => ({
    topic: TOPIC,
    queueId: i % QUEUES,
    body,
    tags,
    keys: keys[i % keys.length],
    properties,
    lmq: lists[i % QUEUES],
  });
}

/** Bytes of one record. */
export async function recordSize(directory, light) {
  const store = await MessageStore.open(directory);
  const { size } = store.append(messages(light)(0));
  await store.close();
  return size;
}

export function write(store, message, from, to) {
  for (let i = from; i < to; i++) store.append(message(i));
}

export function checkWritten(store, { messages: count, light }) {
  const last = count - 1;
  const queue = light
    ? store.lmq(lightQueueLists(light)[last % QUEUES].at(-1))
    : store.queue(TOPIC, last % QUEUES);
  const read = queue.read(queue.maxOffset - 1, { maxMessages: 1 });
  check(read.messages[0]?.body.equals(body), 'our body');
  let stored = 0;
  for (let i = 0; i < QUEUES; i++) stored += store.queue(TOPIC, i).maxOffset;
  check(stored === count, 'our topic queues');
}

async function append(args) {
  const store = await MessageStore.open(args.directory);
  const message = messages(args.light);
  const result = await timed(args.messages, () => write(store, message, 0, args.messages));
  checkWritten(store, args);
  await store.close();
  return result;
}

/** The same in bursts, each into pages that were made ready before; the pauses do not count. */
async function appendPaced(args) {
  const store = await MessageStore.open(args.directory);
  const message = messages(args.light);
  let wall = 0;
  for (let i = 0; i < args.messages; i += BURST) {
    await sleep(PAUSE_MS);
    const end = Math.min(i + BURST, args.messages);
    const { value } = await timed(1, () => write(store, message, i, end));
    wall += value;
  }
  checkWritten(store, args);
  await store.close();
  return { value: wall / args.messages };
}

// Reading ------------------------------------------------------------------------------------------

let queues;

async function fill({ directory, messages: count }) {
  const store = await MessageStore.open(directory);
  write(store, messages(0), 0, count);
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
