// Of the smaller modules: shortcuts, who speaks, presence, devices, capabilities, formats.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { judge } from "../../app/capabilities.mjs";
import { Choices, describeDevices, microphoneConstraints } from "../../app/devices.mjs";
import { formats, httpVersion, pageProtocol } from "../../app/format.mjs";
import { levelOf } from "../../app/meter.mjs";
import { decodePresence, encodePresence, presenceBytesMax } from "../../app/presence.mjs";
import { layerFor, wishesBetween } from "../../app/wishes.mjs";
import { commandFor, shortcuts, takesText } from "../../app/shortcuts.mjs";
import { noSpeakers, speakingHoldMilliseconds, takeLevels, takeSpeakers } from "../../app/speaking.mjs";

const free = { typing: false, dialog: false };

test("shortcuts: each key is one command, in any case", () => {
  for (const { key, command } of shortcuts) assert.equal(commandFor({ key }, free), command, key);
  assert.equal(commandFor({ key: "M" }, free), "mute");
  assert.equal(new Set(shortcuts.map((one) => one.key)).size, shortcuts.length);
  assert.equal(commandFor({ key: "x" }, free), null);
});

test("shortcuts: not with a modifier, held down, while typing, composing, or in a dialog; Escape while typing", () => {
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { repeat: true }, { isComposing: true }, { defaultPrevented: true }]) {
    assert.equal(commandFor({ key: "m", ...more }, free), null);
  }
  assert.equal(commandFor({ key: "m" }, { typing: true, dialog: false }), null);
  assert.equal(commandFor({ key: "Escape" }, { typing: true, dialog: false }), "escape");
  assert.equal(commandFor({ key: "m" }, { typing: false, dialog: true }), null);
  assert.ok(takesText({ tagName: "input", type: "text" }) && takesText({ tagName: "TEXTAREA" }));
  assert.ok(takesText({ tagName: "SELECT" }) && takesText({ isContentEditable: true }));
  assert.ok(!takesText({ tagName: "INPUT", type: "checkbox" }) && !takesText({ tagName: "BUTTON" }) && !takesText(null));
});

test("who speaks by levels: begins above one bound, holds through gaps, ends below the other", () => {
  const at = (state, level, now) => takeLevels(state, [{ participant: 2, level }, { participant: 3, level: -70 }], now);
  let state = at(noSpeakers(), -50, 0);
  assert.deepEqual(state.speaking, []);
  state = at(state, -30, 100);
  assert.deepEqual(state.speaking, [2]);
  const same = at(state, -50, 200);
  assert.equal(same.speaking, state.speaking);
  state = at(same, -80, 200 + speakingHoldMilliseconds - 1);
  assert.deepEqual(state.speaking, [2]);
  state = at(state, -80, 200 + speakingHoldMilliseconds);
  assert.deepEqual(state.speaking, []);
});

test("who speaks: the relay's word takes the place of levels for good", () => {
  const told = takeSpeakers(noSpeakers(), [{ participant: 7 }, { participant: 2 }], 5);
  assert.deepEqual(told.speaking, [7, 2]);
  assert.equal(takeLevels(told, [{ participant: 3, level: -10 }], 10), told);
  assert.equal(told.spokeAt.get(7), 5);
});

test("layers: the lowest that fills the tile; the highest is no wish, and only changes are said", () => {
  const layers = [{ height: 180 }, { height: 360 }, { height: 720 }];
  assert.deepEqual([100, 240, 241, 480, 481, 2000].map((height) => layerFor(layers, height)), [0, 0, 1, 1, null, null]);
  assert.equal(layerFor([{ height: 180 }], 90), null);
  assert.equal(layerFor([{}, {}], 90), 0);
  assert.deepEqual(wishesBetween(new Map(), new Map([[3, null], [4, 0], [5, 0]])), [{ streams: [4, 5], maxLayer: { spatial: 0 } }]);
  assert.deepEqual(wishesBetween(new Map([[4, 0], [5, 1]]), new Map([[4, null], [5, 1]])), [{ streams: [4] }]);
});

test("presence: what was encoded is read, anything else is nothing", () => {
  for (const muted of [true, false]) assert.deepEqual(decodePresence(encodePresence({ muted })), { muted });
  const bytes = (text) => new TextEncoder().encode(text);
  for (const bad of ["", "{", "null", "[]", "{\"muted\":1}", `{"muted":true,"x":"${"y".repeat(presenceBytesMax)}"}`]) {
    assert.equal(decodePresence(bytes(bad)), null, bad.slice(0, 20));
  }
  assert.equal(decodePresence(new Uint8Array([0xff, 0xfe])), null);
});

test("devices: kinds apart, aliases out, nameless ones numbered", () => {
  const info = (kind, deviceId, label = "") => ({ kind, deviceId, label });
  assert.deepEqual(describeDevices([
    info("audioinput", "default", "Default"), info("audioinput", "a"), info("audioinput", "b", "USB"), info("videoinput", "c", "Cam"),
    info("audiooutput", "communications", "x"), info("videoinput", ""),
  ]), {
    microphones: [{ id: "a", label: "Microphone 1" }, { id: "b", label: "USB" }], cameras: [{ id: "c", label: "Cam" }], speakers: [],
  });
  assert.equal(/** @type {any} */ (microphoneConstraints(null, true)).noiseSuppression, false);
  assert.deepEqual(/** @type {any} */ (microphoneConstraints("a", false)).deviceId, { exact: "a" });
});

test("choices survive a storage that is absent, full or spoilt", () => {
  const broken = { getItem: () => "{not json", setItem: () => { throw new Error("full"); } };
  for (const storage of [null, broken, { getItem: () => "[1]", setItem() {} }]) {
    const choices = new Choices(/** @type {any} */ (storage));
    assert.equal(choices.text("name"), null);
    choices.set("name", "Ann");
    assert.equal(choices.text("name"), "Ann");
    assert.equal(choices.flag("name"), false);
  }
});

test("capabilities: without decoder or worklet one listens only, and is told so", () => {
  for (const found of [null, { audioDecode: false, worklet: true }, { audioDecode: true, worklet: false }]) {
    const judged = judge(found);
    assert.equal(judged.listenOnly, true);
    assert.match(judged.why.join(" "), /listening/);
  }
  assert.deepEqual(judge({ audioEncode: true, audioDecode: true, worklet: true, video: [{ encode: true, decode: true }], why: [] }), {
    audioEncode: true, audioDecode: true, worklet: true, video: [{ encode: true, decode: true }], why: [], listenOnly: false, outputSelection: false,
  });
  assert.match(judge({ audioDecode: true, worklet: true, audioEncode: false, video: [], why: [] }).why.join(" "), /nobody hears you/);
});

test("formats: units, and a dash for what is not known", () => {
  assert.deepEqual(
    [formats.milliseconds(3.14159), formats.milliseconds(84.6), formats.milliseconds(null), formats.milliseconds(-1.8)],
    ["3.1 ms", "85 ms", "–", "-1.8 ms"],
  );
  assert.deepEqual([formats.bitrate(310_000), formats.bitrate(4_200_000), formats.kilobits(31.8)], ["310 kbit/s", "4.2 Mbit/s", "32 kbit/s"]);
  assert.deepEqual([formats.bytes(999), formats.bytes(48_211_004), formats.bytes(undefined)], ["999 B", "48.2 MB", "–"]);
  assert.equal(formats.share(0.0814), "8.1 %");
  assert.equal(formats.sending({ kbps: 1240, framesPerSecond: 29.9, layers: [1, 2, 3], keyFrames: 4 }), "1.2 Mbit/s, 30/s, 3 layers, 4 key frames");
  assert.deepEqual(["h2", "http/1.1", "", "toString"].map(httpVersion), ["HTTP/2", "HTTP/1.1", "–", "toString"]);
  assert.equal(pageProtocol(/** @type {any} */ ({ getEntriesByType: () => [{ nextHopProtocol: "h2" }] })), "HTTP/2");
});

test("levels are RFC 6464's: 0 for full scale, −127 for silence", () => {
  assert.equal(levelOf(new Float32Array(64).fill(1)), 0);
  assert.equal(levelOf(new Float32Array(64)), -127);
  assert.equal(levelOf(new Float32Array(64).fill(0.1)), -20);
  assert.equal(levelOf(new Float32Array(0)), -127);
});

test("the page keeps to its content security policy: no markup from text, no inline style or script", () => {
  const folder = new URL("../../app/", import.meta.url);
  const files = readdirSync(folder, { recursive: true }).map(String).filter((name) => name.endsWith(".mjs"));
  assert.ok(files.length > 20);
  for (const name of files) {
    const text = readFileSync(new URL(name, folder), "utf8");
    assert.doesNotMatch(text, /\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\("style"/, name);
    assert.ok(text.split("\n").length <= 400, name);
  }
  const page = readFileSync(new URL("../../index.html", import.meta.url), "utf8");
  assert.doesNotMatch(page, /<style|style=|\son[a-z]+=|<script(?![^>]*src=)|https?:\/\//);
});
