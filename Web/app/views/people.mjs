// The list of people: who waits, who is here, and what a host may do about it.

import { h, icon, iconButton, replaceChildren, setAttribute, setText, show } from "../dom.mjs";
import { hueOf, initials, stateWords } from "../people.mjs";

/** @param {any} app */
export function peopleView(app) {
  const words = app.strings.people;
  const lobby = h("ul.people", { "aria-label": words.waiting });
  const lobbyPart = h("section", {}, h("h3", {}, words.waiting), lobby);
  const list = h("ul.people", { "aria-label": words.here, dataset: { test: "people-list" } });
  const count = h("h3");
  const locked = h("p.hint", {}, words.locked);
  const lock = h(
    "button.secondary",
    { type: "button", dataset: { test: "lock" }, onclick: () => void app.call.moderate("lock", { locked: !app.call.client.room.locked }) },
  );
  const end = h("button.secondary.warn", { type: "button", dataset: { test: "end" }, onclick: () => void endCall() }, words.end);
  const hosting = h("div.row.hosting", {}, lock, end);
  /** @type {Map<number, ReturnType<typeof personRow>>} */
  const rows = new Map();
  /** @type {Map<number, HTMLElement>} */
  const waiting = new Map();

  async function endCall() {
    if (await app.confirm({ title: words.endSure, text: words.endText, act: words.end })) void app.call.moderate("end");
  }

  /** @param {{participant: number, name: string}} one */
  function waitingRow({ participant, name }) {
    const act = (/** @type {string} */ selector, /** @type {"admit"|"deny"} */ type, /** @type {string} */ label) => h(
      selector, { type: "button", "aria-label": label, dataset: { test: type }, onclick: () => void app.call.moderate(type, { participant }) }, words[type],
    );
    return waiting.get(participant) ?? h("li.person", { dataset: { waiting: String(participant) } }, h("span.name", {}, name),
      act("button.primary", "admit", words.admitLabel(name)), act("button.secondary", "deny", words.denyLabel(name)));
  }

  return {
    element: h("div.people-panel", {}, lobbyPart, count, list, locked, hosting),
    /** @param {any} state */
    update(state) {
      const { call } = app;
      const people = call.people();
      const speaking = new Set(/** @type {number[]} */ (call.speaking.speaking));
      const room = call.client?.room;
      show(lobbyPart, state.lobby.length > 0);
      for (const one of state.lobby) waiting.set(one.participant, waitingRow(one));
      for (const id of waiting.keys()) if (!state.lobby.some((/** @type {any} */ one) => one.participant === id)) waiting.delete(id);
      replaceChildren(lobby, [...waiting.values()]);
      setText(count, `${words.here} (${people.length})`);
      replaceChildren(list, people.map((/** @type {any} */ person) => {
        const row = rows.get(person.id) ?? personRow(app, person);
        rows.set(person.id, row);
        row.update(person, speaking);
        return row.element;
      }));
      for (const id of rows.keys()) if (!people.some((/** @type {any} */ person) => person.id === id)) rows.delete(id);
      show(locked, Boolean(room?.locked));
      show(hosting, call.isHost);
      lock.replaceChildren(icon(room?.locked ? "unlock" : "lock"), h("span", {}, room?.locked ? words.unlock : words.lock));
    },
  };
}

/** @param {any} app @param {import("../people.mjs").Person} first */
function personRow(app, first) {
  const { strings } = app;
  const words = strings.people;
  let person = first;
  const face = h("span.face", { "aria-hidden": "true", dataset: { hue: String(hueOf(first.verified || first.name)) } }, initials(first.name));
  const name = h("span.name");
  const verified = h("span.verified");
  const states = h("span.states");
  const actions = h("div.actions", { hidden: true, role: "group" });
  const open = iconButton({ icon: "more", label: words.actions(first.name), test: "person-actions", onclick: () => toggle() });
  const element = h("li.person", { dataset: { participant: String(first.id) } }, face, h("div.text", {}, name, verified, states), open, actions);
  const volume = h(
    "input",
    {
      type: "range", min: "0", max: "100", value: "100", "aria-label": `${words.volume}: ${first.name}`,
      oninput: () => app.call.engine?.setVolume(person.id, Number(volume.value) / 100),
    },
  );
  const act = (/** @type {string} */ test, /** @type {() => void} */ run, warn = false) => h(
    `button.item${warn ? ".warn" : ""}`, { type: "button", dataset: { test }, onclick: run },
  );
  const mute = act(
    "host-mute",
    () => void app.call.moderate("mute", { participant: person.id, kinds: ["audio"], muted: !person.mutedByHost.includes("audio") }),
  );
  const muteVideo = act(
    "host-mute-video",
    () => void app.call.moderate("mute", { participant: person.id, kinds: ["video"], muted: !person.mutedByHost.includes("video") }),
  );
  const promote = act("promote", () => void app.call.moderate("promote", { participant: person.id, role: person.role === "host" ? "speaker" : "host" }));
  const demote = act("demote", () => void app.call.moderate("promote", { participant: person.id, role: person.role === "listener" ? "speaker" : "listener" }));
  const remove = act("remove", () => void takeOut(), true);
  actions.append(h("label.volume", {}, h("span", {}, words.volume), volume), mute, muteVideo, promote, demote, remove);
  open.setAttribute("aria-expanded", "false");

  function toggle(shown = actions.hidden) {
    show(actions, shown);
    setAttribute(open, "aria-expanded", String(shown));
  }

  async function takeOut() {
    if (await app.confirm({ title: words.removeSure(person.name), text: words.removeText, act: words.remove })) {
      void app.call.moderate("remove", { participant: person.id });
    }
  }

  return {
    element,
    /** @param {import("../people.mjs").Person} now @param {Set<number>} speaking */
    update(now, speaking) {
      person = now;
      setText(name, now.me ? strings.tile.yours(now.name) : now.name);
      setText(verified, now.verified);
      const said = stateWords(now, speaking).map((word) => strings.states[word === "muted" && now.mutedByHost.includes("audio") ? "mutedByHost" : word]);
      if (now.role !== "speaker") said.unshift(strings.states[now.role]);
      if (now.screen !== null) said.push(strings.states.screen);
      setText(states, said.join(" · "));
      const host = app.call.isHost;
      show(open, !now.me);
      if (now.me) toggle(false);
      setText(mute, now.mutedByHost.includes("audio") ? words.unmute : words.mute);
      setText(muteVideo, now.mutedByHost.includes("video") ? words.unmuteVideo : words.muteVideo);
      setText(promote, now.role === "host" ? words.makeSpeaker : words.makeHost);
      setText(demote, now.role === "listener" ? words.makeSpeaker : words.makeListener);
      setText(remove, words.remove);
      for (const button of [mute, muteVideo, promote, demote, remove]) show(button, host);
    },
  };
}
