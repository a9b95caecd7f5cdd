// The media of a call, behind one object: what is captured goes to the relay, what comes from it is heard and seen. The client (../segue/segue.mjs) carries it.

import { AudioPlayer } from "./play-audio.mjs";
import { capabilities } from "./capabilities.mjs";
import { InterruptionWatch } from "./interruptions.mjs";
import { instantiate } from "../jitter-buffer/jitter-buffer.mjs";
import { MicrophoneSender } from "./capture-audio.mjs";
import { PublisherTimeline } from "./clocks.mjs";
import { reasons, RouteWatch } from "./route.mjs";
import { silence } from "./levels.mjs";
import { strongestTone } from "./spectrum.mjs";
import { VideoPlayer } from "./play-videos.mjs";
import { VideoSender } from "./simulcast.mjs";

export { capabilities };

const reportMilliseconds = 2_000;
const bufferAddress = "../jitter-buffer/jitter-buffer.wasm";

/**
 * Events: "failed" {what, message, …}; "report" some ten times a second, after which levels and statistics are new; "size" {stream, width, height};
 * "interruption" {state: "began"|"ended", reason?, shouldResume?}; "route" {reason, route}; "ended" {source, reason}: a track has ended by itself
 * (reason "track": the user stopped sharing, a device was pulled), or its stream was ended from elsewhere.
 */
export class MediaEngine extends EventTarget {
  /** Measured from what the worklet played: for benches. */
  test;

  #client;
  #profile;
  #now;
  #abort = new AbortController();
  #context = null;
  #audio = null;
  #video = null;
  #capabilities = null;
  #timeline = null;
  #interruptions = null;
  #routes = null;
  #reportTimer = null;
  #senders = { microphone: null, camera: null, screen: null };
  #tracks = { microphone: null, camera: null, screen: null };
  #pending = Promise.resolve(); // what is published and ended goes in order
  #isMuted = false;
  #isHeld = false;
  #outputID = "";
  #canvases = new Map();
  #volumes = new Map();

  /** @param {import("../segue/segue.mjs").SegueClient} client @param {{profile?: "lowLatency"|"balanced"|"smooth", now?: () => number}} options */
  constructor(client, { profile = "lowLatency", now = () => performance.now() } = {}) {
    super();
    this.#client = client;
    this.#profile = profile;
    this.#now = now;
    const { signal } = this.#abort;
    const on = (type, listener) => client.addEventListener(type, listener, { signal });
    client.onFrame = (frame) => this.#take(frame);
    on("stream.ended", ({ detail }) => this.#closeStream(detail.stream));
    on("duck.began", ({ detail }) => this.#audio?.duck(detail.gainDecibels ?? 0));
    on("duck.ended", () => this.#audio?.duck(0));
    on("room", () => this.#sweep());
    // The relay's word that our own interruption is over: what the system says of it later is not told any more.
    on("interruption.ended", ({ detail }) => ["timeout", "media", "activated"].includes(detail.cause) && this.#forgetInterruption());
    const latencies = (stream) => percentiles(stream === undefined ? this.#audio?.latencies : (this.#audio?.latenciesOf(stream) ?? this.#video?.latenciesOf(stream)));
    const videoLatencies = () => percentiles(this.#video?.latencies);
    this.test = {
      playedSpectrum: () => this.#spectrum(),
      playedFrom: (stream) => this.#spectrum(stream),
      playedFromParticipant: (participant) => this.#spectrum(this.#audio?.streamOf(participant)),
      latenciesOf: latencies,
      get latencies() {
        return latencies();
      },
      get videoLatencies() {
        return videoLatencies();
      },
      simulateInterruption: (holds) => this.#interruptions?.simulate(holds),
    };
  }

  /** Begins to play. In a user's gesture: browsers let nothing sound before one. */
  async start() {
    if (this.#context) return this.#context.resume();
    const context = new AudioContext({ sampleRate: 48_000, latencyHint: this.#profile === "smooth" ? "playback" : "interactive" });
    this.#context = context;
    this.#timeline = new PublisherTimeline(this.#now());
    const bytes = fetch(new URL(bufferAddress, import.meta.url)).then((answer) => {
      if (!answer.ok) throw new Error(`the jitter buffer could not be loaded: ${answer.status}`);
      return answer.arrayBuffer();
    });
    const [module, found] = await Promise.all([
      bytes.then((source) => WebAssembly.compile(source)), capabilities(),
      ...["playout-worklet.mjs", "capture-worklet.mjs"].map((name) => context.audioWorklet.addModule(new URL(name, import.meta.url))),
    ]);
    this.#capabilities = found;
    const exports = await instantiate(module);
    const audio = new AudioPlayer({ context, client: this.#client, now: this.#now, profile: this.#profile });
    const video = new VideoPlayer({
      exports, profile: this.#profile, now: this.#now, serverTime: (local) => this.#client.serverTime(local),
      requestKey: (stream) => this.#client.request("keyframe.request", { stream }).catch(() => {}), heardOf: (participant) => audio.heardOf(participant),
    });
    this.#forward(audio, "failed", "report");
    this.#forward(video, "failed", "size");
    await Promise.all([audio.start(module), context.resume()]);
    for (const [participant, volume] of this.#volumes) audio.setVolume(participant, volume);
    for (const [stream, canvas] of this.#canvases) video.attach(stream, canvas);
    this.#audio = audio;
    this.#video = video;
    this.#watch(context);
    this.#reportTimer = setInterval(() => this.#report(), reportMilliseconds);
  }

  #forward(from, ...types) {
    for (const type of types) {
      from.addEventListener(type, ({ detail }) => this.dispatchEvent(new CustomEvent(type, { detail })), { signal: this.#abort.signal });
    }
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  // MARK: What comes

  #take(frame) {
    if (!this.#audio) return;
    const info = this.#infoOf(frame);
    if (info?.kind === "audio") this.#audio.take(frame, info);
    else if (info?.kind === "video") this.#video.take(frame, info);
  }

  #infoOf(frame) {
    const known = this.#client.room?.streams.get(frame.stream);
    if (known) return known;
    // The mix is nobody's stream, and in no list; its number is higher than any that is published.
    if (frame.stream >= 0x8000_0000) return { stream: frame.stream, participant: null, kind: "audio", codec: "opus", description: {} };
    return null;
  }

  #closeStream(stream) {
    this.#audio?.close(stream);
    this.#video?.close(stream);
    this.#canvases.delete(stream);
  }

  /** After a resumption the room's list says what is left; and without a room nothing is. */
  #sweep() {
    const streams = this.#client.room?.streams;
    for (const { stream } of [...(this.#audio?.statistics() ?? []), ...(this.#video?.statistics() ?? [])]) {
      if (stream < 0x8000_0000 ? !streams?.has(stream) : !streams) this.#closeStream(stream);
    }
  }

  attach(stream, canvas) {
    if (canvas) this.#canvases.set(stream, canvas);
    else this.#canvases.delete(stream);
    this.#video?.attach(stream, canvas);
  }

  setVolume(participant, volume) {
    this.#volumes.set(participant, volume);
    this.#audio?.setVolume(participant, volume);
  }

  // MARK: What goes

  /** Publishes the microphone, changes it without a new stream, or ends it with null. */
  setMicrophone(track) {
    return this.#change("microphone", track, async (sender) => {
      if (sender) {
        sender.setTrack(track);
        return sender;
      }
      const made = new MicrophoneSender({ client: this.#client, context: this.#context, timeline: this.#timeline, now: this.#now });
      made.isMuted = this.#isMuted;
      await made.start(track);
      return made;
    });
  }

  setCamera(track) {
    return this.#change("camera", track, () => this.#startVideo("camera", track));
  }

  setScreen(track) {
    return this.#change("screen", track, () => this.#startVideo("screen", track));
  }

  async #startVideo(source, track) {
    await this.#senders[source]?.close();
    this.#senders[source] = null;
    if (!this.#capabilities.capture) throw new Error("this browser cannot send pictures");
    const made = new VideoSender({ client: this.#client, timeline: this.#timeline, now: this.#now, source, video: this.#capabilities.video });
    await made.start(track);
    return made;
  }

  /** @param {(sender: object | null) => Promise<object>} begin answers with the sender that sends the track */
  #change(source, track, begin) {
    const change = this.#pending.then(async () => {
      if (!this.#context) throw new Error("start() comes first");
      if (track === this.#tracks[source]) return;
      this.#tracks[source] = track;
      if (track) {
        try {
          const sender = await begin(this.#senders[source]);
          if (sender !== this.#senders[source]) this.#adopt(source, sender);
          this.#senders[source] = sender;
        } catch (error) {
          this.#tracks[source] = null;
          throw error;
        }
        const ended = () => this.#tracks[source] === track && this.#emit("ended", { source, reason: "track" });
        track.addEventListener("ended", ended, { signal: this.#abort.signal });
      } else {
        const sender = this.#senders[source];
        this.#senders[source] = null;
        await sender?.close();
      }
      if (source !== "microphone") return;
      this.#interruptions?.watchTrack(track);
      await this.#routes?.tell(reasons.routeConfigurationChange);
    });
    // One that failed does not hold up the next.
    this.#pending = change.catch(() => {});
    return change;
  }

  #adopt(source, sender) {
    sender.setHeld(this.#isHeld);
    this.#forward(sender, "failed");
    sender.addEventListener("ended", ({ detail }) => {
      if (this.#senders[source] !== sender) return;
      this.#senders[source] = this.#tracks[source] = null;
      this.#emit("ended", detail);
    }, { signal: this.#abort.signal });
  }

  setMuted(isMuted) {
    this.#isMuted = isMuted;
    if (this.#senders.microphone) this.#senders.microphone.isMuted = isMuted;
  }

  get isMuted() {
    return this.#isMuted;
  }

  // MARK: Interruptions and routes

  #watch(context) {
    this.#interruptions = new InterruptionWatch({
      context,
      began: (reason) => {
        this.#hold();
        this.#emit("interruption", { state: "began", reason });
        this.#session((session) => session.interruptionBegan(reason));
      },
      ended: ({ shouldResume }) => {
        this.#hold();
        this.#emit("interruption", { state: "ended", shouldResume });
        this.#session((session) => session.interruptionEnded({ shouldResume }));
      },
    });
    this.#client.audioSession?.addEventListener?.("state", () => this.#hold(), { signal: this.#abort.signal });
    const { mediaDevices } = navigator;
    if (!mediaDevices) return;
    this.#routes = new RouteWatch({
      devices: mediaDevices, used: () => this.#used(),
      changed: (reason, route) => {
        this.#emit("route", { reason, route });
        this.#session((session) => session.routeChanged(reason, route));
      },
    });
    const tell = () => this.#routes?.tell(reasons.routeConfigurationChange);
    this.#routes.start().then(tell).catch((error) => this.#emit("failed", { what: "devices", message: error.message }));
    // A new audio session knows no route yet.
    const begun = ({ detail }) => detail?.state === "inactive" && tell()?.catch(() => {});
    this.#client.audioSession?.addEventListener?.("state", begun, { signal: this.#abort.signal });
  }

  #used() {
    const settings = this.#tracks.microphone?.getSettings?.();
    return {
      inputID: settings ? (settings.deviceId ?? "") : null, inputRate: settings?.sampleRate, outputID: this.#outputID,
      latencySeconds: (this.#audio?.outputLatencyMilliseconds ?? 0) / 1000,
    };
  }

  /**
   * While the sound is away, by the system's doing or by the relay's, nothing is encoded or played: media that is sent then would end the interruption
   * (Sources/PROTOCOL.md, 3.19). What comes after it begins afresh, at the live edge.
   */
  #hold() {
    const state = this.#client.audioSession?.state ?? "none";
    const isHeld = Boolean(this.#interruptions?.isInterrupted) || !["none", "active"].includes(state);
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    for (const sender of Object.values(this.#senders)) sender?.setHeld(isHeld);
    this.#audio?.reset();
  }

  #forgetInterruption() {
    this.#interruptions?.forget();
    this.#hold();
  }

  /** Who has no audio session is told nothing, and a refusal is the session's to show. */
  #session(tell) {
    const session = this.#client.audioSession;
    if (!session || [undefined, null, "none", "uninitialised"].includes(session.state)) return;
    Promise.resolve().then(() => tell(session)).catch((error) => this.#emit("failed", { what: "session", message: error.message }));
  }

  /** The route as it is: for who initialises the audio session later. */
  tellRoute() {
    return this.#routes?.tell(reasons.routeConfigurationChange);
  }

  /** Plays through another device; "" is the system's. */
  async setOutput(deviceID) {
    if (!this.#context?.setSinkId) throw new Error("this browser plays through the system's output only");
    await this.#context.setSinkId(deviceID);
    this.#outputID = deviceID;
    await this.#routes?.tell(reasons.override);
  }

  // MARK: Numbers

  #report() {
    for (const [participant, wanted] of this.#video.audioDelaysWanted()) this.#audio.holdBack(participant, wanted);
    const streams = [...this.#audio.receiverReport(), ...this.#video.receiverReport()];
    if (streams.length === 0 || this.#client.state !== "open" || !this.#client.room) return;
    Promise.resolve(this.#client.report(streams)).catch(() => {}); // A report that is lost is followed by the next.
  }

  level(stream) {
    return this.#audio?.level(stream) ?? silence;
  }

  get microphoneLevel() {
    return this.#senders.microphone?.level ?? silence;
  }

  statistics() {
    return {
      audio: this.#audio?.statistics() ?? [], video: this.#video?.statistics() ?? [],
      sending: Object.values(this.#senders).filter(Boolean).map((sender) => sender.statistics()),
      outputLatencyMilliseconds: this.#audio?.outputLatencyMilliseconds ?? 0,
    };
  }

  async #spectrum(stream) {
    const { samples, sampleRate } = (await this.#audio?.played(stream)) ?? { samples: new Float32Array(0), sampleRate: 48_000 };
    return strongestTone(samples, sampleRate);
  }

  async close() {
    this.#abort.abort();
    clearInterval(this.#reportTimer);
    this.#interruptions?.close();
    this.#routes?.close();
    await this.#pending;
    await Promise.allSettled(Object.values(this.#senders).map((sender) => sender?.close()));
    this.#senders = { microphone: null, camera: null, screen: null };
    this.#video?.end();
    this.#audio?.end();
    this.#video = this.#audio = null;
    this.#client.onFrame = null;
    if (this.#context && this.#context.state !== "closed") await this.#context.close();
  }
}

/** @param {import("./statistics.mjs").Percentiles | null | undefined} values milliseconds */
function percentiles(values) {
  return { p50: values?.at(0.5) ?? null, p95: values?.at(0.95) ?? null, count: values?.size ?? 0 };
}
