/** `queues DIR`: topic queues, then light queues, each with its bounds. */
import { MessageStore, type QueueInfo, type StoreReader } from '../index.ts';
import { DONE, print, printable, printJson } from './output.ts';
import { lightQueueNames, queueName } from './queue-names.ts';
import type { Target } from './target.ts';

interface Options {
  json?: boolean;
  prefix?: string;
  lmq?: boolean;
}

function* topicQueues(reader: StoreReader, prefix: string): Generator<QueueInfo> {
  for (const info of reader.queues()) if (info.topic.startsWith(prefix)) yield info;
}

function* lightQueues(reader: StoreReader, prefix: string): Generator<QueueInfo> {
  for (const topic of lightQueueNames(reader, prefix)) {
    const { minOffset, maxOffset } = reader.lmq(topic);
    yield { topic, queueId: 0, minOffset, maxOffset };
  }
}

async function show({ topic, queueId, minOffset, maxOffset }: QueueInfo, json?: boolean) {
  const queue = queueName(topic, queueId);
  if (json) await printJson({ queue, topic, queueId, minOffset, maxOffset });
  else await print(`${minOffset}\t${maxOffset}\t${printable(queue)}`);
}

export async function queues(target: Target, { json, prefix = '', lmq }: Options): Promise<number> {
  const reader = await MessageStore.openReader(target);
  try {
    if (!json) await print('min\tmax\tqueue');
    if (!lmq) for (const info of topicQueues(reader, prefix)) await show(info, json);
    for (const info of lightQueues(reader, prefix)) await show(info, json);
  } finally {
    await reader.close();
  }
  return DONE;
}
