#!/usr/bin/env node
/** `lmq-store`: says what the commands are; each lives in a file of its own, loaded when it is run. */
import { createRequire } from 'node:module';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { printError } from './errors.ts';
import { DONE, endOnBrokenPipe, USAGE, UsageError, WRONG } from './output.ts';

/** What a command's function gets; it answers with the exit code. */
type Run<Args extends unknown[]> = (...args: Args) => Promise<number>;

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

function integer(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
    throw new InvalidArgumentError(`It is a whole number, ${min} or more.`);
  };
}

/** Runs a command and turns its end, good or bad, into the exit code. */
function run<Args extends unknown[]>(load: () => Promise<Run<Args>>) {
  return async (...args: unknown[]): Promise<void> => {
    const command = args.pop() as Command;
    try {
      const execute = await load();
      process.exitCode = await execute(...(args as Args));
    } catch (error) {
      if (error instanceof UsageError) command.error(`error: ${error.message}`);
      await printError(error, command.opts<{ json?: boolean }>().json === true);
      process.exitCode = WRONG;
    }
  };
}

function add(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--json', 'print JSON: one object, or one a line for lists');
}

function build(): Command {
  const program = new Command('lmq-store')
    .description(
      'Looks into message stores without changing a byte, and shows what they are made for.',
    )
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', '\nExit code: 0 done, 1 found something wrong, 2 wrong usage.');

  add(program, 'demo', 'the main job: fan out, kill -9, recover, prove that nothing is lost')
    .option('--dir <dir>', 'a new or empty directory, which is kept (default: a temporary one)')
    .option(
      '--messages <n>',
      'messages in all (default: 120,000; with --from, what DIR holds)',
      integer(1),
    )
    .option('--queues <n>', 'light queues', integer(1), 10_000)
    .option('--rounds <n>', 'how often the writer is killed', integer(1), 3)
    .option('--seed <n>', 'decides every message and every kill (default: by chance)', integer(0))
    .option('--from <dir>', 'replay the messages of this directory of RocketMQ instead')
    .action(run(async () => (await import('./demo.ts')).demo));

  add(program, 'inspect', 'files, log range, checkpoints, counts, who holds the lock')
    .argument('<dir>', 'a store directory, ours or RocketMQ’s')
    .action(run(async () => (await import('./inspect.ts')).inspect));

  add(program, 'queues', 'every queue with its bounds')
    .argument('<dir>')
    .option('--prefix <text>', 'only names that begin so, for a light queue with or without %LMQ%')
    .option('--lmq', 'light queues only')
    .action(run(async () => (await import('./queues.ts')).queues));

  add(program, 'cat', 'the messages of a queue')
    .argument('<dir>')
    .argument('<queue>', 'topic:id, or %LMQ%name for a light queue')
    .option('--from <offset>', 'the first offset (default: the smallest there is)', integer(0))
    .option('--max <n>', 'at most so many messages', integer(1))
    .action(run(async () => (await import('./cat.ts')).cat));

  add(program, 'verify', 'check every record and every queue entry')
    .argument('<dir>')
    .action(run(async () => (await import('./verify.ts')).verify));

  return program;
}

endOnBrokenPipe();
try {
  await build().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? DONE : USAGE;
}
