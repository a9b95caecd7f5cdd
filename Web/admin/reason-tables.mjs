/**
 * Tables whose rows have a line of their last minutes: what happens for which reason, and what each event loop does.
 */

import * as format from "./format.mjs";
import { Sparkline } from "./sparkline.mjs";
import { Table } from "./table.mjs";

/** Lines by row, made when their row first comes. */
class Lines {
  #lines = new Map();

  /** The cell of a row's line. */
  cell(key, options) {
    if (!this.#lines.has(key)) this.#lines.set(key, new Sparkline(options));
    return { signature: key, make: () => this.#lines.get(key).node };
  }

  update(history) {
    for (const [key, line] of this.#lines) line.update(history.series(key));
  }
}

export class ReasonTable {
  #lines = new Lines();
  #table;
  #prefix;

  /** @param {{caption: string, prefix: "dropped"|"closes", unit: string, empty: string}} options `prefix`: of the series in the history */
  constructor({ caption, prefix, unit, empty }) {
    this.#prefix = prefix;
    this.#table = new Table({
      caption,
      empty,
      order: { key: "total", descending: true },
      key: (row) => row.reason,
      columns: [
        { key: "reason", label: "Reason", header: true, value: (row) => row.reason, text: (row) => format.words(row.reason) },
        { key: "rate", label: "Now", numeric: true, value: (row) => row.rate, text: (row) => format.perSecond(row.rate) },
        { key: "total", label: "Since the start", numeric: true, value: (row) => row.total, text: (row) => format.count(row.total) },
        {
          key: "line",
          label: "Last five minutes",
          sortable: false,
          value: () => "",
          cell: (row) => this.#lines.cell(`${prefix}:${row.reason}`, { name: `${format.words(row.reason)}, ${unit}`, format: format.perSecond, least: 1 }),
        },
      ],
    });
    this.node = this.#table.node;
  }

  /** @param {Record<string, number>} totals reasons that never happened are left out */
  update(totals, history) {
    const rates = history.change?.[this.#prefix] ?? {};
    const rows = Object.entries(totals)
      .filter(([, total]) => total > 0)
      .map(([reason, total]) => ({ reason, total, rate: rates[reason] ?? null }));
    this.#table.update(rows);
    this.#lines.update(history);
  }
}

export class LoopTable {
  #lines = new Lines();
  #table = new Table({
    caption: "Event loops",
    empty: "No event loop is told of.",
    order: { key: "loop", descending: false },
    key: (loop) => String(loop.loop),
    columns: [
      { key: "loop", label: "Loop", header: true, value: (loop) => loop.loop },
      { key: "connections", label: "Connections", numeric: true, value: (loop) => loop.connections, text: (loop) => format.count(loop.connections) },
      { key: "busy", label: "Busy", numeric: true, value: (loop) => loop.busyShare, text: (loop) => format.share(loop.busyShare) },
      {
        key: "line",
        label: "Last five minutes",
        sortable: false,
        value: () => "",
        cell: (loop) => this.#lines.cell(`busy:${loop.loop}`, { name: `Loop ${loop.loop}, share of time busy`, format: format.share, least: 1 }),
      },
      { key: "slow", label: "Slow turns (over 2 ms)", numeric: true, value: (loop) => loop.slow, text: (loop) => format.perSecond(loop.slow) },
      { key: "slowShare", label: "Of all turns", numeric: true, value: (loop) => loop.slowShare, text: (loop) => format.share(loop.slowShare) },
    ],
  });
  node = this.#table.node;

  update(loops, history) {
    const rates = history.change?.loops ?? new Map();
    this.#table.update(loops.map((loop) => ({ ...loop, ...rates.get(loop.loop) })));
    this.#lines.update(history);
  }
}
