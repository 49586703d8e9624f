// The three ideas that the store grew from, each as a count of native allocations: none where the idea
// holds. What the same call costs without it stands in the details.

import { flags } from './alloc.mjs';

const trial = (name, job, what) => ({
  name: `seeds/${name}`,
  unit: 'allocations',
  better: 'less',
  flags,
  counted: true,
  what,
  goals: { ours: 0 },
  contestants: ({ allocations: count }) => [
    { peer: 'ours', module: 'seeds', setting: 'default', job, args: { count } },
  ],
});

export default [
  trial('lmq-plan', 'plan', 'light-queue names are parsed once for each list'),
  trial('topic-keys', 'topicKeys', 'a topic and constant property keys are encoded once'),
  trial('check-buffer', 'checkBuffer', 'the buffer for checking a record is used again'),
];
