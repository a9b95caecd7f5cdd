// Which encodings a picture is sent in (Sources/PROTOCOL.md, 5.6), and which of them somebody wants. Pure.

/** Layers of more lines are large: a machine that lags encodes them in half their size. */
export const smallLinesMax = 360;

/** Heights of a camera's layers, lowest first, and bits a second that a pixel of them is worth at 30 pictures a second. */
const heights = [180, 360, 720];
const bitsPerPixel = { 180: 0.09, 360: 0.075, 720: 0.05 };

const even = (value) => Math.max(2, Math.round(value / 2) * 2);

function bitrateOf(width, height, frameRate, perPixel) {
  return Math.round((width * height * Math.min(frameRate, 30) * perPixel) / 10_000) * 10_000 || 30_000;
}

/**
 * The layers of a source. A camera's are a quarter, half and all of 720 lines, as far as it has them; its own size is the highest below that. A screen
 * has one, of at most 1080 lines.
 *
 * @param {{source: "camera"|"screen", width: number, height: number, frameRate?: number, temporalLayers?: number}} options
 * @returns {{width: number, height: number, frameRate: number, bitrate: number, temporalLayers: number}[]} lowest first; sizes are even numbers
 */
export function layersFor({ source, width, height, frameRate = 30, temporalLayers = 1 }) {
  if (source === "screen") {
    const scale = Math.min(1, 1080 / Math.min(width, height));
    const size = { width: even(width * scale), height: even(height * scale) };
    const bitrate = Math.max(300_000, Math.min(2_500_000, bitrateOf(size.width, size.height, 15, 0.05)));
    return [{ ...size, frameRate: Math.min(frameRate, 15), bitrate, temporalLayers }];
  }
  // Upright cameras are measured by their shorter side.
  const lines = Math.min(width, height);
  const wanted = heights.filter((each) => each <= lines);
  // A camera between two of them: its own size besides when it is much larger than the nearest below. (640 × 480 is scaled down to 480 × 360.)
  const top = wanted.at(-1) ?? 0;
  if (lines < heights.at(-1) && lines >= top * 1.5) wanted.push(lines);
  return wanted.map((each) => {
    const scale = each / lines;
    const size = { width: even(width * scale), height: even(height * scale) };
    const nearest = heights.findLast((one) => one <= each) ?? heights[0];
    return { ...size, frameRate, bitrate: bitrateOf(size.width, size.height, frameRate, bitsPerPixel[nearest]), temporalLayers };
  });
}

/** How many temporal layers a scalability mode of one spatial layer has (`L1T3`: 3); 1 without one. */
export function temporalLayersOf(scalabilityMode) {
  const match = /^L1T([1-8])$/.exec(scalabilityMode ?? "");
  return match ? Number(match[1]) : 1;
}

/** The mode with the most temporal layers of those that an encoder takes; undefined when it takes none. */
export function bestScalabilityMode(modes) {
  return ["L1T3", "L1T2"].find((mode) => modes.includes(mode));
}

/**
 * What subscribers want of a stream (`layers.wanted`), and which layers must begin with a key frame. Before anything was said, everything is wanted.
 */
export class WantedLayers {
  #count;
  #wanted = null; // spatial layer → highest temporal layer
  #mustBegin = new Set();

  constructor(count) {
    this.#count = count;
    this.reset();
  }

  /** As at the beginning. */
  reset() {
    this.#wanted = null;
    this.requestKey();
  }

  /** @param {{spatial: number, temporal: number}[]} layers as the event has them */
  update(layers) {
    const before = this.#wanted;
    this.#wanted = new Map(layers.map(({ spatial, temporal }) => [spatial, temporal ?? 7]));
    for (let layer = 0; layer < this.#count; layer++) {
      const was = before === null || before.has(layer);
      if (!was && this.#wanted.has(layer)) this.#mustBegin.add(layer);
    }
  }

  isWanted(layer) {
    return this.#wanted === null || this.#wanted.has(layer);
  }

  /** The highest temporal layer that somebody gets of a spatial layer. */
  temporal(layer) {
    return this.#wanted === null ? 7 : (this.#wanted.get(layer) ?? -1);
  }

  /** Somebody needs a key frame of this layer; of all when none is named. */
  requestKey(layer) {
    if (layer === undefined || layer === null) for (let each = 0; each < this.#count; each++) this.#mustBegin.add(each);
    else if (layer < this.#count) this.#mustBegin.add(layer);
  }

  /** Whether the next picture of the layer must be a key frame. */
  needsKey(layer) {
    return this.#mustBegin.has(layer);
  }

  /** A key frame of the layer is in the encoder. */
  keyed(layer) {
    this.#mustBegin.delete(layer);
  }
}

/**
 * What is left out when the machine does not keep up, or the connection does not take what is sent: a camera's large layers are scaled down, then every second
 * picture goes, then two of three; of a screen, which is to be read, only pictures. Step by step while it lasts, and back one step at a time, later each time that a
 * step back was too much. A camera begins small, and grows when there was room for a while. Sound is never left out.
 */
export class LoadControl {
  #step = 0;
  #changedAt = -Infinity;
  #strainedAt = -Infinity;
  #begunAt = null;
  #patience = LoadControl.patienceMillisecondsMin;

  /** Bytes that wait in the socket from which on the connection lags, and from which on no picture is begun. */
  static strainedBytes = 32 << 10;
  static stoppedBytes = 96 << 10;
  /** A picture that is so long in the encoder, or comes so late to the page: the machine lags. */
  static strainedEncodeMilliseconds = 150;
  static strainedLagMilliseconds = 40;
  static stepMilliseconds = 2_000;
  static patienceMillisecondsMin = 8_000;
  static patienceMillisecondsMax = 64_000;

  #steps;

  /** @param {"camera"|"screen"} source */
  constructor(source) {
    const whole = { scale: 1, divisor: 1 };
    this.#step = source === "screen" ? 0 : 1;
    this.#steps = source === "screen"
      ? [whole, { scale: 1, divisor: 2 }, { scale: 1, divisor: 3 }]
      : [whole, { scale: 2, divisor: 1 }, { scale: 2, divisor: 2 }, { scale: 2, divisor: 3 }];
  }

  /**
   * @param {{bufferedBytes: number, encodeMilliseconds: number, lagMilliseconds: number}} load what waits in the socket; how long the last pictures were in the
   *   encoder; how long they took from the camera to the page, above the least
   * @returns {{scale: number, divisor: number, isStopped: boolean}} by what large layers are scaled down; every how many-th picture is encoded; whether none is
   */
  observe({ bufferedBytes, encodeMilliseconds, lagMilliseconds }, now) {
    // Something else may keep the machine busy: fewer pictures for that only where it is bad.
    const lagMax = LoadControl.strainedLagMilliseconds * (this.#step === 0 ? 1 : 3);
    const isCalm = bufferedBytes <= LoadControl.strainedBytes / 2 && encodeMilliseconds <= LoadControl.strainedEncodeMilliseconds / 2
      && lagMilliseconds <= LoadControl.strainedLagMilliseconds / 2;
    const isStrained = bufferedBytes > LoadControl.strainedBytes || encodeMilliseconds > LoadControl.strainedEncodeMilliseconds || lagMilliseconds > lagMax;
    this.#begunAt ??= now;
    if (!isCalm) this.#strainedAt = now;
    if (isStrained && now - this.#changedAt >= LoadControl.stepMilliseconds && this.#step + 1 < this.#steps.length) {
      if (now - this.#changedAt < 2 * LoadControl.stepMilliseconds) this.#patience = Math.min(this.#patience * 2, LoadControl.patienceMillisecondsMax);
      this.#step += 1;
      this.#changedAt = now;
    } else if (this.#step > 0 && now - Math.max(this.#strainedAt, this.#changedAt, this.#begunAt) >= this.#patience) {
      this.#step -= 1;
      this.#changedAt = now;
    } else if (this.#step === 0 && now - this.#changedAt > LoadControl.patienceMillisecondsMax) {
      this.#patience = LoadControl.patienceMillisecondsMin;
    }
    return { ...this.#steps[this.#step], isStopped: bufferedBytes > LoadControl.stoppedBytes };
  }
}
