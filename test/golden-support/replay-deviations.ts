// Where we decide otherwise than the real store while the same messages are put. `row` as in
// deviations.ts.

export interface ReplayDeviation {
  readonly row: string;
  readonly why: string;
  /** The first put (counted from 0) that is stored otherwise; absent if the log is the same. */
  readonly from?: number;
  /** Our answers to the puts that only one of the two took. */
  readonly others?: Readonly<Record<number, string>>;
  /** Their queues of topics end early. */
  readonly shortQueues?: true;
  /** Their log cannot be read any further than that many records. */
  readonly readable?: number;
  /** Light queues that hold other messages than theirs: which puts. */
  readonly light?: Readonly<Record<string, readonly number[]>>;
}

const ODD_NAME = 'STORE_INVALID_LMQ_NAME';
const TAKEN = 'PUT_OK';

export const replayDeviations: Readonly<Record<string, ReplayDeviation>> = {
  'batches-crc': {
    row: 'Q36',
    why: 'a batch gets the separator before its CRC and loses incoming ones, as single messages do',
    from: 0,
    readable: 2,
  },
  'batches-roll': {
    row: 'Q3, Q35',
    why: 'a batch that is too large, or that no file can hold, is refused and no file is spent on it',
    from: 7,
    others: { 7: 'MESSAGE_ILLEGAL', 8: 'MESSAGE_ILLEGAL' },
  },
  'lmq-batch': {
    row: 'Q21',
    why: 'offsets that the store did not give out are not stored, and make no queue',
    from: 1,
    light: { '%LMQ%a': [0, 2], '%LMQ%b': [2] },
  },
  'lmq-excluded-topics': {
    row: 'Q19, Q20, Q57',
    why: 'half, prepared and rolled-back messages take no light-queue offsets; a light queue is no topic',
    from: 3,
    others: { 5: 'STORE_INVALID_TOPIC' },
    light: { '%LMQ%a': [6, 8, 10] },
  },
  'lmq-names': {
    row: 'Q22',
    why: 'names that no directory can have are refused',
    from: 0,
    others: { 0: ODD_NAME, 10: ODD_NAME, 15: ODD_NAME, 16: ODD_NAME, 26: ODD_NAME, 31: ODD_NAME },
  },
  'lmq-no-dispatch': {
    row: 'lib/options',
    why: 'no offsets are given out where no light queue is built, since a restart would forget them',
    from: 0,
  },
  'lmq-offsets-trusted': {
    row: 'Q21',
    why: 'offsets that the store did not give out are not stored, and make no queue',
    from: 0,
    light: {},
  },
  'lmq-repeated': {
    row: 'Q18',
    why: 'a repeated name raises its queue once, so the next message has the next offset',
    from: 2,
  },
  'lmq-stall-empty': {
    row: 'Q1',
    why: 'an empty part is passed over, where the real store dispatches nothing any more',
    shortQueues: true,
    light: { '%LMQ%a': [0, 1, 2], '%LMQ%b': [1, 2] },
  },
  'lmq-stall-mixed': {
    row: 'Q1',
    why: 'a plain name is passed over, where the real store dispatches nothing any more',
    shortQueues: true,
    light: { '%LMQ%a': [0, 2], '%LMQ%b': [1, 2] },
  },
  'lmq-trailing': {
    row: 'Q1, Q23',
    why: 'a light queue before a plain name gets its message',
    light: { '%LMQ%a': [0, 1, 2, 6, 11, 14], '%LMQ%b': [2, 5, 13, 14] },
  },
  'queue-short-clean': {
    row: 'Q11',
    why: 'the real store does not build the unit again that was taken from its queues by hand',
    light: { '%LMQ%a': [0, 3, 6, 9, 12, 15, 18, 21], '%LMQ%b': [0, 3, 6, 9, 12, 15, 18, 21] },
  },
  'roll-too-large': {
    row: 'Q3',
    why: 'a message that no file can hold is refused, and no file is spent on it',
    from: 1,
    others: { 1: 'MESSAGE_ILLEGAL', 5: 'MESSAGE_ILLEGAL' },
  },
  sizes: {
    row: 'Q4',
    why: 'a record may be 64 KiB larger than a body, with light queues too',
    from: 18,
    others: { 18: TAKEN, 19: TAKEN, 22: TAKEN },
    light: { '%LMQ%a': [12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 24] },
  },
  'topic-length-units': {
    row: 'Q2',
    why: 'the version follows from the bytes of the topic; the real store cannot read what it wrote',
    from: 1,
    readable: 1,
  },
};
