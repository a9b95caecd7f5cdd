/** What the page's modules get from a browser, in the hands of a test: time, visibility, event sources, answers. */

export class Clock {
  now = 0;
  #timers = new Map();
  #last = 0;

  setTimer = (f, milliseconds) => {
    this.#last += 1;
    this.#timers.set(this.#last, { f, at: this.now + milliseconds });
    return this.#last;
  };

  clearTimer = (timer) => this.#timers.delete(timer);

  get waiting() {
    return [...this.#timers.values()].map((timer) => timer.at - this.now).sort((one, other) => one - other);
  }

  /** Lets time pass, and what is due happen. */
  async pass(milliseconds) {
    await settle();
    const end = this.now + milliseconds;
    for (;;) {
      const [key, due] = [...this.#timers].filter(([, timer]) => timer.at <= end).sort((one, other) => one[1].at - other[1].at)[0] ?? [];
      if (key === undefined) break;
      this.#timers.delete(key);
      this.now = due.at;
      due.f();
      await settle();
    }
    this.now = end;
    await settle();
  }
}

/** Lets promises that are kept already have their say. */
export async function settle() {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

export class Page extends EventTarget {
  hidden = false;

  turn(hidden) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

/** A constructor of event sources that keeps them. */
export function eventSources() {
  const made = [];
  class Source extends EventTarget {
    readyState = 0;

    constructor(url) {
      super();
      this.url = url;
      made.push(this);
    }

    tell(data) {
      this.readyState = 1;
      this.dispatchEvent(Object.assign(new Event("overview"), { data: typeof data === "string" ? data : JSON.stringify(data) }));
    }

    /** @param {boolean} forGood refused by a status; else the connection was lost, and a browser would try again by itself */
    fail(forGood) {
      this.readyState = forGood ? 2 : 0;
      this.dispatchEvent(new Event("error"));
    }

    close() {
      this.readyState = 2;
      this.closed = true;
    }
  }
  return { Source, made, open: () => made.filter((source) => !source.closed) };
}
