import { appendFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { it } from 'vitest';
import { addon } from '../../lib/native.ts';
import * as A from './answers.ts';
import { type Row, rowsOf } from './expected.ts';
import { Opened } from './opened.ts';
import { optionsOf } from './options.ts';
import { expectedOf, filesOf, storeNames, treeOf, unpack, workDirectory } from './stores.ts';

const out = '/tmp/gb/diff.txt';
writeFileSync(out, '');
const say = (...x: unknown[]) =>
  appendFileSync(
    out,
    x
      .map((v) => (typeof v === 'string' ? v : JSON.stringify(v)))
      .join(' ')
      .slice(0, 1500) + '\n',
  );
const work = workDirectory();
const only = process.env.ONLY?.split(',');
const host = (h: string) => {
  const [hex, port] = h.split(':');
  const m = hex.match(/../g)!;
  return m.length === 4 ? m.map((b) => parseInt(b, 16)).join('.') + ':' + port : h;
};
function cmp(what: string, ours: Row[], theirs: Row[], key: (r: Row) => string) {
  const t = new Map(theirs.map((r) => [key(r), r]));
  const o = new Map(ours.map((r) => [key(r), r]));
  for (const [k, r] of t) {
    const m = o.get(k);
    if (!m) {
      say('  ', what, 'MISSING', k, JSON.stringify(r).slice(0, 300));
      continue;
    }
    for (const f of new Set([...Object.keys(r), ...Object.keys(m)]))
      if (!isDeepStrictEqual(r[f], m[f]))
        say('  ', what, k, f, 'theirs', r[f] ?? null, 'ours', m[f] ?? null);
  }
  for (const k of o.keys())
    if (!t.has(k)) say('  ', what, 'EXTRA', k, JSON.stringify(o.get(k)).slice(0, 200));
}
for (const name of storeNames) {
  if (only && !only.includes(name)) continue;
  it(name, async () => {
    const e = expectedOf(name);
    const all = { opened: { openedWith: e.openedWith, opened: e.opened }, ...e.variants };
    for (const [variant, { openedWith, opened: x }] of Object.entries(all)) {
      for (const mode of ['writer', 'reader'] as const) {
        if (process.env.WAY && process.env.WAY !== mode) continue;
        say('==', name, variant, mode);
        const dir = unpack(name, work);
        const before = treeOf(dir);
        if (mode === 'writer') {
          const ins = addon.inspect(dir) as any;
          if (
            !isDeepStrictEqual(
              ins.files.map((f: any) => [f.path, f.size]),
              x.filesBefore,
            )
          )
            say('  filesBefore', ins.files, x.filesBefore);
          if (!isDeepStrictEqual(ins.checkpoint, x.checkpoint))
            say('  checkpoint', ins.checkpoint, x.checkpoint);
          if (ins.abort.present !== x.abort) say('  abort', ins.abort, x.abort);
          if (!isDeepStrictEqual(before, treeOf(dir))) say('  INSPECT CHANGED');
        }
        let o: Opened<any>;
        const options = optionsOf(dir, openedWith);
        try {
          o =
            mode === 'writer'
              ? await Opened.writer({ ...options, adopt: true, repair: 'truncate' })
              : await Opened.reader(options);
        } catch (error: any) {
          say('  OPEN FAILED', error.code, error.message, error.path ?? '');
          if (x.loaded) say('  but loaded');
          if (!isDeepStrictEqual(before, treeOf(dir))) say('  REFUSED BUT CHANGED');
          continue;
        }
        try {
          say('  recovery', o.store.recovery);
          if (o.logMin !== Math.max(0, x.minPhyOffset)) say('  logMin', o.logMin, x.minPhyOffset);
          if (o.logEnd !== x.maxPhyOffset) say('  logEnd', o.logEnd, x.maxPhyOffset);
          const { messages, holes } = A.logOf(o, openedWith.mappedFileSizeCommitLog as number);
          if (!isDeepStrictEqual(holes, x.blanks))
            say('  blanks', holes, x.blanks, x.unreadableAt ?? '');
          const recs = rowsOf(x.records).map(
            (r) =>
              ({
                ...r,
                bornHost: host(r.bornHost as string),
                storeHost: host(r.storeHost as string),
                keys: ((r.keys ?? '') as string).split(' ').filter(Boolean),
              }) as Row,
          );
          for (const r of recs) delete (r as any).rawProperties;
          cmp(
            'record',
            messages.map((m) => A.recordRow(o, m)),
            recs,
            (r) => String(r.physicalOffset),
          );
          const qs = rowsOf(x.queues).map((q) => {
            const { type, nextOffset, ...r } = q;
            return { ...r, units: rowsOf(q.units as any).map(({ batchNum, ...u }) => u) } as Row;
          });
          const ours = new Set([
            ...o.store.queues().map((q: any) => `${q.topic} ${q.queueId}`),
            ...o.store.lmqs({}).names.map((n: string) => `${n} 0`),
          ]);
          const mine: Row[] = [];
          for (const q of qs) {
            ours.delete(`${q.topic} ${q.queueId}`);
            try {
              mine.push(A.queueRow(o, q.topic as string, q.queueId as number));
            } catch (err: any) {
              say('  queue', q.topic, q.queueId, err.message, err.stack.split('\n')[1]);
            }
          }
          for (const left of ours) say('  EXTRA queue', left);
          cmp('queue', mine, qs, (r) => `${r.topic}:${r.queueId}`);
          const gets = rowsOf(x.gets);
          const mg: Row[] = [];
          for (const g of gets)
            try {
              mg.push(A.getRow(o, g));
            } catch (err: any) {
              say('  get', g, err.message);
            }
          const gk = (r: Row) =>
            [r.topic, r.queueId, r.offset, r.maxMsgNums, r.maxTotalMsgSize, r.subscription].join(
              '|',
            );
          cmp('get', mg, gets, gk);
          cmp(
            'look',
            rowsOf(x.looks).map((l) => A.lookRow(o, l.physicalOffset as number)),
            rowsOf(x.looks).map(({ exception, ...l }) => l),
            (r) => String(r.physicalOffset),
          );
          if (mode === 'writer') {
            const rel = (f: readonly [string, number]) =>
              f[0].startsWith('commitlog/') ||
              (f[0].startsWith('consumequeue/') && !f[0].startsWith('consumequeue/%LMQ%'));
            const fa = filesOf(dir).filter(rel),
              fx = x.filesAfter.filter(rel);
            if (!isDeepStrictEqual(fa, fx)) say('  filesAfter ours', fa, 'theirs', fx);
          }
        } finally {
          await o.store.close();
        }
        if (mode === 'reader' && !isDeepStrictEqual(before, treeOf(dir))) say('  READER CHANGED');
      }
    }
  }, 60_000);
}
