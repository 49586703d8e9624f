// What one append takes from the heaps.

import { MessageStore } from '../../dist/index.js';
import {
  body,
  check,
  keys,
  lightQueueLists,
  QUEUES,
  storedProperties,
  TOPIC,
} from '../workload.mjs';
import { heapPerCall, nativeAllocationsPerCall } from './counted.mjs';
import { messages } from './ours.mjs';

/** Results are kept here, so that making them cannot be optimised away. */
let last;

/** Messages whose properties are stored as given: no property string has to be made. */
function plain(light) {
  const lists = lightQueueLists(light);
  const rawProperties = storedProperties(keys[0]);
  return Array.from({ length: QUEUES }, (_, queueId) => {
    const message = { topic: TOPIC, queueId, body, rawProperties };
    return light === 0 ? message : { ...message, lmq: lists[queueId] };
  });
}

async function append({ directory, light, appends }) {
  const store = await MessageStore.open(directory);
  const make = messages(light);
  const made = keys.map((_, i) => make(i));
  const raw = plain(light);
  const into = store.append(raw[0]);

  const append = (i) => {
    last = store.append(raw[i % QUEUES]);
  };
  const appendReusing = (i) => {
    last = store.append(raw[i % QUEUES], into);
  };
  const appendMade = (i) => {
    last = store.append(made[i % made.length]);
  };
  const appendMaking = (i) => {
    last = store.append(make(i));
  };

  const value = heapPerCall(appends, append);
  const details = {
    'native allocations': nativeAllocationsPerCall(appends, appendMade),
    'B with a reused result': heapPerCall(appends, appendReusing),
    'B with the property string': heapPerCall(appends, appendMade),
    'B with the message object too': heapPerCall(appends, appendMaking),
  };
  await store.close();
  check(last.size > body.length, 'our append');
  return { value, details };
}

export const jobs = { append };
