// When the system takes the sound from the page: a call on the telephone, a page that is frozen, a microphone that was pulled. What it means is decided
// by a machine that knows no browser; `InterruptionWatch` tells it what happens.

/** Why the sound is away, and the reason that the relay is told (Sources/PROTOCOL.md, 3.19). The first that holds is told. */
export const causes = Object.freeze({ context: "default", frozen: "appWasSuspended", trackMuted: "builtInMicMuted", trackEnded: "routeDisconnected" });

/**
 * One interruption at a time, however many causes it has: it begins with the first and ends with the last.
 *
 * A cause that has gone leaves the end as something to be resumed, unless somebody said otherwise meanwhile.
 */
export class InterruptionMachine {
  #causes = new Set();
  #isInterrupted = false;

  get isInterrupted() {
    return this.#isInterrupted;
  }

  get causes() {
    return [...this.#causes];
  }

  /**
   * A cause holds, or holds no more.
   *
   * @returns {{type: "began", reason: string} | {type: "ended", shouldResume: boolean} | null} what is to be told
   */
  set(cause, holds) {
    if (!(cause in causes)) throw new RangeError(`no such cause: ${cause}`);
    if (holds) this.#causes.add(cause);
    else this.#causes.delete(cause);
    if (this.#causes.size > 0 && !this.#isInterrupted) {
      this.#isInterrupted = true;
      return { type: "began", reason: causes[cause] };
    }
    if (this.#causes.size === 0 && this.#isInterrupted) {
      this.#isInterrupted = false;
      return { type: "ended", shouldResume: true };
    }
    return null;
  }

  /** The interruption was ended from elsewhere (the relay's time for it is over, the user went on): nothing more is told of it. */
  forget() {
    this.#isInterrupted = false;
    this.#causes.clear();
  }
}

/** A track that is muted for less than this, as tracks are when they begin, is no interruption. */
const muteMilliseconds = 500;

/**
 * Watches one context, the page, and the microphone; tells `began(reason)` and `ended({shouldResume})`.
 */
export class InterruptionWatch {
  #machine = new InterruptionMachine();
  #began;
  #ended;
  #abort = new AbortController();
  #trackAbort = null;
  #context;
  #wasRunning = false;
  #timer = null;

  /**
   * @param {{context: AudioContext, began: (reason: string) => void, ended: (how: {shouldResume: boolean}) => void, page?: EventTarget}} options
   *   page: the document
   */
  constructor({ context, began, ended, page = globalThis.document }) {
    this.#context = context;
    this.#began = began;
    this.#ended = ended;
    const { signal } = this.#abort;
    context.addEventListener("statechange", () => this.#contextChanged(), { signal });
    page?.addEventListener("freeze", () => this.#set("frozen", true), { signal });
    page?.addEventListener("resume", () => this.#set("frozen", false), { signal });
    // A page that is seen again is not frozen, whatever was missed.
    page?.addEventListener("visibilitychange", () => page.visibilityState === "visible" && this.#set("frozen", false), { signal });
    this.#contextChanged();
  }

  get isInterrupted() {
    return this.#machine.isInterrupted;
  }

  #contextChanged() {
    const { state } = this.#context;
    if (state === "running") this.#wasRunning = true;
    // Before it first ran it waits for the user, and a closed one is our own doing.
    if (!this.#wasRunning || state === "closed") return;
    this.#set("context", state !== "running");
    // "interrupted" ends by itself; out of "suspended" somebody must help it.
    if (state === "suspended") this.#context.resume().catch(() => {});
  }

  /** The microphone that is sent; null: none. */
  watchTrack(track) {
    this.#trackAbort?.abort();
    clearTimeout(this.#timer);
    this.#set("trackMuted", false);
    this.#set("trackEnded", false);
    if (!track) return;
    this.#trackAbort = new AbortController();
    const { signal } = this.#trackAbort;
    const muteSoon = () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => track.muted && track.readyState === "live" && !signal.aborted && this.#set("trackMuted", true), muteMilliseconds);
    };
    track.addEventListener("mute", muteSoon, { signal });
    track.addEventListener("unmute", () => {
      clearTimeout(this.#timer);
      this.#set("trackMuted", false);
    }, { signal });
    track.addEventListener("ended", () => this.#set("trackEnded", true), { signal });
    if (track.muted) muteSoon();
    if (track.readyState === "ended") this.#set("trackEnded", true);
  }

  #set(cause, holds) {
    const told = this.#machine.set(cause, holds);
    if (told?.type === "began") this.#began(told.reason);
    else if (told?.type === "ended") this.#ended({ shouldResume: told.shouldResume });
  }

  /** For benches and embedders: as if the system had taken the sound, or given it back. */
  simulate(holds) {
    this.#set("context", holds);
  }

  forget() {
    this.#machine.forget();
  }

  close() {
    this.#abort.abort();
    this.#trackAbort?.abort();
    clearTimeout(this.#timer);
  }
}
