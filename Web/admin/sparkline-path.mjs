/**
 * The geometry of a sparkline: from values to the `d` of an SVG path.
 */

/**
 * @param {Array<number|null>} values oldest first; null breaks the line
 * @param {{width: number, height: number, capacity?: number, least?: number}} box `capacity`: values in the whole width, the newest at the right edge.
 *   `least`: what the top stands for at least, so that noise about nothing is not drawn as mountains
 * @returns {{line: string, area: string, most: number}} `most`: what the top stands for; the bottom is zero
 */
export function sparklinePath(values, { width, height, capacity = values.length, least = 0 }) {
  let most = least;
  for (const value of values) if (value !== null && value > most) most = value;
  const step = capacity > 1 ? width / (capacity - 1) : 0;
  const first = width - step * (values.length - 1);
  // A pixel free at the top and bottom: half of the line's width would be cut off.
  const y = (value) => (most > 0 ? height - 1 - (Math.max(0, value) / most) * (height - 2) : height - 1);
  const runs = [];
  let run = null;
  values.forEach((value, index) => {
    if (value === null) {
      run = null;
      return;
    }
    if (run === null) runs.push((run = []));
    run.push([round(first + index * step), round(y(value))]);
  });
  const line = runs.map((points) => (points.length === 1 ? dot(points[0]) : polyline(points))).join("");
  const area = runs
    .filter((points) => points.length > 1)
    .map((points) => `${polyline(points)}L${points.at(-1)[0]} ${height}L${points[0][0]} ${height}Z`)
    .join("");
  return { line, area, most };
}

function polyline(points) {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
}

/** A line of no length, which round caps show as a dot. */
function dot([x, y]) {
  return `M${x} ${y}h0`;
}

function round(value) {
  return Math.round(value * 100) / 100;
}
