// Judges how well media comes, from the media engine's and the client's statistics. Pure: numbers in, a grade and its reasons out.

/** @typedef {"good"|"fair"|"poor"|"unknown"} Grade */
/** @typedef {{grade: Grade, reasons: string[]}} Judgement reasons are keys of `strings.quality.reasons` */

/** Thresholds: below the first is good, below the second fair, the rest poor. */
export const bounds = {
  /** ITU-T G.114: up to 150 ms mouth to ear nobody notices, from 400 ms on people talk into each other. Here without the devices' own delay. */
  latencyMilliseconds: [200, 400],
  /** Share of audio frames that had to be made up. One in a hundred passes unheard, one in twenty does not. */
  concealedShare: [0.01, 0.05],
  roundTripMilliseconds: [150, 400],
  /** Pictures lost to all pictures. */
  droppedShare: [0.02, 0.1],
};

/** Pictures a second below which motion is seen to stutter, and below which it is slides. A screen is not judged by them: it stands still for long. */
export const framesPerSecondBounds = [18, 8];

const order = ["unknown", "good", "fair", "poor"];

/** @param {number|null|undefined} value @param {number[]} limits @returns {Grade} */
function gradeBelow(value, limits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "unknown";
  if (value < limits[0]) return "good";
  return value < limits[1] ? "fair" : "poor";
}

/** @param {Array<[string, Grade]>} parts @returns {Judgement} */
function worst(parts) {
  let grade = /** @type {Grade} */ ("unknown");
  for (const [, part] of parts) if (order.indexOf(part) > order.indexOf(grade)) grade = part;
  const bad = parts.filter(([, part]) => part === "fair" || part === "poor").sort((a, b) => order.indexOf(b[1]) - order.indexOf(a[1]));
  const reasons = bad.map(([name]) => name);
  return { grade, reasons };
}

/**
 * What comes from one participant.
 * @param {{audio?: {concealedShare?: number, latencyMilliseconds?: number|null}|null,
 *          video?: {framesPerSecond?: number, latencyMilliseconds?: number|null, decoded?: number, dropped?: number}|null, screen?: boolean}} media
 * @returns {Judgement}
 */
export function judgeParticipant({ audio, video, screen = false }) {
  /** @type {Array<[string, Grade]>} */
  const parts = [];
  if (audio) {
    parts.push(["concealed", gradeBelow(audio.concealedShare, bounds.concealedShare)]);
    parts.push(["latency", gradeBelow(audio.latencyMilliseconds, bounds.latencyMilliseconds)]);
  }
  if (video) {
    const decoded = video.decoded ?? 0;
    const dropped = video.dropped ?? 0;
    if (decoded + dropped > 0) parts.push(["dropped", gradeBelow(dropped / (decoded + dropped), bounds.droppedShare)]);
    if (!screen && decoded > 0) parts.push(["framesPerSecond", gradeAbove(video.framesPerSecond, framesPerSecondBounds)]);
    parts.push(["videoLatency", gradeBelow(video.latencyMilliseconds, bounds.latencyMilliseconds)]);
  }
  return worst(parts);
}

/** @param {number|null|undefined} value @param {number[]} limits @returns {Grade} */
function gradeAbove(value, limits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "unknown";
  if (value >= limits[0]) return "good";
  return value >= limits[1] ? "fair" : "poor";
}

/**
 * One's own connection to the relay.
 * @param {{state: string, roundTripMilliseconds?: number|null, congested?: boolean}} connection
 * @returns {Judgement}
 */
export function judgeConnection({ state, roundTripMilliseconds, congested = false }) {
  if (state === "reconnecting") return { grade: "poor", reasons: ["reconnecting"] };
  return worst([["congested", congested ? "fair" : "good"], ["roundTrip", gradeBelow(roundTripMilliseconds, bounds.roundTripMilliseconds)]]);
}

/**
 * The statistics between two looks: pictures dropped long ago do not make today's picture poor.
 * @param {{decoded: number, dropped: number, freezes: number}|undefined} before @param {{decoded: number, dropped: number, freezes: number}} now
 */
export function since(before, now) {
  if (!before || now.decoded < before.decoded || now.dropped < before.dropped) return { decoded: now.decoded, dropped: now.dropped, freezes: now.freezes };
  return { decoded: now.decoded - before.decoded, dropped: now.dropped - before.dropped, freezes: now.freezes - before.freezes };
}

/** How many bars of four a grade lights. @param {Grade} grade */
export function barsOf(grade) {
  return { good: 4, fair: 2, poor: 1, unknown: 0 }[grade];
}

/**
 * A level in dBov (0 loudest, −127 silence) as a share of a meter, 0 to 1; the lowest 60 dB below full scale are the meter's range.
 * @param {number|null} level
 */
export function meterShare(level) {
  if (level === null || level === undefined || !Number.isFinite(level)) return 0;
  return Math.min(1, Math.max(0, (level + 60) / 60));
}
