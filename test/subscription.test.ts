import { describe, expect, it } from 'vitest';
import { isStoreError } from '../lib/errors.ts';
import { tagFilter } from '../lib/subscription.ts';

describe('a subscription', () => {
  it('selects everything where it says so, or nothing', () => {
    for (const text of [undefined, '', '*', ' * ', '  ']) expect(tagFilter(text)).toBe('');
  });

  it('selects by tags, trimmed as in RocketMQ', () => {
    expect(tagFilter('A')).toBe('A');
    expect(tagFilter('A || B||C')).toBe('A\x01B\x01C');
    expect(tagFilter(' A ||  || B')).toBe('A\x01B');
    expect(tagFilter('a b || *'), 'a star among tags is a tag').toBe('a b\x01*');
    expect(tagFilter('\ud800'), 'as it is stored').toBe('?');
  });

  it('is refused where it is an expression of another type', () => {
    expect(tagFilter('A', 'TAG')).toBe('A');
    expect(() => tagFilter('a > 5', 'SQL92')).toThrow(
      expect.objectContaining({ name: 'StoreError', code: 'STORE_UNSUPPORTED' }),
    );
    expect(() => tagFilter('A', 'tag')).toThrow(RangeError);
    expect(() => tagFilter('A', 1)).toThrow(TypeError);
  });

  it('is refused where it selects no tag', () => {
    for (const text of ['||', ' || || ', 'a\x01b']) {
      expect(() => tagFilter(text)).toThrow(RangeError);
    }
    for (const value of [null, 5, ['A'], {}]) {
      expect(() => tagFilter(value)).toThrow(TypeError);
      try {
        tagFilter(value);
      } catch (error) {
        expect(isStoreError(error, 'STORE_INVALID_ARGUMENT')).toBe(true);
      }
    }
  });
});
