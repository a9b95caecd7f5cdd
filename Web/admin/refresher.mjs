/**
 * Asks again while somebody looks: one request at a time, two seconds from its answer to the next, none while the page is hidden, growing pauses
 * after failures.
 */

import { backoff } from "./backoff.mjs";

export const REFRESH_MILLISECONDS_MIN = 2000;

export class Refresher {
  #load;
  #show;
  #fail;
  #page;
  #random;
  #setTimer;
  #clearTimer;
  #timer = null;
  #abort = null;
  #failures = 0;
  #running = false;
  #onVisibility = () => this.#visibilityChanged();

  /**
   * @param {{load: (signal: AbortSignal) => Promise<unknown>, show: (answer: unknown) => void, fail: (error: Error, retryMilliseconds: number|null) => void,
   *   page: EventTarget & {hidden: boolean}, random?: () => number, setTimer?: (f: () => void, ms: number) => unknown,
   *   clearTimer?: (timer: unknown) => void}} options
   *   `fail` hears null when it will not be tried again: the answer would be the same (`isFinal`).
   */
  constructor({ load, show, fail, page, random = Math.random, setTimer, clearTimer }) {
    this.#load = load;
    this.#show = show;
    this.#fail = fail;
    this.#page = page;
    this.#random = random;
    this.#setTimer = setTimer ?? ((f, ms) => setTimeout(f, ms));
    this.#clearTimer = clearTimer ?? ((timer) => clearTimeout(timer));
  }

  start() {
    if (this.#running) return;
    this.#running = true;
    this.#page.addEventListener("visibilitychange", this.#onVisibility);
    if (!this.#page.hidden) this.refresh();
  }

  stop() {
    this.#running = false;
    this.#page.removeEventListener("visibilitychange", this.#onVisibility);
    this.#cease();
  }

  /** At once: somebody turned a page, or did something whose effect is to be seen. What is under way is given up. */
  refresh() {
    if (!this.#running) return;
    this.#cease();
    this.#run();
  }

  async #run() {
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const answer = await this.#load(abort.signal);
      if (abort.signal.aborted) return;
      this.#failures = 0;
      this.#next(REFRESH_MILLISECONDS_MIN);
      this.#show(answer);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#failures += 1;
      const pause = error.isFinal ? null : backoff(this.#failures, this.#random, { base: REFRESH_MILLISECONDS_MIN });
      if (pause !== null) this.#next(pause);
      this.#fail(error, pause);
    }
  }

  #next(pause) {
    this.#abort = null;
    this.#timer = this.#setTimer(() => this.#run(), pause);
  }

  #cease() {
    this.#clearTimer(this.#timer);
    this.#timer = null;
    this.#abort?.abort();
    this.#abort = null;
  }

  #visibilityChanged() {
    if (this.#page.hidden) this.#cease();
    else this.refresh();
  }
}
