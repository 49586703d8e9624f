// What all commands have in common: they change nothing, and say clearly what is wrong.
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { json, makeStores, program, run, treeOf, workDirectory } from './support/cli.ts';

const work = workDirectory();
let whole = '';
let unclean = '';

beforeAll(async () => {
  ({ whole, unclean } = await makeStores(work));
});

describe('every command but demo', () => {
  const commands = [
    ['inspect'],
    ['queues'],
    ['cat', 'chat:0'],
    ['cat', '%LMQ%alice'],
    ['get', '0'],
    ['tail', 'chat:0'],
    ['verify'],
  ];
  const on = (dir: string, [name = '', ...rest]: string[]) => [name, dir, ...rest];

  it('changes no byte, name or time of a store, closed or not', () => {
    for (const dir of [whole, unclean]) {
      const before = treeOf(dir);
      for (const command of commands) {
        expect(run(...on(dir, command)).code, command.join(' ')).toBe(0);
        expect(json(...on(dir, command)).code, command.join(' ')).toBe(0);
        expect(treeOf(dir)).toEqual(before);
      }
    }
  });

  it('refuses a directory that is not there, and makes none', () => {
    const dir = path.join(work, 'nowhere');
    for (const command of commands) {
      const text = run(...on(dir, command));
      expect(text).toMatchObject({ code: 1, out: '' });
      expect(text.err).toMatch(/^STORE_NOT_FOUND: [^\n]*nowhere[^\n]*\n$/);
      const { code, err, values } = json(...on(dir, command));
      expect({ code, err }).toEqual({ code: 1, err: '' });
      expect(values).toMatchObject([{ error: { code: 'STORE_NOT_FOUND' } }]);
      expect(values[0].error.hint).not.toBe('');
    }
    expect(() => statSync(dir)).toThrow();
  });

  it('refuses a file where a directory should be', () => {
    const file = path.join(work, 'file');
    appendFileSync(file, 'x');
    for (const command of commands) expect(run(...on(file, command)).code).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe('x');
  });

  it('ends quietly when its reader goes away', () => {
    const script = `set -o pipefail; "$0" "$1" cat "$2" chat:0 --json | head -c 10`;
    for (let i = 0; i < 3; i++) {
      const out = execFileSync('bash', ['-c', script, process.execPath, program, whole], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(out.toString()).toBe('{"offset":');
    }
  });
});

describe('wrong usage', () => {
  it('of a queue', () => {
    for (const queue of ['nope:0', 'chat:9', '%LMQ%carol', 'alice:0']) {
      const { code, out, err } = run('cat', whole, queue);
      expect({ code, out }, queue).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/^QUEUE_NOT_FOUND: there is no queue [^\n]+\n$/);
      expect(json('cat', whole, queue).values).toMatchObject([
        { error: { code: 'QUEUE_NOT_FOUND' } },
      ]);
    }
    for (const queue of ['chat', 'chat:', ':0', 'chat:x', '']) {
      expect(run('cat', whole, queue), queue).toMatchObject({ code: 2, out: '' });
    }
  });

  it('of the program: exit code 2, one line, nothing on stdout', () => {
    const wrong = [
      ['frobnicate'],
      ['inspect'],
      ['inspect', whole, 'more'],
      ['queues', whole, '--what'],
      ['cat', whole],
      ['cat', whole, 'chat:0', '--from', '-1'],
      ['cat', whole, 'chat:0', '--max', '0'],
      ['cat', whole, 'chat:0', '--max', '1e3'],
      ['cat', whole, 'chat:0', '--from', '9007199254740993'],
    ];
    for (const args of wrong) {
      const { code, out, err } = run(...args);
      expect({ code, out }, args.join(' ')).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/^error: [^\n]+\n$/);
    }
    expect(run()).toMatchObject({ code: 2, out: '' });
  });

  it('of an option that no command has, or of a conf that is none, is one line', () => {
    const conf = path.join(work, 'not.conf');
    for (const command of ['inspect', 'queues', 'verify', 'rebuild']) {
      expect(run(command, whole, '--sizes', '1')).toMatchObject({ code: 2, out: '' });
      const { code, err } = run(command, '--conf', conf);
      expect(code).toBe(1);
      expect(err).toMatch(/^STORE_NOT_FOUND: [^\n]+not\.conf[^\n]+\n$/);
    }
    expect(run('inspect', '').err).toBe('error: DIR is empty\n');
  });

  it('is met by help: of the program, and of every command that it lists', () => {
    const { out } = run('--help');
    const commands = [...out.matchAll(/^ {2}([a-z]+) DIR/gm)].map(([, name = '']) => name);
    expect(commands).toEqual(
      expect.arrayContaining(['inspect', 'queues', 'cat', 'verify', 'rebuild']),
    );
    expect(out).not.toMatch(/\[dir\]/);
    for (const name of commands) {
      const help = run(name, '--help');
      expect({ code: help.code, err: help.err }, name).toEqual({ code: 0, err: '' });
      expect(help.out).toMatch(new RegExp(`^Usage: lmq-store ${name} DIR`));
      expect(help.out).toContain('--conf');
      expect(help.out).toContain('--json');
      for (const args of [
        [name, '--conf', ''],
        [name, whole, '--conf='],
      ]) {
        expect(run(...args), name).toMatchObject({
          code: 2,
          out: '',
          err: 'error: --conf names no file\n',
        });
      }
      expect(run(name), name).toMatchObject({
        code: 2,
        out: '',
        err: 'error: missing argument DIR\n',
      });
    }
  });

  it('is told from a question', () => {
    expect(run('--version')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    for (const args of [['--help'], ['cat', '--help'], ['help', 'demo']]) {
      expect(run(...args), args.join(' ')).toMatchObject({ code: 0, err: '' });
    }
  });
});
