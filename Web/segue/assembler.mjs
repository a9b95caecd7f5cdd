/** Makes frames of what a relay sends in binary messages: bundles are taken apart (protocol 4.4), parts put together (protocol 4.6). */

import { FrameError } from "./errors.mjs";
import { BUNDLE, DEFAULT_LIMITS, FLAG_ENCRYPTED, FLAG_EXTENSION, HEADER_BYTES, PART, decodeFrame, decodeKind } from "./frames.mjs";
import { readExtensions } from "./extensions.mjs";

const PART_HEAD_BYTES = HEADER_BYTES + 8;
const LENGTH_BYTES = 4;
const UNFINISHED_MAX = 64;
const UNFINISHED_BYTES_MAX = 16 << 20;

/** @typedef {{total: number, held: number, pieces: Uint8Array[]}} Unfinished */

/** One for each connection: what a connection has begun, no other goes on with. */
export class FrameAssembler {
  /** @type {Map<number, Unfinished>} by stream */
  #unfinished = new Map();
  #bytes = 0;

  /** @param {Record<string, number>} limits the relay's @param {{bundles: number, parts: number}} counts what is counted up */
  constructor(limits = DEFAULT_LIMITS, counts = { bundles: 0, parts: 0 }) {
    this.limits = limits;
    this.counts = counts;
  }

  /** Streams with a frame that is not whole yet. */
  get unfinished() {
    return this.#unfinished.size;
  }

  /**
   * @param {Uint8Array} message one binary message; the frames are views of it unless they came in parts
   * @returns {import("./frames.mjs").Frame[]} in order
   * @throws {FrameError} and nothing else
   */
  take(message) {
    const kind = decodeKind(message);
    if (kind === BUNDLE) return this.#bundle(message);
    if (kind === PART) return this.#part(message);
    return [this.#whole(message)];
  }

  /** @param {Uint8Array} bytes */
  #whole(bytes) {
    const frame = decodeFrame(bytes, this.limits);
    if (this.#unfinished.has(frame.stream)) throw new FrameError("media_part_out_of_order");
    return frame;
  }

  /** @param {Uint8Array} message */
  #bundle(message) {
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    if (message[1] & 0x80) throw new FrameError("media_reserved_flag");
    if (message[1] & FLAG_ENCRYPTED) throw new FrameError("media_bundle_encrypted");
    if (message.byteLength > this.limits.videoFrameBytesMax) throw new FrameError("media_frame_over_videoFrameBytesMax", 1009);
    const ignored = /** @type {import("./frames.mjs").Frame} */ ({});
    let offset = message[1] & FLAG_EXTENSION ? readExtensions(message, view, HEADER_BYTES, ignored) : HEADER_BYTES;
    if (offset === message.byteLength) throw new FrameError("media_bundle_empty");
    const frames = [];
    while (offset < message.byteLength) {
      if (message.byteLength - offset < LENGTH_BYTES) throw new FrameError("media_bundle_entry_truncated");
      const start = offset + LENGTH_BYTES;
      const end = start + view.getUint32(offset);
      if (end > message.byteLength) throw new FrameError("media_bundle_entry_truncated");
      const entry = message.subarray(start, end);
      const kind = decodeKind(entry);
      if (kind === BUNDLE) throw new FrameError("media_bundle_nested");
      if (kind === PART) throw new FrameError("media_bundle_part");
      const frame = this.#whole(entry);
      if (frame.kind === "configuration") throw new FrameError("media_bundle_configuration");
      frames.push(frame);
      offset = end;
    }
    this.counts.bundles += 1;
    return frames;
  }

  /** @param {Uint8Array} message */
  #part(message) {
    if (message[1] !== 0) throw new FrameError("media_part_flags");
    if (message.byteLength <= PART_HEAD_BYTES) throw new FrameError("media_part_truncated");
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    const stream = view.getUint32(4);
    const offset = view.getUint32(HEADER_BYTES);
    const total = view.getUint32(HEADER_BYTES + 4);
    const piece = message.subarray(PART_HEAD_BYTES);
    if (total < HEADER_BYTES || offset + piece.byteLength > total) throw new FrameError("media_part_outside_frame");
    let begun = this.#unfinished.get(stream);
    if ((offset === 0) !== (begun === undefined)) throw new FrameError("media_part_out_of_order");
    if (begun && (offset !== begun.held || total !== begun.total)) throw new FrameError("media_part_out_of_order");
    if (this.#bytes + piece.byteLength > UNFINISHED_BYTES_MAX) throw new FrameError("media_parts_too_many", 1009);
    if (!begun) {
      if (total > this.limits.videoFrameBytesMax) throw new FrameError("media_frame_over_videoFrameBytesMax", 1009);
      if (this.#unfinished.size >= UNFINISHED_MAX) throw new FrameError("media_parts_too_many", 1009);
      begun = { total, held: 0, pieces: [] };
      this.#unfinished.set(stream, begun);
    }
    begun.pieces.push(piece);
    begun.held += piece.byteLength;
    this.#bytes += piece.byteLength;
    this.counts.parts += 1;
    if (begun.held < total) return [];
    this.#unfinished.delete(stream);
    this.#bytes -= total;
    return [this.#joined(begun, message)];
  }

  /** @param {Unfinished} begun @param {Uint8Array} last the last part, whose header is the frame's but for kind and flags */
  #joined(begun, last) {
    const bytes = new Uint8Array(begun.total);
    let offset = 0;
    for (const piece of begun.pieces) {
      bytes.set(piece, offset);
      offset += piece.byteLength;
    }
    for (let at = 2; at < HEADER_BYTES; at += 1) if (bytes[at] !== last[at]) throw new FrameError("media_part_outside_frame");
    if (decodeKind(bytes) >= BUNDLE) throw new FrameError("media_part_outside_frame");
    return decodeFrame(bytes, this.limits);
  }
}
