// Appending with 0, 1, 4 and 16 light queues. A peer writes a log row and one row for each queue that we
// write too: the topic queue and every light queue.

const goals = {
  0: { lmdb: 10, 'better-sqlite3': 25 },
  4: { lmdb: 20 },
  16: { lmdb: 40 },
};

function peer(name, module, transaction, { light, scale, tuned = false }) {
  const share = transaction === 1 ? 10 : 1;
  return {
    peer: tuned ? `${name} tuned` : name,
    module,
    setting: String(transaction),
    job: 'append',
    args: {
      light,
      transaction,
      tuned,
      messages: scale.peerAppends / share,
      bytes: bytesOf(2 * scale.peerAppends, light),
    },
    warm: { messages: scale.warmAppends / 10 / share },
  };
}

const ours = (setting, { light, scale, ...more }) => ({
  peer: 'ours',
  module: 'ours',
  setting,
  job: 'append',
  args: { light, messages: scale.appends, bytes: bytesOf(scale.appends, light) },
  warm: { messages: scale.warmAppends },
  ...more,
});

/** Of the log, of the queues and of what is kept ready ahead; a peer's tree takes about as much. */
const bytesOf = (messages, light) => messages * (1536 + 128 * light) + 64 * 2 ** 20;

const contestants = (light) => (scale) => {
  const what = { light, scale };
  const tuned = { ...what, tuned: true };
  return [
    ours('default', what),
    ours('warm pages', { ...what, job: 'appendPaced', apart: true }),
    ours('handle', { ...what, job: 'appendByHandle', module: 'native', apart: true }),
    {
      peer: 'memcpy',
      module: 'memcpy',
      setting: 'to DRAM',
      job: 'append',
      args: { light, messages: scale.appends },
    },
    ...[1, 64, 512, 4096, 'async'].map((size) => peer('lmdb', 'lmdb', size, what)),
    ...[512, 4096, 'async'].map((size) => peer('lmdb', 'lmdb', size, tuned)),
    ...[1, 64, 512, 4096].map((size) => peer('better-sqlite3', 'sqlite', size, what)),
    ...[512, 4096].map((size) => peer('better-sqlite3', 'sqlite', size, tuned)),
  ];
};

export default [0, 1, 4, 16].map((light) => ({
  name: `append/${light}`,
  unit: 'ns',
  better: 'less',
  what: `append of 1 KiB into a topic queue and ${light} light queues`,
  goals: goals[light],
  contestants: contestants(light),
}));
