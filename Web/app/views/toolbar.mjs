// The bar below the stage. On a phone what does not fit is in the menu "More".

import { h, icon, iconButton, roving, setAttribute, setText, show } from "../dom.mjs";
import { meterShare } from "../quality.mjs";
import { roomTitle } from "../route.mjs";
import { switchIcon } from "./switches.mjs";

/** @param {any} app */
export function toolbarView(app) {
  const words = app.strings.call;
  const control = (/** @type {any} */ name, /** @type {string} */ label, /** @type {string} */ test, /** @type {() => void} */ onclick, kind = "control") =>
    iconButton({ icon: name, label, test, kind, onclick });
  const mute = control("microphone", words.microphoneOn, "mute", () => void app.own.toggleMute());
  const level = h("span.ring", { "aria-hidden": "true" });
  mute.append(level);
  const camera = control("camera", words.cameraOn, "camera", () => void app.own.toggleCamera());
  const screen = control("screen", words.screenOff, "screen", () => void app.own.toggleScreen());
  const leave = control("leave", words.leave, "leave", () => void app.call.leave(), "control.danger");
  const view = control("speaker", words.speaker, "view", () => app.toggleView());
  const people = control("people", words.people, "people", () => app.togglePanel("people"));
  const chat = control("chat", words.chat, "chat", () => app.togglePanel("chat"));
  const badge = h("span.badge", { "aria-hidden": "true" });
  chat.append(badge);
  const waiting = h("span.badge", { "aria-hidden": "true" });
  people.append(waiting);
  const details = control("details", words.details, "details", () => app.togglePanel("details"));
  const settings = control("settings", words.settings, "settings", () => app.openDialog("settings"));
  const help = control("help", words.help, "help", () => app.openDialog("help"));
  const more = control("more", words.more, "more", () => {});
  const waitingMore = h("span.badge", { "aria-hidden": "true" });
  more.append(waitingMore);
  const menu = menuView(app, more);
  const title = h("p.room");
  const bar = h("div.toolbar", { role: "toolbar", "aria-label": words.toolbar },
    h("div.group.info", {}, title),
    h("div.group.main", {}, mute, camera, screen, leave),
    h("div.group.side", {}, view, people, chat, details, settings, help, more));
  const refresh = roving(bar, "button");
  for (const wide of [view, people, details, settings, help]) wide.classList.add("wide");
  for (const [button, panel] of [[people, "people"], [chat, "chat"], [details, "details"]]) setAttribute(button, "data-panel", panel);

  return {
    element: h("footer.bottom", {}, bar, menu.element),
    /** @param {any} state */
    update(state) {
      const room = app.call.client?.room;
      const publishes = room?.role === "host" || room?.role === "speaker" || !room;
      const { self } = state;
      setText(title, roomTitle(state.room ?? "", state.peer));
      const hasMicrophone = app.devices.microphone !== null;
      switchIcon(
        mute,
        {
          on: hasMicrophone && !self.muted, icons: ["microphone", "microphoneOff"],
          labels: [words.microphoneOn, hasMicrophone ? words.microphoneOff : words.microphoneNone],
        },
      );
      switchIcon(camera, { on: self.camera && app.devices.camera !== null, icons: ["camera", "cameraOff"], labels: [words.cameraOn, words.cameraOff] });
      switchIcon(screen, { on: !self.screen, icons: ["screen", "screenOff"], labels: [words.screenOff, words.screenOn] });
      switchIcon(view, { on: state.view === "grid", icons: ["speaker", "grid"], labels: [words.speaker, words.grid] });
      for (const own of [mute, camera]) show(own, publishes);
      show(screen, publishes && app.canShareScreen);
      for (const button of [people, chat, details]) setAttribute(button, "aria-expanded", String(state.panel === button.dataset.panel));
      const { unread } = state.chat;
      show(badge, unread > 0);
      setText(badge, unread > 99 ? "99+" : String(unread));
      setAttribute(chat, "aria-label", unread > 0 ? app.strings.chat.unread(unread) : words.chat);
      for (const one of [waiting, waitingMore]) {
        show(one, state.lobby.length > 0);
        setText(one, String(state.lobby.length));
      }
      menu.update(state);
      refresh();
    },
    /** @param {number|null} decibels of the microphone, dBov */
    level(decibels) {
      level.style.opacity = String(app.store.state.self.muted ? 0 : meterShare(decibels));
    },
  };
}

/** @param {any} app @param {any} button that opens it */
function menuView(app, button) {
  const words = app.strings.call;
  const item = (/** @type {any} */ name, /** @type {string} */ label, /** @type {string} */ test, /** @type {() => void} */ act) =>
    h("button.item", { type: "button", role: "menuitem", tabindex: "-1", dataset: { test: `menu-${test}` }, onclick: () => choose(act) },
      icon(name), h("span.text", {}, label));
  const choose = (/** @type {() => void} */ act) => {
    element.hidePopover?.();
    act();
  };
  const view = item("speaker", words.speaker, "view", () => app.toggleView());
  const element = h("div.menu", { id: "more-menu", popover: "auto", role: "menu", "aria-label": words.more },
    view, item("people", words.people, "people", () => app.togglePanel("people")), item("details", words.details, "details", () => app.togglePanel("details")),
    item("settings", words.settings, "settings", () => app.openDialog("settings")), item("help", words.help, "help", () => app.openDialog("help")),
    item("link", words.copyLink, "copy-link", () => void app.copyLink()));
  const refresh = roving(element, "button");
  button.setAttribute("popovertarget", "more-menu");
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  element.addEventListener("toggle", (/** @type {any} */ event) => {
    const open = event.newState === "open";
    setAttribute(button, "aria-expanded", String(open));
    setAttribute(element, "data-open", open);
    if (!open) return;
    refresh();
    element.querySelector("button")?.focus();
  });
  return {
    element,
    /** @param {any} state */
    update(state) {
      switchIcon(view, { on: state.view === "grid", icons: ["speaker", "grid"], labels: [words.speaker, words.grid] });
    },
  };
}
