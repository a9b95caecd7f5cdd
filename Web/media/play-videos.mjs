// All video streams together: one drawing for all of them, at the display's pace.

import { Percentiles } from "./statistics.mjs";
import { VideoStreamPlayer } from "./play-video.mjs";

export class VideoPlayer extends EventTarget {
  /** Of all streams, from capture to drawing. */
  latencies = new Percentiles(1_200);

  #streams = new Map();
  #canvases = new Map(); // of streams of which nothing has come yet, too
  #options;
  #heardOf;
  #requestKey;
  #request = null;

  /**
   * @param {{exports: object, profile: string, now: () => number, serverTime: (local: number) => number, requestKey: (stream: number) => void,
   *   heardOf: (participant: number) => object | undefined}} options
   */
  constructor({ requestKey, heardOf, ...options }) {
    super();
    this.#options = options;
    this.#requestKey = requestKey;
    this.#heardOf = heardOf;
  }

  take(frame, info) {
    let stream = this.#streams.get(frame.stream);
    if (!stream) {
      const requestKey = () => this.#requestKey(frame.stream);
      stream = new VideoStreamPlayer({ ...this.#options, info, requestKey, note: (latency) => this.latencies.add(latency) });
      stream.addEventListener("failed", ({ detail }) => this.dispatchEvent(new CustomEvent("failed", { detail })));
      stream.addEventListener("size", ({ detail }) => this.dispatchEvent(new CustomEvent("size", { detail: { stream: frame.stream, ...detail } })));
      this.#streams.set(frame.stream, stream);
      stream.attach(this.#canvases.get(frame.stream) ?? null);
    }
    stream.take(frame);
  }

  attach(id, canvas) {
    if (canvas) this.#canvases.set(id, canvas);
    else this.#canvases.delete(id);
    this.#streams.get(id)?.attach(canvas);
    if (this.#canvases.size > 0) this.#run();
  }

  #run() {
    this.#request ??= requestAnimationFrame(() => {
      this.#request = null;
      for (const stream of this.#streams.values()) {
        // A shared screen has no sound of its own; its participant's voice explains it.
        stream.tick(this.#heardOf(stream.participant));
      }
      if (this.#canvases.size > 0) this.#run();
    });
  }

  /** By how much the sound of each participant would have to wait for its pictures. */
  audioDelaysWanted() {
    const wanted = new Map();
    for (const stream of this.#streams.values()) {
      if (stream.source === "screen") continue;
      wanted.set(stream.participant, Math.max(wanted.get(stream.participant) ?? 0, stream.audioDelayWanted));
    }
    return wanted;
  }

  close(id) {
    this.#streams.get(id)?.close();
    this.#streams.delete(id);
    this.#canvases.delete(id);
  }

  latenciesOf(id) {
    return this.#streams.get(id)?.latencies ?? null;
  }

  statistics() {
    return Array.from(this.#streams.values(), (stream) => stream.statistics());
  }

  receiverReport() {
    return Array.from(this.#streams.values(), (stream) => stream.receiverReport());
  }

  end() {
    if (this.#request !== null) cancelAnimationFrame(this.#request);
    this.#request = null;
    for (const id of [...this.#streams.keys()]) this.close(id);
    this.#canvases.clear();
  }
}
