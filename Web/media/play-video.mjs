// One video stream, from its frames to a canvas: VideoPlayout says when each is due (with the sound of the same participant, where there is any), a
// VideoDecoder makes pictures of them, and the newest that is due is drawn.

import { VideoPlayout } from "../jitter-buffer/jitter-buffer.mjs";
import { decodeFrame } from "../segue/frames.mjs";
import { Percentiles, RateWindow } from "./statistics.mjs";

const defaultTimescale = 90_000;
/** A key frame is asked for no more often; the relay merges what several ask for. */
const keyRequestMilliseconds = 1_000;
/** Frames in the decoder: from the first number on those that no other needs are left out, at the second it begins anew. */
const lagFrames = 8;
const lostFrames = 60;
/** Decoded pictures that wait for their time; each holds memory of the decoder's. */
const picturesMax = 4;
/** A picture may be drawn so much before its time: the next drawing is a frame of the display's later. */
const earlyMilliseconds = 6;
/** Not looked at for so long, as in a hidden tab: what waits is of another time. */
const pauseMilliseconds = 1_000;

/** Codec strings of WebCodecs for the protocol's own names. */
function decoderCodec(codec) {
  const names = { vp08: "vp8", vp9: "vp09.00.31.08", vp09: "vp09.00.31.08" };
  return names[codec.toLowerCase()] ?? codec;
}

export class VideoStreamPlayer extends EventTarget {
  canvas = null;
  latencies = new Percentiles(300);

  #info;
  #now;
  #serverTime;
  #requestKey;
  #noteLatency;
  #playout;
  #configurations = new Map(); // spatial layer → bytes
  #decoder = null;
  #configured = null; // what the decoder was configured with
  #context = null;
  #pending = new Map(); // the decoder's timestamp → what belongs to the picture
  #pictures = []; // decoded: {picture, showAt, captureTime, spatial}
  #nextTimestamp = 0;
  #needsKey = true;
  #lastKeyRequest = -Infinity;
  #lastTick = -Infinity;
  #layer = { spatial: 0, temporal: 0 };
  #temporalUntil = -Infinity;
  #size = { width: 0, height: 0 };
  #received = 0;
  #decoded = 0;
  #shown = 0;
  #dropped = 0;
  #failures = 0;
  #bytes = new RateWindow();
  #drawn = new RateWindow();

  /**
   * @param {{info: object, exports: object, profile: string, now: () => number, serverTime: (local: number) => number, requestKey: () => void,
   *   note?: (latency: number) => void}} options exports: of the jitter buffer's module; note: is told each picture's way from capture to drawing
   */
  constructor({ info, exports, profile, now, serverTime, requestKey, note = () => {} }) {
    super();
    this.#info = info;
    this.#now = now;
    this.#serverTime = serverTime;
    this.#requestKey = requestKey;
    this.#noteLatency = note;
    this.#playout = new VideoPlayout(exports, { timescale: info.description?.timescale ?? defaultTimescale, profile });
  }

  get participant() {
    return this.#info.participant;
  }

  get source() {
    return this.#info.source;
  }

  attach(canvas) {
    if (canvas === this.canvas) return;
    const wasDrawing = this.canvas !== null;
    this.canvas = canvas;
    this.#context = canvas?.getContext("2d", { alpha: false }) ?? null;
    if (canvas && !wasDrawing && this.#received > 0) this.#begin();
    if (!canvas) this.#closeDecoder();
  }

  // MARK: Frames

  take(frame) {
    if (frame.kind === "configuration") {
      this.#configurations.set(frame.spatial, frame.payload.slice());
      return;
    }
    if (frame.kind !== "video" || frame.encrypted) return;
    const now = this.#now();
    this.#received += 1;
    this.#bytes.add(frame.bytes.length, now);
    // Without a canvas nothing is decoded.
    if (this.canvas && this.#playout.insert(frame.bytes, now) === "malformed") this.#dropped += 1;
  }

  /** Everything anew, with a key frame. */
  #begin() {
    this.#closeDecoder();
    this.#playout.reset();
    this.#askForKey();
  }

  #askForKey() {
    const now = this.#now();
    if (now - this.#lastKeyRequest < keyRequestMilliseconds) return;
    this.#lastKeyRequest = now;
    this.#requestKey();
  }

  // MARK: Time

  /**
   * What is due is decoded, what is decoded and due is drawn. For each frame of the display's.
   *
   * @param {{timestamp: number, timescale: number, heardAt: number} | undefined} heard the sound that belongs to the pictures
   */
  tick(heard) {
    const now = this.#now();
    if (now - this.#lastTick > pauseMilliseconds && this.#lastTick > 0 && this.canvas) this.#begin();
    this.#lastTick = now;
    if (!this.canvas) return;
    for (let released; (released = this.#playout.release(now, heard)); ) this.#decode(released);
    if (this.#received > 0 && this.#playout.needsKeyFrame) this.#askForKey();
    this.#draw(now);
  }

  #decode({ frame: bytes, showAt }) {
    const frame = decodeFrame(bytes);
    if (this.#needsKey && !frame.key) {
      this.#dropped += 1;
      return;
    }
    const queued = this.#decoder?.decodeQueueSize ?? 0;
    if (queued > lagFrames && frame.discardable) {
      this.#dropped += 1;
      return;
    }
    if (queued > lostFrames) {
      this.#begin();
      return;
    }
    if (frame.key) this.#configure(frame.spatial);
    if (!this.#decoder) return;
    this.#note(frame);
    this.#needsKey = false;
    // Of the decoder's own: layers that take turns may have the same timestamp twice.
    const timestamp = (this.#nextTimestamp += 1_000);
    this.#pending.set(timestamp, { showAt, captureTime: frame.captureTime, spatial: frame.spatial });
    try {
      // The bytes are copied here: they lie in the module's memory until the next call.
      this.#decoder.decode(new EncodedVideoChunk({ type: frame.key ? "key" : "delta", timestamp, data: frame.payload }));
    } catch (error) {
      this.#lose(error);
    }
  }

  #note(frame) {
    const now = this.#now();
    if (frame.spatial !== this.#layer.spatial || frame.temporal >= this.#layer.temporal || now > this.#temporalUntil) {
      this.#layer = { spatial: frame.spatial, temporal: frame.temporal };
      this.#temporalUntil = now + 1_000;
    }
  }

  #configure(spatial) {
    const description = this.#configurations.get(spatial) ?? this.#configurations.get(0) ?? new Uint8Array(0);
    const codec = decoderCodec(this.#info.codec);
    // Only these have a description; of the others the container's is of no use, and Annex B is known by having none (Sources/PROTOCOL.md, 5.5).
    const isBoxed = /^(avc|hvc1|hev1)/.test(codec) && description[0] === 1;
    const key = isBoxed ? description.join() : "";
    if (this.#decoder?.state === "configured" && key === this.#configured) return;
    this.#closeDecoder();
    const decoder = new VideoDecoder({
      output: (picture) => (decoder === this.#decoder ? this.#take(picture) : picture.close()),
      error: (error) => {
        if (decoder === this.#decoder) this.#lose(error);
      },
    });
    this.#decoder = decoder;
    this.#configured = key;
    try {
      decoder.configure({ codec, optimizeForLatency: true, ...(isBoxed ? { description } : {}) });
    } catch (error) {
      this.#lose(error);
    }
  }

  #take(picture) {
    const place = this.#pending.get(picture.timestamp);
    for (const timestamp of this.#pending.keys()) {
      if (timestamp > picture.timestamp) break;
      this.#pending.delete(timestamp);
    }
    this.#decoded += 1;
    if (!place || place.showAt === undefined) {
      picture.close();
      return;
    }
    this.#pictures.push({ picture, ...place });
    while (this.#pictures.length > picturesMax) {
      this.#pictures.shift().picture.close();
      this.#dropped += 1;
    }
  }

  /** The newest that is due; what is older is passed over. */
  #draw(now) {
    let due = null;
    while (this.#pictures.length > 0 && this.#pictures[0].showAt <= now + earlyMilliseconds) {
      if (due) {
        due.picture.close();
        this.#dropped += 1;
      }
      due = this.#pictures.shift();
    }
    if (!due) return;
    const { picture, captureTime } = due;
    const { displayWidth: width, displayHeight: height } = picture;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.#context.drawImage(picture, 0, 0, width, height);
    picture.close();
    this.#shown += 1;
    this.#drawn.add(1, now);
    if (captureTime !== null) {
      const latency = this.#serverTime(now) - captureTime;
      this.latencies.add(latency);
      this.#noteLatency(latency);
    }
    if (width !== this.#size.width || height !== this.#size.height) {
      this.#size = { width, height };
      this.dispatchEvent(new CustomEvent("size", { detail: this.#size }));
    }
  }

  // MARK: Ends

  #lose(error) {
    this.#failures += 1;
    this.#begin();
    this.dispatchEvent(new CustomEvent("failed", { detail: { what: "decoder", stream: this.#info.stream, message: error.message } }));
  }

  #closeDecoder() {
    const decoder = this.#decoder;
    this.#decoder = null;
    this.#configured = null;
    if (decoder && decoder.state !== "closed") decoder.close();
    for (const { picture } of this.#pictures) picture.close();
    this.#pictures = [];
    this.#pending.clear();
    this.#needsKey = true;
  }

  /** By how much the sound would have to wait for all pictures to come in time, in milliseconds. */
  get audioDelayWanted() {
    return this.canvas ? this.#playout.statistics.audioDelayWantedMilliseconds : 0;
  }

  statistics() {
    const now = this.#now();
    const playout = this.#playout.statistics;
    return {
      stream: this.#info.stream, participant: this.#info.participant, source: this.#info.source, codec: this.#info.codec,
      ...this.#size, layer: { ...this.#layer }, framesPerSecond: this.#drawn.perSecond(now),
      received: this.#received, decoded: this.#decoded, shown: this.#shown,
      dropped: this.#dropped + playout.late + playout.undecodable + playout.discarded, freezes: playout.freezes, freezeMilliseconds: playout.freezeMilliseconds,
      kbps: (this.#bytes.perSecond(now) * 8) / 1000, latencyMilliseconds: this.latencies.last, isHeldToAudio: playout.isHeldToAudio === 1,
      skewMilliseconds: playout.skewMilliseconds, targetMilliseconds: playout.targetMilliseconds, decoderFailures: this.#failures,
    };
  }

  receiverReport() {
    const playout = this.#playout.statistics;
    return {
      stream: this.#info.stream, received: this.#received, played: playout.shown, concealed: 0, late: 0,
      bitrate: Math.round(this.#bytes.perSecond(this.#now()) * 8),
    };
  }

  close() {
    this.#closeDecoder();
    this.#playout.free();
    this.canvas = null;
  }
}
