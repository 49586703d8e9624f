/** `inspect DIR`: what lies in a directory, also in one that cannot be opened. */
import { resolveConfig } from '../config.ts';
import { converted } from '../errors.ts';
import { MessageStore, type StoreReader } from '../index.ts';
import { addon } from '../native.ts';
import { describe, errorLine, type Shown } from './errors.ts';
import { countKinds } from './file-kinds.ts';
import { bytes, count, DONE, plural, print, printable, printJson, style, WRONG } from './output.ts';
import { lightQueueNames } from './queue-names.ts';
import type { Target } from './target.ts';

/** What the addon sees without opening anything. */
interface Found {
  path: string;
  files: { path: string; size: number }[];
  abort: { present: boolean; pid: number | null };
  lockHeld: boolean;
  marker: Fields | null;
  checkpoint: Fields | null;
  ownCheckpoint: Fields | null;
}

type Fields = Record<string, number | boolean | string | null>;

/** What only an open store knows. */
interface Content {
  log: { min: number; end: number };
  crc: boolean | null;
  topicQueues: number;
  lightQueues: number;
  notes: { code: string; message: string; path?: string; offset?: number }[];
}

/** Whether the last record has a CRC property; null without any record. */
function lastHasCrc(reader: StoreReader): boolean | null {
  let last: { physicalOffset: number; rawProperties: Uint8Array } | undefined;
  for (const { topic, queueId, maxOffset, minOffset } of reader.queues()) {
    if (maxOffset <= minOffset) continue;
    const { messages } = reader.queue(topic, queueId).read(maxOffset - 1, { verify: false });
    const newest = messages.at(-1);
    if (newest && newest.physicalOffset > (last?.physicalOffset ?? -1)) last = newest;
  }
  return last ? Buffer.from(last.rawProperties).includes('__CRC32#\u0001') : null;
}

function countLightQueues(reader: StoreReader): number {
  let count = 0;
  for (const _ of lightQueueNames(reader)) count++;
  return count;
}

function lookAt(target: Target): Found {
  try {
    const { path, commitLogPath } = resolveConfig(target, true).native;
    const found = addon.inspect(path, commitLogPath) as unknown as Found;
    found.files.sort((a, b) => (a.path < b.path ? -1 : 1));
    return found;
  } catch (error) {
    throw converted(error);
  }
}

async function contentOf(target: Target): Promise<Content | { error: Shown }> {
  try {
    const reader = await MessageStore.openReader(target);
    try {
      const { logMin, logEnd, notes } = reader.recovery;
      return {
        log: { min: logMin, end: logEnd },
        crc: lastHasCrc(reader),
        topicQueues: reader.queues().length,
        lightQueues: countLightQueues(reader),
        notes: [...notes],
      };
    } finally {
      await reader.close();
    }
  } catch (error) {
    return { error: describe(error) };
  }
}

const fieldsText = (fields: Fields | null): string =>
  fields
    ? Object.entries(fields)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')
    : 'none';

function stateText({ abort, lockHeld }: Found): string {
  const pid = abort.pid === null ? '' : ` by process ${abort.pid}`;
  if (lockHeld) return `open${pid}`;
  return abort.present ? `not closed${pid}: the next open recovers it` : 'clean';
}

async function printText(found: Found, content: Content | { error: Shown }): Promise<void> {
  const row = (name: string, value: string) =>
    print(`${style('bold', name.padEnd(16))}${printable(value)}`);
  await row('directory', found.path);
  await row('state', stateText(found));
  if ('error' in content) {
    await row('refused', errorLine(content.error));
  } else {
    const { min, end } = content.log;
    await row('log', `${min} to ${end} (${bytes(end - min)})`);
    await row('record CRC', content.crc === null ? 'no record' : content.crc ? 'on' : 'off');
    await row('topic queues', count(content.topicQueues));
    await row('light queues', count(content.lightQueues));
    for (const note of content.notes) await row('note', errorLine(describe(note)));
  }
  await row('marker', fieldsText(found.marker));
  await row('checkpoint', fieldsText(found.checkpoint));
  await row('own checkpoint', fieldsText(found.ownCheckpoint));
  const total = found.files.reduce((sum, { size }) => sum + size, 0);
  await row('files', `${plural(found.files.length, 'file')}, ${bytes(total)}`);
  for (const { kind, use, files, bytes: size } of countKinds(found.files)) {
    const words = `${plural(files, 'file')}, ${bytes(size)}`;
    await print(`  ${kind}: ${words}${use === 'read' ? '' : ` (${use})`}`);
  }
  const width = Math.max(0, ...found.files.map(({ size }) => String(size).length));
  for (const { path, size } of found.files) {
    await print(`  ${String(size).padStart(width)}  ${printable(path)}`);
  }
}

export async function inspect(target: Target, { json }: { json?: boolean }): Promise<number> {
  const found = lookAt(target);
  const content = await contentOf(target);
  if (json) {
    const { path, files, abort, lockHeld, ...rest } = found;
    const clean = !abort.present;
    await printJson({
      path,
      clean,
      lock: { held: lockHeld, pid: abort.pid },
      ...content,
      ...rest,
      kinds: countKinds(files),
      files,
    });
  } else {
    await printText(found, content);
  }
  return 'error' in content ? WRONG : DONE;
}
