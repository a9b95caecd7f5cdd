// The details: numbers of one's own connection, of what one sends, and of what comes from each participant. Refreshed once a second.

import { h, replaceChildren, setAttribute, setText, show } from "../dom.mjs";
import { formats, pageProtocol } from "../format.mjs";

/** Rows that benches look for. @type {Record<string, string>} */
const marks = { state: "connection", http: "transport" };

/** @param {any} app */
export function detailsView(app) {
  const { strings } = app;
  const words = strings.details;
  const connection = section(words.connection);
  const sending = section(words.sending);
  const receiving = h("div.receiving");
  const title = h("h3", {}, words.receiving);
  const http = h("p.hint", {}, words.httpHint);
  const element = h("div.details", { dataset: { test: "details-panel" } }, connection.element, http, sending.element, title, receiving);
  /** @type {Map<number, ReturnType<typeof section>>} */
  const sections = new Map();
  /** @type {number|null} */
  let scrolledTo = null;

  /** By how much the relay's clock is ahead of this machine's. */
  function clockOffset() {
    const { client } = app.call;
    return client?.state === "open" && client.serverTime ? client.serverTime() - Date.now() : null;
  }

  /** @param {any} statistics */
  function connectionRows(statistics) {
    const { monitor, call } = app;
    return [
      ["quality", strings.quality.title[monitor?.connection.grade ?? "unknown"], "Quality"],
      ["state", call.client?.state ?? "", words.state],
      ["rtt", formats.milliseconds(statistics.roundTripMilliseconds), words.roundTrip],
      ["clock", formats.milliseconds(clockOffset()), words.clock],
      ["node", statistics.node ?? "–", words.node],
      ["http", pageProtocol(), words.http],
      ["bitrate", formats.bitrate(statistics.bitrate), words.bitrate],
      ["congested", statistics.congested ? words.yes : words.no, words.congested],
      ["traffic", `${formats.bytes(statistics.bytesIn)} / ${formats.bytes(statistics.bytesOut)}`, words.traffic],
      ["queued", formats.bytes(statistics.bufferedBytes), words.queued],
      ["reconnects", String(statistics.reconnects ?? 0), words.reconnects],
      ["output", formats.milliseconds(monitor?.statistics?.outputLatencyMilliseconds), words.output],
    ];
  }

  /** @param {import("../people.mjs").Person} person @param {any} statistics */
  function personRows(person, statistics) {
    const rows = [];
    const sound = statistics.audio?.find((/** @type {any} */ one) => one.stream === person.audio);
    if (sound) {
      rows.push(["audio", `${sound.codec}, ${formats.kilobits(sound.kbps)}`, words.audio],
        ["delay", formats.milliseconds(sound.latencyMilliseconds), words.delay],
        ["buffer", `${formats.milliseconds(sound.levelMilliseconds)} / ${formats.milliseconds(sound.targetMilliseconds)}`, words.buffer],
        ["concealed", formats.share(sound.concealedShare), words.concealed], ["drift", formats.partsPerMillion(sound.driftPPM), words.drift]);
    }
    for (const stream of [person.camera, person.screen]) {
      const video = stream === null ? null : statistics.video?.find((/** @type {any} */ one) => one.stream === stream);
      if (!video) continue;
      const prefix = stream === person.screen ? "screen-" : "";
      const size = `${video.width ?? "?"} × ${video.height ?? "?"}`;
      rows.push([`${prefix}video`, `${video.codec}, ${size}, ${formats.rate(video.framesPerSecond)}, ${formats.kilobits(video.kbps)}`, words.video],
        [`${prefix}video-delay`, formats.milliseconds(video.latencyMilliseconds), words.delay], [`${prefix}layer`, formats.layer(video.layer), words.layer],
        [`${prefix}drops`, `${video.dropped ?? 0} / ${(video.decoded ?? 0) + (video.dropped ?? 0)}`, words.drops],
        [`${prefix}freezes`, String(video.freezes ?? 0), words.freezes]);
    }
    return rows;
  }

  return {
    element,
    /** @param {any} state */
    update(state) {
      const { monitor, call } = app;
      const statistics = monitor?.statistics ?? {};
      connection.rows(connectionRows(call.client?.statistics ?? {}));
      sending.rows((statistics.sending ?? []).map((/** @type {any} */ one) => [`sending-${one.source}`, formats.sending(one), String(one.source)]));
      show(sending.element, (statistics.sending ?? []).length > 0);
      const others = call.people().filter((/** @type {any} */ person) => !person.me);
      replaceChildren(receiving, others.map((/** @type {any} */ person) => {
        const part = sections.get(person.id) ?? section(person.name, true);
        sections.set(person.id, part);
        const judgement = monitor?.judgements.get(person.id) ?? { grade: "unknown", reasons: [] };
        part.title(person.name, judgement.grade, strings.quality.title[/** @type {"good"} */ (judgement.grade)]);
        part.note(judgement.reasons.map((/** @type {string} */ reason) => strings.quality.reasons[reason]).join("; "));
        part.rows(personRows(person, statistics));
        setAttribute(part.element, "data-participant", String(person.id));
        part.element.classList.toggle("chosen", state.detailsOf === person.id);
        return part.element;
      }));
      for (const id of sections.keys()) if (!others.some((/** @type {any} */ person) => person.id === id)) sections.delete(id);
      show(title, others.length > 0);
      if (state.detailsOf !== scrolledTo && state.panel === "details") sections.get(state.detailsOf)?.element.scrollIntoView({ block: "start" });
      scrolledTo = state.detailsOf;
    },
  };
}

/** @param {string} name @param {boolean} [graded] */
function section(name, graded = false) {
  const title = h("span", {}, name);
  const grade = h("span.grade");
  const note = h("p.hint", { hidden: true });
  const list = h("dl.numbers");
  /** @type {Map<string, {term: HTMLElement, value: HTMLElement}>} */
  const shown = new Map();
  return {
    element: h("section.block", {}, h("h3", {}, title, graded ? grade : null), note, list),
    /** @param {string} text @param {string} word @param {string} says */
    title(text, word, says) {
      setText(title, text);
      setText(grade, says);
      setAttribute(grade, "data-grade", word);
    },
    /** @param {string} text */
    note(text) {
      setText(note, text);
      show(note, text !== "");
    },
    /** @param {string[][]} rows name, value, label */
    rows(rows) {
      const children = [];
      for (const [key, value, label] of rows) {
        const row = shown.get(key) ?? { term: h("dt", {}, label), value: h("dd", { dataset: { number: key, ...(marks[key] ? { test: marks[key] } : {}) } }) };
        shown.set(key, row);
        setText(row.value, value);
        children.push(row.term, row.value);
      }
      replaceChildren(list, children);
    },
  };
}
