// The parent's end of a contestant's process.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('child.mjs', import.meta.url));

export class Participant {
  #child;
  #answer;

  static async start(module, flags, env) {
    const participant = new Participant(module, flags, env);
    await participant.#answer;
    return participant;
  }

  constructor(module, flags = [], env = process.env) {
    this.#child = fork(script, [module], {
      env,
      execArgv: ['--expose-gc', ...flags],
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    this.#answer = this.#next(module);
  }

  /** Does a job there and gives what it returned. One at a time. */
  call(job, args) {
    const answer = this.#next(job);
    this.#child.send({ job, args });
    return answer;
  }

  async end() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }

  #next(what) {
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#child.off('message', onMessage);
        this.#child.off('exit', onExit);
      };
      const onMessage = ({ result, error }) => {
        settle();
        if (error === undefined) resolve(result);
        else reject(new Error(`${what}: ${error}`));
      };
      const onExit = (code, signal) => {
        settle();
        reject(new Error(`${what}: the process ended with ${signal ?? code}`));
      };
      this.#child.on('message', onMessage);
      this.#child.on('exit', onExit);
    });
  }
}
