// The three ideas that the store grew from: native allocations of a call where the idea helps, and in
// the details of one where it cannot.

import { MessageStore } from '../../dist/index.js';
import { FIELDS, OUT_COUNT } from '../../dist/native.js';
import { body, check, lightQueueLists, QUEUES, random, TOPIC } from '../workload.mjs';
import { nativeAllocationsPerCall } from './counted.mjs';
import { openBoth } from './native.mjs';
import { messages } from './ours.mjs';

const LIGHT = 16;
/** Calls that allocate, or create a queue with its files. */
const SOME = 200;

/** A list of light queues that was seen before, and lists of known queues in an order never seen. */
async function plan({ directory, count }) {
  const store = await MessageStore.open(directory);
  const message = messages({ light: LIGHT });
  const names = lightQueueLists({ light: QUEUES })[0];
  const next = random(1);
  const newLists = Array.from({ length: SOME }, () =>
    Array.from({ length: LIGHT }, () => names[next(QUEUES)]),
  );
  const known = (i) => store.append(message(i));
  for (let i = 0; i < count; i++) known(i);
  const value = nativeAllocationsPerCall(count, known);
  const details = {
    'with a new list': nativeAllocationsPerCall(SOME, (i) =>
      store.append({ ...message(i), lmq: newLists[i] }),
    ),
  };
  await store.close();
  return { value, details };
}

/** Topics and property names that were seen before, in turns, and topics never seen. */
async function topicKeys({ directory, count }) {
  const store = await MessageStore.open(directory);
  const message = messages();
  const topics = (name, many) => Array.from({ length: many }, (_, i) => `${name}-${i}`);
  const to = (names) => (i) =>
    store.append({ ...message(i), queueId: 0, topic: names[i % names.length] });
  const known = to(topics(TOPIC, QUEUES));
  for (let i = 0; i < count; i++) known(i);
  const value = nativeAllocationsPerCall(count, known);
  const unknown = to(topics('new', SOME));
  const details = { 'with a new topic': nativeAllocationsPerCall(SOME, unknown) };
  await store.close();
  return { value, details };
}

/**
 * Records read from a file that is not mapped, below and above the cap of the buffer that is kept; by
 * the native call into a page that is used again, because a page for each read is an allocation too.
 */
async function checkBuffer({ directory, count }) {
  const cap = 64 * 1024;
  const { store, native } = await openBoth({
    path: directory,
    readMode: 'pread',
    maxCheckMessageReuseBufferSize: cap,
  });
  const message = messages();
  const large = Buffer.alloc(2 * cap, body);
  for (let i = 0; i < SOME; i++) {
    store.append({ ...message(i), queueId: 0 });
    store.append({ ...message(i), queueId: 1, body: large });
  }
  const page = Buffer.alloc(4 * cap);
  const fields = new Float64Array(FIELDS);
  const reader = (queueId) => {
    const queue = native.findQueue(TOPIC, queueId);
    return (i) => {
      native.read(false, queue, i % SOME, 1, page.length, '', true, false, page, fields);
      check(native.out[OUT_COUNT] === 1, 'native read');
    };
  };
  const [read, readLarge] = [reader(0), reader(1)];
  for (let i = 0; i < count; i++) read(i);
  const value = nativeAllocationsPerCall(count, read);
  const details = { 'above the cap': nativeAllocationsPerCall(SOME, readLarge) };
  await store.close();
  return { value, details };
}

export const jobs = { plan, topicKeys, checkBuffer };
