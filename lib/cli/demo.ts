/** `demo`: a writer fans real messages out and is killed, again and again; nothing may be lost. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MIN_MESSAGES_PER_PART } from './demo-job.ts';
import type { Source } from './demo-messages.ts';
import { type DemoReport, Reporter } from './demo-report.ts';
import { runDemo } from './demo-run.ts';
import { openSource, ReplayedMessages } from './demo-source.ts';
import { DONE, plural, printable, UsageError, WRONG } from './output.ts';

interface Options {
  json?: boolean;
  dir?: string;
  messages?: number;
  queues: number;
  rounds: number;
  seed?: number;
  from?: string;
}

const DEFAULT_MESSAGES = 120_000;

/** A directory of the user's, which must be his to give, or one of our own. */
function workDirectory(given: string | undefined): string {
  if (given === undefined) return mkdtempSync(path.join(tmpdir(), 'lmq-store-demo-'));
  if (existsSync(given) && readdirSync(given).length > 0) {
    throw new UsageError(`${printable(given)} is not empty: the demo wants a directory of its own`);
  }
  return given;
}

/** `messages` of the options, else all of the source's, else a number that takes well under a minute. */
function numberOfMessages(options: Options, source: Source): number {
  const least = MIN_MESSAGES_PER_PART * (options.rounds + 1);
  if ((options.messages ?? least) < least) {
    throw new UsageError(`${options.rounds} rounds need ${least} messages or more`);
  }
  const held = source instanceof ReplayedMessages ? source.size : DEFAULT_MESSAGES;
  return options.messages ?? Math.max(held, least);
}

/** A directory of our own goes when all is well or the user breaks off; a failure leaves it for a look. */
async function inDirectory(given: string | undefined, work: (dir: string) => Promise<DemoReport>) {
  const dir = workDirectory(given);
  const remove = () => given === undefined && rmSync(dir, { recursive: true, force: true });
  const interrupted = () => {
    process.once('exit', remove);
    process.exit(130);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const report = await work(dir);
    if (report.ok) remove();
    else process.stderr.write(`${dir} is kept\n`);
    return report;
  } catch (error) {
    process.stderr.write(`${dir} is kept\n`);
    throw error;
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

export async function demo(options: Options): Promise<number> {
  const { queues, rounds, from, seed = Math.floor(Math.random() * 2 ** 32) } = options;
  const reporter = new Reporter(options.json === true);
  const source = await openSource({ seed, queues, from });
  try {
    const messages = numberOfMessages(options, source);
    const report = await inDirectory(options.dir, async (dir) => {
      const what = from === undefined ? plural(queues, 'light queue') : `from ${from}`;
      await reporter.line(
        'demo',
        `seed ${seed}, ${plural(messages, 'message')}, ${what}, in ${dir}`,
      );
      return runDemo({ dir, seed, queues, from }, source, messages, rounds, reporter);
    });
    await reporter.end(report);
    return report.ok ? DONE : WRONG;
  } finally {
    await source.close();
  }
}
