import assert from "node:assert/strict";
import test from "node:test";
import { InterruptionMachine, InterruptionWatch } from "../../media/interruptions.mjs";

test("an interruption begins with its first cause and ends with its last", () => {
  const machine = new InterruptionMachine();
  assert.deepEqual(machine.set("context", true), { type: "began", reason: "default" });
  assert.equal(machine.set("frozen", true), null);
  assert.equal(machine.set("context", true), null);
  assert.equal(machine.set("context", false), null);
  assert.deepEqual(machine.set("frozen", false), { type: "ended", shouldResume: true });
  assert.equal(machine.set("frozen", false), null);
  assert.deepEqual(machine.set("trackEnded", true), { type: "began", reason: "routeDisconnected" });
});

test("each cause has a reason of the protocol's (3.19)", () => {
  const expected = { context: "default", frozen: "appWasSuspended", trackMuted: "builtInMicMuted", trackEnded: "routeDisconnected" };
  for (const [cause, reason] of Object.entries(expected)) {
    assert.deepEqual(new InterruptionMachine().set(cause, true), { type: "began", reason });
  }
  assert.throws(() => new InterruptionMachine().set("weather", true), RangeError);
});

test("an interruption that was ended from elsewhere has no second end", () => {
  const machine = new InterruptionMachine();
  machine.set("frozen", true);
  machine.forget();
  assert.equal(machine.set("frozen", false), null);
  assert.equal(machine.isInterrupted, false);
});

class Context extends EventTarget {
  state = "suspended";
  resumed = 0;
  async resume() {
    this.resumed += 1;
  }
  become(state) {
    this.state = state;
    this.dispatchEvent(new Event("statechange"));
  }
}

function watched() {
  const context = new Context();
  const page = new EventTarget();
  const told = [];
  const watch = new InterruptionWatch({ context, page, began: (reason) => told.push(reason), ended: ({ shouldResume }) => told.push(shouldResume) });
  return { context, page, told, watch };
}

test("a context that has not run yet waits for the user; later its standing still is an interruption", () => {
  const { context, told, watch } = watched();
  context.become("suspended");
  assert.deepEqual(told, []);
  context.become("running");
  context.become("interrupted");
  assert.deepEqual(told, ["default"]);
  assert.equal(context.resumed, 0);
  context.become("suspended");
  assert.equal(context.resumed, 1);
  context.become("running");
  assert.deepEqual(told, ["default", true]);
  context.become("closed");
  assert.deepEqual(told, ["default", true]);
  watch.close();
});

test("a frozen page is an interruption until it is seen again", () => {
  const { page, told, watch } = watched();
  page.dispatchEvent(new Event("freeze"));
  page.visibilityState = "visible";
  page.dispatchEvent(new Event("visibilitychange"));
  page.dispatchEvent(new Event("resume"));
  assert.deepEqual(told, ["appWasSuspended", true]);
  watch.close();
});

test("a microphone that was pulled is an interruption until there is another, or none is wanted", () => {
  const { told, watch } = watched();
  const track = Object.assign(new EventTarget(), { muted: false, readyState: "live" });
  watch.watchTrack(track);
  track.readyState = "ended";
  track.dispatchEvent(new Event("ended"));
  assert.deepEqual(told, ["routeDisconnected"]);
  watch.watchTrack(null);
  assert.deepEqual(told, ["routeDisconnected", true]);
  track.dispatchEvent(new Event("ended"));
  assert.deepEqual(told, ["routeDisconnected", true]);
  watch.close();
});
