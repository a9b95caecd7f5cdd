/**
 * Which certificates end soon, and how much that matters.
 */

export const DAY_MILLISECONDS = 86_400_000;

/** Days left below which something is to be done, by what the certificate is for: a client's concerns one, an authority's everybody. */
const THRESHOLDS = {
  server: { critical: 7, warning: 21 },
  authority: { critical: 30, warning: 90 },
  client: { critical: 2, warning: 14 },
};

/**
 * @param {{what: string, notAfter: number}} certificate
 * @param {number} now ms since 1970
 * @returns {{level: "ended"|"critical"|"warning"|"good"|"unknown", days: number|null, text: string}} `days` rounded towards the end
 */
export function judge(certificate, now) {
  const left = certificate.notAfter - now;
  if (!Number.isFinite(left)) return { level: "unknown", days: null, text: "end not known" };
  const days = Math.floor(left / DAY_MILLISECONDS);
  if (left <= 0) {
    const since = Math.floor(-left / DAY_MILLISECONDS);
    return { level: "ended", days, text: since === 0 ? "ended today" : `ended ${since} ${since === 1 ? "day" : "days"} ago` };
  }
  const thresholds = THRESHOLDS[certificate.what] ?? THRESHOLDS.server;
  const level = days < thresholds.critical ? "critical" : days < thresholds.warning ? "warning" : "good";
  return { level, days, text: textOf(left) };
}

/** @param {number} left milliseconds, above 0 */
function textOf(left) {
  const days = Math.floor(left / DAY_MILLISECONDS);
  if (days >= 731) return `${Math.floor(days / 365.25)} years left`;
  if (days >= 1) return `${days} ${days === 1 ? "day" : "days"} left`;
  const hours = Math.floor(left / 3_600_000);
  return hours >= 1 ? `${hours} ${hours === 1 ? "hour" : "hours"} left` : "less than an hour left";
}

/** The soonest to end first; of those that end together, whom it concerns most. Those whose end is not known come last. */
export function byEnd(certificates) {
  const rank = { authority: 0, server: 1, client: 2 };
  const end = (certificate) => (Number.isFinite(certificate.notAfter) ? certificate.notAfter : Infinity);
  return [...(certificates ?? [])].sort((one, other) => {
    const ends = [end(one), end(other)];
    if (ends[0] !== ends[1]) return ends[0] < ends[1] ? -1 : 1;
    return (rank[one.what] ?? 3) - (rank[other.what] ?? 3) || String(one.name).localeCompare(String(other.name), "en");
  });
}

/** What to do about a certificate that ends: one sentence. */
export function remedy(what) {
  switch (what) {
    case "server":
      return "Renew it (segue ca renew NAME, or your authority's way); the relay takes the new file by itself.";
    case "authority":
      return "Make a new authority and list both while clients move to it.";
    case "client":
      return "The device renews it (segue enroll --renew), or issue a new one.";
    default:
      return "Renew it before it ends.";
  }
}
