/**
 * Numbers at a glance, each with its name and maybe its last minutes.
 */

import { element, setAttribute, setText } from "./dom.mjs";
import { Sparkline } from "./sparkline.mjs";

export class Tile {
  #value = element("dd", { class: "value" });
  #note = element("dd", { class: "note" });
  #sparkline = null;

  /** @param {{name: string, format?: (value: number) => string, spark?: boolean, least?: number, test: string}} options */
  constructor({ name, format = String, spark = false, least = 0, test }) {
    const children = [element("dt", {}, name), this.#value, this.#note];
    if (spark) {
      this.#sparkline = new Sparkline({ name, format, least });
      children.push(element("dd", { class: "spark" }, this.#sparkline.node));
    }
    this.node = element("div", { class: "tile", "data-test": `tile-${test}` }, ...children);
  }

  /** @param {string} value @param {{note?: string, series?: import("./rates.mjs").Series, level?: string}} more */
  update(value, { note = "", series, level = "neutral" } = {}) {
    setText(this.#value, value);
    setText(this.#note, note);
    setAttribute(this.node, "data-level", level);
    if (series) this.#sparkline?.update(series);
  }
}

/** Several of them, as a list of names and values. */
export function tiles(...members) {
  return element("dl", { class: "tiles" }, ...members.map((tile) => tile.node));
}
