/** One round of the writer: started, listened to, killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Acknowledgement, END, type Job } from './demo-job.ts';
import { CommandError } from './errors.ts';

const program = fileURLToPath(new URL('./demo-child.js', import.meta.url));

function parse(line: string): Acknowledgement {
  const [index, physicalOffset, queueOffset, ns, lmqOffsets = ''] = line.split(' ');
  return {
    index: Number(index),
    physicalOffset: Number(physicalOffset),
    queueOffset: Number(queueOffset),
    ns: Number(ns),
    lmqOffsets,
  };
}

/** Nobody else may end or outlive the writer. */
function start(job: Job): ChildProcess {
  const child = spawn(process.execPath, [program, JSON.stringify(job)], {
    stdio: ['ignore', 2, 2, 'pipe', 'pipe'],
  });
  const end = () => child.kill('SIGKILL');
  process.prependOnceListener('exit', end);
  child.once('close', () => process.off('exit', end));
  return child;
}

/**
 * Runs the writer and kills it once `killAfter` of its appends are acknowledged. What it had
 * acknowledged beyond that, still in the pipe, counts as well; a line that was cut short does not.
 * Answers with the number of acknowledgements; throws if the writer ended by itself.
 */
export async function writeAndKill(
  job: Job,
  killAfter: number,
  onAcknowledgement: (ack: Acknowledgement) => void,
): Promise<number> {
  const child = start(job);
  const [, , , acks, credit] = child.stdio as unknown as [null, null, null, Readable, Writable];
  let acknowledged = 0;
  let granted = 0;
  let finished = false;
  let rest = '';

  const grant = () => {
    for (; granted * job.window < acknowledged + job.window; granted++) credit.write('+');
  };
  const take = (line: string) => {
    if (`${line}\n` === END) {
      finished = true;
      return;
    }
    onAcknowledgement(parse(line));
    acknowledged++;
    if (acknowledged === killAfter) child.kill('SIGKILL');
    else if (acknowledged < killAfter) grant();
  };
  credit.on('error', () => {}); // The writer is gone; how it went is told below.
  acks.setEncoding('latin1');
  acks.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) take(line);
  });
  grant();

  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...end) => resolve(end));
  });
  if (finished)
    throw new CommandError('DEMO_FAILED', 'the writer had finished before it was killed');
  if (signal !== 'SIGKILL' || acknowledged < killAfter) {
    const how = signal ?? `exit code ${code}`;
    const message = `the writer ended by itself (${how}) after ${acknowledged} messages`;
    throw new CommandError('DEMO_FAILED', message);
  }
  return acknowledged;
}
