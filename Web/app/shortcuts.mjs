// Single keys that do something in a call. Pure.

/** @typedef {"mute"|"camera"|"screen"|"chat"|"people"|"view"|"details"|"help"|"escape"} Command */

/** What the help dialog lists, in its order. @type {Array<{key: string, command: Command, label: string}>} */
export const shortcuts = [
  { key: "m", command: "mute", label: "Mute or unmute the microphone" },
  { key: "v", command: "camera", label: "Camera on or off" },
  { key: "s", command: "screen", label: "Share the screen, or stop" },
  { key: "c", command: "chat", label: "Open or close the chat" },
  { key: "p", command: "people", label: "Open or close the list of people" },
  { key: "g", command: "view", label: "Grid or speaker view" },
  { key: "d", command: "details", label: "Connection details" },
  { key: "?", command: "help", label: "This help" },
  { key: "Escape", command: "escape", label: "Close the panel" },
];

/**
 * What a key press means. Nothing with a modifier (it is the browser's or the system's), nothing while somebody types, nothing in an open dialog, and no
 * repeats: a key held down must not mute and unmute.
 * @param {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, repeat?: boolean, isComposing?: boolean, defaultPrevented?: boolean}} event
 * @param {{typing: boolean, dialog: boolean}} context
 * @returns {Command|null}
 */
export function commandFor(event, { typing, dialog }) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || event.defaultPrevented || dialog) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = shortcuts.find((shortcut) => shortcut.key === key)?.command ?? null;
  if (typing && found !== "escape") return null;
  return found;
}

/** Whether an element takes text, so that letters are not commands. @param {{tagName?: string, type?: string, isContentEditable?: boolean}|null} element */
export function takesText(element) {
  if (!element) return false;
  if (element.isContentEditable) return true;
  const tag = (element.tagName ?? "").toUpperCase();
  if (tag === "TEXTAREA" || tag === "SELECT") return true;
  return tag === "INPUT" && !["button", "checkbox", "radio", "range", "submit"].includes(element.type ?? "text");
}
