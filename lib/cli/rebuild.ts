/** `rebuild DIR`: derived files anew. It alone, of what looks at a store, writes to it. */
import { MessageStore, type RebuildProgress } from '../index.ts';
import { describe, errorLine } from './errors.ts';
import { DONE, Progress, plural, print, printJson, WRONG } from './output.ts';
import type { Target } from './target.ts';

interface Options {
  json?: boolean;
  queues?: boolean;
}

export async function rebuild(target: Target, { json, queues }: Options): Promise<number> {
  const progress = new Progress('rebuild');
  const onProgress = ({ position, total }: RebuildProgress) => progress.update(position, total);
  try {
    const consumeQueues = queues === true;
    const report = await MessageStore.rebuild(target, { consumeQueues, onProgress });
    const { dispatchedRecords: records, logMin, logEnd, notes, cut } = report;
    progress.stop();
    const made = ['light-queue index', ...(consumeQueues ? ['consume queues'] : [])];
    if (json) {
      await printJson({ made, records, log: { min: logMin, end: logEnd }, cut, notes });
    } else {
      await print(`made ${made.join(' and ')} from ${plural(records, 'record')}`);
      for (const note of notes) await print(`note: ${errorLine(describe(note))}`);
    }
    return notes.length > 0 ? WRONG : DONE;
  } finally {
    progress.stop();
  }
}
