// A cluster on loopback: name server, broker and a stock client, each in a process of its own. All of
// them end with the test file, however it ends.
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, inject } from 'vitest';
import { type MessageAnswer, OPENED } from './judge.ts';

export const BROKER = 'broker-a'; // as an export names it
const HOST = '127.0.0.1';
const KEPT_OUTPUT = 4000;

const running = new Set<ChildProcess>();
afterAll(() => killed(running));

async function killed(children: Iterable<ChildProcess>): Promise<void> {
  const left = [...children].filter((child) => running.has(child));
  const ends = left.map((child) => once(child, 'exit'));
  for (const child of left) child.kill('SIGKILL');
  await Promise.all(ends);
}

/** Starts a class of RocketMQ's or ours; RocketMQ writes its own logs into `home`. */
function java(home: string, main: string, ...args: string[]): ChildProcessWithoutNullStreams {
  const flags = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...OPENED];
  const own = [`-Duser.home=${home}`, `-Drocketmq.home.dir=${home}`];
  // A disk of which little is left must not make the broker delete files.
  const disk = ['diskSpaceWarningLevelRatio', 'diskSpaceCleanForciblyRatio'];
  const full = disk.map((name) => `-Drocketmq.broker.${name}=0.99`);
  const where = ['-cp', inject('clusterClasspath')!];
  const child = spawn('java', [...flags, ...own, ...full, ...where, main, ...args]);
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

export interface Ports {
  readonly nameServer: number;
  readonly broker: number;
}

/** Free ones. A broker takes two more, beside its own: all four are held until the last is found. */
export async function freePorts(): Promise<Ports> {
  for (;;) {
    const held: Server[] = [];
    const hold = (port: number) =>
      new Promise<number>((resolve, reject) => {
        const server = createServer();
        const done = () => resolve((server.address() as AddressInfo).port);
        held.push(server.once('error', reject).listen(port, HOST, done));
      });
    try {
      const [nameServer, broker] = [await hold(0), await hold(0)];
      await hold(broker - 2);
      await hold(broker + 1);
      return { nameServer, broker };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    } finally {
      const open = held.filter((server) => server.listening);
      await Promise.all(open.map((server) => once(server.close(), 'close')));
    }
  }
}

export interface Sent {
  readonly status: string;
  readonly queueOffset: number;
  readonly id: string;
  readonly uniqueKey: string;
}

export class Cluster {
  readonly #nameServer: ChildProcessWithoutNullStreams;
  readonly #broker: ChildProcessWithoutNullStreams;
  readonly #client: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #output = '';

  /** On a directory that was exported, with the `broker.conf` that is in it. */
  constructor(dir: string, home: string, { nameServer, broker }: Ports) {
    mkdirSync(home, { recursive: true });
    const address = `${HOST}:${nameServer}`;
    const names = path.join(home, 'namesrv.conf');
    writeFileSync(names, `listenPort=${nameServer}\nbindAddress=${HOST}\n`);
    const conf = path.join(dir, 'broker.conf');
    // A key may have more entries than the 64 that a query gives.
    const most = { maxMsgsNumBatch: 10_000, defaultQueryMaxNum: 10_000 };
    const own = { brokerIP1: HOST, listenPort: broker, namesrvAddr: address, ...most };
    for (const [key, value] of Object.entries(own)) appendFileSync(conf, `${key}=${value}\n`);
    const start = 'org.apache.rocketmq';
    this.#nameServer = java(home, `${start}.namesrv.NamesrvStartup`, '-c', names);
    this.#broker = java(home, `${start}.broker.BrokerStartup`, '-c', conf);
    this.#client = java(home, 'Client', address, BROKER);
    this.#lines = createInterface(this.#client.stdout)[Symbol.asyncIterator]();
    const { stdout, stderr } = this.#broker;
    this.#nameServer.stdout.resume();
    for (const stream of [stdout, stderr, this.#nameServer.stderr, this.#client.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_OUTPUT);
      });
    }
  }

  /** How many queues the topic has, once the broker is there. */
  route(topic: string): Promise<number> {
    return this.#ask({ op: 'route', topic });
  }
  /** Every message of a queue, once the broker has it up to `end`. */
  read(topic: string, queueId: number, end: number): Promise<MessageAnswer[]> {
    return this.#ask({ op: 'read', topic, queueId, end });
  }
  /** Physical offsets in order. */
  byKey(topic: string, key: string): Promise<number[]> {
    return this.#ask({ op: 'key', topic, key });
  }
  byId(topic: string, id: string): Promise<number | null> {
    return this.#ask({ op: 'id', topic, id });
  }
  byUniqueKey(topic: string, uniqueKey: string): Promise<number | null> {
    return this.#ask({ op: 'uniqueKey', topic, uniqueKey });
  }
  byTime(topic: string, queueId: number, time: number): Promise<number> {
    return this.#ask({ op: 'time', topic, queueId, time });
  }
  send(message: object): Promise<Sent> {
    return this.#ask({ op: 'send', ...message });
  }

  /** Stops the broker as an operator does. */
  async stop(): Promise<void> {
    const ended = once(this.#broker, 'exit');
    this.#broker.kill('SIGTERM');
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return killed([this.#nameServer, this.#broker, this.#client]);
  }

  async #ask<T>(question: object): Promise<T> {
    this.#client.stdin.write(`${JSON.stringify(question)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`The client ended without an answer.\n${this.#output}`);
    const { ok, error } = JSON.parse(value) as { ok?: [T]; error?: string };
    if (ok) return ok[0];
    throw new Error(`${error}\n${this.#output}`);
  }
}
