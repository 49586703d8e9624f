// Installs what the benchmark needs and the product does not, when it is missing or for another Node.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const bench = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);

export function installPeers() {
  if (!upToDate()) {
    console.error('Installing what the benchmark needs.');
    // Only one of the packages has to be compiled, and that is done below with the headers of this Node.
    run('npm', ['ci', '--prefix', bench, '--ignore-scripts', '--no-audit', '--no-fund'], bench);
  }
  if (sqliteLoads()) return;
  console.error('Compiling better-sqlite3: about two minutes, once.');
  const gyp = [nodeGyp(), 'rebuild', '--release', '--jobs=max', ...localHeaders()];
  run(process.execPath, gyp, join(bench, 'node_modules/better-sqlite3'));
}

/** Every package that npm would install here is there in the version of the lock file. */
function upToDate() {
  const read = (name) => JSON.parse(readFileSync(join(bench, name), 'utf8')).packages;
  const installed = join(bench, 'node_modules/.package-lock.json');
  if (!existsSync(installed)) return false;
  const there = read('node_modules/.package-lock.json');
  return Object.entries(read('package-lock.json')).every(([path, { version, optional }]) => {
    if (path === '') return true;
    if (!existsSync(join(bench, path, 'package.json'))) return optional;
    return there[path]?.version === version;
  });
}

/** In a process of its own: an addon of another Node version must not stay loaded here. */
function sqliteLoads() {
  const code = "new (require('better-sqlite3'))(':memory:').close()";
  return spawnSync(process.execPath, ['-e', code], { cwd: bench, stdio: 'ignore' }).status === 0;
}

function nodeGyp() {
  return require.resolve('node-gyp/bin/node-gyp.js');
}

/** Headers that lie beside this very Node save node-gyp a download. */
function localHeaders() {
  if (process.env.npm_config_nodedir) return [];
  const prefix = resolve(realpathSync(process.execPath), '../..');
  const header = join(prefix, 'include/node/node_version.h');
  if (!existsSync(header) || !existsSync(join(prefix, 'include/node/common.gypi'))) return [];
  const text = readFileSync(header, 'utf8');
  const part = (name) => text.match(new RegExp(`#define NODE_${name}_VERSION (\\d+)`))[1];
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(part).join('.');
  return version === process.versions.node ? [`--nodedir=${prefix}`] : [];
}

/** What it prints is shown only if it fails: a compiler says much. */
function run(command, args, cwd) {
  const options = { cwd, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8', maxBuffer: 2 ** 28 };
  const { status, error, stdout, stderr } = spawnSync(command, args, options);
  if (status === 0) return;
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`);
  throw error ?? new Error(`${command} ${args[0]} ended with ${status}`);
}
