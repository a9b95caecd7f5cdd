/** What can go wrong, as programs see it. */

/**
 * A request that was refused, or that cannot be made.
 *
 * `code` is one of the protocol's error codes (protocol 3.11), or one of the library's own:
 *
 * - `not_connected`: there is no connection, and none is being made;
 * - `connection_lost`: the connection went before the answer came; whether the request was done is not known;
 * - `connect_failed`: no connection could be made (a browser does not say why);
 * - `connect_timeout`: the relay did not answer in time;
 * - `closed`: the client was closed, or the relay has ended the session for good;
 * - `requests_max`: too many requests wait for an answer;
 * - `ended`: the publication has ended;
 * - `protocol`: the relay's answer is not what the protocol says.
 */
export class SegueError extends Error {
  /**
   * @param {string} code
   * @param {string} message a sentence for people
   * @param {boolean} retry whether the same may succeed later
   * @param {Record<string, unknown>} [details] the answer as it came
   */
  constructor(code, message, retry = false, details = undefined) {
    super(message);
    this.name = "SegueError";
    this.code = code;
    this.retry = retry;
    this.details = details;
  }
}

/** @param {number} code @param {string} reason @returns {SegueError} the relay has ended the session for good */
export function closedError(code, reason) {
  return new SegueError("closed", `The relay closed with ${code} ${reason}`, false, { code, reason });
}

/** A media frame that breaks the rules of protocol 4.5: `fault` is the rule's name there, `closeCode` the code that goes with it. */
export class FrameError extends Error {
  /**
   * @param {string} fault
   * @param {number} closeCode 1002, 1003 or 1009
   */
  constructor(fault, closeCode = 1002) {
    super(fault);
    this.name = "FrameError";
    this.fault = fault;
    this.closeCode = closeCode;
  }
}
