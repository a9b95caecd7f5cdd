/**
 * Numbers, sizes and times as operators read them. English, with units; what is not known is an en dash.
 */

/** What stands where there is nothing to say. */
export const UNKNOWN = "–";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const significant = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/** @param {unknown} value */
export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** A count, whole, with separators: `12,345`. */
export function count(value) {
  return isNumber(value) ? whole.format(value) : UNKNOWN;
}

/** A count that fits a tile: `12,345` to 99,999, then `123 k`, `4.56 M`. */
export function shortCount(value) {
  if (!isNumber(value)) return UNKNOWN;
  return Math.abs(value) < 100_000 ? whole.format(value) : scaled(value, 1000, ["", " k", " M", " G", " T"]);
}

/** Something a second: three digits at most, `0.25`, `1,230`. */
export function perSecond(value) {
  if (!isNumber(value)) return UNKNOWN;
  return `${Math.abs(value) >= 100 ? whole.format(value) : significant.format(value)}/s`;
}

/** Bytes in binary multiples: `1.5 MiB`. */
export function bytes(value) {
  return isNumber(value) ? scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]) : UNKNOWN;
}

/** Bits a second in decimal multiples, as networks are sold: `1.2 Mbit/s`. */
export function bitRate(value) {
  return isNumber(value) ? scaled(value, 1000, [" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s"]) : UNKNOWN;
}

function scaled(value, base, units) {
  let unit = 0;
  let rest = value;
  // 999.5 and more would be written as 1,000.
  while (Math.abs(rest) >= base - base / 2000 && unit < units.length - 1) {
    rest /= base;
    unit += 1;
  }
  return `${Math.abs(rest) >= 100 ? whole.format(rest) : significant.format(rest)}${units[unit]}`;
}

/** A share from 0 to 1 as per cent: `0 %`, `0.05 %`, `12 %`; what is more than nothing is never shown as nothing. */
export function share(value) {
  if (!isNumber(value)) return UNKNOWN;
  const percent = value * 100;
  if (percent > 0 && percent < 0.01) return "< 0.01 %";
  return `${Math.abs(percent) >= 10 ? whole.format(percent) : new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 }).format(percent)} %`;
}

/** Milliseconds as they are: `12.3 ms`. */
export function milliseconds(value) {
  return isNumber(value) ? `${Math.abs(value) >= 100 ? whole.format(value) : significant.format(value)} ms` : UNKNOWN;
}

/** Parts per million, signed: clocks go ahead and lag. */
export function partsPerMillion(value) {
  return isNumber(value) ? `${value > 0 ? "+" : ""}${significant.format(value)} ppm` : UNKNOWN;
}

/** A length of time in its two largest units: `3 d 4 h`, `12 min 5 s`, `8 s`. */
export function duration(value) {
  if (!isNumber(value)) return UNKNOWN;
  const parts = [];
  let rest = Math.max(0, Math.floor(value / SECOND) * SECOND);
  for (const [length, unit] of [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]]) {
    const number = Math.floor(rest / length);
    rest -= number * length;
    if (number > 0 || (unit === "s" && parts.length === 0)) parts.push(`${number} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** A moment, in UTC so that operators in several places read the same: `2026-12-01 04:05:06 UTC`. */
export function moment(value) {
  if (!isNumber(value) || Math.abs(value) > 8.64e15) return UNKNOWN;
  return `${new Date(value).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A day: `2026-12-01`. */
export function day(value) {
  return isNumber(value) && Math.abs(value) <= 8.64e15 ? new Date(value).toISOString().slice(0, 10) : UNKNOWN;
}

/** The relay's stable words as people read them: `1008_no_hello` → `1008 no hello`. */
export function words(value) {
  return typeof value === "string" && value.length > 0 ? value.replaceAll("_", " ") : UNKNOWN;
}

/** What of a certificate's name says who it is: `urn:segue:client:alice` → `alice`; the whole name stays a tooltip. */
export function identityName(value) {
  if (typeof value !== "string" || value.length === 0) return UNKNOWN;
  const known = /^urn:segue:(?:client|server):(.+)$/.exec(value);
  return known ? known[1] : value;
}

/** How many of something: `1 room`, `3 rooms`. */
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
