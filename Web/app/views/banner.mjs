// The line above the stage: what is wrong with the call as a whole, and what to do.

import { h, icon, setText, show } from "../dom.mjs";

/** After so long a reconnection is said to take long, milliseconds. */
const longMilliseconds = 8000;

/** @param {any} app */
export function bannerView(app) {
  const { strings } = app;
  const sign = h("span.sign");
  const text = h("span.text");
  const act = h("button.secondary", { type: "button", dataset: { test: "banner-act" } });
  const element = h("div.banner", { role: "status", dataset: { test: "banner" }, hidden: true }, sign, text, act);
  let action = () => {};
  let kind = "";
  act.addEventListener("click", () => action());

  /** @param {any} state @returns {{kind: string, icon: any, text: string, label?: string, act?: () => void}|null} */
  function which(state) {
    const { connection, self } = state;
    if (connection.state === "reconnecting") {
      const long = performance.now() - connection.since > longMilliseconds;
      return { kind: "reconnecting", icon: "reconnecting", text: long ? strings.banner.reconnectingLong : strings.banner.reconnecting };
    }
    if (state.soundBlocked) {
      return { kind: "sound", icon: "headphones", text: strings.call.sound, label: strings.call.enableSound, act: () => void app.call.unblockSound() };
    }
    if (self.held) return { kind: "held", icon: "hold", text: strings.banner.held, label: strings.banner.resume, act: () => void app.call.resumeHere() };
    if (self.paused) {
      return { kind: "paused", icon: "headphones", text: strings.banner.paused, label: strings.banner.continue, act: () => void app.call.playOn() };
    }
    if (connection.draining) return { kind: "draining", icon: "warning", text: strings.banner.draining };
    if (connection.congested) return { kind: "congested", icon: "details", text: strings.banner.congested };
    return null;
  }

  return {
    element,
    /** @param {any} state */
    update(state) {
      const now = which(state);
      show(element, now !== null);
      element.dataset.kind = now?.kind ?? "";
      if (!now) {
        kind = "";
        return;
      }
      if (kind !== now.kind) sign.replaceChildren(icon(now.icon));
      kind = now.kind;
      setText(text, now.text);
      action = now.act ?? (() => {});
      show(act, Boolean(now.act));
      setText(act, now.label ?? "");
    },
  };
}
