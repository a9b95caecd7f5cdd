// Microphones, cameras, speakers and screens: what there is, what was chosen last, and opening them.

/** @typedef {{id: string, label: string}} Device */

/**
 * Devices by kind, with labels that tell them apart. Browsers hide labels until one of a kind was allowed; "default" and "communications" are other names of
 * devices that are in the list as well.
 * @param {Array<{kind: string, deviceId: string, label: string}>} infos
 * @returns {{microphones: Device[], cameras: Device[], speakers: Device[]}}
 */
export function describeDevices(infos) {
  const list = (/** @type {string} */ kind, /** @type {string} */ word) => infos
    .filter((info) => info.kind === kind && info.deviceId !== "" && info.deviceId !== "communications" && info.deviceId !== "default")
    .map((info, index) => ({ id: info.deviceId, label: info.label || `${word} ${index + 1}` }));
  return { microphones: list("audioinput", "Microphone"), cameras: list("videoinput", "Camera"), speakers: list("audiooutput", "Speaker") };
}

/** What to ask a microphone for. @param {string|null} id @param {boolean} original the sound as it is: for music, and for measuring */
export function microphoneConstraints(id, original) {
  return {
    ...(id ? { deviceId: { exact: id } } : {}), echoCancellation: !original, noiseSuppression: !original, autoGainControl: !original,
    channelCount: { ideal: 1 },
  };
}

/** What to ask a camera for. @param {string|null} id @param {boolean} highDefinition 720 lines: for screens and machines that are up to it */
export function cameraConstraints(id, highDefinition) {
  const size = highDefinition ? { width: { ideal: 1280 }, height: { ideal: 720 } } : { width: { ideal: 640 }, height: { ideal: 360 } };
  return { ...(id ? { deviceId: { exact: id } } : { facingMode: "user" }), ...size, frameRate: { ideal: 30 } };
}

const storageKey = "segue.choices";

/** What was chosen last: name, devices, view. Kept by the browser for this page; nothing of it is secret. */
export class Choices {
  /** @param {Storage|null} storage null: kept nowhere (private windows may refuse) */
  constructor(storage) {
    this.storage = storage;
    /** @type {Record<string, any>} */
    this.values = {};
    try {
      const parsed = JSON.parse(storage?.getItem(storageKey) ?? "{}");
      if (parsed && typeof parsed === "object" && !Array.isArray(parsed)) this.values = parsed;
    } catch {
      // What cannot be read is forgotten.
    }
  }

  /** @param {string} name @returns {string|null} */
  text(name) {
    const value = this.values[name];
    return typeof value === "string" && value !== "" ? value : null;
  }

  /** @param {string} name */
  flag(name) {
    return this.values[name] === true;
  }

  /** @param {string} name @param {string|boolean|null} value */
  set(name, value) {
    this.values[name] = value;
    try {
      this.storage?.setItem(storageKey, JSON.stringify(this.values));
    } catch {
      // A full or forbidden storage only forgets.
    }
  }
}

/** The devices of the machine. One track of each kind is open at most. */
export class Devices {
  /** @param {MediaDevices|undefined} media @param {Choices} choices */
  constructor(media, choices) {
    this.media = media;
    this.choices = choices;
    /** @type {MediaStreamTrack|null} */
    this.microphone = null;
    /** @type {MediaStreamTrack|null} */
    this.camera = null;
    /** @type {MediaStreamTrack|null} */
    this.screen = null;
    this.original = choices.flag("originalSound");
    this.highDefinition = choices.flag("highDefinition");
  }

  /** Lists devices; an empty list where the browser has none to tell of. */
  async list() {
    try {
      return describeDevices(/** @type {any[]} */ (await this.media?.enumerateDevices()) ?? []);
    } catch {
      return { microphones: [], cameras: [], speakers: [] };
    }
  }

  /** Opens the microphone that was chosen, or any when that one is gone. @returns {Promise<MediaStreamTrack>} */
  async openMicrophone() {
    this.closeMicrophone();
    const ask = (/** @type {string|null} */ id) => this.ask({ audio: microphoneConstraints(id, this.original) });
    const stream = await this.fallingBack(ask, this.choices.text("microphone"));
    this.microphone = stream.getAudioTracks()[0];
    return this.microphone;
  }

  /** @returns {Promise<MediaStreamTrack>} */
  async openCamera() {
    this.closeCamera();
    const ask = (/** @type {string|null} */ id) => this.ask({ video: cameraConstraints(id, this.highDefinition) });
    const stream = await this.fallingBack(ask, this.choices.text("camera"));
    this.camera = stream.getVideoTracks()[0];
    return this.camera;
  }

  /** @returns {Promise<MediaStreamTrack>} */
  async openScreen() {
    if (!this.media?.getDisplayMedia) throw new DOMException("no screen sharing", "NotFoundError");
    const stream = await this.media.getDisplayMedia({ video: { frameRate: { ideal: 15, max: 30 } }, audio: false });
    this.screen = stream.getVideoTracks()[0];
    return this.screen;
  }

  closeMicrophone() {
    this.microphone?.stop();
    this.microphone = null;
  }

  closeCamera() {
    this.camera?.stop();
    this.camera = null;
  }

  closeScreen() {
    this.screen?.stop();
    this.screen = null;
  }

  close() {
    this.closeMicrophone();
    this.closeCamera();
    this.closeScreen();
  }

  /** @param {MediaStreamConstraints} constraints */
  async ask(constraints) {
    if (!this.media?.getUserMedia) throw new DOMException("no devices", "NotFoundError");
    return this.media.getUserMedia(constraints);
  }

  /** @param {(id: string|null) => Promise<MediaStream>} ask @param {string|null} id */
  async fallingBack(ask, id) {
    try {
      return await ask(id);
    } catch (error) {
      if (id === null || /** @type {any} */ (error)?.name !== "OverconstrainedError" && /** @type {any} */ (error)?.name !== "NotFoundError") throw error;
      return ask(null);
    }
  }
}
