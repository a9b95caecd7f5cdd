/** Connections that the session does not live on: attempts that took too long and may still be answered, and those that were replaced. */

/** So many attempts that took too long may still be answered. */
const LATE_MAX = 4;
/** After so long no answer comes any more. */
const LATE_MILLISECONDS_MAX = 60_000;

export class FormerConnections {
  /** @type {Set<import("./connection.mjs").Connection>} */ #connections = new Set();

  [Symbol.iterator]() {
    return this.#connections.values();
  }

  /** Whether one of them has said hello and was not answered. */
  get awaitWelcome() {
    return [...this.#connections].some((connection) => connection.helloId !== null);
  }

  /** @param {import("./connection.mjs").Connection} connection is read on, for a while */
  keep(connection) {
    this.#connections.add(connection);
    const late = [...this.#connections].filter((other) => other.helloId !== null);
    if (late.length > LATE_MAX) this.letGo(late[0]);
  }

  /** @param {import("./connection.mjs").Connection} connection whose session lives elsewhere, or never came to be */
  letGo(connection) {
    connection.deaf = true;
    if (connection.phase !== "ended") this.#connections.add(connection);
    connection.close();
  }

  /** @param {number} now */
  letGoOfLate(now) {
    for (const other of [...this.#connections]) if (other.helloId !== null && now - other.heardAt > LATE_MILLISECONDS_MAX) this.letGo(other);
  }

  /** @param {import("./connection.mjs").Connection} connection that the session lives on now */
  letGoBefore(connection) {
    for (const other of [...this.#connections]) if (other.number < connection.number) this.letGo(other);
  }

  /** @param {import("./connection.mjs").Connection} connection has ended, or is not a former one any more */
  delete(connection) {
    this.#connections.delete(connection);
  }
}
