// Below the object API: the calls that lib/ makes, and the core alone in a loop of native code.

import { MessageStore } from '../../dist/index.js';
import {
  ARG_BODY_LENGTH,
  ARG_BORN_TIMESTAMP,
  ARG_KEYS_FROM,
  ARG_PLAN,
  ARG_PROPERTIES_AT,
  ARG_PROPERTIES_LENGTH,
  ARG_QUEUE_ID,
  ARG_STORE,
  ARG_TOPIC,
  addon,
  OUT_STATUS,
} from '../../dist/native.js';
import { timed } from '../runner/timed.mjs';
import {
  body,
  check,
  keys,
  lightQueueLists,
  primed,
  propertyText,
  QUEUES,
  storedProperties,
  TOPIC,
} from '../workload.mjs';
import { checkWritten } from './ours.mjs';

/** A store and the native store that it opened. */
export async function openBoth(pathOrOptions) {
  const { openStore } = addon;
  let native;
  addon.openStore = async (...args) => {
    native = await openStore.apply(addon, args);
    return native;
  };
  try {
    return { store: await MessageStore.open(pathOrOptions), native };
  } finally {
    addon.openStore = openStore;
  }
}

/** A plan for each list of names, in slots of its own; -1 where there are none. */
function plans(native, light) {
  if (light === 0) return new Array(QUEUES).fill(-1);
  return lightQueueLists({ light }).map((names, slot) => {
    const full = names.map((name) => `%LMQ%${name}`);
    native.plan(slot, full.join(','), full.length, true);
    return slot;
  });
}

/** The call with a topic's number, a plan and ready properties: no object in, none out. */
async function appendByHandle(given) {
  const { store, native } = await openBoth(given.directory);
  const { args } = addon;
  const { out, staged } = native;
  const slots = plans(native, given.light);
  const size = storedProperties(keys[0]).length;
  const ready = keys.slice(0, Math.floor(staged.length / size));
  for (const [i, key] of ready.entries()) staged.set(Buffer.from(storedProperties(key)), i * size);
  args[ARG_STORE] = native.number;
  args[ARG_TOPIC] = native.topic(TOPIC);
  args[ARG_BODY_LENGTH] = -1;
  args[ARG_PROPERTIES_LENGTH] = size;
  args[ARG_BORN_TIMESTAMP] = NaN;
  args[ARG_KEYS_FROM] = propertyText.length;
  const append = (from, to) => {
    for (let i = from; i < to; i++) {
      args[ARG_QUEUE_ID] = i % QUEUES;
      args[ARG_PROPERTIES_AT] = (i % ready.length) * size;
      args[ARG_PLAN] = slots[i % QUEUES];
      addon.append(body);
      check(out[OUT_STATUS] === 0, 'append by handle');
    }
  };
  const first = primed(given);
  const all = first + given.messages;
  append(0, first);
  const result = await timed(given.messages, () => append(first, all));
  checkWritten(store, given, all);
  await store.close();
  return result;
}

/** One native loop over all of them, into one topic queue. */
async function appendCore(args) {
  const { store, native } = await openBoth(args.directory);
  const [slot] = plans(native, args.light);
  const topic = native.topic(TOPIC);
  const text = storedProperties(keys[0]);
  const run = (count) => addon.benchAppend(native, topic, 0, body, text, slot, count);
  run(1);
  const value = run(args.messages);
  check(store.queue(TOPIC, 0).maxOffset === 1 + args.messages, 'append by the core');
  await store.close();
  return { value };
}

export const jobs = { appendByHandle, appendCore };
