/**
 * One session: its connection, its clock, where its frames went, and what it reports of what it receives.
 */

import { confirm } from "./confirm.mjs";
import { element, section } from "./dom.mjs";
import * as format from "./format.mjs";
import { ofReport, ofSession } from "./quality.mjs";
import { rate, shareOf } from "./rates.mjs";
import { path, roomLink } from "./routes.mjs";
import { qualityCell, Table } from "./table.mjs";
import { DetailView, Facts } from "./view.mjs";

/** Where frames end, in words (PROTOCOL.md 11). */
const DISPOSITIONS = [
  ["delivered", "handed to the network"],
  ["expired", "its deadline passed, or the lane needed the room"],
  ["superseded", "video after a loss, up to the next key frame"],
  ["unsubscribed", "queued when it let go or left"],
  ["interrupted", "queued when its audio session or its playback stopped"],
  ["refused", "no room in the lane"],
  ["pending", "queued at the moment"],
];

export class SessionView extends DetailView {
  #api;
  #session;
  #before = null;
  #summary = new Facts();
  #connection = new Facts();
  #clock = new Facts();
  #audio = new Facts();
  #audioSection = section("Audio session", this.#audio.node);
  #frames = frameTable();
  #reports = reportTable();
  #room = element("a", { href: "#/rooms" });
  #roomLine = element("p", { hidden: true }, "In the room ", this.#room);

  /** @param {import("./api.mjs").Api} api @param {string} session */
  constructor(api, session) {
    super((signal) => api.get(path`/v1/sessions/${session}`, { signal }), { gone: "There is no such session (any more)." });
    this.#api = api;
    this.#session = session;
    this.title = "Session";
    const close = element("button", { type: "button", class: "danger", "data-test": "close-session", on: { click: () => this.#close() } }, "Close session …");
    this.content.append(
      element("div", { class: "actions" }, close),
      this.#summary.node,
      this.#roomLine,
      section("Connection", this.#connection.node),
      section("Clock and round trips", this.#clock.node),
      section("Frames by what became of them", this.#frames.node),
      section("Receiver reports", this.#reports.node),
      this.#audioSection,
    );
  }

  show(session) {
    const level = ofSession(session);
    this.#summary.update([
      ["Identity", session.identity ? session.identity.name : "none proven yet"],
      ["Proof", session.identity?.proof ?? null],
      ["Key", session.identity?.fingerprint ?? null],
      ["Device", session.device ?? null],
      ["Quality", level === "unknown" ? "not known yet" : level],
      ["Since", format.moment(session.since)],
      ["Identifier", session.session],
    ]);
    this.#roomLine.hidden = session.room === undefined;
    if (session.room !== undefined) {
      this.#room.href = roomLink(session.room);
      this.#room.textContent = session.room;
    }
    this.#showConnection(session);
    this.#showAudio(session.audioSession);
    this.#showFrames(session.frames);
    this.#reports.update(session.reports ?? []);
  }

  #showConnection(session) {
    const known = (value, text) => (value === undefined ? null : text(value));
    this.#connection.update([
      ["State", session.state === "parked" ? "lost; kept for its client to come back" : "connected"],
      ["Address", session.address],
      ["Over", session.transport],
      ["Event loop", String(session.loop)],
      ["Network carries", known(session.bitrate, format.bitRate)],
      ["Congestion", known(session.congested, (congested) => (congested ? "the network carries less than is due" : "none"))],
      ["Not sent yet", known(session.notSentBytes, format.bytes)],
      ["Round trip of TCP", known(session.tcpRoundTripMilliseconds, format.milliseconds)],
    ]);
    this.#clock.update([
      ["Round trip of pings", format.milliseconds(session.roundTripMilliseconds)],
      ["Least", known(session.roundTripMillisecondsMin, format.milliseconds)],
      ["Client's clock ahead by", known(session.clockOffsetMilliseconds, format.milliseconds)],
      ["Sure to", known(session.clockUncertaintyMilliseconds, (value) => `± ${format.milliseconds(value)}`)],
      ["Client's clock faster by", known(session.clockDriftPPM, format.partsPerMillion)],
    ]);
  }

  #showAudio(audio) {
    this.#audioSection.hidden = audio === undefined;
    if (audio === undefined) return;
    this.#audio.update([
      ["State", audio.paused ? `${audio.state}, paused` : audio.state],
      ["Category", audio.category],
      ["Mode", audio.mode],
      ["Held", audio.held ? "yes" : "no"],
      ["Interrupted by", audio.interruption ? `${format.words(audio.interruption.reason)}${audio.interruption.own ? " (its own)" : ""}` : null],
      ["Inputs", audio.route ? audio.route.inputs.join(", ") || "none" : null],
      ["Outputs", audio.route ? audio.route.outputs.join(", ") || "none" : null],
    ]);
  }

  #showFrames(frames) {
    const now = performance.now();
    const seconds = this.#before ? (now - this.#before.at) / 1000 : NaN;
    const rows = DISPOSITIONS.map(([name, meaning]) => ({
      name,
      meaning,
      count: frames?.[name],
      share: shareOf(frames?.[name], frames?.entered),
      rate: name === "pending" ? null : rate(this.#before?.frames?.[name], frames?.[name], seconds),
    }));
    this.#before = { at: now, frames };
    this.#frames.update(frames ? rows : []);
  }

  async #close() {
    const done = await confirm({
      title: "Close this session?",
      text:
        "Its WebSocket is closed with 1008 admin, and it leaves its room. A client may connect again with the same certificate; " +
        "to keep it out, revoke that.",
      action: "Close session",
      perform: () => this.#api.act("DELETE", path`/v1/sessions/${this.#session}`),
    });
    if (done) globalThis.location.hash = "#/sessions";
  }
}

function frameTable() {
  return new Table({
    caption: "Frames due to this session",
    empty: "No frame was due to it.",
    key: (row) => row.name,
    columns: [
      { key: "name", label: "What became of them", header: true, sortable: false, value: (row) => row.name },
      { key: "count", label: "Frames", numeric: true, sortable: false, value: (row) => row.count, text: (row) => format.count(row.count) },
      { key: "share", label: "Share", numeric: true, sortable: false, value: (row) => row.share, text: (row) => format.share(row.share) },
      { key: "rate", label: "Now", numeric: true, sortable: false, value: (row) => row.rate, text: (row) => format.perSecond(row.rate) },
      { key: "meaning", label: "Meaning", prose: true, sortable: false, value: (row) => row.meaning },
    ],
  });
}

function reportTable() {
  const number = (key, label, text) => ({ key, label, numeric: true, value: (report) => report[key], text: (report) => text(report[key]) });
  return new Table({
    caption: "What the session reports of the streams that it receives",
    empty: "It has reported nothing.",
    key: (report) => String(report.stream),
    columns: [
      { key: "stream", label: "Stream", header: true, value: (report) => report.stream },
      { key: "quality", label: "Quality", value: (report) => ofReport(report), cell: (report) => qualityCell(ofReport(report)) },
      number("received", "Received", format.count),
      number("played", "Played", format.count),
      number("concealedShare", "Concealed", format.share),
      number("lateShare", "Late", format.share),
      number("bufferMilliseconds", "Buffer", format.milliseconds),
      number("jitterMilliseconds", "Jitter", format.milliseconds),
      number("bitrate", "Bit rate", format.bitRate),
    ],
  });
}
