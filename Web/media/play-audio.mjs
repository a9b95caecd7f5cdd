// What is heard: each audio stream's packets are decoded and go to the worklet, where the jitter buffers are; its reports say what was played, and when.

import { AudioStreamDecoder, decoderConfiguration } from "./decode-audio.mjs";
import { serialDistance } from "../segue/frames.mjs";
import { ClockMap } from "./clocks.mjs";
import { levelOfPower, silence } from "./levels.mjs";
import { Percentiles, RateWindow } from "./statistics.mjs";

const defaultTimescale = 48_000;
const silenceFlag = 0x08;
const discontinuityFlag = 0x04;
/** A report is worth something so long. */
const reportMillisecondsMax = 1_000;

/** Sound waits no longer than this for pictures. */
const holdBackMillisecondsMax = 80;

/** One stream as the page knows it. */
class PlayedStream {
  constructor(info, participant) {
    this.info = info;
    this.participant = participant;
    this.timescale = info.description?.timescale ?? defaultTimescale;
    this.configuration = null;
    this.decoder = null;
    this.channels = 0; // of the open buffer; 0: none is open
    this.level = silence;
    this.delayMin = 0;
    this.isSilent = false;
    this.isVoice = false;
    this.received = 0;
    this.captured = null; // {timestamp, captureTime}
    this.heard = null; // {timestamp, heardAt}
    this.report = null;
    this.reportedAt = -Infinity;
    this.latencies = new Percentiles(300);
    this.bytes = new RateWindow();
  }
}

export class AudioPlayer extends EventTarget {
  /** Of all streams: what the page's test object tells. */
  latencies = new Percentiles(1_200);

  #context;
  #client;
  #now;
  #profile;
  #node = null;
  #streams = new Map();
  #volumes = new Map(); // participant → 0 … 1
  #ducking = 1;
  #clock = new ClockMap({ windowMilliseconds: 5_000 });
  #rings = new Map();
  #nextRing = 0;
  #isRunning = false;

  /** @param {{context: AudioContext, client: object, now: () => number, profile: string}} options */
  constructor({ context, client, now, profile }) {
    super();
    this.#context = context;
    this.#client = client;
    this.#now = now;
    this.#profile = profile;
  }

  /** The worklet's module must be loaded. */
  start(module) {
    const node = new AudioWorkletNode(this.#context, "segue-playout", { numberOfInputs: 0, numberOfOutputs: 1, outputChannelCount: [2] });
    this.#node = node;
    node.onprocessorerror = () => this.dispatchEvent(new CustomEvent("failed", { detail: { what: "playout", message: "the audio worklet ended" } }));
    const ready = new Promise((resolve, reject) => {
      node.port.onmessage = ({ data }) => {
        if (data.type === "ready") resolve();
        else if (data.type === "failed") this.#failed(data.message, reject);
        else if (data.type === "report") this.#take(data);
        else if (data.type === "ring") this.#takeRing(data);
      };
    });
    node.connect(this.#context.destination);
    node.port.postMessage({ type: "module", module });
    return ready.then(() => {
      this.#isRunning = true;
    });
  }

  #failed(message, reject) {
    reject(new Error(message));
    this.dispatchEvent(new CustomEvent("failed", { detail: { what: "playout", message } }));
  }

  // MARK: Packets

  /** @param {{stream: number, participant?: number, codec: string, description?: object}} info of the stream, as the room's model has it */
  take(frame, info) {
    let stream = this.#streams.get(frame.stream);
    if (!stream) {
      stream = new PlayedStream(info, info.participant ?? null);
      this.#streams.set(frame.stream, stream);
    }
    if (frame.kind === "configuration") this.#configure(stream, frame.payload);
    else if (frame.kind === "audio" && !frame.encrypted) this.#decode(stream, frame);
  }

  #configure(stream, payload) {
    const configuration = decoderConfiguration(stream.info, payload);
    const text = JSON.stringify({ ...configuration, description: payload.join() });
    if (text === stream.configuration) return;
    stream.configuration = text;
    stream.decoder?.close();
    stream.decoder = new AudioStreamDecoder({
      configuration,
      output: (packet, samples, channels) => this.#insert(stream, packet, samples, channels),
      fail: (error) => this.dispatchEvent(new CustomEvent("failed", { detail: { what: "decoder", stream: stream.info.stream, message: error.message } })),
    });
  }

  #decode(stream, frame) {
    stream.received += 1;
    stream.bytes.add(frame.payload.length, this.#now());
    stream.isSilent = frame.silence;
    stream.isVoice = frame.voice === true;
    if (frame.captureTime !== null && frame.captureTime !== undefined) stream.captured = { timestamp: frame.timestamp, captureTime: frame.captureTime };
    // While the context stands still nothing is played; what comes meanwhile would be late when it goes on.
    if (!stream.decoder || !this.#isRunning || this.#context.state !== "running") return;
    const flags = (frame.silence ? silenceFlag : 0) | (frame.discontinuity ? discontinuityFlag : 0);
    stream.decoder.decode(frame.payload, { sequence: frame.sequence, timestamp: frame.timestamp, flags });
  }

  #insert(stream, packet, samples, channels) {
    if (!this.#node) return;
    const id = stream.info.stream;
    if (channels > 0 && channels !== stream.channels) {
      stream.channels = channels;
      this.#node.port.postMessage({ type: "open", stream: id, channels, timescale: stream.timescale, profile: this.#profile, volume: this.#volume(stream) });
    }
    if (stream.channels > 0) this.#node.port.postMessage({ type: "packet", stream: id, ...packet, samples }, [samples.buffer]);
  }

  /** The stream is no more. */
  close(id) {
    const stream = this.#streams.get(id);
    stream?.decoder?.close();
    this.#streams.delete(id);
    this.#node?.port.postMessage({ type: "close", stream: id });
  }

  /** Drops all that waits: it belongs to another time. */
  reset() {
    this.#node?.port.postMessage({ type: "reset" });
    this.#clock.reset();
  }

  // MARK: Volumes

  #volume(stream) {
    return (this.#volumes.get(stream.participant) ?? 1) * (stream.participant === null ? 1 : this.#ducking);
  }

  setVolume(participant, volume) {
    this.#volumes.set(participant, Math.max(0, Math.min(1, volume)));
    this.#sendVolumes();
  }

  /** Another session of the same identity is to be heard above this one (`duck.began`); in a mix the relay has done it. */
  duck(decibels) {
    this.#ducking = 10 ** (Math.min(0, decibels) / 20);
    this.#sendVolumes();
  }

  #sendVolumes() {
    for (const [id, stream] of this.#streams) this.#node?.port.postMessage({ type: "volume", stream: id, volume: this.#volume(stream) });
  }

  // MARK: Reports

  #take({ now, streams }) {
    const local = this.#now();
    this.#clock.observe(now, local);
    for (const report of streams) {
      const stream = this.#streams.get(report.stream);
      if (!stream) continue;
      stream.report = report;
      stream.reportedAt = local;
      stream.level = levelOfPower(report.power);
      if (report.at === null || !report.isAudible) {
        stream.heard = null;
        continue;
      }
      stream.heard = { timestamp: report.mediaTimestamp, timescale: stream.timescale, heardAt: this.#heardAt(report.at) };
      this.#noteLatency(stream);
    }
    this.dispatchEvent(new Event("report"));
  }

  /** When what the worklet gave at a time of the context's is heard, as local time. */
  #heardAt(at) {
    const { contextTime = 0, performanceTime = 0 } = this.#context.getOutputTimestamp?.() ?? {};
    if (performanceTime > 0 && contextTime > 0) return performanceTime + at - contextTime * 1000;
    return this.#clock.toLocal(at) + this.outputLatencyMilliseconds;
  }

  get outputLatencyMilliseconds() {
    return ((this.#context.outputLatency || this.#context.baseLatency) ?? 0) * 1000;
  }

  #noteLatency(stream) {
    // Of silence hardly a frame comes: what is played then stands for none of them.
    if (!stream.captured || stream.isSilent) return;
    const { timestamp, heardAt } = stream.heard;
    const captured = stream.captured.captureTime + (serialDistance(timestamp, stream.captured.timestamp) * 1000) / stream.timescale;
    const latency = this.#client.serverTime(heardAt) - captured;
    stream.latencies.add(latency);
    this.latencies.add(latency);
  }

  /** What of a participant's microphone is heard when: what its pictures are held to. Undefined when it is silent, or nothing is known. */
  heardOf(participant) {
    const now = this.#now();
    for (const stream of this.#streams.values()) {
      if (stream.participant !== participant || stream.info.source === "screen") continue;
      if (stream.heard && now - stream.reportedAt < reportMillisecondsMax) return stream.heard;
    }
    return undefined;
  }

  /**
   * The pictures of a participant come later than its sound by so much: the sound waits for them, within bounds; when they come in time
   * the wait is taken back bit by bit. To be said every two seconds or so.
   */
  holdBack(participant, milliseconds) {
    for (const [id, stream] of this.#streams) {
      if (stream.participant !== participant || !stream.report) continue;
      const target = stream.report.statistics.targetMilliseconds;
      const wanted = milliseconds > 0 ? Math.max(target, stream.delayMin) + milliseconds : stream.delayMin - 5;
      const delayMin = Math.max(0, Math.min(holdBackMillisecondsMax, wanted));
      if (delayMin === stream.delayMin) continue;
      stream.delayMin = delayMin;
      this.#node?.port.postMessage({ type: "configure", stream: id, profile: this.#profile, delayMin });
    }
  }

  level(id) {
    const stream = this.#streams.get(id);
    return stream && this.#now() - stream.reportedAt < reportMillisecondsMax ? stream.level : silence;
  }

  /** The samples that were played in the last second: all of them mixed, or of one stream. */
  played(stream) {
    const id = this.#nextRing++;
    const answer = new Promise((resolve) => this.#rings.set(id, resolve));
    this.#node?.port.postMessage({ type: "ring", id, stream });
    return answer;
  }

  #takeRing({ id, samples, sampleRate }) {
    this.#rings.get(id)?.({ samples, sampleRate });
    this.#rings.delete(id);
  }

  /** The number of a participant's microphone; of nothing that is played when it has none. */
  streamOf(participant) {
    for (const [id, stream] of this.#streams) if (stream.participant === participant && stream.info.source !== "screen") return id;
    return -1;
  }

  latenciesOf(id) {
    return this.#streams.get(id)?.latencies ?? null;
  }

  statistics() {
    const now = this.#now();
    return Array.from(this.#streams.values(), (stream) => {
      const buffer = stream.report?.statistics;
      return {
        stream: stream.info.stream, participant: stream.participant, codec: stream.info.codec,
        kbps: (stream.bytes.perSecond(now) * 8) / 1000,
        targetMilliseconds: buffer?.targetMilliseconds ?? 0, levelMilliseconds: buffer?.levelMilliseconds ?? 0,
        concealedShare: buffer?.samplesPlayed > 0 ? (buffer.concealedSamples - buffer.silentConcealedSamples) / buffer.samplesPlayed : 0,
        latencyMilliseconds: stream.latencies.last, driftPPM: buffer?.driftPartsPerMillion ?? 0, silent: stream.isSilent, voice: stream.isVoice,
        received: stream.received, late: buffer?.late ?? 0, decoderFailures: stream.decoder?.failures ?? 0,
      };
    });
  }

  /** For `client.report`: totals, as the relay wants them (Sources/PROTOCOL.md, 3.16). */
  receiverReport() {
    const now = this.#now();
    const reports = [];
    for (const stream of this.#streams.values()) {
      const buffer = stream.report?.statistics;
      if (!buffer) continue;
      const concealed = Math.round((buffer.concealedSamples - buffer.silentConcealedSamples) / 960);
      reports.push({
        stream: stream.info.stream, received: stream.received, played: Math.max(0, stream.received - buffer.late - buffer.discarded), concealed,
        late: Math.min(buffer.late, concealed), bufferMilliseconds: buffer.levelMilliseconds, bitrate: Math.round(stream.bytes.perSecond(now) * 8),
      });
    }
    return reports;
  }

  end() {
    for (const stream of this.#streams.values()) stream.decoder?.close();
    this.#streams.clear();
    this.#node?.port.postMessage({ type: "end" });
    this.#node?.disconnect();
    this.#node = null;
    for (const resolve of this.#rings.values()) resolve({ samples: new Float32Array(0), sampleRate: 48_000 });
    this.#rings.clear();
  }
}
