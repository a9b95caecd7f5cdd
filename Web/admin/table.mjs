/**
 * A table whose rows keep their nodes: a row that stays is changed in place, so that focus, selection and a screen reader's place outlive each refresh.
 */

import { badge, element, setAttribute, setText } from "./dom.mjs";
import { nextOrder, sorted } from "./sorting.mjs";

/**
 * @typedef {{key: string, label: string, value: (row: object) => unknown, text?: (row: object) => string,
 *   cell?: (row: object) => {signature: string, make: () => Node},
 *   title?: (row: object) => string|undefined, numeric?: boolean, header?: boolean, prose?: boolean, sortable?: boolean, hiddenLabel?: boolean}} Column
 *   `value` is sorted by; `text` is shown (else the value); `cell` is for more than text: its node is made anew when `signature` changes.
 *   `prose` may be broken into lines.
 */

export class Table {
  #columns;
  #key;
  #body = element("tbody");
  #heads = new Map();
  #rows = new Map();
  #order;
  #data = [];
  #empty;

  /** @param {{caption: string, columns: Column[], key: (row: object) => string, order?: {key: string, descending: boolean}, empty: string}} options */
  constructor({ caption, columns, key, order = null, empty }) {
    this.#columns = columns;
    this.#key = key;
    this.#order = order;
    this.#empty = element("p", { class: "empty", hidden: true }, empty);
    const head = element("tr", {}, ...columns.map((column) => this.#head(column)));
    const table = element("table", {}, element("caption", { class: "visually-hidden" }, caption), element("thead", {}, head), this.#body);
    this.table = table;
    this.scroller = element("div", { class: "scroller" }, table);
    // A table that is wider than the page scrolls by itself, by keyboard too; one that fits is no stop on the way.
    new ResizeObserver(() => {
      const scrolls = this.scroller.scrollWidth > this.scroller.clientWidth;
      setAttribute(this.scroller, "tabindex", scrolls ? "0" : null);
      setAttribute(this.scroller, "role", scrolls ? "group" : null);
      setAttribute(this.scroller, "aria-label", scrolls ? caption : null);
    }).observe(table);
    this.node = element("div", {}, this.scroller, this.#empty);
    this.#showOrder();
  }

  #head(column) {
    const head = element("th", { scope: "col", class: column.numeric ? "number" : null });
    if (column.sortable === false) {
      head.append(element("span", { class: column.hiddenLabel ? "visually-hidden" : null }, column.label));
      return head;
    }
    const turn = () => {
      this.#order = nextOrder(this.#order, column.key, column.numeric);
      this.#showOrder();
      this.update(this.#data);
    };
    head.append(element("button", { type: "button", class: "sort", on: { click: turn } }, column.label));
    this.#heads.set(column.key, head);
    return head;
  }

  #showOrder() {
    for (const [key, head] of this.#heads) {
      setAttribute(head, "aria-sort", this.#order?.key === key ? (this.#order.descending ? "descending" : "ascending") : null);
    }
  }

  /** @param {object[]} data in the order of the relay, which holds until somebody chooses another */
  update(data) {
    this.#data = data;
    const column = this.#columns.find((column) => column.key === this.#order?.key);
    const ordered = column ? sorted(data, column.value, this.#order.descending) : data;
    const focused = document.activeElement;
    const seen = new Set();
    let place = this.#body.firstChild;
    for (const datum of ordered) {
      const key = this.#key(datum);
      if (seen.has(key)) continue;
      seen.add(key);
      const row = this.#rows.get(key) ?? this.#make(key);
      this.#fill(row, datum);
      // A node that is moved loses its focus, so nothing moves that is in its place.
      if (row.node === place) place = place.nextSibling;
      else this.#body.insertBefore(row.node, place);
    }
    for (const [key, row] of this.#rows) {
      if (seen.has(key)) continue;
      row.node.remove();
      this.#rows.delete(key);
    }
    // Rows that change places take their focus along.
    if (focused !== document.activeElement && this.#body.contains(focused)) focused.focus({ preventScroll: true });
    this.#empty.hidden = seen.size > 0;
    this.scroller.hidden = seen.size === 0;
  }

  #make(key) {
    const cells = this.#columns.map((column) =>
      column.header ? element("th", { scope: "row" }) : element("td", { class: column.numeric ? "number" : column.prose ? "prose" : null }),
    );
    const row = { node: element("tr", {}, ...cells), cells, signatures: new Array(cells.length) };
    this.#rows.set(key, row);
    return row;
  }

  #fill(row, datum) {
    this.#columns.forEach((column, index) => {
      const node = row.cells[index];
      if (column.title) setAttribute(node, "title", column.title(datum));
      if (!column.cell) {
        setText(node, column.text ? column.text(datum) : String(column.value(datum) ?? ""));
        return;
      }
      const { signature, make } = column.cell(datum);
      if (row.signatures[index] === signature) return;
      row.signatures[index] = signature;
      node.replaceChildren(make());
    });
  }
}

/** A cell of text alone, where others in its column are links. */
export function textCell(text) {
  return { signature: text, make: () => document.createTextNode(text) };
}

/** A cell that is a link. */
export function linkCell(href, text) {
  return { signature: `${href} ${text}`, make: () => element("a", { href }, text) };
}

/** A cell with how well something does. */
export function qualityCell(level, word = null) {
  const text = word ?? (level === "unknown" ? "not known yet" : level);
  return { signature: `${level} ${text}`, make: () => badge(level, text) };
}
