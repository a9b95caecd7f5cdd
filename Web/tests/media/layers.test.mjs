import assert from "node:assert/strict";
import test from "node:test";
import { bestScalabilityMode, layersFor, temporalLayersOf, LoadControl, WantedLayers } from "../../media/layers.mjs";

const sizes = (layers) => layers.map(({ width, height }) => `${width}x${height}`);

test("a camera's layers are as many as it has lines for, lowest first, of even sizes", () => {
  for (const [width, height, expected] of [
    [1280, 720, ["320x180", "640x360", "1280x720"]],
    [1920, 1080, ["320x180", "640x360", "1280x720"]],
    [640, 360, ["320x180", "640x360"]],
    [640, 480, ["240x180", "480x360"]],
    [960, 540, ["320x180", "640x360", "960x540"]],
    [320, 240, ["240x180"]],
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

const idle = { bufferedBytes: 0, encodeMilliseconds: 10, lagMilliseconds: 5 };
const slow = { ...idle, encodeMilliseconds: 200 };

test("what does not keep up gets smaller, then fewer pictures, step by step; a screen only fewer", () => {
  for (const [source, expected] of [["camera", ["2/1", "2/2", "2/3"]], ["screen", ["1/1", "1/2", "1/3"]]]) {
    for (const strained of [slow, { ...idle, lagMilliseconds: 130 }, { ...idle, bufferedBytes: 40_000 }]) {
      const load = new LoadControl(source);
      const steps = [expected[0]];
      for (let now = 0; now <= 9_000; now += 33) {
        const { scale, divisor } = load.observe(strained, now);
        if (steps.at(-1) !== `${scale}/${divisor}`) steps.push(`${scale}/${divisor}`);
      }
      assert.deepEqual(steps, expected);
    }
  }
});

test("a camera begins small, and grows when nothing strained the machine for a while", () => {
  const load = new LoadControl("camera");
  const scales = [0, 4_000, 8_000].map((now) => load.observe(idle, now).scale);
  assert.deepEqual(scales, [2, 2, 1]);
  const busy = new LoadControl("camera");
  for (let now = 0; now < 60_000; now += 33) assert.equal(busy.observe({ ...idle, lagMilliseconds: 25 }, now).scale, 2);
});

test("what keeps up again gets everything back, a step at a time", () => {
  const load = new LoadControl("screen");
  for (let now = 0; now <= 2_500; now += 33) load.observe(slow, now);
  const back = [];
  for (let now = 2_500; now <= 200_000; now += 33) {
    const { divisor } = load.observe(idle, now);
    if (back.at(-1)?.[0] !== divisor) back.push([divisor, now]);
  }
  assert.deepEqual(back.map(([divisor]) => divisor), [3, 2, 1]);
  assert.ok(back[1][1] - 2_500 >= 8_000);
});

test("a step back that was too much makes the next wait longer", () => {
  const load = new LoadControl("screen");
  let now = 0;
  const until = (divisor, observation) => {
    const begun = now;
    while (load.observe(observation, now).divisor !== divisor) now += 33;
    return now - begun;
  };
  until(2, slow);
  const first = until(1, idle);
  until(2, { ...idle, bufferedBytes: 40_000 });
  assert.ok(until(1, idle) > 1.5 * first);
});

test("a socket that is full gets no pictures", () => {
  assert.equal(new LoadControl("camera").observe({ ...idle, bufferedBytes: 200_000 }, 0).isStopped, true);
});
