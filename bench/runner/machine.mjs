// The machine that the figures belong to.

import { readFileSync } from 'node:fs';
import os from 'node:os';

const interesting =
  /^(ssse3|sse4_2|avx|avx2|avx512(f|bw|vl)|pclmulqdq|vpclmulqdq|crc32|pmull|neon|asimd)$/;

function features() {
  try {
    const line = readFileSync('/proc/cpuinfo', 'utf8').match(/^(flags|Features)\s*:(.*)$/m);
    return line[2].split(' ').filter((flag) => interesting.test(flag));
  } catch {
    return [];
  }
}

export function machine(crcKernel) {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() ?? process.arch,
    cores: cpus.length,
    memory: os.totalmem(),
    load: os.loadavg()[0],
    features: features(),
    kernel: `${os.type()} ${os.release()}`,
    node: process.versions.node,
    crcKernel,
  };
}
