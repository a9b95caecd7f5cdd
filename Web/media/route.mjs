// Where the sound comes from and goes to, in the words of AVAudioSession (Sources/PROTOCOL.md, 3.19). Pure but for `RouteWatch`, which asks the browser.

export const reasons = Object.freeze({ unknown: 0, newDeviceAvailable: 1, oldDeviceUnavailable: 2, override: 4, routeConfigurationChange: 8 });

/** Browsers tell a device's kind by its name alone. The first pattern that fits decides. */
const ports = [
  [/hands.?free|\bhfp\b|\bhsp\b|headset.*bluetooth|bluetooth.*headset/i, { input: "bluetoothHFP", output: "bluetoothHFP" }],
  [/bluetooth|airpods|\bbuds\b|wh-1000|a2dp/i, { input: "bluetoothHFP", output: "bluetoothA2DP" }],
  [/airplay/i, { output: "airPlay" }],
  [/hdmi/i, { output: "HDMI" }],
  [/displayport/i, { output: "displayPort" }],
  [/headset/i, { input: "headsetMic", output: "headset" }],
  [/head.?phone|earpiece|earphone/i, { output: "headphones" }],
  [/receiver/i, { output: "builtInReceiver" }],
  [/\biphone\b|continuity/i, { input: "continuityMicrophone" }],
  [/usb/i, { input: "usbAudio", output: "usbAudio" }],
  [/line.?in/i, { input: "lineIn" }],
  [/line.?out/i, { output: "lineOut" }],
  [/virtual|loopback|blackhole|monitor of|null|fake|dummy/i, { input: "virtual", output: "virtual" }],
];

/** The port of a device by its label; what says nothing is taken as built in. */
export function portType(kind, label) {
  const side = kind === "audioinput" ? "input" : "output";
  for (const [pattern, types] of ports) if (types[side] && pattern.test(label)) return types[side];
  return side === "input" ? "builtInMic" : "builtInSpeaker";
}

/** A name within the protocol's 128 bytes of UTF-8; undefined when there is none. */
export function portName(label) {
  const name = label.replace(/^(Default|Communications) - /, "").replace(/ \([0-9a-f]{4}:[0-9a-f]{4}\)$/i, "");
  const bytes = new TextEncoder().encode(name);
  if (bytes.length === 0) return undefined;
  // The decoder drops what the cut has left of a character.
  return bytes.length <= 128 ? name : new TextDecoder().decode(bytes.subarray(0, 128)).replace(/\uFFFD$/, "");
}

/** The device that is meant by an id; "" and "default" mean the system's. */
function deviceOf(devices, kind, id) {
  const ofKind = devices.filter((device) => device.kind === kind);
  const isSystems = !id || id === "default";
  return (isSystems ? ofKind.find(({ deviceId }) => deviceId === "default") ?? ofKind[0] : ofKind.find(({ deviceId }) => deviceId === id)) ?? null;
}

/**
 * The route as the relay wants it.
 *
 * @param {{kind: string, deviceId: string, label: string}[]} devices as enumerateDevices gives them
 * @param {{inputID: string|null, outputID: string, latencySeconds?: number, inputRate?: number}} used inputID: null without a microphone
 */
export function describeRoute(devices, { inputID, outputID, latencySeconds, inputRate }) {
  const route = { inputs: [], outputs: [] };
  const input = inputID === null ? null : deviceOf(devices, "audioinput", inputID);
  const output = deviceOf(devices, "audiooutput", outputID);
  if (input) route.inputs.push(port("audioinput", input, inputRate ? { sampleRate: inputRate } : {}));
  const latency = latencySeconds >= 0 && latencySeconds <= 10 ? { latency: Math.round(latencySeconds * 1000) / 1000 } : {};
  // Without permission browsers name no outputs, or know of none; sound is played all the same.
  route.outputs.push(output ? port("audiooutput", output, latency) : { type: "builtInSpeaker", ...latency });
  return route;
}

function port(kind, { label }, rest) {
  const name = portName(label);
  return { type: portType(kind, label), ...(name ? { name } : {}), ...rest };
}

/** A device's identity over a change: the system's default is another device when its label changes. */
const identity = ({ kind, deviceId, groupId = "", label }) => `${kind} ${deviceId} ${groupId} ${deviceId === "default" ? label : ""}`;

/**
 * What a change of devices means for what is used.
 *
 * A device that is gone and was not used says nothing; one that was used is "old device unavailable", at which the relay pauses playback, so that what
 * was heard in a headset is not heard by everybody.
 *
 * @returns {number | null} the reason; null: nothing that matters has changed
 */
export function routeChange(before, after, { inputID, outputID }) {
  const known = new Set(before.map(identity));
  const left = new Set(after.map(identity));
  const used = [deviceOf(before, "audiooutput", outputID), inputID === null ? null : deviceOf(before, "audioinput", inputID)];
  const [output, input] = used;
  const isGone = (device) => device !== null && !left.has(identity(device)) && !isStillThere(device, after);
  if (isGone(output)) return reasons.oldDeviceUnavailable;
  if (isGone(input)) return reasons.oldDeviceUnavailable;
  const sounds = after.filter(({ kind }) => kind === "audioinput" || kind === "audiooutput");
  if (sounds.some((device) => !known.has(identity(device)))) return reasons.newDeviceAvailable;
  return null;
}

/** The system's default may move from a device that is still there: that is another default, and no lost device. */
function isStillThere(device, after) {
  const name = portName(device.label);
  return after.some(({ kind, label }) => kind === device.kind && portName(label) === name);
}

/** Watches the devices, and tells `changed(reason, route)`. */
export class RouteWatch {
  #devices;
  #used;
  #changed;
  #before = [];
  #abort = new AbortController();
  #timer = null;

  /**
   * @param {{devices: MediaDevices, used: () => {inputID: string|null, outputID: string, latencySeconds?: number},
   *   changed: (reason: number, route: object) => void}} options
   */
  constructor({ devices, used, changed }) {
    this.#devices = devices;
    this.#used = used;
    this.#changed = changed;
  }

  async start() {
    this.#before = await this.#devices.enumerateDevices();
    // One device that comes or goes is several events.
    this.#devices.addEventListener("devicechange", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), 200);
    }, { signal: this.#abort.signal });
  }

  async #look() {
    const after = await this.#devices.enumerateDevices();
    const reason = routeChange(this.#before, after, this.#used());
    this.#before = after;
    if (reason !== null && !this.#abort.signal.aborted) this.#changed(reason, describeRoute(after, this.#used()));
  }

  /** The route changed by our own doing: another microphone, another output. */
  async tell(reason) {
    this.#before = await this.#devices.enumerateDevices();
    if (!this.#abort.signal.aborted) this.#changed(reason, describeRoute(this.#before, this.#used()));
  }

  close() {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }
}
