// The page's beginning: wires the parts, follows the address, shows the screen of the phase.

import { Announcer } from "./announcer.mjs";
import { Call } from "./call.mjs";
import { Choices, Devices } from "./devices.mjs";
import { h } from "./dom.mjs";
import { loadMedia } from "./capabilities.mjs";
import { messageFor } from "./messages.mjs";
import { playTestSound } from "./meter.mjs";
import { Monitor } from "./monitor.mjs";
import { OwnMedia } from "./own-media.mjs";
import { Pairing } from "./pairing.mjs";
import { fragmentOf, parseRoute, roomTitle } from "./route.mjs";
import { commandFor, takesText } from "./shortcuts.mjs";
import { createStore, initialState, reduce } from "./state.mjs";
import { strings } from "./strings.mjs";
import { callView } from "./views/call.mjs";
import { confirmDialog, helpDialog, settingsDialog } from "./views/dialogs.mjs";
import { prejoinView } from "./views/prejoin.mjs";
import { listeningView, overView, waitingView } from "./views/screens.mjs";
import { startView } from "./views/start.mjs";
import { SegueClient } from "/segue/segue.mjs";

/** @type {Record<string, (app: any) => any>} */
const screens = {
  start: startView, prejoin: prejoinView, joining: prejoinView, waiting: waitingView, call: callView, listening: listeningView,
  over: overView,
};

const tokenKey = "segue.token";

/** A storage that may be forbidden. @param {"localStorage"|"sessionStorage"} name @returns {Storage|null} */
function storage(name) {
  try {
    return globalThis[name];
  } catch {
    return null;
  }
}

export class App {
  constructor() {
    this.strings = strings;
    this.store = createStore(reduce, initialState());
    this.announcer = new Announcer();
    this.choices = new Choices(storage("localStorage"));
    this.devices = new Devices(navigator.mediaDevices, this.choices);
    const announce = (/** @type {string} */ text, /** @type {any} */ options) => this.announcer.say(text, options);
    this.own = new OwnMedia({ store: this.store, devices: this.devices, choices: this.choices, announce, strings });
    /** @type {any} */
    this.media = null;
    this.call = new Call({
      store: this.store, own: this.own, announce, strings, phone: () => matchMedia("(max-width: 640px)").matches,
      makeClient: (token) => new SegueClient({
        url: new URL("/v1/session", location.href), client: { name: "segue-web", version: "1" }, wishes: { bundles: { delayMilliseconds: 5 } },
        ...(token ? { token } : {}),
      }),
      makeEngine: (client) => new this.media.MediaEngine(client, { profile: "balanced" }),
    });
    this.pairing = new Pairing({ store: this.store, call: this.call, strings, onPair: ({ room, peer }) => this.chooseRoom({ name: "room", room }, peer) });
    /** @type {Monitor|null} */
    this.monitor = null;
    this.canShareScreen = typeof navigator.mediaDevices?.getDisplayMedia === "function";
    this.frame = h("div.frame");
    /** @type {any} */
    this.screen = null;
    this.phase = "";
    /** @type {string|null} the room of the token, since a token is not shown in another one by accident */
    this.tokenRoom = null;
    this.lastName = "";
    if (this.choices.text("view") === "speaker") this.store.dispatch({ type: "view", view: "speaker" });
  }

  /** @param {HTMLElement} place */
  async begin(place) {
    place.replaceChildren(this.frame, this.announcer.element);
    this.store.subscribe((state) => this.render(state));
    addEventListener("hashchange", () => this.follow());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("pagehide", (event) => { if (!event.persisted) this.call.depart(); });
    navigator.mediaDevices?.addEventListener?.("devicechange", () => void this.own.refresh());
    this.render(this.store.state);
    const { media, capabilities } = await loadMedia();
    this.media = media;
    this.store.dispatch({ type: "capabilities", capabilities });
    this.store.dispatch({ type: "devices", devices: { outputSelection: Boolean(capabilities.outputSelection) } });
    this.follow();
  }

  /** Goes where the address says. A token is taken out of it at once: it must not stay in the history or be copied along. */
  follow() {
    const route = parseRoute(location.hash);
    if (route.name === "room") {
      if (route.token) this.keepToken(route.token, route.room);
      if (location.hash !== fragmentOf(route.room)) history.replaceState(null, "", fragmentOf(route.room));
      if (route.originalSound) this.devices.original = true;
      if (route.displayName && !this.choices.text("name")) this.choices.set("name", route.displayName);
      if (this.store.state.room !== route.room || this.store.state.phase === "start") this.openRoom(route);
      return;
    }
    if (this.store.state.phase === "call" || this.store.state.phase === "waiting") void this.call.leave();
    this.own.release();
    this.store.dispatch({ type: "start", notice: route.name === "unknown" ? strings.start.unknownLink : null });
  }

  /** In memory, and for a reload in the tab's own storage, which ends with the tab. @param {string} token @param {string} room */
  keepToken(token, room) {
    this.call.token = token;
    try {
      storage("sessionStorage")?.setItem(tokenKey, JSON.stringify({ token, room }));
    } catch {
      // Without it a reload asks for the link again.
    }
  }

  /** @param {string} room */
  recallToken(room) {
    try {
      const kept = JSON.parse(storage("sessionStorage")?.getItem(tokenKey) ?? "null");
      if (kept?.room === room && typeof kept.token === "string") this.call.token ??= kept.token;
    } catch {
      // Nothing was kept.
    }
  }

  /** @param {any} route @param {string|null} [peer] */
  chooseRoom(route, peer = null) {
    if (route.token) this.keepToken(route.token, route.room);
    this.peer = peer;
    if (location.hash === fragmentOf(route.room)) this.openRoom(route);
    else location.hash = fragmentOf(route.room);
  }

  /** @param {any} route */
  openRoom(route) {
    if (this.call.client && this.store.state.phase === "call") void this.call.leave();
    this.recallToken(route.room);
    this.store.dispatch({ type: "choose", room: route.room, peer: route.room.startsWith("pair:") ? this.peer ?? null : null, role: route.role ?? null });
    if (!this.store.state.capabilities?.listenOnly) void this.own.begin();
  }

  /** @param {string} displayName */
  async join(displayName) {
    const { room, role, capabilities } = this.store.state;
    this.lastName = displayName;
    if (!room) return;
    if (capabilities?.listenOnly) await this.listen(room);
    else await this.call.join({ room, displayName, role });
  }

  /** The room's mix by the browser's own player, where there is neither WebCodecs nor a worklet. @param {string} room */
  async listen(room) {
    this.store.dispatch({ type: "joining" });
    try {
      const headers = { "content-type": "application/json", ...(this.call.token ? { authorization: `Bearer ${this.call.token}` } : {}) };
      const answer = await fetch("/v1/listen", { method: "POST", headers, body: JSON.stringify({ room }) });
      if (!answer.ok) {
        throw Object.assign(
          new Error((await answer.json().catch(() => null))?.detail ?? ""),
          { code: answer.status === 401 ? "unauthenticated" : answer.status === 403 ? "not_allowed" : "internal" },
        );
      }
      this.store.dispatch({ type: "listening", url: (await answer.json()).url });
    } catch (error) {
      this.store.dispatch({ type: "over", message: messageFor(error instanceof TypeError ? { code: "unreachable" } : /** @type {any} */ (error)) });
    }
  }

  stopListening() {
    this.store.dispatch({ type: "over", message: messageFor({ code: "left" }) });
  }

  /** From the last screen back to the one before joining. */
  again() {
    const { room, peer, role } = this.store.state;
    if (!room) return this.toStart();
    this.store.dispatch({ type: "choose", room, peer, role });
    if (!this.store.state.capabilities?.listenOnly) void this.own.begin();
  }

  toStart() {
    if (location.hash === "#/" || location.hash === "") this.follow();
    else location.hash = "#/";
  }

  toggleView() {
    const view = this.store.state.view === "grid" ? "speaker" : "grid";
    this.choices.set("view", view);
    this.store.dispatch({ type: "view", view });
    this.announcer.say(view === "grid" ? strings.announce.grid : strings.announce.speakerView, { seen: false });
  }

  /** @param {"chat"|"people"|"details"|null} panel */
  togglePanel(panel) {
    this.store.dispatch({ type: "panel", panel });
  }

  /** @param {"help"|"settings"} name */
  openDialog(name) {
    if (document.querySelector("dialog[open]")) return;
    (name === "help" ? helpDialog : settingsDialog)(this);
  }

  /** @param {{title: string, text: string, act: string}} what */
  confirm(what) {
    return confirmDialog(this, what);
  }

  /** The room's link, without a token: who has none of their own is not let in by accident. */
  async copyLink() {
    const link = `${location.origin}${location.pathname}${fragmentOf(this.store.state.room ?? "")}`;
    try {
      await navigator.clipboard.writeText(link);
      this.announcer.say(strings.call.copied);
    } catch {
      this.announcer.say(link);
    }
  }

  async testSound() {
    await playTestSound(this.choices.text("output")).catch(() => {});
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.store.state.phase !== "call") return;
    const command = commandFor(
      event,
      { typing: takesText(/** @type {any} */ (document.activeElement)), dialog: document.querySelector("dialog[open], .menu[data-open]") !== null },
    );
    if (!command) return;
    /** @type {Record<string, () => void>} */
    const acts = {
      mute: () => void this.own.toggleMute(), camera: () => void this.own.toggleCamera(),
      screen: () => { if (this.canShareScreen) void this.own.toggleScreen(); },
      chat: () => this.togglePanel("chat"), people: () => this.togglePanel("people"), details: () => this.togglePanel("details"), view: () => this.toggleView(),
      help: () => this.openDialog("help"), escape: () => this.togglePanel(null),
    };
    if (command === "escape" && this.store.state.panel === null) return;
    event.preventDefault();
    acts[command]();
  }

  /** @param {any} state */
  render(state) {
    const same = this.screen && screens[state.phase] === screens[this.phase];
    this.phase = state.phase;
    if (!same) {
      this.screen?.close?.();
      this.screen = screens[state.phase](this);
      this.frame.replaceChildren(...(state.phase === "call" ? [] : [brand()]), this.screen.element);
      document.body.dataset.phase = state.phase;
      this.watch(state.phase === "call");
      this.screen.update(state);
      this.frame.querySelector("[data-focus]")?.focus({ preventScroll: true });
    } else {
      this.screen.update(state);
    }
    document.title = state.room && state.phase !== "start" ? `${roomTitle(state.room)} – ${strings.product}` : strings.product;
  }

  /** @param {boolean} on */
  watch(on) {
    this.monitor?.close();
    const onLook = () => {
      this.call.touch();
      this.call.wishLayers();
    };
    this.monitor = on ? new Monitor({ call: this.call, onLook, onLevels: () => this.screen?.levels?.() }) : null;
  }
}

function brand() {
  return h("header.brand", {}, h("a", { href: "#/" }, h("span.mark", { "aria-hidden": "true" }), strings.product));
}

const app = new App();
/** For benches and embedders. */
/** @type {any} */ (globalThis).segue = {
  app,
  get client() { return app.call.client; },
  get media() { return app.call.engine; },
};
void app.begin(/** @type {HTMLElement} */ (document.getElementById("app")));
