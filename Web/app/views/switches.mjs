// Buttons that are on or off, and say which.

import { icon, setAttribute, setText } from "../dom.mjs";

/**
 * Gives a button the icon and the label of what it is. The label says what a press does, so there is no `aria-pressed` that would say it twice.
 * @param {any} button @param {{on: boolean, icons: [any, any], labels: [string, string]}} what icons and labels for on and for off
 */
export function switchIcon(button, { on, icons, labels }) {
  const name = on ? icons[0] : icons[1];
  if (button.dataset.icon !== name) {
    button.dataset.icon = name;
    button.querySelector("svg")?.replaceWith(icon(name));
  }
  const label = on ? labels[0] : labels[1];
  const span = button.querySelector("span.text");
  if (span) setText(span, label);
  setAttribute(button, "aria-label", label);
  setAttribute(button, "title", label);
  setAttribute(button, "data-on", String(on));
}
