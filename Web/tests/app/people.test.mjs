import assert from "node:assert/strict";
import test from "node:test";
import { changesBetween, hueOf, initials, mainTile, nameOf, peopleOf, promoteSpeakers, shortName, stateWords, tilesOf } from "../../app/people.mjs";
import { strings } from "../../app/strings.mjs";

/** @param {Array<any>} participants @param {Array<any>} [streams] */
const room = (participants, streams = []) => ({
  me: 1, participants: new Map(participants.map((one) => [
    one.participant, { identity: { name: `urn:segue:client:p${one.participant}` }, role: "speaker", ...one },
  ])),
  streams: new Map(streams.map((one) => [one.stream, one])),
});
const audio = (stream, participant) => ({ stream, participant, kind: "audio", source: "microphone" });
const video = (stream, participant, source = "camera") => ({ stream, participant, kind: "video", source });

test("names: the display name, else the identity's last part, else a number", () => {
  assert.equal(nameOf({ displayName: " Ann ", identity: { name: "urn:x:ann" } }), "Ann");
  assert.equal(nameOf({ displayName: "", identity: { name: "urn:segue:client:bob" } }), "bob");
  assert.equal(nameOf({ participant: 7 }), "Participant 7");
  assert.deepEqual(["urn:segue:client:alice", "token:dev", "plain", "a:"].map(shortName), ["alice", "dev", "plain", "a"]);
  assert.deepEqual(["Ada Lovelace", "bob", "", "  ", "jean-luc picard", "😀 x"].map(initials), ["AL", "B", "?", "?", "JP", "😀X"]);
  assert.equal(hueOf("alice"), hueOf("alice"));
});

test("states: held, muted by oneself, muted by a host, Bluetooth, nothing coming, speaking", () => {
  const people = peopleOf(room([
    { participant: 1 }, { participant: 2, held: true, interruptionReason: "handoff" }, { participant: 3, muted: ["audio"] }, { participant: 4 },
    { participant: 5, route: { inputs: [], outputs: [{ type: "bluetoothHFP" }] } }, { participant: 6 },
  ], [2, 3, 4, 5, 6].map((id) => audio(id * 10, id))), {
    presence: new Map([[4, { muted: true }]]), stalled: new Set([6]), self: { muted: false, reconnecting: true },
  });
  const words = people.map((person) => stateWords(person, new Set([1, 2, 3, 4, 5, 6])).join(" "));
  assert.deepEqual(words, ["reconnecting", "held", "muted", "muted", "bluetooth speaking", "reconnecting"]);
  assert.equal(people[1].heldReason, "handoff");
  for (const word of ["held", "muted", "bluetooth", "reconnecting", "speaking", "mutedByHost"]) assert.equal(typeof strings.states[word], "string");
});

test("tiles: screens first, oneself last, recorders none, one's own screen from oneself", () => {
  const people = peopleOf(room(
    [{ participant: 1 }, { participant: 2 }, { participant: 3, role: "recorder" }, { participant: 4 }],
    [video(20, 2), video(40, 4), video(41, 4, "screen")],
  ));
  assert.deepEqual(tilesOf(people).map((tile) => tile.key), ["4:screen", "2", "4", "1"]);
  assert.deepEqual(tilesOf(people, { myScreen: true }).map((tile) => tile.key), ["1:screen", "4:screen", "2", "4", "1"]);
  assert.equal(tilesOf(people)[0].stream, 41);
});

test("the large tile: pinned, then a screen, then who speaks, then who spoke last, then anybody but oneself", () => {
  const plain = tilesOf(peopleOf(room([{ participant: 1 }, { participant: 2 }, { participant: 3 }])));
  const shared = tilesOf(peopleOf(room([{ participant: 1 }, { participant: 2 }, { participant: 3 }], [video(31, 3, "screen")])));
  const key = (tiles, wishes) => mainTile(tiles, { pinned: null, speaking: [], last: null, ...wishes })?.key;
  assert.equal(key(shared, { pinned: "2", speaking: [3] }), "2");
  assert.equal(key(shared, { speaking: [2] }), "3:screen");
  assert.equal(key(plain, { speaking: [1, 3] }), "3");
  assert.equal(key(plain, { last: "3" }), "3");
  assert.equal(key(plain, { last: "9" }), "2");
  assert.equal(key(tilesOf(peopleOf(room([{ participant: 1 }]))), {}), "1");
  assert.equal(mainTile([], { pinned: null, speaking: [], last: null }), null);
});

test("who speaks on a later page changes places with who spoke longest ago; the others stay", () => {
  const tiles = tilesOf(peopleOf(room([1, 2, 3, 4, 5].map((participant) => ({ participant })))));
  const promoted = promoteSpeakers(tiles, 2, new Map([[2, 100], [3, 50]]), new Set([5]));
  assert.deepEqual(promoted.map((tile) => tile.key), ["2", "5", "4", "3", "1"]);
  assert.deepEqual(promoteSpeakers(tiles, 2, new Map(), new Set([2, 3, 5])).map((tile) => tile.key), tiles.map((tile) => tile.key));
});

test("what changed is told: who came, left, is held, is back, shares; of oneself mutes by hosts and roles", () => {
  const before = peopleOf(room([{ participant: 1 }, { participant: 2 }, { participant: 3, held: true }]));
  const after = peopleOf(room([{ participant: 1, muted: ["audio"], role: "host" }, { participant: 3 }, { participant: 4 }], [video(31, 3, "screen")]));
  assert.deepEqual(changesBetween(before, after), [
    { what: "mutedByHost", name: "p1" }, { what: "role", name: "host" }, { what: "released", name: "p3" }, { what: "screen", name: "p3" },
    { what: "joined", name: "p4" }, { what: "left", name: "p2" },
  ]);
  assert.deepEqual(changesBetween(after, after), []);
  for (const { what } of changesBetween(before, after)) assert.ok(strings.announce[what], what);
});
