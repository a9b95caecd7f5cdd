// Which encodings a picture is sent in (Sources/PROTOCOL.md, 5.6), and which of them somebody wants. Pure.

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
  // A camera between two of them: its own size instead of the nearest below, or besides when it is much larger.
  const top = wanted.at(-1);
  if (top === undefined) wanted.push(lines);
  else if (lines < heights.at(-1) && lines > top) lines >= top * 1.5 ? wanted.push(lines) : wanted.splice(-1, 1, lines);
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
 * How far the uplink is behind, and what is left out because of it: pictures first, then the highest layer for a while. Sound is never left out.
 */
export class UplinkControl {
  #pausedUntil = -Infinity;
  #pause = UplinkControl.pauseMillisecondsMin;

  /** Bytes that wait in the socket: from the first on pictures are left out, from the second on the highest layer rests. */
  static pictureBytes = 64 << 10;
  static layerBytes = 192 << 10;
  static pauseMillisecondsMin = 4_000;
  static pauseMillisecondsMax = 30_000;

  /** @returns {{isSkipped: boolean, layersLeftOut: number}} for the next picture */
  observe(bufferedBytes, now) {
    if (bufferedBytes > UplinkControl.layerBytes && now >= this.#pausedUntil) {
      // Each rest that did not help makes the next longer.
      this.#pause = now - this.#pausedUntil < 10_000 ? Math.min(this.#pause * 2, UplinkControl.pauseMillisecondsMax) : UplinkControl.pauseMillisecondsMin;
      this.#pausedUntil = now + this.#pause;
    }
    return { isSkipped: bufferedBytes > UplinkControl.pictureBytes, layersLeftOut: now < this.#pausedUntil ? 1 : 0 };
  }
}
