import assert from "node:assert/strict";
import test from "node:test";

import { LiveFeed } from "../../admin/live.mjs";
import { Clock, eventSources, Page, settle } from "./support.mjs";

/** A feed whose chance is one half: pauses are three quarters of their most. */
function setting({ answer = () => new Response("{}", { status: 500 }), hidden = false } = {}) {
  const clock = new Clock();
  const page = new Page();
  page.hidden = hidden;
  const sources = eventSources();
  const asked = [];
  const feed = new LiveFeed({
    page, EventSource: sources.Source, random: () => 0.5, setTimer: clock.setTimer, clearTimer: clock.clearTimer,
    fetch: async (url, options) => {
      asked.push(url);
      return answer(url, options);
    },
  });
  const states = [];
  const overviews = [];
  feed.addEventListener("state", (event) => states.push(event.detail.state));
  feed.addEventListener("overview", (event) => overviews.push(event.detail));
  feed.start();
  return { clock, page, sources, asked, feed, states, overviews };
}

const problem = (status) => () => new Response(JSON.stringify({ title: "no", status }), { status });

test("one event source, of /v1/live, and its overviews are told", () => {
  const { sources, overviews, states, feed } = setting();
  assert.deepEqual(sources.made.map((source) => source.url), ["/v1/live"]);
  sources.made[0].tell({ node: "a" });
  sources.made[0].tell({ node: "b" });
  assert.deepEqual(overviews, [{ node: "a" }, { node: "b" }]);
  assert.deepEqual(states, ["connecting", "open"]);
  feed.start();
  assert.equal(sources.made.length, 1, "starting twice is starting once");
});

test("nothing is open while the page is hidden, and nothing is waited for", async () => {
  const { page, sources, clock, states } = setting();
  sources.made[0].tell({});
  page.turn(true);
  assert.equal(sources.open().length, 0);
  await clock.pass(3_600_000);
  assert.equal(sources.made.length, 1);
  page.turn(false);
  assert.equal(sources.open().length, 1);
  assert.deepEqual(states, ["connecting", "open", "hidden", "connecting"]);
});

test("a page that is hidden from the beginning opens nothing", () => {
  assert.equal(setting({ hidden: true }).sources.made.length, 0);
});

test("a lost connection is tried again with growing pauses, and nothing is asked besides", async () => {
  const { sources, clock, asked, feed } = setting();
  const pauses = [];
  for (let failure = 0; failure < 8; failure += 1) {
    sources.open()[0].fail(false);
    assert.equal(sources.open().length, 0);
    pauses.push(clock.waiting[0]);
    await clock.pass(pauses.at(-1));
    assert.equal(sources.open().length, 1);
  }
  assert.deepEqual(pauses, [1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000, 45_000]);
  assert.deepEqual(asked, []);
  sources.open()[0].tell({});
  sources.open()[0].fail(false);
  assert.equal(clock.waiting[0], 1500, "after a success it begins anew");
  feed.stop();
  assert.deepEqual(clock.waiting, []);
});

test("a silent connection is lost", async () => {
  const { sources, clock, states } = setting();
  sources.made[0].tell({});
  await clock.pass(9_999);
  assert.equal(sources.open().length, 1);
  sources.made[0].tell({});
  await clock.pass(9_999);
  assert.equal(sources.open().length, 1);
  await clock.pass(1);
  assert.equal(states.at(-1), "waiting");
  assert.equal(sources.open().length, 0);
});

const ANSWERS = [[403, "refused", /administrators/], [404, "refused", /no live overview/], [503, "waiting", /watchers/], [500, "waiting", /no/]];

for (const [status, state, words] of ANSWERS) {
  test(`status ${status} is asked for once and leads to ${state}`, async () => {
    const { sources, clock, asked, feed, states } = setting({ answer: problem(status) });
    let text = "";
    feed.addEventListener("state", (event) => (text = event.detail.text));
    sources.made[0].fail(true);
    await settle();
    assert.deepEqual(asked, ["/v1/live"]);
    assert.equal(states.at(-1), state);
    assert.match(text, words);
    await clock.pass(600_000);
    assert.equal(sources.made.length > 1, state === "waiting");
  });
}

test("what was refused stays so over a look away, until somebody asks", async () => {
  const { sources, page, feed } = setting({ answer: problem(403) });
  sources.made[0].fail(true);
  await settle();
  page.turn(true);
  page.turn(false);
  assert.equal(sources.made.length, 1);
  feed.retry();
  assert.equal(sources.open().length, 1);
  feed.retry();
  assert.equal(sources.made.length, 2, "a try under way is not doubled");
});

test("an answer to the question comes too late when the page was hidden meanwhile", async () => {
  let give;
  const { sources, page, clock, states } = setting({ answer: (url, { signal }) => new Promise((resolve, reject) => {
    give = resolve;
    signal.addEventListener("abort", () => reject(signal.reason));
  }) });
  sources.made[0].fail(true);
  await settle();
  page.turn(true);
  give(problem(403)());
  await settle();
  assert.equal(states.at(-1), "hidden");
  assert.deepEqual(clock.waiting, []);
});

test("what is no JSON is a failure of the connection", () => {
  const { sources, states, overviews } = setting();
  sources.made[0].tell("{");
  assert.deepEqual(overviews, []);
  assert.equal(states.at(-1), "waiting");
});

test("words of a source that was given up are not heard", () => {
  const { sources, page, overviews } = setting();
  const old = sources.made[0];
  page.turn(true);
  page.turn(false);
  old.tell({ old: true });
  old.fail(true);
  assert.deepEqual(overviews, []);
  assert.equal(sources.open().length, 1);
});
