// A call: the client library's session and the media engine, from joining to the end, and what the page makes of their events. No elements here.

import { messageFor, messageForClose, messageForRemoval } from "./messages.mjs";
import { changesBetween, nameOf, peopleOf } from "./people.mjs";
import { PresenceBook } from "./presence.mjs";
import { noSpeakers, takeSpeakers } from "./speaking.mjs";
import { layerFor, wishesBetween } from "./wishes.mjs";

/** Pictures of so many participants at once, those who spoke last; the sound of all. On a phone fewer. */
const lastNumber = { desktop: 25, phone: 8 };

/**
 * The audio session that the page asks the relay for. It mixes (1): the same person may be there with two windows, and neither takes the other's sound away;
 * with Bluetooth's hands-free profile allowed (4).
 */
const audioSession = { category: "playAndRecord", mode: "videoChat", options: 5 };

/** Behind the end of an interruption: so long the relay has for its answer. */
const goOnMilliseconds = 400;

export class Call {
  /**
   * @param {{store: any, own: import("./own-media.mjs").OwnMedia, announce: (text: string, options?: {seen?: boolean}) => void, strings: any,
   *   makeClient: (token: string|null) => any,
   *   makeEngine: (client: any) => any, clock?: () => number, phone?: () => boolean}} options
   */
  constructor({ store, own, announce, strings, makeClient, makeEngine, clock = () => performance.now(), phone = () => false }) {
    this.store = store;
    this.own = own;
    this.announce = announce;
    this.strings = strings;
    this.makeClient = makeClient;
    this.makeEngine = makeEngine;
    this.clock = clock;
    this.phone = phone;
    /** @type {any} */
    this.client = null;
    /** @type {any} */
    this.engine = null;
    /** @type {string|null} */
    this.token = null;
    this.presence = new PresenceBook();
    this.speaking = noSpeakers();
    /** @type {Set<number>} */
    this.stalled = new Set();
    /** @type {import("./people.mjs").Person[]} */
    this.seen = [];
    /** How high the tile of each video stream is, in pixels of the screen; kept by the stage. @type {Map<number, number>} */
    this.tileHeights = new Map();
    /** What was wished last. @type {Map<number, number|null>} */
    this.layerWishes = new Map();
    this.leaving = false;
    own.onMuted = (muted) => this.presence.setMuted(muted);
  }

  /** Everybody in the room. @returns {import("./people.mjs").Person[]} */
  people() {
    const { self, connection } = this.store.state;
    const muted = self.muted || this.own.devices.microphone === null;
    return peopleOf(
      this.client?.room,
      { presence: this.presence.others, stalled: this.stalled, self: { muted, reconnecting: connection.state === "reconnecting" } },
    );
  }

  get isHost() {
    return this.client?.room?.role === "host";
  }

  touch() {
    this.store.dispatch({ type: "touch" });
  }

  /** Connects once; pairing and joining share the connection. */
  async connect() {
    if (this.client && this.client.state !== "closed" && this.client.state !== "idle") return this.client;
    if (!this.client || this.client.state === "closed") this.listen(this.makeClient(this.token));
    await this.client.connect();
    return this.client;
  }

  /** @param {any} client */
  listen(client) {
    this.client = client;
    this.leaving = false;
    const on = (/** @type {string} */ type, /** @type {(detail: any) => void} */ take) =>
      client.addEventListener(type, (/** @type {any} */ event) => { if (client === this.client) take(event.detail ?? {}); });
    on("state", (detail) => this.takeState(detail));
    on("room", () => this.takeRoom());
    on("speakers", ({ speakers }) => { this.speaking = takeSpeakers(this.speaking, speakers ?? [], this.clock()); this.touch(); });
    on("room.removed", ({ reason }) => this.end(messageForRemoval(reason)));
    on("lobby.waiting", (detail) => this.announce(this.strings.announce.waiting(nameOf(detail))));
    on("ended", (error) => this.takeEnd(error));
    on("rejoin-refused", (error) => this.end(messageFor(error)));
    // Another session after the old one was lost: everybody has another number, and nobody has come or gone.
    on("renewed", ({ room }) => {
      this.seen = this.people();
      this.speaking = takeSpeakers(noSpeakers(), room?.speakers ?? [], this.clock());
    });
    on("room.locked", ({ locked }) => this.announce(locked ? this.strings.announce.locked : this.strings.announce.unlocked));
    on("congested", () => this.store.dispatch({ type: "connection", change: { congested: true } }));
    on("recovered", () => this.store.dispatch({ type: "connection", change: { congested: false } }));
    on("goaway", () => this.store.dispatch({ type: "connection", change: { draining: true } }));
    for (const type of ["interruption.began", "interruption.ended", "session.changed", "resumed"]) on(type, () => this.takeSession());
    client.audioSession?.addEventListener?.("state", () => this.takeSession());
    client.chat?.addEventListener("message", (/** @type {any} */ event) => this.takeMessage(event.detail));
  }

  /** Joins. To be called in a click: browsers start sound for a person's act only. @param {{room: string, displayName: string, role: string|null}} wishes */
  async join({ room, displayName, role }) {
    this.store.dispatch({ type: "joining" });
    try {
      if (!this.client || this.client.state === "closed") this.listen(this.makeClient(this.token));
      await this.startEngine();
      await this.connect();
      await this.openAudioSession();
      const joined = await this.client.join(room, { displayName: displayName || undefined, role: role ?? undefined });
      if (joined.state !== "waiting") return await this.enter();
      this.client.addEventListener("admitted", () => void this.enter(), { once: true });
      this.store.dispatch({ type: "waiting" });
    } catch (error) {
      this.fail(error);
    }
  }

  async startEngine() {
    this.engine = this.makeEngine(this.client);
    this.engine?.addEventListener?.("interruption", (/** @type {any} */ event) => {
      if (event.detail?.state === "ended" && event.detail.shouldResume) void this.goOn();
    });
    this.engine?.addEventListener?.("ended", (/** @type {any} */ event) => this.own.takeEnded(event.detail ?? {}));
    try {
      await this.engine?.start();
    } catch (error) {
      this.store.dispatch({ type: "sound", blocked: true });
    }
    const output = this.own.choices.text("output");
    if (output) await Promise.resolve(this.engine?.setOutput?.(output)).catch(() => {});
  }

  /** The browser held the sound back: tried again by a click. */
  async unblockSound() {
    try {
      await this.engine?.start();
      this.store.dispatch({ type: "sound", blocked: false });
    } catch {
      this.announce(this.strings.call.sound);
    }
  }

  /** Without an audio session a call works too, but nobody sees who is held. */
  async openAudioSession() {
    const session = this.client.audioSession;
    if (!session) return;
    try {
      await session.init();
      await session.setCategory(audioSession.category, { mode: audioSession.mode, options: audioSession.options });
      await session.setActive(true);
    } catch (error) {
      if (/** @type {any} */ (error)?.code === "insufficient_priority") this.own.set({ held: true });
    }
  }

  async enter() {
    const { room } = this.client;
    this.speaking = noSpeakers();
    if (room.speakers?.length > 0) this.speaking = takeSpeakers(this.speaking, room.speakers, this.clock());
    this.presence.clear();
    this.hear();
    this.seen = this.people();
    this.layerWishes = new Map();
    this.tileHeights = new Map();
    this.store.dispatch({ type: "joined" });
    this.announce(this.strings.announce.inCall(room.name), { seen: false });
    try {
      await this.client.subscribe({ all: true, lastN: this.phone() ? lastNumber.phone : lastNumber.desktop });
      if (room.role !== "host" && room.role !== "speaker") return;
      this.presence.own = { muted: this.store.state.self.muted || this.own.devices.microphone === null };
      await this.presence.publish(this.client);
      await this.own.hand(this.engine);
    } catch (error) {
      if (this.store.state.phase === "call") this.tell(error);
    }
  }

  /** Presence comes among the media: the engine's callback gets the rest. */
  hear() {
    const { client } = this;
    const inner = client.onFrame;
    client.onFrame = (/** @type {any} */ frame) => {
      if ((frame.kind === "configuration" || frame.kind === "data") && this.presence.take(frame, client.room)) this.touch();
      else inner?.(frame);
    };
  }

  /** @param {{state: string}} detail */
  takeState({ state }) {
    const was = this.store.state.connection.state;
    this.store.dispatch({ type: "connection", change: { state, since: this.clock(), ...(state === "open" ? { draining: false } : {}) } });
    const { phase } = this.store.state;
    if (state === "reconnecting" && phase === "call") this.announce(this.strings.banner.reconnecting, { seen: false });
    if (state === "open" && was === "reconnecting" && phase === "call") this.announce(this.strings.announce.reconnected);
  }

  /** It does not go on: the relay closed for good, or was not found again. @param {any} error */
  takeEnd(error) {
    const { phase } = this.store.state;
    if (this.leaving || (phase !== "call" && phase !== "waiting")) return;
    const reason = error?.details?.reason;
    this.end(typeof reason === "string" && reason !== "" ? messageForClose(reason) : messageFor(error));
  }

  /** Whether the system or another device has the sound: nothing of the call goes either way then. */
  takeSession() {
    const session = this.client?.audioSession;
    if (!session || this.store.state.phase !== "call") return;
    this.own.set({ held: session.state === "interrupted" || session.state === "inactive", paused: Boolean(session.paused) });
  }

  takeRoom() {
    const people = this.people();
    if (this.store.state.phase === "call") {
      for (const { what, name } of changesBetween(this.seen, people)) {
        const text = this.strings.announce[what];
        this.announce(typeof text === "function" ? text(name) : text);
      }
    }
    this.seen = people;
    const lobby = [...(this.client?.room?.lobby?.values() ?? [])];
    this.store.dispatch({ type: "lobby", waiting: lobby.map((one) => ({ participant: one.participant, name: nameOf(one) })) });
    const present = new Set(people.map((person) => person.id));
    for (const id of this.presence.others.keys()) if (!present.has(id)) this.presence.others.delete(id);
    this.touch();
  }

  /** @param {{participant: number|null, text: string, at: number}} message */
  takeMessage({ participant, text, at }) {
    const person = this.people().find((one) => one.id === participant);
    const name = person?.name ?? "?";
    const mine = person?.me ?? false;
    this.store.dispatch({ type: "message", message: { participant, name, text, at, mine } });
    // The open chat's log speaks for itself.
    if (!mine && this.store.state.panel !== "chat") this.announce(this.strings.announce.message(name, text));
  }

  /** @param {string} text */
  async sendMessage(text) {
    const trimmed = text.trim();
    if (trimmed === "") return true;
    try {
      this.takeMessage(await this.client.chat.send(trimmed));
      return true;
    } catch (error) {
      const tooLong = error instanceof RangeError;
      this.store.dispatch({ type: "message.failed", text: tooLong ? this.strings.chat.tooLong : this.strings.chat.failed });
      return false;
    }
  }

  /** A host's act. @param {string} type @param {object} [members] */
  async moderate(type, members = {}) {
    try {
      await this.client.request(type, members);
    } catch (error) {
      this.tell(error);
    }
  }

  /** Takes the call back from another device, or after an interruption that never ended. */
  async resumeHere() {
    try {
      await this.client.audioSession?.setActive(true);
      this.own.set({ held: false });
    } catch (error) {
      this.tell(error);
    }
  }

  /** The system gave the sound back. The relay may have taken the interruption for ended before, and the session for inactive: then it is activated again. */
  async goOn() {
    await new Promise((resolve) => setTimeout(resolve, goOnMilliseconds));
    if (this.client?.audioSession?.state === "inactive") await this.resumeHere();
  }

  /** Says which layer of each picture its tile is worth. In rooms with pages nothing is said: who speaks is chosen by the relay there. */
  wishLayers() {
    const { room } = this.client ?? {};
    if (!room || this.client.state !== "open") return;
    const after = new Map();
    for (const [stream, height] of this.tileHeights) {
      const info = room.streams.get(stream);
      if (info) after.set(stream, layerFor(info.layers ?? [], height));
    }
    const wishes = wishesBetween(this.layerWishes, after);
    this.layerWishes = after;
    for (const wish of wishes) Promise.resolve(this.client.subscribe(wish)).catch(() => { this.layerWishes.clear(); });
  }

  async playOn() {
    await Promise.resolve(this.client.audioSession?.continue()).catch(() => {});
    this.own.set({ paused: false });
  }

  /** What was refused while the call goes on. @param {any} error */
  tell(error) {
    const { title, text } = messageFor(error);
    this.announce(`${title}. ${text}`);
  }

  async leave() {
    this.leaving = true;
    const { client } = this;
    this.end(messageForClose("left"));
    await Promise.resolve(client?.close(1000, "left")).catch(() => {});
  }

  /** The page goes away: others should not wait for it. */
  depart() {
    this.leaving = true;
    void Promise.resolve(this.client?.close(1001, "page closed")).catch(() => {});
  }

  /** @param {any} error */
  fail(error) {
    this.end(messageFor(error));
  }

  /** @param {import("./state.mjs").Message} message */
  end(message) {
    const { engine, client } = this;
    this.engine = null;
    this.own.release();
    this.presence.clear();
    this.stalled.clear();
    void Promise.resolve(engine?.close?.()).catch(() => {});
    this.leaving = true;
    if (client && client.state !== "closed") void Promise.resolve(client.close(1000, "left")).catch(() => {});
    this.client = null;
    this.store.dispatch({ type: "over", message });
    this.announce(`${message.title}. ${message.text}`, { seen: false });
  }
}
