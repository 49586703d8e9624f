// Programs that use the built library in a process or a thread of their own. A program is a function
// that is sent as text: it uses what it is given, and nothing of the file that it stands in.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { afterAll } from 'vitest';

export interface Tools {
  lib: typeof import('../../lib/index.ts');
  fs: typeof import('node:fs');
  /** Tells the test something; it has left the process when this returns. */
  say(value: unknown): void;
  /** Waits for `tell()`. */
  told(): Promise<void>;
  collectGarbage(): void;
}

export type Program<Args extends unknown[]> = (tools: Tools, ...args: Args) => unknown;

export interface Environment {
  env?: NodeJS.ProcessEnv;
  flags?: string[];
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** What it said and nobody has heard yet. */
  said: unknown[];
  err: string;
}

const library = new URL('../../dist/index.js', import.meta.url).href;
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

function textOf(program: object, args: unknown[], say: string): string {
  return `
const fs = require('node:fs');
const say = ${say};
const told = () => new Promise((resolve) => {
  process.stdin.ref().resume().once('data', () => resolve(void process.stdin.pause().unref()));
});
const collectGarbage = () => {
  require('node:v8').setFlagsFromString('--expose-gc');
  require('node:vm').runInNewContext('gc')();
};
import(${JSON.stringify(library)}).then((lib) =>
  (${program})({ lib, fs, say, told, collectGarbage }, ...${JSON.stringify(args)}),
).catch((error) => { console.error(error); process.exitCode = 70; });`;
}

/** A process that runs a program. */
export class Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly #lines: AsyncIterator<string>;
  #err = '';

  constructor(text: string, { env = {}, flags = [] }: Environment) {
    const child = spawn(process.execPath, [...flags, '-e', text], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.process = child;
    running.add(child);
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#err += text;
    });
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', async (code, signal) => {
        running.delete(child);
        const said: unknown[] = [];
        // A last line without its end was cut off by a kill.
        for await (const line of { [Symbol.asyncIterator]: () => this.#lines }) {
          if (line.endsWith(';')) said.push(JSON.parse(line.slice(0, -1)));
        }
        resolve({ code, signal, said, err: this.#err });
      });
    });
  }

  /** The next thing that it says. */
  async said(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`The process ended without a word.\n${this.#err}`);
    return JSON.parse(value.slice(0, -1));
  }

  tell(): void {
    this.process.stdin?.write('\n');
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Ended> {
    this.process.kill(signal);
    return this.ended;
  }
}

export function start<Args extends unknown[]>(
  program: Program<Args>,
  args: NoInfer<Args>,
  environment: Environment = {},
): Child {
  const say = "(value) => fs.writeSync(1, JSON.stringify(value ?? null) + ';\\n')";
  return new Child(textOf(program, args, say), environment);
}

/** Runs a program to its end. */
export function run<Args extends unknown[]>(
  program: Program<Args>,
  args: NoInfer<Args>,
  environment: Environment = {},
): Promise<Ended> {
  return start(program, args, environment).ended;
}

/** A thread of this process that runs a program. */
export function startWorker<Args extends unknown[]>(program: Program<Args>, args: NoInfer<Args>) {
  const say = "(value) => require('node:worker_threads').parentPort.postMessage(value)";
  const text = textOf(program, args, say);
  const worker = new Worker(text, { eval: true, stderr: true });
  const said = () => new Promise((resolve) => worker.once('message', resolve));
  const ended = new Promise<number>((resolve, reject) => {
    worker.once('exit', resolve);
    worker.once('error', reject);
  });
  return { worker, said, ended };
}
