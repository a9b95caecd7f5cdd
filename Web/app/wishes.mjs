// Which layer of each picture is worth getting: a small tile needs no large picture. Pure.

/** A picture may be this much smaller than its tile before the next larger layer is asked for. */
const smallerIsEnough = 0.75;

/**
 * The lowest spatial layer that fills a tile, null when it takes the highest (nothing is to be wished then).
 * @param {Array<{width?: number, height?: number}>} layers of the stream, lowest first @param {number} height of the tile, in pixels of the screen
 * @returns {number|null}
 */
export function layerFor(layers, height) {
  if (layers.length < 2) return null;
  const enough = layers.findIndex((layer) => (layer.height ?? Infinity) >= height * smallerIsEnough);
  return enough < 0 || enough === layers.length - 1 ? null : enough;
}

/**
 * What is to be said to the relay: streams by the layer that is new for them. A stream that never had a bound and gets none is not named.
 * @param {Map<number, number|null>} before @param {Map<number, number|null>} after by stream
 * @returns {Array<{streams: number[], maxLayer?: {spatial: number}}>} members of `subscribe`
 */
export function wishesBetween(before, after) {
  /** @type {Map<number|null, number[]>} */
  const byLayer = new Map();
  for (const [stream, layer] of after) {
    if ((before.get(stream) ?? null) === layer) continue;
    byLayer.set(layer, [...(byLayer.get(layer) ?? []), stream]);
  }
  return [...byLayer].map(([layer, streams]) => (layer === null ? { streams } : { streams, maxLayer: { spatial: layer } }));
}
