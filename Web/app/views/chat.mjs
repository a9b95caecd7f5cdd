// The chat panel.

import { h, icon, setText, show } from "../dom.mjs";

/** Messages of the same person within this time stand under one name, milliseconds. */
const groupMilliseconds = 120_000;

/** @param {any} app */
export function chatView(app) {
  const words = app.strings.chat;
  const list = h("ol");
  const log = h("div.log", { role: "log", "aria-label": words.log, tabindex: "0", dataset: { test: "chat-log" } }, list);
  const empty = h("p.hint.empty", {}, words.empty);
  const error = h("p.error", { role: "alert" });
  const input = h(
    "textarea",
    {
      id: "chat-text", rows: "1", maxlength: "2000", placeholder: words.placeholder, "aria-label": words.label,
      dataset: { test: "chat-text" }, onkeydown: keys, oninput: grow,
    },
  );
  const form = h(
    "form.compose", { onsubmit: submit }, input,
    h("button.primary.round", { type: "submit", "aria-label": words.send, title: words.send, dataset: { test: "chat-send" } }, icon("send")),
  );
  let drawn = 0;
  /** @type {any} */
  let last = null;

  /** @param {KeyboardEvent} event */
  function keys(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  }

  function grow() {
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, 120)}px`;
  }

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const text = input.value;
    if (await app.call.sendMessage(text)) {
      if (input.value === text) input.value = "";
      grow();
    }
  }

  /** @param {any} message */
  function lineOf(message) {
    const grouped = last && last.participant === message.participant && message.at - last.at < groupMilliseconds;
    const time = new Date(message.at);
    last = message;
    return h(`li.message${message.mine ? ".mine" : ""}${grouped ? ".grouped" : ""}`, 
      { dataset: { test: "chat-message", participant: String(message.participant) } },
      grouped ? null : h("div.who", {}, h("b", {}, message.mine ? app.strings.tile.you : message.name), " ",
        h("time", { datetime: time.toISOString() }, time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }))),
      h("p.text", { dir: "auto" }, message.text));
  }

  return {
    element: h("div.chat", {}, empty, log, error, form),
    /** @param {any} state */
    update({ chat }) {
      const fresh = chat.messages.filter((/** @type {any} */ message) => message.id > drawn);
      if (fresh.length > 0) {
        const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
        list.append(...fresh.map(lineOf));
        while (list.childElementCount > chat.messages.length) list.firstElementChild?.remove();
        drawn = fresh.at(-1).id;
        if (atEnd || fresh.at(-1).mine) log.scrollTop = log.scrollHeight;
      }
      show(empty, chat.messages.length === 0);
      setText(error, chat.failed ?? "");
      show(error, Boolean(chat.failed));
    },
    focus: () => input.focus(),
  };
}
