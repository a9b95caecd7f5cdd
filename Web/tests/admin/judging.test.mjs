import assert from "node:assert/strict";
import test from "node:test";

import { byEnd, DAY_MILLISECONDS, judge, remedy } from "../../admin/certificates.mjs";
import * as quality from "../../admin/quality.mjs";

const NOW = 1_764_000_000_000;

test("a certificate is judged by what it is for and the whole days that are left", () => {
  for (const [what, days, level, text] of [
    ["server", 21, "good", "21 days left"],
    ["server", 20.99, "warning", "20 days left"],
    ["server", 7, "warning", "7 days left"],
    ["server", 6.9, "critical", "6 days left"],
    ["authority", 89, "warning", "89 days left"],
    ["authority", 29, "critical", "29 days left"],
    ["client", 13, "warning", "13 days left"],
    ["client", 1.5, "critical", "1 day left"],
    ["client", 0.5, "critical", "12 hours left"],
    ["client", 1 / 48, "critical", "less than an hour left"],
    ["client", 0, "ended", "ended today"],
    ["client", -1.2, "ended", "ended 1 day ago"],
    ["server", 3650, "good", "9 years left"],
    ["a word of a later relay", 20, "warning", "20 days left"],
  ]) {
    const judged = judge({ what, notAfter: NOW + days * DAY_MILLISECONDS }, NOW);
    assert.deepEqual([judged.level, judged.text], [level, text], `${what}, ${days} days`);
  }
});

test("an end that is not known is no alarm and no comfort", () => {
  assert.equal(judge({ what: "server" }, NOW).level, "unknown");
});

test("the soonest to end is first; of those that end together, whom it concerns most; the unknown last", () => {
  const order = byEnd([
    { what: "client", name: "b", notAfter: 5 },
    { what: "client", name: "unknown" },
    { what: "server", name: "s", notAfter: 5 },
    { what: "client", name: "a", notAfter: 5 },
    { what: "authority", name: "ca", notAfter: 5 },
    { what: "client", name: "ended", notAfter: -1 },
  ]);
  assert.deepEqual(order.map((certificate) => certificate.name), ["ended", "ca", "s", "a", "b", "unknown"]);
  assert.deepEqual(byEnd(undefined), []);
});

test("what to do is said for each kind", () => {
  for (const what of ["server", "authority", "client", "another"]) assert.match(remedy(what), /\.$/);
});

test("a stream is judged by the mean of its receivers, and one bad receiver makes it fair", () => {
  const reception = (concealedShare, concealedShareMax, lateShare = 0) => ({ concealedShare, concealedShareMax, lateShare, lateShareMax: lateShare });
  for (const [given, expected] of [
    [reception(0.001, 0.01), "good"],
    [reception(0.001, 0.5), "fair"],
    [reception(0.05, 0.05), "fair"],
    [reception(0.1, 0.1), "poor"],
    [reception(0, 0, 0.2), "poor"],
    [undefined, "unknown"],
  ]) {
    assert.equal(quality.ofReception(given), expected, JSON.stringify(given));
  }
});

test("a session is as good as the worst that is known of it", () => {
  for (const [session, expected] of [
    [{ state: "connected" }, "unknown"],
    [{ state: "connected", roundTripMilliseconds: 20 }, "good"],
    [{ state: "connected", roundTripMilliseconds: 200 }, "fair"],
    [{ state: "connected", roundTripMilliseconds: 500 }, "poor"],
    [{ state: "connected", roundTripMilliseconds: 20, congested: true }, "poor"],
    [{ state: "connected", roundTripMilliseconds: 20, congested: false, reports: [{ concealedShare: 0.03 }] }, "fair"],
    [{ state: "parked", roundTripMilliseconds: 20 }, "poor"],
    [undefined, "unknown"],
  ]) {
    assert.equal(quality.ofSession(session), expected, JSON.stringify(session));
  }
});

test("a report, and the share that the relay drops", () => {
  assert.deepEqual([{ concealedShare: 0, lateShare: 0 }, { concealedShare: 0, lateShare: 0.03 }, undefined].map(quality.ofReport), ["good", "fair", "unknown"]);
  assert.deepEqual([0, 0.02, 0.2, null].map(quality.ofDroppedShare), ["good", "fair", "poor", "unknown"]);
});
