// The first message of a queue: what the append trials leave out. To a peer a queue is a number in a key.

const trial = (name, what, shape) => ({
  name,
  unit: 'ns',
  better: 'less',
  what,
  contestants: (scale) => {
    const args = { fresh: true, ...shape(scale) };
    const warm = { messages: args.messages / 10 };
    const common = { job: 'append', args, warm };
    const peer = { ...common, setting: '512', args: { ...args, transaction: 512 } };
    return [
      { ...common, peer: 'ours', module: 'ours', setting: 'default' },
      { ...peer, peer: 'lmdb', module: 'lmdb' },
      { ...peer, peer: 'better-sqlite3', module: 'sqlite' },
    ];
  },
});

export default [
  trial(
    'queues/new-topic-queue',
    'append of 1 KiB into a topic queue that has no message yet',
    ({ newTopicQueues: messages }) => ({ messages, queues: messages }),
  ),
  trial(
    'queues/new-light-queue',
    'append of 1 KiB into a known topic queue and one light queue that has no message yet',
    ({ newLightQueues: messages }) => ({ messages, light: 1, names: messages, queues: 1 }),
  ),
];
