// Below the object API: the calls that lib/ makes, and the core alone in a loop of native code.

import { MessageStore } from '../../dist/index.js';
import { addon, OUT_STATUS } from '../../dist/native.js';
import { timed } from '../runner/timed.mjs';
import {
  body,
  check,
  keys,
  lightQueueLists,
  primed,
  QUEUES,
  STORED_PROPERTIES,
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

/** The positional call with a topic handle, a plan and ready properties: no object in, none out. */
async function appendByHandle(args) {
  const { store, native } = await openBoth(args.directory);
  const topic = native.topic(TOPIC);
  const slots = plans(native, args.light);
  const properties = keys.map(storedProperties);
  const { out } = native;
  const append = (from, to) => {
    for (let i = from; i < to; i++) {
      const queue = i % QUEUES;
      const text = properties[i % properties.length];
      native.append(topic, queue, body, -1, text, STORED_PROPERTIES, slots[queue], NaN);
      check(out[OUT_STATUS] === 0, 'append by handle');
    }
  };
  const first = primed(args);
  const all = first + args.messages;
  append(0, first);
  const result = await timed(args.messages, () => append(first, all));
  checkWritten(store, args, all);
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
