// What one append takes from the heaps.

import { MessageStore } from '../../dist/index.js';
import { body, check, keys, lightQueueLists, QUEUES, TOPIC } from '../workload.mjs';
import { heapPerCall, nativeAllocationsPerCall } from './counted.mjs';
import { messages } from './ours.mjs';

/** Results are kept here, so that making them cannot be optimised away. */
let last;

/** Messages without properties. */
function bare(light) {
  const lists = lightQueueLists({ light });
  return Array.from({ length: QUEUES }, (_, queueId) => {
    const message = { topic: TOPIC, queueId, body };
    return light === 0 ? message : { ...message, lmq: lists[queueId] };
  });
}

async function append({ directory, light, appends }) {
  const store = await MessageStore.open(directory);
  const make = messages({ light });
  const made = keys.map((_, i) => make(i));
  const ready = bare(light);
  const into = store.append(ready[0]);

  const append = (i) => {
    last = store.append(ready[i % QUEUES]);
  };
  const appendReusing = (i) => {
    last = store.append(ready[i % QUEUES], into);
  };
  const appendMade = (i) => {
    last = store.append(made[i % made.length]);
  };
  const appendMaking = (i) => {
    last = store.append(make(i));
  };

  const value = heapPerCall(appends, append);
  const details = {
    'B with a reused result': heapPerCall(appends, appendReusing),
    'B with properties': heapPerCall(appends, appendMade),
    'B with the message object too': heapPerCall(appends, appendMaking),
    'native allocations': nativeAllocationsPerCall(appends, appendMade),
  };
  await store.close();
  check(last.size > body.length, 'our append');
  return { value, details };
}

export const jobs = { append };
