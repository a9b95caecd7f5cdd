/**
 * What the fragment of the address says is shown. Names of rooms are percent-encoded as in the API's paths.
 */

/**
 * @param {string} fragment as `location.hash`
 * @returns {{view: "overview"|"rooms"|"room"|"sessions"|"session"|"unknown", room?: string, session?: string}}
 */
export function parseRoute(fragment) {
  const parts = fragment.replace(/^#?\/?/, "").split("/").filter((part) => part !== "");
  let decoded;
  try {
    decoded = parts.map(decodeURIComponent);
  } catch {
    return { view: "unknown" };
  }
  const [first, second] = decoded;
  if (decoded.length === 0) return { view: "overview" };
  if (decoded.length > 2) return { view: "unknown" };
  if (first === "rooms") return second === undefined ? { view: "rooms" } : { view: "room", room: second };
  if (first === "sessions") return second === undefined ? { view: "sessions" } : { view: "session", session: second };
  return { view: "unknown" };
}

export function roomLink(room) {
  return `#/rooms/${encodeURIComponent(room)}`;
}

export function sessionLink(session) {
  return `#/sessions/${encodeURIComponent(session)}`;
}

/** A path of the API with names in its gaps: `path\`/v1/rooms/${room}\``. */
export function path(strings, ...names) {
  return strings.reduce((whole, string, index) => whole + encodeURIComponent(String(names[index - 1])) + string);
}
