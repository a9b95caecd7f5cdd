// Modal dialogs: shortcuts, devices, and "are you sure". The browser's own <dialog> keeps the focus inside and gives it back.

import { h, iconButton } from "../dom.mjs";
import { shortcuts } from "../shortcuts.mjs";
import { devicePickers } from "./pickers.mjs";

/** @param {string} title @param {string} close @param {...any} children */
function modal(title, close, ...children) {
  const id = `dialog-${Math.random().toString(36).slice(2)}`;
  const dialog = h("dialog.dialog", { "aria-labelledby": id }, h("div.head", {}, h("h2", { id }, title),
    iconButton({ icon: "close", label: close, test: "dialog-close", onclick: () => dialog.close() })), ...children);
  // A press beside the dialog closes it.
  dialog.addEventListener("click", (/** @type {Event} */ event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** @param {any} app */
export function helpDialog(app) {
  const words = app.strings.help;
  const rows = shortcuts.map(({ key, label }) => [h("dt", {}, h("kbd", {}, key === "Escape" ? "Esc" : key)), h("dd", {}, label)]);
  return modal(words.title, words.close, h("dl.keys", {}, rows), h("p.hint", {}, words.hint));
}

/** @param {any} app */
export function settingsDialog(app) {
  const words = app.strings.settings;
  const pickers = devicePickers(app, { prefix: "settings" });
  void app.own.refresh();
  pickers.update(app.store.state);
  const stop = app.store.subscribe((/** @type {any} */ state) => pickers.update(state));
  const dialog = modal(words.title, app.strings.help.close, pickers.element,
    h("div.row.end", {}, h("button.primary", { type: "button", dataset: { test: "settings-done" }, onclick: () => dialog.close() }, words.done)));
  dialog.addEventListener("close", stop);
  return dialog;
}

/**
 * Asks before something that can not be taken back.
 * @param {any} app @param {{title: string, text: string, act: string}} what @returns {Promise<boolean>}
 */
export function confirmDialog(app, { title, text, act }) {
  return new Promise((resolve) => {
    let sure = false;
    const dialog = modal(title, app.strings.help.close, h("p", {}, text), h("div.row.end", {},
      h("button.secondary", { type: "button", autofocus: true, dataset: { test: "cancel" }, onclick: () => dialog.close() }, app.strings.people.cancel),
      h("button.danger", { type: "button", dataset: { test: "confirm" }, onclick: () => { sure = true; dialog.close(); } }, act)));
    dialog.addEventListener("close", () => resolve(sure));
  });
}
