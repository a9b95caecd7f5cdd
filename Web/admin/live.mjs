/**
 * The overview as the relay tells it: one EventSource of `GET /v1/live`, closed while nobody looks, opened anew with growing pauses while the relay is away.
 */

import { NOT_ADMINISTRATOR, problemOf } from "./api.mjs";
import { backoff } from "./backoff.mjs";

/** The relay tells every two seconds; after so many without a word the connection counts as lost. */
export const SILENCE_MILLISECONDS_MAX = 10_000;

const CLOSED = 2;

/**
 * Events: "overview" (detail: the overview), "state" (detail: {state, text, retryMilliseconds?}).
 * States: "stopped", "hidden", "connecting", "open", "waiting" (for the next try), "refused" (until `retry()`).
 */
export class LiveFeed extends EventTarget {
  #url;
  #page;
  #EventSource;
  #fetch;
  #random;
  #setTimer;
  #clearTimer;
  #source = null;
  #timer = null;
  #failures = 0;
  #probe = null;
  #running = false;
  state = "stopped";

  /**
   * @param {{url?: string, page: EventTarget & {hidden: boolean}, EventSource: typeof EventSource, fetch: typeof fetch, random?: () => number,
   *   setTimer?: (f: () => void, ms: number) => unknown, clearTimer?: (timer: unknown) => void}} options `page`: the document
   */
  constructor({ url = "/v1/live", page, EventSource, fetch, random = Math.random, setTimer, clearTimer }) {
    super();
    this.#url = url;
    this.#page = page;
    this.#EventSource = EventSource;
    this.#fetch = fetch;
    this.#random = random;
    this.#setTimer = setTimer ?? ((f, ms) => setTimeout(f, ms));
    this.#clearTimer = clearTimer ?? ((timer) => clearTimeout(timer));
    page.addEventListener("visibilitychange", () => this.#visibilityChanged());
  }

  start() {
    if (this.#running) return;
    this.#running = true;
    this.#visibilityChanged();
  }

  stop() {
    this.#running = false;
    this.#close();
    this.#become("stopped", "");
  }

  /** Tries at once, also after a refusal: somebody asked for it. */
  retry() {
    if (!this.#running || this.#page.hidden || this.state === "open" || this.state === "connecting") return;
    this.#failures = 0;
    this.#open();
  }

  #visibilityChanged() {
    if (!this.#running) return;
    if (this.#page.hidden) {
      // What was refused stays so: looking away and back is no reason to ask again.
      if (this.state === "refused") return;
      this.#close();
      this.#become("hidden", "Paused while this page is hidden.");
    } else if (this.state !== "refused") {
      this.#failures = 0;
      this.#open();
    }
  }

  #open() {
    this.#close();
    this.#become("connecting", "Connecting …");
    const source = new this.#EventSource(this.#url);
    this.#source = source;
    source.addEventListener("overview", (event) => this.#take(source, event.data));
    source.addEventListener("error", () => {
      if (source === this.#source) this.#failed(source.readyState === CLOSED);
    });
    this.#watchSilence();
  }

  #take(source, data) {
    if (source !== this.#source) return;
    let overview;
    try {
      overview = JSON.parse(data);
    } catch {
      this.#failed(false);
      return;
    }
    this.#failures = 0;
    this.#watchSilence();
    if (this.state !== "open") this.#become("open", "Live.");
    this.dispatchEvent(new CustomEvent("overview", { detail: overview }));
  }

  #watchSilence() {
    this.#clearTimer(this.#timer);
    this.#timer = this.#setTimer(() => this.#failed(false), SILENCE_MILLISECONDS_MAX);
  }

  /** An EventSource does not tell with what status it was refused, so that is asked once. */
  #failed(refused) {
    this.#close();
    if (!refused) {
      this.#wait("The relay does not answer.");
      return;
    }
    const probe = new AbortController();
    this.#probe = probe;
    this.#ask(probe).catch(() => {
      if (!probe.signal.aborted) this.#wait("The relay does not answer.");
    });
  }

  async #ask(probe) {
    const response = await this.#fetch(this.#url, { headers: { accept: "text/event-stream" }, cache: "no-store", signal: probe.signal });
    if (response.ok) {
      // It answers now: the stream that would come with it is not wanted here.
      await response.body?.cancel();
      if (!probe.signal.aborted) this.#wait("The relay was busy.");
      return;
    }
    const error = await problemOf(response);
    if (probe.signal.aborted) return;
    if (error.status === 403) this.#become("refused", NOT_ADMINISTRATOR);
    else if (error.status === 404) this.#become("refused", "This relay has no live overview (/v1/live). Rooms and sessions work all the same.");
    else if (error.status === 503) this.#wait("The relay has as many watchers as it serves, or is going away.");
    else this.#wait(error.message);
  }

  #wait(text) {
    this.#failures += 1;
    const pause = backoff(this.#failures, this.#random);
    this.#become("waiting", text, pause);
    this.#timer = this.#setTimer(() => this.#open(), pause);
  }

  #close() {
    this.#clearTimer(this.#timer);
    this.#timer = null;
    this.#probe?.abort();
    this.#probe = null;
    this.#source?.close();
    this.#source = null;
  }

  #become(state, text, retryMilliseconds) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, text, retryMilliseconds } }));
  }
}
