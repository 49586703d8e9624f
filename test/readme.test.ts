// The README and the pages of docs/ hold what they say: every snippet and every command is run, in order.
//
// js, ts  a module in a folder that only blocks of the same page have worked in, where 'lmq-store' is
//         this package. It prints exactly what its comments with an arrow say.
// sh      each line by bash, in the same folder. With npm, in a copy of the repository that shares what
//         is installed and built: `npm ci` finds all of it there and does nothing, and `npm test` runs
//         one file, because the suite is what is running. .ci/run does both in earnest, from a fresh clone.
// json    is read; text is not run.
//
// ./rocketmq-store is one of the golden stores.
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { addon } from '../lib/native.ts';
import {
  type Block,
  blocksOf,
  commandsOf,
  deadLinks,
  inlineCommands,
  longLines,
  promisedOutput,
  withoutBlocks,
} from './support/markdown.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const work = mkdtempSync(path.join(tmpdir(), 'lmq-readme-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const readme = read('README.md');
const docs = readdirSync(path.join(root, 'docs')).map((name) => `docs/${name}`);
const pages = ['README.md', ...docs];

const LANGUAGES = ['js', 'ts', 'sh', 'json', 'text'];
/** The demo in full takes most of it. */
const MINUTES = 5 * 60_000;

function script(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

/** The folder of a page: a project that has installed this package. */
async function project(page: string): Promise<string> {
  const dir = path.join(work, page.replaceAll('/', '-'));
  script(
    path.join(dir, 'node_modules/.bin/lmq-store'),
    `exec '${process.execPath}' '${root}dist/cli/main.js' "$@"`,
  );
  symlinkSync(root, path.join(dir, 'node_modules/lmq-store'));
  mkdirSync(path.join(dir, 'rocketmq-store'));
  const golden = path.join(root, 'test/golden/lmq-simple/store.tar.gz');
  await run(dir, 'tar', '-xmf', golden, '--strip-components=1', '-C', 'rocketmq-store');
  return dir;
}

/** A copy of the repository as it is after `npm ci`. */
function clone(): string {
  const dir = mkdtempSync(path.join(work, 'clone-'));
  const shared = ['node_modules', 'build'];
  const left = ['.git', 'coverage', 'test/golden', 'bench/node_modules', ...shared];
  cpSync(root, dir, {
    recursive: true,
    filter: (from) => {
      const name = path.relative(root, from);
      return !left.includes(name) && !/^build-/.test(name);
    },
  });
  for (const name of shared) symlinkSync(path.join(root, name), path.join(dir, name));
  return dir;
}

const bin = path.join(work, 'bin');
script(
  path.join(bin, 'npm'),
  `case "$1" in
  ci) exit 0 ;;
  test) set -- test -- test/architecture.test.ts ;;
esac
PATH="\${PATH#*:}" exec npm "$@"`,
);

async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  const { PATH = '', ...outer } = process.env;
  const env: NodeJS.ProcessEnv = { PATH: `${bin}:${PATH}`, ...outer };
  // What vitest and npm tell their children is not for those that a user would start.
  for (const name of Object.keys(env)) if (/^(VITEST|npm_|NODE_ENV$)/.test(name)) delete env[name];
  const options = { cwd, env, timeout: MINUTES, maxBuffer: 1 << 26 };
  return (await promisify(execFile)(program, args, options)).stdout;
}

/** Runs a module and gives the lines it printed. */
async function runSnippet(dir: string, { language, text, line }: Block): Promise<string[]> {
  const file = path.join(dir, `line-${line}.m${language}`);
  writeFileSync(file, text);
  const loader = language === 'ts' ? ['--import', import.meta.resolve('tsx')] : [];
  const out = await run(dir, process.execPath, ...loader, file);
  return out.split('\n').slice(0, -1);
}

describe.each(pages)('%s', (page) => {
  const text = read(page);
  const blocks = blocksOf(text);
  const made = blocks.length === 0 ? undefined : project(page);

  it('has blocks of languages that are run', () => {
    expect(blocks.filter(({ language }) => !LANGUAGES.includes(language))).toEqual([]);
  });

  it('has lines of at most 120 characters', () => expect(longLines(text, 120)).toEqual([]));

  for (const block of blocks) {
    const { language, line } = block;
    if (language === 'js' || language === 'ts') {
      it(`line ${line}: prints what it says`, { timeout: MINUTES }, async () => {
        expect(await runSnippet((await made) as string, block)).toEqual(promisedOutput(block.text));
      });
    }
    if (language === 'json') {
      it(`line ${line}: is JSON`, () => expect(JSON.parse(block.text)).toBeTypeOf('object'));
    }
    if (language !== 'sh') continue;
    for (const command of commandsOf(block)) {
      it(`line ${line}: ${command}`, { timeout: MINUTES }, async () => {
        const dir = /\bnpm /.test(command) ? clone() : ((await made) as string);
        expect(await run(dir, 'bash', '-c', command)).not.toBe('');
      });
    }
  }

  it('names no command in passing that .ci/run does not run', () => {
    const ci = read('.ci/run').replaceAll(' --silent', '');
    const inBlocks = blocks.filter(({ language }) => language === 'sh').flatMap(commandsOf);
    const known = [ci, ...inBlocks].join('\n');
    expect(inlineCommands(text).filter((command) => !known.includes(command))).toEqual([]);
  });
});

describe('README.md', () => {
  it('can be read in three minutes', () => {
    expect(readme.split('\n').length).toBeLessThan(175);
    expect(withoutBlocks(readme).split(/\s+/).length).toBeLessThan(900);
  });

  it('shows each command of the command line once', async () => {
    const help = await run(root, process.execPath, 'dist/cli/main.js', '--help');
    const known = [...(help.split('Commands:')[1] ?? '').matchAll(/^ {2}(\w+)/gm)].map(
      ([, name]) => name,
    );
    const shown = blocksOf(readme)
      .filter(({ language }) => language === 'sh')
      .flatMap(commandsOf)
      .flatMap((command) => /^npx lmq-store (\w+)/.exec(command)?.[1] ?? []);
    expect(known).toContain('demo');
    expect(shown.sort()).toEqual(known.filter((name) => name !== 'help').sort());
  });
});

describe('every page', () => {
  const all = [...pages, 'CONTRIBUTING.md', 'bench/README.md'];

  it.each(all)('%s leads nowhere that is not there', (page) => {
    expect(deadLinks(path.join(root, page), read(page))).toEqual([]);
  });

  it.each(all)('%s names no error code that there is not', (page) => {
    const known = addon.codes.map(([code]) => code);
    const named = read(page).match(/\bSTORE_[A-Z_]+\b/g) ?? [];
    expect(named.filter((code) => !known.includes(code))).toEqual([]);
  });

  it('docs/errors.md lists exactly the codes and hints of the addon', async () => {
    const listed = [...read('docs/errors.md').matchAll(/^- `(STORE_\w+)`:(.*(?:\n {2}.*)*)/gm)];
    const plain = listed.map(([, code, hint = '']) => [code, hint.replace(/\s+/g, ' ').trim()]);
    expect(plain).toEqual(addon.codes.map((row) => [...row]));
    const printed = await run(root, process.execPath, 'scripts/error-docs.mjs');
    expect(read('docs/errors.md'), 'node scripts/error-docs.mjs > docs/errors.md').toBe(printed);
  });
});

// A rule that cannot fail holds nothing.
describe('the rules themselves', () => {
  const page =
    '# A b, c\n\n```js\nprint(); // → one\n```\n\n[x](y.md) [a](#a-b-c) [z](#z) `npm run all`\n';

  it('find blocks, promises, commands and dead links', () => {
    expect(blocksOf(page)).toEqual([{ language: 'js', text: 'print(); // → one\n', line: 4 }]);
    expect(promisedOutput(page)).toEqual(['one']);
    expect(inlineCommands(page)).toEqual(['npm run all']);
    expect(deadLinks(path.join(root, 'README.md'), page)).toEqual(['y.md', '#z']);
    expect(longLines('aa\na\n| aa |', 1)).toEqual(['aa']);
    const shell = { language: 'sh', text: 'a && b  # both\n# none\nc \\\n  d\n', line: 1 };
    expect(commandsOf(shell)).toEqual(['a && b', 'c    d']);
  });

  it('refuse a snippet that fails, and one that prints something else', async () => {
    const dir = await project('rules');
    const block = (text: string, language = 'js') => ({ language, text, line: 1 });
    await expect(runSnippet(dir, block("import 'nothing';"))).rejects.toThrow();
    expect(await runSnippet(dir, block('console.log(1)'))).toEqual(['1']);
    const typed =
      "import { StoreError } from 'lmq-store';\nconst a: string = StoreError.name;\nconsole.log(a);";
    expect(await runSnippet(dir, block(typed, 'ts'))).toEqual(['StoreError']);
    await expect(run(dir, 'bash', '-c', 'npx lmq-store cat ./nowhere chat:0')).rejects.toThrow();
  });
});
