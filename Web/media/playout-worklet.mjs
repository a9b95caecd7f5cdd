// Runs in the AudioWorklet: the jitter buffers of all streams, from each of which it pulls 10 ms at a time, mixes them, and says some ten times a
// second what it played.
//
// To the page: {type: "ready" | "report" | "ring" | "failed"}; from it: "module", "open", "packet", "configure", "volume", "reset", "close", "ring".
// Its clock is the context's: milliseconds of sound that were played.

import { AudioJitterBuffer, instantiate } from "../jitter-buffer/jitter-buffer.mjs";

const pullSamples = 480;
const outputChannels = 2;
const reportSamples = 4_800;
const rampSamples = 960;

/** The last second of something, in one channel. */
class Ring {
  #samples;
  #next = 0;
  #count = 0;

  constructor(length) {
    this.#samples = new Float32Array(length);
  }

  add(sample) {
    this.#samples[this.#next] = sample;
    this.#next = this.#next + 1 === this.#samples.length ? 0 : this.#next + 1;
    if (this.#count < this.#samples.length) this.#count += 1;
  }

  get isFull() {
    return this.#count === this.#samples.length;
  }

  copy() {
    const copy = new Float32Array(this.#count);
    const start = this.isFull ? this.#next : 0;
    for (let index = 0; index < this.#count; index++) copy[index] = this.#samples[(start + index) % this.#samples.length];
    return copy;
  }
}

/** One stream: its buffer, its volume, and what was heard of it since the last report. */
class Voice {
  constructor(exports, { stream, channels, timescale, profile, volume }) {
    this.stream = stream;
    this.channels = channels;
    this.buffer = new AudioJitterBuffer(exports, { sampleRate: 48_000, channels, timescale, profile, format: "float32" });
    this.volume = volume;
    this.gain = volume;
    this.peakPower = 0;
    this.played = null;
    this.ring = null;
  }

  /** Adds 10 ms to the mix; `at`: the frame of the context's at which they begin. */
  mix(output, at) {
    const { samples, isAudible, mediaTimestamp } = this.buffer.pull((at * 1000) / sampleRate);
    if (isAudible) this.played = { mediaTimestamp, at };
    this.isAudible = isAudible;
    const step = (this.volume - this.gain) / rampSamples;
    let power = 0;
    for (let index = 0; index < pullSamples; index++) {
      if (this.gain !== this.volume) this.gain = Math.abs(this.volume - this.gain) <= Math.abs(step) * 2 ? this.volume : this.gain + step;
      const left = samples[index * this.channels];
      const right = this.channels === 1 ? left : samples[index * 2 + 1];
      power += (left * left + right * right) / 2;
      output[index * 2] += left * this.gain;
      output[index * 2 + 1] += right * this.gain;
      this.ring?.add(((left + right) / 2) * this.gain);
    }
    this.peakPower = Math.max(this.peakPower, power / pullSamples);
  }

  report() {
    const { stream, played, isAudible, peakPower: power } = this;
    this.peakPower = 0;
    const at = played ? (played.at * 1000) / sampleRate : null;
    return { stream, isAudible, power, mediaTimestamp: played?.mediaTimestamp ?? 0, at, statistics: this.buffer.statistics };
  }
}

class PlayoutProcessor extends AudioWorkletProcessor {
  #exports = null;
  #voices = new Map();
  #mix = new Float32Array(pullSamples * outputChannels);
  #mixed = pullSamples; // how much of the mix is played
  #ring = new Ring(sampleRate);
  #nextReport = 0;
  #asked = []; // rings of single streams that are waited for
  #isClosed = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      try {
        this.#take(data);
      } catch (error) {
        this.port.postMessage({ type: "failed", message: String(error) });
      }
    };
  }

  #take(message) {
    const voice = this.#voices.get(message.stream);
    switch (message.type) {
      case "module":
        instantiate(message.module).then(
          (exports) => {
            this.#exports = exports;
            this.port.postMessage({ type: "ready" });
          },
          (error) => this.port.postMessage({ type: "failed", message: String(error) }));
        break;
      case "open":
        voice?.buffer.free();
        this.#voices.set(message.stream, new Voice(this.#exports, message));
        break;
      case "packet":
        voice?.buffer.insert(message.samples, message, (currentFrame * 1000) / sampleRate);
        break;
      case "configure":
        voice?.buffer.configure(message);
        break;
      case "volume":
        if (voice) voice.volume = message.volume;
        break;
      case "reset":
        for (const each of voice ? [voice] : this.#voices.values()) each.buffer.reset();
        break;
      case "close":
        voice?.buffer.free();
        this.#voices.delete(message.stream);
        break;
      case "ring":
        this.#giveRing(message, voice);
        break;
      case "end":
        this.#isClosed = true;
        break;
    }
  }

  /** Of everything the last second is there; of a stream the next one is waited for. */
  #giveRing({ id, stream }, voice) {
    if (stream === undefined) this.#send(id, this.#ring.copy());
    else if (!voice) this.#send(id, new Float32Array(0));
    else {
      voice.ring ??= new Ring(sampleRate);
      this.#asked.push({ id, stream });
    }
  }

  #send(id, samples) {
    this.port.postMessage({ type: "ring", id, samples, sampleRate }, [samples.buffer]);
  }

  process(_, outputs) {
    const [left, right] = outputs[0];
    for (let index = 0; index < left.length; index++) {
      if (this.#mixed === pullSamples) this.#pull(currentFrame + index);
      left[index] = this.#mix[this.#mixed * 2];
      right[index] = this.#mix[this.#mixed * 2 + 1];
      this.#ring.add((left[index] + right[index]) / 2);
      this.#mixed += 1;
    }
    if (currentFrame >= this.#nextReport) this.#report();
    return !this.#isClosed;
  }

  #pull(at) {
    this.#mix.fill(0);
    this.#mixed = 0;
    for (const voice of this.#voices.values()) voice.mix(this.#mix, at);
    // Voices together may be louder than full scale: beyond three quarters they are bent, not cut.
    for (let index = 0; index < this.#mix.length; index++) {
      const sample = this.#mix[index];
      const over = Math.abs(sample) - 0.75;
      if (over > 0) this.#mix[index] = Math.sign(sample) * (0.75 + 0.25 * Math.tanh(over * 4));
    }
  }

  #report() {
    this.#nextReport = currentFrame + reportSamples;
    const streams = Array.from(this.#voices.values(), (voice) => voice.report());
    this.port.postMessage({ type: "report", now: (currentFrame * 1000) / sampleRate, streams });
    this.#asked = this.#asked.filter(({ id, stream }) => {
      const voice = this.#voices.get(stream);
      if (voice?.ring && !voice.ring.isFull) return true;
      this.#send(id, voice?.ring?.copy() ?? new Float32Array(0));
      if (voice) voice.ring = null;
      return false;
    });
  }
}

registerProcessor("segue-playout", PlayoutProcessor);
