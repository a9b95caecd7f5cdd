/** What is said again after a connection was lost: in a session that goes on what it has missed, in another one everything. */

import { isObject, isU32 } from "./checks.mjs";
import { Room } from "./room.mjs";

export class Restoration {
  /** What the room was joined with; null outside of one. @type {Record<string, any> | null} */ #join = null;
  /** Publications that wait for a session in which they may be. @type {Set<import("./publication.mjs").Publication>} */ #suspended = new Set();
  #subscriptionsDue = false;

  /**
   * @param {import("./client.mjs").SegueClient} client
   * @param {{publications: Map<number, import("./publication.mjs").Publication>, subscriptions: import("./subscriptions.mjs").Subscriptions,
   *   audioSession: import("./audio-session.mjs").AudioSession}} parts
   */
  constructor(client, parts) {
    this.client = client;
    this.parts = parts;
  }

  /** @param {Record<string, any>} members of the `join` */
  joined(members) {
    this.#join = members;
  }

  left() {
    this.#join = null;
    this.#subscriptionsDue = false;
    for (const publication of this.#suspended) publication.end("left");
    this.#suspended.clear();
  }

  /**
   * The session goes on (protocol 3.18).
   *
   * @param {Record<string, any>} resumed
   * @param {import("./requests.mjs").Requests} requests those that were not answered yet
   */
  resumed(resumed, requests) {
    const published = (Array.isArray(resumed.published) ? resumed.published : []).filter((entry) => isObject(entry) && isU32(entry.stream));
    const { publications } = this.parts;
    const room = isObject(resumed.room) ? Room.from(resumed.room) : null;
    for (const [stream, publication] of [...publications]) {
      const entries = published.filter((entry) => entry.stream === stream);
      if (entries.length > 0) {
        publication.resume(entries);
      } else {
        publications.delete(stream);
        publication.end("gone");
      }
    }
    const unknown = new Set(published.map((entry) => entry.stream).filter((stream) => !publications.has(stream)));
    requests.resumed(requests.lastId, (pending) => {
      if (pending.type === "join") return joinAnswer(pending.members, resumed);
      if (pending.type !== "publish" || !room) return undefined;
      const { kind, codec, source } = pending.members;
      const done = [...unknown].find((stream) => {
        const info = room.streams.get(stream);
        return info?.kind === kind && info.codec === codec && (info.source ?? undefined) === source;
      });
      if (done === undefined) return "again";
      unknown.delete(done);
      return { type: "ok", stream: done };
    });
  }

  /** There is another session. Everything is said at once: the relay keeps what needs the room until it is joined. */
  renewed() {
    const { publications, subscriptions, audioSession } = this.parts;
    audioSession.restore();
    if (!this.#join) return;
    for (const publication of publications.values()) {
      publication.suspend();
      this.#suspended.add(publication);
    }
    publications.clear();
    this.#subscriptionsDue = true;
    const joining = this.client.request("join", this.#join);
    const general = subscriptions.general();
    this.goOn();
    joining.then((answer) => this.#rejoined(answer, general), (error) => this.#refused(error));
  }

  /** @param {Record<string, any>} answer @param {Record<string, any>[]} general subscriptions that were sent along */
  #rejoined(answer, general) {
    const room = Room.from(answer);
    if (!room || !this.#join) return;
    this.client.room = room;
    if (room.state === "joined") {
      this.#subscriptionsDue = general.length > 0 && this.#subscriptionsDue;
      for (const members of this.parts.subscriptions.particular(room)) this.client.request("subscribe", members).catch(() => {});
    }
    this.client.dispatchEvent(new CustomEvent("renewed", { detail: { room } }));
    this.client.dispatchEvent(new CustomEvent("room", { detail: { room } }));
  }

  /** @param {import("./errors.mjs").SegueError} error */
  #refused(error) {
    // Lost again: the next session tries again.
    if (error.code === "connection_lost" || error.code === "closed") return;
    this.left();
    this.client.room = null;
    this.client.dispatchEvent(new CustomEvent("rejoin-refused", { detail: error }));
    this.client.dispatchEvent(new CustomEvent("room", { detail: { room: null } }));
  }

  /** Publishes and subscribes what could not be until now: the room is there, the audio session active. */
  goOn() {
    for (const publication of [...this.#suspended]) this.#republish(publication);
    if (!this.#subscriptionsDue) return;
    for (const members of this.parts.subscriptions.general()) {
      this.client.request("subscribe", members).then(
        (answer) => {
          this.#subscriptionsDue = false;
          if (this.client.room && isObject(answer.mix)) this.client.room.mix = answer.mix;
        },
        () => {},
      );
    }
  }

  /** @param {import("./publication.mjs").Publication} publication */
  #republish(publication) {
    this.#suspended.delete(publication);
    this.client.request("publish", publication.members).then(
      ({ stream }) => {
        if (publication.state === "ended") {
          this.client.request("unpublish", { stream }).catch(() => {});
          return;
        }
        this.parts.publications.set(stream, publication);
        publication.renew(stream);
        this.client.published(publication);
      },
      (error) => {
        // In a lobby, with an audio session that is not active, or when the connection is lost again: later.
        const later = ["not_in_room", "cannot_start_recording", "connection_lost"].includes(error.code) && this.#join;
        if (later) this.#suspended.add(publication);
        else publication.end(error.code);
      },
    );
  }

  /** The relay has lost what it knew of the session's media: the audio session is made again. */
  mediaServicesWereReset() {
    if (this.parts.audioSession.state === "uninitialised") this.parts.audioSession.restore();
  }
}

/** @param {Record<string, any>} members of a `join` that was not answered @param {Record<string, any>} resumed @returns {Record<string, any> | "again"} */
function joinAnswer(members, resumed) {
  if (isObject(resumed.room) && resumed.room.room === members.room) return { ...resumed.room, type: "ok", state: "joined" };
  return "again";
}
