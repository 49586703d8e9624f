// A library to preload that notes and fails system calls; see shim.c.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('shim.c', import.meta.url));

/** Preloading is the Linux way. */
export const canShim = process.platform === 'linux';

export class Shim {
  readonly #library: string;
  readonly #base: string;
  #count = 0;

  /** Compiles it; `base` is the beginning of names for its files. */
  constructor(base: string) {
    this.#base = base;
    this.#library = `${base}.so`;
    const { CC = 'cc' } = process.env;
    execFileSync(CC, ['-shared', '-fPIC', '-O1', '-o', this.#library, source, '-ldl']);
  }

  /** For one process. */
  session() {
    const files = `${this.#base}-${this.#count++}`;
    const [log, fail] = [`${files}.log`, `${files}.fail`];
    const { LD_PRELOAD } = process.env;
    const preload = [LD_PRELOAD, this.#library].filter(Boolean).join(':');
    return {
      env: { LD_PRELOAD: preload, SHIM_LOG: log, SHIM_FAIL: fail },
      /** While this file exists, every sync fails. */
      failFile: fail,
      fail: () => writeFileSync(fail, ''),
      recover: () => rmSync(fail),
      /** Calls so far, as 'name path'. */
      calls: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : []),
    };
  }
}
