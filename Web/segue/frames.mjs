/**
 * Media frames as bytes (protocol 4): 16 bytes of header, extensions if any, the payload. Big-endian throughout.
 *
 * Usable alone: nothing here knows of connections, clocks or rooms.
 */

import { FrameError } from "./errors.mjs";
import { extensionBytes, readExtensions, writeExtensions } from "./extensions.mjs";

export const VERSION = 1;
export const HEADER_BYTES = 16;

/** Kinds in the order of their numbers. Bundles and parts come from relays only: `assembler.mjs`. */
export const KINDS = Object.freeze(["audio", "video", "data", "configuration"]);
export const BUNDLE = 4;
export const PART = 5;

export const FLAG_KEY = 0x01;
export const FLAG_DISCARDABLE = 0x02;
export const FLAG_DISCONTINUITY = 0x04;
export const FLAG_SILENCE = 0x08;
export const FLAG_END_OF_PICTURE = 0x10;
export const FLAG_EXTENSION = 0x20;
export const FLAG_ENCRYPTED = 0x40;
export const FLAG_RESERVED = 0x80;

/** The protocol's default limits (protocol 9); a relay says its own in `welcome`. */
export const DEFAULT_LIMITS = Object.freeze({
  controlMessageBytesMax: 65_536,
  audioFrameBytesMax: 8_192,
  videoFrameBytesMax: 4_194_304,
  dataFrameBytesMax: 65_536,
  streamsPerParticipantMax: 16,
  controlMessagesPerSecondMax: 200,
});

/** Ticks a second where a stream's description has no `timescale`. */
export const DEFAULT_TIMESCALES = Object.freeze({ audio: 48_000, video: 90_000, data: 1_000_000 });

const NO_LEVEL = 0x7f;
const LIMIT_OF_KIND = Object.freeze(["audioFrameBytesMax", "videoFrameBytesMax", "dataFrameBytesMax", "dataFrameBytesMax"]);

/**
 * @typedef {object} Packet where a packet lies in a payload that has several
 * @property {number} offset bytes from the start of the payload
 * @property {number} frames frames in the packet where that varies, else 0
 * @property {number} bytes
 */

/**
 * @typedef {object} Frame
 * @property {"audio"|"video"|"data"|"configuration"} kind
 * @property {number} stream 32 bits
 * @property {number} sequence 32 bits, counts the media frames of the stream and spatial layer, wraps
 * @property {number} timestamp 32 bits, decode time in ticks of the stream's timescale, wraps
 * @property {boolean} key decoding can start here
 * @property {boolean} discardable no other frame needs this one
 * @property {boolean} discontinuity decoders and jitter buffers start afresh
 * @property {boolean} silence the speaker is silent
 * @property {boolean} endOfPicture
 * @property {boolean} encrypted the payload is opaque
 * @property {number} spatial 0 to 15
 * @property {number} temporal 0 to 15
 * @property {number|null} level audio: 0 (loudest) to -127 dBov; null elsewhere
 * @property {boolean} voice audio: the voice activity bit of RFC 6464
 * @property {number|null} captureTime milliseconds since 1970
 * @property {number|null} compositionOffset presentation minus decode time, in ticks
 * @property {number|null} duration ticks
 * @property {Packet[]|null} packets
 * @property {Uint8Array|null} attachments
 * @property {Uint8Array} payload
 * @property {Uint8Array} bytes the whole frame
 */

/** @param {number} value @param {number} max @param {string} what @returns {number} */
function whole(value, max, what) {
  if (!Number.isInteger(value) || value < 0 || value > max) throw new RangeError(`${what} is a whole number from 0 to ${max}`);
  return value;
}

/**
 * @param {Partial<Frame> & {kind: string, stream: number}} frame everything else that is left out is 0, false or none
 * @returns {Uint8Array} of memory of its own
 * @throws {RangeError} for a member that no header can hold
 */
export function encodeFrame(frame) {
  const kind = KINDS.indexOf(frame.kind);
  if (kind < 0) throw new RangeError(`there is no kind ${frame.kind}`);
  const payload = frame.payload ?? new Uint8Array(0);
  const block = extensionBytes(frame);
  const bytes = new Uint8Array(HEADER_BYTES + block + payload.byteLength);
  const view = new DataView(bytes.buffer);
  bytes[0] = (VERSION << 4) | kind;
  bytes[1] =
    (frame.key ? FLAG_KEY : 0) |
    (frame.discardable ? FLAG_DISCARDABLE : 0) |
    (frame.discontinuity ? FLAG_DISCONTINUITY : 0) |
    (frame.silence ? FLAG_SILENCE : 0) |
    (frame.endOfPicture ? FLAG_END_OF_PICTURE : 0) |
    (block > 0 ? FLAG_EXTENSION : 0) |
    (frame.encrypted ? FLAG_ENCRYPTED : 0);
  bytes[2] = (whole(frame.spatial ?? 0, 15, "spatial") << 4) | whole(frame.temporal ?? 0, 15, "temporal");
  bytes[3] = levelByte(frame);
  view.setUint32(4, whole(frame.stream, 0xffff_ffff, "stream"));
  view.setUint32(8, whole(frame.sequence ?? 0, 0xffff_ffff, "sequence"));
  view.setUint32(12, whole(frame.timestamp ?? 0, 0xffff_ffff, "timestamp"));
  if (block > 0) writeExtensions(view, HEADER_BYTES, frame, payload.byteLength);
  bytes.set(payload, HEADER_BYTES + block);
  return bytes;
}

/** @param {Partial<Frame>} frame @returns {number} byte 3 of the header (RFC 6464 §3) */
function levelByte(frame) {
  if (frame.kind !== "audio") return NO_LEVEL;
  const voice = frame.voice ? 0x80 : 0;
  if (frame.level === null || frame.level === undefined || Number.isNaN(frame.level)) return voice | NO_LEVEL;
  return voice | Math.min(127, Math.max(0, Math.round(-frame.level)));
}

/**
 * @param {Uint8Array} bytes one whole frame; `payload` and `bytes` of the result are views of it
 * @param {Record<string, number>} limits the relay's, for the longest frame of each kind
 * @returns {Frame}
 * @throws {FrameError} and nothing else
 */
export function decodeFrame(bytes, limits = DEFAULT_LIMITS) {
  const kind = decodeKind(bytes);
  if (kind >= KINDS.length) throw new FrameError("media_kind_unknown", 1003);
  const flags = bytes[1];
  if (flags & FLAG_RESERVED) throw new FrameError("media_reserved_flag");
  const limit = LIMIT_OF_KIND[kind];
  if (bytes.byteLength > (limits[limit] ?? DEFAULT_LIMITS[limit])) throw new FrameError(`media_frame_over_${limit}`, 1009);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const audio = kind === 0;
  const frame = {
    kind: KINDS[kind],
    stream: view.getUint32(4),
    sequence: view.getUint32(8),
    timestamp: view.getUint32(12),
    key: (flags & FLAG_KEY) !== 0,
    discardable: (flags & FLAG_DISCARDABLE) !== 0,
    discontinuity: (flags & FLAG_DISCONTINUITY) !== 0,
    silence: (flags & FLAG_SILENCE) !== 0,
    endOfPicture: (flags & FLAG_END_OF_PICTURE) !== 0,
    encrypted: (flags & FLAG_ENCRYPTED) !== 0,
    spatial: bytes[2] >> 4,
    temporal: bytes[2] & 15,
    level: audio ? 0 - (bytes[3] & 0x7f) : null,
    voice: audio && (bytes[3] & 0x80) !== 0,
    captureTime: null,
    compositionOffset: null,
    duration: null,
    packets: null,
    attachments: null,
    payload: bytes,
    bytes,
  };
  const start = flags & FLAG_EXTENSION ? readExtensions(bytes, view, HEADER_BYTES, frame) : HEADER_BYTES;
  frame.payload = bytes.subarray(start);
  return frame;
}

/**
 * The number of the kind of a frame, bundle or part.
 *
 * @param {Uint8Array} bytes
 * @returns {number} 0 to 5
 * @throws {FrameError}
 */
export function decodeKind(bytes) {
  if (bytes.byteLength < HEADER_BYTES) throw new FrameError("media_header_truncated");
  if (bytes[0] >> 4 !== VERSION) throw new FrameError("media_version_unsupported", 1003);
  const kind = bytes[0] & 15;
  if (kind > PART) throw new FrameError("media_kind_unknown", 1003);
  return kind;
}

/**
 * How far sequence number or timestamp `a` is ahead of `b`, over the wrap (RFC 1982).
 *
 * @param {number} a @param {number} b @returns {number} −2³¹ to 2³¹ − 1; above 0: `a` is the later one
 */
export function serialDistance(a, b) {
  return (a - b) | 0;
}
