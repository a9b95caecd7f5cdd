import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameAssembler } from "../../segue/assembler.mjs";
import { FrameError } from "../../segue/errors.mjs";
import { DEFAULT_LIMITS, encodeFrame } from "../../segue/frames.mjs";
import { generator } from "./support/fakes.mjs";
import { bundle, cut, hex, part } from "./support/relay-frames.mjs";

const video = (stream, bytes, sequence = 0) => encodeFrame({ kind: "video", stream, sequence, key: true, payload: new Uint8Array(bytes).fill(sequence + 1) });
const audio = (stream, sequence) => encodeFrame({ kind: "audio", stream, sequence, payload: new Uint8Array(3) });
const refuses = (fault, closeCode = 1002) => (error) => error instanceof FrameError && error.fault === fault && error.closeCode === closeCode;

test("§4.4 a bundle is taken apart in its order", () => {
  const frames = [audio(1, 7), video(2, 100), encodeFrame({ kind: "data", stream: 3 })];
  const taken = new FrameAssembler().take(bundle(...frames));
  assert.deepEqual(taken.map((frame) => frame.bytes), frames);
});

test("§4.6 parts of two streams and whole frames of others come between each other", () => {
  const assembler = new FrameAssembler();
  const [first, second] = [video(1, 10_000, 4), video(2, 7_000, 9)];
  const [a, b] = [cut(first, 3_000), cut(second, 2_000)];
  const messages = [a[0], b[0], audio(3, 1), a[1], b[1], bundle(audio(3, 2), audio(4, 1)), b[2], a[2], b[3], a[3]];
  const taken = messages.flatMap((message) => assembler.take(message));
  assert.deepEqual(taken.map((frame) => [frame.stream, frame.sequence]), [[3, 1], [3, 2], [4, 1], [2, 9], [1, 4]]);
  assert.deepEqual(taken[3].bytes, second);
  assert.deepEqual(taken[4].bytes, first);
  assert.equal(assembler.unfinished, 0);
});

test("§4.6 a frame may be cut anywhere, one byte a part included", () => {
  for (const size of [1, 15, 16, 17, 100]) {
    const assembler = new FrameAssembler();
    const frame = video(1, 60);
    const taken = cut(frame, size).flatMap((message) => assembler.take(message));
    assert.deepEqual(taken.map((each) => each.bytes), [frame]);
  }
});

const BUNDLE_HEAD = "1400007F 00000000 00000000 00000000";
const FRAME = "1000007F 00000001 00000000 00000000";
const FAULTS = [
  ["media_bundle_empty", 1002, [hex(BUNDLE_HEAD)]],
  ["media_bundle_entry_truncated", 1002, [hex(`${BUNDLE_HEAD} 000000`)]],
  ["media_bundle_entry_truncated", 1002, [hex(`${BUNDLE_HEAD} 00000011 ${FRAME}`)]],
  ["media_header_truncated", 1002, [hex(`${BUNDLE_HEAD} 00000004 10000000`)]],
  ["media_bundle_nested", 1002, [hex(`${BUNDLE_HEAD} 00000010 ${BUNDLE_HEAD}`)]],
  ["media_bundle_part", 1002, [hex(`${BUNDLE_HEAD} 00000010 1500007F 00000001 00000000 00000000`)]],
  ["media_bundle_configuration", 1002, [hex(`${BUNDLE_HEAD} 00000010 1300007F 00000001 00000000 00000000`)]],
  ["media_bundle_encrypted", 1002, [hex(`1440007F 00000000 00000000 00000000 00000010 ${FRAME}`)]],
  ["media_part_flags", 1002, [hex("1501007F 00000001 00000000 00000000 00000000 00000020 AA")]],
  ["media_part_truncated", 1002, [hex("1500007F 00000001 00000000 00000000 00000000 00000020")]],
  ["media_part_outside_frame", 1002, [part(video(1, 10), 0, 20, 19)]],
  ["media_part_outside_frame", 1002, [part(video(1, 10), 0, 5, 8)]],
  ["media_part_out_of_order", 1002, [part(video(1, 100), 20, 10)]],
  ["media_part_out_of_order", 1002, [part(video(1, 100), 0, 20), part(video(1, 100), 0, 20)]],
  ["media_part_out_of_order", 1002, [part(video(1, 100), 0, 20), part(video(1, 100), 21, 10)]],
  ["media_part_out_of_order", 1002, [part(video(1, 100), 0, 20), part(video(1, 100), 20, 10, 115)]],
  ["media_part_out_of_order", 1002, [part(video(1, 100), 0, 20), video(1, 5)]],
  ["media_frame_over_videoFrameBytesMax", 1009, [part(video(1, 100), 0, 20, DEFAULT_LIMITS.videoFrameBytesMax + 1)]],
  ["media_parts_too_many", 1009, Array.from({ length: 65 }, (_, stream) => part(video(stream, 100), 0, 20))],
  ["media_parts_too_many", 1009, Array.from({ length: 9 }, (_, stream) => part(new Uint8Array([...video(stream, 0), ...new Uint8Array(2 << 20)]), 0, 2 << 20))],
];

for (const [fault, closeCode, messages] of FAULTS) {
  test(`§4.5 ${fault} closes with ${closeCode}, after ${messages.length - 1} messages`, () => {
    const assembler = new FrameAssembler();
    const last = messages[messages.length - 1];
    for (const message of messages.slice(0, -1)) assert.deepEqual(assembler.take(message), []);
    assert.throws(() => assembler.take(last), refuses(fault, closeCode));
  });
}

test("§4.6 a frame whose parts have another header, or that is a bundle inside, is refused", () => {
  const frame = video(1, 100);
  const other = frame.slice();
  other[9] ^= 1;
  const assembler = new FrameAssembler();
  assembler.take(part(frame, 0, 50));
  assert.throws(() => assembler.take(part(other, 50, 66)), refuses("media_part_outside_frame"));
  const inside = bundle(audio(0, 0), audio(0, 1));
  assert.throws(() => cut(inside, 30).map((message) => new FrameAssembler().take(message)).flat(), FrameError);
  const whole = new FrameAssembler();
  assert.throws(() => cut(inside, 30).forEach((message) => whole.take(message)), refuses("media_part_outside_frame"));
});

test("§4.5 random messages, and good ones with changed bytes, bring frames or FrameError and nothing else", () => {
  const next = generator(4_242);
  const assembler = new FrameAssembler();
  for (let round = 0; round < 4_000; round += 1) {
    const good = [bundle(audio(next(3), round), video(next(3), next(50))), part(video(next(3), 200), next(2) * 50, 50), audio(next(3), round)][next(3)];
    const message = good.slice(0, next(4) === 0 ? next(good.length + 1) : good.length);
    if (message.length > 0 && next(2)) message[next(message.length)] ^= 1 << next(8);
    try {
      for (const frame of assembler.take(message)) assert.ok(["audio", "video", "data", "configuration"].includes(frame.kind));
    } catch (error) {
      assert.ok(error instanceof FrameError, error.stack);
    }
  }
});
