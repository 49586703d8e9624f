// Opening a directory whose writer was killed, against moving the same bytes.

export default [
  {
    name: 'recovery/scan',
    unit: 'GB/s',
    better: 'more',
    what: 'log bytes passed by the open after SIGKILL, every CRC checked',
    goals: { ours: 2 },
    contestants: ({ scanBytes: bytes }) => [
      {
        peer: 'ours',
        module: 'ours',
        setting: 'open',
        prepare: 'abandon',
        job: 'recover',
        args: { bytes },
      },
      {
        peer: 'read',
        module: 'memcpy',
        setting: '1 MiB reads',
        prepare: 'abandon',
        job: 'read',
        args: { bytes },
      },
      { peer: 'memcpy', module: 'memcpy', setting: '1 MiB copies', job: 'copy', args: { bytes } },
    ],
  },
];
