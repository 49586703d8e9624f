// Where the time goes: the native core alone against a copy to DRAM, and what the way from a JavaScript
// object to it adds.

const core = (light, scale) => ({
  module: 'native',
  job: 'appendCore',
  args: { light, queues: 1, messages: scale.appends },
  warm: { messages: scale.warmAppends },
});

export default [
  {
    name: 'core/append',
    unit: 'ns',
    better: 'less',
    what: 'native core alone (encode, two CRCs, place, dispatch) against memcpy of the record to DRAM',
    goals: { memcpy: 1 / 1.6 },
    contestants: (scale) => [
      { ...core(0, scale), peer: 'ours', setting: 'core' },
      {
        peer: 'memcpy',
        module: 'memcpy',
        setting: 'to DRAM',
        job: 'append',
        args: { light: 0, messages: scale.appends },
      },
    ],
  },
  {
    name: 'core/api',
    unit: 'ns',
    better: 'less',
    what: 'append of a message object against the native core alone',
    goals: { core: 1 / 1.8 },
    contestants: (scale) => [
      { ...core(0, scale), peer: 'ours', module: 'ours', job: 'append', setting: 'object API' },
      { ...core(0, scale), peer: 'core', setting: 'core' },
    ],
  },
];
