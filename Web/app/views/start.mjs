// The first screen: name a room, or pair two devices by a code.

import { h, icon, setText, show } from "../dom.mjs";
import { formatCode, parseRoomInput } from "../route.mjs";

/** @param {any} app */
export function startView(app) {
  const { strings } = app;
  const words = strings.start;
  const notice = h("p.notice", { role: "status" });
  const roomError = h("p.error", { id: "room-error", role: "alert" });
  const room = h("input", { id: "room", name: "room", autocomplete: "off", autocapitalize: "none", spellcheck: "false", placeholder: words.roomPlaceholder,
    "aria-describedby": "room-hint room-error", dataset: { test: "room" } });
  const roomForm = h("form.card", { onsubmit: submitRoom, novalidate: true },
    h("label.label", { for: "room" }, words.roomLabel),
    h("div.row", {}, room, h("button.primary", { type: "submit", dataset: { test: "continue" } }, words.go)),
    h("p.hint", { id: "room-hint" }, words.roomHint), roomError);
  const pair = pairCard(app);
  const element = h("main.screen.start", {},
    h("div.hero", {}, h("h1", { tabindex: "-1", dataset: { focus: "" } }, words.title), h("p.lead", {}, words.lead), notice),
    roomForm, pair.element);

  /** @param {Event} event */
  function submitRoom(event) {
    event.preventDefault();
    const route = parseRoomInput(room.value);
    setText(roomError, route ? "" : words.roomWrong);
    room.setAttribute("aria-invalid", route ? "false" : "true");
    if (!route) room.focus();
    else app.chooseRoom(route);
  }

  return {
    element,
    /** @param {any} state */
    update(state) {
      setText(notice, state.notice ?? "");
      show(notice, Boolean(state.notice));
      pair.update(state);
    },
    close: pair.close,
  };
}

/** @param {any} app */
function pairCard(app) {
  const words = app.strings.start;
  const code = h("input.code", { id: "code", name: "code", autocomplete: "one-time-code", autocapitalize: "characters", spellcheck: "false", maxlength: "16",
    placeholder: words.codePlaceholder, "aria-describedby": "pair-error", dataset: { test: "code" } });
  const error = h("p.error", { id: "pair-error", role: "alert" });
  const enter = h("button.secondary", { type: "submit", dataset: { test: "pair-enter" } }, words.enter);
  const show_ = h(
    "button.secondary", { type: "button", dataset: { test: "pair-show" }, onclick: () => void app.pairing.show() }, icon("link"),
    h("span", {}, words.showCode),
  );
  const digits = h("output.digits", { dataset: { test: "pair-code" } });
  const left = h("p.hint", {});
  const shown = h("div.shown", { hidden: true }, digits, h("p", {}, words.codeShown), h("p.hint", {}, words.codeWaiting), left);
  const element = h("section.card", { "aria-labelledby": "pair-title" },
    h("h2", { id: "pair-title" }, words.pairTitle), h("p.hint", {}, words.pairLead),
    h("form", { onsubmit: submit, novalidate: true }, h("label.label", { for: "code" }, words.codeLabel), h("div.row", {}, code, enter)),
    error, show_, shown);
  let expires = 0;
  const timer = setInterval(tick, 1000);

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    void app.pairing.enter(code.value);
  }

  function tick() {
    if (expires === 0) return;
    const seconds = Math.max(0, Math.ceil((expires - Date.now()) / 1000));
    setText(left, words.codeExpires(seconds));
    if (seconds === 0) app.pairing.expired();
  }

  return {
    element,
    /** @param {any} state */
    update({ pairing }) {
      show(shown, pairing.code !== null);
      if (pairing.code !== null) {
        setText(digits, formatCode(pairing.code));
        digits.setAttribute("aria-label", [...pairing.code].join(" "));
      }
      setText(error, pairing.error ?? "");
      expires = pairing.code === null ? 0 : pairing.expires;
      enter.disabled = pairing.busy;
      show_.disabled = pairing.busy;
      tick();
    },
    close: () => clearInterval(timer),
  };
}
