/** The client's audio session (protocol 3.19): what the system does to its sound is told to the relay, and what the relay decides is known here. */

import { isObject } from "./checks.mjs";

/** The platform's numbers of the options, to be added up. */
export const OPTIONS = Object.freeze({
  mixWithOthers: 1,
  duckOthers: 2,
  allowBluetooth: 4,
  defaultToSpeaker: 8,
  interruptSpokenAudioAndMixWithOthers: 17,
  allowBluetoothA2DP: 32,
  allowAirPlay: 64,
  overrideMutedMicrophoneInterruption: 128,
});

/** `AVAudioSession.RouteChangeReason`. */
export const ROUTE_CHANGE = Object.freeze({
  unknown: 0,
  newDeviceAvailable: 1,
  oldDeviceUnavailable: 2,
  categoryChange: 3,
  override: 4,
  wakeFromSleep: 6,
  noSuitableRouteForCategory: 7,
  routeConfigurationChange: 8,
});

export class AudioSession extends EventTarget {
  /** `none` before `init`: nothing is restricted then. @type {"none"|"uninitialised"|"inactive"|"active"|"interrupted"} */ state = "none";
  category = "playAndRecord";
  mode = "default";
  options = 0;
  /** What goes to us stands still by our own wish. */ paused = false;
  /** What our output takes, once a route is told. @type {Record<string, any> | null} */ format = null;
  /** Other sound is to be lowered by so many decibels; 0: not. */ duckDecibels = 0;

  /** What was wished, to be wished again of another session. */
  #wish = { initialised: false, category: null, active: null, route: null, interrupted: null };

  /** While everything is said again. @type {Promise<unknown> | null} */ #restoring = null;

  /** @param {(type: string, members: Record<string, any>) => Promise<Record<string, any>>} request */
  constructor(request) {
    super();
    this.request = request;
  }

  /** Whether media may flow as far as this is concerned. */
  get flows() {
    return this.state === "none" || this.state === "active";
  }

  /** @param {string} type @param {Record<string, any>} members */
  async #ask(type, members = {}) {
    const answer = await this.request(type, members);
    this.update(answer.session);
    return answer;
  }

  /** @returns {Promise<Record<string, any>>} media stands still from here until it is active */
  init() {
    this.#wish.initialised = true;
    return this.#ask("session.init");
  }

  /** @param {string} category @param {{mode?: string, options?: number}} [options] */
  setCategory(category, { mode = "default", options = 0 } = {}) {
    this.#wish.category = { category, mode, options };
    return this.#ask("session.setCategory", { category, mode, options });
  }

  /** @param {boolean} active @param {{background?: boolean, priority?: number, notifyOthersOnDeactivation?: boolean, force?: boolean}} [options] */
  setActive(active, options = {}) {
    this.#wish.active = active ? options : null;
    return this.#ask("session.setActive", { active, ...options });
  }

  /** The device took the audio. @param {string} [reason] */
  interruptionBegan(reason = "default") {
    this.#wish.interrupted = reason;
    // At once: media that is sent half a second from now ends the interruption for the relay (protocol 3.19).
    if (this.state === "active") {
      this.state = "interrupted";
      this.#changed();
    }
    return this.#ask("interruption.began", { reason });
  }

  /** @param {{shouldResume?: boolean}} [options] */
  interruptionEnded({ shouldResume = true } = {}) {
    this.#wish.interrupted = null;
    if (!shouldResume) this.#wish.active = null;
    return this.#ask("interruption.ended", { shouldResume });
  }

  /** @param {number} reason one of {@link ROUTE_CHANGE} @param {{inputs: object[], outputs: object[]}} [route] @param {{sharesNames?: boolean}} [options] */
  routeChanged(reason, route = undefined, { sharesNames = false } = {}) {
    const members = { reason, ...(route ? { route } : {}), ...(sharesNames ? { sharesNames } : {}) };
    if (route) this.#wish.route = { ...members, reason: ROUTE_CHANGE.unknown };
    return this.#ask("route.changed", members);
  }

  pause() {
    return this.#ask("playback.pause");
  }

  continue() {
    return this.#ask("playback.continue");
  }

  /** @param {unknown} session as the relay says it @returns {boolean} whether it is active now, and was not */
  update(session) {
    if (!isObject(session)) return false;
    const before = this.state;
    if (["uninitialised", "inactive", "active", "interrupted"].includes(session.state)) this.state = session.state;
    if (typeof session.category === "string") this.category = session.category;
    if (typeof session.mode === "string") this.mode = session.mode;
    if (Number.isInteger(session.options)) this.options = session.options;
    this.paused = session.paused === true;
    this.format = isObject(session.format) ? session.format : null;
    if (before !== this.state) this.#changed();
    return this.state === "active" && before !== "active";
  }

  #changed() {
    this.dispatchEvent(new CustomEvent("state", { detail: { state: this.state } }));
  }

  /** @param {Record<string, any>} event of the relay's @returns {boolean} whether the session has just become active */
  take(event) {
    const before = this.state;
    if (event.type === "interruption.began") this.state = "interrupted";
    else if (event.type === "interruption.ended") this.state = event.shouldResume === true || event.cause === "activated" ? "active" : "inactive";
    else if (event.type === "session.changed") this.update(event.session);
    else if (event.type === "mediaServices.wereLost" && before !== "none") this.state = "uninitialised";
    else if (event.type === "duck.began" || event.type === "duck.ended") this.duckDecibels = Number.isFinite(event.gainDecibels) ? event.gainDecibels : 0;
    if (["interruption.ended", "session.changed"].includes(event.type) && event.cause !== "activated" && this.state === "inactive") this.#wish.active = null;
    if (before !== this.state && event.type !== "session.changed") this.#changed();
    return this.state === "active" && before !== "active";
  }

  /**
   * The relay has lost what it knew, or there is another session: says everything again. All is sent at once; requests behind it need not wait.
   *
   * @returns {Promise<unknown>} never rejects
   */
  restore() {
    if (!this.#wish.initialised) return Promise.resolve();
    if (this.#restoring) return this.#restoring;
    this.state = "uninitialised";
    const requests = [this.#ask("session.init")];
    if (this.#wish.category) requests.push(this.#ask("session.setCategory", this.#wish.category));
    if (this.#wish.route) requests.push(this.#ask("route.changed", this.#wish.route));
    if (this.#wish.active) requests.push(this.#ask("session.setActive", { active: true, ...this.#wish.active }));
    if (this.#wish.active && this.#wish.interrupted) requests.push(this.#ask("interruption.began", { reason: this.#wish.interrupted }));
    this.#restoring = Promise.allSettled(requests).finally(() => {
      this.#restoring = null;
    });
    return this.#restoring;
  }
}
