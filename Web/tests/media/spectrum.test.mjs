import assert from "node:assert/strict";
import test from "node:test";
import { resampler } from "../../media/resample.mjs";
import { strongestTone } from "../../media/spectrum.mjs";

const rate = 48_000;
const tone = (hertz, amplitude = 0.5, count = rate, sampleRate = rate) =>
  Float32Array.from({ length: count }, (_, index) => amplitude * Math.sin((2 * Math.PI * hertz * index) / sampleRate));

test("the strongest tone is found within a hertz or two", () => {
  for (const hertz of [100, 397.3, 440, 1_000, 5_003]) {
    const found = strongestTone(tone(hertz), rate);
    assert.ok(Math.abs(found.hertz - hertz) < 2, `${hertz}: ${found.hertz}`);
    assert.ok(Math.abs(found.level + 9) < 0.5, `level ${found.level}`);
    assert.ok(found.share > 0.95);
  }
});

test("a beep of a few milliseconds in a second of silence is found", () => {
  const samples = new Float32Array(rate);
  samples.set(tone(440, 0.5, 2_400), 31_000);
  const found = strongestTone(samples, rate);
  assert.ok(Math.abs(found.hertz - 440) < 8, String(found.hertz));
});

test("silence has no tone, and noise has none that stands out", () => {
  assert.deepEqual(strongestTone(new Float32Array(rate), rate), { hertz: 0, level: -127, share: 0 });
  assert.deepEqual(strongestTone(new Float32Array(0), rate), { hertz: 0, level: -127, share: 0 });
  let state = 1;
  const noise = Float32Array.from({ length: rate }, () => ((state = (state * 48_271) % 2_147_483_647) / 2_147_483_647) - 0.5);
  assert.ok(strongestTone(noise, rate).share < 0.1);
});

test("a resampler keeps tone, loudness and length over its blocks", () => {
  for (const [from, to] of [[8_000, rate], [16_000, rate], [44_100, rate], [rate, 16_000]]) {
    const resample = resampler(from, to);
    const input = tone(440, 0.5, from, from);
    const blocks = [];
    for (let start = 0; start < input.length; start += 160) blocks.push(...resample(input.subarray(start, start + 160)));
    assert.ok(Math.abs(blocks.length - to) <= to / 100, `${from}: ${blocks.length}`);
    const found = strongestTone(Float32Array.from(blocks).subarray(to / 10), to);
    assert.ok(Math.abs(found.hertz - 440) < 3, `${from}: ${found.hertz} Hz`);
    assert.ok(Math.abs(found.level + 9) < 0.6 && found.share > 0.9, `${from}: ${found.level} dB, ${found.share}`);
  }
});
