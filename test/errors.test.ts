import { describe, expect, it } from 'vitest';
import {
  converted,
  failureOf,
  isStoreError,
  rangeMistake,
  StoreError,
  storeErrorCodes,
  traceOf,
  typeMistake,
} from '../lib/errors.ts';
import { addon } from '../lib/native.ts';
import { readStatuses } from '../lib/page.ts';

const facts = {
  code: 'STORE_DISK_FULL',
  message: 'write failed: No space left on device',
  hint: 'Free space on the device.',
  path: '/data/commitlog/00000000000000000000',
  errno: 28,
};

describe('what is written twice', () => {
  it('codes are those of native, in its order', () => {
    expect(storeErrorCodes).toEqual(addon.codes.map(([code]) => code));
  });

  it('statuses of reads are those of native, in its order', () => {
    expect(readStatuses).toEqual(addon.readStatuses);
  });
});

describe('an error', () => {
  it("has its code's hint", () => {
    for (const [code, hint] of addon.codes) {
      expect(hint).not.toBe('');
      expect(rangeMistake(code as 'STORE_IO', 'x').hint).toBe(hint);
    }
  });

  it('carries the facts it was given, and none that it was not', () => {
    const error = failureOf(facts);
    expect(error).toBeInstanceOf(StoreError);
    expect({ ...error }).toEqual({
      code: 'STORE_DISK_FULL',
      hint: 'Free space on the device.',
      path: '/data/commitlog/00000000000000000000',
      errno: 28,
    });
    expect(`${error}`).toBe('StoreError: write failed: No space left on device');
  });

  it('is a RangeError where native refuses an argument', () => {
    for (const code of [
      'STORE_INVALID_PROPERTY',
      'STORE_BODY_TOO_LARGE',
      'STORE_RECORD_TOO_LARGE',
    ]) {
      expect(failureOf({ ...facts, code })).toBeInstanceOf(RangeError);
    }
    for (const code of ['STORE_BUSY', 'STORE_LMQ_LIMIT', 'STORE_LIMIT', 'STORE_TOO_MANY_FILES']) {
      expect(failureOf({ ...facts, code })).toBeInstanceOf(StoreError);
    }
  });

  it('points at the call that failed, not at where the failure was noticed', async () => {
    function theCaller() {
      const trace = traceOf(theCallee);
      return new Promise((_, reject) => setImmediate(() => reject(failureOf(facts, trace))));
    }
    function theCallee(): Promise<unknown> {
      return theCaller();
    }
    const error = (await theCallee().catch((reason: unknown) => reason)) as Error;
    expect(error.stack).toMatch(/^StoreError: write failed: No space left on device\n {4}at /);
    expect(error.stack).not.toContain('theCallee');
    expect(error.stack).toContain('errors.test.ts');
  });

  it('of native is converted, any other is left alone', () => {
    const native = Object.assign(new Error(facts.message), { facts });
    expect(converted(native)).toBeInstanceOf(StoreError);
    for (const other of [new Error('x'), 'text', undefined, { facts }]) {
      expect(converted(other)).toBe(other);
    }
  });
});

describe('isStoreError', () => {
  const busy = new StoreError('STORE_BUSY', 'x');
  const mistake = typeMistake('STORE_INVALID_TOPIC', 'x');

  it('knows every error of this library', () => {
    expect(isStoreError(busy)).toBe(true);
    expect(isStoreError(mistake)).toBe(true);
    expect(isStoreError(busy, 'STORE_BUSY')).toBe(true);
    expect(isStoreError(mistake, 'STORE_INVALID_TOPIC')).toBe(true);
  });

  it('knows no other', () => {
    expect(isStoreError(busy, 'STORE_CLOSED')).toBe(false);
    const foreign = [new Error('x'), Object.assign(new Error('x'), { code: 'ENOENT' })];
    for (const error of [...foreign, { code: 'STORE_BUSY' }, 'STORE_BUSY', null, undefined]) {
      expect(isStoreError(error)).toBe(false);
    }
  });

  it('tells the compiler the code', () => {
    const error: unknown = busy;
    if (isStoreError(error, 'STORE_BUSY')) error.code satisfies 'STORE_BUSY';
    else expect.unreachable();
  });
});
