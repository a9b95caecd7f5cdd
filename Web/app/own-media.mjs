// One's own microphone, camera and screen: opened before joining, handed to the media engine in the call.

import { deviceMessage, refusals } from "./messages.mjs";

/** What keeps a device from being sent: the relay's refusal, or the browser's. @param {any} error @param {"microphone"|"camera"|"screen"} what */
function problemOf(error, what) {
  const code = typeof error?.code === "string" ? error.code : "";
  return Object.hasOwn(refusals, code) ? `${refusals[code].title}. ${refusals[code].text}` : deviceMessage(error, what);
}

export class OwnMedia {
  /**
   * @param {{store: any, devices: import("./devices.mjs").Devices, choices: import("./devices.mjs").Choices, announce: (text: string) => void, strings:
   * any}} options
   */
  constructor({ store, devices, choices, announce, strings }) {
    this.store = store;
    this.devices = devices;
    this.choices = choices;
    this.announce = announce;
    this.strings = strings;
    /** @type {any} */
    this.engine = null;
    /** @type {(muted: boolean) => void} */
    this.onMuted = () => {};
  }

  /** @param {object} change */
  set(change) {
    this.store.dispatch({ type: "self", change });
  }

  async refresh() {
    this.store.dispatch({ type: "devices", devices: await this.devices.list() });
  }

  /** Opens what the person had on last time; each by itself, since one may be refused without the other. */
  async begin() {
    const wantsCamera = this.choices.values.camera_on !== false;
    this.set({ camera: wantsCamera });
    await this.openMicrophone();
    if (wantsCamera) await this.openCamera();
    await this.refresh();
  }

  async openMicrophone() {
    try {
      const track = await this.devices.openMicrophone();
      track.addEventListener("ended", () => this.lost("microphone", track));
      this.set({ microphoneProblem: null });
      this.engine?.setMuted(this.store.state.self.muted);
      await this.engine?.setMicrophone(track);
    } catch (error) {
      this.set({ microphoneProblem: problemOf(error, "microphone") });
    }
  }

  async openCamera() {
    try {
      const track = await this.devices.openCamera();
      track.addEventListener("ended", () => this.lost("camera", track));
      this.set({ camera: true, cameraProblem: null });
      await this.engine?.setCamera(track);
    } catch (error) {
      this.set({ camera: false, cameraProblem: problemOf(error, "camera") });
      this.devices.closeCamera();
      if (this.engine) this.announce(problemOf(error, "camera"));
    }
    this.store.dispatch({ type: "touch" });
  }

  /** A device that was pulled or taken away. @param {"microphone"|"camera"} what @param {MediaStreamTrack} track */
  lost(what, track) {
    if (this.devices[what] !== track) return;
    const problem = deviceMessage({ name: "OverconstrainedError" }, what);
    if (what === "microphone") {
      this.devices.closeMicrophone();
      this.set({ microphoneProblem: problem });
    } else {
      this.devices.closeCamera();
      this.set({ camera: false, cameraProblem: problem });
      void this.engine?.setCamera(null);
    }
    this.announce(problem);
    void this.refresh();
  }

  /** Gives what is open to the engine of a call that has begun. @param {any} engine */
  async hand(engine) {
    this.engine = engine;
    const { state } = this.store;
    engine.setMuted(state.self.muted);
    await this.handing("microphone", () => engine.setMicrophone(this.devices.microphone));
    if (state.self.camera) await this.handing("camera", () => engine.setCamera(this.devices.camera));
  }

  /** One that can not be sent does not keep the other from it. @param {"microphone"|"camera"} what @param {() => Promise<unknown>} send */
  async handing(what, send) {
    if (!this.devices[what]) return;
    try {
      await send();
    } catch (error) {
      const problem = problemOf(error, what);
      this.announce(problem);
      if (what === "microphone") this.set({ microphoneProblem: problem });
      else this.set({ camera: false, cameraProblem: problem });
    }
  }

  /**
   * The engine sends something no more, and nobody pressed a button: the role in the room has changed, or the track has ended.
   * @param {{source?: string, reason?: string}} what
   */
  takeEnded({ source, reason }) {
    if (source === "screen") void this.stopScreen();
    // A microphone or camera that was pulled is seen by its track's own event, with a sentence of its own.
    if (source !== "camera" || reason === "track") return;
    this.devices.closeCamera();
    this.set({ camera: false });
    void this.engine?.setCamera(null);
  }

  /** The call is over; devices are let go of, so that their lamps go out. */
  release() {
    this.engine = null;
    this.devices.close();
    this.set({ screen: false });
  }

  async toggleMute() {
    const { self } = this.store.state;
    if (!this.devices.microphone) {
      await this.openMicrophone();
      if (!this.devices.microphone) return;
      this.setMuted(false);
      return;
    }
    this.setMuted(!self.muted);
  }

  /** @param {boolean} muted */
  setMuted(muted) {
    this.set({ muted });
    this.engine?.setMuted(muted);
    this.onMuted(muted);
    this.announce(muted ? this.strings.announce.muted : this.strings.announce.unmuted);
  }

  async toggleCamera() {
    const on = this.store.state.self.camera && this.devices.camera !== null;
    this.choices.set("camera_on", !on);
    if (on) {
      this.set({ camera: false });
      await this.engine?.setCamera(null);
      this.devices.closeCamera();
      this.announce(this.strings.announce.cameraOff);
      this.store.dispatch({ type: "touch" });
      return;
    }
    await this.openCamera();
    if (this.devices.camera) this.announce(this.strings.announce.cameraOn);
  }

  async toggleScreen() {
    if (this.devices.screen) {
      await this.stopScreen();
      return;
    }
    try {
      const track = await this.devices.openScreen();
      track.addEventListener("ended", () => void this.stopScreen());
      await this.engine?.setScreen(track);
      this.set({ screen: true });
    } catch (error) {
      this.devices.closeScreen();
      this.announce(problemOf(error, "screen"));
    }
  }

  async stopScreen() {
    this.devices.closeScreen();
    this.set({ screen: false });
    await this.engine?.setScreen(null);
  }

  /** @param {"microphone"|"camera"|"output"} what @param {string} id */
  async choose(what, id) {
    this.choices.set(what, id || null);
    if (what === "microphone") await this.openMicrophone();
    else if (what === "camera" && this.store.state.self.camera) await this.openCamera();
    else if (what === "output") await this.engine?.setOutput?.(id);
    this.store.dispatch({ type: "touch" });
  }

  /** @param {boolean} highDefinition */
  async setHighDefinition(highDefinition) {
    this.devices.highDefinition = highDefinition;
    this.choices.set("highDefinition", highDefinition);
    if (this.devices.camera) await this.openCamera();
  }

  /** @param {boolean} original */
  async setOriginalSound(original) {
    this.devices.original = original;
    this.choices.set("originalSound", original);
    if (this.devices.microphone) await this.openMicrophone();
  }
}
