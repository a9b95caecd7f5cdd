// What is to be known of Opus (RFC 6716, RFC 7845) outside its codec. Pure.

/** Samples at 48 kHz that an encoder of libopus is ahead by: RFC 7845 §5.1 wants them named. */
const preSkip = 312;

/** The identification header (RFC 7845 §5.1): the configuration frame of an Opus stream, for one or two channels. */
export function opusHead({ channels = 1, sampleRate = 48_000 } = {}) {
  const head = new Uint8Array(19);
  const view = new DataView(head.buffer);
  head.set(new TextEncoder().encode("OpusHead"));
  head[8] = 1;
  head[9] = channels;
  view.setUint16(10, preSkip, true);
  view.setUint32(12, sampleRate, true);
  return head;
}

/** Reads an identification header; null when it is none, or of a version that is not known. */
export function parseOpusHead(bytes) {
  if (bytes.length < 19 || new TextDecoder("latin1").decode(bytes.subarray(0, 8)) !== "OpusHead" || bytes[8] >> 4 !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const channels = bytes[9];
  if (channels === 0) return null;
  return { channels, preSkip: view.getUint16(10, true), sampleRate: view.getUint32(12, true), mappingFamily: bytes[18] };
}

/** Bits a second that a voice is worth in each of Opus' bandwidths, for one channel. */
const bitrates = { narrowband: 12_000, mediumband: 16_000, wideband: 20_000, superwideband: 28_000, fullband: 32_000 };

/** The encoder's bit rate for what the listeners can play (`format.wanted`). */
export function bitrateFor({ bandwidth = "fullband", channels = 1 } = {}) {
  const one = bitrates[bandwidth] ?? bitrates.fullband;
  return channels > 1 ? Math.round(one * 1.5) : one;
}

/** What an AudioEncoder is configured with, for speech in frames of 20 ms. */
export function encoderConfiguration({ bitrate, channels = 1 }) {
  return {
    codec: "opus", sampleRate: 48_000, numberOfChannels: channels, bitrate, bitrateMode: "variable",
    opus: { format: "opus", frameDuration: 20_000, application: "voip", signal: "voice", complexity: 5, packetlossperc: 0, useinbandfec: false, usedtx: false },
  };
}
