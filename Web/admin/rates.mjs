/**
 * Rates from totals. The relay sends totals every two seconds; what a second brings is the difference of two, by the relay's own clock.
 */

/**
 * The change of a counter per second.
 * @param {number|undefined} before
 * @param {number|undefined} now
 * @param {number} seconds between the two
 * @returns {number|null} `null`: not known. A counter that fell was begun anew (a restart): not known either.
 */
export function rate(before, now, seconds) {
  if (!Number.isFinite(before) || !Number.isFinite(now) || !(seconds > 0) || now < before) return null;
  return (now - before) / seconds;
}

/**
 * Rates of counters by name. A name that was not there before counts from zero: the relay names a reason when it first happens.
 * @param {Record<string, number>} before
 * @param {Record<string, number>} now
 * @returns {Record<string, number|null>} of the names in `now`
 */
export function ratesByName(before, now, seconds) {
  const rates = {};
  for (const name of Object.keys(now ?? {})) rates[name] = rate(before?.[name] ?? 0, now[name], seconds);
  return rates;
}

/** The sum of a table of counters. */
export function total(counters) {
  return Object.values(counters ?? {}).reduce((sum, value) => sum + (Number.isFinite(value) ? value : 0), 0);
}

/** `part` of `whole`; 0 of nothing. @returns {number|null} */
export function shareOf(part, whole) {
  if (!Number.isFinite(part) || !Number.isFinite(whole)) return null;
  return whole > 0 ? part / whole : 0;
}

/**
 * The last values of one quantity, oldest first. `null` is a moment about which nothing is known: lines are broken there.
 */
export class Series {
  #values = [];
  #capacity;

  /** @param {number} capacity values kept */
  constructor(capacity = 150) {
    this.#capacity = capacity;
  }

  push(value) {
    this.#values.push(Number.isFinite(value) ? value : null);
    if (this.#values.length > this.#capacity) this.#values.shift();
  }

  get values() {
    return this.#values;
  }

  get last() {
    return this.#values.at(-1) ?? null;
  }

  /** The largest and least known value; `null` of none. */
  get range() {
    const known = this.#values.filter((value) => value !== null);
    return known.length === 0 ? null : { least: Math.min(...known), most: Math.max(...known) };
  }
}

/** Two overviews further apart than this do not join to a line: the page was hidden, or the relay away. */
export const GAP_SECONDS = 10;

/**
 * What happens between two overviews of `GET /v1/live`.
 * @returns {{seconds: number, gap: boolean, restarted: boolean, framesIn, framesDelivered, bytes, dropped: Record<string, number|null>,
 *   droppedTotal, droppedShare, closes: Record<string, number|null>, closesTotal, loops: Map<number, {iterations, slow, slowShare}>}|null}
 *   Rates per second; `null` without an earlier one.
 */
export function between(before, now) {
  if (!before || !now) return null;
  const seconds = (now.time - before.time) / 1000;
  const restarted = now.uptimeSeconds < before.uptimeSeconds || now.node !== before.node;
  if (!(seconds > 0)) return null;
  const usable = restarted ? NaN : seconds;
  const frames = now.frames ?? {};
  const earlier = before.frames ?? {};
  const dropped = ratesByName(earlier.dropped, frames.dropped, usable);
  const closes = ratesByName(before.closes, now.closes, usable);
  const delivered = rate(earlier.delivered, frames.delivered, usable);
  const droppedTotal = restarted ? null : total(dropped);
  return {
    seconds,
    gap: seconds > GAP_SECONDS,
    restarted,
    framesIn: rate(earlier.in, frames.in, usable),
    framesDelivered: delivered,
    bytes: rate(earlier.bytes, frames.bytes, usable),
    dropped,
    droppedTotal,
    droppedShare: delivered === null || droppedTotal === null ? null : shareOf(droppedTotal, droppedTotal + delivered),
    closes,
    closesTotal: restarted ? null : total(closes),
    loops: loopRates(before.loops, now.loops, usable),
  };
}

function loopRates(before, now, seconds) {
  const earlier = new Map((before ?? []).map((loop) => [loop.loop, loop]));
  return new Map(
    (now ?? []).map((loop) => {
      const iterations = rate(earlier.get(loop.loop)?.iterations, loop.iterations, seconds);
      const slow = rate(earlier.get(loop.loop)?.slowIterations, loop.slowIterations, seconds);
      return [loop.loop, { iterations, slow, slowShare: slow === null || iterations === null ? null : shareOf(slow, iterations) }];
    }),
  );
}
