// Numbers over the last moments. Pure: time is a parameter, in milliseconds.

/** How much a second, over a sliding window. */
export class RateWindow {
  #window;
  #entries = [];
  #sum = 0;
  #first = null;

  constructor(windowMilliseconds = 2_000) {
    this.#window = windowMilliseconds;
  }

  add(amount, now) {
    this.#first ??= now;
    this.#entries.push([now, amount]);
    this.#sum += amount;
    this.#forget(now);
  }

  perSecond(now) {
    this.#forget(now);
    if (this.#first === null) return 0;
    // A beginning is not a slow one; half a second is the least that says something.
    const span = Math.max(500, Math.min(this.#window, now - this.#first));
    return (this.#sum * 1000) / span;
  }

  #forget(now) {
    let count = 0;
    while (count < this.#entries.length && now - this.#entries[count][0] > this.#window) this.#sum -= this.#entries[count++][1];
    if (count > 0) this.#entries.splice(0, count);
    if (this.#entries.length === 0) this.#sum = 0;
  }
}

/** The last `count` values of something, and their percentiles. */
export class Percentiles {
  #values = [];
  #count;
  #next = 0;

  constructor(count = 600) {
    this.#count = count;
  }

  add(value) {
    if (!Number.isFinite(value)) return;
    this.#values[this.#next] = value;
    this.#next = (this.#next + 1) % this.#count;
  }

  get size() {
    return this.#values.length;
  }

  get last() {
    return this.#values.at(this.#next === 0 ? -1 : this.#next - 1) ?? null;
  }

  /** By the nearest rank; null without values. */
  at(share) {
    if (this.#values.length === 0) return null;
    const sorted = Float64Array.from(this.#values).sort();
    return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
  }

  clear() {
    this.#values = [];
    this.#next = 0;
  }
}
