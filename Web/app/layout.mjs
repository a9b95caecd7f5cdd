// Where tiles go: arithmetic only. Lengths are CSS pixels.

/** The most tiles on one page of the grid. */
export const tilesPerPageMax = 25;

/** No tile is narrower, as long as paging can help: a face of fewer pixels tells nothing. */
export const tileWidthMin = 132;

/**
 * @typedef {{columns: number, rows: number, tileWidth: number, tileHeight: number, perPage: number, pages: number}} GridLayout
 */

/**
 * The grid that gives tiles the largest area in a space. Wide spaces keep 16:9; tall ones (a phone held upright) may have tiles as tall as 4:5, since the
 * space would lie empty otherwise.
 * @param {{count: number, width: number, height: number, gap?: number, perPageMax?: number}} space
 * @returns {GridLayout}
 */
export function gridLayout({ count, width, height, gap = 8, perPageMax = tilesPerPageMax }) {
  const wanted = Math.max(1, Math.floor(count));
  let perPage = Math.min(wanted, perPageMax);
  let grid = bestGrid(perPage, width, height, gap);
  while (grid.tileWidth < Math.min(tileWidthMin, width) && perPage > 1) {
    perPage -= 1;
    grid = bestGrid(perPage, width, height, gap);
  }
  return { ...grid, perPage, pages: Math.ceil(wanted / perPage) };
}

/** Of grids whose tiles are about as large, the one with the fewest rows is taken: people side by side look at each other. */
const nearlyBest = 0.94;

/** @param {number} count @param {number} width @param {number} height @param {number} gap */
function bestGrid(count, width, height, gap) {
  const aspectMax = 16 / 9;
  const aspectMin = height > width ? 4 / 5 : aspectMax;
  /** @type {Array<{columns: number, rows: number, tileWidth: number, tileHeight: number}>} */
  const grids = [{ columns: 1, rows: count, tileWidth: 0, tileHeight: 0 }];
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const cellWidth = (width - gap * (columns - 1)) / columns;
    const cellHeight = (height - gap * (rows - 1)) / rows;
    if (cellWidth <= 0 || cellHeight <= 0) continue;
    const aspect = Math.min(aspectMax, Math.max(aspectMin, cellWidth / cellHeight));
    const tileWidth = Math.floor(Math.min(cellWidth, cellHeight * aspect));
    const tileHeight = Math.floor(Math.min(cellHeight, tileWidth / aspect));
    grids.push({ columns, rows, tileWidth, tileHeight });
  }
  const area = (/** @type {{tileWidth: number, tileHeight: number}} */ grid) => grid.tileWidth * grid.tileHeight;
  const enough = Math.max(...grids.map(area)) * nearlyBest;
  return grids.filter((grid) => area(grid) >= enough).at(-1) ?? grids[0];
}

/**
 * Which tiles are on a page. A page beyond the last one is the last one.
 * @template T @param {T[]} tiles @param {number} page from 0 @param {number} perPage
 * @returns {{tiles: T[], page: number, pages: number}}
 */
export function pageOf(tiles, page, perPage) {
  const pages = Math.max(1, Math.ceil(tiles.length / perPage));
  const at = Math.min(Math.max(0, page), pages - 1);
  return { tiles: tiles.slice(at * perPage, (at + 1) * perPage), page: at, pages };
}

/** Tiles of the strip are this high at least. */
export const stripTileHeightMin = 72;

/**
 * Where the strip of speaker view goes and how large its tiles are: below in wide spaces too, since the large picture is 16:9 as well and the height is
 * what is scarce only on very wide ones. On a phone held upright the others fill what the large picture leaves.
 * Tiles shrink, down to a bound, so that all are seen; beyond that the strip scrolls.
 * @param {{count: number, width: number, height: number, gap?: number}} space
 * @returns {{side: "bottom"|"right"|"under", mainHeight: number|null, tileWidth: number, tileHeight: number, visible: number}}
 */
export function stripLayout({ count, width, height, gap = 8 }) {
  const aspect = 16 / 9;
  if (height > width * 1.3 && count > 0) {
    const mainHeight = Math.floor(Math.min(height * 0.58, width * 0.95));
    const grid = gridLayout({ count, width, height: height - mainHeight - gap, gap });
    return { side: "under", mainHeight, tileWidth: grid.tileWidth, tileHeight: grid.tileHeight, visible: grid.perPage };
  }
  const side = width / Math.max(1, height) > 2.1 ? "right" : "bottom";
  const length = side === "right" ? height : width;
  const share = (length - gap * Math.max(0, count - 1)) / Math.max(1, count);
  const largest = Math.min(124, Math.max(stripTileHeightMin, height * 0.18));
  const fitting = side === "right" ? share : share / aspect;
  const tileHeight = Math.floor(Math.min(largest, Math.max(stripTileHeightMin, fitting)));
  const tileWidth = Math.floor(tileHeight * aspect);
  const tile = side === "right" ? tileHeight : tileWidth;
  return { side, mainHeight: null, tileWidth, tileHeight, visible: Math.max(1, Math.floor((length + gap) / (tile + gap))) };
}
