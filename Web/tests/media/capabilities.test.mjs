import assert from "node:assert/strict";
import test from "node:test";
import { capabilities, chooseVideoCodec, reasons } from "../../media/capabilities.mjs";

const codec = (name, encode = true, decode = true) => ({ codec: name, encode, decode, scalabilityModes: [] });
const all = ["vp09.00.31.08", "avc1.42E01F", "vp8", "av01.0.05M.08"].map((name) => codec(name));

test("small pictures are VP8's, large ones VP9's", () => {
  assert.equal(chooseVideoCodec(all, 480 * 360).codec, "vp8");
  assert.equal(chooseVideoCodec(all, 1280 * 720).codec, "vp09.00.31.08");
});

test("what is both encoded and decoded goes before what is encoded only", () => {
  assert.equal(chooseVideoCodec([codec("vp09.00.31.08", true, false), codec("avc1.42E01F")], 1e6).codec, "avc1.42E01F");
  assert.equal(chooseVideoCodec([codec("vp09.00.31.08", false, true), codec("avc1.42E01F", true, false)], 1e6).codec, "avc1.42E01F");
  assert.equal(chooseVideoCodec([codec("vp8", false, true)], 100), null);
});

test("a browser without anything is told what it cannot do, in sentences", async () => {
  const { why, ...found } = await capabilities();
  assert.deepEqual([found.audioEncode, found.audioDecode, found.worklet, found.capture], [false, false, false, false]);
  assert.ok(why.some((sentence) => sentence.includes("listen to the room's mix")));
  for (const sentence of why) assert.match(sentence, /^[A-Z].*\.$/);
});

test("a browser that has everything is told nothing", () => {
  const found = { audioEncode: true, audioDecode: true, worklet: true, video: all, capture: true, screen: true, outputSelection: true };
  assert.deepEqual(reasons(found, true), []);
  assert.equal(reasons({ ...found, audioEncode: false }, true).length, 1);
});
