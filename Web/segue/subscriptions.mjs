/** What was subscribed to, to be wished again of a session that is not the old one: the room's streams have other numbers there. */

/** @typedef {{identity: string, kind: string, source: string|null}} Described */

export class Subscriptions {
  /** @type {{members: Record<string, any>, streams: Map<number, Described>}[]} */
  #wishes = [];

  /** @param {Record<string, any>} members of a `subscribe` that was answered @param {import("./room.mjs").Room | null} room */
  note(members, room) {
    const streams = new Map();
    if (members.all === true) {
      this.#wishes = [];
    } else {
      for (const number of members.streams ?? []) {
        const stream = room?.streams.get(number);
        if (stream) streams.set(number, { identity: room.participants.get(stream.participant)?.identity.name ?? "", kind: stream.kind, source: stream.source });
      }
      for (const wish of this.#wishes) for (const number of streams.keys()) wish.streams.delete(number);
      const sources = JSON.stringify(members.sources);
      this.#wishes = this.#wishes.filter(
        ({ members: { all, sources: others }, streams: left }) =>
          all === true || left.size > 0 || (others !== undefined && JSON.stringify(others) !== sources),
      );
    }
    this.#wishes.push({ members, streams });
  }

  /** @param {Record<string, any>} members of an `unsubscribe` that was answered */
  forget(members) {
    if (members.all === true) this.#wishes = [];
    for (const wish of this.#wishes) for (const number of members.streams ?? []) wish.streams.delete(number);
    this.#wishes = this.#wishes.filter((wish) => wish.members.all === true || wish.members.sources !== undefined || wish.streams.size > 0);
  }

  clear() {
    this.#wishes = [];
  }

  /** Those that need no numbers, which may be wished before the room is there. @returns {Record<string, any>[]} */
  general() {
    return this.#wishes
      .filter((wish) => wish.members.all === true || wish.members.sources !== undefined)
      .map((wish) => {
        const { streams: _, ...members } = wish.members;
        return members;
      });
  }

  /** Those to single streams, as far as the room has them again. @param {import("./room.mjs").Room} room @returns {Record<string, any>[]} */
  particular(room) {
    const wishes = [];
    for (const { members, streams } of this.#wishes) {
      const found = [...streams.values()].map((described) => numberOf(described, room)).filter((number) => number !== undefined);
      const { all: _, sources: __, ...others } = members;
      if (found.length > 0) wishes.push({ ...others, streams: [...new Set(found)] });
    }
    return wishes;
  }
}

/** @param {Described} described @param {import("./room.mjs").Room} room @returns {number | undefined} */
function numberOf(described, room) {
  for (const stream of room.streams.values()) {
    const identity = room.participants.get(stream.participant)?.identity.name ?? "";
    const isIt = identity === described.identity && stream.kind === described.kind && stream.source === described.source;
    if (isIt && !room.isOwn(stream.stream)) return stream.stream;
  }
  return undefined;
}
