import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { closes, deviceMessage, messageFor, messageForClose, messageForRemoval, refusals, removals } from "../../app/messages.mjs";

const protocol = readFileSync(new URL("../../../Sources/PROTOCOL.md", import.meta.url), "utf8");

/** The words in backquotes of the first cells of a table's rows. @param {string} section @param {string} head */
function words(section, head) {
  const text = protocol.slice(protocol.indexOf(section));
  const rows = text.slice(text.indexOf(head)).split("\n\n")[0].split("\n").slice(1);
  return rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z_]+)`/g)].map((match) => match[1]));
}

test("every error code of PROTOCOL.md 3.11 has a sentence that says what to do", () => {
  const codes = words("### 3.11 Error codes", "| `code` |");
  assert.ok(codes.length > 40, String(codes.length));
  for (const code of codes) assert.ok(refusals[code]?.title && refusals[code].text, code);
  for (const code of Object.keys(refusals)) assert.ok(codes.includes(code), `${code} is not in the document`);
});

test("every reason of room.removed (3.13) has a sentence", () => {
  const reasons = words("### 3.13 Moderation", "| `reason` of `room.removed` |");
  assert.deepEqual(Object.keys(removals).sort(), reasons.sort());
});

test("what cannot work again is not offered to be tried again", () => {
  const retried = [...protocol.slice(protocol.indexOf("### 3.11"), protocol.indexOf("### 3.12")).matchAll(/^\| `([a-z_]+)` \| (yes|no) \|/gm)];
  const final = ["not_allowed", "token_refused", "proof_required", "unauthenticated", "certificate_needed"];
  for (const [, code, retry] of retried) if (retry === "no" && final.includes(code)) assert.equal(refusals[code].way, "start", code);
  assert.equal(refusals.room_locked.way, "retry");
  assert.equal(refusals.participants_max.way, "retry");
});

test("unknown codes, reasons and device errors have a sentence too", () => {
  assert.equal(messageFor({ code: "brand_new", message: "Something of tomorrow." }).detail, "Something of tomorrow.");
  assert.equal(messageFor({ code: "toString" }).title, closes.unknown.title);
  assert.equal(messageFor(null).title, closes.unknown.title);
  assert.equal(messageForRemoval("constructor").title, removals.removed.title);
  assert.equal(messageForClose("some sentence").detail, "some sentence");
  assert.equal(messageForClose("token_expired").title, closes.token_expired.title);
  assert.match(deviceMessage({ name: "NotAllowedError" }, "microphone"), /join without it/);
  assert.match(deviceMessage({ name: "constructor" }, "camera"), /Choose another/);
});
