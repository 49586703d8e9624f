// The steps that put messages, as messages of ours.
import type { AppendResult, Message, MessageStore } from '../../lib/index.ts';
import { isStoreError, StoreError, type StoreErrorCode } from '../../lib/index.ts';
import type { Row } from './expected.ts';

type Repeated = string | { readonly repeat: string; readonly times: number };

export interface Put {
  readonly op: 'put';
  readonly topic: string;
  readonly body?: string;
  readonly bodyRepeat?: { readonly hex: string; readonly times: number };
  readonly nullBody?: true;
  readonly properties?: string | readonly Repeated[];
  readonly queueId?: number;
  readonly flag?: number;
  readonly sysFlag?: number;
  readonly reconsumeTimes?: number;
  readonly preparedTransactionOffset?: number;
  readonly bornTimestamp?: number;
  readonly bornHost?: string;
  readonly storeHost?: string;
}

/** The same for several messages in one; what is not the message's own is the batch's. */
export interface BatchPut extends Omit<Put, 'op' | 'body' | 'bodyRepeat' | 'nullBody'> {
  readonly op: 'batch';
  readonly messages: readonly Pick<Put, 'body' | 'bodyRepeat' | 'properties' | 'flag'>[];
}

export function messageOf(put: Put): Message {
  return {
    topic: put.topic,
    body: bodyOf(put),
    rawProperties: propertiesOf(put.properties),
    queueId: put.queueId,
    flag: put.flag,
    sysFlag: put.sysFlag,
    reconsumeTimes: put.reconsumeTimes,
    preparedTransactionOffset: put.preparedTransactionOffset,
    bornTimestamp: put.bornTimestamp ?? 1_700_000_000_000,
    bornHost: put.bornHost ?? '10.1.2.3:1234',
    storeHost: put.storeHost ?? '127.0.0.1:10911',
  };
}

function bodyOf({ body = '', bodyRepeat }: Put): Buffer {
  if (bodyRepeat === undefined) return Buffer.from(body, 'hex');
  const piece = Buffer.from(bodyRepeat.hex, 'hex');
  return Buffer.alloc(piece.length * bodyRepeat.times, piece);
}

function propertiesOf(given: Put['properties'] = ''): string {
  if (typeof given === 'string') return given;
  return given
    .map((one) => (typeof one === 'string' ? one : one.repeat.repeat(one.times)))
    .join('');
}

/** What the real store says where we refuse with a code. */
const REFUSALS: Partial<Record<StoreErrorCode, string>> = {
  STORE_INVALID_MESSAGE: 'MESSAGE_ILLEGAL',
  STORE_BODY_TOO_LARGE: 'MESSAGE_ILLEGAL',
  STORE_RECORD_TOO_LARGE: 'MESSAGE_ILLEGAL',
  STORE_PROPERTIES_TOO_LARGE: 'PROPERTIES_SIZE_EXCEEDED',
};

/** A refusal of the real store in one word; what it took as it is. */
export function theirResult(result: Row): Row {
  const { putStatus, appendStatus } = result;
  return appendStatus === 'PUT_OK' ? result : { refused: appendStatus ?? putStatus };
}

/** Puts a message or a batch, and answers as the real store would. */
export function put(store: MessageStore, step: Put | BatchPut): Row {
  let results: AppendResult[];
  try {
    results = step.op === 'put' ? [store.append(messageOf(step))] : putBatch(store, step);
  } catch (error) {
    if (!isStoreError(error)) throw error;
    return { refused: REFUSALS[error.code] ?? error.code };
  }
  const { physicalOffset, queueOffset, storeTimestamp } = results[0]!;
  return {
    putStatus: 'PUT_OK',
    appendStatus: 'PUT_OK',
    physicalOffset,
    size: results.reduce((sum, { size }) => sum + size, 0),
    queueOffset,
    messages: results.length,
    msgId: results.map(({ msgId }) => msgId).join(),
    storeTimestamp,
  };
}

function putBatch(store: MessageStore, step: BatchPut): AppendResult[] {
  // A batch of ours has no properties beside its messages'; of theirs, one with DELAY is refused.
  if (step.properties !== undefined) {
    throw new StoreError('STORE_INVALID_MESSAGE', 'A batch has none.');
  }
  return store.appendBatch(messagesOf(step));
}

/** The one message of a put, or those of a batch. */
export function messagesOf(step: Put | BatchPut): Message[] {
  if (step.op === 'put') return [messageOf(step)];
  const { messages, properties, ...batch } = step;
  const own = messages.map((message) => ({ ...batch, flag: undefined, ...message, op: 'put' }));
  return own.map((one) => messageOf(one as Put));
}
