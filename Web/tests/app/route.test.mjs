import assert from "node:assert/strict";
import test from "node:test";
import { formatCode, fragmentOf, looksLikeCode, parseRoomInput, parseRoute, roomTitle } from "../../app/route.mjs";

test("routes of the fragment", () => {
  for (const start of ["", "#", "#/"]) assert.equal(parseRoute(start).name, "start", start);
  assert.equal(parseRoute("#/pair").name, "pair");
  assert.deepEqual(parseRoute("#/r/demo?token=a.b.c&role=listener&name=Bob&sound=original"),
    { name: "room", room: "demo", token: "a.b.c", role: "listener", displayName: "Bob", originalSound: true });
  assert.deepEqual(parseRoute("#/r/pair%3Aabc"), { name: "room", room: "pair:abc", token: null, role: null, displayName: null, originalSound: false });
  assert.equal(/** @type {any} */ (parseRoute("#/r/demo?role=emperor")).role, null);
});

test("what is no route is unknown and never an error", () => {
  for (const bad of ["#/x", "#/r", "#/r/a/b", "#/r/%E0%A4%A", "#/r/with%20space", "#/r/%3Cscript%3E", `#/r/${"a".repeat(129)}`, "#foo"]) {
    assert.equal(parseRoute(bad).name, "unknown", bad);
  }
});

test("the fragment of a room has no token, and leads back to the room", () => {
  for (const room of ["demo", "pair:00ff", "a~b_c.d-e@f"]) {
    const route = parseRoute(fragmentOf(room));
    assert.equal(route.name, "room");
    assert.equal(/** @type {any} */ (route).room, room);
    assert.equal(/** @type {any} */ (route).token, null);
  }
});

test("people type names, names with spaces, and whole links", () => {
  assert.equal(parseRoomInput("  demo ")?.room, "demo");
  assert.equal(parseRoomInput("monday standup")?.room, "monday-standup");
  assert.deepEqual(parseRoomInput("https://relay.example.org:8443/#/r/demo?token=x.y.z")?.token, "x.y.z");
  for (const bad of ["", "   ", "a/b", "https://example.org/", "#/pair", "schöner raum"]) assert.equal(parseRoomInput(bad), null, bad);
});

test("codes", () => {
  for (const good of ["7KPA4MXQ", "7kpa-4mxq", " 7KPA 4MXQ "]) assert.ok(looksLikeCode(good), good);
  for (const bad of ["", "7KPA", "7KPA4MXQQ", "7KPA4MX!"]) assert.ok(!looksLikeCode(bad), bad);
  assert.equal(formatCode("7KPA4MXQ"), "7KPA 4MXQ");
  assert.equal(roomTitle("pair:77ab", "bob"), "Private room with bob");
  assert.equal(roomTitle("demo"), "demo");
});
