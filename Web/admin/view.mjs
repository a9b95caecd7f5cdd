/**
 * What the views of rooms and sessions have in common: they ask while they are shown, tell of failures, and keep what they showed last.
 */

import { element, setText } from "./dom.mjs";
import { duration, plural } from "./format.mjs";
import { Pages } from "./paging.mjs";
import { Refresher } from "./refresher.mjs";

export class DetailView {
  #fault = element("p", { class: "fault", role: "alert", hidden: true });
  #refresher;
  /** @type {HTMLElement} what subclasses fill */
  content = element("div", { hidden: true });
  node = element("div", {}, this.#fault, this.content);

  /** @param {(signal: AbortSignal) => Promise<object>} load @param {{gone?: string}} texts `gone`: what a 404 means here */
  constructor(load, { gone = "It is not there any more." } = {}) {
    this.#refresher = new Refresher({
      load,
      page: document,
      show: (answer) => {
        this.#fault.hidden = true;
        this.content.hidden = false;
        this.show(answer);
      },
      fail: (error, retryMilliseconds) => this.#tell(error, retryMilliseconds, gone),
    });
  }

  /** Takes an answer of `load`. */
  show(_answer) {
    throw new Error("a view must show what it asked for");
  }

  start() {
    this.#refresher.start();
  }

  stop() {
    this.#refresher.stop();
  }

  refresh() {
    this.#refresher.refresh();
  }

  overview() {}

  #tell(error, retryMilliseconds, gone) {
    const text = error.status === 403 ? "The relay refuses: you are no administrator here." : error.status === 404 ? gone : error.message;
    const when = retryMilliseconds === null ? "" : ` Trying again in ${duration(Math.max(1000, retryMilliseconds))}.`;
    setText(this.#fault, text + when);
    this.#fault.hidden = false;
    if (retryMilliseconds === null) this.content.hidden = true;
  }
}

/** The buttons below a list that comes in parts, and where one is in it. */
export class Pager {
  pages = new Pages();
  #previous;
  #next;
  #where = element("span", { "aria-live": "polite" });

  /** @param {string} what of what, for who cannot see it: `rooms` @param {() => void} turned the part has changed */
  constructor(what, turned) {
    const turn = (step) => {
      this.pages = step();
      turned();
    };
    this.#previous = element("button", { type: "button", on: { click: () => turn(() => this.pages.back()) } }, `Previous ${what}`);
    this.#next = element("button", { type: "button", on: { click: () => turn(() => this.pages.forward()) } }, `More ${what}`);
    this.node = element("nav", { class: "pager", "aria-label": `Parts of the list of ${what}`, hidden: true }, this.#previous, this.#where, this.#next);
  }

  /** Takes `next` of the answer that is shown. @param {number} shown rows */
  answered(next, shown) {
    this.pages = this.pages.answered(next);
    this.node.hidden = !this.pages.hasNext && !this.pages.hasPrevious;
    this.#previous.disabled = !this.pages.hasPrevious;
    this.#next.disabled = !this.pages.hasNext;
    setText(this.#where, `Part ${this.pages.number}, ${plural(shown, "entry", "entries")}; sorted within this part`);
  }
}

/** Names and what they are; what is not known is left out. */
export class Facts {
  #rows = new Map();
  node = element("dl", { class: "facts" });

  /** @param {Array<[string, string|null, string?]>} facts name, value, tooltip */
  update(facts) {
    const seen = new Set();
    for (const [name, value, title] of facts) {
      if (value === null || value === undefined) continue;
      seen.add(name);
      let row = this.#rows.get(name);
      if (!row) {
        row = element("dd");
        this.#rows.set(name, row);
        this.node.append(element("div", {}, element("dt", {}, name), row));
      }
      setText(row, value);
      if (title) row.title = title;
    }
    for (const [name, row] of this.#rows) row.parentElement.hidden = !seen.has(name);
  }
}
