import assert from "node:assert/strict";
import test from "node:test";
import { ClockMap, PublisherTimeline, ticksOf } from "../../media/clocks.mjs";
import { serialDistance } from "../../segue/frames.mjs";

test("a timestamp's difference holds over the wrap (RFC 1982)", () => {
  for (const [a, b, difference] of [[5, 3, 2], [3, 5, -2], [2, 0xffff_fffe, 4], [0xffff_fffe, 2, -4], [0x8000_0000, 0, -0x8000_0000]]) {
    assert.equal(serialDistance(a, b), difference);
  }
});

test("ticks wrap at 32 bits", () => {
  assert.equal(ticksOf(1_000, 48_000), 48_000);
  assert.equal(ticksOf((2 ** 32 / 90_000) * 1000 + 10, 90_000), 900);
  assert.equal(ticksOf(-1, 90_000), 2 ** 32 - 90);
});

test("a clock map takes the least delay that it saw, forgets it after the window, and follows drift", () => {
  const map = new ClockMap({ windowMilliseconds: 1_000, segments: 10 });
  assert.equal(map.isKnown, false);
  map.observe(0, 130);
  map.observe(20, 125);
  map.observe(40, 170);
  assert.equal(map.toLocal(40), 145);
  // From here on the other clock lags by 60 ms more; the window over, that is what holds.
  for (let at = 200; at < 2_500; at += 20) map.observe(at, at + 165);
  assert.equal(map.toLocal(2_500), 2_665);
});

test("a clock that is another one altogether is taken at once", () => {
  const map = new ClockMap();
  map.observe(1_000, 1_100);
  map.observe(50_000_000, 1_200);
  assert.equal(map.toLocal(50_000_000), 1_200);
});

test("sound counts samples, however its arrival varies", () => {
  const timeline = new PublisherTimeline(1_000);
  const timestamps = [0, 3, -2, 8, 1].map((jitter, index) => timeline.audio(1_100 + index * 20 + jitter, 960).timestamp);
  assert.deepEqual(timestamps, [4_800, 5_760, 6_720, 7_680, 8_640]);
});

test("sound that was away goes on where the time is, with a discontinuity", () => {
  const timeline = new PublisherTimeline(0);
  assert.deepEqual(timeline.audio(0, 960), { timestamp: 0, discontinuity: false });
  assert.deepEqual(timeline.audio(500, 960), { timestamp: 24_000, discontinuity: true });
  assert.deepEqual(timeline.audio(520, 960), { timestamp: 24_960, discontinuity: false });
});

test("pictures have the zero of the sound, and follow its drift", () => {
  const timeline = new PublisherTimeline(0);
  assert.equal(timeline.video(100), 9_000);
  // The sound's clock is fast by 1 per mille: after 20 s it is 20 ms ahead, which is no jump.
  let last = 0;
  for (let index = 0; index < 1_000; index++) last = timeline.audio(index * 20 * 0.999, 960).timestamp;
  const captured = 999 * 20 * 0.999;
  const skew = timeline.video(captured) / 90 - captured;
  assert.ok(Math.abs(last / 48 - captured - skew) < 2, `pictures are ${skew} ms ahead`);
  assert.ok(skew > 15);
});

test("a timeline's timestamps wrap", () => {
  const wrap = (2 ** 32 / 48_000) * 1000;
  const timeline = new PublisherTimeline(0);
  const first = timeline.audio(wrap - 20, 960).timestamp;
  const second = timeline.audio(wrap, 960).timestamp;
  assert.equal(serialDistance(second, first), 960);
  assert.ok(second < 960);
});
