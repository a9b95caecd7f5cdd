import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRelay, recorded } from "./support/fakes.mjs";

/** @param {Record<string, any>} [options] @returns {Promise<any>} a client that is in a room, and its relay */
async function connected(options = {}) {
  const relay = new FakeRelay();
  const client = relay.client(options);
  const events = recorded(client, "state", "resumed", "renewed", "ended", "rejoin-refused");
  await client.connect();
  await client.join("demo", { displayName: "Alice" });
  return { relay, client, events, time: relay.time, network: relay.network };
}

test("a token is asked for before each connection; one that cannot be had is tried again", async () => {
  let asked = 0;
  const { client, time, network } = await connected({
    token: () => {
      asked += 1;
      if (asked === 2) throw new Error("offline");
      return `jwt-${asked}`;
    },
  });
  network.last.end(1006);
  await time.advance(2_000);
  assert.equal(client.state, "open");
  assert.equal(network.last.sent[0].token, "jwt-3");
  await client.close();
});

test("§3.3 time is asked for four times a second at first and every five seconds then, with the exchange before", async () => {
  const { client, time, network } = await connected();
  await time.advance(1_800);
  assert.equal(network.last.of("time").length, 8);
  const [first, second] = network.last.of("time");
  assert.equal(first.last, undefined);
  assert.equal(second.last.clientTime, first.clientTime);
  await time.advance(20_000);
  assert.equal(network.last.of("time").length, 12);
  assert.equal(client.serverTime(5), 1_760_000_000_005);
  await client.close();
});

/** @param {number} exp seconds since 1970 */
const jwt = (exp) => `e30.${Buffer.from(JSON.stringify({ sub: "alice", exp })).toString("base64url")}.c2ln`;

test("§3.15 a newer token is shown a minute before the one that the session lives by ends, and tried again when it cannot be had", async () => {
  const serverNow = 1_760_000_001;
  let asked = 0;
  const token = async () => {
    asked += 1;
    if (asked === 2) throw new Error("offline");
    return jwt(serverNow + 300 * (asked + 1));
  };
  const { client, time, network } = await connected({ token });
  await time.advance(539_000);
  assert.equal(asked, 1);
  await time.advance(2_000);
  assert.deepEqual([asked, network.last.of("authenticate").length], [2, 0]);
  await time.advance(10_000);
  assert.deepEqual(network.last.of("authenticate").map((message) => message.token), [jwt(serverNow + 1_200)]);
  await client.close();
  assert.equal(time.timers.size, 0);
});

test("§3.15 tokens without an end that can be read, and those that are always the same, are not renewed", async () => {
  for (const token of [() => "opaque", () => "a.b.c", () => undefined, jwt(1_760_000_100)]) {
    const { client, time, network } = await connected({ token });
    await time.advance(200_000);
    assert.equal(network.last.of("authenticate").length, 0);
    await client.close();
  }
});
