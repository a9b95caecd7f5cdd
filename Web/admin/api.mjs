/**
 * The admin API over fetch: answers as objects, problems (RFC 9457) as errors.
 */

/** What the relay said against a request, or that it said nothing. */
export class ApiError extends Error {
  /** @param {number} status 0: no answer @param {string} title @param {string} detail */
  constructor(status, title, detail = "") {
    super(detail === "" ? title : detail);
    this.name = "ApiError";
    this.status = status;
    this.title = title;
  }

  /** A client that asks again will be answered the same. */
  get isFinal() {
    return this.status === 403 || this.status === 404 || this.status === 400;
  }
}

export const NOT_ADMINISTRATOR =
  "This page is for administrators. Import the certificate of an identity that the relay's policy names under “admins” into this browser " +
  "(“segue ca export NAME” writes it as a .p12 file), close all of the browser's windows, and open this page again, choosing that certificate.";

const NO_ANSWER = "The relay does not answer.";

export class Api {
  #fetch;

  /** @param {typeof fetch} fetch */
  constructor(fetch) {
    this.#fetch = fetch;
  }

  /** @returns {Promise<object>} @throws {ApiError} @throws {DOMException} AbortError, when `signal` says so */
  async get(path, { signal } = {}) {
    const response = await this.#ask(path, { method: "GET", signal });
    try {
      return await response.json();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(response.status, "The answer is no JSON.");
    }
  }

  /** What changes something: DELETE, or POST without content. */
  async act(method, path) {
    await this.#ask(path, { method });
  }

  async #ask(path, { method, signal }) {
    let response;
    try {
      response = await this.#fetch(path, { method, signal, cache: "no-store", redirect: "error", headers: { accept: "application/json" } });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, NO_ANSWER);
    }
    if (response.ok) return response;
    throw await problemOf(response);
  }
}

/** @param {Response} response */
export async function problemOf(response) {
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // A proxy in between answers in HTML.
  }
  const text = (value) => (typeof value === "string" ? value.slice(0, 500) : "");
  return new ApiError(response.status, text(problem.title) || `The relay answered ${response.status}.`, text(problem.detail));
}
