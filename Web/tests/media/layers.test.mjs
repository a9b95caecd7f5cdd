import assert from "node:assert/strict";
import test from "node:test";
import { bestScalabilityMode, layersFor, temporalLayersOf, UplinkControl, WantedLayers } from "../../media/layers.mjs";

const sizes = (layers) => layers.map(({ width, height }) => `${width}x${height}`);

test("a camera's layers are as many as it has lines for, lowest first, of even sizes", () => {
  for (const [width, height, expected] of [
    [1280, 720, ["320x180", "640x360", "1280x720"]],
    [1920, 1080, ["320x180", "640x360", "1280x720"]],
    [640, 360, ["320x180", "640x360"]],
    [640, 480, ["240x180", "640x480"]],
    [960, 540, ["320x180", "640x360", "960x540"]],
    [320, 240, ["320x240"]],
    [160, 120, ["160x120"]],
    [720, 1280, ["180x320", "360x640", "720x1280"]],
  ]) {
    const layers = layersFor({ source: "camera", width, height });
    assert.deepEqual(sizes(layers), expected, `${width}x${height}`);
    for (const layer of layers) assert.ok(layer.width % 2 === 0 && layer.height % 2 === 0);
    assert.deepEqual(layers.map(({ bitrate }) => bitrate), layers.map(({ bitrate }) => bitrate).toSorted((a, b) => a - b));
  }
});

test("a screen has one layer, of at most 1080 lines and 15 pictures a second", () => {
  assert.deepEqual(sizes(layersFor({ source: "screen", width: 3840, height: 2160 })), ["1920x1080"]);
  const [layer] = layersFor({ source: "screen", width: 1366, height: 768, frameRate: 60, temporalLayers: 2 });
  assert.deepEqual([layer.width, layer.height, layer.frameRate, layer.temporalLayers], [1366, 768, 15, 2]);
});

test("the scalability mode with the most temporal layers is taken", () => {
  assert.equal(bestScalabilityMode(["L1T2", "L1T3"]), "L1T3");
  assert.equal(bestScalabilityMode(["L1T2"]), "L1T2");
  assert.equal(bestScalabilityMode(["L2T1"]), undefined);
  assert.deepEqual(["L1T3", "L1T2", undefined, "L3T3"].map(temporalLayersOf), [3, 2, 1, 1]);
});

test("before anything is said all layers are wanted, and each begins with a key frame", () => {
  const wanted = new WantedLayers(2);
  assert.deepEqual([0, 1].map((layer) => [wanted.isWanted(layer), wanted.needsKey(layer), wanted.temporal(layer)]), [[true, true, 7], [true, true, 7]]);
});

test("a layer that was not wanted begins with a key frame when it is again; one that was goes on", () => {
  const wanted = new WantedLayers(3);
  for (const layer of [0, 1, 2]) wanted.keyed(layer);
  wanted.update([{ spatial: 0, temporal: 1 }]);
  assert.deepEqual([0, 1, 2].map((layer) => wanted.isWanted(layer)), [true, false, false]);
  assert.equal(wanted.temporal(0), 1);
  wanted.update([{ spatial: 0, temporal: 2 }, { spatial: 2, temporal: 0 }]);
  assert.deepEqual([0, 1, 2].map((layer) => wanted.needsKey(layer)), [false, false, true]);
  wanted.update([]);
  assert.equal(wanted.isWanted(0), false);
  assert.equal(wanted.temporal(0), -1);
});

test("a key frame is made of the layer that is named, or of all", () => {
  const wanted = new WantedLayers(2);
  for (const layer of [0, 1]) wanted.keyed(layer);
  wanted.requestKey(1);
  wanted.requestKey(9);
  assert.deepEqual([0, 1].map((layer) => wanted.needsKey(layer)), [false, true]);
  wanted.requestKey();
  assert.equal(wanted.needsKey(0), true);
});

test("a new session starts over", () => {
  const wanted = new WantedLayers(1);
  wanted.keyed(0);
  wanted.update([]);
  wanted.reset();
  assert.ok(wanted.isWanted(0) && wanted.needsKey(0));
});

test("an uplink that lags loses pictures, then the highest layer, for longer each time that it did not help", () => {
  const uplink = new UplinkControl();
  assert.deepEqual(uplink.observe(10_000, 0), { isSkipped: false, layersLeftOut: 0 });
  assert.deepEqual(uplink.observe(100_000, 10), { isSkipped: true, layersLeftOut: 0 });
  assert.deepEqual(uplink.observe(300_000, 20), { isSkipped: true, layersLeftOut: 1 });
  assert.equal(uplink.observe(0, 4_000).layersLeftOut, 1);
  assert.equal(uplink.observe(0, 4_020).layersLeftOut, 0);
  uplink.observe(300_000, 5_000);
  assert.equal(uplink.observe(0, 12_000).layersLeftOut, 1);
  assert.equal(uplink.observe(0, 13_000).layersLeftOut, 0);
});
