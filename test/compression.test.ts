// Compressed bodies: stored as given, decompressed when they are read.
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Message, MessageStore, type StoredMessage } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { failureOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();
const ZLIB = 0x301;
const text = 'compress me '.repeat(100);

async function stored(message: Partial<Message>): Promise<StoredMessage> {
  await using store = await MessageStore.open({ ...quiet, path: fresh() });
  store.append({ topic: 't', body: '', ...message });
  return store.queue('t').read(0).messages[0]!.detach();
}

describe('a compressed body', () => {
  it.each([0x1, ZLIB])('of zlib is decompressed (sysFlag %i)', async (sysFlag) => {
    const body = zlib.deflateSync(text);
    const message = await stored({ body, sysFlag });
    expect(message.rawBody.equals(body)).toBe(true);
    expect([message.compression, message.compressed]).toEqual(['zlib', false]);
    expect([message.text(), message.body.toString()]).toEqual([text, text]);
    expect(message.sysFlag).toBe(sysFlag);
    expect(Buffer.from(message.toJSON().body, 'base64').toString()).toBe(text);
  });

  it('of zstd is decompressed where Node can do that', async () => {
    const frame = Buffer.from('28b52ffd2005290000', 'hex'); // five bytes, not compressed further
    const body = Buffer.concat([frame, Buffer.from('hello')]);
    const message = await stored({ body, sysFlag: 0x201 });
    const can = 'zstdDecompressSync' in zlib;
    expect([message.compression, message.compressed]).toEqual(['zstd', !can]);
    expect(message.rawBody.equals(body)).toBe(true);
    if (!can) expect(message.body.equals(body)).toBe(true);
  });

  it.each([
    [0x101, 'lz4'],
    [0x401, 'unknown'],
    [0x701, 'unknown'],
  ])('of any other kind comes as it is, and says so (sysFlag %i)', async (sysFlag, kind) => {
    const message = await stored({ body: text, sysFlag });
    expect([message.compression, message.compressed]).toEqual([kind, true]);
    expect([message.text(), message.rawBody.toString()]).toEqual([text, text]);
  });

  it.each([0, 0x300, 0x2])('is none without the bit (sysFlag %i)', async (sysFlag) => {
    const body = zlib.deflateSync(text);
    const message = await stored({ body, sysFlag });
    expect([message.compression, message.compressed]).toEqual([undefined, false]);
    expect(message.body.equals(body)).toBe(true);
  });

  const whole = zlib.deflateSync(text);
  it.each([
    ['no stream', Buffer.from(text)],
    ['empty', Buffer.alloc(0)],
    ['cut short', whole.subarray(0, -5)],
    ['changed', Buffer.from(whole).fill(0xff, 10, 12)],
  ])('that is %s is a named error, and still there', async (_, body) => {
    const message = await stored({ body, sysFlag: ZLIB });
    for (const ask of [() => message.body, () => message.text(), () => message.json()]) {
      expect(failureOf(ask)).toBe('StoreError STORE_CORRUPT_RECORD');
    }
    expect(message.rawBody.equals(body)).toBe(true);
    expect(message.toJSON().body).toBe(body.toString('base64'));
  });

  it('that would fill the memory is refused', async () => {
    const bomb = zlib.deflateSync(Buffer.alloc(64 * 1024 * 1024 + 1));
    expect(failureOf(() => zlib.inflateSync(bomb))).toBe('nothing');
    const message = await stored({ body: bomb, sysFlag: ZLIB });
    expect(failureOf(() => message.body)).toBe('StoreError STORE_LIMIT');
    const most = zlib.deflateSync(Buffer.alloc(64 * 1024 * 1024));
    expect((await stored({ body: most, sysFlag: ZLIB })).body).toHaveLength(64 * 1024 * 1024);
  });
});

describe('an inner batch', () => {
  it.each<[string, Partial<Message>]>([
    ['its flag', { sysFlag: 0x80 }],
    ['its property', { properties: { INNER_NUM: '2' } }],
    ['its raw property', { rawProperties: 'INNER_NUM\x012\x02' }],
    [
      'its property in bytes',
      { rawProperties: Buffer.from('INNER_NUM\x012\x02a\x01\xff', 'latin1') },
    ],
  ])('is refused by name: %s', async (_, message) => {
    await using store = await MessageStore.open({ ...quiet, path: fresh() });
    const whole: Message = { topic: 't', body: 'x', ...message };
    expect(failureOf(() => store.append(whole))).toBe('StoreError STORE_UNSUPPORTED');
    expect(failureOf(() => store.appendBatch([whole]))).toBe('StoreError STORE_UNSUPPORTED');
    expect(store.topics()).toEqual([]);
  });
});
