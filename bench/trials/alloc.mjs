// Heap of JavaScript and of C++ for one append. The young generation is so large that nothing is collected
// meanwhile.

export const flags = ['--min-semi-space-size=256', '--max-semi-space-size=256'];

export default [0, 1, 4, 16].map((light) => ({
  name: `alloc/append/${light}`,
  unit: 'B',
  better: 'less',
  flags,
  counted: true,
  what: `JavaScript heap of one append into ${light} light queues`,
  goals: { ours: light === 0 ? 104 : 104 + 64 + 8 * light },
  contestants: ({ allocations: appends }) => [
    {
      peer: 'ours',
      module: 'allocations',
      setting: 'result object',
      job: 'append',
      args: { light, appends },
    },
  ],
}));
