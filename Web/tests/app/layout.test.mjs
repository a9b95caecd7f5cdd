import assert from "node:assert/strict";
import test from "node:test";
import { gridLayout, pageOf, stripLayout, stripTileHeightMin, tileWidthMin, tilesPerPageMax } from "../../app/layout.mjs";

const spaces = [[1280, 640], [1920, 980], [800, 600], [344, 600], [730, 280], [2400, 500]];

test("tiles of 1 to 25 participants fit, keep 16:9 in wide spaces, and never fall short of the best grid by more than the bound", () => {
  for (const [width, height] of spaces) {
    for (let count = 1; count <= 25; count += 1) {
      const grid = gridLayout({ count, width, height, gap: 8 });
      const label = `${count} in ${width} × ${height}`;
      assert.ok(grid.columns * grid.rows >= grid.perPage, label);
      assert.ok(grid.columns * grid.tileWidth + 8 * (grid.columns - 1) <= width, label);
      assert.ok(grid.rows * grid.tileHeight + 8 * (grid.rows - 1) <= height, label);
      if (width > height) assert.ok(Math.abs(grid.tileWidth / grid.tileHeight - 16 / 9) < 0.06, label);
      let best = 0;
      for (let columns = 1; columns <= grid.perPage; columns += 1) {
        const rows = Math.ceil(grid.perPage / columns);
        const cell = [(width - 8 * (columns - 1)) / columns, (height - 8 * (rows - 1)) / rows];
        const aspect = Math.min(16 / 9, Math.max(height > width ? 4 / 5 : 16 / 9, cell[0] / cell[1]));
        const tile = Math.min(cell[0], cell[1] * aspect);
        if (tile > 0) best = Math.max(best, (tile * tile) / aspect);
      }
      assert.ok(grid.tileWidth * grid.tileHeight >= best * 0.9, label);
    }
  }
});

test("known grids: columns and rows", () => {
  const table = [[1, 1, 1], [2, 2, 1], [3, 2, 2], [4, 2, 2], [5, 3, 2], [6, 3, 2], [9, 3, 3], [10, 4, 3], [12, 4, 3], [16, 4, 4], [25, 5, 5]];
  for (const [count, columns, rows] of table) {
    const grid = gridLayout({ count, width: 1256, height: 706, gap: 8 });
    assert.deepEqual([grid.columns, grid.rows], [columns, rows], `${count}`);
  }
});

test("a tall space stacks two and lets tiles be taller than 16:9", () => {
  const grid = gridLayout({ count: 2, width: 344, height: 660 });
  assert.deepEqual([grid.columns, grid.rows], [1, 2]);
  assert.ok(grid.tileHeight > grid.tileWidth * 0.9);
});

test("beyond 25, and where tiles would be narrower than the bound, there are pages", () => {
  const many = gridLayout({ count: 60, width: 1280, height: 640 });
  assert.deepEqual([many.perPage, many.pages], [tilesPerPageMax, 3]);
  const small = gridLayout({ count: 25, width: 344, height: 600 });
  assert.ok(small.tileWidth >= tileWidthMin);
  assert.equal(small.pages, Math.ceil(25 / small.perPage));
});

test("a space without an extent is no error", () => {
  const grid = gridLayout({ count: 4, width: 0, height: 0 });
  assert.equal(grid.tileWidth, 0);
});

test("a page beyond the last is the last", () => {
  assert.deepEqual(pageOf([1, 2, 3, 4, 5], 9, 2), { tiles: [5], page: 2, pages: 3 });
  assert.deepEqual(pageOf([], 0, 2), { tiles: [], page: 0, pages: 1 });
  assert.deepEqual(pageOf([1, 2, 3], -1, 2), { tiles: [1, 2], page: 0, pages: 2 });
});

test("the strip is below, beside on very wide spaces, under a squarish picture on tall ones; its tiles shrink to a bound", () => {
  assert.equal(stripLayout({ count: 3, width: 1280, height: 700 }).side, "bottom");
  assert.equal(stripLayout({ count: 3, width: 1280, height: 500 }).side, "right");
  const under = stripLayout({ count: 3, width: 344, height: 660 });
  assert.equal(under.side, "under");
  assert.ok(under.mainHeight > 300 && under.mainHeight < 400);
  const few = stripLayout({ count: 2, width: 1280, height: 700 });
  const some = stripLayout({ count: 7, width: 1280, height: 700 });
  const many = stripLayout({ count: 40, width: 1280, height: 700 });
  assert.ok(few.tileHeight > some.tileHeight && some.tileHeight > many.tileHeight);
  assert.equal(many.tileHeight, stripTileHeightMin);
  assert.ok(7 * some.tileWidth + 6 * 8 <= 1280);
});
