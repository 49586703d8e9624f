// Reading what was stored: one message from anywhere, and pages of 32. The peers run with both layouts
// that a user could choose: the index of the append trials, and the body itself under (queue, offset).

const PAGE = 32;
const SEED = 7;

function contestants(job, scale, { reuse = false, sqlite = true } = {}) {
  const args = { messages: scale.stored, reads: scale.reads, page: PAGE, seed: SEED, reuse };
  const warm = { reads: scale.reads / 2 };
  const stored = (peer, module, layout) => ({
    peer,
    module,
    setting: layout,
    prepare: 'fill',
    job,
    args: { ...args, layout },
    warm,
  });
  return [
    stored('ours', 'ours', 'default'),
    { peer: 'memcpy', module: 'memcpy', setting: 'from DRAM', job, args, warm },
    ...['index', 'row'].map((layout) => stored('lmdb', 'lmdb', layout)),
    ...(sqlite ? ['index', 'row'] : []).map((layout) => stored('better-sqlite3', 'sqlite', layout)),
  ];
}

const base = { unit: 'ns', better: 'less' };

export default [
  {
    ...base,
    name: 'read/random',
    what: 'one message of 1 KiB at a random offset of a random queue, into new memory',
    goals: { lmdb: 2 },
    contestants: (scale) => contestants('readRandom', scale),
  },
  {
    ...base,
    name: 'read/page',
    what: `a page of ${PAGE} messages of a queue, per message`,
    goals: { lmdb: 5 },
    contestants: (scale) => contestants('readPage', scale),
  },
];
