// A contestant's process: loads one module of ../peers and does its jobs, one at a time, as told.

const { jobs } = await import(`../peers/${process.argv[2]}.mjs`);

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ job, args }) => {
  try {
    process.send({ result: (await jobs[job](args)) ?? null });
  } catch (error) {
    process.send({ error: error.stack });
  }
});
process.send({ result: null });
