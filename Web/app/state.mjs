// The page's own state and how it changes. Pure: what the room is, the client library knows; this is what the person sees of it and has chosen.

/** Messages kept of a chat. */
export const chatMessagesMax = 500;

/** @typedef {"start"|"prejoin"|"joining"|"waiting"|"call"|"listening"|"over"} Phase */
/** @typedef {{id: number, participant: number, name: string, text: string, at: number, mine: boolean}} ChatMessage */
/** @typedef {{title: string, text: string, way: string, detail?: string|null}} Message */

/** What the page is at when it opens. */
export function initialState() {
  return {
    phase: /** @type {Phase} */ ("start"), room: /** @type {string|null} */ (null), peer: /** @type {string|null} */ (null),
    role: /** @type {string|null} */ (null),
    notice: /** @type {string|null} */ (null), over: /** @type {Message|null} */ (null),
    pairing: { code: /** @type {string|null} */ (null), expires: 0, busy: false, error: /** @type {string|null} */ (null) },
    self: {
      muted: false, camera: true, screen: false, microphoneProblem: /** @type {string|null} */ (null),
      cameraProblem: /** @type {string|null} */ (null), held: false, paused: false,
    },
    devices: { microphones: /** @type {any[]} */ ([]), cameras: /** @type {any[]} */ ([]), speakers: /** @type {any[]} */ ([]), outputSelection: false },
    capabilities: /** @type {any} */ (null),
    view: /** @type {"grid"|"speaker"} */ ("grid"), page: 0, pinned: /** @type {string|null} */ (null), mainKey: /** @type {string|null} */ (null),
    panel: /** @type {"chat"|"people"|"details"|null} */ (null), detailsOf: /** @type {number|null} */ (null),
    connection: { state: "idle", since: 0, congested: false, draining: false },
    lobby: /** @type {Array<{participant: number, name: string}>} */ ([]),
    chat: { messages: /** @type {ChatMessage[]} */ ([]), unread: 0, nextId: 1, failed: /** @type {string|null} */ (null) },
    soundBlocked: false, listenURL: /** @type {string|null} */ (null), version: 0,
  };
}

/** @typedef {ReturnType<typeof initialState>} State */

/** @type {Record<string, (state: State, action: any) => State>} */
const reducers = {
  notice: (state, { text }) => ({ ...state, notice: text }),
  choose: (state, { room, peer = null, role = null }) => ({ ...state, phase: "prejoin", room, peer, role, notice: null, over: null }),
  start: (state, { notice = null }) => ({
    ...initialState(), devices: state.devices, capabilities: state.capabilities, view: state.view, self: { ...initialState().self }, notice,
  }),
  joining: (state) => ({ ...state, phase: "joining", over: null, notice: null }),
  role: (state, { role }) => ({ ...state, role }),
  waiting: (state) => ({ ...state, phase: "waiting" }),
  joined: (state) => ({ ...state, phase: "call", panel: null, lobby: [], chat: { ...initialState().chat }, page: 0, pinned: null, mainKey: null }),
  listening: (state, { url }) => ({ ...state, phase: "listening", listenURL: url }),
  over: (state, { message }) => ({
    ...state, phase: "over", over: message, panel: null, lobby: [], soundBlocked: false, listenURL: null,
    self: { ...state.self, screen: false, held: false, paused: false },
    connection: { ...initialState().connection },
  }),
  pairing: (state, {
    code = state.pairing.code, expires = state.pairing.expires, busy = false, error = null,
  }) => ({ ...state, pairing: { code, expires, busy, error } }),
  self: (state, { change }) => ({ ...state, self: { ...state.self, ...change } }),
  devices: (state, { devices }) => ({ ...state, devices: { ...state.devices, ...devices } }),
  capabilities: (state, { capabilities }) => ({ ...state, capabilities }),
  view: (state, { view }) => ({ ...state, view, page: 0 }),
  page: (state, { page }) => ({ ...state, page: Math.max(0, page) }),
  pin: (state, { key }) => (state.pinned === key ? { ...state, pinned: null } : { ...state, pinned: key, view: "speaker" }),
  main: (state, { key }) => (state.mainKey === key ? state : { ...state, mainKey: key }),
  panel: (state, { panel, of = null }) => {
    const open = state.panel === panel && (of === null || of === state.detailsOf) ? null : panel;
    return { ...state, panel: open, detailsOf: open === "details" ? of : null, chat: open === "chat" ? { ...state.chat, unread: 0 } : state.chat };
  },
  connection: (state, { change }) => ({ ...state, connection: { ...state.connection, ...change } }),
  lobby: (state, { waiting }) => ({ ...state, lobby: waiting }),
  message: (state, { message }) => ({
    ...state,
    chat: {
      ...state.chat, failed: null, nextId: state.chat.nextId + 1, unread: state.panel === "chat" || message.mine ? state.chat.unread : state.chat.unread + 1,
      messages: [...state.chat.messages, { ...message, id: state.chat.nextId }].slice(-chatMessagesMax),
    },
  }),
  "message.failed": (state, { text }) => ({ ...state, chat: { ...state.chat, failed: text } }),
  sound: (state, { blocked }) => (state.soundBlocked === blocked ? state : { ...state, soundBlocked: blocked }),
  /** The room, levels or statistics changed: what is shown is computed anew. */
  touch: (state) => ({ ...state, version: state.version + 1 }),
};

/** @param {State} state @param {{type: string, [member: string]: any}} action @returns {State} */
export function reduce(state, action) {
  const reducer = Object.hasOwn(reducers, action.type) ? reducers[action.type] : null;
  if (!reducer) throw new TypeError(`no such action: ${action.type}`);
  return reducer(state, action);
}

/**
 * @param {(state: State, action: any) => State} reducer @param {State} first
 */
export function createStore(reducer, first) {
  let state = first;
  const watchers = new Set();
  return {
    get state() { return state; },
    /** @param {any} action */
    dispatch(action) {
      const next = reducer(state, action);
      if (next === state) return;
      state = next;
      for (const watcher of watchers) watcher(state);
    },
    /** @param {(state: State) => void} watcher */
    subscribe(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}
