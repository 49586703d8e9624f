// The counter of native allocations: compiled here, preloaded into the processes that count.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../native/malloc_counter.c', import.meta.url));
const folder = fileURLToPath(new URL('../build', import.meta.url));

/** The environment of a process that counts; undefined where that is not possible. */
export function countingEnvironment() {
  if (process.platform !== 'linux' || !process.report.getReport().header.glibcVersionRuntime)
    return undefined;
  const library = `${folder}/malloc_counter.so`;
  if (!existsSync(library) || statSync(library).mtimeMs < statSync(source).mtimeMs) {
    mkdirSync(folder, { recursive: true });
    const args = ['-O2', '-shared', '-fPIC', '-ftls-model=initial-exec', '-o', library, source];
    const { status } = spawnSync(process.env.CC ?? 'cc', args, { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error('the counter of allocations does not compile');
  }
  return { ...process.env, LD_PRELOAD: library };
}
