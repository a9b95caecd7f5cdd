// The jitter buffers of the relay, for JavaScript: a thin face of jitter-buffer.wasm. No dependency; for browsers (also in an AudioWorklet) and node.
//
// Times are milliseconds on any clock that does not go back, as performance.now() gives them.

export const decisions = ["normal", "accelerate", "fastAccelerate", "preemptiveExpand", "conceal", "comfortNoise", "wait"];
export const outcomes = ["stored", "duplicate", "late", "malformed", "storedFlushingOldest"];
export const profiles = { lowLatency: 0, balanced: 1, smooth: 2 };

const audioNumbers = [
  "packetsInserted", "duplicates", "late", "malformed", "discarded", "recovered", "samplesPlayed", "concealedSamples", "silentConcealedSamples",
  "concealmentEvents", "interruptions", "interruptionMilliseconds", "removedByAccelerate", "insertedByExpand", "targetMilliseconds", "levelMilliseconds",
  "driftPartsPerMillion", "delaySampleMilliseconds",
];
const videoNumbers = [
  "framesInserted", "duplicates", "malformed", "shown", "decodedOnly", "shownLate", "late", "undecodable", "discarded", "freezes", "freezeMilliseconds",
  "framesBuffered", "bytesBuffered", "targetMilliseconds", "isHeldToAudio", "skewMilliseconds", "skewMillisecondsMax", "audioDelayWantedMilliseconds",
];

/** The module, made of its bytes or of a compiled WebAssembly.Module. It asks for nothing from outside. */
export async function instantiate(source) {
  const made = await WebAssembly.instantiate(source, {});
  return (made.instance ?? made).exports;
}

/** Memory of the module that is held for one buffer. */
class Block {
  constructor(exports, byteCount) {
    this.exports = exports;
    this.byteCount = byteCount;
    this.address = exports.segue_allocate(byteCount);
    if (!this.address) throw new RangeError("no memory for the jitter buffer");
  }

  // Made anew each time: the memory's buffer is another one when it has grown.
  view(Kind, count = this.byteCount / Kind.BYTES_PER_ELEMENT) {
    return new Kind(this.exports.memory.buffer, this.address, count);
  }

  free() {
    this.exports.segue_free(this.address);
  }
}

class Buffer {
  constructor(exports, handle, payloadBytesMax) {
    if (!handle) throw new RangeError("a value that the jitter buffer does not take");
    this.exports = exports;
    this.handle = handle;
    this.payload = new Block(exports, payloadBytesMax);
    this.numbers = new Block(exports, 32 * 8);
  }

  put(bytes) {
    if (bytes.byteLength > this.payload.byteCount) return false;
    this.payload.view(Uint8Array).set(new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength));
    return true;
  }

  name(names, count) {
    const numbers = this.numbers.view(Float64Array);
    return Object.fromEntries(names.slice(0, count).map((name, place) => [name, numbers[place]]));
  }

  free() {
    this.payload.free();
    this.numbers.free();
  }
}

/** Sound: samples in, as they come; 10 ms out, whenever asked. */
export class AudioJitterBuffer extends Buffer {
  constructor(exports, { sampleRate = 48000, channels = 1, timescale = 48000, profile = "balanced", format = "float32" } = {}) {
    const handle = exports.segue_jitter_create(sampleRate, channels, timescale, profiles[profile], format === "int16" ? 0 : 1);
    // The longest packet is 120 ms.
    super(exports, handle, Math.ceil(sampleRate * 0.12) * channels * 4);
    this.output = new Block(exports, (sampleRate / 100) * channels * 4);
    this.timestamp = new Block(exports, 4);
  }

  configure({ profile = "balanced", delayMin = 0, delayMax = 2000, pinnedDelay = -1, isMeasurement = false }) {
    this.exports.segue_jitter_configure(this.handle, profiles[profile], delayMin, delayMax, pinnedDelay, isMeasurement ? 1 : 0);
  }

  /** Takes a packet's samples (a typed array); answers what became of it. */
  insert(samples, { sequence, timestamp, flags = 0 }, now) {
    if (!this.put(samples)) return "malformed";
    const code = this.exports.segue_jitter_insert(
      this.handle, sequence, timestamp, flags, this.payload.address, samples.byteLength, Math.round(now * 1000));
    return outcomes[code];
  }

  /** Gives 10 ms, interleaved, in an array that is valid until the next call. */
  pull(now) {
    const code = this.exports.segue_jitter_pull(this.handle, this.output.address, this.timestamp.address, Math.round(now * 1000));
    return {
      samples: this.output.view(Float32Array), decision: decisions[code & 255], isAudible: code >= 256,
      mediaTimestamp: this.timestamp.view(Uint32Array)[0],
    };
  }

  flush() {
    this.exports.segue_jitter_flush(this.handle);
  }

  reset() {
    this.exports.segue_jitter_reset(this.handle);
  }

  get statistics() {
    return this.name(audioNumbers, this.exports.segue_jitter_statistics(this.handle, this.numbers.address));
  }

  free() {
    this.exports.segue_jitter_destroy(this.handle);
    this.output.free();
    this.timestamp.free();
    super.free();
  }
}

/** Pictures: whole media frames in, each out when the sound that belongs to it is heard. */
export class VideoPlayout extends Buffer {
  constructor(exports, { timescale = 90000, profile = "balanced", framesMax = 256, bytesMax = 8 << 20, frameBytesMax = 4 << 20 } = {}) {
    super(exports, exports.segue_video_create(timescale, profiles[profile], framesMax, bytesMax), frameBytesMax);
    this.result = new Block(exports, 8);
  }

  insert(frame, now) {
    if (!this.put(frame)) return "malformed";
    return outcomes[this.exports.segue_video_insert(this.handle, this.payload.address, frame.byteLength, Math.round(now * 1000))];
  }

  /**
   * Gives the next frame that is due, or nothing; to be called until it gives nothing. `audio` says which timestamp is heard when, or is left out.
   * Its `frame` is valid until the next call, `showAt` is left out when it is to be decoded only.
   */
  release(now, audio) {
    const at = this.exports.segue_video_release(
      this.handle, audio?.timestamp ?? 0, audio?.timescale ?? 0, Math.round((audio?.heardAt ?? 0) * 1000), this.result.address, Math.round(now * 1000));
    if (at === -2) return undefined;
    const [address, byteCount] = this.result.view(Uint32Array);
    const frame = new Uint8Array(this.exports.memory.buffer, address, byteCount);
    return at < 0 ? { frame } : { frame, showAt: at / 1000 };
  }

  get needsKeyFrame() {
    return this.exports.segue_video_needs_key(this.handle) !== 0;
  }

  reset() {
    this.exports.segue_video_reset(this.handle);
  }

  get statistics() {
    return this.name(videoNumbers, this.exports.segue_video_statistics(this.handle, this.numbers.address));
  }

  free() {
    this.exports.segue_video_destroy(this.handle);
    this.result.free();
    super.free();
  }
}
