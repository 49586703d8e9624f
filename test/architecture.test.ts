// Holds the house to its rules (docs/architecture.md): who may include whom, and who may touch bytes.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Text by path, the path relative to the project. */
type Sources = ReadonlyMap<string, string>;

const root = fileURLToPath(new URL('..', import.meta.url));

/** A file includes lower ranks and, without cycles, its own. */
const ranks: readonly (readonly string[])[] = [
  ['status', 'bytes', 'crc32', 'message'],
  ['record', 'file'],
  ['mapped_file', 'mapped_file_queue', 'preparer', 'store_dir'],
  ['commit_log', 'consume_queue', 'lmq', 'key_index', 'consumer_offsets'],
  ['dispatch'],
  ['store', 'recovery', 'flusher', 'retention', 'exporter'],
];

function sources(folder: string, extensions: readonly string[]): Sources {
  return new Map(
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => extensions.includes(path.extname(name)))
      .map((name) => [
        path.join(folder, name),
        readFileSync(path.join(root, folder, name), 'utf8'),
      ]),
  );
}

/** The rank of the longest listed name that begins it: `crc32_tables` ranks as `crc32`; else NaN. */
function rankOf(file: string): number {
  const words = path.basename(file, path.extname(file)).split('_');
  for (let count = words.length; count > 0; count--) {
    const rank = ranks.findIndex((names) => names.includes(words.slice(0, count).join('_')));
    if (rank >= 0) return rank;
  }
  return Number.NaN;
}

interface Include {
  readonly name: string;
  readonly quoted: boolean;
  /** The file it names, where that is one of `among`: beside the including file, else below native/. */
  readonly file: string | undefined;
}

function includesOf(from: string, among: Sources): Include[] {
  const text = among.get(from) ?? '';
  return [...text.matchAll(/^\s*#\s*include\s*([<"])([^>"]+)[>"]/gm)].map(
    ([, mark, name = '']) => ({
      name,
      quoted: mark === '"',
      file: [path.join(path.dirname(from), name), path.join('native', name)].find((f) =>
        among.has(f),
      ),
    }),
  );
}

function offending(among: Sources, bad: (include: Include, file: string) => boolean): string[] {
  return [...among.keys()].flatMap((file) =>
    includesOf(file, among)
      .filter((include) => bad(include, file))
      .map((include) => `${file} includes ${include.name}`),
  );
}

const nodeHeader = /^(node|node_.*|js_native_api.*|napi.*|uv|v8.*)\.h$/;
const nodeHeaders = (core: Sources) =>
  offending(core, ({ name }) => nodeHeader.test(path.basename(name)));

/** What core takes in quotes is core's own: neither the binding nor somebody else's library. */
const strangers = (core: Sources) => offending(core, ({ quoted, file }) => quoted && !file);

const upwardIncludes = (core: Sources) =>
  offending(core, ({ file }, from) => file !== undefined && rankOf(file) > rankOf(from));

const filesWithoutRank = (core: Sources) => [...core.keys()].filter((f) => Number.isNaN(rankOf(f)));

function includeCycles(all: Sources): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file);
    if (start >= 0) cycles.push([...trail.slice(start), file].join(' -> '));
    if (start >= 0 || done.has(file)) return;
    for (const next of includesOf(file, all)) if (next.file) visit(next.file, [...trail, file]);
    done.add(file);
  };
  for (const file of all.keys()) visit(file, []);
  return cycles;
}

/** Layouts belong to native code: TypeScript gets positions, it never reads a number out of a record. */
function byteReaders(lib: Sources): string[] {
  const forbidden = /\bDataView\b|\b(read|write)(U?Int|Big(U?Int))\w*|\b[gs]etBig(U?Int)64\b/g;
  return [...lib].flatMap(([file, text]) =>
    [...text.matchAll(forbidden)].map((match) => `${file} uses ${match[0]}`),
  );
}

function tooLong(files: Sources, limit: number): string[] {
  return [...files]
    .map(([file, text]) => ({ file, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > limit)
    .map(({ file, lines }) => `${file} has ${lines} lines, more than ${limit}`);
}

const core = sources('native/core', ['.h', '.cc']);
const native = sources('native', ['.h', '.cc']);
const lib = sources('lib', ['.ts']);

describe('native/core', () => {
  it('has files, each with a rank', () => {
    expect(core.size).toBeGreaterThan(0);
    expect(filesWithoutRank(core), 'add the name to the table of ranks').toEqual([]);
  });

  it('knows nothing of Node', () => expect(nodeHeaders(core)).toEqual([]));
  it('includes the standard library, the system and itself only', () =>
    expect(strangers(core)).toEqual([]));
  it('includes downwards only', () => expect(upwardIncludes(core)).toEqual([]));
});

describe('native', () => {
  it('has no cycle of includes', () => expect(includeCycles(native)).toEqual([]));
  it('has no file above 400 lines', () => expect(tooLong(native, 400)).toEqual([]));
});

describe('lib', () => {
  it('has files', () => expect(lib.size).toBeGreaterThan(0));
  it('reads and writes no number in a native layout', () => expect(byteReaders(lib)).toEqual([]));
  it('has no file above 250 lines', () => expect(tooLong(lib, 250)).toEqual([]));
});

// A rule that cannot fail holds nothing: each is shown what it has to refuse.
describe('the rules themselves', () => {
  const one = (file: string, text: string): Sources => new Map([[file, text]]);

  it('rank a name by its longest listed beginning', () => {
    expect(
      ['crc32_tables.cc', 'store.h', 'store_dir.cc', 'mapped_file.h', 'lmq_index.h'].map(rankOf),
    ).toEqual([0, 5, 2, 2, 3]);
    expect(filesWithoutRank(one('native/core/filesystem.h', ''))).toEqual([
      'native/core/filesystem.h',
    ]);
  });

  it('refuse a Node header', () => {
    for (const header of ['node_api.h', 'napi.h', 'js_native_api.h', 'uv.h', 'v8.h', 'node.h']) {
      expect(nodeHeaders(one('native/core/file.cc', `#include <${header}>\n`))).toHaveLength(1);
    }
    expect(nodeHeaders(one('native/core/file.cc', '#include <sys/uio.h>\n'))).toEqual([]);
  });

  it('refuse an include upwards, from outside, or round in a circle', () => {
    const up = new Map([
      ['native/core/record.cc', '#include "record.h"\n#include "core/commit_log.h"\n'],
      ['native/core/record.h', '#include "bytes.h"\n'],
      ['native/core/bytes.h', ''],
      ['native/core/commit_log.h', ''],
    ]);
    expect(upwardIncludes(up)).toEqual(['native/core/record.cc includes core/commit_log.h']);
    expect(strangers(one('native/core/file.h', '#include "binding/value.h"'))).toHaveLength(1);
    const circle = new Map([
      ['native/core/store.h', '#include "recovery.h"'],
      ['native/core/recovery.h', '#include "flusher.h"'],
      ['native/core/flusher.h', '#include "store.h"'],
    ]);
    expect(includeCycles(circle)).toEqual([
      'native/core/store.h -> native/core/recovery.h -> native/core/flusher.h -> native/core/store.h',
    ]);
  });

  it('refuse a number read in TypeScript, and a file that is too long', () => {
    for (const use of [
      'new DataView(b)',
      'b.readUInt32BE(4)',
      'b.readInt8(0)',
      'v.getBigInt64(0)',
      'b.readBigInt64BE(0)',
    ]) {
      expect(byteReaders(one('lib/a.ts', use)), use).toHaveLength(1);
    }
    expect(byteReaders(one('lib/a.ts', 'queue.read(0); new Float64Array(8)'))).toEqual([]);
    expect(tooLong(one('lib/a.ts', 'x\n'.repeat(250)), 250)).toEqual([]);
    expect(tooLong(one('lib/a.ts', 'x\n'.repeat(251)), 250)).toHaveLength(1);
  });
});
