import assert from "node:assert/strict";
import test from "node:test";
import { bitrateFor, encoderConfiguration, opusHead, parseOpusHead } from "../../media/opus.mjs";
import { decoderConfiguration } from "../../media/decode-audio.mjs";

test("the identification header is RFC 7845 §5.1's", () => {
  const hex = Buffer.from(opusHead()).toString("hex");
  assert.equal(hex, "4f707573486561640101380180bb0000000000");
  assert.deepEqual(parseOpusHead(opusHead({ channels: 2 })), { channels: 2, preSkip: 312, sampleRate: 48_000, mappingFamily: 0 });
});

test("what is no identification header is none", () => {
  for (const bytes of [new Uint8Array(0), opusHead().subarray(0, 18), new Uint8Array(19)]) assert.equal(parseOpusHead(bytes), null);
  const [version, channels] = [opusHead(), opusHead()];
  version[8] = 0x10;
  channels[9] = 0;
  assert.equal(parseOpusHead(version), null);
  assert.equal(parseOpusHead(channels), null);
});

test("the bit rate follows what the listeners can play", () => {
  assert.equal(bitrateFor({}), 32_000);
  assert.equal(bitrateFor({ bandwidth: "wideband", channels: 1 }), 20_000);
  assert.equal(bitrateFor({ bandwidth: "narrowband", channels: 2 }), 18_000);
  assert.equal(bitrateFor({ bandwidth: "a word of tomorrow's" }), 32_000);
  assert.equal(encoderConfiguration({ bitrate: 20_000 }).opus.frameDuration, 20_000);
});

test("the decoder's configuration comes of the stream and its configuration frame", () => {
  const none = new Uint8Array(0);
  const opus = { codec: "opus", sampleRate: 48_000, numberOfChannels: 2 };
  assert.deepEqual(decoderConfiguration({ codec: "Opus" }, opusHead({ channels: 2 })), opus);
  assert.deepEqual(decoderConfiguration({ codec: "opus", description: { channels: 2, sampleRate: 16_000 } }, none), opus);
  assert.deepEqual(decoderConfiguration({ codec: "pcmu" }, none), { codec: "ulaw", sampleRate: 8_000, numberOfChannels: 1 });
  const aac = new Uint8Array([0x11, 0x90]);
  assert.deepEqual(
    decoderConfiguration({ codec: "mp4a.40.2", description: { sampleRate: 44_100, channels: 2 } }, aac),
    { codec: "mp4a.40.2", sampleRate: 44_100, numberOfChannels: 2, description: aac });
});
