// Message ids: the offset message id both ways, and the unique key.
import { describe, expect, it } from 'vitest';
import { MessageStore, messageId, parseMessageId } from '../lib/index.ts';
import { freshDirectories } from './support/files.ts';
import { failureOf, quiet } from './support/stores.ts';

const fresh = freshDirectories();

describe('a message id', () => {
  it.each([
    ['127.0.0.1:10911', 143, '7F00000100002A9F000000000000008F'],
    ['[2001:db8::ff]:10911', 524, '20010DB80000000000000000000000FF00002A9F000000000000020C'],
    ['0.0.0.0:0', 2 ** 53 - 1, '0000000000000000001FFFFFFFFFFFFF'],
  ])('of %s at %i goes both ways', (storeHost, physicalOffset, id) => {
    expect(messageId(storeHost, physicalOffset)).toBe(id);
    for (const text of [id, id.toLowerCase()]) {
      expect(parseMessageId(text)).toEqual({ storeHost, physicalOffset });
    }
  });

  it('is none if it is not 32 or 56 digits, or its offset is none', () => {
    const id = '7F00000100002A9F000000000000008F';
    for (const text of [
      '',
      id.slice(1),
      `${id}0`,
      `${id.slice(0, -1)}G`,
      ` ${id}`,
      'ü'.repeat(16),
    ]) {
      expect(parseMessageId(text)).toBeUndefined();
    }
    expect(parseMessageId(`${id.slice(0, 16)}8000000000000000`)).toBeUndefined();
  });

  it('is made of a host and an offset alone', () => {
    expect(failureOf(() => messageId('nowhere', 0))).toBe('RangeError STORE_INVALID_ARGUMENT');
    expect(failureOf(() => messageId('1.2.3.4:5', -1))).toBe('RangeError STORE_INVALID_ARGUMENT');
    const none = undefined as unknown as string;
    expect(failureOf(() => parseMessageId(none))).toBe('TypeError STORE_INVALID_ARGUMENT');
  });

  it('of a stored message leads back to it, and its unique key is its client id', async () => {
    await using store = await MessageStore.open({ ...quiet, path: fresh() });
    store.append({ topic: 't', body: 'first' });
    const { msgId, physicalOffset } = store.append({
      topic: 't',
      body: 'second',
      properties: { UNIQ_KEY: 'C0A80001' },
      storeHost: '[::1]:7',
    });
    expect(parseMessageId(msgId)).toEqual({ storeHost: '[::1]:7', physicalOffset });
    const found = store.getAt(parseMessageId(msgId)!.physicalOffset)!;
    expect([found.text(), found.uniqueKey]).toEqual(['second', 'C0A80001']);
    expect(store.getAt(0)!.uniqueKey).toBeUndefined();
  });
});
