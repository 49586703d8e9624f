// Group commit, with a stand-in for native: which puts settle when, and what native is asked.
import { describe, expect, it } from 'vitest';
import { isStoreError, StoreError } from '../lib/errors.ts';
import { Life } from '../lib/life.ts';
import type { NativeStore } from '../lib/native.ts';
import { Puts } from '../lib/puts.ts';
import type { AppendResult } from '../lib/result.ts';

function setUp(limit = 1000) {
  const asked: string[] = [];
  const native = {
    requestSync: () => asked.push('sync'),
    ref: () => asked.push('ref'),
    unref: () => asked.push('unref'),
  };
  const puts = new Puts(native as unknown as NativeStore, new Life(native), limit);
  let end = 0;
  const settled: number[] = [];
  const put = (size = 100) => {
    const result = { physicalOffset: end, size } as AppendResult;
    end += size;
    const promise = puts.wait(result);
    promise.then(
      () => settled.push(result.physicalOffset),
      () => settled.push(-result.physicalOffset),
    );
    return promise;
  };
  return { asked, puts, put, settled };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('puts', () => {
  it('resolve in order, once a sync has passed their end', async () => {
    const { puts, put, settled } = setUp();
    const third = [put(), put(), put()][2];
    puts.synced(199);
    await turn();
    expect(settled).toEqual([0]);
    puts.synced(200);
    await turn();
    expect(settled).toEqual([0, 100]);
    puts.synced(1000);
    expect((await third)?.physicalOffset).toBe(200);
  });

  it('ask for one sync a turn, and hold the process as long as one waits', async () => {
    const { asked, puts, put } = setUp();
    put();
    put();
    await turn();
    put();
    await turn();
    expect(asked).toEqual(['ref', 'sync', 'sync']);
    puts.synced(200);
    expect(asked).toHaveLength(3);
    puts.synced(300);
    expect(asked).toEqual(['ref', 'sync', 'sync', 'unref']);
  });

  it('do not ask for what is on disk by then', async () => {
    const { asked, puts, put } = setUp();
    put();
    puts.synced(100);
    await turn();
    expect(asked).toEqual(['ref', 'unref']);
  });

  it('go on after they were empty', async () => {
    const { puts, put, settled } = setUp();
    put();
    puts.synced(100);
    put();
    puts.synced(200);
    await turn();
    expect(settled).toEqual([0, 100]);
    await puts.settled();
  });
});

describe('puts fail', () => {
  it('all of them, when a sync does', async () => {
    const { asked, puts, put, settled } = setUp();
    const waiting = [put(), put(), put()];
    puts.synced(100);
    const failure = new StoreError('STORE_SYNC_FAILED', 'A sync failed.');
    puts.failed(failure);
    const results = await Promise.allSettled(waiting);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(settled).toEqual([0, -100, -200]);
    await turn();
    expect(asked, 'nothing waits, so nothing is asked').toEqual(['ref', 'unref']);
    puts.synced(300);
    puts.failed(failure);
  });

  it('where too many bytes wait, and only as long', () => {
    const { puts, put } = setUp(250);
    for (let i = 0; i < 3; i++) {
      puts.refuseIfBusy();
      put();
    }
    const refusal = () => {
      try {
        puts.refuseIfBusy();
      } catch (error) {
        return isStoreError(error, 'STORE_BUSY') ? error.limit : error;
      }
      return 'accepted';
    };
    expect(refusal()).toBe(250);
    puts.synced(100);
    expect(refusal()).toBe('accepted');
  });

  it('leave nobody waiting who waits for their end', async () => {
    const { puts, put } = setUp();
    put().catch(() => {});
    const settled = puts.settled();
    let done = false;
    settled.then(() => {
      done = true;
    });
    await turn();
    expect(done).toBe(false);
    puts.failed(new Error('x'));
    await settled;
  });
});
