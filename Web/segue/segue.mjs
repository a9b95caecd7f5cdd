/** The Segue client library: everything that a page or another program needs, from one place. */

export { SegueClient } from "./client.mjs";
export { Publication } from "./publication.mjs";
export { Room } from "./room.mjs";
export { AudioSession, OPTIONS as AUDIO_SESSION_OPTIONS, ROUTE_CHANGE } from "./audio-session.mjs";
export { Pairs, normalizedCode, readableCode } from "./pairs.mjs";
export { Chat, CHAT_CODEC, CHAT_SOURCE, CHAT_LENGTH_MAX } from "./chat.mjs";
export { ServerClock } from "./clock.mjs";
export { FrameAssembler } from "./assembler.mjs";
export { decodeFrame, encodeFrame, serialDistance, DEFAULT_LIMITS, DEFAULT_TIMESCALES, HEADER_BYTES } from "./frames.mjs";
export { FrameError, SegueError } from "./errors.mjs";
