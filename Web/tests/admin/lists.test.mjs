import assert from "node:assert/strict";
import test from "node:test";

import { pagePath, Pages } from "../../admin/paging.mjs";
import { parseRoute, path, roomLink, sessionLink } from "../../admin/routes.mjs";
import { nextOrder, sorted } from "../../admin/sorting.mjs";
import { sparklinePath } from "../../admin/sparkline-path.mjs";

test("columns sort numbers by size, names as people count, and what is not known last either way", () => {
  const rows = [{ v: "room 10" }, { v: undefined }, { v: "room 2" }, { v: "Room 1" }];
  assert.deepEqual(sorted(rows, (row) => row.v).map((row) => row.v), ["Room 1", "room 2", "room 10", undefined]);
  assert.deepEqual(sorted(rows, (row) => row.v, true).map((row) => row.v), ["room 10", "room 2", "Room 1", undefined]);
  assert.deepEqual(sorted([3, NaN, -1, 20], (value) => value, true), [20, 3, -1, NaN]);
  assert.deepEqual(sorted([false, true], (value) => value), [true, false]);
});

test("equal rows keep their order, and the given list its own", () => {
  const rows = [{ k: 1, n: "a" }, { k: 0, n: "b" }, { k: 1, n: "c" }];
  assert.deepEqual(sorted(rows, (row) => row.k, true).map((row) => row.n), ["a", "c", "b"]);
  assert.deepEqual(rows.map((row) => row.n), ["a", "b", "c"]);
});

test("a column's head turns its order; numbers begin with the largest", () => {
  const first = nextOrder(null, "participants", true);
  assert.deepEqual(first, { key: "participants", descending: true });
  assert.deepEqual(nextOrder(first, "participants", true), { key: "participants", descending: false });
  assert.deepEqual(nextOrder(first, "name"), { key: "name", descending: false });
});

test("10.2 the part behind one is asked for by `after`, encoded once", () => {
  assert.equal(pagePath("/v1/rooms"), "/v1/rooms?limit=50");
  assert.equal(pagePath("/v1/rooms", { after: "a&b=c d:~", limit: 500 }), "/v1/rooms?limit=500&after=a%26b%3Dc+d%3A%7E");
});

test("10.2 pages go forward by `next` and back to what was shown before", () => {
  let pages = new Pages();
  assert.deepEqual([pages.after, pages.number, pages.hasNext, pages.hasPrevious], [null, 1, false, false]);
  assert.equal(pages.forward(), pages, "nothing is behind it yet");
  pages = pages.answered("m").forward();
  assert.deepEqual([pages.after, pages.number, pages.hasNext, pages.hasPrevious], ["m", 2, false, true]);
  pages = pages.answered("t").forward().answered(undefined);
  assert.deepEqual([pages.after, pages.number, pages.hasNext], ["t", 3, false]);
  pages = pages.back();
  assert.deepEqual([pages.after, pages.number], ["m", 2]);
  assert.deepEqual([pages.back().after, pages.back().back().number], [null, 1]);
});

test("the fragment says what is shown", () => {
  for (const [fragment, expected] of [
    ["", { view: "overview" }],
    ["#/", { view: "overview" }],
    ["#/rooms", { view: "rooms" }],
    ["#/rooms/pair%3Aab~c", { view: "room", room: "pair:ab~c" }],
    ["#/sessions/0a", { view: "session", session: "0a" }],
    ["#/sessions", { view: "sessions" }],
    ["#/rooms/%E0%A4%A", { view: "unknown" }],
    ["#/rooms/a/b", { view: "unknown" }],
    ["#main", { view: "unknown" }],
  ]) {
    assert.deepEqual(parseRoute(fragment), expected, fragment);
  }
});

test("names with anything in them go through links and paths and come back", () => {
  const name = "a/b?c#d %41é:";
  assert.deepEqual(parseRoute(roomLink(name)), { view: "room", room: name });
  assert.deepEqual(parseRoute(sessionLink(name)), { view: "session", session: name });
  assert.equal(path`/v1/rooms/${name}/participants/${7}`, "/v1/rooms/a%2Fb%3Fc%23d%20%2541%C3%A9%3A/participants/7");
});

const BOX = { width: 100, height: 20 };

test("a sparkline stands on zero, its newest value at the right edge", () => {
  const { line, area, most } = sparklinePath([0, 5, 10], { ...BOX, capacity: 5 });
  assert.equal(line, "M50 19L75 10L100 1");
  assert.equal(area, "M50 19L75 10L100 1L100 20L50 20Z");
  assert.equal(most, 10);
});

test("a hole breaks the line, and a value alone is a dot", () => {
  const { line, area } = sparklinePath([4, null, 4, 4], BOX);
  assert.equal(line, "M0 1h0M66.67 1L100 1");
  assert.equal(area.match(/Z/g).length, 1);
});

test("little is drawn as little where the top stands for at least so much; nothing is a flat line", () => {
  assert.equal(sparklinePath([1, 1], { ...BOX, least: 2 }).line, "M0 10L100 10");
  assert.equal(sparklinePath([0, 0], BOX).line, "M0 19L100 19");
  assert.deepEqual(sparklinePath([], BOX), { line: "", area: "", most: 0 });
  assert.equal(sparklinePath([null], BOX).line, "");
});
