/**
 * Asks before something happens to people: what it does, to whom, and whether. Escape and the button that has the focus say no.
 */

import { element } from "./dom.mjs";

/**
 * @param {{title: string, text: string, action: string, perform: () => Promise<void>}} options `action`: the word on the button that does it
 * @returns {Promise<boolean>} whether it was done. A failure is told in the dialog, which stays until it is closed.
 */
export function confirm({ title, text, action, perform }) {
  return new Promise((resolve) => {
    let done = false;
    const fault = element("p", { class: "fault", role: "alert" });
    const no = element("button", { type: "button", autofocus: true, on: { click: () => dialog.close() } }, "Cancel");
    const yes = element("button", { type: "button", class: "danger", "data-test": "confirm", on: { click: () => run() } }, action);
    const dialog = element(
      "dialog",
      { "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text", on: { close: () => (dialog.remove(), resolve(done)) } },
      element("h2", { id: "confirm-title" }, title),
      element("p", { id: "confirm-text" }, text),
      fault,
      element("div", { class: "buttons" }, no, yes),
    );
    const run = async () => {
      yes.disabled = true;
      fault.textContent = "";
      try {
        await perform();
        done = true;
        dialog.close();
      } catch (error) {
        yes.disabled = false;
        fault.textContent = error.status === 404 ? "It is not there any more." : error.message;
      }
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}
