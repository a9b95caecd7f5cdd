import assert from "node:assert/strict";
import { test } from "node:test";
import { Room } from "../../segue/room.mjs";
import { FakeRelay, generator, recorded, roomMessage, settle } from "./support/fakes.mjs";
import { encodeFrame } from "../../segue/frames.mjs";
import { bundle } from "./support/relay-frames.mjs";

test("§3.4 the answer to join is the room", () => {
  const room = Room.from({ ...roomMessage("demo"), speakers: [{ participant: 4, stream: 2, level: -23 }, { participant: 4, stream: 2, level: 5 }] });
  assert.deepEqual([room.name, room.me, room.role, room.state, room.locked], ["demo", 5, "speaker", "joined", false]);
  assert.deepEqual([...room.participants.keys()], [4, 5]);
  assert.equal(room.participants.get(5).displayName, "Alice");
  assert.equal(room.participants.get(4).identity.name, "urn:bob");
  assert.equal(room.streams.get(2).codec, "opus");
  assert.deepEqual(room.speakers, [{ participant: 4, stream: 2, level: -23 }]);
  assert.ok(room.mayReceive(2) && !room.isOwn(2) && !room.mayReceive(3));
});

const CHANGES = [
  ["participant.joined", { participant: 6, role: "listener", identity: { name: "urn:carol" } }, (room) => room.participants.get(6).identity.name, "urn:carol"],
  ["participant.left", { participant: 4, reason: "left" }, (room) => [room.participants.has(4), room.streams.size], [false, 0]],
  ["participant.changed", { participant: 5, role: "host", muted: ["audio"] }, (room) => [room.role, room.participants.get(5).muted], ["host", ["audio"]]],
  ["participant.interrupted", { participant: 4, interrupted: true, reason: "default" }, (room) => room.participants.get(4).interruptionReason, "default"],
  ["participant.held", { participant: 4, held: true }, (room) => room.participants.get(4).held, true],
  ["participant.route", { participant: 4, inputs: [{ type: "headsetMic" }, 5], outputs: "x" }, (room) => room.participants.get(4).route,
    { inputs: [{ type: "headsetMic" }], outputs: [] }],
  ["participant.mode", { participant: 4, category: "playback", mode: "default" }, (room) => room.participants.get(4).category, "playback"],
  ["stream.published", { stream: 3, participant: 4, kind: "video", codec: "vp8", layers: [{ width: 1 }] }, (room) => room.streams.get(3).layers.length, 1],
  ["stream.ended", { stream: 2 }, (room) => room.streams.size, 0],
  ["stream.forwarded", { streams: [2, "x"] }, (room) => [...room.forwarded], [2]],
  ["speakers", { speakers: [{ participant: 4, stream: 2, level: -20 }] }, (room) => room.speakers.length, 1],
  ["room.locked", { locked: true }, (room) => room.locked, true],
  ["lobby.waiting", { participant: 9, role: "speaker", identity: { name: "urn:dave" } }, (room) => room.lobby.get(9).identity.name, "urn:dave"],
];

for (const [type, members, look, expected] of CHANGES) {
  test(`§3.12, §3.13, §3.19 ${type} changes the room`, () => {
    const room = Room.from(roomMessage("demo"));
    assert.equal(room.apply({ type, ...members }), true);
    assert.deepEqual(look(room), expected);
  });
}

test("§3.13 who waits in the lobby is let in", () => {
  const room = Room.from({ room: "demo", participant: 5, role: "speaker", state: "waiting" });
  assert.deepEqual([room.state, room.participants.size], ["waiting", 0]);
  assert.equal(room.apply({ type: "room.admitted", ...roomMessage("other") }), false);
  assert.equal(room.apply({ type: "room.admitted", ...roomMessage("demo") }), true);
  assert.deepEqual([room.state, room.participants.size], ["joined", 2]);
});

test("events with members of any type leave a room that makes sense, and throw nothing", () => {
  const next = generator(99);
  const values = [null, undefined, 0, -1, 2 ** 32, 1.5, NaN, "", "x", [], {}, [null], [{}], true, 4, 5, 2, { name: "n" }, [2], ["audio"]];
  const types = [...CHANGES.map(([type]) => type), "room.admitted", "lobby.left", "constructor", "__proto__", "unknown"];
  const names = ["participant", "stream", "kind", "codec", "identity", "role", "muted", "streams", "speakers", "inputs", "outputs", "locked", "held",
    "room", "participants", "layers", "description"];
  const room = Room.from(roomMessage("demo"));
  for (let round = 0; round < 20_000; round += 1) {
    const event = { type: types[next(types.length)] };
    for (let count = next(6); count > 0; count -= 1) event[names[next(names.length)]] = values[next(values.length)];
    room.apply(event);
    for (const [number, stream] of room.streams) assert.ok(number === stream.stream && Number.isInteger(number) && typeof stream.codec === "string");
    for (const [number, participant] of room.participants) assert.ok(number === participant.participant && Array.isArray(participant.muted));
    assert.ok(["joined", "waiting"].includes(room.state));
  }
});

async function inRoom(options = {}) {
  const relay = new FakeRelay();
  const client = relay.client(options);
  await client.connect();
  await client.join("demo");
  return { relay, client, socket: relay.network.last };
}

test("events are dispatched after the room has taken them, and `room` after each change", async () => {
  const { client, socket } = await inRoom();
  const seen = [];
  client.addEventListener("participant.joined", ({ detail }) => seen.push(["event", detail.participant, client.room.participants.has(6)]));
  client.addEventListener("room", ({ detail }) => seen.push(["room", detail.room?.participants.size]));
  socket.receive({ type: "participant.joined", participant: 6, role: "speaker", identity: { name: "urn:carol" } });
  socket.receive({ type: "congested", bitrate: 310_000 });
  assert.deepEqual(seen, [["event", 6, true], ["room", 3]]);
  assert.deepEqual([client.statistics.congested, client.statistics.bitrate], [true, 310_000]);
  await client.close();
});

test("§3.13 room.removed: there is no room any more, its publications have ended", async () => {
  const { client, socket } = await inRoom();
  const publication = await client.publish({ kind: "audio", codec: "opus" });
  socket.receive({ type: "room.removed", room: "demo", reason: "removed" });
  assert.equal(client.room, null);
  assert.equal(publication.state, "ended");
  socket.end(1006);
  await client.close();
});

test("§3.18 resumed replaces the room; a room that is gone is left", async () => {
  const { relay, client, socket } = await inRoom();
  relay.resumedMore = { room: { ...roomMessage("demo"), participants: roomMessage("demo").participants.slice(1), streams: [], locked: true } };
  socket.end(1006);
  await relay.time.advance(300);
  assert.deepEqual([client.room.participants.size, client.room.streams.size, client.room.locked], [1, 0, true]);
  relay.resumedMore = { room: undefined };
  relay.network.last.end(1006);
  await relay.time.advance(600);
  assert.equal(client.state, "open");
  assert.equal(client.room, null);
  await client.close();
});

const LOST = [
  ["subscribe", { all: true }, undefined, "answered"],
  ["pair.revoke", { pair: "x" }, undefined, "connection_lost"],
  ["join", { room: "demo" }, { room: roomMessage("demo") }, "answered"],
  ["publish", { kind: "audio", codec: "opus", source: "microphone" }, { published: [{ stream: 40 }], room: { ...roomMessage("demo"),
    streams: [{ stream: 40, participant: 5, kind: "audio", codec: "opus", source: "microphone" }] } }, 40],
  ["publish", { kind: "audio", codec: "opus" }, undefined, "answered"],
];

for (const [type, members, resumedMore, expected] of LOST) {
  test(`§3.18 ${type} that was under way when the connection was lost: ${expected}`, async () => {
    const { relay, client, socket } = await inRoom();
    relay.answers[type] = () => "nothing";
    let outcome = null;
    client.request(type, members).then((answer) => (outcome = answer), (error) => (outcome = error));
    await settle();
    delete relay.answers[type];
    if (resumedMore) relay.resumedMore = resumedMore;
    socket.end(1006);
    await relay.time.advance(300);
    if (expected === "connection_lost") assert.deepEqual([outcome.code, outcome.retry], ["connection_lost", true]);
    else if (expected === "answered") assert.equal(outcome?.type, "ok");
    else assert.equal(outcome.stream, expected);
    await client.close();
  });
}

test("requests made while the client is coming back are sent when it is there again, and refused when it is closed", async () => {
  const { relay, client, socket } = await inRoom();
  socket.end(1006);
  const answer = client.request("keyframe.request", { stream: 2 });
  await relay.time.advance(300);
  assert.equal((await answer).type, "ok");
  await client.close();
  await assert.rejects(client.request("leave"), { code: "not_connected" });
});

test("a refusal is a SegueError with code, message and retry", async () => {
  const { relay, client } = await inRoom();
  relay.answers.publish = () => ({ type: "error", code: "streams_max", message: "That is enough.", retry: false });
  await assert.rejects(client.publish({ kind: "audio", codec: "opus" }), { name: "SegueError", code: "streams_max", message: "That is enough.", retry: false });
  relay.answers.publish = () => ({ type: "ok", stream: "seven" });
  await assert.rejects(client.publish({ kind: "audio", codec: "opus" }), { code: "protocol" });
  await client.close();
});

test("chat: one data stream that is published with the first message; what others write is told with who and when", async () => {
  const { client, socket } = await inRoom();
  const heard = recorded(client.chat, "message");
  await Promise.all([client.chat.send("hello"), client.chat.send("äöü 👋")]);
  assert.equal(socket.of("publish").length, 1);
  const { type, id, ...members } = socket.of("publish")[0];
  assert.deepEqual(members, { kind: "data", codec: "text/plain;charset=utf-8", source: "chat" });
  assert.equal(socket.media.length, 3);
  await assert.rejects(client.chat.send(""), RangeError);
  await assert.rejects(client.chat.send("x".repeat(4_001)), RangeError);
  await client.chat.open();
  assert.deepEqual(socket.of("subscribe")[0].sources, ["chat"]);
  const text = (payload, stream) => encodeFrame({ kind: "data", stream, payload, captureTime: 1_760_000_000_000 });
  socket.receive({ type: "stream.published", stream: 3, participant: 4, kind: "data", codec: "text/plain;charset=utf-8", source: "chat" });
  socket.receive({ type: "stream.published", stream: 4, participant: 4, kind: "data", codec: "application/json", source: "state" });
  socket.receive(text(new TextEncoder().encode("hi"), 3));
  socket.receive(text(new Uint8Array([0xff, 0xfe]), 3));
  socket.receive(text(new TextEncoder().encode("{}"), 4));
  assert.deepEqual(heard.map(([, detail]) => detail), [
    { participant: 4, text: "hi", at: 1_760_000_000_000 },
    { participant: 4, text: "\ufffd\ufffd", at: 1_760_000_000_000 },
  ]);
  await client.close();
});

test("§3.19 the audio session follows the relay's word, and is made again in another session before anything is published", async () => {
  const { relay, client, socket } = await inRoom();
  const session = (state) => () => ({ type: "ok", session: { state, category: "playAndRecord", mode: "voiceChat", options: 4, paused: false } });
  Object.assign(relay.answers, { "session.init": session("inactive"), "session.setCategory": session("inactive"),
    "session.setActive": session("active"), "interruption.began": session("interrupted") });
  const { audioSession } = client;
  await audioSession.init();
  await audioSession.setCategory("playAndRecord", { mode: "voiceChat", options: 4 });
  await audioSession.setActive(true, { priority: 3 });
  await client.publish({ kind: "audio", codec: "opus" });
  assert.deepEqual([audioSession.state, audioSession.mode, audioSession.flows], ["active", "voiceChat", true]);
  socket.receive({ type: "interruption.began", reason: "handoff", device: "tablet" });
  assert.equal(audioSession.state, "interrupted");
  socket.receive({ type: "interruption.ended", shouldResume: true, cause: "deactivated" });
  assert.equal(audioSession.state, "active");
  socket.receive({ type: "duck.began", gainDecibels: -12, rampMilliseconds: 250 });
  assert.equal(audioSession.duckDecibels, -12);
  relay.sessions.clear();
  socket.end(1006);
  await relay.time.advance(300);
  const said = relay.network.last.sent.filter((message) => message.type && !["hello", "time"].includes(message.type));
  assert.deepEqual(said.map(({ type }) => type), ["session.init", "session.setCategory", "session.setActive", "join", "publish"]);
  assert.equal(said[2].priority, 3);
  assert.equal(audioSession.state, "active");
  relay.network.last.receive({ type: "mediaServices.wereLost" });
  assert.equal(audioSession.state, "uninitialised");
  for (let times = 0; times < 2; times += 1) relay.network.last.receive({ type: "mediaServices.wereReset" });
  await settle();
  assert.equal(audioSession.state, "active");
  assert.equal(relay.network.last.of("session.init").length, 2, "once for the new session, once for what the relay has lost");
  await client.close();
});

test("§3.4 a room that is joined again may have a lobby now: streams are published once one is let in", async () => {
  const { relay, client, socket } = await inRoom();
  const publication = await client.publish({ kind: "video", codec: "vp8" });
  const events = recorded(publication, "renewed", "keyframe", "ended");
  await client.subscribe({ all: true });
  const notInRoom = () => ({ type: "error", code: "not_in_room", message: "no", retry: false });
  Object.assign(relay.answers, { join: () => ({ type: "ok", room: "demo", participant: 8, role: "speaker", state: "waiting" }), publish: notInRoom,
    subscribe: notInRoom });
  relay.sessions.clear();
  socket.end(1006);
  await relay.time.advance(300);
  assert.deepEqual([client.room.state, publication.state], ["waiting", "suspended"]);
  delete relay.answers.publish;
  delete relay.answers.subscribe;
  relay.network.last.receive({ type: "room.admitted", ...roomMessage("demo") });
  await settle();
  assert.deepEqual([client.room.state, publication.state], ["joined", "open"]);
  assert.equal(relay.network.last.of("subscribe").at(-1).all, true);
  assert.deepEqual(events.map(([type]) => type), ["renewed"]);
  await client.close();
});

test("a callback for media that throws costs no frame", async () => {
  const { client, socket } = await inRoom();
  const errors = [];
  const usual = globalThis.reportError;
  globalThis.reportError = (error) => errors.push(error.message);
  let frames = 0;
  client.onFrame = () => {
    frames += 1;
    if (frames === 1) throw new Error("of the page's own");
  };
  const frame = (sequence) => encodeFrame({ kind: "audio", stream: 2, sequence });
  socket.receive(bundle(frame(1), frame(2)));
  assert.equal(frames, 2);
  assert.deepEqual(errors, ["of the page's own"]);
  globalThis.reportError = usual;
  await client.close();
});
