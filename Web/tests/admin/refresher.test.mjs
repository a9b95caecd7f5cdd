import assert from "node:assert/strict";
import test from "node:test";

import { Api, ApiError, problemOf } from "../../admin/api.mjs";
import { backoff } from "../../admin/backoff.mjs";
import { Refresher } from "../../admin/refresher.mjs";
import { Clock, Page, settle } from "./support.mjs";

function setting(load) {
  const clock = new Clock();
  const page = new Page();
  const begun = [];
  const shown = [];
  const failed = [];
  const refresher = new Refresher({
    load: (signal) => {
      begun.push(clock.now);
      return load(signal, begun.length);
    },
    show: (answer) => shown.push(answer),
    fail: (error, pause) => failed.push([error.message, pause]),
    page, random: () => 0.5, setTimer: clock.setTimer, clearTimer: clock.clearTimer,
  });
  return { clock, page, begun, shown, failed, refresher };
}

test("it asks at once, and two seconds after each answer", async () => {
  const { refresher, clock, begun, shown } = setting(async (signal, number) => number);
  refresher.start();
  await settle();
  await clock.pass(5_000);
  assert.deepEqual(begun, [0, 2000, 4000]);
  assert.deepEqual(shown, [1, 2, 3]);
  refresher.stop();
  await clock.pass(60_000);
  assert.equal(begun.length, 3);
});

test("a slow answer is waited for: never two requests at a time", async () => {
  const { refresher, clock, begun } = setting((signal, number) => new Promise((resolve) => clock.setTimer(() => resolve(number), 7_000)));
  refresher.start();
  await clock.pass(20_000);
  assert.deepEqual(begun, [0, 9000, 18_000]);
});

test("nothing is asked while the page is hidden, what is under way is given up, and back in sight it asks at once", async () => {
  const signals = [];
  const { refresher, clock, page, begun, shown } = setting((signal, number) => {
    signals.push(signal);
    return number === 1 ? new Promise(() => {}) : Promise.resolve(number);
  });
  refresher.start();
  page.turn(true);
  assert.equal(signals[0].aborted, true);
  await clock.pass(600_000);
  assert.equal(begun.length, 1);
  page.turn(false);
  await settle();
  assert.deepEqual(shown, [2]);
  refresher.stop();
  page.turn(true);
  page.turn(false);
  assert.equal(begun.length, 2, "it is stopped");
});

test("failures are told with the pause before the next try, which grows and is over with a success", async () => {
  const { refresher, clock, failed, shown } = setting(async (signal, number) => {
    if (number <= 3) throw new ApiError(0, "away");
    return number;
  });
  refresher.start();
  await clock.pass(1500 + 3000 + 6000);
  assert.deepEqual(failed, [["away", 1500], ["away", 3000], ["away", 6000]]);
  assert.deepEqual(shown, [4]);
  assert.deepEqual(clock.waiting, [2000]);
});

test("what would be refused again is not asked again", async () => {
  for (const status of [400, 403, 404]) {
    const { refresher, clock, begun, failed } = setting(async () => {
      throw new ApiError(status, "no");
    });
    refresher.start();
    await clock.pass(600_000);
    assert.equal(begun.length, 1, String(status));
    assert.deepEqual(failed, [["no", null]]);
  }
});

test("a request for it asks at once, and an answer that is not wanted any more is not shown", async () => {
  const resolves = [];
  const { refresher, shown, begun } = setting(() => new Promise((resolve) => resolves.push(resolve)));
  refresher.start();
  refresher.refresh();
  assert.equal(begun.length, 2);
  resolves[1]("new");
  resolves[0]("old");
  await settle();
  assert.deepEqual(shown, ["new"]);
});

test("pauses double, are bounded, and are by chance up to a half shorter", () => {
  assert.deepEqual([1, 2, 3, 9, 1000].map((failures) => backoff(failures, () => 1)), [2000, 4000, 8000, 60_000, 60_000]);
  assert.deepEqual([1, 9].map((failures) => backoff(failures, () => 0)), [1000, 30_000]);
});

test("problems (RFC 9457) become errors with their detail; what is no problem document still says its status", async () => {
  const error = await problemOf(new Response(JSON.stringify({ title: "Forbidden", detail: "Not so." }), { status: 403 }));
  assert.deepEqual([error.status, error.title, error.message, error.isFinal], [403, "Forbidden", "Not so.", true]);
  const other = await problemOf(new Response("<html>", { status: 502 }));
  assert.deepEqual([other.status, other.message, other.isFinal], [502, "The relay answered 502.", false]);
});

test("the API asks same-origin JSON uncached, follows no redirect, and tells what went wrong", async () => {
  const asked = [];
  const answers = [
    () => new Response('{"rooms":[]}'), () => new Response("oops"), () => new Response(null, { status: 204 }), () => Promise.reject(new TypeError("failed")),
  ];
  const api = new Api(async (path, options) => {
    asked.push([path, options.method, options.cache, options.redirect]);
    return answers.shift()();
  });
  assert.deepEqual(await api.get("/v1/rooms"), { rooms: [] });
  await assert.rejects(api.get("/v1/rooms"), /no JSON/);
  await api.act("DELETE", "/v1/rooms/demo");
  await assert.rejects(api.act("POST", "/v1/drain"), (error) => error.status === 0 && /does not answer/.test(error.message));
  assert.deepEqual(asked[2], ["/v1/rooms/demo", "DELETE", "no-store", "error"]);
});
