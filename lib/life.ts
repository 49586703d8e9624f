/** Keeps the process alive while anything holds it: pending puts, flushes, waiting followers. */
export class Life {
  readonly #target: { ref(): void; unref(): void };
  #holds = 0;

  constructor(target: { ref(): void; unref(): void }) {
    this.#target = target;
  }

  hold(): void {
    if (this.#holds++ === 0) this.#target.ref();
  }

  release(): void {
    if (--this.#holds === 0) this.#target.unref();
  }
}
