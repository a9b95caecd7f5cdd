/**
 * The order of a table's rows by one column.
 */

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Numbers by size, text as people count (`room 2` before `room 10`), true before false; what is not known is last either way. */
export function compare(one, other, descending = false) {
  const missing = [isMissing(one), isMissing(other)];
  if (missing[0] || missing[1]) return Number(missing[0]) - Number(missing[1]);
  let order;
  if (typeof one === "number" && typeof other === "number") order = one - other;
  else if (typeof one === "boolean" && typeof other === "boolean") order = Number(other) - Number(one);
  else order = collator.compare(String(one), String(other));
  return descending ? -order : order;
}

function isMissing(value) {
  return value === undefined || value === null || value === "" || (typeof value === "number" && Number.isNaN(value));
}

/**
 * A sorted copy; rows that are equal keep their order.
 * @param {Array<object>} rows
 * @param {(row: object) => unknown} value of the column
 */
export function sorted(rows, value, descending = false) {
  return [...rows].sort((one, other) => compare(value(one), value(other), descending));
}

/** The order after a click on a column's head: a new column begins ascending, numbers descending (the largest matter), and a second click turns it. */
export function nextOrder(current, key, numeric = false) {
  if (current?.key === key) return { key, descending: !current.descending };
  return { key, descending: numeric };
}
