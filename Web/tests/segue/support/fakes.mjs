/** Time, chance, network and relay for tests: all of them do what the test says, when it says so. */

import { SegueClient } from "../../../segue/segue.mjs";

/** Lets promises that are kept be seen, many deep. */
export async function settle() {
  for (let round = 0; round < 20; round += 1) await Promise.resolve();
}

export class FakeTime {
  now = 1_000;
  #id = 0;
  /** @type {Map<number, {at: number, callback: () => void}>} */ timers = new Map();

  clock = () => this.now;

  setTimer = (callback, milliseconds) => {
    this.#id += 1;
    this.timers.set(this.#id, { at: this.now + milliseconds, callback });
    return this.#id;
  };

  clearTimer = (timer) => this.timers.delete(timer);

  /** @param {number} milliseconds all that is due happens in order, and what follows from it */
  async advance(milliseconds) {
    const end = this.now + milliseconds;
    await settle();
    for (;;) {
      const due = [...this.timers].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (!due) break;
      this.timers.delete(due[0]);
      this.now = Math.max(this.now, due[1].at);
      due[1].callback();
      await settle();
    }
    this.now = end;
    await settle();
  }
}

/** A WebSocket as a browser has it; the other end is the test. */
export class FakeSocket {
  readyState = 0;
  bufferedAmount = 0;
  /** Text as objects, media as bytes. @type {any[]} */ sent = [];
  /** What it was closed with from our side. @type {{code?: number, reason?: string} | null} */ closed = null;

  constructor(network, url, protocols) {
    this.network = network;
    this.url = url;
    this.protocols = protocols;
    network.sockets.push(this);
    network.opened?.(this);
  }

  open() {
    this.readyState = 1;
    this.onopen?.({});
  }

  /** @param {object | Uint8Array} data */
  receive(data) {
    if (this.readyState !== 1 && this.readyState !== 2) return;
    this.onmessage?.({ data: data instanceof Uint8Array ? data.slice().buffer : typeof data === "string" ? data : JSON.stringify(data) });
  }

  send(data) {
    if (this.readyState === 0) throw new Error("InvalidStateError");
    if (this.readyState !== 1) return;
    const said = typeof data === "string" ? JSON.parse(data) : data;
    this.sent.push(said);
    this.network.said?.(this, said);
  }

  close(code = undefined, reason = "") {
    if (code !== undefined && code !== 1000 && (code < 3000 || code > 4999)) throw new Error("InvalidAccessError");
    if (new TextEncoder().encode(reason).length > 123) throw new Error("SyntaxError");
    if (this.readyState >= 2) return;
    const wasOpen = this.readyState === 1;
    this.readyState = 2;
    this.closed = { code, reason };
    if (this.network.closes) this.end(wasOpen ? (code ?? 1005) : 1006);
  }

  /** The connection ends. @param {number} code 1006: without a close frame */
  end(code = 1006, reason = "") {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  /** Messages of a type that were sent. @param {string} type */
  of(type) {
    return this.sent.filter((message) => message.type === type);
  }

  get media() {
    return this.sent.filter((message) => message instanceof Uint8Array);
  }
}

export class FakeNetwork {
  /** @type {FakeSocket[]} */ sockets = [];
  closes = true;
  /** @type {((socket: FakeSocket) => void) | null} */ opened = null;
  /** @type {((socket: FakeSocket, message: any) => void) | null} */ said = null;

  get WebSocket() {
    const network = this;
    return class extends FakeSocket {
      constructor(url, protocols) {
        super(network, url, protocols);
      }
    };
  }

  get last() {
    return this.sockets[this.sockets.length - 1];
  }
}

/** Enough of a relay: sessions with tokens, a room, streams. Answers come with the next turn of the loop; `answers` says others. */
export class FakeRelay {
  network = new FakeNetwork();
  time = new FakeTime();
  isUp = true;
  /** @type {Map<string, {socket: FakeSocket, room: any, published: Map<number, number>, subscribed: number[]}>} by token */ sessions = new Map();
  /** By type: what to answer instead. @type {Record<string, (message: any, socket: FakeSocket) => any>} */ answers = {};
  #token = 0;
  #stream = 10;
  /** Members of `resumed` beside the usual ones. */ resumedMore = {};

  constructor() {
    this.network.opened = (socket) => {
      queueMicrotask(() => {
        if (this.isUp === "silent") return;
        if (this.isUp) socket.open();
        else socket.end(1006);
      });
    };
    this.network.said = (socket, message) => {
      if (message instanceof Uint8Array) return;
      queueMicrotask(() => this.#take(socket, message));
    };
  }

  /** @param {Record<string, any>} [options] */
  client(options = {}) {
    const { time, network } = this;
    return new SegueClient({
      url: "wss://relay.example/v1/session",
      WebSocket: network.WebSocket,
      clock: time.clock,
      setTimer: time.setTimer,
      clearTimer: time.clearTimer,
      random: () => 1,
      ...options,
    });
  }

  #take(socket, message) {
    const answer = this.answers[message.type]?.(message, socket) ?? this.#usual(socket, message);
    if (answer && answer !== "nothing") socket.receive({ id: message.id, ...answer });
  }

  #usual(socket, message) {
    const ok = { type: "ok" };
    const session = socket.session;
    switch (message.type) {
      case "hello":
        return this.#hello(socket, message);
      case "time":
        return { ...ok, clientTime: message.clientTime, serverTime: this.time.now + 1_760_000_000_000 };
      case "join":
        session.room = roomMessage(message.room);
        return { ...ok, ...session.room, state: "joined" };
      case "publish":
        this.#stream += 1;
        session.published.set(this.#stream, message);
        return { ...ok, stream: this.#stream };
      case "subscribe":
        return { ...ok, subscribed: [2] };
      default:
        return ok;
    }
  }

  #hello(socket, message) {
    let session;
    if (message.resume) {
      session = this.sessions.get(message.resume.token);
      if (!session) return { type: "error", code: "resume_refused", message: "no", retry: false };
      this.sessions.delete(message.resume.token);
      session.replaced = session.socket;
      session.socket = socket;
    } else {
      session = { socket, room: null, published: new Map(), subscribed: [] };
    }
    socket.session = session;
    this.#token += 1;
    const token = `token-${this.#token}`;
    this.sessions.set(token, session);
    const welcome = {
      type: "welcome", version: 1, session: "5e55", identity: { name: "token:alice", proof: "token" }, limits: { controlMessageBytesMax: 65_536 },
      serverTime: this.time.now + 1_760_000_000_000, node: "fake", resumeToken: token, resumeMilliseconds: 15_000,
    };
    if (message.resume) {
      const published = [...session.published.keys()].map((stream) => ({ stream, sequence: session.published.get(stream).last }));
      const streams = [...session.published].map(([stream, { kind, codec, source }]) => ({ stream, participant: 5, kind, codec, source }));
      const room = session.room ? { ...session.room, streams: [...session.room.streams, ...streams] } : undefined;
      welcome.resumed = { subscribed: session.subscribed, published, gaps: [], ...(room ? { room } : {}), ...this.resumedMore };
    }
    return welcome;
  }
}

/** @param {string} room @returns {Record<string, any>} as in the `ok` of `join` */
export function roomMessage(room) {
  return {
    room, participant: 5, role: "speaker", locked: false,
    participants: [
      { participant: 4, role: "host", identity: { name: "urn:bob", proof: "certificate" } },
      { participant: 5, role: "speaker", identity: { name: "token:alice", proof: "token" }, displayName: "Alice" },
    ],
    streams: [{ stream: 2, participant: 4, kind: "audio", codec: "opus", source: "microphone" }],
  };
}

/**
 * Deterministic: the same numbers for the same seed (a 32-bit xorshift).
 *
 * @param {number} seed
 * @returns {(bound: number) => number} whole numbers below the bound
 */
export function generator(seed) {
  let state = seed | 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

/** @param {EventTarget} target @param {string[]} types @returns {any[]} what is dispatched from here on, as `[type, detail]` */
export function recorded(target, ...types) {
  const events = [];
  for (const type of types) target.addEventListener(type, (event) => events.push([type, event.detail]));
  return events;
}
