/** Requests that wait for their answers, matched by `id` (protocol 3.1), also over a connection that takes another's place. */

import { isText } from "./checks.mjs";
import { SegueError } from "./errors.mjs";

/** So many may wait at once. */
const PENDING_MAX = 1_024;

/** These may be done twice without harm, so they are sent again when the connection went before the answer came. */
const REPEATABLE = new Set([
  "subscribe", "unsubscribe", "keyframe.request", "leave", "mute", "promote", "lock", "authenticate", "pair.list", "pair.devices",
  "session.init", "session.setCategory", "session.setActive", "interruption.began", "interruption.ended", "route.changed", "playback.pause",
  "playback.continue",
  "stream.start", "stream.pause", "stream.stop", "stream.setParameters",
]);

/** These make sense in a new session too, once the room is there again. */
const PORTABLE = new Set(["join", "publish", "leave", "authenticate", "pair.list", "pair.devices", "pair.request", "pair.enter"]);

/**
 * @typedef {object} Pending
 * @property {number} id
 * @property {string} type
 * @property {Record<string, any>} members
 * @property {boolean} sent
 * @property {(answer: Record<string, any>) => void} resolve
 * @property {(error: SegueError) => void} reject
 */

export class Requests {
  #id = 0;
  /** @type {Map<number, Pending>} */
  #pending = new Map();

  /** @param {(message: Record<string, any>) => boolean} send false: not now, there is no connection */
  constructor(send) {
    this.send = send;
  }

  get size() {
    return this.#pending.size;
  }

  /** The `id` of a message that is not kept here, such as `hello`. @returns {number} */
  nextId() {
    this.#id += 1;
    return this.#id;
  }

  /** The newest `id`: what is made later belongs to another connection. */
  get lastId() {
    return this.#id;
  }

  /** @param {string} type @param {Record<string, any>} members @returns {Promise<Record<string, any>>} */
  make(type, members) {
    if (this.#pending.size >= PENDING_MAX) return Promise.reject(new SegueError("requests_max", "Too many requests wait for their answers.", true));
    return new Promise((resolve, reject) => {
      const pending = { id: this.nextId(), type, members, sent: false, resolve, reject };
      this.#pending.set(pending.id, pending);
      this.#transmit(pending);
    });
  }

  /** @param {Pending} pending */
  #transmit(pending) {
    pending.sent = this.send({ ...pending.members, type: pending.type, id: pending.id });
  }

  /** @param {Record<string, any>} message of type `ok` or `error` @returns {boolean} whether it is an answer to anything */
  answer(message) {
    const pending = this.#pending.get(message.id);
    if (!pending) return false;
    this.#pending.delete(message.id);
    if (message.type === "ok") pending.resolve(message);
    else pending.reject(refusal(message));
    return true;
  }

  /**
   * The session goes on over another connection: what was never sent is, what may be done twice is sent again, `settle` answers what the relay's word
   * shows to be done, and of everything else nobody knows.
   *
   * @param {number} lastId of those that were made before
   * @param {(pending: Pending) => Record<string, any> | "again" | undefined} settle
   */
  resumed(lastId, settle) {
    for (const pending of this.#until(lastId)) {
      const shown = pending.sent ? settle(pending) : undefined;
      if (shown !== undefined && shown !== "again") {
        this.#pending.delete(pending.id);
        pending.resolve(shown);
      } else if (!pending.sent || shown === "again" || REPEATABLE.has(pending.type)) {
        this.#transmit(pending);
      } else {
        this.#lose(pending);
      }
    }
  }

  /** @param {number} lastId @returns {Pending[]} */
  #until(lastId) {
    return [...this.#pending.values()].filter((pending) => pending.id <= lastId);
  }

  /** Another session: numbers of streams mean something else now. @param {number} lastId of those that were made before */
  renewed(lastId) {
    for (const pending of this.#until(lastId)) {
      const portable = PORTABLE.has(pending.type) || (pending.type === "subscribe" && pending.members.streams === undefined);
      if (portable) this.#transmit(pending);
      else this.#lose(pending);
    }
  }

  /** Those of a connection that is gone and that nobody wants any more. @param {string} type */
  drop(type) {
    for (const pending of [...this.#pending.values()]) if (pending.type === type) this.#lose(pending);
  }

  /** @param {SegueError} error */
  rejectAll(error) {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of all) pending.reject(error);
  }

  /** @param {Pending} pending */
  #lose(pending) {
    this.#pending.delete(pending.id);
    pending.reject(new SegueError("connection_lost", `The connection went before ${pending.type} was answered.`, true));
  }
}

/** @param {Record<string, any>} message of type `error` @returns {SegueError} */
export function refusal(message) {
  const code = isText(message.code) ? message.code : "protocol";
  return new SegueError(code, isText(message.message) ? message.message : code, message.retry === true, message);
}
