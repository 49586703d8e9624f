// How much is done in a trial. `--quick` has the same shape and less of it; a slow peer setting (one
// message a transaction) always does a tenth.

export const full = {
  rounds: 5,
  appends: 400_000,
  peerAppends: 400_000,
  warmAppends: 100_000,
  newTopicQueues: 1000,
  newLightQueues: 100_000,
  stored: 200_000,
  reads: 100_000,
  scanBytes: 1024 * 2 ** 20,
  allocations: 40_000,
};

export const quick = {
  rounds: 3,
  appends: 100_000,
  peerAppends: 20_000,
  warmAppends: 50_000,
  newTopicQueues: 200,
  newLightQueues: 10_000,
  stored: 40_000,
  reads: 20_000,
  scanBytes: 256 * 2 ** 20,
  allocations: 20_000,
};
