// Builds the page's elements. The page is served under a strict content security policy with trusted types: there is no innerHTML, no inline style or
// handler anywhere; text comes in as text nodes only, so what a participant writes can never become markup.

import { icons } from "./icons.mjs";

const svgNamespace = "http://www.w3.org/2000/svg";

/**
 * Makes an element.
 * @param {string} selector the tag, then classes: `"button.primary"`
 * @param {Record<string, any>} [properties] `on…` are listeners, `dataset` an object, `style` an object set through the CSSOM; `true` is an empty attribute,
 *   `false`, `null` and `undefined` are none
 * @param {...(Node|string|null|undefined|false|Array<any>)} children
 * @returns {any} the element
 */
export function h(selector, properties = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties)) setProperty(element, name, value);
  append(element, children);
  return element;
}

/** @param {HTMLElement} element @param {string} name @param {any} value */
function setProperty(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "dataset") Object.assign(element.dataset, value);
  else if (name === "style") Object.assign(element.style, value);
  else if (name === "value" || name === "checked" || name === "muted" || name === "srcObject") /** @type {any} */ (element)[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** @param {Node} parent @param {Array<any>} children */
function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

/**
 * Puts other children into an element; nothing happens when they are the same nodes in the same order, so that focus and playing video survive.
 * @param {Element} parent @param {Array<Node>} children
 */
export function replaceChildren(parent, children) {
  const same = parent.childNodes.length === children.length && children.every((child, index) => parent.childNodes[index] === child);
  if (!same) parent.replaceChildren(...children);
}

/** Sets text only when it differs: a live region or a selection is not disturbed. @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {Element} element @param {string} name @param {string|boolean|null} value `false` and `null` take the attribute away */
export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value === true ? "" : value)) element.setAttribute(name, value === true ? "" : String(value));
}

/** Shows or hides. @param {HTMLElement} element @param {boolean} shown */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/**
 * A drawn icon of 24 × 24 units, invisible to screen readers: the label is beside it.
 * @param {keyof typeof icons} name
 */
export function icon(name) {
  const svg = document.createElementNS(svgNamespace, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  for (const data of icons[name]) {
    const path = document.createElementNS(svgNamespace, "path");
    path.setAttribute("d", data);
    svg.appendChild(path);
  }
  return svg;
}

/**
 * A button with an icon and a label that is either seen or only heard.
 * @param {{icon: keyof typeof icons, label: string, test?: string, kind?: string, visible?: boolean, onclick: (event: Event) => void, properties?: object}}
 * options
 */
export function iconButton({ icon: name, label, test, kind = "ghost", visible = false, onclick, properties = {} }) {
  return h(`button.${kind}${visible ? "" : ".round"}`, {
    type: "button", onclick, dataset: test ? { test } : {}, "aria-label": visible ? null : label, title: visible ? null : label, ...properties,
  }, icon(name), visible ? h("span", {}, label) : null);
}

/**
 * One stop for the Tab key in a row of controls, and the arrow keys, Home and End inside it (WAI-ARIA authoring practices, "roving tabindex").
 * @param {HTMLElement} container @param {string} selector which descendants take part
 */
export function roving(container, selector) {
  const items = () => /** @type {HTMLElement[]} */ ([...container.querySelectorAll(selector)])
    .filter((item) => !(/** @type {any} */ (item).disabled) && item.offsetParent !== null);
  const refresh = () => {
    const all = items();
    const current = all.find((item) => item.tabIndex === 0 && item === document.activeElement) ?? all.find((item) => item.tabIndex === 0) ?? all[0];
    for (const item of all) item.tabIndex = item === current ? 0 : -1;
  };
  container.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const all = items();
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0) return;
    let next = at;
    if (event.key in steps) next = (at + steps[/** @type {keyof steps} */ (event.key)] + all.length) % all.length;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = all.length - 1;
    else return;
    event.preventDefault();
    focusItem(all, next);
  });
  container.addEventListener("focusin", (event) => {
    const all = items();
    const at = all.indexOf(/** @type {HTMLElement} */ (event.target));
    if (at >= 0) for (const [index, item] of all.entries()) item.tabIndex = index === at ? 0 : -1;
  });
  return refresh;
}

/** @param {HTMLElement[]} items @param {number} at */
function focusItem(items, at) {
  for (const [index, item] of items.entries()) item.tabIndex = index === at ? 0 : -1;
  items[at].focus();
}
