/** `snapshot DIR OUT` and `export DIR OUT`: copies of a store, for backup and for a broker. */
import { type ExportReport, isStoreError, MessageStore } from '../index.ts';
import { CommandError } from './errors.ts';
import {
  bytes,
  count,
  DONE,
  Progress,
  plural,
  print,
  printable,
  printJson,
  UsageError,
} from './output.ts';
import type { Target } from './target.ts';

interface Options {
  json?: boolean;
}

interface ExportOptions extends Options {
  inPlace?: boolean;
  adopt?: boolean;
  routes?: boolean;
}

/** Shows how far a copy has come until it ends. */
async function watched<T>(
  label: string,
  work: (onProgress: (at: { position: number; total: number }) => void) => Promise<T>,
): Promise<T> {
  const progress = new Progress(label);
  try {
    return await work(({ position, total }) => progress.update(position, total));
  } finally {
    progress.stop();
  }
}

export async function snapshot(target: Target, out: string, { json }: Options): Promise<number> {
  const reader = await MessageStore.openReader(target);
  try {
    const report = await watched('snapshot', (onProgress) => reader.snapshot(out, { onProgress }));
    if (json) await printJson(report);
    else {
      const { path, logMin, logEnd, logFiles } = report;
      const log = `${bytes(logEnd - logMin)} of log in ${plural(logFiles, 'file')}`;
      await print(`${printable(path)}: ${log}, ${logMin} to ${logEnd}`);
    }
  } finally {
    await reader.close();
  }
  return DONE;
}

export async function exportStore(
  target: Target,
  ...rest: [out: string, options: ExportOptions] | [options: ExportOptions]
): Promise<number> {
  const { json, inPlace, adopt = false, routes } = rest[rest.length - 1] as ExportOptions;
  if (adopt && !inPlace) throw new UsageError('--adopt goes with --in-place');
  const store = inPlace ? await openToWrite(target, adopt) : await MessageStore.openReader(target);
  try {
    const report = await watched('export', (onProgress) => {
      const options = { onProgress, lightQueueRoutes: routes };
      return store instanceof MessageStore
        ? store.exportInPlace(options)
        : store.export(rest[0] as string, options);
    });
    if (json) await printJson(report);
    else await show(report);
  } finally {
    await store.close();
  }
  return DONE;
}

async function openToWrite(target: Target, adopt: boolean): Promise<MessageStore> {
  try {
    return await MessageStore.open({ ...target, adopt });
  } catch (error) {
    if (!isStoreError(error, 'STORE_FOREIGN_DIRECTORY')) throw error;
    const hint = 'With --adopt it is taken over first; without --in-place it is only read.';
    const { code, message, path } = error;
    throw Object.assign(new CommandError(code, message, hint), { path });
  }
}

async function show(report: ExportReport): Promise<void> {
  const { path, conf, messages, topics, topicQueues, lightQueues, consumerOffsets, warnings } =
    report;
  const queues = `${plural(topicQueues, 'queue')} of ${plural(topics, 'topic')}`;
  const offsets = plural(consumerOffsets, 'consumer offset');
  await print(
    `${printable(path)}: ${plural(messages, 'message')}, ${queues}, ${count(lightQueues)} light, ${offsets}`,
  );
  await print(`start a broker with ${printable(conf)}`);
  for (const { kind, message } of warnings) await print(`${kind}\t${printable(message)}`);
}
