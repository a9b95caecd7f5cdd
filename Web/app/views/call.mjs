// The call's screen: banner, stage, panel at the side, toolbar.

import { h, iconButton, setAttribute, setText, show } from "../dom.mjs";
import { roomTitle } from "../route.mjs";
import { bannerView } from "./banner.mjs";
import { chatView } from "./chat.mjs";
import { detailsView } from "./details.mjs";
import { peopleView } from "./people.mjs";
import { stageView } from "./stage.mjs";
import { toolbarView } from "./toolbar.mjs";

/** @param {any} app */
export function callView(app) {
  const { strings } = app;
  const banner = bannerView(app);
  const stage = stageView(app);
  const toolbar = toolbarView(app);
  const panels = { chat: chatView(app), people: peopleView(app), details: detailsView(app) };
  const heading = h("h2", { id: "panel-title", tabindex: "-1" });
  const body = h("div.body", { role: "region", "aria-labelledby": "panel-title", tabindex: "0" });
  const title = h("h1.heard");
  const side = h("aside.panel", { "aria-labelledby": "panel-title", hidden: true, dataset: { test: "panel" } },
    h("div.head", {}, heading, iconButton({ icon: "close", label: strings.call.closePanel, test: "panel-close", onclick: () => app.togglePanel(null) })), body);
  const element = h("main.screen.call", {}, title, banner.element, h("div.middle", {}, stage.element, side), toolbar.element);
  /** @type {keyof typeof panels|null} */
  let open = null;
  /** @type {HTMLElement|null} */
  let opener = null;

  /** Where the focus goes when a panel closes that a key opened. @param {string|null} panel */
  function buttonOf(panel) {
    return /** @type {HTMLElement|null} */ (toolbar.element.querySelector(`button[data-panel="${panel}"]`));
  }

  /** @param {any} state */
  function showPanel(state) {
    const panel = /** @type {keyof typeof panels|null} */ (state.panel);
    if (panel !== open) {
      if (open === null) opener = document.activeElement === document.body ? buttonOf(panel) : /** @type {HTMLElement|null} */ (document.activeElement);
      open = panel;
      show(side, panel !== null);
      setAttribute(side, "data-panel", panel);
      setAttribute(document.body, "data-panel", panel);
      if (panel) {
        setText(heading, strings.call.panels[panel]);
        setAttribute(body, "tabindex", panel === "chat" ? "-1" : "0");
        body.replaceChildren(panels[panel].element);
        panels[panel].update(state);
        if (panel === "chat") panels.chat.focus();
        else heading.focus();
      } else if (opener?.isConnected) {
        opener.focus();
      }
    }
    if (panel) panels[panel].update(state);
  }

  return {
    element,
    /** @param {any} state */
    update(state) {
      setText(title, strings.call.title(roomTitle(state.room ?? "", state.peer)));
      banner.update(state);
      showPanel(state);
      stage.update(state);
      toolbar.update(state);
    },
    levels: () => toolbar.level(app.call.engine?.microphoneLevel ?? null),
    close() {
      stage.close();
      setAttribute(document.body, "data-panel", null);
    },
  };
}
