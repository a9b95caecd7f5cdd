// A camera or a screen, from its track to the relay: each picture goes to as many encoders as there are layers that somebody wants.

import { bestScalabilityMode, layersFor, temporalLayersOf, LoadControl, WantedLayers } from "./layers.mjs";
import { chooseVideoCodec } from "./capabilities.mjs";
import { ClockMap, PublisherTimeline } from "./clocks.mjs";
import { LayerEncoder } from "./encode-video.mjs";

/** Pictures that may be in the encoders: what belongs to them is kept so long. */
const waitingMax = 64;

export class VideoSender extends EventTarget {
  publication = null;

  #client;
  #timeline;
  #now;
  #source;
  #video;
  #codec = "";
  #scalabilityMode;
  #layers = [];
  #encoders = [];
  #wanted = new WantedLayers(0);
  #load;
  #lag = 0;
  #clock = new ClockMap();
  #waiting = new Map(); // a picture's own timestamp → {timestamp, captureTime}
  #reader = null;
  #taken = 0;
  #lastTimestamp = null;
  #lastPictureAt = -Infinity;
  #isClosed = false;
  #isHeld = false;
  #failures = 0;

  /**
   * @param {{client: object, timeline: PublisherTimeline, now: () => number, source: "camera"|"screen",
   *   video: {codec: string, encode: boolean, decode: boolean, scalabilityModes: string[]}[]}} options video: as `capabilities` found it
   */
  constructor({ client, timeline, now, source, video }) {
    super();
    this.#client = client;
    this.#timeline = timeline;
    this.#now = now;
    this.#source = source;
    this.#load = new LoadControl(source);
    this.#video = video;
  }

  async start(track) {
    const { width = 640, height = 480, frameRate = 30 } = track.getSettings?.() ?? {};
    const size = { source: this.#source, width, height, frameRate: frameRate || 30 };
    const top = layersFor(size).at(-1);
    const capability = chooseVideoCodec(this.#video, top.width * top.height);
    if (!capability) throw new Error("this browser cannot send pictures");
    this.#codec = capability.codec;
    this.#scalabilityMode = bestScalabilityMode(capability.scalabilityModes);
    this.#layers = layersFor({ ...size, temporalLayers: temporalLayersOf(this.#scalabilityMode) });
    await this.#publish();
    this.#read(track);
  }

  async #publish() {
    const codec = this.#codec;
    const top = this.#layers.at(-1);
    const publication = await this.#client.publish({
      kind: "video", codec, source: this.#source, layers: this.#layers, priority: this.#source === "screen" ? "high" : "medium",
      description: { width: top.width, height: top.height, frameRate: top.frameRate, timescale: PublisherTimeline.videoTimescale },
    });
    const wanted = new WantedLayers(this.#layers.length);
    if (publication.wanted) wanted.update(publication.wanted);
    publication.addEventListener("keyframe", ({ detail }) => wanted.requestKey(detail?.layer));
    publication.addEventListener("layers", () => {
      wanted.update(publication.wanted ?? []);
      this.dispatchEvent(new Event("layers"));
    });
    // In another session, whose subscribers have said nothing yet.
    publication.addEventListener("renewed", () => wanted.reset());
    publication.addEventListener("ended", ({ detail }) => this.#ended(detail?.reason));
    for (const spatial of this.#layers.keys()) publication.configure(new Uint8Array(0), { spatial });
    this.#encoders = this.#layers.map((layer, spatial) => new LayerEncoder({
      spatial, layer, codec, scalabilityMode: this.#scalabilityMode, now: this.#now,
      send: (chunk) => this.#send(publication, wanted, spatial, chunk), fail: (error) => this.#fail(wanted, spatial, error),
    }));
    this.#wanted = wanted;
    this.publication = publication;
  }

  async #read(track) {
    const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 2 }).readable.getReader();
    this.#reader = reader;
    try {
      while (this.#reader === reader) {
        const { done, value } = await reader.read();
        if (done) break;
        try {
          this.#take(value);
        } finally {
          value.close();
        }
      }
    } catch (error) {
      if (!this.#isClosed) this.dispatchEvent(new CustomEvent("failed", { detail: { what: "track", message: error.message } }));
    }
  }

  #take(frame) {
    const now = this.#now();
    this.#clock.observe(frame.timestamp / 1000, now);
    if (!this.publication || this.#isHeld) return;
    this.#lag += (now - this.#clock.toLocal(frame.timestamp / 1000) - this.#lag) / 32;
    const encodeMilliseconds = Math.max(0, ...this.#encoders.map(({ isRunning, milliseconds }) => (isRunning ? milliseconds : 0)));
    const bufferedBytes = this.#client.statistics?.bufferedBytes ?? 0;
    const { scale, divisor, isStopped } = this.#load.observe({ bufferedBytes, encodeMilliseconds, lagMilliseconds: this.#lag }, now);
    this.#taken += 1;
    if (isStopped || this.#taken % divisor !== 0) return;
    const capturedAt = this.#clock.toLocal(frame.timestamp / 1000);
    // Cameras give more than was asked for at times; a screen is to be sent at its rate.
    const interval = 1000 / this.#layers.at(-1).frameRate;
    if (this.#source === "screen" && capturedAt - this.#lastPictureAt < interval * 0.7) return;
    const timestamp = this.#timeline.video(capturedAt);
    // Two pictures of one time would be one: the receivers know them by it.
    if (timestamp === this.#lastTimestamp) return;
    this.#lastTimestamp = timestamp;
    this.#lastPictureAt = capturedAt;
    this.#waiting.set(frame.timestamp, { timestamp, captureTime: this.#client.serverTime(capturedAt) });
    if (this.#waiting.size > waitingMax) this.#waiting.delete(this.#waiting.keys().next().value);
    for (const [spatial, encoder] of this.#encoders.entries()) {
      const isRunning = this.#wanted.isWanted(spatial);
      if (encoder.isRunning && !isRunning) this.#wanted.requestKey(spatial); // It begins with a key frame when it runs again.
      encoder.isRunning = isRunning;
      if (!isRunning) continue;
      if (encoder.setScale(scale)) this.#wanted.requestKey(spatial);
      if (encoder.encode(frame, this.#wanted.needsKey(spatial))) this.#wanted.keyed(spatial);
    }
  }

  #send(publication, wanted, spatial, { payload, at, key, temporal, discardable }) {
    const place = this.#waiting.get(at);
    if (!place || publication !== this.publication) return;
    // What nobody gets need not be sent; what refers to it is of layers that nobody gets either.
    if (!wanted.isWanted(spatial) || temporal > wanted.temporal(spatial)) {
      if (key) wanted.requestKey(spatial);
      return;
    }
    publication.send({ payload, ...place, key, discardable, endOfPicture: false, spatial, temporal });
  }

  /** Nothing is sent while it is held; then each layer begins with a key frame. */
  setHeld(isHeld) {
    if (this.#isHeld && !isHeld) this.#wanted.requestKey();
    this.#isHeld = isHeld;
  }

  #fail(wanted, spatial, error) {
    wanted.requestKey(spatial);
    this.#failures += 1;
    this.dispatchEvent(new CustomEvent("failed", { detail: { what: "encoder", layer: spatial, message: error.message, count: this.#failures } }));
  }

  /** The relay, or the room's hosts, have ended the stream. */
  #ended(reason) {
    if (this.#isClosed) return;
    this.close().catch(() => {});
    this.dispatchEvent(new CustomEvent("ended", { detail: { source: this.#source, reason } }));
  }

  statistics() {
    const layers = this.#encoders.map((encoder) => encoder.statistics());
    return {
      stream: this.publication?.stream ?? null, source: this.#source, codec: this.#codec,
      kbps: layers.reduce((sum, { kbps }) => sum + kbps, 0),
      framesPerSecond: Math.max(0, ...layers.map(({ framesPerSecond }) => framesPerSecond)),
      keyFrames: layers.reduce((sum, { keyFrames }) => sum + keyFrames, 0), layers,
    };
  }

  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const reader = this.#reader;
    this.#reader = null;
    reader?.cancel().catch(() => {});
    for (const encoder of this.#encoders) encoder.close();
    this.#encoders = [];
    const publication = this.publication;
    this.publication = null;
    await publication?.close();
  }
}
