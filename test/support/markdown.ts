// What the tests of the documentation take out of a page.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Of its first line in the page. */
  readonly line: number;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  for (const { 0: whole, 1: language = '', 2: text = '', index } of page.matchAll(FENCED)) {
    const line = page.slice(0, index + whole.indexOf('```')).split('\n').length + 1;
    blocks.push({ language, text, line });
  }
  return blocks;
}

const FENCED = /^```(\w*)\n(.*?)^```$/gms;

export const withoutBlocks = (page: string): string => page.replace(FENCED, '');

/** The commands of a block of shell, without their comments. */
export function commandsOf(block: Block): string[] {
  return block.text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/ +#.*/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** What a snippet says that it prints: its comments that begin with an arrow, a line each. */
export const promisedOutput = (snippet: string): string[] =>
  [...snippet.matchAll(/\/\/ +→ (.*)/g)].map(([, line = '']) => line);

/** Commands in the text, `as code`. */
export function inlineCommands(page: string): string[] {
  const codes = [...withoutBlocks(page).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return codes.map((code) => code.replace(/\s+/g, ' ')).filter((code) => /^np[mx] /.test(code));
}

/** As GitHub makes them: lower case, without punctuation, spaces as hyphens. */
function anchorsOf(page: string): string[] {
  return [...withoutBlocks(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Links of a page to files or headings that are not there. */
export function deadLinks(file: string, page: string): string[] {
  return [...withoutBlocks(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^https?:/.test(target)) return [];
    const [to = '', anchor] = target.split('#');
    const full = to === '' ? file : path.join(path.dirname(file), to);
    if (!existsSync(full)) return [target];
    if (anchor === undefined) return [];
    const known = anchorsOf(to === '' ? page : readFileSync(full, 'utf8'));
    return known.includes(anchor) ? [] : [target];
  });
}

/** Lines of prose that are too long; a row of a table cannot be wrapped. */
export const longLines = (page: string, limit: number): string[] =>
  page.split('\n').filter((line) => line.length > limit && !line.startsWith('|'));
