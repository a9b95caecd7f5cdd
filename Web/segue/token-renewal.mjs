/** Shows the relay a newer bearer token before the one that the session lives by ends (protocol 3.15): else the session ends with it. */

import { isObject, isText } from "./checks.mjs";
import { Timer } from "./timer.mjs";

/** So long before its end, or halfway to it where that is later. */
const LEAD_MILLISECONDS = 60_000;
/** Timers of machines hold no more than 2³¹ ms. */
const WAIT_MILLISECONDS_MAX = 24 * 3_600_000;
const AGAIN_MILLISECONDS = 10_000;

/** @param {string} token a JWT @returns {number | null} its end in milliseconds since 1970. Not verified: that is the relay's business */
export function expiry(token) {
  try {
    const claims = JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
    return isObject(claims) && Number.isFinite(claims.exp) ? claims.exp * 1_000 : null;
  } catch {
    return null;
  }
}

export class TokenRenewal {
  #timer;

  /**
   * @param {{setTimer: Function, clearTimer: Function, token: () => Promise<string|undefined>|string|undefined, tokenIsRenewable: boolean}} options
   * @param {() => number} now milliseconds since 1970 at the relay
   * @param {(token: string) => Promise<unknown>} authenticate
   */
  constructor(options, now, authenticate) {
    this.options = options;
    this.now = now;
    this.authenticate = authenticate;
    this.#timer = new Timer(options);
  }

  /** @param {unknown} token that was shown */
  shown(token) {
    this.#timer.clear();
    const end = isText(token) && this.options.tokenIsRenewable ? expiry(token) : null;
    if (end === null) return;
    const left = end - this.now();
    this.#wait(Math.max(left - LEAD_MILLISECONDS, left / 2, 0));
  }

  /** @param {number} milliseconds */
  #wait(milliseconds) {
    const now = Math.min(milliseconds, WAIT_MILLISECONDS_MAX);
    this.#timer.set(now, () => (now < milliseconds ? this.#wait(milliseconds - now) : void this.#renew()));
  }

  async #renew() {
    try {
      const token = await this.options.token();
      if (!isText(token)) return;
      await this.authenticate(token);
      this.shown(token);
    } catch (error) {
      // A token that cannot be had now may be later; of one that the relay refuses the next may be better. Without a connection there is nothing to renew.
      if (error?.code !== "not_connected" && error?.code !== "closed") this.#wait(AGAIN_MILLISECONDS);
    }
  }

  stop() {
    this.#timer.clear();
  }
}
