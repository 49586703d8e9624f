// The steps that made a golden store, taken again with our store.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { MessageStore } from '../../lib/index.ts';
import { queueOf, recordsOf } from './answers.ts';
import { type Expected, type FoundQueue, type Row, rowsOf } from './expected.ts';
import { OpenStore } from './open-store.ts';
import { optionsOf } from './options.ts';
import { type BatchPut, type Put, put, theirResult } from './puts.ts';
import { fileOf } from './stores.ts';

type Step =
  | Put
  | BatchPut
  | { readonly op: 'open'; readonly options: Readonly<Record<string, unknown>> }
  | { readonly op: 'write'; readonly file: string; readonly at: number; readonly hex: string }
  | { readonly op: 'zero'; readonly file: string; readonly at: number; readonly bytes: number }
  | {
      readonly op: 'create';
      readonly file: string;
      readonly text?: string;
      readonly zeros?: number;
    }
  | { readonly op: 'remove' | 'mkdir'; readonly path: string }
  | { readonly op: 'expire'; readonly files: number }
  | { readonly op: 'close' | 'kill' | 'sleep' | 'settle' };

export interface Replayed {
  /** Their answers and ours to the same puts, in order. */
  readonly results: readonly { readonly theirs: Row; readonly ours: Row }[];
  /** As they were when the store was closed for the last time. */
  readonly records: readonly Row[];
  readonly light: readonly FoundQueue[];
  /** A session ended with a kill: the real store left its queues behind the log. */
  readonly killed: boolean;
}

export class Replay {
  readonly #dir: string;
  readonly #steps: readonly Step[];
  readonly #answers: Row[];
  /** What killed sessions stored and did not answer any more. */
  readonly #times: readonly number[];
  readonly #results: { theirs: Row; ours: Row }[] = [];
  #open: OpenStore<MessageStore> | undefined;
  #now = 0;
  #stored = 0;
  #records: readonly Row[] = [];
  #light: readonly FoundQueue[] = [];

  constructor(store: string, expected: Expected, dir: string) {
    this.#dir = dir;
    const lines = readFileSync(fileOf(store, 'input.jsonl'), 'utf8').trimEnd().split('\n');
    this.#steps = lines.map((line) => JSON.parse(line));
    this.#answers = [...expected.results];
    const records = rowsOf(expected.opened.records ?? []);
    this.#times = records.map((row) => row['storeTimestamp'] as number);
  }

  async run(): Promise<Replayed> {
    for (const step of this.#steps) await this.#take(step);
    await this.#close();
    return {
      results: this.#results,
      records: this.#records,
      light: this.#light,
      killed: this.#steps.some(({ op }) => op === 'kill'),
    };
  }

  async #take(step: Step): Promise<void> {
    switch (step.op) {
      case 'open':
        this.#answers.shift();
        await this.#reopen(step.options);
        break;
      case 'put':
      case 'batch':
        this.#put(step);
        break;
      case 'close':
        this.#answers.shift();
        await this.#close();
        break;
      case 'kill':
        await this.#close();
        break;
      case 'expire':
        await this.#expire(step.files);
        break;
      case 'sleep':
      case 'settle':
        break;
      default:
        this.#change(step);
    }
  }

  async #reopen(options: Readonly<Record<string, unknown>>): Promise<void> {
    const clock = () => this.#now;
    this.#open = await OpenStore.writer({ ...optionsOf(this.#dir, options), clock });
  }

  /** A killed session may have stored more than it answered, and was sent more than it stored. */
  #put(step: Put | BatchPut): void {
    const theirs = this.#answers.shift() ?? { storeTimestamp: this.#times[this.#stored] };
    if (theirs['storeTimestamp'] === undefined && !isAnswer(theirs)) return;
    this.#now = (theirs['storeTimestamp'] as number | undefined) || this.#now;
    const ours = put(this.#open!.store, step);
    this.#stored++;
    if (isAnswer(theirs)) this.#results.push({ theirs: theirResult(theirs), ours });
  }

  async #expire(files: number): Promise<void> {
    const { store, logMin, logFileSize } = this.#open!;
    const { files: deleted, logMin: minPhyOffset } = await store.deleteBefore(
      logMin + files * logFileSize,
    );
    const ours = { op: 'expire', deleted: deleted.length, minPhyOffset };
    this.#results.push({
      theirs: this.#answers.shift()!,
      ours: { ...ours, maxPhyOffset: this.#open!.logEnd },
    });
  }

  async #close(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#records = recordsOf(open);
    this.#light = open.store.lmqs().names.map((name) => queueOf(open, name, 0));
    await open.store.close();
  }

  /** What was done by hand to the files of a closed store. */
  #change(step: Extract<Step, { file: string } | { path: string }>): void {
    const target = path.join(this.#dir, 'file' in step ? step.file : step.path);
    // Light queues and the key index lie in other files here.
    if (/consumequeue\/%LMQ%|\/index$/.test(target)) return;
    switch (step.op) {
      case 'write':
        patch(target, step.at, Buffer.from(step.hex, 'hex'));
        break;
      case 'zero':
        patch(target, step.at, Buffer.alloc(step.bytes));
        break;
      case 'create':
        writeFileSync(target, step.text ?? Buffer.alloc(step.zeros ?? 0));
        break;
      case 'remove':
        rmSync(target, { recursive: true });
        break;
      case 'mkdir':
        mkdirSync(target, { recursive: true });
    }
  }
}

function isAnswer(row: Row): boolean {
  return 'putStatus' in row || 'exception' in row;
}

function patch(file: string, at: number, bytes: Buffer): void {
  const before = readFileSync(file);
  const after = Buffer.alloc(Math.max(before.length, at + bytes.length));
  before.copy(after);
  bytes.copy(after, at);
  writeFileSync(file, after);
}
