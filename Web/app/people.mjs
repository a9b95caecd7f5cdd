// Who is in the room and in what state, as the page shows it. Pure: from the client library's model of the room to plain objects.

/**
 * @typedef {{id: number, key: string, name: string, verified: string, role: string, me: boolean, muted: boolean, mutedByHost: string[], held: boolean,
 *   heldReason: string,
 *   bluetooth: boolean, reconnecting: boolean, audio: number|null, camera: number|null, screen: number|null}} Person
 */
/** @typedef {{muted?: boolean}} Presence what a participant's own page says of it in its `presence` stream */

const bluetoothPorts = new Set(["bluetoothHFP", "bluetoothA2DP", "bluetoothLE"]);

/** The last part of an identity's name: `urn:segue:client:alice` is alice. @param {string} identity */
export function shortName(identity) {
  const parts = identity.split(":").filter((part) => part !== "");
  return parts.at(-1) ?? identity;
}

/** @param {any} participant */
export function nameOf(participant) {
  const own = (participant?.displayName ?? "").trim();
  if (own !== "") return own;
  return participant?.identity?.name ? shortName(participant.identity.name) : `Participant ${participant?.participant ?? "?"}`;
}

/** Two letters at most, of the first and the last word. @param {string} name */
export function initials(name) {
  const words = name.trim().split(/[\s._-]+/u).filter((word) => word !== "");
  const letters = [words[0], words.length > 1 ? words.at(-1) : ""].map((word) => [...(word ?? "")][0] ?? "");
  return letters.join("").toUpperCase() || "?";
}

/** A hue for who shows no picture: the same for the same identity everywhere. @param {string} text @param {number} [hues] */
export function hueOf(text, hues = 8) {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum % hues;
}

/** @param {any} route of a participant */
export function onBluetooth(route) {
  return [...(route?.inputs ?? []), ...(route?.outputs ?? [])].some((port) => bluetoothPorts.has(port.type));
}

/**
 * @param {any} participant @param {Iterable<any>} streams of the room @param {{me: boolean, presence?: Presence, stalled?: boolean}} what
 * @returns {Person}
 */
export function personOf(participant, streams, { me, presence, stalled = false }) {
  const id = participant.participant;
  const mine = [...streams].filter((stream) => stream.participant === id);
  const find = (/** @type {(stream: any) => boolean} */ test) => mine.find(test)?.stream ?? null;
  const mutedByHost = participant.muted ?? [];
  const audio = find((stream) => stream.kind === "audio");
  const held = Boolean(participant.held);
  return {
    id, key: String(id), name: nameOf(participant), verified: participant.identity?.name ?? "", role: participant.role ?? "speaker", me,
    muted: mutedByHost.includes("audio") || (presence?.muted ?? false) || (audio === null && !me), mutedByHost, held,
    heldReason: participant.interruptionReason ?? "default", bluetooth: onBluetooth(participant.route), reconnecting: stalled && !held, audio,
    camera: find((stream) => stream.kind === "video" && stream.source !== "screen"),
    screen: find((stream) => stream.kind === "video" && stream.source === "screen"),
  };
}

/**
 * Everybody in the room in the order in which they came, oneself included.
 * @param {any} room the client's, or null @param {{presence?: Map<number, Presence>, stalled?: Set<number>, self?: {muted: boolean, reconnecting:
 * boolean}}} [what]
 * @returns {Person[]}
 */
export function peopleOf(room, { presence = new Map(), stalled = new Set(), self } = {}) {
  if (!room?.participants) return [];
  const streams = [...room.streams.values()];
  return [...room.participants.values()].map((participant) => {
    const me = participant.participant === room.me || participant.participant === room.me?.participant;
    const person = personOf(
      participant, streams,
      { me, presence: me ? self : presence.get(participant.participant), stalled: stalled.has(participant.participant) },
    );
    return me ? { ...person, reconnecting: Boolean(self?.reconnecting) } : person;
  });
}

/** The states as the attribute `data-state` has them. @param {Person} person @param {Set<number>} speaking */
export function stateWords(person, speaking) {
  const words = [];
  if (person.held) words.push("held");
  if (person.muted) words.push("muted");
  if (person.reconnecting) words.push("reconnecting");
  if (person.bluetooth) words.push("bluetooth");
  if (speaking.has(person.id) && !person.muted && !person.held && !person.reconnecting) words.push("speaking");
  return words;
}

/**
 * @typedef {{key: string, person: Person, source: "camera"|"screen", stream: number|null}} Tile
 */

/**
 * The tiles: screens first, since they are what is talked about, then people, oneself last. @param {Person[]} people @param {{myScreen?: boolean}} [options]
 * @returns {Tile[]}
 */
export function tilesOf(people, { myScreen = false } = {}) {
  /** @type {Tile[]} */
  const screens = [];
  for (const person of people) {
    if (person.me ? myScreen : person.screen !== null) screens.push({ key: `${person.key}:screen`, person, source: "screen", stream: person.screen });
  }
  const others = people.filter((person) => !person.me && person.role !== "recorder");
  const me = people.filter((person) => person.me && person.role !== "recorder");
  return [...screens, ...[...others, ...me].map((person) => ({ key: person.key, person, source: /** @type {"camera"} */ ("camera"), stream: person.camera }))];
}

/**
 * Who is large in speaker view: what is pinned, else the newest screen of another, else who speaks (not oneself), else who spoke last, else the first.
 * @param {Tile[]} tiles @param {{pinned: string|null, speaking: number[], last: string|null}} wishes
 * @returns {Tile|null}
 */
export function mainTile(tiles, { pinned, speaking, last }) {
  const byKey = (/** @type {string|null} */ key) => tiles.find((tile) => tile.key === key) ?? null;
  const screens = tiles.filter((tile) => tile.source === "screen" && !tile.person.me);
  const speaker = speaking.map((id) => tiles.find((tile) => tile.person.id === id && tile.source === "camera" && !tile.person.me)).find(Boolean) ?? null;
  return byKey(pinned) ?? screens.at(-1) ?? speaker ?? byKey(last) ?? tiles.find((tile) => !tile.person.me) ?? tiles[0] ?? null;
}

/**
 * Tiles of the grid with who speaks on the first page: whoever speaks and is beyond it changes places with the one of it that spoke longest ago. Others keep
 * their places, so that the grid does not dance.
 * @param {Tile[]} tiles @param {number} perPage @param {Map<number, number>} spokeAt when each participant spoke last @param {Set<number>} speaking
 */
export function promoteSpeakers(tiles, perPage, spokeAt, speaking) {
  const result = [...tiles];
  for (let at = perPage; at < result.length; at += 1) {
    if (!speaking.has(result[at].person.id) || result[at].source !== "camera") continue;
    let place = -1;
    for (let candidate = 0; candidate < Math.min(perPage, result.length); candidate += 1) {
      const tile = result[candidate];
      if (tile.source === "screen" || speaking.has(tile.person.id)) continue;
      if (place < 0 || (spokeAt.get(tile.person.id) ?? 0) < (spokeAt.get(result[place].person.id) ?? 0)) place = candidate;
    }
    if (place >= 0) [result[place], result[at]] = [result[at], result[place]];
  }
  return result;
}

/**
 * What changed between two looks at the room, for the live region: `{what, name}` with `what` a key of `strings.announce`.
 * @param {Person[]} before @param {Person[]} after @returns {Array<{what: string, name: string}>}
 */
export function changesBetween(before, after) {
  const changes = [];
  const old = new Map(before.map((person) => [person.id, person]));
  for (const person of after) {
    const was = old.get(person.id);
    old.delete(person.id);
    if (!was) {
      if (!person.me) changes.push({ what: "joined", name: person.name });
      continue;
    }
    if (person.held !== was.held && !person.me) changes.push({ what: person.held ? "held" : "released", name: person.name });
    if ((person.screen !== null) !== (was.screen !== null) && !person.me) {
      changes.push({ what: person.screen !== null ? "screen" : "screenEnded", name: person.name });
    }
    const byHost = person.mutedByHost.includes("audio");
    if (person.me && byHost !== was.mutedByHost.includes("audio")) changes.push({ what: byHost ? "mutedByHost" : "unmutedByHost", name: person.name });
    if (person.me && person.role !== was.role) changes.push({ what: "role", name: person.role });
  }
  for (const person of old.values()) if (!person.me) changes.push({ what: "left", name: person.name });
  return changes;
}
