/**
 * The operators' page: what is shown by the address's fragment, one live feed for all of it, and what concerns the whole relay.
 */

import { Api } from "./api.mjs";
import { confirm } from "./confirm.mjs";
import { element, setAttribute, setText } from "./dom.mjs";
import * as format from "./format.mjs";
import { History } from "./history.mjs";
import { RoomsView, SessionsView } from "./lists.mjs";
import { LiveFeed } from "./live.mjs";
import { OverviewView } from "./overview.mjs";
import { RoomView } from "./room.mjs";
import { parseRoute } from "./routes.mjs";
import { SessionView } from "./session.mjs";

const api = new Api((...request) => fetch(...request));
const history = new History();
const feed = new LiveFeed({ page: document, EventSource, fetch: (...request) => fetch(...request) });
const overview = new OverviewView();
let view = null;
let last = null;

const at = (id) => document.getElementById(id);

function viewOf(route) {
  switch (route.view) {
    case "overview":
      return overview;
    case "rooms":
      return new RoomsView(api);
    case "room":
      return new RoomView(api, route.room);
    case "sessions":
      return new SessionsView(api);
    case "session":
      return new SessionView(api, route.session);
    default:
      return {
        title: "Not found",
        node: element("p", {}, "There is nothing here. ", element("a", { href: "#/" }, "To the overview")),
        start() {},
        stop() {},
        overview() {},
      };
  }
}

/** @param {boolean} moved somebody followed a link: the heading gets the focus, so that a screen reader reads on from there */
function show(moved) {
  const route = parseRoute(location.hash);
  view?.stop();
  view = viewOf(route);
  setText(at("title"), view.title);
  document.title = `${view.title} – Segue`;
  at("view").replaceChildren(view.node);
  for (const link of document.querySelectorAll("nav.views a")) {
    const here = link.dataset.view === route.view || link.dataset.view === `${route.view}s`;
    setAttribute(link, "aria-current", here ? (link.dataset.view === route.view ? "page" : "true") : null);
  }
  if (last) view.overview(last, history);
  view.start();
  if (moved) at("title").focus();
}

function takeOverview(told) {
  last = told;
  history.take(told);
  setText(at("node"), told.node ?? "");
  setText(at("about"), `version ${told.version}, up ${format.duration(told.uptimeSeconds * 1000)}`);
  at("draining").hidden = !told.draining;
  at("drain").disabled = told.draining;
  at("stale").hidden = (told.stale ?? []).length === 0;
  setText(at("stale-parts"), (told.stale ?? []).join(", "));
  view.overview(told, history);
}

function takeState({ state, text, retryMilliseconds }) {
  setAttribute(at("live"), "data-state", state);
  setText(at("live"), { open: "Live", hidden: "Paused", connecting: "Connecting …", waiting: "Relay away", refused: "No live view", stopped: "" }[state]);
  const told = state === "waiting" || state === "refused";
  at("away").hidden = !told;
  setAttribute(at("view"), "data-stale", state === "waiting" && last !== null ? "true" : null);
  if (!told) return;
  setText(at("away-text"), retryMilliseconds ? `${text} The next try is in ${format.duration(Math.max(1000, retryMilliseconds))}.` : text);
}

function drain() {
  return confirm({
    title: "Drain this relay?",
    text:
      "Every client is told to go to another relay, new ones are refused, and when the time for it (drainMilliseconds) is over the relay ends. " +
      "It cannot be taken back; the service manager decides whether the relay starts again.",
    action: "Drain",
    perform: () => api.act("POST", "/v1/drain"),
  });
}

function reload() {
  return confirm({
    title: "Read certificates, lists, policy and limits again?",
    text: "No session is dropped that is still allowed. What is at fault changes nothing, and is told here as not taken over.",
    action: "Reload",
    perform: () => api.act("POST", "/v1/reload"),
  });
}

feed.addEventListener("overview", (event) => takeOverview(event.detail));
feed.addEventListener("state", (event) => takeState(event.detail));
at("retry").addEventListener("click", () => feed.retry());
at("drain").addEventListener("click", drain);
at("reload").addEventListener("click", reload);
at("skip").addEventListener("click", (event) => {
  // The fragment is the view.
  event.preventDefault();
  at("title").focus();
});
addEventListener("hashchange", () => show(true));
show(false);
feed.start();
