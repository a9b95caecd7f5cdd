// Numbers as people read them. Pure, but for `pageProtocol`.

const none = "–";

/** @param {any} value @returns {value is number} */
const known = (value) => typeof value === "number" && Number.isFinite(value);

export const formats = {
  /** @param {number|null|undefined} value */
  milliseconds(value) {
    if (!known(value)) return none;
    return `${Math.abs(value) < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  },
  /** @param {number|null|undefined} value bits a second */
  bitrate(value) {
    if (!known(value)) return none;
    return value >= 1e6 ? `${(value / 1e6).toFixed(1)} Mbit/s` : `${Math.round(value / 1000)} kbit/s`;
  },
  /** @param {number|null|undefined} value kilobits a second */
  kilobits: (value) => formats.bitrate(known(value) ? value * 1000 : null),
  /** @param {number|null|undefined} value */
  bytes: (value) => {
    if (!known(value)) return none;
    const units = ["B", "kB", "MB", "GB"];
    let number = value;
    let unit = 0;
    while (number >= 1000 && unit < units.length - 1) {
      number /= 1000;
      unit += 1;
    }
    return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
  },
  /** @param {number|null|undefined} value 0 to 1 */
  share: (value) => (known(value) ? `${(value * 100).toFixed(1)} %` : none),
  /** @param {number|null|undefined} value */
  rate: (value) => (known(value) ? `${Math.round(value)}/s` : none),
  /** @param {number|null|undefined} value */
  partsPerMillion: (value) => (known(value) ? `${Math.round(value)} ppm` : none),
  /** @param {{spatial?: number, temporal?: number}|null|undefined} layer */
  layer: (layer) => (layer ? `spatial ${layer.spatial ?? 0}, temporal ${layer.temporal ?? 0}` : none),
  /** @param {{kbps?: number, framesPerSecond?: number, layers?: any, keyFrames?: number}} one */
  sending: (one) => {
    const parts = [formats.kilobits(one.kbps)];
    if (known(one.framesPerSecond)) parts.push(formats.rate(one.framesPerSecond));
    const layers = Array.isArray(one.layers) ? one.layers.length : one.layers;
    if (known(layers) && layers > 0) parts.push(`${layers} ${layers === 1 ? "layer" : "layers"}`);
    if (known(one.keyFrames)) parts.push(`${one.keyFrames} key frames`);
    return parts.join(", ");
  },
};

/** By which HTTP version the page came: the nearest thing to that of the WebSocket, which browsers do not tell. */
export function pageProtocol(timeline = performance) {
  const entry = /** @type {any} */ (timeline.getEntriesByType("navigation")[0]);
  return httpVersion(entry?.nextHopProtocol ?? "");
}

/** @param {string} protocol an ALPN identifier */
export function httpVersion(protocol) {
  const names = /** @type {Record<string, string>} */ ({ "http/1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", h2: "HTTP/2", h3: "HTTP/3" });
  return Object.hasOwn(names, protocol) ? names[protocol] : protocol || none;
}
