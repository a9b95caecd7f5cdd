// What a participant's page tells the others of itself: that its microphone is muted by its own user. The relay knows mutes by hosts only. It goes as the
// configuration of a data stream of source "presence": the relay keeps the latest configuration of each stream and gives it to whoever comes later, so nobody
// has to ask. One JSON object, at most a KiB; unknown members are passed over.

export const presenceSource = "presence";
export const presenceCodec = "application/json";
export const presenceBytesMax = 1024;

/** @param {{muted: boolean}} presence @returns {Uint8Array} */
export function encodePresence(presence) {
  return new TextEncoder().encode(JSON.stringify({ muted: presence.muted }));
}

/** @param {Uint8Array} bytes @returns {{muted: boolean}|null} null: nothing that this page understands */
export function decodePresence(bytes) {
  if (bytes.byteLength === 0 || bytes.byteLength > presenceBytesMax) return null;
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return value && typeof value === "object" && typeof value.muted === "boolean" ? { muted: value.muted } : null;
  } catch {
    return null;
  }
}

/** Publishes one's own presence and keeps that of others. */
export class PresenceBook {
  constructor() {
    /** @type {Map<number, {muted: boolean}>} by participant */
    this.others = new Map();
    /** @type {any} */
    this.publication = null;
    this.own = { muted: false };
  }

  /** Publishes; a role that may publish no data goes without. @param {any} client */
  async publish(client) {
    try {
      this.publication = await client.publish({ kind: "data", codec: presenceCodec, source: presenceSource, priority: "very-low" });
      this.publication.configure(encodePresence(this.own));
    } catch {
      this.publication = null;
    }
  }

  /** @param {boolean} muted */
  setMuted(muted) {
    if (this.own.muted === muted) return;
    this.own = { muted };
    try {
      this.publication?.configure(encodePresence(this.own));
    } catch {
      // The connection is being made again: the library sends the configuration it was given last.
    }
  }

  /** @param {{kind: string, stream: number, payload: Uint8Array}} frame @param {any} room @returns {boolean} whether it was one of a presence stream */
  take(frame, room) {
    const stream = room?.streams?.get(frame.stream);
    if (!stream || stream.kind !== "data" || stream.source !== presenceSource) return false;
    const presence = decodePresence(frame.payload);
    if (presence) this.others.set(stream.participant, presence);
    return true;
  }

  clear() {
    this.others.clear();
    this.publication = null;
  }
}
