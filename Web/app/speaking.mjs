// Who speaks. The relay's `speakers` event decides; where it does not send one, levels that the media engine measured do, with hysteresis. Pure.

/** Louder than this (dBov) begins to count as speech, and quieter than the second no longer does. */
export const speakingBounds = { on: -45, off: -55 };

/** Levels must be low for so long before somebody stops speaking: words have gaps. */
export const speakingHoldMilliseconds = 900;

/**
 * @typedef {{byRelay: boolean, speaking: number[], lastLoud: Map<number, number>, spokeAt: Map<number, number>}} Speaking `speaking`: participants, loudest
 * first
 */

/** @returns {Speaking} */
export function noSpeakers() {
  return { byRelay: false, speaking: [], lastLoud: new Map(), spokeAt: new Map() };
}

/** @param {Speaking} state @param {Array<{participant: number}>} speakers @param {number} now milliseconds @returns {Speaking} */
export function takeSpeakers(state, speakers, now) {
  const speaking = speakers.map((speaker) => speaker.participant);
  const spokeAt = new Map(state.spokeAt);
  for (const id of speaking) spokeAt.set(id, now);
  return { ...state, byRelay: true, speaking, spokeAt };
}

/**
 * @param {Speaking} state @param {Array<{participant: number, level: number|null}>} levels dBov of everybody who is heard @param {number} now milliseconds
 * @returns {Speaking} the same object when nothing changed
 */
export function takeLevels(state, levels, now) {
  if (state.byRelay) return state;
  const was = new Set(state.speaking);
  const lastLoud = new Map(state.lastLoud);
  const present = new Map(levels.map(({ participant, level }) => [participant, level ?? -127]));
  for (const [participant, level] of present) if (level > (was.has(participant) ? speakingBounds.off : speakingBounds.on)) lastLoud.set(participant, now);
  for (const participant of lastLoud.keys()) if (!present.has(participant)) lastLoud.delete(participant);
  const speaking = [...lastLoud].filter(([, at]) => now - at < speakingHoldMilliseconds).map(([participant]) => participant)
    .sort((a, b) => (present.get(b) ?? -127) - (present.get(a) ?? -127) || a - b);
  const same = speaking.length === state.speaking.length && speaking.every((id) => was.has(id));
  const spokeAt = new Map(state.spokeAt);
  for (const id of speaking) spokeAt.set(id, now);
  return { ...state, lastLoud, spokeAt, speaking: same ? state.speaking : speaking };
}
