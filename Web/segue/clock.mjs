/**
 * The relay's clock as seen from here, by exchanges of `time` (protocol 3.3).
 *
 * Of the last exchanges the one with the shortest round trip decides (RFC 5905 §10 does alike): its error is at most half of that round trip. Older ones
 * count for less, by what two clocks may drift apart meanwhile.
 */

const SAMPLES_MAX = 16;
/** What two quartz clocks drift apart at worst. */
const DRIFT = 100e-6;
/** How much of a new round trip the smoothed one takes on (RFC 6298 §2). */
const SMOOTHING = 1 / 8;

export class ServerClock {
  /** @type {{roundTrip: number, offset: number, at: number}[]} */
  #samples = [];
  #smoothed = null;
  #offset = null;

  /** The last exchange, to be sent with the next. @type {{clientTime: number, serverTime: number, received: number} | null} */
  last = null;

  /** Of the newest exchanges, in milliseconds; null before the first. @returns {number|null} */
  get roundTripMilliseconds() {
    return this.#smoothed;
  }

  /** How far the relay's clock is ahead of ours, in milliseconds; null before the first exchange. @returns {number|null} */
  get offsetMilliseconds() {
    return this.#offset;
  }

  get samples() {
    return this.#samples.length;
  }

  /**
   * @param {number} clientTime our clock when we asked, milliseconds
   * @param {number} serverTime the answer, milliseconds since 1970
   * @param {number} received our clock when the answer came
   * @returns {boolean} whether it was of use
   */
  add(clientTime, serverTime, received) {
    if (![clientTime, serverTime, received].every(Number.isFinite) || received < clientTime || Math.abs(serverTime) > 1e15) return false;
    const roundTrip = received - clientTime;
    this.last = { clientTime, serverTime, received };
    this.#smoothed = this.#smoothed === null ? roundTrip : this.#smoothed + SMOOTHING * (roundTrip - this.#smoothed);
    this.#samples.push({ roundTrip, offset: serverTime - (clientTime + received) / 2, at: received });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    const doubt = (sample) => sample.roundTrip / 2 + (received - sample.at) * DRIFT;
    this.#offset = this.#samples.reduce((best, sample) => (doubt(sample) <= doubt(best) ? sample : best)).offset;
    return true;
  }

  /** A `welcome` says the time too, if only roughly: better than nothing until the first exchange. @param {number} serverTime @param {number} now */
  guess(serverTime, now) {
    if (this.#offset === null && Number.isFinite(serverTime)) this.#offset = serverTime - now;
  }

  /** Another relay has another clock. */
  reset() {
    this.#samples = [];
    this.#smoothed = this.#offset = this.last = null;
  }
}
