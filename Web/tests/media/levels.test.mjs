import assert from "node:assert/strict";
import test from "node:test";
import { levelOf, levelOfPower, SilencePacer, VoiceDetector } from "../../media/levels.mjs";

const sine = (amplitude, count = 960) => Float32Array.from({ length: count }, (_, index) => amplitude * Math.sin((2 * Math.PI * 10 * index) / count));

test("the level is of the mean power, 0 to −127 dBov (RFC 6464 §3)", () => {
  assert.equal(levelOf(new Float32Array(960).fill(1)), 0);
  assert.equal(levelOf(sine(1)), -3);
  assert.equal(levelOf(sine(0.1)), -23);
  assert.equal(levelOf(new Float32Array(960)), -127);
  assert.equal(levelOf(new Float32Array(0)), -127);
  assert.equal(levelOf(new Float32Array(960).fill(4)), 0);
  assert.equal(levelOfPower(NaN), -127);
});

test("voice stands out of the noise, and lasts 200 ms longer", () => {
  const detector = new VoiceDetector();
  for (let index = 0; index < 100; index++) assert.equal(detector.observe(-50, 20), false);
  assert.equal(detector.observe(-25, 20), true);
  const after = Array.from({ length: 15 }, () => detector.observe(-50, 20));
  assert.deepEqual(after.lastIndexOf(true), 8);
});

test("noise that grows for good is no voice after a while, and words that go on for seconds stay voice", () => {
  const detector = new VoiceDetector();
  for (let index = 0; index < 50; index++) detector.observe(-70, 20);
  const words = Array.from({ length: 500 }, () => detector.observe(-25, 20));
  assert.ok(words.every(Boolean));
  const hum = Array.from({ length: 4_000 }, () => detector.observe(-40, 20));
  assert.equal(hum.at(-1), false);
});

test("a muted microphone sends silence at its beginning, then one frame in 400 ms", () => {
  const pacer = new SilencePacer();
  assert.deepEqual(pacer.observe(-20, false, 20), { silence: false, isSent: true });
  const muted = Array.from({ length: 100 }, () => pacer.observe(-127, true, 20));
  assert.ok(muted.every(({ silence }) => silence));
  const sent = muted.map(({ isSent }, index) => (isSent ? index : -1)).filter((index) => index >= 0);
  assert.deepEqual(sent, [0, 1, 2, 3, 4, 24, 44, 64, 84]);
  assert.deepEqual(pacer.observe(-20, false, 20), { silence: false, isSent: true });
});

test("a microphone without sound is silence after a second", () => {
  const pacer = new SilencePacer();
  const quiet = Array.from({ length: 60 }, () => pacer.observe(-127, false, 20));
  assert.equal(quiet.findIndex(({ silence }) => silence), 50);
  assert.ok(quiet.slice(0, 55).every(({ isSent }) => isSent));
});
