/**
 * A small line of one quantity's last minutes, in SVG made by script.
 */

import { setAttribute, svg } from "./dom.mjs";
import { sparklinePath } from "./sparkline-path.mjs";

const WIDTH = 120;
const HEIGHT = 28;

export class Sparkline {
  #line = svg("path", { class: "line", fill: "none" });
  #area = svg("path", { class: "area" });
  #capacity;
  #least;
  #name;
  #format;

  /**
   * @param {{name: string, format: (value: number) => string, capacity?: number, least?: number}} options `name`: what it shows, for who cannot see it;
   *   `least`: what the top stands for at least
   */
  constructor({ name, format, capacity = 150, least = 0 }) {
    this.#name = name;
    this.#format = format;
    this.#capacity = capacity;
    this.#least = least;
    this.node = svg(
      "svg",
      { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: nothing yet` },
      this.#area,
      this.#line,
    );
  }

  /** @param {import("./rates.mjs").Series} series */
  update(series) {
    const { line, area } = sparklinePath(series.values, { width: WIDTH, height: HEIGHT, capacity: this.#capacity, least: this.#least });
    setAttribute(this.#line, "d", line);
    setAttribute(this.#area, "d", area);
    const range = series.range;
    const text = range === null ? "nothing yet" : `now ${this.#format(series.last)}, between ${this.#format(range.least)} and ${this.#format(range.most)}`;
    setAttribute(this.node, "aria-label", `${this.#name}, the last five minutes: ${text}`);
  }
}
