/** What every command writes and how: JSON or text on stdout, progress and complaints on stderr. */
import { styleText } from 'node:util';
import { type Options, Presets, SingleBar } from 'cli-progress';

/** The exit codes of every command. */
export const DONE = 0;
export const WRONG = 1;
export const USAGE = 2;

/** Something that the user typed wrong: one line, exit 2. */
export class UsageError extends Error {}

/** A reader that went away (`| head`) ends the command quietly. */
export function endOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit();
      throw error;
    });
  }
}

/** One line on stdout; resolves when the next may follow. */
export async function print(line: string): Promise<void> {
  if (process.stdout.write(`${line}\n`)) return;
  await new Promise<void>((resolve) => process.stdout.once('drain', resolve));
}

export const printJson = (value: unknown): Promise<void> => print(toJson(value));

/** A number beyond 2^53 would lose digits in many readers: it becomes a string. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) => {
    if (typeof part !== 'bigint') return part;
    return part <= BigInt(Number.MAX_SAFE_INTEGER) && part >= -BigInt(Number.MAX_SAFE_INTEGER)
      ? Number(part)
      : part.toString();
  });
}

const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text of a store on a terminal: nothing in it may move the cursor, turn the direction or end the line. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu,
    (c) => escapes[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

type Style = 'bold' | 'dim' | 'green' | 'red';

const { NO_COLOR } = process.env;

export function style(format: Style, text: string, stream: NodeJS.WriteStream = process.stdout) {
  return stream.isTTY && !NO_COLOR ? styleText(format, text) : text;
}

export const count = (value: number): string => value.toLocaleString('en-US');

/** `1 message`, `2 messages`. */
export const plural = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(Math.max(value, 1)) / 10), units.length - 1);
  return `${power === 0 ? value : (value / 2 ** (10 * power)).toFixed(1)} ${units[power]}`;
}

/** A bar on stderr, where that is a terminal, for work that takes more than a second. */
export class Progress {
  readonly #begun = performance.now();
  readonly #bar: SingleBar | undefined;
  #started = false;

  constructor(label: string) {
    const options: Options = {
      format: `${label} {bar} {percentage}% {value}/{total}`,
      stream: process.stderr,
      clearOnComplete: true,
      // Nothing to restore when the user breaks off.
      hideCursor: false,
      linewrap: true,
    };
    if (process.stderr.isTTY) this.#bar = new SingleBar(options, Presets.shades_classic);
  }

  update(value: number, total: number): void {
    if (!this.#bar || total <= 0) return;
    if (!this.#started && performance.now() - this.#begun > 1000) {
      this.#bar.start(total, value);
      this.#started = true;
    } else if (this.#started) {
      this.#bar.setTotal(total);
      this.#bar.update(value);
    }
  }

  stop(): void {
    this.#bar?.stop();
  }
}
