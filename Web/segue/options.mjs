/** The client's options, complete: everything that a machine gives (time, chance, the network) is handed in, and has its usual source when it is not. */

/**
 * @typedef {object} ClientOptions
 * @property {string|URL} url of the relay: `wss://host:port/v1/session`, or its `https://` address
 * @property {string | (() => Promise<string|undefined>|string|undefined)} [token] a bearer token, or who has one; asked before each connection
 * @property {{name: string, version?: string}} [client] shown in logs
 * @property {string} [device] what the client calls its device
 * @property {Record<string, unknown>} [wishes] how the session is to be served (protocol 3.2)
 * @property {any} [WebSocket] the class to connect with
 * @property {() => number} [clock] monotonic, in milliseconds
 * @property {(callback: () => void, milliseconds: number) => unknown} [setTimer]
 * @property {(timer: any) => void} [clearTimer]
 * @property {() => number} [random] from 0 to 1
 * @property {EventTarget} [online] tells `online` when the network is there again, or another one
 * @property {number} [attemptMilliseconds] for one attempt to connect, from the first packet to the relay's `welcome`
 * @property {number} [reconnectMillisecondsMax] for how long a lost relay is looked for
 */

export const SESSION_PATH = "/v1/session";

export const DEFAULT_WISHES = Object.freeze({ parts: true, bundles: Object.freeze({ delayMilliseconds: 5 }), keepAliveMilliseconds: 10_000 });

/** @param {ClientOptions} options @returns {any} */
export function completeOptions(options) {
  const machine = /** @type {any} */ (globalThis);
  const { token } = options;
  return {
    url: sessionURL(options.url),
    token: typeof token === "function" ? token : () => token,
    tokenIsRenewable: typeof token === "function",
    client: options.client ?? { name: "segue.mjs" },
    device: options.device,
    wishes: { ...DEFAULT_WISHES, ...options.wishes },
    WebSocket: options.WebSocket ?? machine.WebSocket,
    clock: options.clock ?? (() => performance.now()),
    setTimer: options.setTimer ?? ((callback, milliseconds) => setTimeout(callback, milliseconds)),
    clearTimer: options.clearTimer ?? ((timer) => clearTimeout(timer)),
    random: options.random ?? Math.random,
    online: options.online ?? (typeof machine.window === "object" && typeof machine.addEventListener === "function" ? machine : undefined),
    attemptMilliseconds: options.attemptMilliseconds ?? 10_000,
    reconnectMillisecondsMax: options.reconnectMillisecondsMax ?? 10 * 60_000,
    baseMilliseconds: 250,
    capMilliseconds: 10_000,
  };
}

/** @param {string|URL} address @returns {string} */
export function sessionURL(address) {
  const url = new URL(address, /** @type {any} */ (globalThis).location?.href);
  if (url.protocol === "https:") url.protocol = "wss:";
  else if (url.protocol === "http:") url.protocol = "ws:";
  if (url.pathname === "/" || url.pathname === "") url.pathname = SESSION_PATH;
  url.hash = "";
  return url.href;
}
