/** The demo's writer: appends and acknowledges until it is killed. Never run by hand. */
import { readSync, writeSync } from 'node:fs';
import { MessageStore } from '../index.ts';
import { ACKNOWLEDGEMENTS, CREDIT, END, type Job, offsetsText } from './demo-job.ts';
import { openSource } from './demo-source.ts';
import { printError } from './errors.ts';

const job = JSON.parse(process.argv[2]!) as Job;
const credits = Buffer.alloc(64);

/** Waits until the parent lets the writer run on; a parent that is gone ends it. */
function takeCredit(): number {
  const count = readSync(CREDIT, credits);
  if (count === 0) process.exit(1);
  return count * job.window;
}

/** Returns once the kernel holds the whole line: it outlives this process. */
function send(line: string): void {
  const data = Buffer.from(line);
  for (let at = 0; at < data.length; ) at += writeSync(ACKNOWLEDGEMENTS, data, at);
}

try {
  const source = await openSource(job);
  const store = await MessageStore.open(job.dir);
  let allowed = job.first;
  for (let index = job.first; index < job.end; index++) {
    const message = source.message(index);
    while (index >= allowed) allowed += takeCredit();
    const begin = performance.now();
    const { physicalOffset, queueOffset, lmqOffsets } = store.append(message);
    const ns = Math.round((performance.now() - begin) * 1e6);
    send(`${index} ${physicalOffset} ${queueOffset} ${ns} ${offsetsText(lmqOffsets)}\n`);
  }
  send(END);
  await store.close();
  await source.close();
} catch (error) {
  await printError(error, false);
  process.exitCode = 1;
}
