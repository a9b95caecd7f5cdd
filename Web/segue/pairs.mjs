/** Pairs of keys, with a room of their own each (protocol 3.14). A certificate is needed: a token proves no key. */

import { SegueError } from "./errors.mjs";

/** What a pair's code is made of: no two look alike. */
const CODE = /^[23456789ACDEFGHJKMNPQRTWXY]{8}$/;
const LOOKS_LIKE = Object.freeze({ Z: "2", S: "5", B: "8" });

/** @param {string} text as somebody typed it @returns {string | null} the code; null when it cannot be one */
export function normalizedCode(text) {
  const code = text.toUpperCase().replace(/[\s-]/gu, "").replace(/[ZSB]/gu, (letter) => LOOKS_LIKE[letter]);
  return CODE.test(code) ? code : null;
}

/** @param {string} code @returns {string} with a hyphen in the middle, to be read aloud */
export function readableCode(code) {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

export class Pairs {
  /** @param {(type: string, members?: Record<string, any>) => Promise<Record<string, any>>} ask */
  constructor(ask) {
    this.ask = ask;
  }

  /**
   * @param {string} peer the identity's name
   * @param {{fingerprint?: string}} [options]
   * @returns {Promise<Record<string, any>>} `pair`, or `request` and `expires`
   */
  request(peer, { fingerprint = undefined } = {}) {
    return this.ask("pair.request", fingerprint ? { peer, fingerprint } : { peer });
  }

  /** @param {string} request @returns {Promise<Record<string, any>>} the pair: join its `room` */
  async accept(request) {
    return (await this.ask("pair.accept", { request })).pair;
  }

  /** @param {string} request */
  async decline(request) {
    await this.ask("pair.decline", { request });
  }

  /** @param {string} request one's own */
  async cancel(request) {
    await this.ask("pair.cancel", { request });
  }

  /** @returns {Promise<{code: string, expires: number}>} good for two minutes and for as long as the session; `pair.made` comes when somebody has entered it */
  async createCode() {
    const { code, expires } = await this.ask("pair.code");
    return { code, expires };
  }

  /** @param {string} text as it was typed @returns {Promise<Record<string, any>>} the pair */
  async useCode(text) {
    const code = normalizedCode(text);
    if (code === null) throw new SegueError("bad_value", "This is no code: it has eight letters and digits.");
    return (await this.ask("pair.enter", { code })).pair;
  }

  /** @returns {Promise<{pairs: object[], requests: object[]}>} */
  async list() {
    const { pairs, requests } = await this.ask("pair.list");
    return { pairs: Array.isArray(pairs) ? pairs : [], requests: Array.isArray(requests) ? requests : [] };
  }

  /** @param {string} pair its number */
  async revoke(pair) {
    await this.ask("pair.revoke", { pair });
  }

  /** @param {string} peer @returns {Promise<object[]>} */
  async devices(peer) {
    const { devices } = await this.ask("pair.devices", { peer });
    return Array.isArray(devices) ? devices : [];
  }
}
