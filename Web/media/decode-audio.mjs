// One audio stream, from its frames to samples: an AudioDecoder, and what belongs to each packet beside its samples.

import { parseOpusHead } from "./opus.mjs";
import { resampler } from "./resample.mjs";

/** Names of the protocol (Sources/PROTOCOL.md, 3.6) and of WebCodecs. */
const codecs = {
  opus: "opus", pcm_s16: "pcm-s16", "pcm-s16": "pcm-s16", pcmu: "ulaw", ulaw: "ulaw", pcma: "alaw", alaw: "alaw", aac: "mp4a.40.2",
};

/**
 * The decoder's configuration for a stream.
 *
 * @param {{codec: string, description?: {sampleRate?: number, channels?: number}}} stream
 * @param {Uint8Array} configuration payload of the configuration frame; may be empty
 */
export function decoderConfiguration(stream, configuration) {
  const name = stream.codec.toLowerCase();
  const codec = codecs[name] ?? (name.startsWith("mp4a.") ? name : name);
  const { sampleRate = codec === "opus" ? 48_000 : 8_000, channels = 1 } = stream.description ?? {};
  if (codec === "opus") {
    const head = parseOpusHead(configuration);
    const numberOfChannels = Math.min(head?.channels ?? channels, 2);
    // The header is given on only where the channels' order needs it: with it, decoders leave out the first samples, and each packet must give its own.
    return { codec, sampleRate: 48_000, numberOfChannels, ...(head && head.mappingFamily !== 0 ? { description: configuration } : {}) };
  }
  return { codec, sampleRate, numberOfChannels: channels, ...(configuration.length > 0 ? { description: configuration } : {}) };
}

export class AudioStreamDecoder {
  failures = 0;

  #configuration;
  #output;
  #fail;
  #decoder = null;
  #waiting = [];
  #at = 0;
  #resample = null;

  /**
   * @param {{configuration: object, output: (packet: {sequence: number, timestamp: number, flags: number}, samples: Float32Array, channels: number) => void,
   *   fail: (error: Error) => void}} options samples: 48 kHz, interleaved, one or two channels
   */
  constructor({ configuration, output, fail }) {
    this.#configuration = configuration;
    this.#output = output;
    this.#fail = fail;
  }

  /** Takes a packet's payload. Silence without a payload needs no decoder. */
  decode(payload, packet) {
    if (payload.length === 0) {
      this.#output(packet, new Float32Array(0), 0);
      return;
    }
    if (this.#decoder?.state !== "configured") this.#make();
    // Times of the decoder's own, by which it tells nothing: packets come out in their order.
    this.#at += 20_000;
    this.#waiting.push(packet);
    try {
      this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: this.#at, data: payload }));
    } catch (error) {
      this.#lose(error);
    }
  }

  #make() {
    this.#waiting = [];
    const decoder = new AudioDecoder({
      output: (data) => {
        if (decoder === this.#decoder) this.#take(data);
        data.close();
      },
      error: (error) => {
        if (decoder === this.#decoder) this.#lose(error);
      },
    });
    this.#decoder = decoder;
    decoder.configure(this.#configuration);
  }

  /** The decoder is of no use any more; the next packet gets a new one. */
  #lose(error) {
    this.failures += 1;
    const decoder = this.#decoder;
    this.#decoder = null;
    if (decoder && decoder.state !== "closed") decoder.close();
    this.#fail(error);
  }

  #take(data) {
    const packet = this.#waiting.shift();
    if (!packet) return;
    const channels = Math.min(data.numberOfChannels, 2);
    const frames = data.numberOfFrames;
    const planes = Array.from({ length: channels }, (_, planeIndex) => {
      const plane = new Float32Array(frames);
      data.copyTo(plane, { planeIndex, format: "f32-planar" });
      return plane;
    });
    if (data.sampleRate !== 48_000) this.#resample ??= Array.from({ length: channels }, () => resampler(data.sampleRate, 48_000));
    const full = this.#resample && data.sampleRate !== 48_000 ? planes.map((plane, index) => this.#resample[index](plane)) : planes;
    this.#output(packet, interleave(full), channels);
  }

  close() {
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.#decoder = null;
    this.#waiting = [];
  }
}

function interleave(planes) {
  if (planes.length === 1) return planes[0];
  const [left, right] = planes;
  const samples = new Float32Array(left.length * 2);
  for (let index = 0; index < left.length; index++) {
    samples[index * 2] = left[index];
    samples[index * 2 + 1] = right[index];
  }
  return samples;
}
