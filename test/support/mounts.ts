// Disks of a test's own.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { canShim } from './shim.ts';

/** A disk of so many MiB, if this process may make one. */
export function mount(where: string, size: string): boolean {
  if (!canShim || process.getuid?.() !== 0) return false;
  mkdirSync(where);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', where], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}
