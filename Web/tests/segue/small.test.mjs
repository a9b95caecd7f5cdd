import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../../segue/backoff.mjs";
import { SendBacklog } from "../../segue/backlog.mjs";
import { ServerClock } from "../../segue/clock.mjs";
import { sendableCode } from "../../segue/connection.mjs";
import { sessionURL } from "../../segue/options.mjs";
import { normalizedCode, readableCode } from "../../segue/pairs.mjs";
import { Received } from "../../segue/received.mjs";
import { Subscriptions } from "../../segue/subscriptions.mjs";
import { Room } from "../../segue/room.mjs";
import { roomMessage } from "./support/fakes.mjs";

test("§3.3 the exchange with the shortest round trip decides what the relay's clock is", () => {
  const clock = new ServerClock();
  assert.equal(clock.offsetMilliseconds, null);
  for (const [asked, there, back] of [[0, 40, 40], [100, 2, 2], [200, 90, 10], [300, 5, 60]]) clock.add(asked, 5_000 + asked + there, asked + there + back);
  assert.ok(Math.abs(clock.offsetMilliseconds - 5_000) < 0.001, String(clock.offsetMilliseconds));
  assert.ok(clock.roundTripMilliseconds > 4 && clock.roundTripMilliseconds < 80);
});

test("§3.3 an old exchange gives way to newer ones as clocks may have drifted meanwhile", () => {
  const clock = new ServerClock();
  clock.add(0, 5_001, 2);
  clock.add(1_000_000, 6_000_100 - 995_000, 1_000_010);
  assert.equal(clock.offsetMilliseconds, 6_000_100 - 995_000 - 1_000_005);
});

test("§3.3 an answer that cannot be is of no use", () => {
  const clock = new ServerClock();
  for (const [asked, server, received] of [[5, 1, 4], [0, NaN, 1], [0, Infinity, 1], [0, "1", 1], [0, 1e16, 1]]) assert.equal(clock.add(asked,
    server, received), false);
  assert.equal(clock.samples, 0);
});

test("§8.2 waits double up to a cap, and are by chance anything from nothing to that", () => {
  for (const [random, expected] of [[1, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]], [0.5, [125, 250, 500]], [0, [0, 0, 0]], [7, [250, 500]]]) {
    const backoff = new Backoff({ random: () => random });
    assert.deepEqual(expected.map(() => backoff.next()), expected);
  }
  const backoff = new Backoff({ random: () => 1 });
  for (let round = 0; round < 2_000; round += 1) assert.ok(backoff.next() <= 10_000);
  backoff.reset();
  assert.equal(backoff.next(), 250);
});

test("the backlog is the time for which the oldest byte waits, whatever the rate", () => {
  const backlog = new SendBacklog();
  assert.equal(backlog.milliseconds(0, 0), 0);
  backlog.sent(100_000, 0);
  for (let at = 20; at <= 400; at += 20) backlog.sent(100, at);
  assert.equal(backlog.milliseconds(102_000, 400), 400);
  assert.equal(backlog.milliseconds(1_000, 400), 400 - 220);
  assert.equal(backlog.milliseconds(100, 400), 0);
  assert.equal(backlog.milliseconds(0, 500), 0);
});

test("the backlog's memory has a bound", () => {
  const backlog = new SendBacklog();
  for (let at = 0; at < 100_000; at += 1) backlog.sent(10, at);
  assert.ok(backlog.milliseconds(1_000_000, 100_000) >= 99_000);
  assert.equal(backlog.milliseconds(0, 100_000), 0);
});

const frame = (stream, sequence, spatial = 0) => ({ stream, sequence, spatial, timestamp: sequence * 960 });

test("§3.18 what came is named by stream, layer of the last frame, sequence and timestamp", () => {
  const received = new Received();
  for (const each of [frame(1, 5), frame(2, 9, 1), frame(2, 3, 0), frame(2, 10, 1), frame(7, 1)]) assert.ok(received.take(each));
  assert.deepEqual(received.list((stream) => stream !== 7), [
    { stream: 1, sequence: 5, timestamp: 4800 },
    { stream: 2, sequence: 10, timestamp: 9600, layer: 1 },
  ]);
});

test("§3.18 behind a mark frames are duplicates by stream, layer and sequence, until the first new one", () => {
  const received = new Received();
  received.take(frame(1, 0xffff_ffff));
  received.take(frame(1, 50, 1));
  received.mark();
  const news = [[frame(1, 0xffff_fffe), false], [frame(1, 0xffff_ffff), false], [frame(1, 50, 1), false], [frame(1, 0), true], [frame(1, 51, 1),
    true], [frame(9, 1), true]];
  for (const [each, isNew] of news) assert.equal(received.take(each), isNew, JSON.stringify(each));
  assert.equal(received.duplicates, 3);
  // A publisher that numbers anew is no repetition.
  assert.ok(received.take(frame(1, 0)));
});

test("§3.14 a code is read as people type it", () => {
  for (const [typed, code] of [["7kpa-4mxq", "7KPA4MXQ"], [" 7K PA 4M XQ ", "7KPA4MXQ"], ["zsbz-2222", "25822222"], ["7KPA4MX", null], ["7KPA4MXQA",
    null], ["7KPA4MX1", null], ["", null]]) {
    assert.equal(normalizedCode(typed), code);
  }
  assert.equal(readableCode("7KPA4MXQ"), "7KPA-4MXQ");
});

test("a script closes with the codes that it may: the protocol's own stand above 4000", () => {
  for (const [code, sent] of [[1000, 1000], [1002, 4002], [1009, 4009], [3001, 3001], [4999, 4999], [1001, 4001]]) assert.equal(sendableCode(code), sent);
});

test("§1.3 the session's address is made of the relay's", () => {
  for (const [given, made] of [["https://relay.example:8443", "wss://relay.example:8443/v1/session"], ["wss://r/v1/session?compression=text",
    "wss://r/v1/session?compression=text"],
    ["https://relay.example/#/r/demo", "wss://relay.example/v1/session"]]) {
    assert.equal(sessionURL(given), made);
  }
});

test("what was subscribed to is wished again of another session by who published it", () => {
  const room = Room.from(roomMessage("demo"));
  const wishes = new Subscriptions();
  wishes.note({ sources: ["chat"] }, room);
  wishes.note({ streams: [2], maxLayer: { spatial: 1 } }, room);
  assert.deepEqual(wishes.general(), [{ sources: ["chat"] }]);
  const later = Room.from({ ...roomMessage("demo"), streams: [{ stream: 77, participant: 4, kind: "audio", codec: "opus", source: "microphone" }] });
  assert.deepEqual(wishes.particular(later), [{ streams: [77], maxLayer: { spatial: 1 } }]);
  wishes.forget({ streams: [2] });
  assert.deepEqual(wishes.particular(later), []);
  wishes.note({ all: true }, room);
  assert.deepEqual(wishes.general(), [{ all: true }]);
  wishes.forget({ all: true });
  assert.deepEqual(wishes.general(), []);
});
