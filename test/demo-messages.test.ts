// What the demo writes, and when it kills: decided by the seed alone.
import { describe, expect, it } from 'vitest';
import { killPoint, windowOf } from '../lib/cli/demo-job.ts';
import { GeneratedMessages } from '../lib/cli/demo-messages.ts';

describe('the generator', () => {
  const source = new GeneratedMessages(42, 100);

  it('makes the same message again, in any order and anywhere', () => {
    const again = new GeneratedMessages(42, 100);
    for (const index of [99, 3, 2 ** 33, 0]) {
      expect(again.message(index)).toEqual(source.message(index));
      const { topic, queueId, lmq } = again.route(index);
      const message = source.message(index);
      expect({ topic, queueId }).toEqual({ topic: message.topic, queueId: message.queueId });
      expect(lmq).toEqual(message.lmq!.map((name) => `%LMQ%${name}`));
    }
  });

  it('makes other messages for another seed or index', () => {
    const bodies = [
      source,
      new GeneratedMessages(43, 100),
      new GeneratedMessages(42 + 2 ** 32, 100),
    ]
      .flatMap((from) => [0, 1, 2 ** 32].map((index) => from.message(index)))
      .map((message) => JSON.stringify(message));
    expect(new Set(bodies).size).toBe(9);
  });

  it('varies sizes, topics, tags and light queues as life does', () => {
    const messages = Array.from({ length: 5000 }, (_, index) => source.message(index));
    const sizes = messages
      .map(({ body }) => Buffer.byteLength(body as string))
      .sort((a, b) => a - b);
    expect(sizes[0]).toBeLessThan(40);
    expect(sizes[2500]).toBeGreaterThan(100);
    expect(sizes[2500]).toBeLessThan(1000);
    expect(sizes.at(-1)).toBeGreaterThan(3000);
    expect(new Set(messages.map(({ topic }) => topic)).size).toBe(3);
    expect(new Set(messages.map(({ tags }) => tags)).size).toBeGreaterThan(4);
    expect(new Set(messages.flatMap(({ lmq }) => lmq)).size).toBe(100);
    const fanOut = messages.map(({ lmq }) => lmq!.length);
    expect([Math.min(...fanOut), Math.max(...fanOut)]).toEqual([1, 8]);
    expect(messages.every(({ lmq }) => new Set(lmq).size === lmq!.length)).toBe(true);
  });
});

describe('the kill', () => {
  it('falls strictly inside the run, whatever its length', () => {
    for (const messages of [16, 17, 100, 12_345]) {
      for (let seed = 0; seed < 200; seed++) {
        let first = 0;
        for (let round = 0; round < 3; round++) {
          const after = killPoint(seed, messages, 3, round, first);
          expect(after).toBeGreaterThan(0);
          // The writer may be ahead of what is acknowledged, by less than two windows.
          first += after + 2 * windowOf(messages, 3) - 1;
          expect(first).toBeLessThan(messages);
        }
      }
    }
  });
});
