/** Asks the relay for its time (protocol 3.3): often at first, every few seconds then, which also tells both that the other is there. */

import { ServerClock } from "./clock.mjs";
import { Timer } from "./timer.mjs";

const FIRST = 8;
const FIRST_MILLISECONDS = 250;
const LATER_MILLISECONDS = 5_000;

export class TimeExchange {
  clock = new ServerClock();
  #node = null;
  #asked = 0;
  #timer;

  /**
   * @param {{clock: () => number, setTimer: Function, clearTimer: Function}} options
   * @param {(members: Record<string, any>) => Promise<Record<string, any>>} ask
   */
  constructor(options, ask) {
    this.options = options;
    this.ask = ask;
    this.#timer = new Timer(options);
  }

  /** Over a connection that is new. @param {Record<string, any>} welcome @param {boolean} resumed */
  begin(welcome, resumed) {
    this.stop();
    // A relay that was started again has another clock, be its name the same.
    if (!resumed || welcome.node !== this.#node) this.clock.reset();
    this.#node = welcome.node;
    this.clock.guess(welcome.serverTime, this.options.clock());
    this.clock.last = null;
    this.#asked = 0;
    this.#ask();
  }

  stop() {
    this.#timer.clear();
  }

  #ask() {
    const clientTime = this.options.clock();
    const { last } = this.clock;
    this.ask(last ? { clientTime, last } : { clientTime }).then(
      (answer) => {
        if (answer.clientTime === clientTime) this.clock.add(clientTime, answer.serverTime, this.options.clock());
      },
      // A connection that is lost has no answer.
      () => {},
    );
    this.#asked += 1;
    this.#timer.set(this.#asked < FIRST ? FIRST_MILLISECONDS : LATER_MILLISECONDS, () => this.#ask());
  }

  /** @param {number} local @returns {number} */
  serverTime(local) {
    const offset = this.clock.offsetMilliseconds;
    return offset === null ? Date.now() + (local - this.options.clock()) : local + offset;
  }
}
