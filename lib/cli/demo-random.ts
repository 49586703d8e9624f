/** Numbers that look random and depend on (seed, index) alone, so that two processes draw the same. */
export class Random {
  #state: number;

  constructor(seed: number, index: number) {
    // Seeds go beyond 32 bits; so does an index.
    const mixed = mix(mix(seed) ^ mix(seed / 2 ** 32)) ^ index;
    this.#state = mix(mix(mixed) ^ (index / 2 ** 32));
  }

  /** From 0 on, below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below `end`; the higher `skew` above 1, the more often a low one. */
  below(end: number, skew = 1): number {
    return Math.floor(end * this.next() ** skew);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return x ^ (x >>> 15);
}
