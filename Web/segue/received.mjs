/**
 * What has come of each stream, to resume behind it (protocol 3.18), and to know what comes twice over a connection that replaces another: a frame is known by
 * stream, layer and sequence.
 */

import { serialDistance } from "./frames.mjs";

/** No more streams than fit a control message. */
const STREAMS_MAX = 700;
/** Farther behind than any replay reaches it is another numbering, not a duplicate. */
const REPLAY_MAX = 1 << 16;

/** @typedef {{layer: number, sequence: number, timestamp: number, sequences: (number|undefined)[]}} Last */

export class Received {
  /** @type {Map<number, Last>} by stream */
  #streams = new Map();
  /** Sequence numbers up to which frames are duplicates, by stream and layer, while a connection repeats. @type {Map<number, number>} */
  #marks = new Map();

  duplicates = 0;

  /**
   * @param {import("./frames.mjs").Frame} frame a media frame, not a configuration
   * @returns {boolean} whether it is new
   */
  take(frame) {
    if (this.#marks.size > 0 && this.#isDuplicate(frame)) {
      this.duplicates += 1;
      return false;
    }
    let last = this.#streams.get(frame.stream);
    if (!last) {
      last = { layer: 0, sequence: 0, timestamp: 0, sequences: [] };
      this.#streams.set(frame.stream, last);
    }
    last.layer = frame.spatial;
    last.sequence = frame.sequence;
    last.timestamp = frame.timestamp;
    last.sequences[frame.spatial] = frame.sequence;
    return true;
  }

  /** @param {import("./frames.mjs").Frame} frame */
  #isDuplicate(frame) {
    const key = frame.stream * 16 + frame.spatial;
    const mark = this.#marks.get(key);
    if (mark === undefined) return false;
    const behind = serialDistance(mark, frame.sequence);
    if (behind >= 0 && behind < REPLAY_MAX) return true;
    this.#marks.delete(key);
    return false;
  }

  /** From here on another connection speaks, which may repeat what has come. */
  mark() {
    for (const [stream, last] of this.#streams) {
      for (let layer = 0; layer < last.sequences.length; layer += 1) {
        const sequence = last.sequences[layer];
        if (sequence !== undefined) this.#marks.set(stream * 16 + layer, sequence);
      }
    }
  }

  /** @param {number} stream has ended, or is not subscribed to any more */
  forget(stream) {
    this.#streams.delete(stream);
    if (this.#marks.size > 0) for (let layer = 0; layer < 16; layer += 1) this.#marks.delete(stream * 16 + layer);
  }

  /** Another session has other numbers. */
  clear() {
    this.#streams.clear();
    this.#marks.clear();
  }

  /**
   * @param {(stream: number) => boolean} isSubscribed
   * @returns {{stream: number, sequence: number, timestamp: number, layer?: number}[]} the `received` of a `resume`
   */
  list(isSubscribed = () => true) {
    const list = [];
    for (const [stream, { layer, sequence, timestamp }] of this.#streams) {
      if (list.length >= STREAMS_MAX || !isSubscribed(stream) || layer > 7) continue;
      list.push(layer === 0 ? { stream, sequence, timestamp } : { stream, sequence, timestamp, layer });
    }
    return list;
  }
}
