import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../segue/frames.mjs";
import { FakeRelay, generator, recorded } from "./support/fakes.mjs";
import { hex } from "./support/relay-frames.mjs";

const SEEDS = 30;
const STEPS = 60;

/** What may happen to a client, other than that its relay tells it to stay away. */
const EVENTS = [
  ({ network }) => network.last.end(1006),
  ({ network }, next) => network.sockets[next(network.sockets.length)].end(1006),
  ({ network }) => network.last.end(1001),
  ({ network }) => network.last.end(1013, "stall"),
  ({ relay }, next) => (relay.isUp = [true, true, false, "silent"][next(4)]),
  ({ relay }) => relay.sessions.clear(),
  ({ relay }, next) => (relay.answers.hello = [undefined, () => "nothing", () => ({ type: "error", code: "pending", message: "no", retry: true })][next(3)]),
  ({ relay }, next) => (relay.answers.time = [undefined, () => "nothing"][next(2)]),
  ({ client }) => client.migrate().catch(() => {}),
  ({ online }) => online.dispatchEvent(new Event("online")),
  ({ network }) => network.last.receive({ type: "goaway", deadlineMilliseconds: 1_000, reason: "drain" }),
  ({ network }, next) => network.last.receive(["", "{}", hex("10"), { type: "speakers", speakers: 5 }, { type: "ok", id: next(100) }][next(5)]),
  ({ client }) => client.chat.send("hello").catch(() => {}),
  ({ client }) => client.request("pair.list").catch(() => {}),
];

/** The relay counts what comes of each stream, as a relay does: for `resumed.published`, and to see that numbers only rise and configurations come first. */
function watchMedia(relay) {
  const usual = relay.network.said;
  const configured = new Set();
  relay.network.said = (socket, message) => {
    usual(socket, message);
    if (!(message instanceof Uint8Array)) return;
    const frame = decodeFrame(message);
    const publish = socket.session?.published.get(frame.stream);
    assert.ok(publish, `a frame of stream ${frame.stream}, which this session does not publish`);
    if (frame.kind === "configuration") {
      configured.add(frame.stream);
      return;
    }
    assert.ok(configured.has(frame.stream), "§5.1 a configuration comes before the first frame");
    if (publish.last !== undefined) assert.ok(frame.sequence >= publish.last, `${frame.sequence} behind ${publish.last}`);
    publish.last = frame.sequence;
  };
}

test(`whatever happens, a client comes back: ${SEEDS} seeds of ${STEPS} events`, async () => {
  let resumptions = 0;
  let renewals = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const next = generator(seed * 7_919);
    const relay = new FakeRelay();
    watchMedia(relay);
    const online = new EventTarget();
    const client = relay.client({ online, random: () => next(1_000) / 1_000 });
    const told = recorded(client, "ended", "resumed", "renewed", "rejoin-refused");
    const world = { relay, client, online, network: relay.network };
    await client.connect();
    await client.join("demo");
    const audio = await client.publish({ kind: "audio", codec: "opus", source: "microphone" });
    for (let step = 0; step < STEPS; step += 1) {
      EVENTS[next(EVENTS.length)](world, next);
      for (let count = next(4); count > 0; count -= 1) audio.send({ payload: hex("00"), timestamp: step * 960 });
      await relay.time.advance(next(4) === 0 ? next(20_000) : next(400));
      assert.ok(relay.time.timers.size < 30, `seed ${seed}: ${relay.time.timers.size} timers`);
    }
    relay.isUp = true;
    relay.answers = {};
    await relay.time.advance(90_000);
    const story = JSON.stringify(told.map(([type, detail]) => [type, detail?.code]).slice(-5));
    assert.equal(client.state, "open", `seed ${seed}: ${story}`);
    assert.equal(client.room?.name, "demo", `seed ${seed}: ${story}`);
    assert.equal(audio.state, "open", `seed ${seed}: ${story}`);
    assert.equal(audio.send({ payload: hex("00"), timestamp: 0 }), true, `seed ${seed}`);
    const live = relay.network.sockets.filter((socket) => socket.readyState === 1);
    assert.equal(live.length, 1, `seed ${seed}: one connection is left`);
    assert.ok(live[0].session.published.has(audio.stream), `seed ${seed}`);
    resumptions += told.filter(([type]) => type === "resumed").length;
    renewals += told.filter(([type]) => type === "renewed").length;
    await client.close();
    assert.equal(relay.time.timers.size, 0, `seed ${seed}: timers are left`);
  }
  assert.ok(resumptions > SEEDS && renewals > SEEDS, `${resumptions} resumptions, ${renewals} renewals`);
});
