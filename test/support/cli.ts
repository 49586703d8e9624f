// Runs the built program as a user does, on stores that the library made.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { MessageStore } from '../../lib/index.ts';

export { treeOf } from './files.ts';

export const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** A directory for one test file, gone after it. */
export function workDirectory(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'lmq-cli-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return { code: status, out: stdout, err: stderr };
}

/** The JSON objects that a command printed, one a line. */
export function json(...args: string[]) {
  const { code, out, err } = run(...args, '--json');
  const values = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { code, err, values };
}

/** Fifty messages in four queues and two light ones, closed; and the same before it was closed. */
export async function makeStores(work: string): Promise<{ whole: string; unclean: string }> {
  const [whole, unclean] = [path.join(work, 'whole'), path.join(work, 'unclean')];
  const store = await MessageStore.open({ path: whole, mappedFileSizeCommitLog: 1 << 20 });
  for (let i = 0; i < 50; i++) {
    store.append({
      topic: i % 5 === 0 ? 'news' : 'chat',
      queueId: i % 2,
      body: i === 7 ? 'line one\nline two\u001b[31m red' : `message ${i} äöü 好`,
      tags: i % 3 === 0 ? 'T0' : 'T1',
      keys: [`k-${i}`, 'all'],
      properties: { from: `user ${i}`, text: 'ja, 好' },
      lmq: i % 5 === 0 ? [] : ['alice', ...(i % 2 === 0 ? ['bob'] : [])],
      bornTimestamp: 1_700_000_000_000 + i,
      bornHost: '10.1.2.3:4567',
      flag: i,
    });
  }
  await store.flush();
  cpSync(whole, unclean, { recursive: true });
  await store.close();
  return { whole, unclean };
}
