// What a refusal means to a person, and what to do about it. Codes are those of PROTOCOL.md 3.11, reasons those of 3.13 and 8.2; a test holds this table
// to the document. Pure.

/** @typedef {"retry"|"rejoin"|"start"|"stay"} Way what the screen offers: try the same again, join again, begin anew, or nothing since the call goes on */
/** @typedef {{title: string, text: string, way: Way}} Message */

/** @type {(title: string, text: string, way?: Way) => Message} */
const message = (title, text, way = "start") => ({ title, text, way });

const ours = "This page and the relay did not understand each other. Reload the page; if it happens again, tell whoever runs the relay.";
const busy = "Try again in a moment.";

/** @type {Record<string, Message>} */
export const refusals = {
  malformed: message("Something went wrong", ours, "retry"),
  unknown_type: message("Something went wrong", ours, "retry"),
  version: message("This page is too old or too new", "The relay speaks another version of the protocol. Reload the page without its cache.", "retry"),
  hello_first: message("Something went wrong", ours, "retry"),
  hello_twice: message("Something went wrong", ours, "retry"),
  room_name: message("That is no room name", "Names have letters, digits and - . _ ~ : @ only. Choose another one."),
  already_in_room: message("You are in the room already", "Leave it first, then join again.", "retry"),
  not_in_room: message("You are not in the room any more", "Join again.", "rejoin"),
  pending: message("One moment", "The relay is still busy with your last request. Try again.", "retry"),
  cluster_unavailable: message("The relays cannot reach each other", `What you have goes on. ${busy}`, "retry"),
  bad_value: message("The relay did not accept that", "Check your name and the room's name, then try again.", "retry"),
  unknown_codec: message("This browser's encoding is not known here", "Others can not hear or see you. Try another browser.", "stay"),
  unknown_stream: message("That is not there any more", "Whoever sent it has stopped. Nothing is to be done.", "stay"),
  rooms_max: message("The relay is full", `It has as many rooms as it may. ${busy}`, "retry"),
  participants_max: message("The room is full", "Wait until somebody leaves, then try again.", "retry"),
  publishers_max: message("Too many speak already", "You can hear and see everybody. Try again to speak when somebody has left.", "stay"),
  streams_max: message("You send too much at once", "Stop sharing the screen or turn the camera off, then try again.", "stay"),
  room_streams_max: message("The room is full", "It carries as much sound and video as it may. Try again later.", "retry"),
  draining: message("The relay is restarting", "Try again in half a minute.", "retry"),
  unauthenticated: message(
    "You need an invitation",
    "The relay does not know who you are. Open the link you were sent as a whole, or choose your certificate when the browser asks.",
  ),
  token_refused: message("Your link has expired or is not valid", "Ask for a new link."),
  proof_required: message("This room asks for two proofs", "You need both a certificate and a link with a token. Ask the host for what is missing."),
  not_allowed: message("You may not enter this room", "Ask its host or the relay's administrator to let you in."),
  room_locked: message("The room is locked", "Ask a host to unlock it, then try again.", "retry"),
  not_host: message("Only hosts may do that", "Ask a host.", "stay"),
  role: message("You are here to listen", "Ask a host to let you speak.", "stay"),
  unknown_participant: message("They are not there any more", "Nothing is to be done.", "stay"),
  lobby_full: message("Too many wait already", "Try again in a few minutes.", "retry"),
  peer_unavailable: message("The other one is not connected", "Ask them to open this page, then try again.", "retry"),
  peer_ambiguous: message("The other one has several devices there", "Use a code: show it on the device that you mean.", "start"),
  unknown_request: message("That request is gone", "Ask again, or use a code.", "start"),
  unknown_pair: message("That pair is gone", "Pair again with a new code.", "start"),
  pair_code: message("That code is not right", "It is mistyped, used or older than two minutes. Check it, or ask for a new one.", "retry"),
  pair_rate: message("Too many wrong codes", "Wait two minutes, then try again with a new code.", "retry"),
  pairs_max: message("Too many pairs or codes", "End a pair that you do not need, or wait two minutes for old codes to expire.", "start"),
  certificate_needed: message("Pairing needs a certificate", "You are here by a link. Pair from a browser that has a certificate of this relay."),
  not_stored: message("The pair has ended for now", "The relay could not write it down: it may be back after a restart. Tell its administrator.", "start"),
  resume_refused: message("You were away too long", "The call went on without you. Join again.", "rejoin"),
  session_lost: message("The sound was reset", "Join again to go on.", "rejoin"),
  illegal_category: message("Something went wrong with the sound", ours, "rejoin"),
  insufficient_priority: message("Another of your devices has the call", "End it there first, then resume here.", "stay"),
  io_running: message("The sound is still in use", "Stop sending first, then try again.", "stay"),
  cannot_start_playing: message("The sound is not active", "Resume here, or join again.", "stay"),
  cannot_start_recording: message("The microphone is not active", "Resume here, or join again.", "stay"),
  category: message("That does not go with how you joined", "Leave, and join again.", "stay"),
  deliveries_max: message("The relay is busy", busy, "stay"),
  audio_sessions_max: message("Too many of your devices are in calls", "Leave on one of them, then try again.", "retry"),
  connection_shared: message("One moment", busy, "retry"),
  internal: message("The relay failed", `That is not your fault. ${busy}`, "retry"),
};

/** Why one is out: reasons of `room.removed`. @type {Record<string, Message>} */
export const removals = {
  removed: message("A host took you out of the room", "You may join again unless the room is locked.", "rejoin"),
  ended: message("The call has ended", "A host ended it for everybody.", "start"),
  denied: message("You were not let in", "A host did not admit you. Ask them before you try again.", "retry"),
  policy: message("You may not be here any more", "The rules of this relay have changed. Ask its administrator.", "start"),
  grant_revoked: message("The pair has ended", "One of you ended it. Pair again to talk.", "start"),
  grant_expired: message("The pair has expired", "Pair again with a new code.", "start"),
  admin: message("An administrator ended this", "Ask the relay's administrator before you join again.", "start"),
};

/** Why a connection was closed for good: words of close reasons (8.2), and what the page itself finds. @type {Record<string, Message>} */
export const closes = {
  left: message("You left the call", "Join again whenever you like.", "rejoin"),
  unreachable: message(
    "The relay can not be reached",
    "Check your network. If you were sent a link, open it as a whole; if you have a certificate, choose it when the browser asks.", "retry",
  ),
  connect_failed: message(
    "The relay can not be reached",
    "Check your network. If you were sent a link, open it as a whole; if you have a certificate, choose it when the browser asks.", "retry",
  ),
  connect_timeout: message("The relay does not answer", "Check your network, then try again.", "retry"),
  connection_lost: message("The connection was lost", "Check your network, then try again.", "retry"),
  not_connected: message("There is no connection", "Check your network, then join again.", "rejoin"),
  protocol: message("Something went wrong", ours, "rejoin"),
  lost: message("The connection was lost", "It could not be made again in time. Check your network, then join again.", "rejoin"),
  replaced: message("The call goes on in another window", "This page has handed it over.", "rejoin"),
  token_expired: message("Your link has expired", "Ask for a new link."),
  token_revoked: message("Your link is no longer valid", "Ask for a new link."),
  certificate_expired: message("Your certificate has expired", "Get a new one from whoever runs the relay."),
  certificate_revoked: message("Your certificate was revoked", "Ask whoever runs the relay."),
  unauthenticated: refusals.unauthenticated,
  unknown: message("The relay ended the connection", "Join again. If it happens again, tell whoever runs the relay.", "rejoin"),
};

/**
 * What to say when a device can not be used: names of DOMException (Media Capture and Streams §10.2).
 * @type {Record<string, {microphone: string, camera: string, screen: string}>}
 */
export const deviceRefusals = {
  NotAllowedError: {
    microphone: "The browser may not use the microphone. You can join without it: you hear all, and nobody hears you. Allow it beside the address to speak.",
    camera: "The browser may not use the camera. You can join without it. Allow it beside the address to be seen.",
    screen: "The screen was not shared.",
  },
  NotFoundError: {
    microphone: "There is no microphone. You can join and listen; plug one in to speak.",
    camera: "There is no camera. You can join without one.",
    screen: "There is nothing to share.",
  },
  NotReadableError: {
    microphone: "The microphone is used by another app. Close that app, then choose the microphone again.",
    camera: "The camera is used by another app. Close that app, then choose the camera again.",
    screen: "The system does not let this browser record the screen. Allow it in the system's settings.",
  },
  OverconstrainedError: {
    microphone: "That microphone is gone. Choose another one.",
    camera: "That camera is gone. Choose another one.",
    screen: "The screen can not be shared like that.",
  },
  unknown: {
    microphone: "The microphone did not start. Choose another one, or join without it.",
    camera: "The camera did not start. Choose another one, or join without it.",
    screen: "The screen could not be shared.",
  },
};

/** @param {{name?: string}} error @param {"microphone"|"camera"|"screen"} what */
export function deviceMessage(error, what) {
  const name = error?.name === "SecurityError" ? "NotAllowedError" : error?.name ?? "";
  return (Object.hasOwn(deviceRefusals, name) ? deviceRefusals[name] : deviceRefusals.unknown)[what];
}

/**
 * The message for an error of the client library, or of anything else.
 * @param {{code?: string|number, message?: string}|null|undefined} error
 * @returns {Message & {detail: string|null}} `detail`: the relay's own sentence, for who wants to know
 */
export function messageFor(error) {
  const code = typeof error?.code === "string" ? error.code : "";
  const detail = error?.message && error.message !== code ? error.message : null;
  for (const table of [refusals, closes]) if (Object.hasOwn(table, code)) return { ...table[code], detail };
  return { ...closes.unknown, detail };
}

/** @param {string} reason of `room.removed` */
export function messageForRemoval(reason) {
  return { ...(Object.hasOwn(removals, reason) ? removals[reason] : removals.removed), detail: null };
}

/** A close's reason is a sentence or a word that is not to be parsed; what is known by name is said by name. @param {string|undefined} reason */
export function messageForClose(reason) {
  const word = reason ?? "";
  if (Object.hasOwn(closes, word)) return { ...closes[word], detail: null };
  if (Object.hasOwn(refusals, word)) return { ...refusals[word], detail: null };
  return { ...closes.lost, detail: word === "" ? null : word };
}
