/**
 * All rooms and all sessions, in parts.
 */

import { element } from "./dom.mjs";
import * as format from "./format.mjs";
import { roomTable } from "./overview-tables.mjs";
import { pagePath } from "./paging.mjs";
import { ofSession } from "./quality.mjs";
import { roomLink, sessionLink } from "./routes.mjs";
import { linkCell, qualityCell, Table, textCell } from "./table.mjs";
import { DetailView, Pager } from "./view.mjs";

export class RoomsView extends DetailView {
  title = "Rooms";
  #table = roomTable({ caption: "Rooms", empty: "There is no room at the moment." });
  #pager = new Pager("rooms", () => this.refresh());

  /** @param {import("./api.mjs").Api} api */
  constructor(api) {
    super((signal) => api.get(pagePath("/v1/rooms", { after: this.#pager.pages.after }), { signal }));
    this.content.append(this.#table.node, this.#pager.node);
  }

  show(answer) {
    this.#table.update(answer.rooms);
    this.#pager.answered(answer.next, answer.rooms.length);
  }
}

export class SessionsView extends DetailView {
  title = "Sessions";
  #table = new Table({
    caption: "Sessions",
    empty: "There is no session at the moment.",
    key: (session) => session.session,
    columns: [
      {
        key: "who",
        label: "Who",
        header: true,
        value: (session) => format.identityName(session.identity?.name),
        title: (session) => session.identity?.name,
        cell: (session) => linkCell(sessionLink(session.session), session.identity ? format.identityName(session.identity.name) : "no identity yet"),
      },
      { key: "device", label: "Device", value: (session) => session.device, text: (session) => session.device ?? format.UNKNOWN },
      {
        key: "room",
        label: "Room",
        value: (session) => session.room,
        cell: (session) => (session.room ? linkCell(roomLink(session.room), session.room) : textCell(format.UNKNOWN)),
      },
      { key: "quality", label: "Quality", value: (session) => ofSession(session), cell: (session) => qualityCell(ofSession(session), sessionWord(session)) },
      {
        key: "roundTrip",
        label: "Round trip",
        numeric: true,
        value: (session) => session.roundTripMilliseconds,
        text: (session) => format.milliseconds(session.roundTripMilliseconds),
      },
      { key: "bitrate", label: "Network carries", numeric: true, value: (session) => session.bitrate, text: (session) => format.bitRate(session.bitrate) },
      { key: "transport", label: "Over", value: (session) => session.transport },
      { key: "address", label: "Address", value: (session) => session.address },
      { key: "since", label: "Since", value: (session) => session.since, text: (session) => format.moment(session.since) },
    ],
  });
  #pager = new Pager("sessions", () => this.refresh());

  /** @param {import("./api.mjs").Api} api */
  constructor(api) {
    super((signal) => api.get(pagePath("/v1/sessions", { after: this.#pager.pages.after }), { signal }));
    this.content.append(element("p", {}, "In the order of their identifiers."), this.#table.node, this.#pager.node);
  }

  show(answer) {
    this.#table.update(answer.sessions);
    this.#pager.answered(answer.next, answer.sessions.length);
  }
}

/** What to say besides the level. */
function sessionWord(session) {
  if (session.state === "parked") return "connection lost";
  return session.congested ? "congested" : null;
}
