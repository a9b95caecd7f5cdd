import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameError } from "../../segue/errors.mjs";
import { DEFAULT_LIMITS, decodeFrame, encodeFrame, serialDistance } from "../../segue/frames.mjs";
import { generator } from "./support/fakes.mjs";
import { hex } from "./support/relay-frames.mjs";

/** Protocol 4.2, byte for byte. */
const VECTORS = [
  {
    bytes: hex("1000009E 00000003 00000001 000003C0 F8FFFE"),
    frame: { kind: "audio", stream: 3, sequence: 1, timestamp: 960, level: -30, voice: true, key: false, payload: hex("F8FFFE") },
  },
  {
    bytes: hex("1121007F 00000004 00000000 00000000 00020000 02000004 00000BB8 AABB"),
    frame: { kind: "video", stream: 4, sequence: 0, timestamp: 0, key: true, compositionOffset: 3000, level: null, voice: false, payload: hex("AABB") },
  },
  { bytes: hex("1300007F 00000004 00000000 00000000"), frame: { kind: "configuration", stream: 4, sequence: 0, timestamp: 0, level: null, payload: hex("") } },
];

function assertHas(actual, expected) {
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(actual[name], value, name);
}

test("§4.2 the examples of the protocol decode and encode byte for byte", () => {
  for (const { bytes, frame } of VECTORS) {
    assertHas(decodeFrame(bytes), frame);
    assert.deepEqual(encodeFrame(frame), bytes);
  }
});

const FLAGS = ["key", "discardable", "discontinuity", "silence", "endOfPicture", "encrypted"];

function randomFrame(next) {
  const kind = ["audio", "video", "data", "configuration"][next(4)];
  const frame = { kind, stream: next(2 ** 32), sequence: next(2 ** 32), timestamp: next(2 ** 32), spatial: next(16), temporal: next(16) };
  for (const flag of FLAGS) frame[flag] = next(2) === 1;
  frame.level = kind === "audio" ? 0 - next(128) : null;
  frame.voice = kind === "audio" && next(2) === 1;
  frame.payload = Uint8Array.from({ length: next(200) }, () => next(256));
  frame.captureTime = next(2) ? next(2 ** 32) * 900 + next(1000) : null;
  frame.compositionOffset = next(3) ? null : next(2 ** 32) | 0;
  frame.duration = next(3) ? null : next(2 ** 32);
  frame.attachments = next(3) ? null : Uint8Array.from({ length: next(20) }, () => next(256));
  frame.packets = next(3) || frame.payload.length === 0 ? null : [{ offset: 0, frames: next(100), bytes: frame.payload.length }];
  return frame;
}

test("§4.1, §4.3 decode∘encode is the identity for random frames", () => {
  const next = generator(20_251);
  for (let round = 0; round < 2_000; round += 1) {
    const frame = randomFrame(next);
    const bytes = encodeFrame(frame);
    const { captureTime, ...others } = frame;
    const decoded = decodeFrame(bytes);
    assertHas(decoded, others);
    if (captureTime === null) assert.equal(decoded.captureTime, null);
    else assert.ok(Math.abs(decoded.captureTime - captureTime) < 0.001, `${decoded.captureTime} ${captureTime}`);
    assert.equal(decoded.bytes, bytes);
  }
});

test("§4.5 a frame cut at any length, or with any byte changed, decodes or throws FrameError and nothing else", () => {
  const next = generator(77);
  for (let round = 0; round < 60; round += 1) {
    const bytes = encodeFrame(randomFrame(next));
    for (let length = 0; length < bytes.length; length += 1) decodesOrIsRefused(bytes.subarray(0, length));
    for (let place = 0; place < Math.min(bytes.length, 64); place += 1) {
      const changed = bytes.slice();
      changed[place] ^= 1 << next(8);
      decodesOrIsRefused(changed);
    }
  }
});

function decodesOrIsRefused(bytes) {
  try {
    decodeFrame(bytes);
  } catch (error) {
    assert.ok(error instanceof FrameError, String(error));
    assert.ok([1002, 1003, 1009].includes(error.closeCode));
    assert.match(error.fault, /^media_/u);
  }
}

const HEAD = "1020007F 00000001 00000000 00000000";
const FAULTS = [
  ["media_header_truncated", 1002, "100000"],
  ["media_version_unsupported", 1003, "2000007F 00000001 00000000 00000000"],
  ["media_kind_unknown", 1003, "1600007F 00000001 00000000 00000000"],
  ["media_reserved_flag", 1002, "1080007F 00000001 00000000 00000000"],
  ["media_extension_block_truncated", 1002, HEAD],
  ["media_extension_block_truncated", 1002, `${HEAD} 0002 0000 05000004`],
  ["media_extension_reserved", 1002, `${HEAD} 0001 0001 09000000`],
  ["media_extension_reserved", 1002, `${HEAD} 0001 0000 09010000`],
  ["media_extension_reserved", 1002, `${HEAD} 0002 0000 09000001 AA000001`],
  ["media_extension_item_truncated", 1002, `${HEAD} 0002 0000 09000005 00000000`],
  ["media_extension_item_length", 1002, `${HEAD} 0002 0000 01000004 00000000`],
  ["media_extension_item_length", 1002, `${HEAD} 0001 0000 03000000`],
  ["media_extension_item_repeated", 1002, `${HEAD} 0004 0000 05000004 00000001 05000004 00000001`],
  ["media_packet_outside_payload", 1002, `${HEAD} 0005 0000 03000010 0000000000000000 00000000 00000002 AA`],
  ["media_packet_outside_payload", 1002, `${HEAD} 0005 0000 03000010 FFFFFFFFFFFFFFFF 00000000 00000001 AA`],
];

for (const [fault, closeCode, text] of FAULTS) {
  test(`§4.5 ${fault} closes with ${closeCode}: ${text}`, () => {
    assert.throws(() => decodeFrame(hex(text)), (error) => error instanceof FrameError && error.fault === fault && error.closeCode === closeCode);
  });
}

test("§4.3 items of unknown types are skipped", () => {
  assertHas(decodeFrame(hex(`${HEAD} 0004 0000 09000001 AA000000 05000004 00000007 BB`)), { duration: 7, payload: hex("BB") });
});

test("§4.1 the longest frame of each kind is the relay's limit", () => {
  for (const [kind, limit] of [["audio", "audioFrameBytesMax"], ["video", "videoFrameBytesMax"], ["data", "dataFrameBytesMax"], ["configuration",
    "dataFrameBytesMax"]]) {
    const limits = { ...DEFAULT_LIMITS, [limit]: 20 };
    decodeFrame(encodeFrame({ kind, stream: 1, payload: new Uint8Array(4) }), limits);
    const over = encodeFrame({ kind, stream: 1, payload: new Uint8Array(5) });
    assert.throws(() => decodeFrame(over, limits), (error) => error.fault === `media_frame_over_${limit}` && error.closeCode === 1009);
  }
});

test("a member that no header can hold is refused before it is sent", () => {
  const good = { kind: "audio", stream: 1 };
  for (const bad of [{ kind: "bundle" }, { stream: -1 }, { stream: 2 ** 32 }, { sequence: 0.5 }, { spatial: 16 }, { temporal: -1 },
    { timestamp: NaN }, { packets: [] },
    { packets: [{ offset: 0, frames: 0, bytes: 1 }] }, { attachments: new Uint8Array(70_000) }, { compositionOffset: 2 ** 31 }, { duration: -1 },
      { captureTime: Infinity }]) {
    assert.throws(() => encodeFrame({ ...good, ...bad }), RangeError, JSON.stringify(bad));
  }
});

test("RFC 1982: numbers wrap", () => {
  assert.equal(serialDistance(1, 0xffff_ffff), 2);
  assert.equal(serialDistance(0xffff_ffff, 1), -2);
  assert.equal(serialDistance(7, 7), 0);
});

test("RFC 5905 §6: times of capture are right on both sides of the era's end in 2036", () => {
  for (const time of [0, 1_760_000_000_123.25, Date.UTC(2036, 1, 7, 6, 28, 15), Date.UTC(2036, 1, 7, 6, 28, 16), Date.UTC(2060, 0, 1)]) {
    assert.ok(Math.abs(decodeFrame(encodeFrame({ kind: "audio", stream: 1, captureTime: time })).captureTime - time) < 0.001, String(time));
  }
});
