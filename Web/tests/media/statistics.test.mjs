import assert from "node:assert/strict";
import test from "node:test";
import { Percentiles, RateWindow } from "../../media/statistics.mjs";

test("a rate is of the window alone", () => {
  const rate = new RateWindow(2_000);
  assert.equal(rate.perSecond(0), 0);
  for (let now = 0; now <= 5_000; now += 40) rate.add(1, now);
  assert.ok(Math.abs(rate.perSecond(5_000) - 25) < 1);
  assert.equal(rate.perSecond(6_000), 13);
  assert.equal(rate.perSecond(60_000), 0);
});

test("a beginning is not a slow one", () => {
  const rate = new RateWindow(2_000);
  for (let now = 1_000; now <= 2_000; now += 100) rate.add(10, now);
  assert.equal(rate.perSecond(2_000), 110);
});

test("percentiles are by the nearest rank, of the last values, and numbers only", () => {
  const values = new Percentiles(100);
  assert.equal(values.at(0.5), null);
  assert.equal(values.last, null);
  for (let value = 1; value <= 150; value++) values.add(value);
  for (const value of [NaN, Infinity]) values.add(value);
  assert.deepEqual([values.at(0.5), values.at(0.95), values.at(1), values.at(0), values.last, values.size], [100, 145, 150, 51, 150, 100]);
  values.clear();
  assert.equal(values.size, 0);
});
