// What every contestant stores: the same messages in the same queues. Message i goes to topic queue
// i % QUEUES and, with n light queues, to those numbered i + 1 … i + n (modulo QUEUES).

export const QUEUES = 64;
export const TOPIC = 'TopicBenchmark000001';
export const BODY_BYTES = 1024;

/** Steps of the log position in the peers' tables; about the size of one of our records. */
export const RECORD_BYTES = 1280;

/** Numbers below `n`, the same sequence in every process. */
export function random(seed) {
  let state = seed >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

export const body = Buffer.allocUnsafeSlow(BODY_BYTES);
const byte = random(42);
for (let i = 0; i < BODY_BYTES; i++) body[i] = byte(256);

/** The one key of a message changes with every message; making the text is the caller's work, not the store's. */
export const keys = Array.from({ length: 4096 }, (_, i) => `order-${String(i).padStart(8, '0')}`);

export const tags = 'text';
export const properties = { room: 'general', device: 'phone-1' };

/** Tags, key and properties as they are stored, and their number. */
export const storedProperties = (key) =>
  `room\x01general\x02device\x01phone-1\x02KEYS\x01${key}\x02TAGS\x01${tags}\x02`;
export const STORED_PROPERTIES = 4;

/** For each i modulo QUEUES the names of the light queues. A sender keeps the list of a group, so do we. */
export function lightQueueLists(count) {
  const name = (queue) => `inbox-${String(queue % QUEUES).padStart(6, '0')}`;
  return Array.from({ length: QUEUES }, (_, i) =>
    Array.from({ length: count }, (_, k) => name(i + 1 + k)),
  );
}

export function check(condition, what) {
  if (!condition) throw new Error(`the measured work went wrong: ${what}`);
}
