// Before joining: see oneself, choose devices, watch the microphone's level, say one's name.

import { h, icon, iconButton, setAttribute, setText, show } from "../dom.mjs";
import { MicrophoneMeter } from "../meter.mjs";
import { meterShare } from "../quality.mjs";
import { roomTitle } from "../route.mjs";
import { devicePickers, levelMeter, problemLine } from "./pickers.mjs";
import { switchIcon } from "./switches.mjs";

/** @param {any} app */
export function prejoinView(app) {
  const { strings } = app;
  const words = strings.prejoin;
  const title = h("h1", { tabindex: "-1", dataset: { focus: "" } });
  const video = h("video.self", { autoplay: true, muted: true, playsinline: true, "aria-hidden": "true" });
  const off = h("p.off", {}, words.cameraOff);
  const microphone = iconButton({
    icon: "microphone", label: strings.call.microphoneOn, test: "mute", kind: "control", onclick: () => void app.own.toggleMute(),
  });
  const camera = iconButton({ icon: "camera", label: strings.call.cameraOn, test: "camera", kind: "control", onclick: () => void app.own.toggleCamera() });
  const meter = levelMeter(words.level);
  const hearing = h("p.hint.hearing");
  const name = h(
    "input",
    { id: "display-name", name: "name", autocomplete: "name", maxlength: "48", dataset: { test: "name" }, "aria-describedby": "name-hint" },
  );
  const role = h("select", { id: "role", dataset: { test: "role" }, onchange: () => app.store.dispatch({ type: "role", role: role.value || null }) },
    Object.entries(words.roles).map(([value, label]) => h("option", { value }, label)));
  const pickers = devicePickers(app, { prefix: "prejoin", more: [h("div.field", {}, h("label.label", { for: "role" }, words.role), role)] });
  const microphoneProblem = problemLine(icon);
  const cameraProblem = problemLine(icon);
  const join = h("button.primary.large", { type: "submit", dataset: { test: "join" } }, words.join);
  const notes = h("ul.notes");
  const form = h("form.card.joining", { onsubmit: submit, novalidate: true },
    title, h("div.field", {}, h("label.label", { for: "display-name" }, words.name), name, h("p.hint", { id: "name-hint" }, words.nameHint)),
    pickers.element, microphoneProblem.element, cameraProblem.element, notes, join,
    h("button.quiet", { type: "button", dataset: { test: "back" }, onclick: () => app.toStart() }, words.back));
  const preview = h("section.preview", { "aria-label": words.camera }, h("div.mirror", {}, video, off, h("div.over", {}, microphone, camera)),
    h("div.levels", {}, icon("microphone"), meter.element), hearing);
  const element = h("main.screen.prejoin", {}, preview, form);
  name.value = app.choices.text("name") ?? "";
  let heard = false;
  const listener = new MicrophoneMeter((level) => {
    const muted = app.store.state.self.muted;
    meter.set(muted ? 0 : meterShare(level));
    heard ||= level > -50;
    setText(hearing, muted ? words.micOff : heard ? words.hearing : words.silent);
  });

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    app.choices.set("name", name.value.trim());
    void app.join(name.value.trim());
  }

  return {
    element,
    /** @param {any} state */
    update(state) {
      const listen = state.capabilities?.listenOnly ?? false;
      if (role.value !== (state.role ?? "")) role.value = state.role ?? "";
      setText(title, words.title(roomTitle(state.room, state.peer)));
      const track = state.self.camera ? app.devices.camera : null;
      if ((video.srcObject?.getVideoTracks()[0] ?? null) !== track) video.srcObject = track ? new MediaStream([track]) : null;
      show(video, Boolean(track));
      show(off, !track);
      setText(off, state.self.camera && !state.self.cameraProblem ? words.cameraStarting : words.cameraOff);
      listener.watch(app.devices.microphone);
      if (!app.devices.microphone) setText(hearing, "");
      switchIcon(
        microphone,
        {
          on: !state.self.muted && app.devices.microphone !== null, icons: ["microphone", "microphoneOff"],
          labels: [strings.call.microphoneOn, strings.call.microphoneOff],
        },
      );
      switchIcon(camera, { on: Boolean(track), icons: ["camera", "cameraOff"], labels: [strings.call.cameraOn, strings.call.cameraOff] });
      pickers.update(state);
      microphoneProblem.set(listen ? null : state.self.microphoneProblem);
      cameraProblem.set(listen ? null : state.self.cameraProblem);
      const why = state.capabilities?.why ?? [];
      show(notes, why.length > 0);
      if (notes.dataset.text !== why.join("\n")) {
        notes.dataset.text = why.join("\n");
        notes.replaceChildren(...why.map((/** @type {string} */ line) => h("li", {}, line)));
      }
      const busy = state.phase === "joining";
      setText(join, busy ? words.joining : listen ? words.listen : words.join);
      join.disabled = busy;
      setAttribute(join, "aria-busy", busy);
      for (const part of [pickers.element, preview]) show(part, !listen);
    },
    close: () => listener.close(),
  };
}
