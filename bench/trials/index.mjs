// Every trial, in the order in which they run.

import alloc from './alloc.mjs';
import append from './append.mjs';
import core from './core.mjs';
import queues from './queues.mjs';
import read from './read.mjs';
import recovery from './recovery.mjs';
import seeds from './seeds.mjs';

const trials = [...append, ...queues, ...read, ...recovery, ...core, ...alloc, ...seeds];

/** `pattern`: names or folders of names divided by commas, `*` for anything. */
export function select(pattern = '*') {
  const escaped = (text) => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
  const one = pattern.split(',').map((part) => `${escaped(part.trim())}(/.*)?`);
  const matcher = new RegExp(`^(${one.join('|')})$`);
  return trials.filter(({ name }) => matcher.test(name));
}
