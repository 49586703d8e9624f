// The clock of every contestant: wall time and CPU time of all threads, in ns per operation.

export async function timed(operations, work) {
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  await work();
  const wall = Number(process.hrtime.bigint() - start);
  const { user, system } = process.cpuUsage(cpu);
  return { value: wall / operations, cpu: ((user + system) * 1000) / operations };
}
