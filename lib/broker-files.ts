/** The files that a broker wants beside the store: `config/topics.json` and a `broker.conf`. */
import { quotedKeys } from './consumer-offset-json.ts';

/** A row of `topics.json`; what else a broker has put there is kept. */
export interface TopicRow {
  readonly topicName: string;
  readonly readQueueNums: number;
  readonly writeQueueNums: number;
  readonly perm: number;
}

const READ = 4;
const READ_WRITE = 6;

export function topicRow(topicName: string, queues: number): TopicRow {
  return { topicName, readQueueNums: queues, writeQueueNums: queues, perm: READ_WRITE };
}

/** Gives a light queue a route: clients then read it like any topic; none can send to it. */
export function lightQueueRow(topicName: string): TopicRow {
  return { topicName, readQueueNums: 1, writeQueueNums: 1, perm: READ };
}

/** The broker makes these by itself, with numbers of its own. */
export function isBrokerTopic(name: string): boolean {
  return /^(rmq_sys_|RMQ_SYS_|SCHEDULE_TOPIC_XXXX$|TBW102$|SELF_TEST_TOPIC$|BenchmarkTest$|OFFSET_MOVED_EVENT$)/.test(
    name,
  );
}

/** Rows of a `topics.json` by name. Throws a SyntaxError where it is damaged. */
export function parseTopics(json: string): Record<string, Partial<TopicRow>> {
  const { topicConfigTable } = Object(JSON.parse(quotedKeys(json))) as {
    topicConfigTable?: Record<string, Partial<TopicRow>>;
  };
  return { ...topicConfigTable };
}

/** `known` are the rows of the source's own file: they win, but for queues that they lack. */
export function topicsJson(
  rows: Iterable<TopicRow>,
  known: Record<string, Partial<TopicRow>>,
  timestamp = Date.now(),
): string {
  const table = new Map<string, object>(Object.entries(known));
  for (const row of rows) {
    const { readQueueNums = 0, writeQueueNums = 0, ...rest } = known[row.topicName] ?? {};
    table.set(row.topicName, {
      ...row,
      ...rest,
      readQueueNums: Math.max(readQueueNums, row.readQueueNums),
      writeQueueNums: Math.max(writeQueueNums, row.writeQueueNums),
    });
  }
  // A broker that keeps its metadata in RocksDB takes in only a counter above its own 0.
  const dataVersion = { counter: 1, stateVersion: 0, timestamp };
  const lines = [...table].map(([name, row]) => `${JSON.stringify(name)}:${JSON.stringify(row)}`);
  return `{"dataVersion":${JSON.stringify(dataVersion)},"topicConfigTable":{\n${lines.join(',\n')}\n}}\n`;
}

/** By which an export knows its own `broker.conf`. */
export const CONF_HEAD = '# Made by lmq-store for a broker of RocketMQ on this directory.';

/** A value of a properties file, which Java reads as Latin-1. */
function escaped(value: string): string {
  return value.replace(/[^ -~]|\\/g, (c) => {
    const code = c.charCodeAt(0).toString(16).padStart(4, '0');
    return c === '\\' ? '\\\\' : `\\u${code}`;
  });
}

export function brokerConf(path: string, settings: Record<string, string | number>): string {
  const lines = {
    brokerClusterName: 'DefaultCluster',
    brokerName: 'broker-a',
    brokerId: 0,
    brokerRole: 'ASYNC_MASTER',
    storePathRootDir: path,
    storePathCommitLog: `${path}/commitlog`,
    enableLmq: 'true',
    enableMultiDispatch: 'true',
    // A broker looks through ten files only, and hides what lies before them.
    commitLogRecoverMaxNum: 100000,
    // Ten years, in hours. A broker deletes after three days unless it is told otherwise.
    fileReservedTime: 87600,
    ...settings,
  };
  const text = Object.entries(lines).map(([key, value]) => `${key}=${escaped(String(value))}`);
  return [
    CONF_HEAD,
    '# Names, addresses and ports are yours to set; sizes and switches must stay as they are.',
    ...text,
    '',
  ].join('\n');
}
