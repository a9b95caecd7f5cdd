import assert from "node:assert/strict";
import test from "node:test";
import { chatMessagesMax, createStore, initialState, reduce } from "../../app/state.mjs";

/** @param {...any} actions */
const after = (...actions) => actions.reduce(reduce, initialState());
const message = (text, mine = false) => ({ type: "message", message: { participant: 2, name: "B", text, at: 0, mine } });

test("from the start by a room, joining, the lobby and the call to the end", () => {
  assert.equal(after().phase, "start");
  const chosen = after({ type: "choose", room: "demo" });
  assert.deepEqual([chosen.phase, chosen.room], ["prejoin", "demo"]);
  assert.equal(reduce(chosen, { type: "joining" }).phase, "joining");
  assert.equal(reduce(chosen, { type: "waiting" }).phase, "waiting");
  const call = reduce(chosen, { type: "joined" });
  assert.equal(call.phase, "call");
  const over = reduce(call, { type: "over", message: { title: "t", text: "x", way: "rejoin" } });
  assert.deepEqual([over.phase, over.over?.title, over.room, over.panel], ["over", "t", "demo", null]);
});

test("going back to the start keeps devices and view, and forgets the room and its messages", () => {
  const state = after({
    type: "devices", devices: { cameras: [{ id: "a", label: "A" }] },
  }, { type: "view", view: "speaker" }, { type: "choose", room: "demo" }, message("hi"),
    { type: "start", notice: "n" });
  assert.deepEqual(
    [state.phase, state.room, state.view, state.devices.cameras.length, state.chat.messages.length, state.notice],
    ["start", null, "speaker", 1, 0, "n"],
  );
});

test("messages are unread unless the chat is open or they are one's own, and opening reads them", () => {
  const unread = after(message("a"), message("b"), message("mine", true));
  assert.equal(unread.chat.unread, 2);
  const open = reduce(unread, { type: "panel", panel: "chat" });
  assert.equal(open.chat.unread, 0);
  assert.equal(reduce(open, message("c")).chat.unread, 0);
  assert.equal(reduce(open, { type: "panel", panel: "chat" }).panel, null);
});

test("old messages go, and numbers go on", () => {
  let state = initialState();
  for (let at = 0; at < chatMessagesMax + 20; at += 1) state = reduce(state, message(String(at)));
  assert.equal(state.chat.messages.length, chatMessagesMax);
  assert.equal(state.chat.messages[0].text, "20");
  assert.equal(new Set(state.chat.messages.map((one) => one.id)).size, chatMessagesMax);
});

test("details of another participant stay open, of the same one close", () => {
  const first = after({ type: "panel", panel: "details", of: 2 });
  const second = reduce(first, { type: "panel", panel: "details", of: 3 });
  assert.deepEqual([second.panel, second.detailsOf], ["details", 3]);
  assert.equal(reduce(second, { type: "panel", panel: "details", of: 3 }).panel, null);
});

test("pinning shows the speaker view; pinning again lets go", () => {
  const pinned = after({ type: "pin", key: "2" });
  assert.deepEqual([pinned.pinned, pinned.view], ["2", "speaker"]);
  assert.equal(reduce(pinned, { type: "pin", key: "2" }).pinned, null);
});

test("an action that does not exist is a mistake of the page's, not silence", () => {
  assert.throws(() => after({ type: "nonsense" }), /no such action/);
  assert.throws(() => after({ type: "constructor" }), /no such action/);
});

test("the store tells watchers of changes only", () => {
  const store = createStore(reduce, initialState());
  let told = 0;
  const stop = store.subscribe(() => { told += 1; });
  store.dispatch({ type: "sound", blocked: false });
  assert.equal(told, 0);
  store.dispatch({ type: "sound", blocked: true });
  stop();
  store.dispatch({ type: "sound", blocked: false });
  assert.equal(told, 1);
});
