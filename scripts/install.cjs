#!/usr/bin/env node
'use strict';

// Sees to it that a native addon loads: keeps a build that does, else compiles one with node-gyp.
// npm runs this on install; as the command `lmq-store-build` it is the repair where a package manager
// blocks install scripts.
//
//   --force        compile even if a build loads
//   --incremental  compile, but only what changed since the last time
//   -- ARGS        given to gyp, for example -Dsanitize=address

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const prefix = path.resolve(fs.realpathSync(process.execPath), '../..');
const env = process.env;

/** Loading, not merely looking: a prebuilt binary may ask for a newer libc than this machine has. */
function aBuildLoads() {
  try {
    require('node-gyp-build')(root);
    return true;
  } catch {
    return false;
  }
}

/** Ours, the one npm runs with, the one in this Node's own npm (pnpm puts none in the PATH), the PATH. */
function nodeGyp() {
  const places = [
    () => require.resolve('node-gyp/bin/node-gyp.js', { paths: [root] }),
    () => env.npm_config_node_gyp,
    () => path.join(prefix, 'lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js'),
  ];
  for (const place of places) {
    try {
      const script = place();
      if (script && fs.existsSync(script)) return [process.execPath, script];
    } catch {
      // not there: the next place
    }
  }
  return ['node-gyp'];
}

/** Headers that lie beside this very Node save node-gyp a download that a closed network would refuse. */
function localHeaders() {
  if (env.npm_config_nodedir) return [];
  const include = path.join(prefix, 'include/node');
  try {
    const header = fs.readFileSync(path.join(include, 'node_version.h'), 'utf8');
    const part = (name) => header.match(new RegExp(`#define NODE_${name}_VERSION (\\d+)`))[1];
    const version = ['MAJOR', 'MINOR', 'PATCH'].map(part).join('.');
    const complete = fs.existsSync(path.join(include, 'common.gypi'));
    return complete && version === process.versions.node ? [`--nodedir=${prefix}`] : [];
  } catch {
    return [];
  }
}

const args = process.argv.slice(2);
const split = args.indexOf('--');
const options = split < 0 ? args : args.slice(0, split);
const gypArgs = split < 0 ? [] : args.slice(split);

const incremental = options.includes('--incremental');
const compile =
  incremental || options.includes('--force') || env.npm_config_build_from_source === 'true';

if (!compile && aBuildLoads()) process.exit(0);

const [command, ...before] = nodeGyp();
const verbs = incremental ? ['configure', 'build'] : ['rebuild'];
const result = spawnSync(
  command,
  [...before, ...verbs, '--jobs=max', ...localHeaders(), ...gypArgs],
  { cwd: root, stdio: 'inherit' },
);
if (result.error) console.error(`lmq-store: ${command} did not start: ${result.error.message}`);
process.exit(result.status ?? 1);
