/**
 * Elements without markup in strings: the page's policy (trusted types) allows no other way, and nothing that a client calls itself is ever parsed.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} name of the element
 * @param {Record<string, unknown>} attributes `class`, `aria-…` and so on; `on` holds listeners by event; undefined, null and false are left out,
 *   true is empty
 * @param {...(Node|string|null)} children
 */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same of SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Sets text only when it changes, so that selections, screen readers and the layout are left alone. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

/**
 * A word with a colour. The word says it all; the colour helps to find it.
 * @param {"good"|"fair"|"warning"|"poor"|"critical"|"ended"|"unknown"|"neutral"} level
 */
export function badge(level, text) {
  return element("span", { class: `badge ${level}` }, text);
}

/** A part of the page with a heading that screen readers can jump to. */
export function section(title, ...children) {
  const id = `section-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return element("section", { "aria-labelledby": id }, element("h2", { id }, title), ...children);
}
