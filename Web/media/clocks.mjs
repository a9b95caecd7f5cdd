// Clocks and timestamps: how the clock of sound, of a camera, of the page and of the wire are brought together. Pure: no DOM, no clock of its own.
//
// Local time is milliseconds of performance.now(); a timestamp is ticks of a stream's timescale that wrap at 2³² (Sources/PROTOCOL.md, 4.1).

/** Milliseconds as wrapping ticks of a timescale. */
export function ticksOf(milliseconds, timescale) {
  return Math.round((milliseconds * timescale) / 1000) >>> 0;
}

/**
 * Maps another clock (of an AudioContext, of a camera) to local time. What is observed of the other clock comes late, never early, so the
 * least difference is the nearest to the truth; it is remembered for `windowMilliseconds`, so that clocks may drift.
 */
export class ClockMap {
  #window;
  #segment;
  #minima = []; // {from, offset}

  constructor({ windowMilliseconds = 10_000, segments = 10 } = {}) {
    this.#window = windowMilliseconds;
    this.#segment = windowMilliseconds / segments;
  }

  get isKnown() {
    return this.#minima.length > 0;
  }

  /** At the local time `local` the other clock showed `other`, or more; both milliseconds. */
  observe(other, local) {
    const offset = local - other;
    const last = this.#minima.at(-1);
    if (last && Math.abs(offset - last.offset) > 10_000) this.#minima.length = 0; // Another clock altogether.
    if (this.#minima.length > 0 && local - this.#minima.at(-1).from < this.#segment) {
      const current = this.#minima.at(-1);
      current.offset = Math.min(current.offset, offset);
    } else {
      this.#minima.push({ from: local, offset });
    }
    while (this.#minima.length > 1 && local - this.#minima[0].from > this.#window) this.#minima.shift();
  }

  toLocal(other) {
    let offset = Infinity;
    for (const minimum of this.#minima) offset = Math.min(offset, minimum.offset);
    return other + (Number.isFinite(offset) ? offset : 0);
  }

  reset() {
    this.#minima.length = 0;
  }
}

/**
 * The timestamps of what one page publishes. Sound and pictures count from one zero, as receivers expect that hold pictures to the sound; sound counts
 * samples, whose clock may drift from local time, and pictures follow that drift.
 */
export class PublisherTimeline {
  #epoch;
  #next = null; // of sound: unwrapped ticks
  #skew = 0;

  static audioTimescale = 48_000;
  static videoTimescale = 90_000;
  /** Sound that is further from where it should be goes on at another place: samples were lost, or the microphone is another one. */
  static jumpMilliseconds = 60;

  /** @param {number} epoch local time of the zero */
  constructor(epoch) {
    this.#epoch = epoch;
  }

  /** The timestamp of `sampleCount` samples at 48 kHz of which the first was captured at the local time `capturedAt`. */
  audio(capturedAt, sampleCount) {
    const expected = ((capturedAt - this.#epoch) * PublisherTimeline.audioTimescale) / 1000;
    const jump = (PublisherTimeline.jumpMilliseconds * PublisherTimeline.audioTimescale) / 1000;
    const isFirst = this.#next === null;
    const isDiscontinuity = !isFirst && Math.abs(expected - this.#next) > jump;
    if (isFirst || isDiscontinuity) {
      this.#next = Math.round(expected);
      this.#skew = 0;
    }
    const timestamp = this.#next;
    const skew = ((timestamp - expected) * 1000) / PublisherTimeline.audioTimescale;
    this.#skew += (skew - this.#skew) / 64;
    this.#next += sampleCount;
    return { timestamp: timestamp >>> 0, discontinuity: isDiscontinuity };
  }

  /** The timestamp of a picture that was captured at that local time. */
  video(capturedAt) {
    return ticksOf(capturedAt - this.#epoch + this.#skew, PublisherTimeline.videoTimescale);
  }

  /** What comes next of sound has nothing to do with what came before. */
  restartAudio() {
    this.#next = null;
  }
}
