/** Export: a directory on which a broker of RocketMQ boots. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  brokerConf,
  CONF_HEAD,
  isBrokerTopic,
  lightQueueRow,
  parseTopics,
  type TopicRow,
  topicRow,
  topicsJson,
} from './broker-files.ts';
import { copyInto, fromSystem, writeSynced } from './copy-target.ts';
import type { Trace } from './errors.ts';
import { writeConsumerOffsets } from './export-offsets.ts';
import { type ExportWarning, lastingWarnings, warningsOf } from './export-warnings.ts';
import { LMQ_PREFIX } from './lmq.ts';
import type { NativeExportStep } from './native.ts';
import type { Session } from './session.ts';
import { type CopyOptions, copySteps } from './snapshot.ts';

export interface ExportOptions extends CopyOptions {
  /**
   * Rows for light queues in `config/topics.json`, which give them routes: without one, only a
   * client that names the broker reads a light queue. Default: if there are at most 10,000.
   */
  readonly lightQueueRoutes?: boolean | undefined;
}

export interface ExportReport {
  /** The directory, and the `broker.conf` in it. */
  readonly path: string;
  readonly conf: string;
  readonly logMin: number;
  readonly logEnd: number;
  readonly logFiles: number;
  readonly messages: number;
  readonly topics: number;
  readonly topicQueues: number;
  /** With messages; others have no directory in RocketMQ's form. */
  readonly lightQueues: number;
  /** Of groups in queues, in `config/lmqConsumerOffset.json`; none passes the end of its queue. */
  readonly consumerOffsets: number;
  /** What would trouble a broker or its clients; empty if nothing would. */
  readonly warnings: readonly ExportWarning[];
}

const MOST_ROUTES = 10_000;
const NAMES_AT_ONCE = 10_000;
/** The broker's own, unless it is told more. */
const LIGHT_QUEUES_OF_BROKER = 20_000;

export function exportTo(
  session: Session,
  dir: string,
  options: ExportOptions,
  trace: Trace,
): Promise<ExportReport> {
  const work = copyInto(dir, session.config.native.path, (aside, path) => {
    session.offsets.refresh();
    return copySteps(session, 'broker', aside, options, (step) =>
      writeBrokerFiles(session, aside, path, step, options),
    );
  });
  return session.hold(work, trace);
}

/** The store is closed by its owner once this has settled. */
export async function exportInPlace(
  session: Session,
  options: ExportOptions,
): Promise<ExportReport> {
  const { path } = session.config.native;
  session.offsets.refresh();
  const work = copySteps(session, 'inPlace', path, options, (step) =>
    writeBrokerFiles(session, path, path, step, options),
  );
  return work.catch((error: unknown) => {
    throw fromSystem(error);
  });
}

/** `dir` is where the files are written, `path` where the directory will lie. */
async function writeBrokerFiles(
  session: Session,
  dir: string,
  path: string,
  step: NativeExportStep,
  { lightQueueRoutes = step.lightQueues <= MOST_ROUTES }: ExportOptions,
): Promise<ExportReport> {
  const warnings = warningsOf(step);
  const topics = topicRows(session);
  warnings.push(...lastingWarnings(topics, step, lightQueueRoutes));
  await mkdir(join(dir, 'config'), { recursive: true });
  const file = join(dir, 'config', 'topics.json');
  const lights = lightQueueRoutes ? lightQueueRows(session) : [];
  await writeSynced(file, topicsJson([...topics, ...lights], await knownTopics(file, warnings)));
  const consumerOffsets = await writeConsumerOffsets(session, dir, dir === path, warnings);
  const conf = await confName(dir, warnings);
  await writeSynced(join(dir, conf), brokerConf(path, settingsOf(session, step)));
  return {
    path,
    conf: join(path, conf),
    logMin: step.logMin,
    logEnd: step.logEnd,
    logFiles: step.logFiles,
    messages: step.records,
    topics: topics.length,
    topicQueues: step.topicQueues,
    lightQueues: step.lightQueues,
    consumerOffsets,
    warnings,
  };
}

function topicRows({ native }: Session): TopicRow[] {
  const queues = new Map<string, number>();
  for (const { topic, queueId } of native.queues()) {
    queues.set(topic, Math.max(queues.get(topic) ?? 0, queueId + 1));
  }
  return [...queues]
    .filter(([topic]) => !isBrokerTopic(topic))
    .map(([topic, count]) => topicRow(topic, count));
}

function lightQueueRows({ native }: Session): TopicRow[] {
  const rows: TopicRow[] = [];
  for (let cursor = 0; cursor >= 0; ) {
    const page = native.lmqs(LMQ_PREFIX, cursor, NAMES_AT_ONCE);
    for (const name of page.names) rows.push(lightQueueRow(name));
    cursor = page.cursor;
  }
  return rows;
}

/** Rows that a broker has left in the source's file. */
async function knownTopics(file: string, warnings: ExportWarning[]) {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return {};
  try {
    return parseTopics(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    warnings.push({
      kind: 'topicsUnreadable',
      count: 1,
      example: file,
      message: `config/topics.json could not be read (${why}); it was written anew.`,
    });
    return {};
  }
}

/** A `broker.conf` that somebody else wrote is left as it is. */
async function confName(dir: string, warnings: ExportWarning[]): Promise<string> {
  const found = await readFile(join(dir, 'broker.conf'), 'utf8').catch(() => CONF_HEAD);
  if (found.startsWith(CONF_HEAD)) return 'broker.conf';
  warnings.push({
    kind: 'confKept',
    count: 1,
    example: join(dir, 'broker.conf'),
    message: 'There is a broker.conf already; what a broker needs is in lmq-store.broker.conf.',
  });
  return 'lmq-store.broker.conf';
}

function settingsOf({ config }: Session, step: NativeExportStep): Record<string, number> {
  return {
    mappedFileSizeCommitLog: step.logFileSize,
    mappedFileSizeConsumeQueue: step.queueFileSize,
    // A broker lengthens a file of other sizes, and finds no key in it.
    maxHashSlotNum: step.indexSlots,
    maxIndexNum: step.indexEntries,
    maxMessageSize: config.maxMessageSize,
    maxLmqConsumeQueueNum: Math.max(LIGHT_QUEUES_OF_BROKER, step.lightQueues * 2),
  };
}
