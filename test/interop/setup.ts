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
    /** The same for a name server, a broker and the client of test/interop/cluster. */
    clusterClasspath: string | undefined;
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

/** The class path of the Java files in `folder`, compiled with the jars of `project`. */
function compiled(project: string, folder: string, name: string): string {
  const pom = path.join(here, project);
  const jars = jarsOf(pom);
  const sources = readdirSync(path.join(here, folder)).map((one) => path.join(here, folder, one));
  const classes = once(name, [pom, ...sources], (target) => {
    execFileSync('javac', ['-nowarn', '-d', target, '-cp', jars, ...sources], { stdio: 'inherit' });
  });
  return `${classes}:${jars}`;
}

export default function setup({ provide }: TestProject): void {
  const missing = [
    ...(hasTool('javac', '-version') ? [] : ['a JDK of version 17 (default-jdk-headless)']),
    ...(hasTool('mvn', '-v') ? [] : ['Maven']),
  ];
  if (missing.length > 0) {
    console.warn(`test:interop is skipped: ${missing.join(' and ')} must be installed for it.`);
    provide('classpath', undefined);
    provide('clusterClasspath', undefined);
    return;
  }
  mkdirSync(kept, { recursive: true });
  provide('classpath', compiled('pom.xml', 'judge', 'classes'));
  // Of another version than the store, which must not come into its class path.
  provide('clusterClasspath', compiled('cluster-pom.xml', 'cluster', 'cluster-classes'));
}
