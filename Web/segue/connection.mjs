/** One WebSocket to the relay, from its opening to its end. It decides nothing: `link.mjs` does. */

/**
 * @typedef {object} ConnectionHandlers
 * @property {(connection: Connection) => void} opened
 * @property {(connection: Connection, data: string | Uint8Array) => void} message
 * @property {(connection: Connection, code: number, reason: string) => void} ended
 */

export const SUBPROTOCOL = "segue.v1";
export const NO_CLOSE_FRAME = 1006;

const CLOSE_MILLISECONDS_MAX = 2_000;

/**
 * What to do when the relay has ended a session's connection (protocol 8.2).
 *
 * @param {number} code @param {string} reason
 * @returns {"resume"|"anew"|"replaced"|"never"} go on with the session, which is kept; connect for another one; look whether one of our own connections
 *   has taken over; stay away: the same client would fail the same way, or somebody means it
 */
export function afterClose(code, reason) {
  if (code === NO_CLOSE_FRAME) return "resume";
  if (code === 1000 && reason === "replaced") return "replaced";
  return [1000, 1002, 1003, 1005, 1007, 1008, 1009].includes(code) ? "never" : "anew";
}

/** Scripts may close with 1000 and 3000 to 4999 alone; the relay's own codes have their place above 4000. @param {number} code @returns {number} */
export function sendableCode(code) {
  return code === 1000 || (code >= 3000 && code <= 4999) ? code : 4000 + (Math.abs(code) % 1000);
}

export class Connection {
  /** @type {"opening"|"open"|"ended"} */ phase = "opening";
  /** The `id` of the `hello` that waits for its answer; null when none does. @type {number | null} */ helloId = null;
  /** The token that the `hello` resumes with. @type {string | null} */ resumeToken = null;
  /** A `welcome` came. */ welcomed = false;
  /** Not read any more. */ deaf = false;
  /** What came and may not be looked at yet. @type {(string | Uint8Array)[] | null} */ held = null;
  /** To be told of its end, when another waits for it. @type {(() => void) | null} */ handOver = null;
  /** Reads what comes once it is welcome. @type {import("./reader.mjs").Reader | null} */ reader = null;
  /** When something came last, by the client's clock. */ heardAt = 0;

  /**
   * @param {number} number the later connection has the higher one
   * @param {{url: string, WebSocket: any, clock: () => number}} options
   * @param {ConnectionHandlers} handlers
   */
  constructor(number, { url, WebSocket, clock }, handlers) {
    this.number = number;
    this.heardAt = clock();
    this.socket = new WebSocket(url, [SUBPROTOCOL]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      if (this.phase !== "opening") return;
      this.phase = "open";
      this.heardAt = clock();
      handlers.opened(this);
    };
    this.socket.onmessage = (event) => {
      if (this.phase !== "open") return;
      this.heardAt = clock();
      if (this.deaf) return;
      handlers.message(this, typeof event.data === "string" ? event.data : new Uint8Array(event.data));
    };
    this.socket.onclose = (event) => this.#end(handlers, event?.code ?? NO_CLOSE_FRAME, String(event?.reason ?? ""));
    // What goes wrong is told by `close`, which follows.
    this.socket.onerror = () => {};
  }

  /** @param {ConnectionHandlers} handlers @param {number} code @param {string} reason */
  #end(handlers, code, reason) {
    if (this.phase === "ended") return;
    this.phase = "ended";
    handlers.ended(this, code, reason);
  }

  get isLive() {
    return this.phase === "open" && this.welcomed && this.socket.readyState === 1;
  }

  get bufferedAmount() {
    return this.socket.bufferedAmount || 0;
  }

  /** @param {string | Uint8Array} data @returns {boolean} */
  send(data) {
    if (this.phase !== "open" || this.socket.readyState !== 1) return false;
    this.socket.send(data);
    return true;
  }

  /** Closes with a close frame, which ends the session that lives here. @param {number} code @param {string} reason */
  close(code = 1000, reason = "") {
    if (this.phase === "ended") return;
    try {
      this.socket.close(sendableCode(code), reason.slice(0, 100));
    } catch {
      this.socket.close();
    }
  }

  /** @param {{setTimer: Function, clearTimer: Function}} options @returns {Promise<void>} at its end, or when the relay takes too long over it */
  whenEnded({ setTimer, clearTimer }) {
    if (this.phase === "ended") return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimer(resolve, CLOSE_MILLISECONDS_MAX);
      this.handOver = () => {
        clearTimer(timer);
        resolve();
      };
    });
  }
}
