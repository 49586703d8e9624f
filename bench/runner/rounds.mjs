// Runs one trial: every contestant does its part of every round before any does the next, in an order
// that moves on by one from round to round, each in a process of its own that waits meanwhile.

import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { countingEnvironment } from './counter.mjs';
import { Participant } from './participant.mjs';

/** Gives the contestants with their samples. */
export async function runTrial(trial, scale, scratch, onStep) {
  const contestants = trial.contestants(scale).map((it) => ({ ...it, samples: [] }));
  const participants = new Map();
  const home = mkdtempSync(join(scratch, 'trial-'));
  try {
    for (const contestant of contestants) {
      const { module } = contestant;
      if (!participants.has(module)) {
        const env = trial.counted ? countingEnvironment() : undefined;
        participants.set(module, await Participant.start(module, trial.flags, env));
      }
      contestant.participant = participants.get(module);
    }
    for (const contestant of contestants) await prepare(contestant, home, onStep);
    for (const contestant of contestants) {
      onStep(`warming ${label(contestant)}`);
      await once(contestant, home, contestant.warm);
    }
    for (let round = 0; round < scale.rounds; round++) {
      for (let i = 0; i < contestants.length; i++) {
        const contestant = contestants[(i + round) % contestants.length];
        onStep(`round ${round + 1} of ${scale.rounds}, ${label(contestant)}`);
        contestant.samples.push(await once(contestant, home));
      }
    }
  } finally {
    for (const participant of participants.values()) await participant.end();
    rmSync(home, { recursive: true, force: true });
  }
  return contestants;
}

const label = ({ peer, setting }) => `${peer} (${setting})`;

/** Data that all rounds of a contestant share. */
async function prepare(contestant, home, onStep) {
  if (!contestant.prepare) return;
  onStep(`preparing ${label(contestant)}`);
  contestant.prepared = mkdtempSync(join(home, 'prepared-'));
  await contestant.participant.call(contestant.prepare, {
    ...contestant.args,
    directory: contestant.prepared,
  });
}

async function once({ participant, job, args, prepared }, home, changes = {}) {
  const directory = join(home, 'round');
  mkdirSync(directory);
  backMemory(join(home, 'memory'), args.bytes ?? 0);
  try {
    return await participant.call(job, { ...args, ...changes, directory, prepared });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const piece = Buffer.alloc(4 * 2 ** 20);

/**
 * Uses as much of the page cache as a job is going to, and gives it back. The host of a virtual machine
 * takes memory away that has been free for seconds, and to touch it again costs several times what any
 * contestant does with it.
 */
function backMemory(path, bytes) {
  if (bytes === 0) return;
  const file = openSync(path, 'w');
  try {
    for (let written = 0; written < bytes; written += piece.length) writeSync(file, piece);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
