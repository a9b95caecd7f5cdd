// The stage: the grid with its pages, or one large tile with a strip of the others.

import { h, icon, iconButton, replaceChildren, roving, setText, show } from "../dom.mjs";
import { gridLayout, pageOf, stripLayout } from "../layout.mjs";
import { mainTile, promoteSpeakers, tilesOf } from "../people.mjs";
import { tileView } from "./tile.mjs";

const gap = 8;

/** @param {any} app */
export function stageView(app) {
  const { strings } = app;
  const words = strings.call;
  const grid = h("div.grid", { role: "group", "aria-label": words.stage, dataset: { test: "grid" } });
  const large = h("div.large", { role: "group", "aria-label": words.speaker });
  const strip = h("div.strip", { role: "group", "aria-label": words.strip });
  const speaker = h("div.spotlight", { dataset: { test: "spotlight" } }, large, strip);
  const previous = iconButton({ icon: "previous", label: words.previous, test: "previous", onclick: () => turn(-1) });
  const next = iconButton({ icon: "next", label: words.next, test: "next", onclick: () => turn(1) });
  const pageText = h("span", { role: "status" });
  const pager = h("div.pager", {}, previous, pageText, next);
  const alone = h("div.alone", {}, h("p", {}, words.alone), h("p.hint", {}, words.aloneHint),
    h("button.secondary", { type: "button", dataset: { test: "copy-link" }, onclick: () => void app.copyLink() }, icon("link"), h("span", {}, words.copyLink)));
  const space = h("div.space", {}, grid, speaker);
  const element = h("section.stage", { "aria-label": words.stage }, space, alone, pager);
  const refreshGrid = roving(grid, ".tile");
  const refreshStrip = roving(speaker, ".tile");
  /** @type {Map<string, ReturnType<typeof tileView>>} */
  const views = new Map();
  let size = { width: 0, height: 0 };
  let pages = 1;
  const observer = new ResizeObserver(([entry]) => {
    size = { width: Math.floor(entry.contentRect.width), height: Math.floor(entry.contentRect.height) };
    update(app.store.state);
  });
  observer.observe(space);
  element.addEventListener("focusin", tabStops);

  /** The buttons of the tile that has the focus are stops for Tab, those of all others are not. @param {FocusEvent} event */
  function tabStops(event) {
    const here = /** @type {Element} */ (event.target).closest?.(".tile");
    for (const button of element.querySelectorAll(".tile .corner button")) {
      /** @type {HTMLElement} */ (button).tabIndex = button.closest(".tile") === here ? 0 : -1;
    }
  }

  /** @param {number} by */
  function turn(by) {
    app.store.dispatch({ type: "page", page: Math.min(pages - 1, app.store.state.page + by) });
  }

  /** @param {import("../people.mjs").Tile} tile */
  function viewOf(tile) {
    const view = views.get(tile.key) ?? tileView(app, tile);
    views.set(tile.key, view);
    return view;
  }

  /** @param {import("../people.mjs").Tile[]} tiles @param {any} what */
  function place(tiles, what) {
    return tiles.map((tile) => {
      const view = viewOf(tile);
      view.update(tile, { ...what, judgement: app.monitor?.judgements.get(tile.person.id) });
      return view.element;
    });
  }

  /** @param {import("../people.mjs").Tile[]} tiles @param {any} state @param {Set<number>} speaking */
  function showGrid(tiles, state, speaking) {
    const layout = gridLayout({ count: tiles.length, ...size, gap });
    const ordered = promoteSpeakers(tiles, layout.perPage, app.call.speaking.spokeAt, speaking);
    const page = pageOf(ordered, state.page, layout.perPage);
    pages = page.pages;
    const elements = place(page.tiles, { speaking, pinned: state.pinned });
    for (const one of elements) Object.assign(one.style, { width: `${layout.tileWidth}px`, height: `${layout.tileHeight}px` });
    replaceChildren(grid, elements);
    setText(pageText, words.page(page.page + 1, pages));
    previous.disabled = page.page === 0;
    next.disabled = page.page >= pages - 1;
    refreshGrid();
    return new Set(page.tiles.map((tile) => tile.key));
  }

  /** @param {import("../people.mjs").Tile[]} tiles @param {any} state @param {Set<number>} speaking */
  function showSpeaker(tiles, state, speaking) {
    const main = mainTile(tiles, { pinned: state.pinned, speaking: app.call.speaking.speaking, last: state.mainKey });
    const rest = tiles.filter((tile) => tile !== main);
    const layout = stripLayout({ count: rest.length, ...size, gap });
    speaker.dataset.side = layout.side;
    const what = { speaking, pinned: state.pinned };
    const mainElements = main ? place([main], what) : [];
    const restElements = place(rest, what);
    for (const one of mainElements) Object.assign(one.style, { width: "", height: layout.mainHeight === null ? "" : `${layout.mainHeight}px` });
    for (const one of restElements) Object.assign(one.style, { width: `${layout.tileWidth}px`, height: `${layout.tileHeight}px` });
    replaceChildren(large, mainElements);
    replaceChildren(strip, restElements);
    show(strip, rest.length > 0);
    refreshStrip();
    if (main && main.key !== state.mainKey) queueMicrotask(() => app.store.dispatch({ type: "main", key: main.key }));
    return new Set(tiles.map((tile) => tile.key));
  }

  /** @param {import("../people.mjs").Tile[]} tiles @param {Set<string>} shown @param {boolean} paged */
  function measure(tiles, shown, paged) {
    app.call.tileHeights.clear();
    if (paged) return;
    for (const tile of tiles) {
      if (tile.person.me || tile.stream === null || !shown.has(tile.key)) continue;
      app.call.tileHeights.set(tile.stream, (views.get(tile.key)?.element.clientHeight ?? 0) * devicePixelRatio);
    }
  }

  /** @param {any} state */
  function update(state) {
    if (size.width === 0) return;
    const tiles = tilesOf(app.call.people(), { myScreen: state.self.screen });
    const speaking = new Set(/** @type {number[]} */ (app.call.speaking.speaking));
    const asGrid = state.view === "grid";
    show(grid, asGrid);
    show(speaker, !asGrid);
    const shown = asGrid ? showGrid(tiles, state, speaking) : showSpeaker(tiles, state, speaking);
    replaceChildren(asGrid ? large : grid, []);
    if (asGrid) replaceChildren(strip, []);
    const present = new Set(tiles.map((tile) => tile.key));
    for (const [key, view] of views) {
      if (!shown.has(key)) view.detach();
      if (present.has(key)) continue;
      view.close();
      view.element.remove();
      views.delete(key);
    }
    measure(tiles, shown, asGrid && pages > 1);
    show(pager, asGrid && pages > 1);
    show(alone, tiles.length <= 1);
    element.dataset.view = state.view;
  }

  return {
    element,
    update,
    close() {
      observer.disconnect();
      for (const view of views.values()) view.close();
      views.clear();
    },
  };
}
