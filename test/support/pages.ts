// Pages of queue 0 of topic t and light queue x, which a test fills with the same messages.
import { expect } from 'vitest';
import type { ReadOptions, StoreReader } from '../../lib/index.ts';

/** Status, offsets of the messages and next offset of a page, from both kinds of queue. */
export function page(store: StoreReader, offset: number | bigint, options: ReadOptions = {}) {
  const of = ({ status, messages, nextOffset }: ReturnType<typeof read>) => ({
    status,
    offsets: messages.map((one) => one.offset),
    nextOffset,
  });
  const read = () => store.queue('t').read(offset, options);
  const result = of(read());
  expect(of(store.lmq('x').read(offset, options))).toEqual(result);
  return result;
}
export const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => from + i);
export const found = (from: number, to: number) => ({
  status: 'FOUND',
  offsets: range(from, to),
  nextOffset: to,
});
export const none = (status: string, nextOffset: number) => ({ status, offsets: [], nextOffset });
