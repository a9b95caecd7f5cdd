/**
 * How long to wait before the next try: longer each time, and by chance not exactly as long as everybody else.
 */

/**
 * @param {number} failures in a row, from 1
 * @param {() => number} random 0 to 1
 * @returns {number} milliseconds: between half and all of `base` · 2^(failures − 1), `most` at most
 */
export function backoff(failures, random, { base = 2000, most = 60_000 } = {}) {
  const whole = Math.min(most, base * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return Math.round(whole * (0.5 + 0.5 * random()));
}
