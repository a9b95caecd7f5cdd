/**
 * The whole relay on one page, from what `GET /v1/live` tells.
 */

import { certificateTable, nodeTable, roomTable } from "./overview-tables.mjs";
import { element, section } from "./dom.mjs";
import * as format from "./format.mjs";
import { ofDroppedShare } from "./quality.mjs";
import { ReasonTable, LoopTable } from "./reason-tables.mjs";
import { total } from "./rates.mjs";
import { Tile, tiles } from "./tiles.mjs";
import { byEnd } from "./certificates.mjs";

const QUALITY_WORDS = { good: "good: hardly anything is dropped", fair: "fair: some frames are dropped", poor: "poor: many frames are dropped", unknown: "" };

export class OverviewView {
  title = "Overview";
  #tiles = {
    participants: new Tile({ name: "Participants", format: format.count, spark: true, test: "participants" }),
    rooms: new Tile({ name: "Rooms", test: "rooms" }),
    streams: new Tile({ name: "Streams", test: "streams" }),
    sessions: new Tile({ name: "Sessions", test: "sessions" }),
    connections: new Tile({ name: "Connections", format: format.count, spark: true, test: "connections" }),
    delivered: new Tile({ name: "Frames delivered", format: format.perSecond, spark: true, test: "delivered" }),
    bytes: new Tile({ name: "Media sent", format: (value) => format.bitRate(value * 8), spark: true, test: "bytes" }),
    dropped: new Tile({ name: "Frames dropped", format: format.share, spark: true, least: 0.001, test: "dropped" }),
    cpu: new Tile({ name: "Processor", format: format.share, spark: true, least: 0.1, test: "cpu" }),
    memory: new Tile({ name: "Memory", format: format.bytes, spark: true, test: "memory" }),
  };
  #loops = new LoopTable();
  #drops = new ReasonTable({ caption: "Frames dropped, by reason", prefix: "dropped", unit: "frames", empty: "Nothing was dropped since the relay started." });
  #closes = new ReasonTable({ caption: "WebSockets that ended, by reason", prefix: "closes", unit: "ends", empty: "Nothing has ended yet." });
  #rooms = roomTable({ caption: "The largest rooms", empty: "There is no room at the moment.", order: { key: "participants", descending: true } });
  #certificates = certificateTable();
  #nodes = nodeTable();
  #more = element("p", {}, element("a", { href: "#/rooms" }, "All rooms"), " · ", element("a", { href: "#/sessions" }, "All sessions"));
  #waiting = element("p", { class: "empty" }, "Waiting for the relay's first word …");
  #content = element(
    "div",
    { hidden: true },
    tiles(...Object.values(this.#tiles)),
    section("Rooms", this.#rooms.node, this.#more),
    section("Certificates near their end", this.#certificates.node),
    section("Event loops", this.#loops.node),
    section("Drops by reason", this.#drops.node),
    section("Closes by reason", this.#closes.node),
    section("Cluster", this.#nodes.node),
  );
  node = element("div", {}, this.#waiting, this.#content);

  start() {}

  stop() {}

  /** @param {object} overview @param {import("./history.mjs").History} history */
  overview(overview, history) {
    this.#waiting.hidden = true;
    this.#content.hidden = false;
    this.#showTiles(overview, history);
    this.#rooms.update(overview.roomsTop ?? []);
    this.#certificates.update(byEnd(overview.certificates).map((certificate) => ({ ...certificate, now: overview.time })));
    this.#loops.update(overview.loops ?? [], history);
    this.#drops.update(overview.frames?.dropped ?? {}, history);
    this.#closes.update(overview.closes ?? {}, history);
    this.#nodes.update(overview.nodes ?? []);
  }

  #showTiles(overview, history) {
    const change = history.change;
    const show = this.#tiles;
    show.participants.update(format.count(overview.participants), { series: history.series("participants") });
    show.rooms.update(format.count(overview.rooms));
    show.streams.update(format.count(overview.streams));
    const { connected, parked } = overview.sessions ?? {};
    show.sessions.update(format.count(connected), { note: parked > 0 ? `${format.count(parked)} more wait for their client to come back` : "" });
    show.connections.update(format.count(overview.connections), { series: history.series("connections") });
    show.delivered.update(format.perSecond(change?.framesDelivered), {
      note: `${format.perSecond(change?.framesIn)} come in`,
      series: history.series("framesDelivered"),
    });
    show.bytes.update(format.bitRate(isKnown(change?.bytes) ? change.bytes * 8 : null), { series: history.series("bytes") });
    const quality = ofDroppedShare(change?.droppedShare);
    show.dropped.update(format.share(change?.droppedShare), {
      note: QUALITY_WORDS[quality] || `${format.shortCount(total(overview.frames?.dropped))} since the start`,
      series: history.series("droppedShare"),
      level: quality,
    });
    const cores = overview.loops?.length ?? 0;
    show.cpu.update(format.share(overview.cpuShare), { note: `of one core; ${format.plural(cores, "event loop")}`, series: history.series("cpuShare") });
    show.memory.update(format.bytes(overview.residentBytes), { series: history.series("residentBytes") });
  }
}

function isKnown(value) {
  return value !== null && value !== undefined;
}
