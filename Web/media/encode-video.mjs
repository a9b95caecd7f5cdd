// One encoding of a picture: a VideoEncoder of one size, and what of it goes to the relay.

import { encoderExtras } from "./capabilities.mjs";
import { smallLinesMax, temporalLayersOf } from "./layers.mjs";
import { RateWindow } from "./statistics.mjs";

/** More pictures than these before and in an encoder: it lags, and the next one is left out. */
const queueMax = 2;
const insideMax = 3;
/** What has not come out of an encoder for so long never will: it left it out itself. */
const insideMilliseconds = 1_000;

export class LayerEncoder {
  keyFrames = 0;
  leftOut = 0;
  isRunning = true;
  /** How long the last pictures were in the encoder. */
  milliseconds = 0;

  #spatial;
  #full; // the configuration of the layer as it was published
  #configuration;
  #divisor = 1;
  #temporalTop;
  #send;
  #fail;
  #now;
  #encoder = null;
  #begun = new Map(); // a picture's timestamp → when it was given to the encoder
  #bytes = new RateWindow();
  #pictures = new RateWindow();

  /**
   * @param {{spatial: number, layer: {width: number, height: number, frameRate: number, bitrate: number}, codec: string, scalabilityMode?: string,
   *   send: (chunk: {payload: Uint8Array, at: number, key: boolean, temporal: number, discardable: boolean}) => void,
   *   fail: (error: Error) => void, now: () => number}} options
   *   at: the frame's own timestamp in microseconds, by which `send` knows it
   */
  constructor({ spatial, layer, codec, scalabilityMode, send, fail, now }) {
    this.#spatial = spatial;
    this.#temporalTop = temporalLayersOf(scalabilityMode) - 1;
    this.#full = {
      codec, width: layer.width, height: layer.height, bitrate: layer.bitrate, framerate: layer.frameRate, latencyMode: "realtime", bitrateMode: "variable",
      ...encoderExtras(codec), ...(scalabilityMode ? { scalabilityMode } : {}),
    };
    this.#configuration = this.#full;
    this.#send = send;
    this.#fail = fail;
    this.#now = now;
  }

  /**
   * A layer of more than 360 lines is encoded in that part of its size; smaller ones stay.
   *
   * @returns whether that changed: then a key frame must begin
   */
  setScale(scale) {
    const { width, height } = this.#full;
    const isLarge = Math.min(width, height) > smallLinesMax;
    const divisor = isLarge ? scale : 1;
    if (divisor === this.#divisor) return false;
    this.#divisor = divisor;
    const part = (value) => Math.max(2, Math.round(value / divisor / 2) * 2);
    this.#configuration = { ...this.#full, width: part(width), height: part(height), bitrate: Math.round(this.#full.bitrate / divisor) };
    if (this.#encoder?.state === "configured") this.#encoder.configure(this.#configuration);
    return true;
  }

  get size() {
    return { width: this.#configuration.width, height: this.#configuration.height };
  }

  /** Whether the encoder takes a picture now; otherwise it lags. */
  get isReady() {
    if (this.#encoder === null) return true;
    if (this.#encoder.encodeQueueSize > queueMax) return false;
    const oldest = this.#begun.values().next().value ?? Infinity;
    return this.#begun.size <= insideMax || this.#now() - oldest > insideMilliseconds;
  }

  /** @returns whether the picture was taken. It stays the caller's to close. */
  encode(frame, keyFrame) {
    if (!this.isReady) {
      this.leftOut += 1;
      return false;
    }
    if (this.#encoder?.state !== "configured") this.#make();
    try {
      this.#begun.set(frame.timestamp, this.#now());
      this.#encoder.encode(frame, { keyFrame });
    } catch (error) {
      this.#fail(error);
      return false;
    }
    return true;
  }

  #make() {
    this.#begun.clear();
    this.#encoder = new VideoEncoder({
      output: (chunk, metadata) => this.#output(chunk, metadata),
      error: (error) => {
        this.#encoder = null;
        this.#fail(error);
      },
    });
    this.#encoder.configure(this.#configuration);
  }

  #output(chunk, metadata) {
    const payload = new Uint8Array(chunk.byteLength);
    chunk.copyTo(payload);
    const temporal = Math.min(metadata?.svc?.temporalLayerId ?? 0, 7);
    const key = chunk.type === "key";
    if (key) this.keyFrames += 1;
    const now = this.#now();
    this.#noteDuration(chunk.timestamp, now);
    this.#bytes.add(payload.byteLength, now);
    this.#pictures.add(1, now);
    // In the modes L1T2 and L1T3 nothing refers to a picture of the highest layer (WebRTC-SVC, dependency diagrams).
    this.#send({ payload, at: chunk.timestamp, key, temporal, discardable: !key && this.#temporalTop > 0 && temporal === this.#temporalTop });
  }

  #noteDuration(timestamp, now) {
    const begun = this.#begun.get(timestamp);
    if (begun !== undefined) this.milliseconds += (now - begun - this.milliseconds) / 8;
    // Encoders leave out pictures where their rate asks for it: nothing comes of those.
    for (const at of this.#begun.keys()) {
      if (at > timestamp) break;
      this.#begun.delete(at);
    }
  }

  statistics() {
    const now = this.#now();
    return {
      spatial: this.#spatial, ...this.size, isRunning: this.isRunning, kbps: (this.#bytes.perSecond(now) * 8) / 1000,
      framesPerSecond: this.#pictures.perSecond(now), keyFrames: this.keyFrames, leftOut: this.leftOut, encodeMilliseconds: this.milliseconds,
    };
  }

  close() {
    this.#begun.clear();
    if (this.#encoder && this.#encoder.state !== "closed") this.#encoder.close();
    this.#encoder = null;
  }
}
