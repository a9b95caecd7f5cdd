/**
 * How long to wait before each try to connect: longer each time, and by chance (full jitter), so that those who lost their relay together do not come back
 * together.
 */

export class Backoff {
  #tries = 0;

  /** @param {{random: () => number, baseMilliseconds?: number, capMilliseconds?: number}} options */
  constructor({ random, baseMilliseconds = 250, capMilliseconds = 10_000 }) {
    this.random = random;
    this.baseMilliseconds = baseMilliseconds;
    this.capMilliseconds = capMilliseconds;
  }

  get tries() {
    return this.#tries;
  }

  /** @returns {number} milliseconds, from 0 to the bound that doubles with each try up to the cap */
  next() {
    const bound = Math.min(this.capMilliseconds, this.baseMilliseconds * 2 ** Math.min(this.#tries, 30));
    this.#tries += 1;
    return Math.min(1, Math.max(0, this.random())) * bound;
  }

  reset() {
    this.#tries = 0;
  }
}
