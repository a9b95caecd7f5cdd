import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../segue/frames.mjs";
import { Publication } from "../../segue/publication.mjs";
import { FakeRelay, recorded } from "./support/fakes.mjs";
import { hex } from "./support/relay-frames.mjs";

/** A publication whose connection is the test's: what it takes, and how far behind it is. */
function published(kind = "video") {
  const link = { now: 0, backlog: 0, isOpen: true, flows: true, sent: [], unpublished: [] };
  const sender = {
    send: (bytes) => {
      if (link.isOpen) link.sent.push(decodeFrame(bytes));
      return link.isOpen;
    },
    backlog: () => link.backlog,
    flows: () => link.flows,
    clock: () => link.now,
    close: async (publication) => void link.unpublished.push(publication.stream),
  };
  const publication = new Publication(sender, { kind, codec: kind === "audio" ? "opus" : "vp8" }, 9);
  const picture = (number, more = {}) => {
    link.now = number * 40;
    return publication.send({ payload: Uint8Array.of(number), timestamp: number * 3_600, key: number === 0, ...more });
  };
  return { publication, link, picture, numbers: () => link.sent.filter((frame) => frame.kind !== "configuration").map((frame) => frame.payload[0]) };
}

test("§5.1 the configuration goes first; a stream without one begins with an empty one, once", () => {
  const { publication, link, picture } = published();
  picture(0);
  picture(1);
  assert.deepEqual(link.sent.map(({ kind, sequence }) => [kind, sequence]), [["configuration", 0], ["video", 0], ["video", 1]]);
  publication.configure(hex("0102"));
  const last = link.sent[3];
  assert.deepEqual([last.kind, last.sequence, last.timestamp, [...last.payload]], ["configuration", 2, 3_600, [1, 2]]);
});

test("§4.1, §5.6 each spatial layer counts its frames apart and has a configuration of its own", () => {
  const { publication, link } = published();
  publication.configure(hex("AA"), { spatial: 0 });
  publication.configure(hex("BB"), { spatial: 1 });
  for (const spatial of [0, 1, 1]) publication.send({ payload: hex("00"), timestamp: 0, key: true, spatial, temporal: 1 });
  assert.deepEqual(
    link.sent.map(({ kind, spatial, sequence }) => [kind, spatial, sequence]),
    [["configuration", 0, 0], ["configuration", 1, 0], ["video", 0, 0], ["video", 1, 0], ["video", 1, 1]],
  );
});

test("§4.1 timestamps keep their lower 32 bits, and are whole", () => {
  const { publication, link } = published("audio");
  for (const timestamp of [2 ** 32 + 5, 2 ** 40 + 1.4, -1]) publication.send({ payload: hex("00"), timestamp });
  assert.deepEqual(link.sent.slice(1).map((frame) => frame.timestamp), [5, 1, 0xffff_ffff]);
});

test("a picture that comes while the connection is behind is dropped, with all up to the next key frame, and one is asked for when there is room", () => {
  const { publication, link, picture, numbers } = published();
  const events = recorded(publication, "keyframe");
  for (let number = 0; number < 5; number += 1) picture(number);
  link.backlog = 350;
  assert.equal(picture(5), false);
  link.backlog = 150;
  picture(6);
  assert.equal(events.length, 0, "a key frame is not asked for while much waits");
  link.backlog = 50;
  picture(7);
  picture(8);
  assert.deepEqual(events, [["keyframe", { layer: 0 }]]);
  picture(9, { key: true });
  picture(10);
  assert.deepEqual(numbers(), [0, 1, 2, 3, 4, 9, 10]);
  assert.deepEqual(link.sent.slice(1).map((frame) => frame.sequence), [0, 1, 2, 3, 4, 5, 6],
    "what was never sent has no number: no loss is seen where none hurts");
  assert.equal(publication.statistics.dropped.backlog + publication.statistics.dropped.waitingForKey, 4);
});

test("discardable pictures go first, and cost no key frame", () => {
  const { publication, link, picture, numbers } = published();
  const events = recorded(publication, "keyframe");
  picture(0);
  link.backlog = 250;
  picture(1, { discardable: true });
  picture(2);
  link.backlog = 0;
  picture(3);
  assert.deepEqual(numbers(), [0, 2, 3]);
  assert.equal(events.length, 0);
});

test("a key frame that comes while too much waits is dropped as well, and asked for again half a second later", () => {
  const { publication, link, picture, numbers } = published();
  const events = recorded(publication, "keyframe");
  picture(0);
  link.backlog = 400;
  picture(1);
  picture(2, { key: true });
  link.backlog = 0;
  for (let number = 3; number < 18; number += 1) picture(number);
  assert.equal(events.length, 2, "at 120 ms, and again at 640");
  assert.deepEqual(numbers(), [0]);
});

test("higher layers give way before the lowest", () => {
  const { publication, link } = published();
  for (const spatial of [0, 1]) publication.send({ payload: hex("00"), timestamp: 0, key: true, spatial });
  link.backlog = 250;
  assert.equal(publication.send({ payload: hex("00"), timestamp: 1, spatial: 0 }), true);
  assert.equal(publication.send({ payload: hex("00"), timestamp: 1, spatial: 1 }), false);
});

test("sound goes on where pictures are dropped, and keeps its numbers when even that does not go", () => {
  const { publication, link } = published("audio");
  const send = (number) => publication.send({ payload: Uint8Array.of(number), timestamp: number * 960 });
  send(0);
  link.backlog = 900;
  assert.equal(send(1), true);
  link.backlog = 1_100;
  assert.equal(send(2), false);
  link.backlog = 0;
  send(3);
  assert.deepEqual(link.sent.slice(1).map((frame) => frame.sequence), [0, 1, 3]);
  assert.equal(publication.statistics.dropped.backlog, 1);
});

/** What the relay has got when the session is resumed, and what goes then. */
const RESUMPTIONS = [
  ["everything has come", "video", 5, 5, [], false],
  ["two frames were lost on the way", "video", 5, 3, [4, 5], false],
  ["nothing has come", "video", 5, undefined, [0, 1, 2, 3, 4, 5], false],
  ["pictures are missing that are not kept any more", "video", 60, 10, [], true],
  ["sound is missing that is not kept any more", "audio", 60, 10, [50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60], false],
];

for (const [what, kind, last, has, resent, asks] of RESUMPTIONS) {
  test(`§3.18 publishing goes on behind what the relay has: ${what}`, () => {
    const { publication, link } = published(kind);
    const events = recorded(publication, "keyframe");
    publication.configure(hex("C0"));
    for (let number = 0; number <= last; number += 1) {
      link.now = number * 40;
      publication.send({ payload: Uint8Array.of(number), timestamp: number * 960, key: number === 0 });
    }
    link.sent = [];
    publication.resume([has === undefined ? { stream: 9 } : { stream: 9, sequence: has }]);
    const [configuration, ...frames] = link.sent;
    assert.equal(configuration.kind, "configuration");
    assert.equal(configuration.sequence, resent[0] ?? last + 1);
    assert.deepEqual(frames.map((frame) => frame.sequence), resent);
    assert.equal(events.length, asks ? 1 : 0);
    link.sent = [];
    publication.send({ payload: hex("00"), timestamp: 99, key: true });
    assert.equal(link.sent[0].sequence, last + 1);
  });
}

test("§3.18 where pictures are missing, what is kept goes from the key frame on", () => {
  const { publication, link, picture, numbers } = published();
  for (let number = 0; number <= 60; number += 1) picture(number, { key: number === 0 || number === 50 });
  link.sent = [];
  publication.resume([{ stream: 9, sequence: 5 }]);
  assert.deepEqual(numbers(), [50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60]);
});

test("§3.18 layers are resumed each by itself", () => {
  const { publication, link } = published();
  for (let number = 0; number < 4; number += 1) for (const spatial of [0, 2]) publication.send({ payload: hex("00"), timestamp: number,
    key: number === 0, spatial });
  link.sent = [];
  publication.resume([{ stream: 9, sequence: 2 }, { stream: 9, layer: 2, sequence: 1 }]);
  assert.deepEqual(link.sent.filter(({ kind }) => kind === "video").map(({ spatial, sequence }) => [spatial, sequence]), [[0, 3], [2, 2], [2, 3]]);
});

test("what is sent without a connection is kept, bounded in time", () => {
  const { publication, link, picture, numbers } = published();
  picture(0);
  link.isOpen = false;
  for (let number = 1; number <= 10; number += 1) assert.equal(picture(number), false);
  link.isOpen = true;
  link.sent = [];
  publication.resume([{ stream: 9, sequence: 0 }]);
  assert.deepEqual(numbers(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(publication.statistics.dropped.notConnected, 10);
});

test("§3.12, §3.17, §5.6 what the relay says of the stream comes as events", () => {
  const { publication, link, picture } = published();
  picture(0);
  const events = recorded(publication, "keyframe", "layers", "format", "report", "stopped", "ended");
  assert.ok(publication.wants(5, 7), "before the first word everything is wanted");
  publication.take({ type: "keyframe.requested", stream: 9 });
  publication.take({ type: "keyframe.requested", stream: 9, layer: 2 });
  publication.take({ type: "keyframe.requested", stream: 9, layer: "x" });
  publication.take({ type: "layers.wanted", stream: 9, layers: [{ spatial: 0, temporal: 1 }, { spatial: 99 }, null, { spatial: 1 }] });
  assert.deepEqual([publication.wants(0, 1), publication.wants(0, 2), publication.wants(1, 7), publication.wants(2, 0)], [true, false, true, false]);
  publication.take({ type: "layers.wanted", stream: 9, layers: "none" });
  assert.equal(publication.wants(0, 0), false);
  publication.take({ type: "format.wanted", stream: 9, channels: 1, bandwidth: "wideband" });
  publication.take({ type: "stream.report", stream: 9, receivers: 3 });
  publication.take({ type: "stream.stopped", stream: 9, reason: "deactivated" });
  publication.take({ type: "stream.ended", stream: 9 });
  assert.deepEqual(events.map(([type]) => type), ["keyframe", "keyframe", "keyframe", "layers", "layers", "format", "report", "stopped", "ended"]);
  assert.deepEqual(events.slice(0, 3).map(([, detail]) => detail.layer), [0, 2, 0]);
  assert.equal(publication.send({ payload: hex("00"), timestamp: 0 }), false);
  assert.equal(publication.configure(hex("00")), false);
  assert.deepEqual(link.unpublished, []);
});

test("§3.7 close unpublishes once", async () => {
  const { publication, link } = published();
  await Promise.all([publication.close(), publication.close()]);
  assert.deepEqual(link.unpublished, [9]);
});

test("a client's pictures give way by what its WebSocket has not passed on", async () => {
  const relay = new FakeRelay();
  const client = relay.client();
  await client.connect();
  await client.join("demo");
  const video = await client.publish({ kind: "video", codec: "vp8" });
  const audio = await client.publish({ kind: "audio", codec: "opus" });
  const socket = relay.network.last;
  for (let number = 0; number < 30; number += 1) {
    await relay.time.advance(20);
    const before = socket.media.length;
    audio.send({ payload: new Uint8Array(100), timestamp: number * 960 });
    video.send({ payload: new Uint8Array(5_000), timestamp: number * 1_800, key: number === 0 });
    for (const bytes of socket.media.slice(before)) socket.bufferedAmount += bytes.length;
  }
  const { dropped, framesOut, backlogMilliseconds } = client.statistics;
  assert.ok(dropped.backlog >= 1 && dropped.waitingForKey > 10, JSON.stringify(dropped));
  assert.equal(audio.statistics.frames, 30, "sound goes on");
  assert.ok(video.statistics.frames >= 10 && video.statistics.frames < 20);
  assert.ok(backlogMilliseconds > 500 && framesOut > 40);
  const events = recorded(video, "keyframe");
  socket.bufferedAmount = 0;
  video.send({ payload: new Uint8Array(5_000), timestamp: 60_000 });
  assert.deepEqual(events, [["keyframe", { layer: 0 }]]);
  await client.close();
});

test("§3.19 nothing of sound and pictures goes while the audio session does not let it; pictures begin again with a key frame; data goes all the time", () => {
  const video = published();
  const events = recorded(video.publication, "keyframe");
  video.picture(0);
  video.link.flows = false;
  assert.equal(video.picture(1), false);
  video.link.flows = true;
  assert.equal(video.picture(2), false);
  assert.equal(events.length, 1);
  assert.equal(video.picture(3, { key: true }), true);
  assert.deepEqual(video.numbers(), [0, 3]);
  assert.deepEqual(video.publication.statistics.dropped, { backlog: 0, waitingForKey: 1, notConnected: 0, interrupted: 1 });

  const [audio, data] = [published("audio"), published("data")];
  for (const { link, picture, publication } of [audio, data]) {
    link.flows = false;
    assert.equal(picture(0), publication.kind === "data");
    link.flows = true;
    assert.equal(picture(1), true);
  }
  assert.deepEqual([audio.numbers(), data.numbers()], [[1], [0, 1]]);
});
