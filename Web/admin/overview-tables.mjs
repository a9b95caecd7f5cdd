/**
 * Tables of rooms, certificates and nodes.
 */

import { judge, remedy } from "./certificates.mjs";
import { badge } from "./dom.mjs";
import * as format from "./format.mjs";
import { roomLink, sessionLink } from "./routes.mjs";
import { linkCell, Table, textCell } from "./table.mjs";

export function roomTable({ caption, empty, order }) {
  return new Table({
    caption,
    empty,
    order,
    key: (room) => room.name,
    columns: [
      { key: "name", label: "Room", header: true, value: (room) => room.name, cell: (room) => linkCell(roomLink(room.name), room.name) },
      { key: "participants", label: "Participants", numeric: true, value: (room) => room.participants, text: (room) => format.count(room.participants) },
      { key: "waiting", label: "In the lobby", numeric: true, value: (room) => room.waiting, text: (room) => format.count(room.waiting) },
      { key: "streams", label: "Streams", numeric: true, value: (room) => room.streams, text: (room) => format.count(room.streams) },
      { key: "locked", label: "Locked", value: (room) => Boolean(room.locked), text: (room) => (room.locked ? "locked" : "open") },
    ],
  });
}

const LEVELS = { ended: "ended", critical: "critical", warning: "warning", good: "good", unknown: "unknown" };

export function certificateTable() {
  const judged = (certificate) => judge(certificate, certificate.now);
  return new Table({
    caption: "Certificates, the soonest to end first",
    empty: "No certificate is told of.",
    key: (certificate) => `${certificate.what} ${certificate.name} ${certificate.notAfter} ${certificate.session ?? ""}`,
    columns: [
      {
        key: "name",
        label: "Certificate",
        header: true,
        value: (certificate) => certificate.name,
        title: (certificate) => certificate.name,
        cell: (certificate) => {
          const name = format.identityName(certificate.name);
          return certificate.session ? linkCell(sessionLink(certificate.session), name) : textCell(name);
        },
      },
      {
        key: "left",
        label: "Left",
        value: (certificate) => certificate.notAfter,
        cell: (certificate) => {
          const { level, text } = judged(certificate);
          return { signature: `${level} ${text}`, make: () => badge(LEVELS[level], text) };
        },
      },
      { key: "what", label: "Of", value: (certificate) => certificate.what, text: (certificate) => WHAT[certificate.what] ?? format.words(certificate.what) },
      { key: "notAfter", label: "Ends", value: (certificate) => certificate.notAfter, text: (certificate) => format.moment(certificate.notAfter) },
      {
        key: "remedy",
        label: "What to do",
        prose: true,
        sortable: false,
        value: () => "",
        text: (certificate) => (judged(certificate).level === "good" ? "" : remedy(certificate.what)),
      },
    ],
  });
}

const WHAT = { server: "this relay", authority: "an authority", client: "a client" };

/** A node's state in the cluster; what is not known here is shown as it is, without a colour. */
const NODE_LEVELS = { up: "good", suspect: "warning", draining: "warning", left: "neutral", down: "critical" };

export function nodeTable() {
  return new Table({
    caption: "Nodes of the cluster",
    empty: "This relay is no part of a cluster.",
    key: (node) => node.node,
    columns: [
      { key: "node", label: "Node", header: true, value: (node) => node.node },
      {
        key: "state",
        label: "State",
        value: (node) => node.state,
        cell: (node) => ({ signature: node.state, make: () => badge(NODE_LEVELS[node.state] ?? "neutral", format.words(node.state)) }),
      },
    ],
  });
}
