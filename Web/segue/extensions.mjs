/** The extension block of a media frame (protocol 4.3): items of type and length in whole 4-byte words. */

import { FrameError } from "./errors.mjs";

const CAPTURE_TIME = 1;
const COMPOSITION_OFFSET = 2;
const PACKET_TABLE = 3;
const ATTACHMENTS = 4;
const DURATION = 5;

const BLOCK_HEAD_BYTES = 4;
const ITEM_HEAD_BYTES = 4;
const PACKET_BYTES = 16;
const WORDS_MAX = 0xffff;

/** Seconds from 1900, where NTP's era 0 begins, to 1970; and how long an era is (RFC 5905 §6). */
const NTP_TO_UNIX_SECONDS = 2_208_988_800;
const NTP_ERA_SECONDS = 2 ** 32;

/** @param {number} bytes @returns {number} of an item whose value is so long */
function itemBytes(bytes) {
  return ITEM_HEAD_BYTES + ((bytes + 3) & ~3);
}

/** @param {unknown} value @returns {boolean} */
function isThere(value) {
  return value !== null && value !== undefined;
}

/**
 * How many bytes the extensions of a frame take; 0 when it has none.
 *
 * @param {Partial<import("./frames.mjs").Frame>} frame
 * @returns {number}
 * @throws {RangeError} when a block cannot hold them
 */
export function extensionBytes(frame) {
  let bytes = 0;
  if (isThere(frame.captureTime)) bytes += itemBytes(8);
  if (isThere(frame.compositionOffset)) bytes += itemBytes(4);
  if (isThere(frame.packets)) {
    if (frame.packets.length === 0) throw new RangeError("a packet table has at least one packet");
    bytes += itemBytes(PACKET_BYTES * frame.packets.length);
  }
  if (isThere(frame.attachments)) bytes += itemBytes(frame.attachments.byteLength);
  if (isThere(frame.duration)) bytes += itemBytes(4);
  if (bytes / 4 > WORDS_MAX || (frame.packets?.length ?? 0) * PACKET_BYTES > 0xffff || (frame.attachments?.byteLength ?? 0) > 0xffff) {
    throw new RangeError("the extensions are longer than a frame can hold");
  }
  return bytes === 0 ? 0 : BLOCK_HEAD_BYTES + bytes;
}

/**
 * Writes the block that {@link extensionBytes} has measured.
 *
 * @param {DataView} view of a zeroed frame
 * @param {number} start
 * @param {Partial<import("./frames.mjs").Frame>} frame
 * @param {number} payloadBytes
 * @throws {RangeError} for a value out of range, and a packet outside of the payload
 */
export function writeExtensions(view, start, frame, payloadBytes) {
  let offset = start + BLOCK_HEAD_BYTES;
  const item = (type, length) => {
    view.setUint8(offset, type);
    view.setUint16(offset + 2, length);
    const value = offset + ITEM_HEAD_BYTES;
    offset += itemBytes(length);
    return value;
  };
  if (isThere(frame.captureTime)) writeNTP(view, item(CAPTURE_TIME, 8), frame.captureTime);
  if (isThere(frame.compositionOffset)) {
    if ((frame.compositionOffset | 0) !== frame.compositionOffset) throw new RangeError("compositionOffset is a whole number of 32 bits");
    view.setInt32(item(COMPOSITION_OFFSET, 4), frame.compositionOffset);
  }
  if (isThere(frame.packets)) {
    let at = item(PACKET_TABLE, PACKET_BYTES * frame.packets.length);
    for (const packet of frame.packets) {
      const fits = [packet.offset, packet.bytes, packet.frames ?? 0].every((value) => Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff);
      if (!fits || packet.offset + packet.bytes > payloadBytes) throw new RangeError("a packet lies inside of the payload");
      view.setUint32(at + 4, packet.offset);
      view.setUint32(at + 8, packet.frames ?? 0);
      view.setUint32(at + 12, packet.bytes);
      at += PACKET_BYTES;
    }
  }
  if (isThere(frame.attachments)) {
    const at = item(ATTACHMENTS, frame.attachments.byteLength);
    new Uint8Array(view.buffer, view.byteOffset).set(frame.attachments, at);
  }
  if (isThere(frame.duration)) {
    if (frame.duration >>> 0 !== frame.duration) throw new RangeError("duration is a whole number of 32 bits");
    view.setUint32(item(DURATION, 4), frame.duration);
  }
  view.setUint16(start, (offset - start - BLOCK_HEAD_BYTES) / 4);
}

/** @param {DataView} view @param {number} at @param {number} milliseconds since 1970 */
function writeNTP(view, at, milliseconds) {
  if (!Number.isFinite(milliseconds)) throw new RangeError("captureTime is milliseconds since 1970");
  const seconds = Math.floor(milliseconds / 1_000);
  // The rest first: as a fraction of the whole sum it would lose what a double cannot hold.
  const fraction = Math.min(NTP_ERA_SECONDS - 1, Math.round(((milliseconds - seconds * 1_000) / 1_000) * NTP_ERA_SECONDS));
  const era = (seconds + NTP_TO_UNIX_SECONDS) % NTP_ERA_SECONDS;
  view.setUint32(at, era < 0 ? era + NTP_ERA_SECONDS : era);
  view.setUint32(at + 4, fraction);
}

/**
 * @param {DataView} view
 * @param {number} at
 * @returns {number} milliseconds since 1970; the upper half of an era is taken as era 0 (1968 to 2036), the lower as era 1
 */
function readNTP(view, at) {
  const era = view.getUint32(at);
  const seconds = (era < 0x8000_0000 ? era + NTP_ERA_SECONDS : era) - NTP_TO_UNIX_SECONDS;
  return seconds * 1_000 + (view.getUint32(at + 4) / NTP_ERA_SECONDS) * 1_000;
}

const LENGTH_IS_RIGHT = {
  [CAPTURE_TIME]: (length) => length === 8,
  [COMPOSITION_OFFSET]: (length) => length === 4,
  [PACKET_TABLE]: (length) => length > 0 && length % PACKET_BYTES === 0,
  [ATTACHMENTS]: () => true,
  [DURATION]: (length) => length === 4,
};

/**
 * Reads the block at `start` into the members of `frame`.
 *
 * @param {Uint8Array} bytes the whole frame
 * @param {DataView} view of the same
 * @param {number} start
 * @param {import("./frames.mjs").Frame} frame
 * @returns {number} where the payload begins
 * @throws {FrameError}
 */
export function readExtensions(bytes, view, start, frame) {
  if (bytes.byteLength < start + BLOCK_HEAD_BYTES) throw new FrameError("media_extension_block_truncated");
  const end = start + BLOCK_HEAD_BYTES + 4 * view.getUint16(start);
  if (end > bytes.byteLength) throw new FrameError("media_extension_block_truncated");
  if (view.getUint16(start + 2) !== 0) throw new FrameError("media_extension_reserved");
  let seen = 0;
  for (let offset = start + BLOCK_HEAD_BYTES; offset < end; ) {
    // A block is whole words, so an item's head always fits.
    const type = bytes[offset];
    const length = view.getUint16(offset + 2);
    const value = offset + ITEM_HEAD_BYTES;
    const next = offset + itemBytes(length);
    if (next > end) throw new FrameError("media_extension_item_truncated");
    if (bytes[offset + 1] !== 0) throw new FrameError("media_extension_reserved");
    for (let at = value + length; at < next; at += 1) if (bytes[at] !== 0) throw new FrameError("media_extension_reserved");
    offset = next;
    if (type < CAPTURE_TIME || type > DURATION) continue;
    if (!LENGTH_IS_RIGHT[type](length)) throw new FrameError("media_extension_item_length");
    if (seen & (1 << type)) throw new FrameError("media_extension_item_repeated");
    seen |= 1 << type;
    if (type === CAPTURE_TIME) frame.captureTime = readNTP(view, value);
    else if (type === COMPOSITION_OFFSET) frame.compositionOffset = view.getInt32(value);
    else if (type === DURATION) frame.duration = view.getUint32(value);
    else if (type === ATTACHMENTS) frame.attachments = bytes.subarray(value, value + length);
    else frame.packets = readPackets(view, value, length, bytes.byteLength - end);
  }
  return end;
}

/** @param {DataView} view @param {number} start @param {number} length @param {number} payloadBytes @returns {import("./frames.mjs").Packet[]} */
function readPackets(view, start, length, payloadBytes) {
  const packets = [];
  for (let at = start; at < start + length; at += PACKET_BYTES) {
    const offset = view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);
    const bytes = view.getUint32(at + 12);
    if (offset < 0 || offset + bytes > payloadBytes) throw new FrameError("media_packet_outside_payload");
    packets.push({ offset, frames: view.getUint32(at + 8), bytes });
  }
  return packets;
}
