/** How a command is declared and run: what all of them share, so that each is a few lines in main.ts. */
import { type Command, InvalidArgumentError } from 'commander';
import { printError } from './errors.ts';
import { UsageError, WRONG } from './output.ts';
import { type Target, targetOf } from './target.ts';

/** What a command's function gets; it answers with the exit code. */
type Run<Args extends unknown[]> = (...args: Args) => Promise<number>;

/** An operand behind DIR: its name, and what it is. */
type Operand = readonly [name: string, description: string];

/** Parses the value of an option. */
export function integer(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
    throw new InvalidArgumentError(`It is a whole number, ${min} or more.`);
  };
}

/** Parses an offset, or a time as {@link time} does. */
export function place(text: string): number | Date {
  if (/^\d+$/.test(text)) return integer(0)(text);
  return timeOf(text) ?? fail('It is an offset or a time, such as 2026-01-31T12:00Z.');
}

/** Parses a time in ISO 8601; a date alone is its beginning in UTC. */
export function time(text: string): Date {
  return timeOf(text) ?? fail('It is a time, such as 2026-01-31T12:00Z.');
}

function timeOf(text: string): Date | undefined {
  const at = new Date(text);
  return /^\d{4}-/.test(text) && !Number.isNaN(at.getTime()) ? at : undefined;
}

function fail(why: string): never {
  throw new InvalidArgumentError(why);
}

export function add(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--json', 'print JSON: one object, or one a line for lists');
}

/** A command on a store's directory: it takes DIR, or a broker.conf that names it, and `operands`. */
export function addOnStore(
  program: Command,
  name: string,
  description: string,
  ...operands: Operand[]
): Command {
  const command = add(program, name, description)
    .usage(['DIR', ...operands.map(([operand]) => operand.toUpperCase()), '[options]'].join(' '))
    // Optional to the parser only: see operandsOf.
    .argument('[dir]', 'a store’s directory, ours or RocketMQ’s; --conf may name it instead')
    .option('--conf <file>', 'a broker.conf that gives sizes and paths');
  for (const [operand, what] of operands) command.argument(`[${operand}]`, what);
  return command;
}

/** Runs a command and turns its end, good or bad, into the exit code. */
export function run<Args extends unknown[]>(load: () => Promise<Run<Args>>) {
  return async (...args: unknown[]): Promise<void> => {
    const command = args.pop() as Command;
    await execute(command, async () => (await load())(...(args as Args)));
  };
}

/**
 * Runs a command that {@link addOnStore} declared: its function gets the store, the operands, the
 * options. `spare` tells how many of the last operands these options make needless.
 */
export function runOnStore<Rest extends unknown[]>(
  load: () => Promise<Run<[target: Target, ...rest: Rest]>>,
  spare: (options: Record<string, unknown>) => number = () => 0,
) {
  return async (...args: unknown[]): Promise<void> => {
    const command = args.pop() as Command;
    const options = args.pop() as { conf?: string };
    await execute(command, async () => {
      if (options.conf === '') throw new UsageError('--conf names no file');
      const given = args as (string | undefined)[];
      const wanted = given.length - spare(options);
      const needless = given.slice(wanted).find((operand) => operand !== undefined);
      if (needless !== undefined) throw new UsageError(`${needless} is one argument too many`);
      const [dir, ...operands] = operandsOf(command, given.slice(0, wanted), options.conf);
      const target = targetOf(dir, options.conf);
      return (await load())(target, ...([...operands, options] as unknown as Rest));
    });
  };
}

/** DIR and the operands, of which DIR may be left out where --conf stands for it. */
function operandsOf(command: Command, given: (string | undefined)[], conf?: string) {
  const operands = given.filter((operand) => operand !== undefined);
  if (conf !== undefined && operands.length === given.length - 1) return [undefined, ...operands];
  const missing = command.registeredArguments[operands.length];
  if (missing && operands.length < given.length)
    throw new UsageError(`missing argument ${missing.name().toUpperCase()}`);
  return operands;
}

async function execute(command: Command, work: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (error instanceof UsageError) command.error(`error: ${error.message}`);
    await printError(error, command.opts<{ json?: boolean }>().json === true);
    process.exitCode = WRONG;
  }
}
