// Choosing devices: the same three pickers before joining and in the call.

import { h, setText, show } from "../dom.mjs";

/**
 * @param {any} app
 * @param {{prefix: string, more?: any[]}} options `prefix` keeps ids apart where two sets of pickers are in the page, `more` goes before the other options
 */
export function devicePickers(app, { prefix, more = [] }) {
  const words = app.strings.prejoin;
  const microphone = picker(app, { id: `${prefix}-microphone`, what: "microphone", label: words.microphone });
  const camera = picker(app, { id: `${prefix}-camera`, what: "camera", label: words.camera });
  const output = picker(app, { id: `${prefix}-output`, what: "output", label: words.output });
  const test = h("button.quiet", { type: "button", dataset: { test: "sound-test" }, onclick: () => void app.testSound() }, words.test);
  const checkbox = (/** @type {string} */ test, /** @type {(checked: boolean) => void} */ set) => {
    const box = h("input", { type: "checkbox", id: `${prefix}-${test}`, dataset: { test }, onchange: () => set(box.checked) });
    return box;
  };
  const original = checkbox("original", (checked) => void app.own.setOriginalSound(checked));
  const sharp = checkbox("hd", (checked) => void app.own.setHighDefinition(checked));
  const options = h("details.options", {}, h("summary", { dataset: { test: "options" } }, words.options), ...more,
    h("div.check", {}, sharp, h("label", { for: `${prefix}-hd` }, words.highDefinition)),
    h("div.check", {}, original, h("label", { for: `${prefix}-original` }, words.original)));
  const element = h("div.pickers", {}, microphone.element, camera.element, output.element, test, options);
  return {
    element,
    /** @param {any} state */
    update({ devices }) {
      microphone.update(devices.microphones, app.devices.microphone?.getSettings?.().deviceId ?? app.choices.text("microphone"));
      camera.update(devices.cameras, app.devices.camera?.getSettings?.().deviceId ?? app.choices.text("camera"));
      show(output.element, devices.outputSelection);
      output.update([{ id: "", label: words.systemOutput }, ...devices.speakers], app.choices.text("output") ?? "");
      original.checked = app.devices.original;
      sharp.checked = app.devices.highDefinition;
    },
  };
}

/** @param {any} app @param {{id: string, what: "microphone"|"camera"|"output", label: string}} options */
function picker(app, { id, what, label }) {
  const select = h("select", { id, dataset: { test: `pick-${what}` }, onchange: () => void app.own.choose(what, select.value) });
  let shown = "";
  return {
    element: h("div.field", {}, h("label.label", { for: id }, label), select),
    /** @param {Array<{id: string, label: string}>} devices @param {string|null} chosen */
    update(devices, chosen) {
      const key = JSON.stringify(devices);
      if (key !== shown) {
        shown = key;
        const options = devices.length > 0 ? devices : [{ id: "", label: app.strings.prejoin.noDevice }];
        select.replaceChildren(...options.map((device) => h("option", { value: device.id }, device.label)));
        select.disabled = devices.length === 0;
      }
      if (chosen !== null && devices.some((device) => device.id === chosen)) select.value = chosen;
    },
  };
}

/** A level meter. @param {string} label */
export function levelMeter(label) {
  const bar = h("div.bar");
  const element = h(
    "div.meter",
    { role: "meter", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": "0", dataset: { test: "level" } },
    bar,
  );
  let spoken = -1;
  return {
    element,
    /** @param {number} share 0 to 1 */
    set(share) {
      bar.style.transform = `scaleX(${share.toFixed(3)})`;
      const value = Math.round(share * 10) * 10;
      if (value !== spoken) element.setAttribute("aria-valuenow", String(value));
      spoken = value;
    },
  };
}

/** A line that says what is wrong, with a sign. @param {(text: string) => any} make */
export function problemLine(make) {
  const line = h("p.problem", { role: "alert" });
  return {
    element: line,
    /** @param {string|null} text */
    set(text) {
      show(line, Boolean(text));
      if (text && line.dataset.text !== text) {
        line.dataset.text = text;
        line.replaceChildren(make("warning"), h("span", {}, text));
      }
      if (!text) setText(line, "");
      if (!text) delete line.dataset.text;
    },
  };
}
