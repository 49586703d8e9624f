// Everything that a store's queues give, in one form for both stores.
import { parseHost } from '../../lib/host.ts';
import type { StoredMessage, StoreReader } from '../../lib/index.ts';
import { lightQueuesOf, messagesOf } from '../support/stores.ts';
import type { Judge, MessageAnswer } from './judge.ts';

/** Messages by queue; queues without any are left out. */
export type State = Readonly<Record<string, readonly MessageAnswer[]>>;

const CRC = '__CRC32#';

export async function theirState(judge: Judge): Promise<State> {
  const state: Record<string, MessageAnswer[]> = {};
  for (const { topic, queueId } of await judge.queues()) {
    const messages = await judge.read(topic, queueId);
    if (messages.length > 0) state[`${topic}:${queueId}`] = messages.map(withoutChecksum);
  }
  return state;
}

/** What a user of ours does not see. */
function withoutChecksum(message: MessageAnswer): MessageAnswer {
  const { [CRC]: _, ...properties } = (message['properties'] ?? {}) as Record<string, string>;
  return { ...message, properties };
}

export function ourState(store: StoreReader): State {
  const topics = store.queues().map(({ topic, queueId }) => store.queue(topic, queueId));
  const light = lightQueuesOf(store).map((name) => store.lmq(name));
  const all = [...topics, ...light].map((queue) => {
    return [`${queue.topic}:${queue.queueId}`, messagesOf(queue).map(described)] as const;
  });
  return Object.fromEntries(all.filter(([, messages]) => messages.length > 0));
}

function described(message: StoredMessage): MessageAnswer {
  const { offset, topic, queueId, queueOffset, physicalOffset, size, flag, sysFlag } = message;
  const { bornTimestamp, storeTimestamp, reconsumeTimes, preparedTransactionOffset } = message;
  return {
    ...{ offset, topic, queueId, queueOffset, physicalOffset, size, flag, sysFlag },
    ...{ bornTimestamp, storeTimestamp, reconsumeTimes, preparedTransactionOffset },
    msgId: message.msgId,
    bornHost: hostOf(message.bornHost),
    storeHost: hostOf(message.storeHost),
    body: message.body.toString('hex'),
    properties: { ...message.properties },
  };
}

function hostOf(text: string): string {
  const { address, port } = parseHost(text, 'host', 'STORE_INTERNAL');
  return `${Buffer.from(address).toString('hex')}:${port}`;
}

/** Queues of topics alone. */
export const topicsOf = (state: State): State =>
  Object.fromEntries(Object.entries(state).filter(([name]) => !name.startsWith('%LMQ%')));
