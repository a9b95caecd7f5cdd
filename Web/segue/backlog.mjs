/**
 * How long the oldest byte that a WebSocket has not passed on has been waiting: the backlog in milliseconds of what was sent, whatever its rate.
 *
 * `bufferedAmount` alone says bytes: much for a voice, nothing for a picture. Which bytes those are is known by when each was sent.
 */

const MARKS_MAX = 512;

export class SendBacklog {
  /** @type {{end: number, at: number}[]} where each message ended, and when it was sent */
  #marks = [];
  #first = 0;
  #sent = 0;

  /** @param {number} bytes @param {number} now */
  sent(bytes, now) {
    this.#sent += bytes;
    const last = this.#marks[this.#marks.length - 1];
    // Beyond the bound messages share a mark: the newest time, so that none seems older than it is.
    if (this.#marks.length - this.#first >= MARKS_MAX && last) {
      last.end = this.#sent;
      last.at = now;
    } else {
      this.#marks.push({ end: this.#sent, at: now });
    }
  }

  /** @param {number} buffered the WebSocket's `bufferedAmount` @param {number} now @returns {number} milliseconds */
  milliseconds(buffered, now) {
    const gone = this.#sent - buffered;
    while (this.#first < this.#marks.length && this.#marks[this.#first].end <= gone) this.#first += 1;
    if (this.#first > 256 || this.#first === this.#marks.length) {
      this.#marks.splice(0, this.#first);
      this.#first = 0;
    }
    const oldest = this.#marks[this.#first];
    return oldest && buffered > 0 ? Math.max(0, now - oldest.at) : 0;
  }
}
