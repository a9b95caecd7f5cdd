/** Everything that a relay says is checked before it is believed: what is not as the protocol says is left out, and nothing throws. */

/** @param {unknown} value @returns {value is number} a number of 32 bits, as participants and streams have */
export function isU32(value) {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}

/** @param {unknown} value @param {number} min @param {number} max @returns {value is number} */
export function isNumber(value, min, max) {
  return typeof value === "number" && value >= min && value <= max;
}

/** @param {unknown} value @returns {value is Record<string, any>} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @returns {value is string} */
export function isText(value) {
  return typeof value === "string" && value.length > 0;
}

/** @param {unknown} value @returns {string[]} those of its entries that are text */
export function texts(value) {
  return Array.isArray(value) ? value.filter(isText) : [];
}

/** @param {unknown} value @param {number} fallback @param {number} min @param {number} max @returns {number} */
export function numberOr(value, fallback, min, max) {
  return isNumber(value, min, max) ? value : fallback;
}

/**
 * @param {Record<string, unknown>} limits as a relay says them
 * @param {Record<string, number>} defaults for what it does not say
 * @returns {Record<string, number>}
 */
export function limitsFrom(limits, defaults) {
  const checked = { ...defaults };
  for (const name of Object.keys(checked)) checked[name] = numberOr(limits[name], checked[name], 1, 2 ** 32);
  return checked;
}

/** @param {string} text @returns {Record<string, any> | null} the object that a control message is; null for anything else */
export function parseControl(text) {
  try {
    const message = JSON.parse(text);
    return isObject(message) && isText(message.type) ? message : null;
  } catch {
    return null;
  }
}

/** A `welcome` is of use only with these. @param {Record<string, any>} message @returns {boolean} */
export function isWelcome(message) {
  return message.version === 1 && isText(message.session) && isObject(message.identity) && isObject(message.limits);
}
