/** Passes media on to the connection that there is, and knows how far behind that is. */

import { SendBacklog } from "./backlog.mjs";
import { encodeFrame } from "./frames.mjs";

export class MediaSender {
  frames = 0;
  #backlog = new SendBacklog();

  /** @param {import("./link.mjs").Link} link @param {() => number} clock */
  constructor(link, clock) {
    this.link = link;
    this.clock = clock;
  }

  /** How long the oldest byte that waits has been waiting. @returns {number} */
  get backlogMilliseconds() {
    return this.#backlog.milliseconds(this.link.bufferedAmount, this.clock());
  }

  /** @param {Uint8Array} bytes a whole frame @returns {boolean} */
  send(bytes) {
    if (!this.link.send(bytes)) return false;
    this.#backlog.sent(bytes.byteLength, this.clock());
    this.frames += 1;
    return true;
  }

  /** @param {any} frame @returns {boolean} */
  sendFrame(frame) {
    return this.send(frame instanceof Uint8Array ? frame : encodeFrame(frame));
  }

  /** Another connection: nothing waits there. */
  reset() {
    this.#backlog = new SendBacklog();
  }
}
