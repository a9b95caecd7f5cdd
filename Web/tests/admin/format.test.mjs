import assert from "node:assert/strict";
import test from "node:test";

import * as format from "../../admin/format.mjs";

const table = [
  ["counts are whole, with separators", format.count, [[0, "0"], [1234567, "1,234,567"], [undefined, "–"], [NaN, "–"], ["7", "–"]]],
  ["short counts get a multiple from 100,000 on", format.shortCount, [[99_999, "99,999"], [100_000, "100 k"], [4_560_000, "4.56 M"], [-250_000, "-250 k"]]],
  ["rates have three digits, or all before the point", format.perSecond, [[0, "0/s"], [0.2512, "0.251/s"], [1234.5, "1,235/s"], [null, "–"]]],
  ["bytes are binary", format.bytes, [[0, "0 B"], [1023, "1,023 B"], [1024, "1 KiB"], [1536, "1.5 KiB"], [148e6, "141 MiB"], [2 ** 50, "1,024 TiB"]]],
  ["bit rates are decimal", format.bitRate, [[999, "999 bit/s"], [999.6, "1 kbit/s"], [31_200, "31.2 kbit/s"], [2_400_000, "2.4 Mbit/s"]]],
  ["more than nothing is never shown as nothing", format.share, [[0, "0 %"], [0.000001, "< 0.01 %"], [0.0005, "0.05 %"], [0.123, "12 %"], [1, "100 %"]]],
  ["times in milliseconds", format.milliseconds, [[0.1234, "0.123 ms"], [250.4, "250 ms"], [undefined, "–"]]],
  ["drift is signed", format.partsPerMillion, [[4.5, "+4.5 ppm"], [-12, "-12 ppm"], [0, "0 ppm"]]],
  ["durations have two units that stand beside each other", format.duration, [
    [0, "0 s"], [999, "0 s"], [8_000, "8 s"], [60_000, "1 min"], [725_000, "12 min 5 s"],
    [3_600_000, "1 h"], [3_605_000, "1 h"], [273_600_000, "3 d 4 h"], [-5, "0 s"],
  ]],
  ["moments are UTC, and what no date can be is not known", format.moment, [[0, "1970-01-01 00:00:00 UTC"], [1e99, "–"], [undefined, "–"]]],
  ["words of the relay", format.words, [["1008_no_hello", "1008 no hello"], ["", "–"], [undefined, "–"]]],
  ["names of segue's own certificates are short, others whole", format.identityName, [
    ["urn:segue:client:alice", "alice"], ["urn:segue:client:a:b", "a:b"], ["DNS:media.example.org", "DNS:media.example.org"], [undefined, "–"],
  ]],
];

for (const [name, function_, cases] of table) {
  test(name, () => {
    for (const [value, text] of cases) assert.equal(function_(value), text, `of ${value}`);
  });
}

test("one is not many", () => {
  assert.deepEqual([0, 1, 2].map((number) => format.plural(number, "entry", "entries")), ["0 entries", "1 entry", "2 entries"]);
});
