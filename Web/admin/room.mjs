/**
 * One room: who is in it, what is published, and how its receivers have it.
 */

import { confirm } from "./confirm.mjs";
import { element, section } from "./dom.mjs";
import * as format from "./format.mjs";
import { pagePath } from "./paging.mjs";
import { ofReception } from "./quality.mjs";
import { path, sessionLink } from "./routes.mjs";
import { linkCell, qualityCell, Table, textCell } from "./table.mjs";
import { DetailView, Facts, Pager } from "./view.mjs";

export class RoomView extends DetailView {
  #api;
  #room;
  #facts = new Facts();
  #participants = participantTable((participant) => this.#remove(participant));
  #participantPager = new Pager("participants", () => this.refresh());
  #streams = streamTable();
  #streamPager = new Pager("streams", () => this.refresh());
  #buffers = bufferTable();
  #bufferSection = section("Jitter buffers at the relay", this.#buffers.node);

  /** @param {import("./api.mjs").Api} api @param {string} room */
  constructor(api, room) {
    super((signal) => this.#load(signal), { gone: "There is no such room: it goes with its last participant." });
    this.#api = api;
    this.#room = room;
    this.title = `Room ${room}`;
    const end = element("button", { type: "button", class: "danger", "data-test": "end-room", on: { click: () => this.#end() } }, "End room …");
    this.content.append(
      element("div", { class: "actions" }, end),
      this.#facts.node,
      section("Participants", this.#participants.node, this.#participantPager.node),
      section("Streams", this.#streams.node, this.#streamPager.node),
      this.#bufferSection,
    );
  }

  async #load(signal) {
    const base = path`/v1/rooms/${this.#room}`;
    const [room, participants, streams] = await Promise.all([
      this.#api.get(base, { signal }),
      this.#api.get(pagePath(`${base}/participants`, { after: this.#participantPager.pages.after }), { signal }),
      this.#api.get(pagePath(`${base}/streams`, { after: this.#streamPager.pages.after }), { signal }),
    ]);
    return { room, participants, streams };
  }

  show({ room, participants, streams }) {
    this.#facts.update([
      ["Participants", format.count(room.participants)],
      ["In the lobby", format.count(room.waiting)],
      ["Streams", format.count(room.streams)],
      ["Door", room.locked ? "locked" : "open"],
    ]);
    const names = new Map(participants.participants.map((participant) => [participant.participant, nameOf(participant)]));
    this.#participants.update(participants.participants);
    this.#participantPager.answered(participants.next, participants.participants.length);
    this.#streams.update(streams.streams.map((stream) => ({ ...stream, publisher: names.get(stream.participant) ?? `participant ${stream.participant}` })));
    this.#streamPager.answered(streams.next, streams.streams.length);
    const buffers = streams.streams.flatMap((stream) => (stream.buffers ?? []).map((buffer, index) => ({ ...buffer, stream: stream.stream, index })));
    this.#buffers.update(buffers);
    this.#bufferSection.hidden = buffers.length === 0;
  }

  async #remove(participant) {
    const done = await confirm({
      title: `Take ${nameOf(participant)} out of the room?`,
      text: "Their session goes on, and they may join again if the policy lets them. To end the session, open it.",
      action: "Take out",
      perform: () => this.#api.act("DELETE", path`/v1/rooms/${this.#room}/participants/${participant.participant}`),
    });
    if (done) this.refresh();
  }

  async #end() {
    const done = await confirm({
      title: `End the room ${this.#room}?`,
      text: "Everybody in it and in its lobby is taken out at once. Their sessions go on, and they may join again if the policy lets them.",
      action: "End room",
      perform: () => this.#api.act("DELETE", path`/v1/rooms/${this.#room}`),
    });
    if (done) globalThis.location.hash = "#/rooms";
  }
}

/** What people call somebody: the name in the certificate is verified, the one they gave themselves stands behind it. */
function nameOf(participant) {
  const name = participant.identity ? format.identityName(participant.identity.name) : `participant ${participant.participant}`;
  return participant.displayName ? `${name} (“${participant.displayName}”)` : name;
}

function participantTable(remove) {
  return new Table({
    caption: "Participants",
    empty: "Nobody is here.",
    key: (participant) => String(participant.participant),
    columns: [
      {
        key: "who",
        label: "Who",
        header: true,
        value: nameOf,
        title: (participant) => participant.identity?.name,
        cell: (participant) =>
          participant.session ? linkCell(sessionLink(participant.session), nameOf(participant)) : textCell(nameOf(participant)),
      },
      { key: "role", label: "Role", value: (participant) => participant.role, text: (participant) => participant.role ?? format.UNKNOWN },
      { key: "state", label: "State", value: standing, text: standing },
      { key: "streams", label: "Streams", numeric: true, value: ({ streams }) => streams, text: ({ streams }) => format.count(streams) },
      { key: "device", label: "Device", value: (participant) => participant.device, text: (participant) => participant.device ?? format.UNKNOWN },
      { key: "address", label: "Address", value: (participant) => participant.address, text: (participant) => participant.address ?? format.UNKNOWN },
      { key: "since", label: "Session since", value: (participant) => participant.since, text: (participant) => format.moment(participant.since) },
      {
        key: "act",
        label: "Action",
        sortable: false,
        hiddenLabel: true,
        value: () => "",
        cell: (participant) => ({
          signature: nameOf(participant),
          make: () => {
            const name = `Take ${nameOf(participant)} out of the room …`;
            return element("button", { type: "button", "data-test": "take-out", "aria-label": name, on: { click: () => remove(participant) } }, "Take out …");
          },
        }),
      },
    ],
  });
}

function standing(participant) {
  const words = [];
  if (participant.waiting) words.push("in the lobby");
  if (participant.state === "parked") words.push("connection lost");
  if (participant.held) words.push("held");
  else if (participant.interrupted) words.push("interrupted");
  if (participant.muted?.length > 0) words.push(`muted (${participant.muted.join(", ")})`);
  return words.join(", ") || "there";
}

function streamTable() {
  const reception = (name, text) => ({ value: (stream) => stream.reception?.[name], text: (stream) => text(stream.reception?.[name]), numeric: true });
  return new Table({
    caption: "Streams",
    empty: "Nothing is published.",
    key: (stream) => String(stream.stream),
    columns: [
      { key: "stream", label: "Stream", header: true, value: (stream) => stream.stream },
      { key: "publisher", label: "Of", value: (stream) => stream.publisher },
      { key: "kind", label: "Kind", value: (stream) => stream.kind, text: (stream) => (stream.source ? `${stream.kind}, ${stream.source}` : stream.kind) },
      { key: "codec", label: "Codec", value: (stream) => stream.codec },
      { key: "quality", label: "Quality", value: (stream) => ofReception(stream.reception), cell: (stream) => qualityCell(ofReception(stream.reception)) },
      { key: "receivers", label: "Receivers", ...reception("receivers", format.count) },
      { key: "concealed", label: "Concealed", ...reception("concealedShare", format.share) },
      { key: "concealedMax", label: "Worst", ...reception("concealedShareMax", format.share) },
      { key: "late", label: "Late", ...reception("lateShare", format.share) },
      { key: "buffer", label: "Buffer", ...reception("bufferMilliseconds", format.milliseconds) },
      { key: "jitter", label: "Jitter, worst", ...reception("jitterMillisecondsMax", format.milliseconds) },
    ],
  });
}

function bufferTable() {
  const number = (key, label, text) => ({ key, label, numeric: true, value: (buffer) => buffer[key], text: (buffer) => text(buffer[key]) });
  return new Table({
    caption: "Jitter buffers at the relay",
    empty: "The relay has no jitter buffer of these streams.",
    key: (buffer) => `${buffer.stream} ${buffer.index}`,
    columns: [
      { key: "stream", label: "Stream", header: true, value: (buffer) => buffer.stream },
      {
        key: "delivery",
        label: "For",
        value: (buffer) => buffer.delivery,
        text: (buffer) => [buffer.delivery, buffer.profile, buffer.latePolicy && `late frames: ${buffer.latePolicy}`].filter(Boolean).join(", "),
      },
      number("levelMilliseconds", "Holds", format.milliseconds),
      number("targetMilliseconds", "Aims at", format.milliseconds),
      number("concealedShare", "Concealed", format.share),
      number("late", "Late packets", format.count),
      number("discarded", "Discarded", format.count),
      number("interruptions", "Gaps of 150 ms and more", format.count),
      number("driftPPM", "Clock of the publisher", format.partsPerMillion),
    ],
  });
}
