/** What a link tells whom it belongs to, and asks of it. Types only. */

/**
 * @typedef {object} LinkOwner
 * @property {() => Promise<Record<string, any>>} hello members of `hello` but `id` and `resume`
 * @property {() => object[]} received what to resume behind
 * @property {() => number} nextId
 * @property {(welcome: Record<string, any>, resumed: boolean) => void} adopted a connection is welcome: from here on it is sent to
 * @property {(welcome: Record<string, any>) => void} caughtUp what comes next is said by the connection that was adopted
 * @property {(message: Record<string, any>) => void} control
 * @property {(frame: import("./frames.mjs").Frame) => void} frame
 * @property {(what: string) => void} malformed
 * @property {(state: string, reason: string) => void} state
 * @property {(error: import("./errors.mjs").SegueError) => void} ended for good
 */

export {};
