/** `--from DIR`: the messages of a real directory, in the order of its log, over and over. */
import {
  type Message,
  MessageStore,
  type Queue,
  type StoredMessage,
  type StoreReader,
} from '../index.ts';
import { allowsLightQueues, DISPATCH, isBlank, splitList } from '../lmq.ts';
import type { Plan } from './demo-job.ts';
import { GeneratedMessages, type Route, type Source } from './demo-messages.ts';
import { CommandError } from './errors.ts';
import { isLight } from './queue-names.ts';

interface Place extends Route {
  readonly physicalOffset: number;
}

export function openSource({ seed, queues, from }: Omit<Plan, 'dir'>): Promise<Source> {
  if (from !== undefined) return ReplayedMessages.open(from);
  return Promise.resolve(new GeneratedMessages(seed, queues));
}

function* messagesOf(queue: Queue): Generator<StoredMessage> {
  for (let next = queue.minOffset; next < queue.maxOffset; ) {
    const page = queue.read(next, { maxMessages: 1024 });
    yield* page.messages;
    if (page.nextOffset <= next) return;
    next = page.nextOffset;
  }
}

/** Where the store puts it by RocketMQ's rules; what the source's own light queues hold may differ. */
function placeOf({ physicalOffset, topic, queueId, properties }: StoredMessage): Place {
  const text = properties[DISPATCH] ?? '';
  const list = isBlank(text) || !allowsLightQueues(topic) ? [] : splitList(text);
  return { physicalOffset, topic, queueId, list, lmq: [...new Set(list.filter(isLight))] };
}

/** Every message that some topic queue has, in the order of the log. */
function placesIn(reader: StoreReader): Place[] {
  const places = new Map<number, Place>();
  for (const { topic, queueId } of reader.queues()) {
    for (const message of messagesOf(reader.queue(topic, queueId))) {
      places.set(message.physicalOffset, placeOf(message));
    }
  }
  return [...places.values()].sort((a, b) => a.physicalOffset - b.physicalOffset);
}

export class ReplayedMessages implements Source {
  readonly #reader: StoreReader;
  readonly #places: readonly Place[];

  private constructor(reader: StoreReader, places: readonly Place[]) {
    this.#reader = reader;
    this.#places = places;
  }

  static async open(dir: string): Promise<ReplayedMessages> {
    const reader = await MessageStore.openReader(dir);
    const places = placesIn(reader);
    if (places.length > 0) return new ReplayedMessages(reader, places);
    await reader.close();
    throw new CommandError('NOTHING_TO_REPLAY', `no queue of ${dir} holds a message`);
  }

  get size(): number {
    return this.#places.length;
  }

  route(index: number): Route {
    return this.#places[index % this.#places.length]!;
  }

  message(index: number): Message {
    const { physicalOffset, topic, queueId } = this.#places[index % this.#places.length]!;
    const m = this.#reader.getAt(physicalOffset);
    if (!m) throw new Error(`the record at ${physicalOffset} of the source is gone`);
    const { rawProperties, rawBody: body, bornTimestamp, bornHost, flag, sysFlag } = m;
    return { topic, queueId, body, rawProperties, bornTimestamp, bornHost, flag, sysFlag };
  }

  close(): Promise<void> {
    return this.#reader.close();
  }
}
