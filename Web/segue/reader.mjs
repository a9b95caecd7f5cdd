/** Reads what comes over a connection that is welcome: control messages, and binary messages as the frames that they bring to an end. */

import { FrameAssembler } from "./assembler.mjs";
import { parseControl } from "./checks.mjs";

/** Behind a broken bundle or part nothing can be told from anything (protocol 4.6). A frame by itself hurts nobody: it is left out. */
const BREAKS_THE_CONNECTION = /^media_(part|bundle|frame_over)/;

export class Reader {
  #assembler;

  /**
   * @param {Record<string, number>} limits the relay's
   * @param {{control: (message: Record<string, any>) => void, frame: (frame: import("./frames.mjs").Frame) => void, malformed: (what: string) => void}} owner
   * @param {{bundles: number, parts: number}} counts what is counted up
   */
  constructor(limits, owner, counts) {
    this.#assembler = new FrameAssembler(limits, counts);
    this.owner = owner;
  }

  /** @param {string | Uint8Array} data one message @returns {import("./errors.mjs").FrameError | null} what the connection cannot go on after */
  take(data) {
    if (typeof data === "string") {
      const message = parseControl(data);
      if (message) this.owner.control(message);
      else this.owner.malformed("control");
      return null;
    }
    let frames;
    try {
      frames = this.#assembler.take(data);
    } catch (error) {
      this.owner.malformed(error.fault ?? "frame");
      return BREAKS_THE_CONNECTION.test(error.fault ?? "") ? error : null;
    }
    for (const frame of frames) this.owner.frame(frame);
    return null;
  }
}
