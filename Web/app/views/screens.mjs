// Screens with a sentence and a button or two: waiting in the lobby, listening by <audio>, and the end.

import { h, setText, show } from "../dom.mjs";
import { roomTitle } from "../route.mjs";

/** @param {any} app */
export function waitingView(app) {
  const words = app.strings.waiting;
  const room = h("p.lead");
  return {
    element: h("main.screen.plain", { dataset: { screen: "waiting" } }, h("div.card.center", {},
      h("div.pulse", { "aria-hidden": "true" }), h("h1", { tabindex: "-1", dataset: { focus: "" } }, words.title), room, h("p", {}, words.text),
      h("button.secondary", { type: "button", dataset: { test: "leave" }, onclick: () => void app.call.leave() }, words.leave))),
    /** @param {any} state */
    update: (state) => setText(room, roomTitle(state.room ?? "", state.peer)),
  };
}

/** @param {any} app */
export function listeningView(app) {
  const words = app.strings.listening;
  const title = h("h1", { tabindex: "-1", dataset: { focus: "" } });
  const ended = h("p.problem", { role: "alert", hidden: true }, words.ended);
  const audio = h("audio", { controls: true, autoplay: true, dataset: { test: "listen" }, onended: () => show(ended, true), onerror: () => show(ended, true) });
  return {
    element: h("main.screen.plain", { dataset: { screen: "listening" } }, h("div.card.center", {},
      title, h("p", {}, words.text), audio, ended,
      h("div.row.end", {}, h("button.secondary", { type: "button", dataset: { test: "leave" }, onclick: () => app.stopListening() }, words.stop)))),
    /** @param {any} state */
    update(state) {
      setText(title, words.title(roomTitle(state.room ?? "", state.peer)));
      if (state.listenURL && audio.getAttribute("src") !== state.listenURL) {
        show(ended, false);
        audio.setAttribute("src", state.listenURL);
      }
    },
    close() {
      audio.pause();
      audio.removeAttribute("src");
      audio.load();
    },
  };
}

/** @param {any} app */
export function overView(app) {
  const words = app.strings.over;
  const title = h("h1", { tabindex: "-1", dataset: { focus: "", test: "over-title" } });
  const text = h("p", { dataset: { test: "over-text" } });
  const detail = h("p.hint");
  const again = h("button.primary", { type: "button", dataset: { test: "rejoin" }, onclick: () => app.again() });
  return {
    element: h("main.screen.plain", { dataset: { screen: "over" } }, h("div.card.center", {}, title, text, detail,
      h("div.row.end", {}, again, h("button.secondary", { type: "button", dataset: { test: "start" }, onclick: () => app.toStart() }, words.start)))),
    /** @param {any} state */
    update({ over }) {
      if (!over) return;
      setText(title, over.title);
      setText(text, over.text);
      setText(detail, over.detail ?? "");
      show(detail, Boolean(over.detail));
      setText(again, over.way === "retry" ? words.retry : words.rejoin);
      show(again, over.way === "retry" || over.way === "rejoin" || over.way === "stay");
    },
  };
}
