import assert from "node:assert/strict";
import test from "node:test";
import { barsOf, judgeConnection, judgeParticipant, meterShare, since } from "../../app/quality.mjs";
import { strings } from "../../app/strings.mjs";

test("the worst of what comes is the grade, and reasons come worst first", () => {
  const table = [
    [{}, "unknown", []],
    [{ audio: { concealedShare: 0.001, latencyMilliseconds: 80 } }, "good", []],
    [{ audio: { concealedShare: 0.01, latencyMilliseconds: 80 } }, "fair", ["concealed"]],
    [{ audio: { concealedShare: 0.02, latencyMilliseconds: 500 } }, "poor", ["latency", "concealed"]],
    [{ audio: { concealedShare: 0.001, latencyMilliseconds: null } }, "good", []],
    [{ video: { framesPerSecond: 30, decoded: 100, dropped: 0, latencyMilliseconds: 90 } }, "good", []],
    [{ video: { framesPerSecond: 12, decoded: 100, dropped: 0 } }, "fair", ["framesPerSecond"]],
    [{ video: { framesPerSecond: 30, decoded: 80, dropped: 20 } }, "poor", ["dropped"]],
    [{ video: { framesPerSecond: 1, decoded: 5, dropped: 0 }, screen: true }, "good", []],
    [{ video: { framesPerSecond: 0, decoded: 0, dropped: 0 } }, "unknown", []],
  ];
  for (const [media, grade, reasons] of table) {
    const judged = judgeParticipant(media);
    assert.deepEqual([judged.grade, judged.reasons], [grade, reasons], JSON.stringify(media));
    for (const reason of judged.reasons) assert.equal(typeof strings.quality.reasons[reason], "string", reason);
  }
});

test("a connection that is being made again is poor, a congested one fair, a fast one good", () => {
  assert.deepEqual(judgeConnection({ state: "reconnecting", roundTripMilliseconds: 5 }), { grade: "poor", reasons: ["reconnecting"] });
  assert.equal(judgeConnection({ state: "open", roundTripMilliseconds: 20 }).grade, "good");
  assert.deepEqual(judgeConnection({ state: "open", roundTripMilliseconds: 20, congested: true }), { grade: "fair", reasons: ["congested"] });
  assert.equal(judgeConnection({ state: "open", roundTripMilliseconds: 900 }).grade, "poor");
});

test("only what happened since the last look counts, and totals that begin anew are no negative numbers", () => {
  assert.deepEqual(since({ decoded: 100, dropped: 50, freezes: 2 }, { decoded: 130, dropped: 50, freezes: 2 }), { decoded: 30, dropped: 0, freezes: 0 });
  assert.deepEqual(since({ decoded: 100, dropped: 50, freezes: 2 }, { decoded: 7, dropped: 0, freezes: 0 }), { decoded: 7, dropped: 0, freezes: 0 });
  assert.deepEqual(since(undefined, { decoded: 7, dropped: 1, freezes: 0 }), { decoded: 7, dropped: 1, freezes: 0 });
});

test("bars and meters stay in their range", () => {
  assert.deepEqual(["good", "fair", "poor", "unknown"].map(barsOf), [4, 2, 1, 0]);
  assert.deepEqual([0, -30, -60, -127, null, undefined, NaN, 5].map(meterShare), [1, 0.5, 0, 0, 0, 0, 0, 1]);
});
