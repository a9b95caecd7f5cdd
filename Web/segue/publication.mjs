/**
 * A stream of one's own (protocol 5): numbers its frames, sends the configuration first, keeps what a lost connection may have taken with it, and gives way
 * where the connection does not carry what it should.
 */

import { isNumber, isObject, isU32 } from "./checks.mjs";
import { SegueError } from "./errors.mjs";
import { encodeFrame, serialDistance } from "./frames.mjs";

/** What is kept to be sent again after a resumption: as long as it can be of use to who plays it. */
const KEPT = Object.freeze({
  audio: { milliseconds: 400, bytes: 64 << 10 },
  video: { milliseconds: 1_000, bytes: 2 << 20 },
  data: { milliseconds: 30_000, bytes: 256 << 10 },
});

/** Backlogs of the connection, in milliseconds, from which on frames are dropped. */
const VIDEO_BACKLOG_MAX = 200;
/** The lowest layer goes on a little longer than those above it. */
const BASE_LAYER_BACKLOG_MAX = 300;
const AUDIO_BACKLOG_MAX = 1_000;
const DATA_BACKLOG_MAX = 5_000;
/** A key frame is much at once: it is asked for when there is room for it. */
const KEY_FRAME_BACKLOG_MAX = 100;
const KEY_FRAME_MILLISECONDS_MIN = 500;

/**
 * @typedef {object} Layer
 * @property {number} spatial
 * @property {number} next the sequence number of the next frame
 * @property {number} timestamp of the last frame
 * @property {Uint8Array | null} configuration
 * @property {{sequence: number, bytes: Uint8Array, at: number, key: boolean}[]} kept
 * @property {number} keptBytes
 * @property {boolean} needsKey frames were lost: nothing goes until the next key frame
 * @property {number} askedAt when a key frame was asked for last
 */

export class Publication extends EventTarget {
  /** The number that its frames carry; another one after a session that could not be resumed. @type {number} */ stream;
  /** @type {"open"|"suspended"|"ended"} */ state = "open";
  /**
   * The layers that somebody gets, `{spatial, temporal}`; null before the first word of it: everything.
   *
   * @type {{spatial: number, temporal: number}[] | null}
   */
  wanted = null;
  statistics = { frames: 0, bytes: 0, dropped: { backlog: 0, waitingForKey: 0, notConnected: 0, interrupted: 0 } };

  /** @type {Map<number, Layer>} */ #layers = new Map();
  #configured = false;

  /**
   * @param {object} sender what it sends with
   * @param {(bytes: Uint8Array) => boolean} sender.send
   * @param {() => number} sender.backlog milliseconds
   * @param {() => boolean} sender.flows whether the audio session lets sound and pictures go
   * @param {() => number} sender.clock
   * @param {(publication: Publication) => Promise<void>} sender.close
   * @param {Record<string, any>} members of its `publish`
   * @param {number} stream
   */
  constructor(sender, members, stream) {
    super();
    this.sender = sender;
    this.members = members;
    this.kind = members.kind;
    this.stream = stream;
  }

  /** @param {number} spatial @returns {Layer} */
  #layer(spatial) {
    let layer = this.#layers.get(spatial);
    if (!layer) {
      layer = { spatial, next: 0, timestamp: 0, configuration: null, kept: [], keptBytes: 0, needsKey: false, askedAt: -Infinity };
      this.#layers.set(spatial, layer);
    }
    return layer;
  }

  /** @param {number} spatial @param {number} temporal @returns {boolean} whether somebody gets this layer, or is about to */
  wants(spatial = 0, temporal = 0) {
    return this.wanted === null || this.wanted.some((layer) => layer.spatial === spatial && temporal <= layer.temporal);
  }

  /**
   * Sends the decoder's configuration, which holds from here on. A stream that has none when its first frame is sent gets an empty one.
   *
   * @param {Uint8Array} bytes
   * @param {{spatial?: number}} [options]
   * @returns {boolean} whether it went; otherwise it goes when the connection is there again
   */
  configure(bytes, { spatial = 0 } = {}) {
    if (this.state === "ended") return false;
    const layer = this.#layer(spatial);
    layer.configuration = bytes;
    this.#configured = true;
    return this.#sendConfiguration(layer);
  }

  /** @param {Layer} layer @param {number} sequence of the frame that follows */
  #sendConfiguration(layer, sequence = layer.next) {
    if (this.state !== "open" || layer.configuration === null) return false;
    const { spatial, timestamp, configuration } = layer;
    return this.sender.send(encodeFrame({ kind: "configuration", stream: this.stream, sequence, timestamp, spatial, payload: configuration }));
  }

  /**
   * @param {object} frame
   * @param {Uint8Array} frame.payload
   * @param {number} frame.timestamp decode time in ticks of the stream's timescale; of more than 32 bits the lower ones are taken
   * @returns {boolean} whether it was passed on. What was not for want of a connection is kept for a while, and goes when the session is resumed
   */
  send(frame) {
    if (this.state === "ended") return false;
    const layer = this.#layer(frame.spatial ?? 0);
    const key = frame.key === true;
    if (this.kind !== "data" && !this.sender.flows()) {
      layer.needsKey = this.kind === "video";
      this.statistics.dropped.interrupted += 1;
      return false;
    }
    if (this.kind === "video" && this.#givesWay(layer, frame, key)) return false;
    if (!this.#configured) this.configure(new Uint8Array(0));
    const now = this.sender.clock();
    const timestamp = Math.round(frame.timestamp) >>> 0;
    const bytes = encodeFrame({ ...frame, kind: this.kind, stream: this.stream, sequence: layer.next, timestamp });
    // Sound that is dropped has its number all the same: it shows as a gap, which is concealed.
    const sequence = layer.next;
    layer.next = (layer.next + 1) >>> 0;
    layer.timestamp = timestamp;
    if (this.kind !== "video" && this.sender.backlog() > (this.kind === "audio" ? AUDIO_BACKLOG_MAX : DATA_BACKLOG_MAX)) {
      this.statistics.dropped.backlog += 1;
      return false;
    }
    this.#keep(layer, { sequence, bytes, at: now, key });
    if (this.state !== "open" || !this.sender.send(bytes)) {
      this.statistics.dropped.notConnected += 1;
      return false;
    }
    this.statistics.frames += 1;
    this.statistics.bytes += bytes.length;
    return true;
  }

  /**
   * Pictures give way to sound: they are dropped whole, up to the next key frame unless no other needs them.
   *
   * @param {Layer} layer @param {{discardable?: boolean}} frame @param {boolean} key @returns {boolean}
   */
  #givesWay(layer, frame, key) {
    const backlog = this.sender.backlog();
    const isLate = backlog > (layer.spatial === this.#lowest() ? BASE_LAYER_BACKLOG_MAX : VIDEO_BACKLOG_MAX);
    if (layer.needsKey && key && !isLate) layer.needsKey = false;
    if (layer.needsKey) {
      this.statistics.dropped.waitingForKey += 1;
      if (backlog < KEY_FRAME_BACKLOG_MAX) this.#askForKey(layer);
      return true;
    }
    if (frame.discardable === true && backlog > VIDEO_BACKLOG_MAX) {
      this.statistics.dropped.backlog += 1;
      return true;
    }
    if (!isLate) return false;
    this.statistics.dropped.backlog += 1;
    if (frame.discardable !== true) layer.needsKey = true;
    return true;
  }

  #lowest() {
    return Math.min(...this.#layers.keys());
  }

  /** @param {Layer} layer */
  #askForKey(layer) {
    const now = this.sender.clock();
    if (now - layer.askedAt < KEY_FRAME_MILLISECONDS_MIN) return;
    layer.askedAt = now;
    this.#dispatch("keyframe", { layer: layer.spatial });
  }

  /** @param {Layer} layer @param {Layer["kept"][0]} frame */
  #keep(layer, frame) {
    const bound = KEPT[this.kind];
    layer.kept.push(frame);
    layer.keptBytes += frame.bytes.length;
    let old = 0;
    while (old < layer.kept.length && (layer.keptBytes > bound.bytes || frame.at - layer.kept[old].at > bound.milliseconds)) {
      layer.keptBytes -= layer.kept[old].bytes.length;
      old += 1;
    }
    if (old > 0) layer.kept.splice(0, old);
  }

  /** @returns {Promise<void>} unpublishes the stream */
  close() {
    if (this.state === "ended") return Promise.resolve();
    const wasOpen = this.state === "open";
    this.end("closed");
    return wasOpen ? this.sender.close(this) : Promise.resolve();
  }

  // What the client does with it; nobody else.

  /** @param {string} reason the stream is over @returns {void} */
  end(reason) {
    if (this.state === "ended") return;
    this.state = "ended";
    this.#layers.clear();
    this.#dispatch("ended", { reason });
  }

  /** There is no session that it belongs to, for now. */
  suspend() {
    if (this.state === "open") this.state = "suspended";
  }

  /** It is published anew, in another session. @param {number} stream */
  renew(stream) {
    const previous = this.stream;
    this.stream = stream;
    this.state = "open";
    this.wanted = null;
    for (const layer of this.#layers.values()) {
      layer.kept = [];
      layer.keptBytes = 0;
      this.#sendConfiguration(layer);
      if (this.kind === "video") this.#startOver(layer);
    }
    this.#dispatch("renewed", { stream, previous });
  }

  /** @param {Layer} layer */
  #startOver(layer) {
    layer.needsKey = true;
    layer.askedAt = -Infinity;
    this.#askForKey(layer);
  }

  /** The session goes on: sends what the relay has not got. @param {Record<string, any>[]} entries of `resumed.published` that are of this stream */
  resume(entries) {
    for (const layer of this.#layers.values()) {
      const last = entries.find((entry) => (entry.layer ?? 0) === layer.spatial)?.sequence;
      const kept = layer.kept.filter((frame) => !isU32(last) || serialDistance(frame.sequence, last) > 0);
      const isWhole = isU32(last) ? (kept[0]?.sequence ?? layer.next) === (last + 1) >>> 0 : kept.length > 0 || layer.next === 0;
      const begin = isWhole || this.kind !== "video" ? 0 : kept.findIndex((frame) => frame.key);
      const rest = begin < 0 ? [] : kept.slice(begin);
      this.#sendConfiguration(layer, rest[0]?.sequence ?? layer.next);
      for (const frame of rest) this.sender.send(frame.bytes);
      if (begin < 0) this.#startOver(layer);
    }
  }

  /** @param {Record<string, any>} event of this stream @returns {void} */
  take(event) {
    if (event.type === "keyframe.requested") {
      const layer = isNumber(event.layer, 0, 7) ? event.layer : 0;
      if (this.#layers.has(layer)) this.#layer(layer).askedAt = this.sender.clock();
      this.#dispatch("keyframe", { layer });
    } else if (event.type === "layers.wanted") {
      const layers = Array.isArray(event.layers) ? event.layers : [];
      this.wanted = layers
        .filter((layer) => isObject(layer) && isNumber(layer.spatial, 0, 7))
        .map((layer) => ({ spatial: layer.spatial, temporal: isNumber(layer.temporal, 0, 7) ? layer.temporal : 7 }));
      this.#dispatch("layers", this.wanted);
    } else if (event.type === "format.wanted") {
      this.#dispatch("format", event);
    } else if (event.type === "stream.report") {
      this.#dispatch("report", event);
    } else if (event.type === "stream.ended") {
      this.end("relay");
    } else if (event.type === "stream.stopped") {
      if (event.reason === "category") this.end("category");
      else this.#dispatch("stopped", event);
    }
  }

  /** @param {string} type @param {unknown} detail */
  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Refused, since it has ended. @returns {SegueError} */
export function endedError() {
  return new SegueError("ended", "The publication has ended.");
}
