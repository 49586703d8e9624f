// Once before all: RocketMQ's jars are resolved and the judge is compiled. Both are kept in
// build-interop/ until their sources change, so that later runs need neither Maven nor a network.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** What `java -cp` takes; absent where Java or Maven is missing. */
    classpath: string | undefined;
  }
}

const here = fileURLToPath(new URL('.', import.meta.url));
const kept = fileURLToPath(new URL('../../build-interop/', import.meta.url));

const hasTool = (tool: string, flag: string) => {
  try {
    execFileSync(tool, [flag], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** Makes `name` by `make` unless it was made from the same sources. */
function once(name: string, sources: readonly string[], make: (target: string) => void): string {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(source));
  const target = path.join(kept, `${name}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(target)) return target;
  try {
    make(target);
  } catch (error) {
    rmSync(target, { recursive: true, force: true });
    throw error;
  }
  return target;
}

/** The jars of a Maven project. */
function jarsOf(pom: string): string {
  const file = once(path.basename(pom, '.xml'), [pom], (target) => {
    const args = [
      '-q',
      '-B',
      '-f',
      pom,
      'dependency:build-classpath',
      `-Dmdep.outputFile=${target}`,
    ];
    execFileSync('mvn', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  });
  return readFileSync(file, 'utf8').trim();
}

export default function setup({ provide }: TestProject): void {
  const missing = [
    ...(hasTool('javac', '-version') ? [] : ['a JDK of version 17 (default-jdk-headless)']),
    ...(hasTool('mvn', '-v') ? [] : ['Maven']),
  ];
  if (missing.length > 0) {
    console.warn(`test:interop is skipped: ${missing.join(' and ')} must be installed for it.`);
    provide('classpath', undefined);
    return;
  }
  mkdirSync(kept, { recursive: true });
  const jars = jarsOf(path.join(here, 'pom.xml'));
  const judge = path.join(here, 'judge');
  const sources = readdirSync(judge).map((name) => path.join(judge, name));
  const classes = once('classes', [path.join(here, 'pom.xml'), ...sources], (target) => {
    execFileSync('javac', ['-nowarn', '-d', target, '-cp', jars, ...sources], { stdio: 'inherit' });
  });
  provide('classpath', `${classes}:${jars}`);
}
