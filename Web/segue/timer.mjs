/** Small things that wait: one timer at a time, and a promise that somebody else keeps. */

export class Timer {
  #timer = null;

  /** @param {{setTimer: Function, clearTimer: Function}} options */
  constructor(options) {
    this.options = options;
  }

  get isRunning() {
    return this.#timer !== null;
  }

  /** In place of what was set before. @param {number} milliseconds @param {() => void} callback */
  set(milliseconds, callback) {
    this.clear();
    this.#timer = this.options.setTimer(() => {
      this.#timer = null;
      callback();
    }, milliseconds);
  }

  clear() {
    if (this.#timer !== null) this.options.clearTimer(this.#timer);
    this.#timer = null;
  }
}

/** A promise of which there is one at most, however many ask for it; nobody has to look at it. */
export class Wish {
  /** @type {{promise: Promise<any>, resolve: Function, reject: Function} | null} */ #open = null;

  /** @returns {Promise<any> | null} */
  get promise() {
    return this.#open?.promise ?? null;
  }

  /** @returns {Promise<any>} */
  make() {
    if (this.#open) return this.#open.promise;
    const open = /** @type {any} */ ({});
    open.promise = new Promise((resolve, reject) => Object.assign(open, { resolve, reject }));
    open.promise.catch(() => {});
    this.#open = open;
    return open.promise;
  }

  /** @param {unknown} value */
  resolve(value) {
    this.#open?.resolve(value);
    this.#open = null;
  }

  /** @param {Error} error */
  reject(error) {
    this.#open?.reject(error);
    this.#open = null;
  }
}
