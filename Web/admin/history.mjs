/**
 * The overviews of the last minutes as series, which the sparklines draw.
 */

import { between, Series } from "./rates.mjs";

/** Reasons that are kept apart at most; a relay has some dozens. */
const NAMES_MAX = 128;

export class History {
  #before = null;
  #capacity;
  #series = new Map();
  #pushed = 0;
  /** What happened between the last two overviews (`between`), or null. */
  change = null;

  /** @param {number} capacity overviews; 150 are five minutes */
  constructor(capacity = 150) {
    this.#capacity = capacity;
  }

  /** Takes an overview of `GET /v1/live`. */
  take(overview) {
    const change = between(this.#before, overview);
    this.#before = overview;
    this.change = change?.gap ? null : change;
    const values = new Map([
      ["cpuShare", overview.cpuShare],
      ["residentBytes", overview.residentBytes],
      ["connections", overview.connections],
      ["participants", overview.participants],
    ]);
    for (const loop of overview.loops ?? []) values.set(`busy:${loop.loop}`, loop.busyShare);
    if (change) {
      for (const name of ["framesIn", "framesDelivered", "bytes", "droppedShare", "closesTotal"]) values.set(name, change[name]);
      for (const [reason, value] of Object.entries(change.dropped)) values.set(`dropped:${reason}`, value);
      for (const [reason, value] of Object.entries(change.closes)) values.set(`closes:${reason}`, value);
      for (const [loop, value] of change.loops) values.set(`slow:${loop}`, value.slow);
    }
    if (change?.gap) this.#advance(new Map());
    this.#advance(values, change?.gap);
  }

  /** One moment further; series without a value in it get a hole. */
  #advance(values, afterGap = false) {
    for (const name of values.keys()) {
      if (this.#series.has(name) || this.#series.size >= NAMES_MAX) continue;
      const fresh = new Series(this.#capacity);
      for (let moment = 0; moment < Math.min(this.#pushed, this.#capacity); moment += 1) fresh.push(null);
      this.#series.set(name, fresh);
    }
    for (const [name, series] of this.#series) {
      // What was averaged over a gap says nothing of the last two seconds.
      const averaged = afterGap && !INSTANTANEOUS.test(name);
      series.push(averaged ? null : values.get(name));
    }
    this.#pushed += 1;
  }

  /** @returns {Series} empty when nothing of that name was told yet */
  series(name) {
    return this.#series.get(name) ?? EMPTY;
  }
}

const INSTANTANEOUS = /^(cpuShare|residentBytes|connections|participants|busy:.*)$/;
const EMPTY = new Series(0);
