// What this browser can do of what a call needs: asked, not guessed from its name.

/** In the order of preference: all browsers with WebCodecs have a software VP9, and few machines are fast enough for AV1 in all its sizes. */
export const videoCandidates = ["vp09.00.31.08", "avc1.42E01F", "vp8", "av01.0.05M.08"];

/**
 * From so many pixels on software encoders of VP8 take several threads, which wait for each other in loops: on a busy machine a picture then takes 50 times as
 * long as one of VP9. Below, VP8 costs least of all.
 */
const smallPixelsMax = 640 * 480;

const size = { width: 1280, height: 720 };

async function isSupported(type, configuration) {
  try {
    return (await type.isConfigSupported(configuration)).supported === true;
  } catch {
    return false;
  }
}

/** What an encoder of that codec is configured with beside size and rate. */
export function encoderExtras(codec) {
  return codec.startsWith("avc1") ? { avc: { format: "annexb" } } : {};
}

async function videoCapability(codec) {
  const { VideoEncoder, VideoDecoder } = globalThis;
  const base = { codec, ...size, bitrate: 1_200_000, framerate: 30, latencyMode: "realtime", ...encoderExtras(codec) };
  const encode = VideoEncoder ? await isSupported(VideoEncoder, base) : false;
  const decode = VideoDecoder ? await isSupported(VideoDecoder, { codec, optimizeForLatency: true }) : false;
  const scalabilityModes = [];
  if (encode) {
    for (const scalabilityMode of ["L1T2", "L1T3"]) {
      if (await isSupported(VideoEncoder, { ...base, scalabilityMode })) scalabilityModes.push(scalabilityMode);
    }
  }
  return { codec, encode, decode, scalabilityModes };
}

/**
 * The codec to publish pictures with: the first that this browser both encodes and decodes, since others like it decode it too. Else one that it encodes.
 *
 * @param {{codec: string, encode: boolean, decode: boolean, scalabilityModes: string[]}[]} video
 * @param {number} pixels of the largest layer
 */
export function chooseVideoCodec(video, pixels) {
  const isFirst = ({ codec }) => pixels < smallPixelsMax && codec === "vp8";
  const inOrder = [...video.filter(isFirst), ...video.filter((each) => !isFirst(each))];
  return inOrder.find(({ encode, decode }) => encode && decode) ?? inOrder.find(({ encode }) => encode) ?? null;
}

/**
 * @returns {Promise<{audioEncode: boolean, audioDecode: boolean, worklet: boolean,
 *   video: {codec: string, encode: boolean, decode: boolean, scalabilityModes: string[]}[],
 *   capture: boolean, screen: boolean, outputSelection: boolean, why: string[]}>} why: a sentence for each thing that is missing
 */
export async function capabilities() {
  const { AudioEncoder, AudioDecoder, AudioContext, AudioWorkletNode, MediaStreamTrackProcessor, WebAssembly } = globalThis;
  const opus = { codec: "opus", sampleRate: 48_000, numberOfChannels: 1 };
  const [audioEncode, audioDecode, video] = await Promise.all([
    AudioEncoder ? isSupported(AudioEncoder, { ...opus, bitrate: 32_000 }) : false,
    AudioDecoder ? isSupported(AudioDecoder, opus) : false,
    Promise.all(videoCandidates.map(videoCapability)),
  ]);
  const worklet = Boolean(AudioWorkletNode && WebAssembly && AudioContext?.prototype && "audioWorklet" in AudioContext.prototype);
  const devices = globalThis.navigator?.mediaDevices;
  const found = {
    audioEncode, audioDecode, worklet, video, capture: Boolean(MediaStreamTrackProcessor), screen: Boolean(devices?.getDisplayMedia),
    outputSelection: Boolean(AudioContext?.prototype && "setSinkId" in AudioContext.prototype),
  };
  return { ...found, why: reasons(found, Boolean(devices)) };
}

/** What does not work, and what does instead. */
export function reasons({ audioEncode, audioDecode, worklet, video, capture, screen, outputSelection }, hasDevices) {
  const why = [];
  const canPlay = audioDecode && worklet;
  if (globalThis.isSecureContext === false) why.push("This page did not come over HTTPS: microphone, camera and codecs are not to be had.");
  const missing = audioDecode ? "AudioWorklet with WebAssembly" : "audio decoder for Opus (WebCodecs)";
  if (!canPlay) why.push(`This browser has no ${missing}: you can listen to the room's mix, but not talk.`);
  if (canPlay && !audioEncode) why.push("This browser has no audio encoder for Opus: you can hear and see, but not talk.");
  if (!hasDevices) why.push("This browser gives no microphone and no camera.");
  if (!video.some(({ decode }) => decode)) why.push("This browser has no video decoder (WebCodecs): there will be sound only.");
  if (!video.some(({ encode }) => encode) || !capture) why.push("This browser has no video encoder, or gives no pictures to it: your camera cannot be sent.");
  if (hasDevices && !screen) why.push("This browser cannot share a screen.");
  if (!outputSelection) why.push("This browser plays through the system's output only.");
  return why;
}
