// Looks at the media engine and the client once a second for the quality indicators and the details, and ten times a second for meters. Nothing here plays,
// draws or sends media.

import { judgeConnection, judgeParticipant, since } from "./quality.mjs";
import { takeLevels } from "./speaking.mjs";

/** Looks in a row without a byte from somebody who is not muted, until that is called reconnecting. */
export const stalledLooksMin = 3;

/** @typedef {{grade: import("./quality.mjs").Grade, reasons: string[]}} Judgement */

export class Monitor {
  /**
   * @param {{call: any, onLook: () => void, onLevels: () => void, setTimer?: (f: () => void, ms: number) => any, clearTimer?: (timer: any) => void, clock?:
   * () => number}} options
   */
  constructor({
    call, onLook, onLevels, setTimer = (f, ms) => setInterval(f, ms), clearTimer = (timer) => clearInterval(timer),
    clock = () => performance.now(),
  }) {
    this.call = call;
    this.onLook = onLook;
    this.onLevels = onLevels;
    this.clock = clock;
    this.clearTimer = clearTimer;
    /** @type {any} */
    this.statistics = null;
    /** @type {Map<number, Judgement>} by participant */
    this.judgements = new Map();
    /** @type {Judgement} */
    this.connection = { grade: "unknown", reasons: [] };
    /** @type {Set<number>} participants of whom nothing comes */
    this.stalled = new Set();
    call.stalled = this.stalled;
    /** @type {Map<number, number>} */
    this.quiet = new Map();
    /** @type {Map<number, any>} video statistics of the look before, by stream */
    this.before = new Map();
    this.timers = [setTimer(() => this.look(), 1000), setTimer(() => this.levels(), 100)];
  }

  close() {
    for (const timer of this.timers) this.clearTimer(timer);
    this.timers = [];
  }

  look() {
    const { engine, client } = this.call;
    if (!client) return;
    this.statistics = engine?.statistics?.() ?? null;
    const connection = client.statistics ?? {};
    this.connection = judgeConnection({ state: client.state, roundTripMilliseconds: connection.roundTripMilliseconds, congested: connection.congested });
    this.judge(this.call.people());
    this.onLook();
  }

  /** @param {Array<import("./people.mjs").Person>} people */
  judge(people) {
    this.judgements.clear();
    this.stalled.clear();
    const audio = new Map((this.statistics?.audio ?? []).map((/** @type {any} */ one) => [one.stream, one]));
    const video = new Map((this.statistics?.video ?? []).map((/** @type {any} */ one) => [one.stream, one]));
    const before = this.before;
    this.before = new Map();
    for (const person of people) {
      if (person.me) continue;
      const sound = person.audio === null ? null : audio.get(person.audio);
      const seen = video.get(person.camera ?? person.screen ?? -1) ?? null;
      if (seen) this.before.set(seen.stream, { decoded: seen.decoded ?? 0, dropped: seen.dropped ?? 0, freezes: seen.freezes ?? 0 });
      const recent = seen ? { ...seen, ...since(before.get(seen.stream), this.before.get(seen.stream)) } : null;
      this.judgements.set(person.id, judgeParticipant({ audio: sound, video: recent, screen: person.camera === null }));
      this.takeQuiet(person, [sound, seen]);
    }
  }

  /** @param {import("./people.mjs").Person} person @param {any[]} streams */
  takeQuiet(person, streams) {
    const measured = streams.filter((one) => one && Number.isFinite(one.kbps));
    const silent = measured.length > 0 && measured.every((one) => one.kbps === 0) && !person.muted && !person.held && person.audio !== null;
    const looks = silent ? (this.quiet.get(person.id) ?? 0) + 1 : 0;
    if (looks > 0) this.quiet.set(person.id, looks);
    else this.quiet.delete(person.id);
    if (looks >= stalledLooksMin) this.stalled.add(person.id);
  }

  levels() {
    const { call } = this;
    const { engine } = call;
    if (!engine || !call.client?.room) return;
    const levels = call.people().filter((/** @type {any} */ person) => !person.muted && !person.held)
      .map((/** @type {any} */ person) => ({
        participant: person.id,
        level: person.me ? engine.microphoneLevel ?? null : person.audio === null ? null : engine.level(person.audio) ?? null,
      }));
    const next = takeLevels(call.speaking, levels, this.clock());
    const changed = next.speaking !== call.speaking.speaking;
    call.speaking = next;
    if (changed) call.touch();
    this.onLevels();
  }
}
