// What this browser can do, in sentences, and the media module where it can be loaded at all.

/**
 * @returns {Promise<{media: any, capabilities: {listenOnly: boolean, outputSelection: boolean, why: string[], [more: string]: any}}>}
 */
export async function loadMedia(load = () => import("/media/media.mjs")) {
  try {
    const media = await load();
    return { media, capabilities: judge(await media.capabilities()) };
  } catch (error) {
    return { media: null, capabilities: judge(null) };
  }
}

/**
 * Taking part needs that sound can be decoded and played; what is missing beyond that only takes something away.
 * @param {any} found what the media engine's `capabilities()` says; null: it could not be loaded
 */
export function judge(found) {
  const listenOnly = !found || !found.audioDecode || !found.worklet;
  if (!listenOnly) return { ...found, listenOnly, outputSelection: Boolean(found.outputSelection), why: sentences(found) };
  const why = [
    "This browser can not take part in calls: it has no WebCodecs or no AudioWorklet.",
    "What works: listening to the room. To speak and see, use a current Chrome, Edge, Firefox or Safari.",
  ];
  return { ...(found ?? {}), listenOnly, outputSelection: false, why };
}

/** @param {any} found */
function sentences(found) {
  if (Array.isArray(found.why) && found.why.length > 0) return found.why;
  const lines = [];
  if (!found.audioEncode) lines.push("This browser can not encode sound: you hear and see everybody, and nobody hears you.");
  const video = found.video ?? [];
  if (!video.some((/** @type {any} */ one) => one.decode)) lines.push("This browser can not decode video: you hear everybody.");
  else if (!video.some((/** @type {any} */ one) => one.encode)) lines.push("This browser can not encode video: you see everybody, and nobody sees you.");
  return lines;
}
