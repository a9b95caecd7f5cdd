// The microphone, from its track to the relay: an AudioWorklet cuts it into frames of 20 ms, an AudioEncoder makes Opus of them.

import { bitrateFor, encoderConfiguration, opusHead } from "./opus.mjs";
import { ClockMap, PublisherTimeline } from "./clocks.mjs";
import { levelOf, silence, SilencePacer, VoiceDetector } from "./levels.mjs";
import { RateWindow } from "./statistics.mjs";

const frameMilliseconds = 20;
const frameSamples = 960;
/** The time of capture goes with each so many frames: it holds for those between. */
const captureTimeEvery = 10;

/** Publishes one microphone. Its frames that are muted are silence; the stream lives on. */
export class MicrophoneSender extends EventTarget {
  level = silence;
  isMuted = false;
  publication = null;

  #client;
  #context;
  #timeline;
  #now;
  #clock = new ClockMap();
  #nodes = null;
  #inputLatency = 0;
  #encoder = null;
  #encoderFailures = 0;
  #waiting = []; // what belongs to the frames that are in the encoder
  #voice = new VoiceDetector();
  #pacer = new SilencePacer();
  #fedSamples = 0;
  #mustBreak = false;
  #isHeld = false;
  #sinceCaptureTime = captureTimeEvery;
  #wanted = { bandwidth: "fullband", channels: 1 };
  #bytes = new RateWindow();
  #frames = new RateWindow();

  /** @param {{client: object, context: AudioContext, timeline: PublisherTimeline, now: () => number}} options */
  constructor({ client, context, timeline, now }) {
    super();
    this.#client = client;
    this.#context = context;
    this.#timeline = timeline;
    this.#now = now;
  }

  /** Publishes the stream, its configuration first, and begins to send. The worklet's module must be loaded. */
  async start(track) {
    await this.#publish();
    this.setTrack(track);
  }

  async #publish() {
    const description = { sampleRate: 48_000, channels: 1, frameMilliseconds, timescale: PublisherTimeline.audioTimescale };
    const publication = await this.#client.publish({ kind: "audio", codec: "opus", source: "microphone", description });
    publication.configure(opusHead());
    publication.addEventListener("format", ({ detail }) => this.#take(detail ?? {}));
    publication.addEventListener("renewed", () => (this.#sinceCaptureTime = captureTimeEvery));
    publication.addEventListener("ended", ({ detail }) => this.#ended(detail?.reason));
    this.publication = publication;
  }

  /** Another microphone, in the same stream. */
  setTrack(track) {
    this.#disconnect();
    const source = new MediaStreamAudioSourceNode(this.#context, { mediaStream: new MediaStream([track]) });
    const node = new AudioWorkletNode(this.#context, "segue-capture", {
      numberOfInputs: 1, numberOfOutputs: 1, outputChannelCount: [1], channelCount: 1, channelCountMode: "explicit", channelInterpretation: "speakers",
    });
    node.port.onmessage = ({ data }) => this.#takeSamples(data);
    source.connect(node);
    // What is connected to nothing may not be run; what comes out is silence.
    node.connect(this.#context.destination);
    this.#nodes = { source, node };
    this.#inputLatency = (track.getSettings?.().latency ?? 0) * 1000;
    this.#timeline.restartAudio();
    this.#clock.reset();
    this.#mustBreak = this.#fedSamples > 0;
  }

  #take({ bandwidth, channels }) {
    this.#wanted = { bandwidth, channels };
    if (this.#encoder?.state === "configured") this.#encoder.configure(this.#configuration());
    this.dispatchEvent(new Event("format"));
  }

  #configuration() {
    // The microphone is captured in one channel, whatever the listeners could play.
    return encoderConfiguration({ bitrate: bitrateFor({ bandwidth: this.#wanted.bandwidth }), channels: 1 });
  }

  #takeSamples({ samples, at, now }) {
    this.#clock.observe(now, this.#now());
    const capturedAt = this.#clock.toLocal(at) - this.#inputLatency;
    if (this.isMuted) samples.fill(0);
    this.level = levelOf(samples);
    const voice = this.#voice.observe(this.level, frameMilliseconds) && !this.isMuted;
    const place = this.#timeline.audio(capturedAt, frameSamples);
    if (place.discontinuity) this.#mustBreak = true;
    const { silence, isSent } = this.#pacer.observe(this.level, this.isMuted, frameMilliseconds);
    if (!isSent || !this.publication || this.#isHeld) return;
    const captureTime = this.#client.serverTime(capturedAt);
    this.#encode(samples, { timestamp: place.timestamp, captureTime, level: this.level, voice, silence });
  }

  #encode(samples, description) {
    if (this.#encoder?.state !== "configured") this.#makeEncoder();
    // An encoder that lags: what waits in it is late already.
    if (this.#encoder.encodeQueueSize > 10) return;
    // Of the encoder's own: without gaps, whatever was left out.
    const at = Math.round((this.#fedSamples * 1e6) / 48_000);
    const data = new AudioData({ format: "f32-planar", sampleRate: 48_000, numberOfChannels: 1, numberOfFrames: frameSamples, timestamp: at, data: samples });
    this.#fedSamples += frameSamples;
    this.#waiting.push({ at, description });
    this.#encoder.encode(data);
    data.close();
  }

  #makeEncoder() {
    this.#waiting = [];
    this.#encoder = new AudioEncoder({
      output: (chunk) => this.#send(chunk),
      error: (error) => {
        this.#encoderFailures += 1;
        this.dispatchEvent(new CustomEvent("failed", { detail: { what: "encoder", message: error.message, count: this.#encoderFailures } }));
      },
    });
    this.#encoder.configure(this.#configuration());
  }

  #send(chunk) {
    // What an encoder swallows has no place among those that follow.
    while (this.#waiting.length > 1 && this.#waiting[1].at <= chunk.timestamp) this.#waiting.shift();
    const description = this.#waiting.shift()?.description;
    if (!description || !this.publication) return;
    const payload = new Uint8Array(chunk.byteLength);
    chunk.copyTo(payload);
    const hasTime = this.#sinceCaptureTime >= captureTimeEvery || description.silence;
    this.#sinceCaptureTime = hasTime ? 1 : this.#sinceCaptureTime + 1;
    this.publication.send({
      ...description, payload, key: false, discardable: false, discontinuity: this.#mustBreak, captureTime: hasTime ? description.captureTime : null,
    });
    this.#mustBreak = false;
    const now = this.#now();
    this.#bytes.add(payload.byteLength, now);
    this.#frames.add(1, now);
  }

  /** Nothing is sent while it is held; what comes then does not go on from what was. */
  setHeld(isHeld) {
    if (this.#isHeld && !isHeld) this.#mustBreak = true;
    this.#isHeld = isHeld;
  }

  statistics() {
    const now = this.#now();
    return {
      stream: this.publication?.stream ?? null, source: "microphone", kbps: (this.#bytes.perSecond(now) * 8) / 1000,
      framesPerSecond: this.#frames.perSecond(now), layers: [], keyFrames: 0,
    };
  }

  #disconnect() {
    this.#nodes?.node.port.postMessage({ type: "close" });
    this.#nodes?.source.disconnect();
    this.#nodes?.node.disconnect();
    this.#nodes = null;
  }

  /** The relay, or the room's hosts, have ended the stream. */
  #ended(reason) {
    if (!this.publication) return;
    this.close().catch(() => {});
    this.dispatchEvent(new CustomEvent("ended", { detail: { source: "microphone", reason } }));
  }

  /** Ends the stream. */
  async close() {
    this.#disconnect();
    if (this.#encoder?.state !== "closed") this.#encoder?.close();
    this.#encoder = null;
    const publication = this.publication;
    this.publication = null;
    await publication?.close();
  }
}
