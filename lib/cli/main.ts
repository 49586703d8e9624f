#!/usr/bin/env node
/** `lmq-store`: says what the commands are; each lives in a file of its own, loaded when it is run. */
import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { DONE, endOnBrokenPipe, USAGE } from './output.ts';
import { add, addOnStore, integer, place, run, runOnStore, time } from './program.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const QUEUE = ['queue', 'topic:id, or %LMQ%name for a light queue'] as const;

function build(): Command {
  const program = new Command('lmq-store')
    .description('Looks into message stores, and shows what they are made for.')
    .version(version)
    .exitOverride()
    .configureHelp({
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`.replace(' [options]', ''),
    })
    .usage('COMMAND [options]')
    .addHelpText(
      'after',
      '\nDIR is a store’s directory, this library’s or RocketMQ’s; --conf broker.conf can name it.' +
        '\nOnly rebuild and export --in-place write to it.' +
        '\nOptions of a command: lmq-store COMMAND --help' +
        '\nExit code: 0 done, 1 found something wrong, 2 wrong usage.',
    );

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

  addOnStore(
    program,
    'inspect',
    'files, log range, checkpoints, counts, who holds the lock',
  ).action(runOnStore(async () => (await import('./inspect.ts')).inspect));

  addOnStore(program, 'queues', 'every queue with its bounds')
    .option('--prefix <text>', 'only names that begin so, for a light queue with or without %LMQ%')
    .option('--lmq', 'light queues only')
    .action(runOnStore(async () => (await import('./queues.ts')).queues));

  addOnStore(program, 'cat', 'the messages of a queue', QUEUE)
    .option('--from <offset>', 'the first offset (default: the smallest there is)', integer(0))
    .option('--max <n>', 'at most so many messages', integer(1))
    .action(runOnStore(async () => (await import('./cat.ts')).cat));

  addOnStore(program, 'get', 'one message', [
    'id',
    'a message id, or the position of its record in the commit log',
  ]).action(runOnStore(async () => (await import('./get.ts')).get));

  addOnStore(program, 'find', 'the messages of a topic by key, tag or time, newest first')
    .usage('DIR --topic <topic> [options]')
    .option('--topic <topic>', 'where they are')
    .option('--key <key>', 'one of their keys')
    .option('--unique-key <key>', 'the key that a RocketMQ client gave it')
    .option('--tag <tag>', 'their tag')
    .option('--begin <time>', 'stored then or later, such as 2026-01-31T12:00Z', time)
    .option('--end <time>', 'stored then or before', time)
    .option('--max <n>', 'at most so many, the newest', integer(1))
    .action(runOnStore(async () => (await import('./find.ts')).find));

  addOnStore(program, 'tail', 'the last messages of a queue', QUEUE)
    .option('-f, --follow', 'then those that come, until it is stopped')
    .option('-n, --lines <n>', 'so many of the last messages', integer(0), 10)
    .option('--from <place>', 'begin at an offset or at a time, such as 2026-01-31T12:00Z', place)
    .action(runOnStore(async () => (await import('./tail.ts')).tail));

  addOnStore(program, 'verify', 'check every record and every queue entry').action(
    runOnStore(async () => (await import('./verify.ts')).verify),
  );

  addOnStore(program, 'rebuild', 'make the files anew that follow from the commit log')
    .option('--queues', 'the consume queues of topics too, not just the index of light queues')
    .action(runOnStore(async () => (await import('./rebuild.ts')).rebuild));

  addOnStore(program, 'snapshot', 'copy a store for backup, also while it is written', [
    'out',
    'a directory that is absent or empty',
  ]).action(runOnStore(async () => (await import('./copies.ts')).snapshot));

  addOnStore(
    program,
    'export',
    'make a directory for a broker of RocketMQ, also while it is written',
    ['out', 'a directory that is absent or empty'],
  )
    .option('--in-place', 'make DIR itself ready, in place of a copy')
    .option('--adopt', 'with --in-place: take over a directory of RocketMQ’s')
    .option('--routes', 'rows for light queues in topics.json, however many there are')
    .option('--no-routes', 'no such rows (default: up to 10,000 light queues)')
    .action(
      runOnStore(
        async () => (await import('./copies.ts')).exportStore,
        ({ inPlace }) => (inPlace ? 1 : 0),
      ),
    );

  return program;
}

endOnBrokenPipe();
try {
  await build().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? DONE : USAGE;
}
