/** The demo's live round: one queue is followed while this very process appends the rest. */
import { setImmediate as turn } from 'node:timers/promises';
import type { MessageStore } from '../index.ts';
import type { Checker } from './demo-check.ts';
import { offsetsText } from './demo-job.ts';
import type { Source } from './demo-messages.ts';
import { type Model, queuesOf } from './demo-model.ts';
import { isLight, openQueue } from './queue-names.ts';

/** Appends between two turns of the event loop. */
const BURST = 64;
const PATIENCE_MS = 30_000;

export interface LiveResult {
  queue: string;
  appended: number;
  followed: number;
  /** Delivered before the last append. */
  during: number;
}

/** The light queue that gets most of the messages to come (a topic queue if none gets any), and which. */
function busiest(source: Source, first: number, end: number): { name: string; due: number[] } {
  const lists = new Map<string, number[]>();
  for (let index = first; index < end; index++) {
    for (const name of queuesOf(source.route(index))) {
      const list = lists.get(name);
      if (list) list.push(index);
      else lists.set(name, [index]);
    }
  }
  const light = [...lists].filter(([name]) => isLight(name));
  const [name, due] = (light.length > 0 ? light : [...lists]).reduce((a, b) =>
    b[1].length > a[1].length ? b : a,
  );
  return { name, due };
}

export async function liveRound(
  store: MessageStore,
  model: Model,
  checker: Checker,
  end: number,
  progress: (index: number) => void,
): Promise<LiveResult> {
  const first = model.size;
  const { name, due } = busiest(model.source, first, end);
  const from = model.count(name);
  const result = { queue: name, appended: end - first, followed: 0, during: 0 };

  const follow = async () => {
    const signal = AbortSignal.timeout(PATIENCE_MS + (end - first));
    for await (const { messages } of openQueue(store, name).follow({ from, signal })) {
      for (const found of messages) {
        const next = from + result.followed;
        const index = due[result.followed++];
        if (found.offset !== next || index === undefined || index >= model.size) {
          checker.complain(`${name} delivered offset ${found.offset} where ${next} was due`);
        } else checker.message(found, index, `${name}, followed`);
      }
      if (result.followed >= due.length) break;
    }
  };
  const write = async () => {
    while (model.size < end) {
      const index = model.size;
      const { physicalOffset, queueOffset, lmqOffsets } = store.append(model.source.message(index));
      const ack = { index, physicalOffset, queueOffset, lmqOffsets: offsetsText(lmqOffsets) };
      checker.complain(model.add(ack));
      if (index % BURST !== 0) continue;
      progress(index);
      await turn();
    }
    result.during = result.followed;
  };
  await Promise.all([follow(), write()]);
  return result;
}
