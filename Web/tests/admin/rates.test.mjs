import assert from "node:assert/strict";
import test from "node:test";

import { History } from "../../admin/history.mjs";
import { between, rate, ratesByName, Series, shareOf, total } from "../../admin/rates.mjs";

/** An overview after `seconds`, with what differs from a quiet relay. */
function overview(seconds, more = {}) {
  return {
    node: "a", uptimeSeconds: 100 + seconds, time: 1_000_000 + seconds * 1000, cpuShare: 0.1, residentBytes: 1e6, connections: 2, participants: 2,
    loops: [{ loop: 0, connections: 2, busyShare: 0.1, slowIterations: 0, iterations: 0 }],
    frames: { in: 0, delivered: 0, bytes: 0, dropped: {} }, closes: {}, ...more,
  };
}

test("a rate is the difference by time, and unknown where a counter fell or time stood", () => {
  const unknown = [[30, 10, 2], [undefined, 10, 2], [10, 20, 0], [10, 20, -1], [10, 20, NaN]].map((given) => [...given, null]);
  for (const [before, now, seconds, expected] of [[10, 30, 2, 10], [10, 10, 2, 0], ...unknown]) {
    assert.equal(rate(before, now, seconds), expected, `${before} → ${now} in ${seconds} s`);
  }
});

test("a reason that is new counts from zero; what is gone is not told", () => {
  assert.deepEqual(ratesByName({ expired: 2, gone: 5 }, { expired: 4, superseded: 6 }, 2), { expired: 1, superseded: 3 });
  assert.deepEqual(ratesByName(undefined, undefined, 2), {});
});

test("totals and shares", () => {
  assert.equal(total({ a: 1, b: 2, c: NaN }), 3);
  assert.equal(total(undefined), 0);
  assert.deepEqual([shareOf(1, 4), shareOf(0, 0), shareOf(undefined, 4)], [0.25, 0, null]);
});

test("between two overviews: rates by the relay's clock, dropped frames as a share of what was due", () => {
  const change = between(
    overview(0, { frames: { in: 100, delivered: 1000, bytes: 5000, dropped: { expired: 10 } }, closes: { silent: 1 } }),
    overview(2, {
      frames: { in: 300, delivered: 1900, bytes: 7000, dropped: { expired: 60, superseded: 50 } }, closes: { silent: 3 },
      loops: [{ loop: 0, connections: 2, busyShare: 0.5, slowIterations: 10, iterations: 1000 }],
    }),
  );
  assert.equal(change.framesIn, 100);
  assert.equal(change.framesDelivered, 450);
  assert.equal(change.bytes, 1000);
  assert.deepEqual(change.dropped, { expired: 25, superseded: 25 });
  assert.equal(change.droppedShare, 0.1);
  assert.deepEqual(change.closes, { silent: 1 });
  assert.deepEqual(change.loops.get(0), { iterations: 500, slow: 5, slowShare: 0.01 });
  assert.equal(change.gap, false);
});

test("across a restart nothing is known, not even where the new counts are higher", () => {
  const few = { in: 1, delivered: 1, bytes: 1, dropped: {} };
  const more = { in: 500, delivered: 500, bytes: 500, dropped: { expired: 9 } };
  const change = between(overview(50, { frames: few }), overview(52, { uptimeSeconds: 3, frames: more }));
  assert.equal(change.restarted, true);
  for (const name of ["framesIn", "framesDelivered", "bytes", "droppedTotal", "droppedShare", "closesTotal"]) assert.equal(change[name], null, name);
});

test("without an earlier overview, or with the same, nothing is told", () => {
  assert.equal(between(null, overview(0)), null);
  assert.equal(between(overview(0), overview(0)), null);
});

test("a series keeps the newest, and what is not a number is a hole", () => {
  const series = new Series(3);
  for (const value of [9, 1, undefined, 3]) series.push(value);
  assert.deepEqual(series.values, [1, null, 3]);
  assert.deepEqual(series.range, { least: 1, most: 3 });
  assert.equal(new Series().range, null);
});

test("all series of a history have the same length, also of a reason that comes late", () => {
  const history = new History(10);
  history.take(overview(0));
  history.take(overview(2));
  history.take(overview(4, { frames: { in: 0, delivered: 0, bytes: 0, dropped: { expired: 8 } } }));
  assert.deepEqual(history.series("dropped:expired").values, [null, null, 4]);
  assert.deepEqual(history.series("cpuShare").values, [0.1, 0.1, 0.1]);
  assert.deepEqual(history.series("framesIn").values, [null, 0, 0]);
  assert.deepEqual(history.series("nothing of that name").values, []);
});

test("after the page was hidden the line is broken, and no average of the gap is shown as now", () => {
  const history = new History(10);
  history.take(overview(0));
  history.take(overview(2));
  history.take(overview(600, { frames: { in: 5000, delivered: 0, bytes: 0, dropped: {} } }));
  assert.equal(history.change, null);
  assert.deepEqual(history.series("framesIn").values, [null, 0, null, null]);
  assert.deepEqual(history.series("cpuShare").values, [0.1, 0.1, null, 0.1]);
});

test("a relay that names ever more reasons does not fill the page's memory", () => {
  const history = new History(2);
  const closes = {};
  history.take(overview(0));
  for (let index = 0; index < 500; index += 1) closes[`reason_${index}`] = 1;
  history.take(overview(2, { closes }));
  assert.deepEqual(history.series("closes:reason_0").values, [null, 0.5]);
  assert.deepEqual(history.series("closes:reason_499").values, []);
});
