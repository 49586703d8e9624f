// What every contestant stores: the same messages, with all that belongs to them and a checksum, in the
// same queues. Message i goes to topic queue i % queues and, with `light` light queues, to those numbered
// i + 1 … i + light, modulo names.

export const QUEUES = 64;
export const defaults = { light: 0, queues: QUEUES, names: QUEUES };

/**
 * Messages that are written before the clock starts, so that every queue exists as the peers' tables do;
 * what a new queue costs is measured apart.
 */
export const primed = ({ fresh, queues = QUEUES }) => (fresh ? 0 : Math.max(queues, QUEUES));

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
export const keys = Array.from({ length: 256 }, (_, i) => `order-${String(i).padStart(8, '0')}`);

export const tags = 'text';
export const properties = { room: 'general', device: 'phone-1' };

/** The properties as text; a peer's caller has them as text, too. */
export const propertyText = 'room\x01general\x02device\x01phone-1\x02';

/** Tags, key and properties as we store them. */
export const storedProperties = (key) => `${propertyText}KEYS\x01${key}\x02TAGS\x01${tags}\x02`;

/** For each i modulo names the names of the light queues. A sender keeps the list of a group, so do we. */
export function lightQueueLists({ light, names = QUEUES }) {
  const name = (number) => `inbox-${String(number % names).padStart(6, '0')}`;
  return Array.from({ length: names }, (_, i) =>
    Array.from({ length: light }, (_, k) => name(i + 1 + k)),
  );
}

/** Numbers of message i's queues for a peer, whose index knows queues by number. */
export function queueNumbers({ queues, names }) {
  return {
    count: queues + names,
    topic: (i) => i % queues,
    light: (i, k) => queues + ((i + k) % names),
  };
}

export function check(condition, what) {
  if (!condition) throw new Error(`the measured work went wrong: ${what}`);
}
