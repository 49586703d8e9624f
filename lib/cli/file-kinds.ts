/** What the files of a store's directory are, RocketMQ's 5.x and ours, for `inspect` to say. */

/** `use`: what this library does with files of the kind. */
export interface Kind {
  readonly kind: string;
  readonly use: 'read' | 'left alone';
}

export interface KindCount extends Kind {
  readonly files: number;
  readonly bytes: number;
}

const read = (kind: string): Kind => ({ kind, use: 'read' });
const leftAlone = (kind: string): Kind => ({ kind, use: 'left alone' });

const JSON_CONFIGS = [
  'topics',
  'subscriptionGroup',
  'consumerOffset',
  'lmqConsumerOffset',
  'delayOffset',
  'consumerFilter',
  'consumerOrderInfo',
  'topicQueueMapping',
  'messageRequestMode',
].join('|');
const ROCKS_FILES =
  'CURRENT|IDENTITY|LOCK|LOG(\\.old\\.\\d+)?|(MANIFEST|OPTIONS)-\\d+|\\d+\\.(sst|log)';

/** The first that fits decides; what fits none is unknown. */
const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^(\/.*|commitlog\/\d{20})$/, read('commit log')],
  [new RegExp(`^consumequeue/(${ROCKS_FILES})$`), leftAlone('consume queues in RocksDB')],
  [/^consumequeue\/%LMQ%[^/]*\/\d+\/\d{20}$/, read('light queues as a broker keeps them')],
  [/^consumequeue\/[^/]+\/\d+\/\d{20}$/, read('consume queues')],
  [/^consumequeue_ext\/[^/]+\/\d+\/\d{20}$/, read('consume queue extensions')],
  [/^batchconsumequeue\/[^/]+\/\d+\/\d{20}$/, read('batch consume queues')],
  [/^index\/\d{17}$/, read('index')],
  [/^(checkpoint|lock|abort)$/, read('checkpoint, lock, abort')],
  [/^abort\.bak$/, leftAlone('backup of abort')],
  [/^config\/(lmqC|c)onsumerOffset\.json(\.bak)?$/, read('consumer offsets')],
  [
    new RegExp(`^config/((${JSON_CONFIGS})\\.json|transactionMetrics)(\\.bak)?$`),
    leftAlone('broker configuration'),
  ],
  [/^(timerwheel.*|timerlog\/.*|config\/timer(check|metrics)(\.bak)?)$/, leftAlone('timer')],
  [/^compaction\//, leftAlone('compaction')],
  [/^rocksdbstore\//, leftAlone('RocksDB')],
  [
    /^config\/(topics|consumerOffsets|subscriptionGroups|rdb)\//,
    leftAlone('broker configuration in RocksDB'),
  ],
  [/^(epochFileCheckpoint|brokerIdentity)/, leftAlone('controller')],
  [/^(lmq-store\.json|state|lmq\/.*|offsets\/.*|work\/.*)$/, read('lmq-store')],
  [/^cut\//, leftAlone('what was cut from the log')],
];

const UNKNOWN = leftAlone('unknown');

export function kindOf(path: string): Kind {
  return kinds.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN;
}

/** Files and bytes of each kind that is there, in the order of the table. */
export function countKinds(files: readonly { path: string; size: number }[]): KindCount[] {
  const counts = new Map<Kind, { files: number; bytes: number }>();
  for (const { path, size } of files) {
    const kind = kindOf(path);
    const { files: count, bytes } = counts.get(kind) ?? { files: 0, bytes: 0 };
    counts.set(kind, { files: count + 1, bytes: bytes + size });
  }
  const order = [...kinds.map(([, kind]) => kind), UNKNOWN];
  return order.flatMap((kind) => {
    const found = counts.get(kind);
    return found ? [{ ...kind, ...found }] : [];
  });
}
