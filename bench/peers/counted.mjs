// Heap of JavaScript and of the addon that a call takes.

import { GCProfiler } from 'node:v8';
import { addon } from '../../dist/native.js';
import { check } from '../workload.mjs';

/** After as many calls to warm up, in a process whose young generation takes all that they make. */
export function heapPerCall(calls, work) {
  for (let i = 0; i < calls; i++) work(i);
  globalThis.gc();
  const profiler = new GCProfiler();
  profiler.start();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < calls; i++) work(i);
  const after = process.memoryUsage().heapUsed;
  check(profiler.stop().statistics.length === 0, 'garbage was collected while it was counted');
  return (after - before) / calls;
}

/** Of this thread, in the quietest tenth of the calls: now and then V8 compiles, and allocates for that. */
export function nativeAllocationsPerCall(calls, work) {
  const some = Math.floor(calls / 10);
  let least = Infinity;
  for (let from = 0; from < some * 10; from += some) {
    const before = addon.allocations();
    check(before >= 0, 'native allocations cannot be counted here');
    for (let i = from; i < from + some; i++) work(i);
    least = Math.min(least, addon.allocations() - before);
  }
  return least / some;
}
