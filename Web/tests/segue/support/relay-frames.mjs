/** What only relays make: bundles and parts (protocol 4.4, 4.6), for tests of who takes them apart. */

import { BUNDLE, PART } from "../../../segue/frames.mjs";

/** @param {Uint8Array[]} frames @returns {Uint8Array} */
export function bundle(...frames) {
  const bytes = new Uint8Array(16 + frames.reduce((sum, frame) => sum + 4 + frame.length, 0));
  const view = new DataView(bytes.buffer);
  bytes[0] = 0x10 | BUNDLE;
  bytes[3] = 0x7f;
  let offset = 16;
  for (const frame of frames) {
    view.setUint32(offset, frame.length);
    bytes.set(frame, offset + 4);
    offset += 4 + frame.length;
  }
  return bytes;
}

/** @param {Uint8Array} frame @param {number} offset @param {number} length @param {number} [total] @returns {Uint8Array} */
export function part(frame, offset, length, total = frame.length) {
  const bytes = new Uint8Array(24 + length);
  bytes.set(frame.subarray(0, 16));
  bytes[0] = 0x10 | PART;
  bytes[1] = 0;
  const view = new DataView(bytes.buffer);
  view.setUint32(16, offset);
  view.setUint32(20, total);
  bytes.set(frame.subarray(offset, offset + length), 24);
  return bytes;
}

/** @param {Uint8Array} frame @param {number} size @returns {Uint8Array[]} */
export function cut(frame, size) {
  const parts = [];
  for (let offset = 0; offset < frame.length; offset += size) parts.push(part(frame, offset, Math.min(size, frame.length - offset)));
  return parts;
}

/** @param {string} text hexadecimal digits, spaced as one likes */
export function hex(text) {
  return Uint8Array.from(text.replace(/\s/gu, "").match(/../gu) ?? [], (digits) => Number.parseInt(digits, 16));
}
