// One participant's picture, name and state.

import { h, icon, setAttribute, setText, show } from "../dom.mjs";
import { hueOf, initials, stateWords } from "../people.mjs";
import { barsOf } from "../quality.mjs";

/** @param {any} app @param {import("../people.mjs").Tile} first */
export function tileView(app, first) {
  const { strings } = app;
  const { source } = first;
  const mine = first.person.me;
  const picture = mine ? h(`video.picture${source === "camera" ? ".mirrored" : ""}`, { autoplay: true, muted: true, playsinline: true, "aria-hidden": "true" })
    : h("canvas.picture", { width: "2", height: "2", "aria-hidden": "true" });
  const avatar = h("div.avatar", { "aria-hidden": "true" });
  const veilText = h("span");
  const veil = h("div.veil", {}, icon("hold"), veilText);
  const spinner = h("div.veil.lost", {}, icon("reconnecting"), h("span", {}, strings.states.reconnecting));
  const name = h("span.name");
  const muted = h("span.sign.muted", {}, icon("microphoneOff"));
  const bluetooth = h("span.sign", { title: strings.states.bluetooth }, icon("bluetooth"));
  const host = h("span.sign", { title: strings.states.host }, icon("host"));
  const bars = h("span.bars", { "aria-hidden": "true" }, h("i"), h("i"), h("i"), h("i"));
  const quality = h("button.quality", { type: "button", tabindex: "-1", dataset: { test: "tile-quality" }, onclick: openDetails }, bars);
  const pin = h("button.pin", { type: "button", tabindex: "-1", dataset: { test: "pin" }, onclick: togglePin }, icon("pin"));
  const element = h("div.tile", {
    role: "group", tabindex: "-1", dataset: { test: "tile", participant: String(first.person.id), source, key: first.key },
    onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === "Enter" && event.target === element) togglePin(event); },
    ondblclick: togglePin,
  }, picture, avatar, veil, spinner, h("div.plate", {}, muted, bluetooth, host, name), h("div.corner", {}, pin, quality));
  element.dataset.hue = String(hueOf(first.person.verified || first.person.name));
  let tile = first;
  /** @type {number|null} */
  let attached = null;

  /** @param {Event} event */
  function openDetails(event) {
    event.stopPropagation();
    app.store.dispatch({ type: "panel", panel: "details", of: tile.person.id });
  }

  /** @param {Event} event */
  function togglePin(event) {
    event.stopPropagation();
    app.store.dispatch({ type: "pin", key: tile.key });
  }

  /** @param {boolean} shown whether the tile is in the page */
  function attach(shown) {
    if (mine) {
      const track = source === "screen" ? app.devices.screen : app.store.state.self.camera ? app.devices.camera : null;
      const video = /** @type {HTMLVideoElement} */ (picture);
      if ((/** @type {any} */ (video.srcObject)?.getVideoTracks()[0] ?? null) !== track) video.srcObject = track ? new MediaStream([track]) : null;
      return track !== null;
    }
    const wanted = shown ? tile.stream : null;
    if (wanted !== attached) {
      const { engine } = app.call;
      if (attached !== null) engine?.attach(attached, null);
      if (wanted !== null) engine?.attach(wanted, picture);
      attached = wanted;
    }
    return tile.stream !== null;
  }

  return {
    element,
    /** @param {import("../people.mjs").Tile} now @param {{speaking: Set<number>, pinned: string|null, judgement?: {grade: any, reasons: string[]}}} what */
    update(now, { speaking, pinned, judgement }) {
      tile = now;
      const { person } = now;
      const words = source === "screen" ? [] : stateWords(person, speaking);
      setAttribute(element, "data-state", words.join(" "));
      const hasPicture = attach(true) && !person.mutedByHost.includes("video");
      show(picture, hasPicture);
      show(avatar, !hasPicture);
      setText(avatar, initials(person.name));
      const title = source === "screen" ? strings.tile.screenOf(mine ? strings.tile.you : person.name) : mine ? strings.tile.yours(person.name) : person.name;
      setText(name, title);
      setAttribute(name, "title", strings.people.verified(person.verified));
      show(veil, words.includes("held"));
      setText(veilText, strings.held[person.heldReason] ?? strings.held.default);
      show(spinner, words.includes("reconnecting"));
      show(muted, words.includes("muted"));
      show(bluetooth, words.includes("bluetooth"));
      show(host, person.role === "host" && source === "camera");
      const spoken = words.map((word) => strings.states[word === "muted" && person.mutedByHost.includes("audio") ? "mutedByHost" : word]);
      const grade = judgement?.grade ?? "unknown";
      setAttribute(element, "aria-label", [title, person.role === "host" && source === "camera" ? strings.states.host : null, ...spoken].filter(Boolean).join(", "));
      show(quality, !mine && source === "camera");
      setAttribute(quality, "data-grade", grade);
      setAttribute(quality, "data-bars", String(barsOf(grade)));
      setAttribute(quality, "aria-label", strings.tile.quality(person.name, strings.quality.grades[grade]));
      setAttribute(quality, "title", strings.quality.title[grade]);
      const isPinned = pinned === now.key;
      setAttribute(pin, "aria-pressed", String(isPinned));
      setAttribute(pin, "aria-label", isPinned ? strings.tile.unpin(title) : strings.tile.pin(title));
      setAttribute(pin, "title", isPinned ? strings.tile.unpin(title) : strings.tile.pin(title));
    },
    /** The tile is on another page: nothing is drawn for it. */
    detach: () => attach(false),
    close: () => attach(false),
  };
}
