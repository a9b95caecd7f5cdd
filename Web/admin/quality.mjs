/**
 * How well streams and connections do, in a word. Levels are said in words, never by colour alone.
 */

/** Shares of concealed frames from which listeners hear it: some per cent are hidden well, a tenth is not. */
const CONCEALED = { fair: 0.02, poor: 0.1 };
const LATE = { fair: 0.02, poor: 0.1 };
const ROUND_TRIP_MILLISECONDS = { fair: 150, poor: 400 };
const DROPPED = { fair: 0.01, poor: 0.05 };

const ORDER = ["good", "fair", "poor"];

function grade(value, { fair, poor }) {
  if (!Number.isFinite(value)) return null;
  return value >= poor ? "poor" : value >= fair ? "fair" : "good";
}

function worst(grades) {
  const known = grades.filter((grade) => grade !== null);
  return known.length === 0 ? "unknown" : known.reduce((one, other) => (ORDER.indexOf(other) > ORDER.indexOf(one) ? other : one));
}

/**
 * A stream as its receivers have it (`reception` of GET /v1/rooms/{room}/streams). The mean decides; the worst receiver makes it fair at most, since one bad
 * network is not the stream's fault.
 * @returns {"good"|"fair"|"poor"|"unknown"}
 */
export function ofReception(reception) {
  if (!reception) return "unknown";
  const mean = worst([grade(reception.concealedShare, CONCEALED), grade(reception.lateShare, LATE)]);
  const worstOne = worst([grade(reception.concealedShareMax, CONCEALED), grade(reception.lateShareMax, LATE)]);
  return mean === "good" && worstOne === "poor" ? "fair" : mean;
}

/** What one session reports of one stream. */
export function ofReport(report) {
  if (!report) return "unknown";
  return worst([grade(report.concealedShare, CONCEALED), grade(report.lateShare, LATE)]);
}

/** A session: its round trip, whether its network carries what it is due, and where its frames went. */
export function ofSession(session) {
  if (!session) return "unknown";
  if (session.state === "parked") return "poor";
  return worst([
    grade(session.roundTripMilliseconds, ROUND_TRIP_MILLISECONDS),
    session.congested === undefined ? null : session.congested ? "poor" : "good",
    ...(session.reports ?? []).map((report) => grade(report.concealedShare, CONCEALED)),
  ]);
}

/** The whole relay at the moment: the share of frames that were dropped. */
export function ofDroppedShare(share) {
  return grade(share, DROPPED) ?? "unknown";
}
