import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRelay, recorded, settle } from "./support/fakes.mjs";
import { bundle, hex } from "./support/relay-frames.mjs";
import { encodeFrame } from "../../segue/frames.mjs";

/** @param {Record<string, any>} [options] @returns {Promise<any>} a client that is in a room, and its relay */
async function connected(options = {}) {
  const relay = new FakeRelay();
  const client = relay.client(options);
  const events = recorded(client, "state", "resumed", "renewed", "ended", "rejoin-refused");
  await client.connect();
  await client.join("demo", { displayName: "Alice" });
  return { relay, client, events, time: relay.time, network: relay.network };
}

const states = (events) => events.filter(([type]) => type === "state").map(([, { state }]) => state);

test("§3.2 hello is the first message, with versions, wishes and a token, and welcome makes it open", async () => {
  const relay = new FakeRelay();
  const client = relay.client({ token: async () => "secret", device: "laptop", client: { name: "page", version: "2" } });
  const events = recorded(client, "state");
  const welcome = await client.connect();
  const socket = relay.network.last;
  assert.deepEqual(socket.protocols, ["segue.v1"]);
  const { id, ...hello } = socket.sent[0];
  assert.ok(Number.isInteger(id));
  assert.deepEqual(hello, {
    type: "hello", versions: [1], client: { name: "page", version: "2" }, device: "laptop", token: "secret",
    wishes: { parts: true, bundles: { delayMilliseconds: 5 }, keepAliveMilliseconds: 10_000 },
  });
  assert.equal(welcome.session, "5e55");
  assert.deepEqual(states(events), ["connecting", "open"]);
  await client.close();
  assert.equal(socket.closed.code, 1000);
  assert.equal(relay.time.timers.size, 0, "a client that is closed leaves no timer");
});

const FIRST_FAILURES = [
  ["the connection is refused", (relay) => (relay.isUp = false), "connect_failed", 0],
  ["the network says nothing", (relay) => (relay.isUp = "silent"), "connect_timeout", 10_000],
  ["hello is not answered", (relay) => (relay.answers.hello = () => "nothing"), "connect_timeout", 10_000],
  ["the token is refused", (relay) => (relay.answers.hello = () => ({ type: "error", code: "token_refused", message: "old", retry: false })),
    "token_refused", 0],
  ["welcome is no welcome", (relay) => (relay.answers.hello = () => ({ type: "welcome", version: 2 })), "protocol", 0],
];

for (const [what, make, code, milliseconds] of FIRST_FAILURES) {
  test(`connect() rejects with ${code} when ${what}, and nothing goes on behind it`, async () => {
    const relay = new FakeRelay();
    make(relay);
    const client = relay.client();
    let failure = null;
    client.connect().catch((error) => (failure = error));
    await relay.time.advance(milliseconds);
    assert.equal(failure?.code, code);
    assert.equal(client.state, "closed");
    await relay.time.advance(60_000);
    assert.equal(relay.network.sockets.length, 1);
    assert.equal(relay.time.timers.size, 0);
  });
}

/** Protocol 8.2. */
const CLOSES = [
  [1006, "", "resumes"],
  [1001, "", "anew"],
  [1013, "stall", "anew"],
  [1011, "", "anew"],
  [1000, "", "stays away"],
  [1000, "replaced", "stays away"],
  [1002, "", "stays away"],
  [1003, "", "stays away"],
  [1007, "", "stays away"],
  [1008, "token_expired", "stays away"],
  [1009, "", "stays away"],
];

for (const [code, reason, expected] of CLOSES) {
  test(`§8.2 after ${code} ${reason} the client ${expected}`, async () => {
    const { relay, client, events, time, network } = await connected();
    network.last.end(code, reason);
    await time.advance(300);
    if (expected === "stays away") {
      assert.equal(client.state, "closed");
      await time.advance(60_000);
      assert.equal(network.sockets.length, 1);
      assert.equal(time.timers.size, 0);
      return;
    }
    assert.equal(client.state, "open");
    assert.equal(network.sockets.length, 2);
    const hello = network.last.sent[0];
    assert.equal(hello.resume?.token, expected === "resumes" ? "token-1" : undefined);
    assert.deepEqual(states(events), ["connecting", "open", "reconnecting", "open"]);
    assert.equal(network.last.of("join").length, expected === "resumes" ? 0 : 1, "another session joins the room again");
    assert.equal(client.room.name, "demo");
    assert.equal(client.statistics.reconnects, 1);
    relay.isUp = true;
    await client.close();
  });
}

test("§8.2 tries are spaced by doubling waits up to the cap, and end when the relay was away for too long", async () => {
  const { relay, client, time, network } = await connected({ reconnectMillisecondsMax: 60_000 });
  relay.isUp = false;
  const began = time.now;
  const at = [];
  network.opened = ((usual) => (socket) => {
    at.push(time.now - began);
    usual(socket);
  })(network.opened);
  network.last.end(1006);
  await time.advance(120_000);
  assert.deepEqual(at.slice(0, 8), [250, 750, 1_750, 3_750, 7_750, 15_750, 25_750, 35_750]);
  assert.ok(at.length < 12);
  assert.equal(client.state, "closed");
  assert.equal(time.timers.size, 0);
});

test("§8.2 chance is in every wait", async () => {
  const { client, time, network } = await connected({ random: () => 0.1 });
  network.last.end(1006);
  await time.advance(24);
  assert.equal(network.sockets.length, 1);
  await time.advance(2);
  assert.equal(network.sockets.length, 2);
  await client.close();
});

test("§3.18 nothing is sent behind a hello with resume before its answer", async () => {
  const { relay, client, time, network } = await connected();
  const publication = await client.publish({ kind: "audio", codec: "opus" });
  relay.answers.hello = () => "nothing";
  network.last.end(1006);
  await time.advance(300);
  assert.equal(network.sockets.length, 2);
  publication.send({ payload: new Uint8Array(3), timestamp: 0 });
  client.request("pair.list").catch(() => {});
  await time.advance(5_000);
  assert.deepEqual(network.last.sent.map((message) => message.type), ["hello"]);
  await client.close();
});

test("§3.18 an attempt that resumes and takes too long is not closed: its welcome counts when it comes late", async () => {
  const { relay, client, time, network, events } = await connected();
  relay.answers.hello = () => "nothing";
  network.last.end(1006);
  await time.advance(10_300);
  const late = network.sockets[1];
  assert.equal(late.closed, null, "a close frame could end the session that the relay has just handed over");
  delete relay.answers.hello;
  relay.isUp = "silent";
  const welcome = { type: "welcome", version: 1, session: "5e55", identity: { name: "a" }, limits: {}, serverTime: 1, node: "fake",
    resumeToken: "late", resumed: { subscribed: [], published: [], gaps: [] } };
  late.receive({ ...welcome, id: late.sent[0].id });
  await settle();
  assert.equal(client.state, "open");
  assert.equal(events.filter(([type]) => type === "resumed").length, 1);
  relay.isUp = true;
  late.end(1006);
  await time.advance(1_000);
  assert.equal(network.last.sent[0].resume.token, "late");
  await client.close();
});

test("§3.18 a welcome that a later one has overtaken does not take the session back", async () => {
  const { relay, client, time, network } = await connected();
  relay.answers.hello = () => "nothing";
  network.last.end(1006);
  await time.advance(10_300);
  const late = network.sockets[1];
  delete relay.answers.hello;
  await time.advance(1_000);
  assert.equal(client.state, "open");
  assert.ok(late.closed, "once another connection is welcome the late one is let go");
  const { length } = network.last.sent;
  late.receive({ type: "welcome", version: 1, id: late.sent[0].id, session: "5e55", identity: {}, limits: {}, resumeToken: "stale", resumed: {} });
  await client.request("pair.list");
  assert.ok(network.last.sent.length > length, "requests go over the newer connection");
  await client.close();
});

test("§3.18 refused: hello without resume follows over the same connection, and everything is said again", async () => {
  const { relay, client, time, network, events } = await connected();
  await client.subscribe({ all: true });
  const publication = await client.publish({ kind: "audio", codec: "opus", source: "microphone" });
  publication.configure(hex("01"));
  publication.send({ payload: hex("AA"), timestamp: 0 });
  const before = publication.stream;
  relay.sessions.clear();
  network.last.end(1006);
  await time.advance(300);
  const socket = network.last;
  assert.equal(network.sockets.length, 2);
  assert.deepEqual(socket.of("hello").map((hello) => hello.resume?.token), ["token-1", undefined]);
  assert.deepEqual(socket.sent.filter((message) => message.type && !["hello", "time"].includes(message.type)).map(({ type }) => type), ["join",
    "publish", "subscribe"]);
  assert.notEqual(publication.stream, before);
  assert.equal(events.filter(([type]) => type === "renewed").length, 1);
  assert.equal(client.room.streams.get(publication.stream).participant, client.room.me);
  publication.send({ payload: hex("BB"), timestamp: 960 });
  const kinds = socket.media.map((bytes) => bytes[0] & 15);
  assert.deepEqual(kinds, [3, 0], "the configuration goes first in the new session");
  await client.close();
});

test("§7 a relay that says nothing for 10 s is asked over a second connection, and the first is not closed before that is welcome", async () => {
  const { client, time, network, relay, events } = await connected();
  const first = network.last;
  relay.answers.time = (_, socket) => (socket === first ? "nothing" : undefined);
  relay.isUp = "silent";
  await time.advance(12_000);
  assert.ok(network.sockets.length >= 2);
  assert.equal(first.closed, null);
  assert.equal(client.state, "open");
  await time.advance(25_000);
  assert.equal(client.state, "reconnecting", "§7: 35 s of silence");
  assert.equal(first.closed, null);
  relay.isUp = true;
  await time.advance(25_000);
  assert.equal(client.state, "open");
  assert.equal(network.last.sent[0].resume.token, "token-1");
  assert.ok(first.closed);
  assert.deepEqual(states(events).slice(2), ["reconnecting", "open"]);
  await client.close();
});

test("§7 a relay that speaks again before another connection is there keeps the session", async () => {
  const { client, time, network, relay, events } = await connected();
  relay.answers.time = () => "nothing";
  relay.isUp = "silent";
  await time.advance(40_000);
  delete relay.answers.time;
  await time.advance(20_000);
  assert.deepEqual(states(events).slice(2), ["reconnecting", "open"]);
  assert.equal(network.sockets[0].closed, null);
  assert.equal(client.statistics.reconnects, 0);
  await client.close();
});

test("§7 a relay that speaks is left alone, also when it says nothing but keepalive", async () => {
  const { client, time, network, relay } = await connected();
  relay.answers.time = () => "nothing";
  for (let round = 0; round < 20; round += 1) {
    await time.advance(9_000);
    network.last.receive({ type: "keepalive" });
  }
  assert.equal(network.sockets.length, 1);
  assert.equal(client.state, "open");
  await client.close();
});

const audio = (sequence) => encodeFrame({ kind: "audio", stream: 2, sequence, timestamp: sequence * 960, payload: hex("00") });

test("§3.18 make before break: the old connection is read to its end before the new one, and what comes twice is dropped", async () => {
  const { relay, client, time, network, events } = await connected();
  const frames = [];
  client.onFrame = (frame) => frames.push(frame.sequence);
  const old = network.last;
  for (const sequence of [1, 2, 3]) old.receive(audio(sequence));
  const migrated = client.migrate();
  await settle();
  const fresh = network.last;
  assert.notEqual(fresh, old);
  assert.deepEqual(fresh.sent[0].resume.received, [{ stream: 2, sequence: 3, timestamp: 2880 }]);
  await migrated;
  fresh.receive(bundle(audio(4), audio(5)));
  fresh.receive(audio(6));
  old.receive(audio(4));
  old.receive(audio(5));
  assert.deepEqual(frames, [1, 2, 3, 4, 5]);
  old.end(1000, "replaced");
  assert.deepEqual(frames, [1, 2, 3, 4, 5, 6]);
  fresh.receive(audio(7));
  assert.deepEqual(frames, [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(client.statistics.duplicates, 2);
  assert.deepEqual(states(events), ["connecting", "open"], "nobody sees a loss");
  relay.isUp = true;
  await time.advance(1_000);
  await client.close();
});

test("make before break: an old connection that does not end is waited for no longer than 250 ms", async () => {
  const { client, time, network } = await connected();
  const frames = [];
  client.onFrame = (frame) => frames.push(frame.sequence);
  const old = network.last;
  await client.migrate();
  network.last.receive(audio(1));
  assert.deepEqual(frames, []);
  await time.advance(251);
  assert.deepEqual(frames, [1]);
  assert.ok(old.closed);
  await client.close();
});

test("make before break: a try that fails leaves the connection that is there", async () => {
  const { relay, client, network } = await connected();
  relay.isUp = false;
  await assert.rejects(client.migrate(), { code: "connect_failed" });
  assert.equal(client.state, "open");
  relay.isUp = true;
  relay.sessions.clear();
  await assert.rejects(client.migrate(), { code: "resume_refused" });
  assert.equal(client.state, "open");
  await client.request("pair.list");
  assert.equal(network.sockets[0].of("pair.list").length, 1);
  await client.close();
});

test("§8.3 goaway: another connection is tried until there is one, then another session takes over where this cannot be resumed", async () => {
  const { relay, client, time, network, events } = await connected();
  const old = network.last;
  relay.isUp = false;
  old.receive({ type: "goaway", deadlineMilliseconds: 10_000, reason: "drain" });
  await time.advance(2_000);
  assert.ok(network.sockets.length > 2);
  assert.equal(client.state, "open", "the relay that goes away still serves");
  relay.isUp = true;
  relay.sessions.clear();
  await time.advance(4_000);
  assert.equal(client.state, "open");
  assert.ok(old.closed);
  assert.equal(events.filter(([type]) => type === "renewed").length, 1);
  assert.equal(network.last.of("join").length, 1);
  await client.close();
});

test("the network is there again: no more waiting", async () => {
  const online = new EventTarget();
  const { relay, client, time, network } = await connected({ online });
  relay.isUp = false;
  network.last.end(1006);
  await time.advance(20_000);
  relay.isUp = true;
  const before = network.sockets.length;
  online.dispatchEvent(new Event("online"));
  await settle();
  assert.equal(network.sockets.length, before + 1);
  assert.equal(client.state, "open");
  await client.close();
});

const REFUSALS_OF_RESUME = [
  ["pending", true, ["token-1", "token-1"]],
  ["connection_shared", true, ["token-1", "token-1"]],
  ["resume_refused", false, ["token-1", undefined]],
];

for (const [code, retry, tokens] of REFUSALS_OF_RESUME) {
  test(`§3.18 a hello that is refused with ${code}`, async () => {
    const { relay, client, time, network } = await connected();
    let refusals = 0;
    relay.answers.hello = () => (refusals++ === 0 ? { type: "error", code, message: "no", retry } : undefined);
    network.last.end(1006);
    await time.advance(2_000);
    assert.equal(client.state, "open");
    const hellos = network.sockets.slice(1).flatMap((socket) => socket.of("hello"));
    assert.deepEqual(hellos.map((hello) => hello.resume?.token), tokens);
    await client.close();
  });
}

test("§3.18 a session that cannot come to a shared connection twice is given up for another", async () => {
  const { relay, client, time, network } = await connected();
  relay.answers.hello = (hello) => (hello.resume ? { type: "error", code: "connection_shared", message: "no", retry: true } : undefined);
  network.last.end(1006);
  await time.advance(5_000);
  assert.equal(client.state, "open");
  await client.close();
});

test("§4.6 a broken part ends the connection with the place of 1002 above 4000, and throws nothing", async () => {
  const { client, network, time } = await connected();
  network.last.receive(hex("1501007F 00000001 00000000 00000000 00000000 00000020 AA"));
  assert.equal(network.last.closed.code, 4002);
  assert.equal(network.last.closed.reason, "media_part_flags");
  assert.equal(client.state, "closed");
  assert.equal(client.statistics.malformed, 1);
  assert.equal(time.timers.size, 0);
});

test("messages that are none are counted and passed over", async () => {
  const { client, network } = await connected();
  for (const message of ["", "no json", "[]", "null", '{"type":5}', '{"type":""}', '"x"', hex("10"),
    hex("2000007F 00000001 00000000 00000000")]) network.last.receive(message);
  for (const message of [{ type: "a.new.event", of: "a later relay" }, { type: "ok", id: 99_999 }, { type: "error", id: -1 },
    { type: "ok" }]) network.last.receive(message);
  assert.equal(client.statistics.malformed, 9);
  assert.equal(client.state, "open");
  await client.close();
});
