// npm run bench -- [--quick] [--only PATTERN] [--json FILE]

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installPeers } from './runner/install.mjs';
import { machine } from './runner/machine.mjs';
import { runTrial } from './runner/rounds.mjs';
import { resultOf } from './runner/statistics.mjs';
import { block, heading, losses } from './runner/table.mjs';
import { select } from './trials/index.mjs';
import { full, quick } from './trials/scale.mjs';

const usage = 'npm run bench -- [--quick] [--only PATTERN] [--json FILE]';

function options() {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (!values.help) return values;
    console.log(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${error.message}\n${usage}`);
    process.exit(2);
  }
}

const { quick: isQuick, only, json } = options();
const trials = select(only);
if (trials.length === 0) {
  console.error(`No trial has a name like ${only}.`);
  process.exit(2);
}
if (!existsSync(new URL('../dist/native.js', import.meta.url))) {
  console.error('lmq-store is not built: npm run build');
  process.exit(2);
}
installPeers();
const { addon } = await import('../dist/native.js');

const scratch = mkdtempSync(join(tmpdir(), 'lmq-store-bench-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

const results = { machine: machine(addon.crcKernel()), quick: isQuick, trials: [] };
console.log(heading(results.machine));
for (const trial of trials) {
  const step = (text) => progress(`${trial.name}: ${text}`);
  try {
    const contestants = await runTrial(trial, isQuick ? quick : full, scratch, step);
    const result = resultOf(trial, contestants);
    results.trials.push(result);
    progress('');
    console.log(block(result));
  } catch (error) {
    // The other trials still tell something.
    progress('');
    console.error(`${trial.name} failed: ${error.message}\n`);
    process.exitCode = 1;
  }
}
console.log(losses(results.trials));

if (json) {
  const file = resolve(json);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  const { draw } = await import('./runner/picture.mjs');
  await draw(results, file.replace(/\.json$/, ''));
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
