/**
 * Text among those in a room: a data stream with the codec `text/plain;charset=utf-8` and the source `chat`, one message a frame, with its time as the
 * time of capture.
 *
 * The stream is published with the first message. What others write comes once one listens: {@link Chat.open}, or a subscription to all streams.
 */

export const CHAT_CODEC = "text/plain;charset=utf-8";
export const CHAT_SOURCE = "chat";
/** Characters of a message. */
export const CHAT_LENGTH_MAX = 4_000;
const TICKS_PER_MILLISECOND = 1_000;

export class Chat extends EventTarget {
  /** @type {Promise<import("./publication.mjs").Publication> | null} */ #publication = null;
  #decoder = new TextDecoder();
  #encoder = new TextEncoder();

  /** @param {import("./client.mjs").SegueClient} client */
  constructor(client) {
    super();
    this.client = client;
  }

  /** Listens to what is written in the room, by who comes later too. @returns {Promise<unknown>} */
  open() {
    return this.client.subscribe({ sources: [CHAT_SOURCE] });
  }

  /**
   * @param {string} text
   * @returns {Promise<{participant: number|null, text: string, at: number}>} the message as the others get it
   * @throws {RangeError} for an empty text, and one that is too long
   */
  async send(text) {
    if (text.length === 0 || text.length > CHAT_LENGTH_MAX) throw new RangeError(`a message has 1 to ${CHAT_LENGTH_MAX} characters`);
    const publication = await this.#published();
    const at = this.client.serverTime();
    publication.send({ payload: this.#encoder.encode(text), timestamp: (at * TICKS_PER_MILLISECOND) % 2 ** 32, key: true, captureTime: at });
    return { participant: this.client.room?.me ?? null, text, at };
  }

  #published() {
    if (!this.#publication) {
      const publication = this.client.publish({ kind: "data", codec: CHAT_CODEC, source: CHAT_SOURCE });
      this.#publication = publication;
      const forget = () => {
        if (this.#publication === publication) this.#publication = null;
      };
      publication.then((made) => made.addEventListener("ended", forget), forget);
    }
    return this.#publication;
  }

  /** @param {import("./frames.mjs").Frame} frame of any stream @param {import("./room.mjs").StreamInfo | undefined} stream */
  take(frame, stream) {
    if (!stream || stream.source !== CHAT_SOURCE || stream.codec !== CHAT_CODEC || frame.kind !== "data" || frame.encrypted) return;
    const text = this.#decoder.decode(frame.payload).slice(0, CHAT_LENGTH_MAX);
    const detail = { participant: stream.participant, text, at: frame.captureTime ?? this.client.serverTime() };
    this.dispatchEvent(new CustomEvent("message", { detail }));
  }
}
