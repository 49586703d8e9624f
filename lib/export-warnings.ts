/** What would trouble a broker on an exported directory, in words. */
import type { TopicRow } from './broker-files.ts';
import type { NativeExportStep } from './native.ts';

export interface ExportWarning {
  /** Stable, for programs. */
  readonly kind: string;
  /** How often it was met. */
  readonly count: number;
  /** The first queue, topic or place. */
  readonly example: string;
  readonly message: string;
}

const INT_MAX = 2147483647;
const RECOVERED_FILES = 10;
/** A client makes an object and a request for each. */
const MANY_QUEUES = 1024;

/** Of what native met on its way. */
const MESSAGES: Readonly<Record<string, string>> = {
  mixedList:
    'records name a plain queue before a light one: a broker that has to dispatch such a record stops there for good.',
  damaged:
    'places in the log are damaged: a broker that recovers over one ends its log there and drops the rest.',
  unsafeName: 'queues cannot be directories; they were left out.',
  emptied: 'queues have no message left and were left out: a broker numbers their next message 0.',
  offsetAhead:
    'consumer offsets lay beyond the end of their queue in the copy; they were set to that end.',
  gap: 'gaps lie in the numbering of queues; they were filled with blank units.',
  blankStart:
    'queues begin above offset 0 while the log begins at 0: a broker tells their minimum as the start of their first file.',
};

export function warningsOf({ troubles }: NativeExportStep): ExportWarning[] {
  return troubles.map((trouble) => ({
    ...trouble,
    message: `${trouble.count} ${MESSAGES[trouble.kind] ?? trouble.kind} First: ${trouble.example}.`,
  }));
}

/** Of what the directory is, whatever is in it. */
export function lastingWarnings(
  topics: readonly TopicRow[],
  step: NativeExportStep,
  routes: boolean,
): ExportWarning[] {
  const warnings: ExportWarning[] = [];
  const warn = (kind: string, examples: readonly (string | number)[], message: string) => {
    if (examples.length === 0) return;
    warnings.push({ kind, count: examples.length, example: String(examples[0]), message });
  };
  const names = (match: (row: TopicRow) => boolean) =>
    topics.filter(match).map((row) => row.topicName);
  warn(
    'topicName',
    names(({ topicName }) => !/^[%|\w-]{1,127}$/.test(topicName)),
    'Clients refuse topics of other than 1 to 127 of the characters a-z A-Z 0-9 _ - % |.',
  );
  warn(
    'queueIds',
    names(({ readQueueNums }) => readQueueNums > MANY_QUEUES),
    'Queue ids are numbers from 0 without gaps to clients: they will ask for very many queues.',
  );
  warn(
    'recoveryLimit',
    step.logFiles > RECOVERED_FILES ? [step.logFiles] : [],
    'With more than ten log files keep consumequeue/, or commitLogRecoverMaxNum as broker.conf has it.',
  );
  warn(
    'fileSize',
    [step.logFileSize, step.queueFileSize].filter((size) => size > INT_MAX),
    'A broker takes files of up to 2147483647 bytes only.',
  );
  warn(
    'noRoutes',
    routes || step.lightQueues === 0 ? [] : [step.lightQueues],
    'Light queues have no rows in config/topics.json: clients must name the broker to read them.',
  );
  return warnings;
}
