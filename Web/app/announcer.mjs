// Says things: to screen readers in a polite live region, to everybody else as a note that goes by itself.

import { h } from "./dom.mjs";

/** How long a note stays, milliseconds. */
const noteMilliseconds = 5000;

/** Notes on the screen at once; older ones go. */
const notesMax = 3;

export class Announcer {
  constructor() {
    this.region = h("div.heard", { role: "status", "aria-live": "polite", dataset: { test: "announcements" } });
    this.notes = h("div.notes-stack", { "aria-hidden": "true" });
    this.element = h("div", {}, this.region, this.notes);
  }

  /** @param {string} text @param {{seen?: boolean}} [options] `seen: false`: what the screen shows anyway is only spoken */
  say(text, { seen = true } = {}) {
    const line = h("p", {}, text);
    this.region.append(line);
    while (this.region.childElementCount > notesMax) this.region.firstElementChild?.remove();
    setTimeout(() => line.remove(), noteMilliseconds * 2);
    if (!seen) return;
    const note = h("p.note", {}, h("span", {}, text));
    this.notes.append(note);
    while (this.notes.childElementCount > notesMax) this.notes.firstElementChild?.remove();
    setTimeout(() => note.remove(), noteMilliseconds);
  }
}
