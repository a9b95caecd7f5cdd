/** The room as the relay tells of it: who is there, which streams there are (protocol 3.4, 3.12, 3.13, 3.19). */

import { isNumber, isObject, isText, isU32, texts } from "./checks.mjs";

/**
 * @typedef {object} Participant
 * @property {number} participant 32 bits, never used twice while the relay runs
 * @property {{name: string, fingerprint?: string, proof?: string}} identity verified
 * @property {string} role
 * @property {string|null} displayName not verified
 * @property {string[]} muted kinds that a host has muted
 * @property {boolean} interrupted
 * @property {string|null} interruptionReason
 * @property {boolean} held nothing comes from it and nothing goes to it
 * @property {{inputs: {type: string, name?: string}[], outputs: {type: string, name?: string}[]} | null} route
 * @property {string|null} category of its audio session
 * @property {string|null} mode
 */

/**
 * @typedef {object} StreamInfo
 * @property {number} stream
 * @property {number} participant
 * @property {"audio"|"video"|"data"} kind
 * @property {string} codec
 * @property {Record<string, any>} description
 * @property {string|null} source
 * @property {Record<string, any>[]} layers
 * @property {string} priority
 */

/** @param {unknown} entry @returns {Participant | null} */
export function participantFrom(entry) {
  if (!isObject(entry) || !isU32(entry.participant)) return null;
  return {
    participant: entry.participant,
    identity: isObject(entry.identity) && isText(entry.identity.name) ? entry.identity : { name: "" },
    role: isText(entry.role) ? entry.role : "listener",
    displayName: isText(entry.displayName) ? entry.displayName : null,
    muted: texts(entry.muted),
    interrupted: entry.interrupted === true,
    interruptionReason: isText(entry.reason) ? entry.reason : null,
    held: entry.held === true,
    route: routeFrom(entry.route),
    category: isText(entry.category) ? entry.category : null,
    mode: isText(entry.mode) ? entry.mode : null,
  };
}

/** @param {unknown} route */
function routeFrom(route) {
  if (!isObject(route)) return null;
  const ports = (list) => (Array.isArray(list) ? list.filter((port) => isObject(port) && isText(port.type)) : []);
  return { inputs: ports(route.inputs), outputs: ports(route.outputs) };
}

/** @param {unknown} entry @returns {StreamInfo | null} */
export function streamFrom(entry) {
  if (!isObject(entry) || !isU32(entry.stream) || !isU32(entry.participant)) return null;
  if (!["audio", "video", "data"].includes(entry.kind) || typeof entry.codec !== "string") return null;
  return {
    stream: entry.stream,
    participant: entry.participant,
    kind: entry.kind,
    codec: entry.codec,
    description: isObject(entry.description) ? entry.description : {},
    source: isText(entry.source) ? entry.source : null,
    layers: Array.isArray(entry.layers) ? entry.layers.filter(isObject) : [],
    priority: isText(entry.priority) ? entry.priority : "medium",
  };
}

/** @param {unknown} list @returns {{participant: number, stream: number, level: number}[]} */
function speakersFrom(list) {
  if (!Array.isArray(list)) return [];
  return list.filter((entry) => isObject(entry) && isU32(entry.participant) && isU32(entry.stream) && isNumber(entry.level, -127, 0));
}

/** @param {unknown} list @param {(entry: unknown) => any} read @param {string} key @returns {Map<number, any>} */
function mapOf(list, read, key) {
  const map = new Map();
  for (const entry of Array.isArray(list) ? list : []) {
    const value = read(entry);
    if (value) map.set(value[key], value);
  }
  return map;
}

export class Room {
  /** @type {string} */ name;
  /** One's own participant; null in a lobby that was resumed into. @type {number|null} */ me = null;
  /** @type {string} */ role = "listener";
  /** @type {"joined"|"waiting"} */ state = "joined";
  locked = false;
  /** In the order in which they came, oneself included. @type {Map<number, Participant>} */ participants = new Map();
  /** One's own included. @type {Map<number, StreamInfo>} */ streams = new Map();
  /** Who waits to be let in; for hosts. @type {Map<number, Participant>} */ lobby = new Map();
  /** Loudest first. @type {{participant: number, stream: number, level: number}[]} */ speakers = [];
  /** The video streams that are forwarded, after `subscribe` with `lastN`; null before. @type {Set<number> | null} */ forwarded = null;
  /** The stream that `mixed` delivery comes in. @type {Record<string, any> | null} */ mix = null;

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /**
   * @param {Record<string, any>} message the `ok` of `join`, `room.admitted`, or the `room` of `resumed`
   * @returns {Room | null} null when it is none of these
   */
  static from(message) {
    if (!isObject(message) || !isText(message.room)) return null;
    const room = new Room(message.room);
    return room.replace(message) ? room : null;
  }

  /** Takes over everything that such a message says. @param {Record<string, any>} message @returns {boolean} */
  replace(message) {
    if (!isU32(message.participant)) return false;
    this.me = message.participant;
    this.role = isText(message.role) ? message.role : this.role;
    this.state = message.state === "waiting" ? "waiting" : "joined";
    this.locked = message.locked === true;
    this.participants = mapOf(message.participants, participantFrom, "participant");
    this.streams = mapOf(message.streams, streamFrom, "stream");
    this.speakers = speakersFrom(message.speakers);
    if (this.role !== "host") this.lobby.clear();
    return true;
  }

  /** @param {number} stream @returns {boolean} whether it is published by oneself */
  isOwn(stream) {
    return this.streams.get(stream)?.participant === this.me;
  }

  /** @param {number} stream @returns {boolean} whether frames of it may be due to us */
  mayReceive(stream) {
    return this.mix?.stream === stream || (this.streams.has(stream) && !this.isOwn(stream));
  }

  /** @param {Record<string, any>} event @returns {boolean} whether the room is another now */
  apply(event) {
    return Object.hasOwn(EVENTS, event.type) && EVENTS[event.type](this, event) === true;
  }
}

/** @param {(participant: Participant, event: Record<string, any>) => void} change */
function changing(change) {
  return (room, event) => {
    const participant = room.participants.get(event.participant);
    if (!participant) return false;
    change(participant, event);
    return true;
  };
}

/** @type {Record<string, (room: Room, event: Record<string, any>) => boolean>} */
const EVENTS = {
  "participant.joined": (room, event) => {
    const participant = participantFrom(event);
    if (!participant) return false;
    room.participants.set(participant.participant, participant);
    return true;
  },
  "participant.left": (room, event) => {
    for (const [number, stream] of room.streams) if (stream.participant === event.participant) room.streams.delete(number);
    return room.participants.delete(event.participant);
  },
  "participant.changed": (room, event) => {
    const participant = room.participants.get(event.participant);
    if (!participant) return false;
    if (isText(event.role)) participant.role = event.role;
    participant.muted = texts(event.muted);
    if (event.participant === room.me) room.role = participant.role;
    return true;
  },
  "participant.interrupted": changing((participant, event) => {
    participant.interrupted = event.interrupted === true;
    participant.interruptionReason = participant.interrupted && isText(event.reason) ? event.reason : null;
  }),
  "participant.held": changing((participant, event) => {
    participant.held = event.held === true;
  }),
  "participant.route": changing((participant, event) => {
    participant.route = routeFrom(event);
  }),
  "participant.mode": changing((participant, event) => {
    participant.category = isText(event.category) ? event.category : null;
    participant.mode = isText(event.mode) ? event.mode : null;
  }),
  "stream.published": (room, event) => {
    const stream = streamFrom(event);
    if (!stream) return false;
    room.streams.set(stream.stream, stream);
    return true;
  },
  "stream.ended": (room, event) => room.streams.delete(event.stream),
  "stream.forwarded": (room, event) => {
    if (!Array.isArray(event.streams)) return false;
    room.forwarded = new Set(event.streams.filter(isU32));
    return true;
  },
  speakers: (room, event) => {
    room.speakers = speakersFrom(event.speakers);
    return true;
  },
  "room.locked": (room, event) => {
    room.locked = event.locked === true;
    return true;
  },
  "room.admitted": (room, event) => event.room === room.name && room.replace({ ...event, state: "joined" }),
  "lobby.waiting": (room, event) => {
    const participant = participantFrom(event);
    if (!participant) return false;
    room.lobby.set(participant.participant, participant);
    return true;
  },
  "lobby.left": (room, event) => room.lobby.delete(event.participant),
};
