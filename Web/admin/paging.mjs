/**
 * Lists that come in parts (PROTOCOL.md 10.2): `next` in an answer is `after` of the part behind it. There is no way back but to remember what was asked.
 */

/** The path of one part. `after` is null for the first. */
export function pagePath(path, { after = null, limit = 50 } = {}) {
  const query = new URLSearchParams({ limit: String(limit) });
  if (after !== null) query.set("after", after);
  return `${path}?${query}`;
}

/** Where in a list one is. Nothing in it changes; each step gives another. */
export class Pages {
  /** @type {Array<string|null>} the `after` of each part up to the shown one */
  #trail;
  #next;

  constructor(trail = [null], next = null) {
    this.#trail = trail;
    this.#next = next;
  }

  /** `after` of the part that is shown. */
  get after() {
    return this.#trail.at(-1);
  }

  /** From 1. */
  get number() {
    return this.#trail.length;
  }

  get hasNext() {
    return this.#next !== null;
  }

  get hasPrevious() {
    return this.#trail.length > 1;
  }

  /** The same place, once its answer told what is behind it. */
  answered(next) {
    return new Pages(this.#trail, next ?? null);
  }

  forward() {
    return this.hasNext ? new Pages([...this.#trail, this.#next]) : this;
  }

  back() {
    return this.hasPrevious ? new Pages(this.#trail.slice(0, -1)) : this;
  }
}
