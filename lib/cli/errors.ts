/** How a failure is shown: one line for people, one object for programs. */
import { printable, printJson, style } from './output.ts';

const FACTS = ['path', 'offset', 'limit', 'errno'] as const;

export interface Shown extends Partial<Record<(typeof FACTS)[number], string | number>> {
  code: string;
  message: string;
  hint?: string;
}

/** A failure that is not the library's, shown as its failures are. */
export class CommandError extends Error {
  readonly code: string;
  readonly hint: string;

  constructor(code: string, message: string, hint = '') {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** The code, message, facts and hint of anything thrown. */
export function describe(error: unknown): Shown {
  const given = Object(error) as Partial<Shown> & Partial<Error>;
  const shown: Shown = {
    code: given.code ?? given.name ?? 'Error',
    message: given.message ?? String(error),
  };
  for (const fact of FACTS)
    if (given[fact] !== undefined) Object.assign(shown, { [fact]: given[fact] });
  if (given.hint) shown.hint = given.hint;
  return shown;
}

/** `code: message (facts). hint`, without the facts that the message names already. */
export function errorLine(shown: Shown): string {
  const facts = FACTS.filter(
    (fact) => shown[fact] !== undefined && !shown.message.includes(String(shown[fact])),
  );
  const list =
    facts.length > 0 ? ` (${facts.map((fact) => `${fact} ${shown[fact]}`).join(', ')})` : '';
  const hint = shown.hint ? ` ${shown.hint}` : '';
  return printable(`${shown.code}: ${shown.message.replace(/\.$/, '')}${list}.${hint}`);
}

export async function printError(error: unknown, json: boolean): Promise<void> {
  const shown = describe(error);
  if (json) await printJson({ error: shown });
  else process.stderr.write(`${style('red', errorLine(shown), process.stderr)}\n`);
  // An error without a code is a mistake of ours: say where.
  if (!(error as Partial<Shown>)?.code) process.stderr.write(`${(error as Error)?.stack}\n`);
}
