import assert from "node:assert/strict";
import test from "node:test";
import { describeRoute, portName, portType, reasons, routeChange } from "../../media/route.mjs";

const device = (kind, deviceId, label) => ({ kind, deviceId, label, groupId: "" });
const speaker = device("audiooutput", "s1", "Built-in Audio");
const headset = device("audiooutput", "h1", "Jabra Headset");
const microphone = device("audioinput", "m1", "Built-in Microphone");
const camera = device("videoinput", "c1", "HD Camera");

test("a device's port is told by its name", () => {
  for (const [kind, label, type] of [
    ["audioinput", "", "builtInMic"], ["audiooutput", "", "builtInSpeaker"], ["audiooutput", "AirPods Pro", "bluetoothA2DP"],
    ["audioinput", "AirPods Pro", "bluetoothHFP"], ["audiooutput", "Headset (WH-1000XM4 Hands-Free AG Audio)", "bluetoothHFP"],
    ["audiooutput", "Headphones (Realtek)", "headphones"], ["audioinput", "Headset Microphone", "headsetMic"], ["audiooutput", "HDMI 2", "HDMI"],
    ["audioinput", "Yeti (USB Audio)", "usbAudio"], ["audiooutput", "AirPlay", "airPlay"], ["audioinput", "HDMI capture", "builtInMic"],
  ]) assert.equal(portType(kind, label), type, label);
});

test("a name is without the browser's words, and within 128 bytes", () => {
  assert.equal(portName("Default - Built-in Audio"), "Built-in Audio");
  assert.equal(portName("HD Webcam (046d:0825)"), "HD Webcam");
  assert.equal(portName(""), undefined);
  assert.ok(new TextEncoder().encode(portName("ä".repeat(100))).length <= 128);
  assert.ok(!portName(`x${"ä".repeat(100)}`).includes("\uFFFD"));
});

test("the route names what is used, with the output's latency", () => {
  const devices = [microphone, speaker, headset, camera];
  assert.deepEqual(describeRoute(devices, { inputID: "m1", outputID: "h1", latencySeconds: 0.0301 }), {
    inputs: [{ type: "builtInMic", name: "Built-in Microphone" }], outputs: [{ type: "headset", name: "Jabra Headset", latency: 0.03 }],
  });
  assert.deepEqual(describeRoute([], { inputID: null, outputID: "" }), { inputs: [], outputs: [{ type: "builtInSpeaker" }] });
});

test("only what was used and is gone is an old device that is unavailable", () => {
  const used = { inputID: "m1", outputID: "h1" };
  const before = [microphone, speaker, headset];
  assert.equal(routeChange(before, [microphone, speaker], used), reasons.oldDeviceUnavailable);
  assert.equal(routeChange(before, [speaker, headset], used), reasons.oldDeviceUnavailable);
  assert.equal(routeChange(before, [microphone, headset], used), null);
  assert.equal(routeChange(before, [microphone, speaker, headset, camera], used), null);
  assert.equal(routeChange([microphone, speaker], before, { inputID: "m1", outputID: "" }), reasons.newDeviceAvailable);
});

test("the system's default that was pulled is an old device; one that only moved is a new one", () => {
  const standard = (label) => device("audiooutput", "default", `Default - ${label}`);
  const used = { inputID: null, outputID: "" };
  const before = [standard("Jabra Headset"), speaker, headset];
  assert.equal(routeChange(before, [standard("Built-in Audio"), speaker], used), reasons.oldDeviceUnavailable);
  assert.equal(routeChange(before, [standard("Built-in Audio"), speaker, headset], used), reasons.newDeviceAvailable);
});
