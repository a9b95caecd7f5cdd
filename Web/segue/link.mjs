/**
 * The way to the relay: makes connections, resumes the session over a new one when one is lost (protocol 3.18, 8.2), replaces one before it breaks, and tells
 * which connection speaks.
 *
 * A browser cannot end a WebSocket without a close frame, and a close frame ends the session. So a connection that says nothing any more is left alone until
 * the session lives on another, and an attempt that took too long stays open until a later one is welcome: its own `welcome` may still come.
 */

import { Backoff } from "./backoff.mjs";
import { isObject, limitsFrom } from "./checks.mjs";
import { Connection, afterClose } from "./connection.mjs";
import { SegueError, closedError } from "./errors.mjs";
import { DEFAULT_LIMITS } from "./frames.mjs";
import { FormerConnections } from "./former-connections.mjs";
import { Greeting } from "./greeting.mjs";
import { Reader } from "./reader.mjs";
import { Timer, Wish } from "./timer.mjs";

/** Protocol 7: a relay that has said nothing for so long is lost. */
export const SILENCE_MILLISECONDS_MAX = 35_000;
/** After so long a second connection is tried, beside the one that is silent. */
const SUSPICION_MILLISECONDS = 10_000;
/** For so long the old connection is read to its end, before the new one is. */
const HAND_OVER_MILLISECONDS = 250;
const HELD_MAX = 4_096;
/** A connection that lives so long was a good one: the next loss begins with short waits again. */
const STABLE_MILLISECONDS = 5_000;

export class Link {
  /** @type {"idle"|"connecting"|"open"|"reconnecting"|"closed"} */ state = "idle";
  /** The connection that the session lives on. @type {Connection | null} */ current = null;
  /** What the latest `welcome` said. @type {Record<string, any> | null} */ welcome = null;
  limits = DEFAULT_LIMITS;
  reconnects = 0;
  counts = { bundles: 0, parts: 0 };
  bytesIn = 0;
  bytesOut = 0;

  /** @type {Connection | null} */ #attempt = null;
  #others = new FormerConnections();
  #number = 0;
  #greeting;
  #attemptTimer;
  #retryTimer;
  #adoptedAt = 0;
  #lostAt = null;
  /** The relay goes away. */ #goesAway = false;
  /** Of the next `welcome`. */ #wanted = new Wish();

  /**
   * @param {any} options of the client, complete
   * @param {import("./owner.mjs").LinkOwner} owner
   */
  constructor(options, owner) {
    this.options = options;
    this.owner = owner;
    this.backoff = new Backoff(options);
    this.#greeting = new Greeting(owner, options.tokenIsRenewable);
    this.#attemptTimer = new Timer(options);
    this.#retryTimer = new Timer(options);
    this.handlers = {
      opened: (connection) => this.#greet(connection, true),
      message: (connection, data) => this.#received(connection, data),
      ended: (connection, code, reason) => this.#ended(connection, code, reason),
    };
  }

  get isOpen() {
    return this.current !== null && this.current.isLive;
  }

  get bufferedAmount() {
    return this.current?.bufferedAmount ?? 0;
  }

  /** @param {string | Uint8Array} data @returns {boolean} */
  send(data) {
    if (this.state === "closed" || !this.current?.isLive || !this.current.send(data)) return false;
    this.bytesOut += data.length;
    return true;
  }

  /** @returns {Promise<Record<string, any>>} the `welcome` */
  connect() {
    if (this.state === "connecting" && this.#wanted.promise) return this.#wanted.promise;
    if (this.state !== "idle" && this.state !== "closed") return Promise.resolve(this.welcome);
    this.backoff.reset();
    this.#greeting.reset();
    this.#goesAway = false;
    this.#setState("connecting", "");
    const promise = this.#wanted.make();
    this.#begin();
    return promise;
  }

  /**
   * Makes before break: another connection takes the session over, then the old one ends.
   *
   * @returns {Promise<Record<string, any>>} the `welcome`; rejects when the connection that is there stays
   */
  migrate() {
    if (this.state !== "open" && this.state !== "reconnecting") return Promise.reject(new SegueError("not_connected", "There is no session to take along."));
    const promise = this.#wanted.make();
    this.#tryNow();
    return promise;
  }

  /** The network is there again, or another one: no more waiting. */
  #tryNow() {
    if (this.#attempt) return;
    this.backoff.reset();
    this.#retryTimer.clear();
    this.#begin();
  }

  networkChanged() {
    if (this.state === "reconnecting") this.#tryNow();
    else if (this.state === "open") this.migrate();
  }

  goAway() {
    this.#goesAway = true;
    if (this.state === "open") this.migrate();
  }

  #begin() {
    let connection;
    try {
      connection = new Connection(++this.#number, this.options, this.handlers);
    } catch (error) {
      this.#finish(new SegueError("connect_failed", `No connection can be made: ${error.message}`));
      return;
    }
    this.#attempt = connection;
    this.#attemptTimer.set(this.options.attemptMilliseconds, () => this.#attemptTimedOut(connection));
  }

  /** @param {Connection} connection @param {boolean} resumes */
  async #greet(connection, resumes) {
    try {
      this.bytesOut += await this.#greeting.say(connection, resumes);
    } catch (error) {
      const isAttempt = this.#attempt === connection;
      if (isAttempt) this.#clearAttempt();
      connection.close();
      if (isAttempt) this.#attemptFailed(new SegueError("token", `There is no token to show: ${error?.message ?? error}`, true));
    }
  }

  /** @param {Connection} connection */
  #attemptTimedOut(connection) {
    if (this.#attempt !== connection) return;
    this.#clearAttempt();
    // With a resumption under way a close frame could end the session that it has just taken over.
    if (connection.phase === "open" && connection.resumeToken !== null) this.#others.keep(connection);
    else connection.close();
    this.#attemptFailed(new SegueError("connect_timeout", "The relay did not answer in time.", true));
  }

  /** @param {SegueError} error */
  #attemptFailed(error) {
    this.#clearAttempt();
    if (this.state === "closed") return;
    if (this.state === "connecting") {
      this.#finish(error);
      return;
    }
    if (this.#stays()) {
      this.#wanted.reject(error);
      return;
    }
    if (this.current === null) this.#reconnecting("lost");
    this.#schedule();
  }

  /** Whether the connection that is there will not do for long. */
  #isDoubtful() {
    return this.#goesAway || this.current === null || this.options.clock() - this.current.heardAt > SUSPICION_MILLISECONDS;
  }

  /** Whether the session is well served where it is, whatever becomes of an attempt to move it. */
  #stays() {
    return this.isOpen && !this.#isDoubtful();
  }

  #schedule() {
    if (this.#attempt || this.#retryTimer.isRunning) return;
    const now = this.options.clock();
    if (this.#lostAt !== null && now - this.#lostAt > this.options.reconnectMillisecondsMax) {
      this.#finish(new SegueError("connect_failed", "The relay could not be reached again.", true));
      return;
    }
    this.#retryTimer.set(this.backoff.next(), () => {
      if (this.state !== "open" || this.#isDoubtful()) this.#begin();
    });
  }

  #clearAttempt() {
    this.#attemptTimer.clear();
    this.#attempt = null;
  }

  /** @param {Connection} connection @param {string | Uint8Array} data */
  #received(connection, data) {
    this.bytesIn += data.length;
    if (!connection.welcomed) {
      this.#answered(connection, data);
      return;
    }
    if (connection.held) {
      connection.held.push(data);
      if (connection.held.length >= HELD_MAX) this.#handOver(connection);
      return;
    }
    this.#take(connection, data);
  }

  /** @param {Connection} connection @param {string | Uint8Array} data */
  #take(connection, data) {
    const error = connection.reader.take(data);
    if (error === null || connection !== this.current) return;
    this.#teardown(error.closeCode, error.fault, error.fault, new SegueError("protocol", `The relay sent what is no frame: ${error.fault}`));
  }

  /** @param {Connection} connection @param {string | Uint8Array} data */
  #answered(connection, data) {
    const answer = this.#greeting.read(connection, data);
    if (answer?.welcome) this.#welcomed(connection, answer.welcome);
    else if (answer?.refusal) this.#refused(connection, answer.refusal);
    else if (answer) this.#finish(new SegueError("protocol", "The relay's answer to hello is no welcome."));
  }

  /** @param {Connection} connection @param {Record<string, any>} welcome */
  #welcomed(connection, welcome) {
    connection.welcomed = true;
    // Another attempt, begun later, was quicker: this one was replaced on the way.
    if ((this.current && connection.number < this.current.number) || this.state === "closed") {
      connection.close();
      return;
    }
    const resumed = connection.resumeToken !== null && isObject(welcome.resumed);
    const previous = this.current;
    this.current = connection;
    this.welcome = welcome;
    this.#others.delete(connection);
    if (this.#attempt === connection) this.#clearAttempt();
    this.#retryTimer.clear();
    this.#greeting.welcomed(welcome);
    this.limits = limitsFrom(welcome.limits, DEFAULT_LIMITS);
    connection.reader = new Reader(this.limits, this.owner, this.counts);
    if (this.state !== "connecting") this.reconnects += 1;
    this.#adoptedAt = this.options.clock();
    this.#lostAt = null;
    this.#goesAway = false;
    this.#others.letGoBefore(connection);
    this.owner.adopted(welcome, resumed);
    if (resumed && previous?.isLive && this.options.clock() - previous.heardAt < SUSPICION_MILLISECONDS) {
      connection.held = [];
      this.#others.keep(previous);
      previous.handOver = () => this.#handOver(connection);
      this.options.setTimer(previous.handOver, HAND_OVER_MILLISECONDS);
    } else {
      if (previous && previous.phase !== "ended") this.#others.letGo(previous);
      this.owner.caughtUp(welcome);
    }
    this.#setState("open", resumed ? "resumed" : "");
    this.#wanted.resolve(welcome);
  }

  /** The old connection is at its end, or has had its time. @param {Connection} connection the new one */
  #handOver(connection) {
    if (connection.held === null) return;
    const held = connection.held;
    connection.held = null;
    this.#others.letGoBefore(connection);
    if (this.current !== connection || this.state === "closed") return;
    this.owner.caughtUp(this.welcome);
    for (const data of held) this.#take(connection, data);
  }

  /** @param {Connection} connection @param {SegueError} error */
  #refused(connection, error) {
    if (this.#attempt !== connection) {
      this.#others.letGo(connection);
      return;
    }
    const verdict = this.#greeting.verdict(error);
    const stays = this.#stays();
    if (verdict === "anew" && !stays) {
      this.#greet(connection, false);
      return;
    }
    this.#clearAttempt();
    this.#others.letGo(connection);
    if (verdict === "never" && !stays) this.#finish(error);
    else this.#attemptFailed(error);
  }

  /** @param {Connection} connection @param {number} code @param {string} reason */
  #ended(connection, code, reason) {
    this.#others.delete(connection);
    connection.handOver?.();
    if (this.state === "closed") return;
    if (connection === this.#attempt) {
      const never = afterClose(code, reason) === "never" && !this.#stays();
      if (never) this.#finish(closedError(code, reason));
      else this.#attemptFailed(new SegueError("connect_failed", "No connection to the relay could be made.", true, { code, reason }));
      return;
    }
    if (connection !== this.current) return;
    this.current = null;
    if (this.options.clock() - this.#adoptedAt > STABLE_MILLISECONDS) this.backoff.reset();
    if (connection.held) this.#handOver(connection);
    this.#lost(code, reason);
  }

  /** @param {number} code @param {string} reason */
  #lost(code, reason) {
    const next = afterClose(code, reason);
    // A connection of ours has taken over, and its welcome is on the way.
    if (next === "replaced" && (this.#attempt || this.#others.awaitWelcome)) {
      this.#schedule();
      return;
    }
    if (next === "replaced" || next === "never") {
      this.#finish(closedError(code, reason));
      return;
    }
    if (next === "anew") this.#greeting.resumeToken = null;
    this.#reconnecting(next === "anew" ? `closed ${code}` : "lost");
    this.#schedule();
  }

  /** @param {string} reason */
  #reconnecting(reason) {
    if (this.#lostAt === null) this.#lostAt = this.options.clock();
    this.#setState("reconnecting", reason);
  }

  /** To be asked about once a second. @param {number} now */
  watch(now) {
    this.#others.letGoOfLate(now);
    if ((this.state !== "open" && this.state !== "reconnecting") || !this.current) return;
    const silence = now - this.current.heardAt;
    if (silence <= SUSPICION_MILLISECONDS) {
      // It speaks again, and nobody has taken over.
      if (this.state === "reconnecting" && !this.#goesAway) {
        this.#lostAt = null;
        this.#setState("open", "heard");
      }
      return;
    }
    if (silence > SILENCE_MILLISECONDS_MAX) this.#reconnecting("silent");
    if (!this.#attempt && !this.#retryTimer.isRunning) this.#begin();
  }

  /** @param {SegueError} error it does not go on */
  #finish(error) {
    this.#teardown(1000, "", error.message, error);
  }

  /** @param {number} code @param {string} reason @returns {Promise<void>} */
  close(code = 1000, reason = "") {
    if (this.state === "closed" || this.state === "idle") {
      this.state = "closed";
      return Promise.resolve();
    }
    const error = new SegueError("closed", "The client was closed.");
    const over = this.current?.whenEnded(this.options) ?? Promise.resolve();
    this.#teardown(code, reason, reason || "closed", error);
    return over;
  }

  /** @param {number} code @param {string} reason for the relay @param {string} why for who looks at the state @param {SegueError} error */
  #teardown(code, reason, why, error) {
    this.#retryTimer.clear();
    const connections = [this.current, this.#attempt, ...this.#others];
    this.#clearAttempt();
    this.#greeting.reset();
    this.current = null;
    // First of all: what is closed now is no loss.
    this.#setState("closed", why);
    for (const connection of connections) {
      if (!connection) continue;
      connection.deaf = true;
      connection.held = null;
      connection.close(code, reason);
    }
    this.#wanted.reject(error);
    this.owner.ended(error);
  }

  /** @param {string} state @param {string} reason */
  #setState(state, reason) {
    if (this.state === state) return;
    this.state = /** @type {any} */ (state);
    this.owner.state(state, reason);
  }
}
