// The fragment of the address: `#/`, `#/r/ROOM?token=…`, `#/pair`. It never reaches a server, so a token in it is in no log.

/**
 * @typedef {{name: "start"}|{name: "pair"}|{name: "room", room: string, token: string|null, role: string|null, displayName: string|null, originalSound:
 * boolean}
 *   |{name: "unknown", fragment: string}} Route
 */

/** What the relay takes as a room's name (PROTOCOL.md 3.4). */
export const roomNamePattern = /^[A-Za-z0-9\-._~:@]{1,128}$/;

const roles = ["host", "speaker", "listener", "recorder"];

/** @param {string} fragment with or without `#` @returns {Route} */
export function parseRoute(fragment) {
  const text = fragment.replace(/^#/, "");
  if (text === "" || text === "/") return { name: "start" };
  const [path, query = ""] = splitOnce(text, "?");
  const parts = path.split("/").filter((part) => part !== "");
  if (parts.length === 0) return { name: "start" };
  if (parts.length === 1 && parts[0] === "pair") return { name: "pair" };
  if (parts.length !== 2 || parts[0] !== "r") return { name: "unknown", fragment: text };
  const room = decode(parts[1]);
  if (room === null || !roomNamePattern.test(room)) return { name: "unknown", fragment: text };
  const parameters = new URLSearchParams(query);
  const role = parameters.get("role");
  return {
    name: "room", room, token: parameters.get("token") || null, role: role !== null && roles.includes(role) ? role : null,
    displayName: parameters.get("name") || null, originalSound: parameters.get("sound") === "original",
  };
}

/** @param {string} text @param {string} mark */
function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The fragment of a room, without its token: what the address bar shows, and what one sends to others. @param {string} room */
export function fragmentOf(room) {
  return `#/r/${encodeURIComponent(room)}`;
}

/**
 * What a person typed or pasted as a room: a name, or a whole link to this page.
 * @param {string} text @returns {Route|null} null: neither
 */
export function parseRoomInput(text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const mark = trimmed.indexOf("#/");
  if (mark >= 0) {
    const route = parseRoute(trimmed.slice(mark));
    return route.name === "room" ? route : null;
  }
  const room = trimmed.replace(/\s+/g, "-");
  return roomNamePattern.test(room) ? { name: "room", room, token: null, role: null, displayName: null, originalSound: false } : null;
}

/** Whether a text can be a pairing code at all (PROTOCOL.md 3.14): eight characters, spaces and hyphens aside. @param {string} text */
export function looksLikeCode(text) {
  return /^[2-9A-Z]{8}$/.test(text.replace(/[\s-]/g, "").toUpperCase());
}

/** A code as it is shown: two groups of four. @param {string} code */
export function formatCode(code) {
  return code.length === 8 ? `${code.slice(0, 4)} ${code.slice(4)}` : code;
}

/** A room as people read it: a pair's is named by a digest, which says nothing to anybody. @param {string} room @param {string|null} [peer] */
export function roomTitle(room, peer = null) {
  if (!room.startsWith("pair:")) return room;
  return peer ? `Private room with ${peer}` : "Private room";
}
