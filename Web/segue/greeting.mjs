/** `hello` and its answer (protocol 3.2, 3.18): with what a session is gone on with, and what a refusal means for the next try. */

import { isText, isWelcome, parseControl } from "./checks.mjs";
import { refusal } from "./requests.mjs";

/** Tries with fresh tokens, and with a session that cannot come to a shared connection. */
const TOKEN_TRIES_MAX = 3;
const SHARED_TRIES_MAX = 2;

export class Greeting {
  /** What to come back with: a secret, good once. @type {string | null} */ resumeToken = null;
  #tokenTries = 0;
  #sharedTries = 0;

  /**
   * @param {{hello: () => Promise<Record<string, any>>, received: () => object[], nextId: () => number}} owner
   * @param {boolean} tokenIsRenewable whether another try may show another bearer token
   */
  constructor(owner, tokenIsRenewable) {
    this.owner = owner;
    this.tokenIsRenewable = tokenIsRenewable;
  }

  /** No session is gone on with. */
  reset() {
    this.resumeToken = null;
    this.#tokenTries = this.#sharedTries = 0;
  }

  /**
   * Says hello. Behind one that resumes nothing is sent before its answer: protocol 3.18.
   *
   * @param {import("./connection.mjs").Connection} connection
   * @param {boolean} resumes whether to go on with the session, if there is one
   * @returns {Promise<number>} bytes sent; rejects when there is no token to show
   */
  async say(connection, resumes) {
    const members = await this.owner.hello();
    if (connection.phase !== "open") return 0;
    const message = { type: "hello", id: this.owner.nextId(), ...members };
    connection.helloId = message.id;
    connection.resumeToken = resumes ? this.resumeToken : null;
    if (connection.resumeToken !== null) message.resume = { token: connection.resumeToken, received: this.owner.received() };
    const text = JSON.stringify(message);
    return connection.send(text) ? text.length : 0;
  }

  /**
   * @param {import("./connection.mjs").Connection} connection
   * @param {string | Uint8Array} data what came before the connection is welcome
   * @returns {{welcome?: Record<string, any>, refusal?: import("./errors.mjs").SegueError, nonsense?: boolean} | null} null when it is no answer to `hello`
   */
  read(connection, data) {
    const message = typeof data === "string" ? parseControl(data) : null;
    if (!message || connection.helloId === null || message.id !== connection.helloId) return null;
    connection.helloId = null;
    if (message.type === "error") return { refusal: refusal(message) };
    if (message.type !== "welcome" || !isWelcome(message)) return { nonsense: true };
    return { welcome: message };
  }

  /** @param {Record<string, any>} welcome of the connection that the session lives on now */
  welcomed(welcome) {
    this.reset();
    this.resumeToken = isText(welcome.resumeToken) ? welcome.resumeToken : null;
  }

  /**
   * @param {import("./errors.mjs").SegueError} error
   * @returns {"anew"|"again"|"never"} say hello without resuming; connect again; the next would be refused as well
   */
  verdict(error) {
    if (error.code === "resume_refused") return "anew";
    if (error.code === "connection_shared") return ++this.#sharedTries >= SHARED_TRIES_MAX ? "anew" : "again";
    if (error.code === "token_refused" && this.tokenIsRenewable && ++this.#tokenTries < TOKEN_TRIES_MAX) return "again";
    return error.retry ? "again" : "never";
  }
}
