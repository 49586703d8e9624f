// RocketMQ's own store in a process of its own, asked by lines of JSON.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, inject } from 'vitest';
import { parseHost } from '../../lib/host.ts';
import type { Step } from './inputs.ts';

/** What RocketMQ reaches into of the JDK. */
export const OPENED = [
  '--add-opens=java.base/java.nio=ALL-UNNAMED',
  '--add-opens=java.base/sun.nio.ch=ALL-UNNAMED',
  '--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED',
  '--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED',
];

export interface PutAnswer {
  readonly refused?: string;
  readonly physicalOffset: number;
  readonly size: number;
  readonly queueOffset: number;
  readonly storeTimestamp: number;
  readonly msgId: string;
}
export interface QueueAnswer {
  readonly topic: string;
  readonly queueId: number;
  readonly minOffset: number;
  readonly maxOffset: number;
}
export interface PageAnswer {
  readonly status: string;
  readonly nextOffset: number;
  readonly minOffset: number;
  readonly maxOffset: number;
  readonly offsets: readonly number[];
}
export interface KeyAnswer {
  readonly topic: string;
  /** The unique key is one of them. */
  readonly keys: readonly string[];
  readonly position: number;
  readonly time: number;
}
export type MessageAnswer = Readonly<Record<string, unknown>>;
export type Options = Readonly<Record<string, string | number | boolean>>;

const KEPT_STDERR = 4000;

export class Judge {
  readonly #home = mkdtempSync(path.join(tmpdir(), 'lmq-judge-'));
  #java: ChildProcessWithoutNullStreams | undefined;
  #lines: AsyncIterator<string> | undefined;
  #stderr = '';

  /** Ends with the test file. */
  constructor() {
    afterAll(async () => {
      await this.#end();
      rmSync(this.#home, { recursive: true, force: true });
    });
  }

  /** Opens, recovers, and waits until every record is in its queues. */
  open(dir: string, options: Options): Promise<{ min: number; max: number }> {
    return this.#ask({ op: 'open', path: dir, options });
  }
  put(steps: readonly Step[]): Promise<PutAnswer[]> {
    return this.#ask({ op: 'put', messages: steps.map(forJava) });
  }
  settle(): Promise<{ min: number; max: number }> {
    return this.#ask({ op: 'settle' });
  }
  queues(): Promise<QueueAnswer[]> {
    return this.#ask({ op: 'queues' });
  }
  read(topic: string, queueId: number): Promise<MessageAnswer[]> {
    return this.#ask({ op: 'read', topic, queueId });
  }
  get(
    topic: string,
    queueId: number,
    offset: number,
    max: number,
    tags?: string,
  ): Promise<PageAnswer> {
    return this.#ask({ op: 'get', topic, queueId, offset, max, tags });
  }
  time(topic: string, queueId: number, time: number, bound: 'LOWER' | 'UPPER'): Promise<number> {
    return this.#ask({ op: 'time', topic, queueId, time, bound });
  }
  look(position: number): Promise<{ topic: string; queueOffset: number }> {
    return this.#ask({ op: 'look', position });
  }
  /** Whatever has the hash of the key and, by whole seconds, the time. */
  key(topic: string, key: string, max: number, begin: number, end: number): Promise<KeyAnswer[]> {
    return this.#ask({ op: 'key', topic, key, max, begin, end });
  }
  checkpoint(): Promise<Record<string, number>> {
    return this.#ask({ op: 'checkpoint' });
  }
  close(): Promise<void> {
    return this.#ask({ op: 'close' });
  }

  /** Closes where nothing depends on how: the directory is not to be used again. */
  leave(): Promise<void> {
    return this.#ask({ op: 'leave' });
  }

  /** Ends the process at once, as SIGKILL does. */
  async halt(): Promise<void> {
    const java = this.#java!;
    const ended = once(java, 'exit');
    java.stdin.write(`${JSON.stringify({ op: 'halt' })}\n`);
    await ended;
    this.#java = undefined;
  }

  async #ask<T>(question: object): Promise<T> {
    this.#java ??= this.#start();
    this.#java.stdin.write(`${JSON.stringify(question)}\n`);
    const { value, done } = await this.#lines!.next();
    if (done) throw new Error(`The judge ended without an answer.\n${this.#stderr}`);
    const { ok, error } = JSON.parse(value) as { ok?: [T]; error?: string };
    if (ok) return ok[0];
    throw new Error(error);
  }

  #start(): ChildProcessWithoutNullStreams {
    const flags = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...OPENED];
    const home = `-Duser.home=${this.#home}`; // where RocketMQ writes its own logs
    const java = spawn('java', [...flags, home, '-cp', inject('classpath')!, 'Judge']);
    this.#stderr = '';
    java.stderr.setEncoding('utf8').on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR);
    });
    this.#lines = createInterface(java.stdout)[Symbol.asyncIterator]();
    return java;
  }

  async #end(): Promise<void> {
    if (this.#java === undefined) return;
    const ended = once(this.#java, 'exit');
    this.#java.stdin.end();
    await ended;
  }
}

function forJava({ op, bornHost, storeHost, ...step }: Step): object {
  const host = (text: string) => {
    const { address, port } = parseHost(text, 'host', 'STORE_INTERNAL');
    return { address: Buffer.from(address).toString('hex'), port };
  };
  const given = { ...step, bornHost: host(bornHost!), storeHost: host(storeHost!) };
  if (!('messages' in given)) return given;
  const { messages, ...rest } = given;
  return { ...rest, batch: messages };
}
