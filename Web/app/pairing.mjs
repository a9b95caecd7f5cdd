// Pairing by code: one device shows a code, the other types it, and both have a room that nobody else can enter (PROTOCOL.md 3.14).

import { messageFor } from "./messages.mjs";
import { looksLikeCode } from "./route.mjs";
import { nameOf } from "./people.mjs";

export class Pairing {
  /** @param {{store: any, call: any, strings: any, onPair: (pair: {room: string, peer: string}) => void, now?: () => number}} options */
  constructor({ store, call, strings, onPair, now = () => Date.now() }) {
    this.store = store;
    this.call = call;
    this.strings = strings;
    this.onPair = onPair;
    this.now = now;
    /** @type {any} */
    this.listening = null;
  }

  /** @param {object} change */
  set(change) {
    this.store.dispatch({ type: "pairing", code: null, expires: 0, ...change });
  }

  /** Shows a code until it is used or expires. */
  async show() {
    this.set({ busy: true });
    try {
      const client = await this.call.connect();
      this.listen(client);
      const { code, expires } = await client.pairs.createCode();
      this.set({ code, expires: this.localExpiry(client, expires) });
    } catch (error) {
      this.set({ error: this.sentence(error) });
    }
  }

  /** The relay's time of expiry by this machine's clock, which may be wrong by hours. @param {any} client @param {number} expires */
  localExpiry(client, expires) {
    const relay = client.serverTime?.();
    return Number.isFinite(relay) ? this.now() + (expires - relay) : expires;
  }

  /** @param {any} client */
  listen(client) {
    if (this.listening === client) return;
    this.listening = client;
    client.addEventListener("pair.made", (/** @type {any} */ event) => this.made(event.detail.pair));
  }

  /** @param {string} text as it was typed */
  async enter(text) {
    if (!looksLikeCode(text)) {
      this.set({ error: this.strings.start.codeWrong });
      return;
    }
    this.set({ busy: true });
    try {
      const client = await this.call.connect();
      const answer = await client.pairs.useCode(text.trim());
      this.made(answer.pair?.room ? answer.pair : answer);
    } catch (error) {
      this.set({ error: this.sentence(error) });
    }
  }

  /** @param {any} pair */
  made(pair) {
    this.set({});
    this.onPair({ room: pair.room, peer: nameOf({ identity: pair.peer }) });
  }

  expired() {
    this.set({ error: this.strings.start.codeExpired });
  }

  /** @param {any} error */
  sentence(error) {
    const { title, text } = messageFor(error);
    return `${title}. ${text}`;
  }
}
