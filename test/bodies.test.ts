import { describe, expect, it } from 'vitest';
import { Bodies } from '../lib/body.ts';
import { isStoreError } from '../lib/errors.ts';

function bytesOf(body: unknown, bodies = new Bodies()): string {
  const bytes = bodies.bytesOf(body);
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return all.subarray(0, bodies.length < 0 ? undefined : bodies.length).toString('latin1');
}

function codeOf(body: unknown): unknown {
  try {
    new Bodies().bytesOf(body);
  } catch (error) {
    return isStoreError(error) ? `${error.constructor.name} ${error.code}` : error;
  }
  return 'accepted';
}

describe('a body', () => {
  it('is the bytes that a view shows, none beside them', () => {
    const memory = new ArrayBuffer(16);
    new Uint8Array(memory).set(Buffer.from('0123456789abcdef'));
    const views = [
      new Uint8Array(memory, 8, 5),
      Buffer.from(memory).subarray(8, 13),
      new DataView(memory, 8, 5),
      new Int8Array(memory, 8, 5),
    ];
    for (const view of views) expect(bytesOf(view)).toBe('89abc');
    expect(bytesOf(new Uint16Array(memory, 4, 2))).toBe('4567');
    expect(bytesOf(Buffer.from('hello'))).toBe('hello');
  });

  it('may be empty', () => {
    for (const body of ['', Buffer.alloc(0), new Uint8Array(0), new DataView(new ArrayBuffer(0))]) {
      expect(bytesOf(body)).toBe('');
    }
  });

  it('of text is UTF-8, as Java writes it', () => {
    expect(bytesOf('é😀')).toBe(Buffer.from('é😀').toString('latin1'));
    expect(bytesOf('a\ud800b')).toBe('a?b');
  });

  it('of any length fits: in the buffer that is kept, in a larger one, in one of its own', () => {
    const bodies = new Bodies();
    for (const length of [10, 20_000, 1_000_000, 5_000_000, 3]) {
      const text = 'é'.repeat(length);
      expect(bytesOf(text, bodies) === Buffer.from(text).toString('latin1')).toBe(true);
    }
  });
});

describe('a body is refused', () => {
  it('where it is neither bytes nor text', () => {
    for (const body of [undefined, null, 5, {}, [1, 2], new ArrayBuffer(4), Symbol('x'), 5n]) {
      expect(codeOf(body)).toBe('TypeError STORE_INVALID_MESSAGE');
    }
  });

  it('where its memory went elsewhere', () => {
    const views = [
      (memory: ArrayBuffer) => new Uint8Array(memory, 2, 4),
      (memory: ArrayBuffer) => Buffer.from(memory),
      (memory: ArrayBuffer) => new DataView(memory),
      (memory: ArrayBuffer) => new Float64Array(memory),
    ];
    for (const make of views) {
      const memory = new ArrayBuffer(8);
      const view = make(memory);
      structuredClone(memory, { transfer: [memory] });
      expect(codeOf(view)).toBe('TypeError STORE_INVALID_MESSAGE');
    }
  });
});
