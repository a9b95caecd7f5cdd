/**
 * A client of the relay: connects, comes back when the connection is lost, and keeps the room as the relay tells of it.
 *
 * Every event of the relay is dispatched as a CustomEvent of its `type` whose `detail` is the message, after the room has taken it. Beside these:
 *
 * - `state`: `{state, reason}`;
 * - `room`: the room has changed, or is another, or there is none any more;
 * - `resumed`: the session goes on over another connection (`detail` is the relay's word, protocol 3.18);
 * - `renewed`: there is another session after the old one was lost; streams have other numbers;
 * - `rejoin-refused`: the room could not be joined again (`detail` is a SegueError);
 * - `admitted`: let in from the lobby;
 * - `ended`: it does not go on (`detail` is a SegueError).
 */

import { AudioSession } from "./audio-session.mjs";
import { Chat } from "./chat.mjs";
import { isObject, isText, isU32, numberOr } from "./checks.mjs";
import { SegueError } from "./errors.mjs";
import { Link } from "./link.mjs";
import { completeOptions } from "./options.mjs";
import { Pairs } from "./pairs.mjs";
import { Publication } from "./publication.mjs";
import { Received } from "./received.mjs";
import { Requests } from "./requests.mjs";
import { Restoration } from "./restoration.mjs";
import { Room } from "./room.mjs";
import { MediaSender } from "./sender.mjs";
import { Subscriptions } from "./subscriptions.mjs";
import { TimeExchange } from "./time-exchange.mjs";
import { Timer } from "./timer.mjs";
import { TokenRenewal } from "./token-renewal.mjs";

const WATCH_MILLISECONDS = 1_000;

/** Events about a publication, which go to it as well. */
const OF_PUBLICATION = new Set(["keyframe.requested", "layers.wanted", "format.wanted", "stream.report", "stream.ended", "stream.stopped"]);

export class SegueClient extends EventTarget {
  /** @type {Room | null} */ room = null;
  /**
   * The only callback for media: bundles and parts are taken apart, duplicates left out.
   *
   * @type {((frame: import("./frames.mjs").Frame) => void) | null}
   */
  onFrame = null;

  #options;
  #link;
  #requests;
  #sender;
  #received = new Received();
  #time;
  #restoration;
  /** @type {Map<number, Publication>} by stream */ #publications = new Map();
  #subscriptions = new Subscriptions();
  #congestion = { congested: false, bitrate: /** @type {number|null} */ (null) };
  #counts = { framesIn: 0, malformed: 0, unknown: 0 };
  #watchTimer;
  #tokens;
  /** The token of the latest `hello`. @type {unknown} */ #token;
  #whenOnline = () => this.#link.networkChanged();

  /** @param {import("./options.mjs").ClientOptions} options */
  constructor(options) {
    super();
    this.#options = completeOptions(options);
    this.#watchTimer = new Timer(this.#options);
    this.#link = new Link(this.#options, {
      hello: () => this.#hello(),
      received: () => this.#received.list((stream) => this.room?.mayReceive(stream) ?? false),
      nextId: () => this.#requests.nextId(),
      adopted: (welcome, resumed) => this.#adopted(welcome, resumed),
      caughtUp: (welcome) => this.#caughtUp(welcome),
      control: (message) => this.#control(message),
      frame: (frame) => this.#frame(frame),
      malformed: () => void (this.#counts.malformed += 1),
      state: (state, reason) => this.#dispatch("state", { state, reason }),
      ended: (error) => this.#ended(error),
    });
    this.#requests = new Requests((message) => this.#link.send(JSON.stringify(message)));
    this.#sender = new MediaSender(this.#link, this.#options.clock);
    this.#time = new TimeExchange(this.#options, (members) => this.request("time", members));
    this.#tokens = new TokenRenewal(this.#options, () => this.serverTime(), (token) => this.authenticate(token));
    this.audioSession = new AudioSession((type, members) => this.request(type, members));
    this.pairs = new Pairs((type, members) => this.request(type, members));
    this.chat = new Chat(this);
    this.#restoration = new Restoration(this, { publications: this.#publications, subscriptions: this.#subscriptions, audioSession: this.audioSession });
    this.audioSession.addEventListener("state", () => {
      if (this.audioSession.flows) this.#restoration.goOn();
    });
  }

  /** @returns {"idle"|"connecting"|"open"|"reconnecting"|"closed"} */
  get state() {
    return this.#link.state;
  }

  /** What the relay's latest `welcome` said: `session`, `identity`, `limits`, `node` … @returns {Record<string, any> | null} */
  get welcome() {
    return this.#link.welcome;
  }

  /** @returns {Promise<Record<string, any>>} the `welcome`. One attempt; once it was good, the client comes back by itself until it is closed */
  connect() {
    this.#options.online?.addEventListener?.("online", this.#whenOnline);
    this.#watch();
    return this.#link.connect();
  }

  /** @param {number} [code] 1000 or 3000 to 4999 @param {string} [reason] @returns {Promise<void>} */
  close(code = 1000, reason = "") {
    return this.#link.close(code, reason);
  }

  /** Another connection takes the session over before this one ends. @returns {Promise<Record<string, any>>} */
  migrate() {
    return this.#link.migrate();
  }

  async #hello() {
    const { client, device, wishes } = this.#options;
    const token = await this.#options.token();
    this.#token = token;
    return { versions: [1], client, ...(isText(device) ? { device } : {}), ...(isText(token) ? { token } : {}), wishes };
  }

  #watch() {
    this.#watchTimer.set(WATCH_MILLISECONDS, () => {
      this.#link.watch(this.#options.clock());
      if (this.state !== "closed") this.#watch();
    });
  }

  /**
   * @param {string} type @param {Record<string, any>} [members]
   * @returns {Promise<Record<string, any>>} the answer; rejects with a SegueError. While the client is coming back it is sent as soon as it is there again
   */
  request(type, members = {}) {
    if (this.state === "idle" || this.state === "closed") return Promise.reject(new SegueError("not_connected", "There is no connection."));
    return this.#requests.make(type, members);
  }

  /**
   * @param {string} name @param {{displayName?: string, role?: string, grant?: string}} [members]
   * @returns {Promise<Room>} whose `state` is `waiting` in a lobby: `admitted` comes later
   */
  async join(name, members = {}) {
    const answer = await this.request("join", { ...members, room: name });
    const room = Room.from(answer);
    if (!room) throw new SegueError("protocol", "The relay's answer to join is not as it should be.");
    this.#subscriptions.clear();
    this.#restoration.joined({ ...members, room: name });
    this.#setRoom(room);
    return room;
  }

  /** @returns {Promise<void>} */
  async leave() {
    await this.request("leave");
    this.#left("left");
  }

  /** @param {string} reason */
  #left(reason) {
    this.#restoration.left();
    this.#subscriptions.clear();
    this.#received.clear();
    for (const publication of this.#publications.values()) publication.end(reason);
    this.#publications.clear();
    this.#setRoom(null);
  }

  /** @param {Room | null} room */
  #setRoom(room) {
    this.room = room;
    this.#dispatch("room", { room });
  }

  /**
   * @param {{kind: "audio"|"video"|"data", codec: string, description?: object, source?: string, layers?: object[], priority?: string}} members
   * @returns {Promise<Publication>}
   */
  async publish(members) {
    const { stream } = await this.request("publish", members);
    if (!isU32(stream)) throw new SegueError("protocol", "The relay's answer to publish has no stream.");
    const sender = {
      send: (bytes) => this.#sender.send(bytes),
      backlog: () => this.#sender.backlogMilliseconds,
      flows: () => this.audioSession.flows,
      clock: this.#options.clock,
      close: (publication) => this.#unpublish(publication),
    };
    const publication = new Publication(sender, members, stream);
    this.#publications.set(stream, publication);
    this.published(publication);
    return publication;
  }

  /** Shows one's own stream in the room; for the library's own use. @param {Publication} publication */
  published(publication) {
    if (this.room?.me == null) return;
    this.room.apply({ type: "stream.published", ...publication.members, stream: publication.stream, participant: this.room.me });
    this.#dispatch("room", { room: this.room });
  }

  /** @param {Publication} publication */
  async #unpublish(publication) {
    const { stream } = publication;
    this.#publications.delete(stream);
    if (this.room?.streams.delete(stream)) this.#dispatch("room", { room: this.room });
    await this.request("unpublish", { stream }).catch(() => {});
  }

  /** @param {Record<string, any>} members as of the protocol's `subscribe` @returns {Promise<Record<string, any>>} `subscribed`, and `mix` */
  async subscribe(members) {
    const answer = await this.request("subscribe", members);
    this.#subscriptions.note(members, this.room);
    if (this.room && members.all === true) {
      this.room.mix = isObject(answer.mix) ? answer.mix : null;
      if (members.lastN === undefined) this.room.forwarded = null;
    }
    return answer;
  }

  /** @param {Record<string, any>} members @returns {Promise<Record<string, any>>} */
  async unsubscribe(members) {
    const answer = await this.request("unsubscribe", members);
    this.#subscriptions.forget(members);
    if (this.room && members.all === true) this.room.mix = null;
    return answer;
  }

  /** @param {Uint8Array | object} frame whole, or as `encodeFrame` takes it; numbers and configurations are the caller's own affair @returns {boolean} */
  sendFrame(frame) {
    return this.#sender.sendFrame(frame);
  }

  /** @param {Record<string, any>[]} streams what is played of each, as of the protocol's `report` */
  async report(streams) {
    if (this.room?.state === "joined" && this.state === "open") await this.request("report", { streams });
  }

  /** @param {string} token another one, before the one that the session lives by ends */
  authenticate(token) {
    return this.request("authenticate", { token });
  }

  /** @param {number} [local] a value of the client's clock; absent: now @returns {number} milliseconds since 1970 at the relay */
  serverTime(local = this.#options.clock()) {
    return this.#time.serverTime(local);
  }

  get statistics() {
    const dropped = { backlog: 0, waitingForKey: 0, notConnected: 0, interrupted: 0 };
    for (const publication of this.#publications.values()) for (const name of Object.keys(dropped)) dropped[name] += publication.statistics.dropped[name];
    return {
      roundTripMilliseconds: this.#time.clock.roundTripMilliseconds,
      serverOffsetMilliseconds: this.#time.clock.offsetMilliseconds,
      reconnects: this.#link.reconnects,
      bytesIn: this.#link.bytesIn,
      bytesOut: this.#link.bytesOut,
      bufferedBytes: this.#link.bufferedAmount,
      backlogMilliseconds: this.#sender.backlogMilliseconds,
      ...this.#link.counts,
      framesIn: this.#counts.framesIn,
      framesOut: this.#sender.frames,
      duplicates: this.#received.duplicates,
      malformed: this.#counts.malformed,
      dropped,
      node: this.welcome?.node ?? null,
      session: this.welcome?.session ?? null,
      ...this.#congestion,
    };
  }

  // What the link tells.

  /** @param {Record<string, any>} welcome @param {boolean} resumed */
  #adopted(welcome, resumed) {
    this.#sender.reset();
    this.#congestion = { congested: false, bitrate: null };
    this.#requests.drop("time");
    const { lastId } = this.#requests;
    if (resumed) {
      this.#restoration.resumed(welcome.resumed, this.#requests);
    } else {
      this.#received.clear();
      this.#restoration.renewed();
      this.#requests.renewed(lastId);
    }
    this.#time.begin(welcome, resumed);
    this.#tokens.shown(this.#token);
  }

  /** @param {Record<string, any>} welcome */
  #caughtUp(welcome) {
    const { resumed } = welcome;
    if (!isObject(resumed)) return;
    this.#received.mark();
    const lobby = this.room?.lobby;
    const room = isObject(resumed.room) ? Room.from(resumed.room) : null;
    if (room) {
      if (lobby && room.role === "host" && this.room?.name === room.name) room.lobby = lobby;
      room.mix = isObject(resumed.mix) ? resumed.mix : null;
      this.room = room;
    } else if (isText(resumed.waiting) && this.room) {
      this.room.state = "waiting";
    } else if (this.room) {
      this.#left("gone");
    }
    this.audioSession.update(resumed.session);
    this.#dispatch("resumed", resumed);
    this.#dispatch("room", { room: this.room });
  }

  /** @param {Record<string, any>} message */
  #control(message) {
    if (message.type === "ok" || message.type === "error") {
      if (!this.#requests.answer(message)) this.#counts.unknown += 1;
      return;
    }
    if (OF_PUBLICATION.has(message.type)) {
      const publication = this.#publications.get(message.stream);
      publication?.take(message);
      if (publication?.state === "ended") this.#publications.delete(message.stream);
    }
    const changed = this.room?.apply(message) === true;
    this.#apply(message);
    this.#dispatch(message.type, message);
    if (message.type === "room.admitted" && changed) {
      this.#restoration.goOn();
      this.#dispatch("admitted", { room: this.room });
    }
    if (changed) this.#dispatch("room", { room: this.room });
  }

  /** What an event means to others than the room. @param {Record<string, any>} message */
  #apply(message) {
    const { type } = message;
    if (type === "congested" || type === "recovered") {
      this.#congestion = { congested: type === "congested", bitrate: numberOr(message.bitrate, /** @type {any} */ (null), 0, 1e12) };
    } else if (type === "goaway") {
      this.#link.goAway();
    } else if (type === "room.removed" && message.room === this.room?.name) {
      this.#left("removed");
    } else if (type === "mediaServices.wereReset") {
      this.#restoration.mediaServicesWereReset();
    }
    this.audioSession.take(message);
  }

  /** @param {import("./frames.mjs").Frame} frame */
  #frame(frame) {
    if (frame.kind !== "configuration" && !this.#received.take(frame)) return;
    this.#counts.framesIn += 1;
    if (frame.kind === "data") this.chat.take(frame, this.room?.streams.get(frame.stream));
    try {
      this.onFrame?.(frame);
    } catch (error) {
      // The callback's own affair: the frames behind it come all the same.
      reportError(error);
    }
  }

  /** @param {SegueError} error */
  #ended(error) {
    this.#options.online?.removeEventListener?.("online", this.#whenOnline);
    this.#time.stop();
    this.#tokens.stop();
    this.#watchTimer.clear();
    this.#requests.rejectAll(new SegueError("closed", error.message));
    if (this.room) this.#left("closed");
    this.#dispatch("ended", error);
  }

  /** @param {string} type @param {unknown} detail */
  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** As a browser does of what listeners throw; where there is no such function, as an error that nobody has caught. @param {unknown} error */
function reportError(error) {
  if (typeof globalThis.reportError === "function") globalThis.reportError(error);
  else {
    queueMicrotask(() => {
      throw error;
    });
  }
}
