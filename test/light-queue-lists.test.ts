// How a message's light queues reach native, seen by a stand-in that notes what it is told.
import { describe, expect, it } from 'vitest';
import { Arranger } from '../lib/arrange.ts';
import { type MessageStoreOptions, resolveConfig } from '../lib/config.ts';
import { isStoreError } from '../lib/errors.ts';
import type { Message } from '../lib/message.ts';
import { type NativeStore, OUT_STATUS } from '../lib/native.ts';
import { namesOf, Plans } from '../lib/plans.ts';
import { PropertyWriter } from '../lib/property-writer.ts';

interface Told {
  readonly slot: number;
  readonly list: string;
  readonly count: number;
  readonly written: boolean;
}

function noting(): { told: Told[]; plans: Plans } {
  const told: Told[] = [];
  const out = new Float64Array(1);
  const plan = (slot: number, list: string, count: number, written: boolean) => {
    told.push({ slot, list, count, written });
    out[OUT_STATUS] = list.includes('refused') ? 1 : 0;
  };
  const lastError = () => ({ code: 'STORE_NO_MEMORY', message: 'refused', hint: '' });
  return { told, plans: new Plans({ out, plan, lastError } as unknown as NativeStore) };
}

function codeOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return isStoreError(error) ? `${error.constructor.name} ${error.code}` : error;
  }
  return 'accepted';
}

const shown = (text: string | Uint8Array) =>
  String(text).replaceAll('\x01', '=').replaceAll('\x02', ';');

describe('a list of names', () => {
  it('is told to native once, by full names', () => {
    const { told, plans } = noting();
    const plan = plans.ofNames(['a', '%LMQ%b'], false);
    expect(plans.ofNames(['a', '%LMQ%b'], false)).toBe(plan);
    expect(told).toEqual([{ slot: plan.slot, list: '%LMQ%a,%LMQ%b', count: 2, written: true }]);
    expect(plan.queues).toEqual(['%LMQ%a', '%LMQ%b']);
  });

  it('is found by its elements, not by how they look joined or by which array they are in', () => {
    const { told, plans } = noting();
    const names = ['a', 'b'];
    const plan = plans.ofNames(names, false);
    names[1] = 'c';
    expect(plans.ofNames(names, false).list).toBe('%LMQ%a,%LMQ%c');
    expect(plans.ofNames(['a', 'b'], false)).toBe(plan);
    expect(plans.ofNames(['b', 'a'], false)).not.toBe(plan);
    expect(plans.ofNames(['a', 'b', 'b'], false)).not.toBe(plan);
    expect(plans.ofList('a,b'), 'no light queues').not.toBe(plan);
    expect(plans.ofNames(['a', 'b'], true), 'written by the caller').not.toBe(plan);
    expect(told).toHaveLength(6);
  });

  it('keeps its slot only until another list takes it: no list is ever taken for another', () => {
    const { told, plans } = noting();
    const slots = new Map<number, string>();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 20_000; i++) {
        const before = told.length;
        const plan = plans.ofNames([`user-${i}-x`, 'everybody', `${i % 7}`], false);
        const list = `%LMQ%user-${i}-x,%LMQ%everybody,%LMQ%${i % 7}`;
        expect(plan.list === list && plan.slot >= 0 && plan.slot < 4096).toBe(true);
        if (told.length > before) slots.set(plan.slot, list);
        else if (slots.get(plan.slot) !== list) expect.fail(`slot ${plan.slot} holds another list`);
      }
    }
    expect(slots.size, 'slots in use').toBeGreaterThan(2000);
  });

  it('that native refuses is told again, and what its slot held as well', () => {
    const { told, plans } = noting();
    for (let i = 0; i < 3; i++) expect(() => plans.ofNames(['refused'], false)).toThrow('refused');
    expect(told).toHaveLength(3);
  });

  it('is refused whole for one bad name, before native hears of it', () => {
    const { told, plans } = noting();
    for (const name of ['', 'a,b', 'a/b', '..', '\0', 'n'.repeat(251), 'a\ud800']) {
      expect(codeOf(() => plans.ofNames(['good', name], false))).toBe(
        'RangeError STORE_INVALID_LMQ_NAME',
      );
    }
    for (const name of [null, undefined, 5, {}, ['a']]) {
      expect(codeOf(() => plans.ofNames(['good', name as never, 'x'], false))).toBe(
        'TypeError STORE_INVALID_LMQ_NAME',
      );
    }
    expect(codeOf(() => plans.ofNames(new Array(3), false))).toMatch(/^TypeError/);
    expect(told).toEqual([]);
  });

  it('is an array; an empty one names nothing', () => {
    expect(namesOf([])).toBeUndefined();
    expect(namesOf(undefined)).toBeUndefined();
    for (const lmq of [null, 'a', 5, {}, new Set(['a'])]) {
      expect(codeOf(() => namesOf(lmq))).toBe('TypeError STORE_INVALID_LMQ_NAME');
    }
  });
});

describe("a list in Java's form", () => {
  it('goes to native by its parts, those that are no light queues too', () => {
    const { told, plans } = noting();
    const lists = ['%LMQ%a,%LMQ%b', '%LMQ%b,a', ',%LMQ%b', '%LMQ%a,,%LMQ%b', '%LMQ%a,,', ',', 'a'];
    const queues = lists.map((list) => plans.ofList(list).queues.join('+'));
    expect(queues).toEqual([
      '%LMQ%a+%LMQ%b',
      '%LMQ%b',
      '%LMQ%b',
      '%LMQ%a+%LMQ%b',
      '%LMQ%a',
      '',
      '',
    ]);
    expect(told.map(({ list, count }) => `${list} ${count}`)).toEqual([
      '%LMQ%a,%LMQ%b 2',
      '%LMQ%b,a 2',
      ',%LMQ%b 2',
      '%LMQ%a,,%LMQ%b 3',
      '%LMQ%a 1',
      ' 0',
      'a 1',
    ]);
    expect(told.some(({ written }) => written)).toBe(false);
  });

  it('is refused where a light queue in it has an unsafe name', () => {
    const { plans } = noting();
    for (const list of ['%LMQ%', '%LMQ%a,%LMQ%', '%LMQ%a/b', '%LMQ%..', '%LMQ%\n']) {
      expect(codeOf(() => plans.ofList(list))).toBe('RangeError STORE_INVALID_LMQ_NAME');
    }
    expect(plans.ofList('a/b,..').queues, 'no light queues, so nothing to refuse').toEqual([]);
  });
});

describe('properties and light queues together', () => {
  function arrange(
    message: Partial<Message>,
    options: Partial<MessageStoreOptions> = {},
    queued = true,
  ) {
    const config = resolveConfig({ path: '/data', ...options }, false);
    const whole = { topic: 't', body: '', ...message };
    const writer = new PropertyWriter(new Uint8Array(128 * 1024));
    if (message.rawProperties === undefined) writer.write(whole, 0);
    const arranger = new Arranger(config, noting().plans);
    const { head, tail, plan } = arranger.arrange(whole, writer, namesOf(whole.lmq), queued);
    return `${shown(head)}|${shown(tail)} ${plan ? plan.list : '-'}`;
  }
  const raw = (form: string) => ({
    rawProperties: form.replaceAll('=', '\x01').replaceAll(';', '\x02'),
  });

  it('leave the names to native, behind the rest', () => {
    expect(arrange({ tags: 'T', lmq: ['a'] })).toBe('TAGS=T;| %LMQ%a');
    expect(arrange({ ...raw('x=y'), lmq: ['a'] })).toBe('x=y;| %LMQ%a');
  });

  it("take a list in Java's form where it stands, among properties or in stored form", () => {
    const properties = { INNER_MULTI_DISPATCH: '%LMQ%a,,', x: 'y' };
    expect(arrange({ properties })).toBe('INNER_MULTI_DISPATCH=%LMQ%a,,;x=y;| %LMQ%a');
    expect(arrange(raw('INNER_MULTI_DISPATCH=%LMQ%a;x=y'))).toBe(
      'INNER_MULTI_DISPATCH=%LMQ%a;x=y;| %LMQ%a',
    );
    const twice = 'INNER_MULTI_DISPATCH=%LMQ%a;INNER_MULTI_DISPATCH=%LMQ%b;';
    expect(arrange(raw(twice)), 'Java sees the last').toBe(`${twice}| %LMQ%b`);
  });

  it('drop offsets that came along with a list, keep them where there is none', () => {
    expect(arrange(raw('INNER_MULTI_QUEUE_OFFSET=77;INNER_MULTI_DISPATCH=%LMQ%a;'))).toBe(
      'INNER_MULTI_DISPATCH=%LMQ%a;| %LMQ%a',
    );
    expect(arrange(raw('INNER_MULTI_QUEUE_OFFSET=5;TAGS=x;'))).toBe(
      'INNER_MULTI_QUEUE_OFFSET=5;TAGS=x;| -',
    );
  });

  it('name queues that the message does not go to, without offsets', () => {
    expect(arrange({ tags: 'T', lmq: ['a', 'b'] }, {}, false)).toBe(
      'TAGS=T;INNER_MULTI_DISPATCH=%LMQ%a,%LMQ%b;| -',
    );
    const given = raw('INNER_MULTI_DISPATCH=%LMQ%a;INNER_MULTI_QUEUE_OFFSET=3;');
    expect(arrange(given, {}, false)).toBe('INNER_MULTI_DISPATCH=%LMQ%a;| -');
    expect(arrange(given, { enableLmq: false })).toBe('INNER_MULTI_DISPATCH=%LMQ%a;| -');
  });

  it('are an ordinary message where the list is blank', () => {
    expect(arrange({ properties: { INNER_MULTI_DISPATCH: '   ' } })).toBe(
      'INNER_MULTI_DISPATCH=   ;| -',
    );
    expect(arrange(raw('INNER_MULTI_DISPATCH=;'))).toBe('INNER_MULTI_DISPATCH=;| -');
    expect(arrange({ lmq: [] })).toBe('| -');
  });

  it("stand in a broker's order if asked, and only with light queues", () => {
    const options = { propertyOrder: 'rocketmq' } as const;
    expect(arrange({ tags: 'T', keys: 'K', lmq: ['a'] }, options)).toBe(
      '|TAGS=T;KEYS=K;INNER_MULTI_DISPATCH=%LMQ%a; %LMQ%a',
    );
    expect(arrange({ tags: 'T', keys: 'K' }, options)).toBe('KEYS=K;TAGS=T;| -');
    expect(arrange({ keys: 'K', tags: 'T', lmq: ['a'] }, options, false)).toBe(
      'KEYS=K;TAGS=T;INNER_MULTI_DISPATCH=%LMQ%a;| -',
    );
  });

  it('are refused in a broker’s order with separators inside, which parsing would swallow', () => {
    const options = { propertyOrder: 'rocketmq' } as const;
    for (const value of ['x\x02y', 'x\x01y', 'x\x02y\x01z']) {
      const message = { properties: { a: value }, lmq: ['q'] };
      expect(codeOf(() => arrange(message, options))).toBe('RangeError STORE_INVALID_PROPERTY');
    }
  });

  it('are refused where two say the same', () => {
    const twoLists = { properties: { INNER_MULTI_DISPATCH: 'x' }, lmq: ['a'] };
    expect(codeOf(() => arrange(twoLists))).toBe('RangeError STORE_INVALID_MESSAGE');
    expect(codeOf(() => arrange({ ...raw('INNER_MULTI_DISPATCH=x;'), lmq: ['a'] }))).toMatch(
      /Range/,
    );
    for (const field of [{ tags: 'a' }, { keys: 'a' }, { properties: {} }]) {
      expect(codeOf(() => arrange({ ...raw('a=b;'), ...field }))).toBe(
        'RangeError STORE_INVALID_MESSAGE',
      );
    }
  });

  it('are refused where light queues are off, or properties cannot be searched', () => {
    expect(codeOf(() => arrange({ lmq: ['a'] }, { enableLmq: false }))).toMatch(/INVALID_MESSAGE/);
    expect(codeOf(() => arrange({ lmq: ['a'] }, { enableMultiDispatch: false }))).toMatch(
      /MESSAGE/,
    );
    const bytes = Buffer.from('INNER_MULTI_DISPATCH\x01\xff\x02', 'latin1');
    expect(codeOf(() => arrange({ rawProperties: bytes }))).toBe(
      'RangeError STORE_INVALID_PROPERTY',
    );
    const noText = Buffer.from('a\x01\xff\x02', 'latin1');
    expect(codeOf(() => arrange({ rawProperties: noText, lmq: ['a'] }))).toMatch(/PROPERTY/);
    expect(codeOf(() => arrange({ rawProperties: noText }))).toBe('accepted');
  });

  it('have an incoming checksum taken out', () => {
    expect(arrange(raw('__CRC32#=12345;a=b;'))).toBe('a=b;| -');
    expect(arrange(raw('__CRC32#=12345;a=b;'), { enabledAppendPropCRC: false })).toBe(
      '__CRC32#=12345;a=b;| -',
    );
  });
});
