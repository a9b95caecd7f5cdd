// A client library without a relay, for looking at the page: a room as the query of the address wants it.
// ?people=5 how many others · held, bluetooth, muted, stalled=N the Nth other's state · lobby=1 · screen=N · host=1 · waiting=1
// · refuse=CODE · reconnecting=1 · chat=1 · goaway=1 · selfheld=1 · removed=REASON

const wish = new URLSearchParams(globalThis.location?.search ?? "");
const number = (name) => (wish.has(name) ? Number(wish.get(name)) : null);

const names = ["Amira Haddad", "Jonas Lindqvist", "Mei Chen", "Tomás Oliveira", "Priya Raman", "Oluwaseun Adeyemi", "Kaito Mori", "Freya Nilsen",
  "Luca Bianchi",
  "Sofia Marković",
  "Noah Weber", "Zainab Yusuf", "Ivan Petrov", "Chloé Laurent", "Mateo García", "Hana Suzuki", "Ewa Kowalska", "Liam O’Connor", "Aisha Khan",
  "Pavel Novák",
  "Greta Larsen", "Omar Farouk",
  "Isla MacLeod", "Diego Torres", "Nina Fischer", "Samuel Okafor", "Yuki Tanaka", "Clara Dubois", "Bruno Costa", "Elif Demir"];

export class SegueError extends Error {
  constructor(code, message, retry = false) {
    super(message);
    this.code = code;
    this.retry = retry;
  }
}

export class SegueClient extends EventTarget {
  constructor(options) {
    super();
    this.options = options;
    this.state = "idle";
    this.room = null;
    this.onFrame = null;
    this.requests = [];
    this.statistics = {
      roundTripMilliseconds: 23.4, serverOffsetMilliseconds: -1.8, reconnects: 0, bytesIn: 48_211_004, bytesOut: 12_004_871,
      bufferedBytes: 0, node: "segue-1", congested: false, bitrate: 4_200_000,
    };
    this.chat = Object.assign(new EventTarget(), { send: async (text) => ({ participant: 1, text, at: Date.now() }) });
    const session = (name) => async (...values) => { this.requests.push([name, ...values]); };
    this.audioSession = {
      state: "active", init: session("init"), setCategory: session("setCategory"), setActive: session("setActive"), pause: session("pause"),
      continue: session("continue"),
    };
    this.pairs = {
      createCode: async () => ({ code: "7KPA4MXQ", expires: Date.now() + 114_000 }),
      useCode: async () => { throw new SegueError("pair_code", "no such code"); },
    };
  }

  serverTime() {
    return Date.now() - 1.8;
  }

  tell(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  become(state, reason) {
    this.state = state;
    this.tell("state", { state, reason });
  }

  async connect() {
    if (wish.get("refuse") === "unreachable") throw new SegueError("unreachable", "no connection");
    this.become("open");
    return {};
  }

  async close() {
    this.become("closed", "left");
  }

  async join(name, { displayName, role }) {
    if (wish.has("refuse")) throw new SegueError(wish.get("refuse"), "The relay said no.");
    const me = {
      participant: 1, identity: { name: "urn:segue:client:you", proof: "certificate" }, displayName,
      role: wish.has("host") ? "host" : role ?? "speaker",
    };
    this.room = {
      name, me: 1, role: me.role, state: wish.has("waiting") ? "waiting" : "joined", locked: wish.has("locked"), lobby: new Map(),
      participants: new Map([[1, me]]), streams: new Map(), speakers: [],
    };
    if (wish.has("waiting")) return this.room;
    for (let at = 0; at < (number("people") ?? 0); at += 1) this.addPerson(at);
    setTimeout(() => this.script(), 300);
    return this.room;
  }

  addPerson(at) {
    const participant = at + 2;
    const name = names[at % names.length];
    const person = {
      participant, identity: { name: `urn:segue:client:${name.split(" ")[0].toLowerCase()}`, proof: "certificate" }, displayName: name,
      role: at === 0 && !wish.has("host") ? "host" : "speaker",
    };
    if (number("held") === at) Object.assign(person, { held: true, interrupted: true, interruptionReason: "default" });
    if (number("bluetooth") === at) person.route = { inputs: [{ type: "bluetoothHFP" }], outputs: [{ type: "bluetoothHFP" }] };
    if (number("muted") === at) person.muted = ["audio"];
    this.room.participants.set(participant, person);
    const stream = (offset, kind, source) => this.room.streams.set(
      participant * 10 + offset, { stream: participant * 10 + offset, participant, kind, source, codec: kind === "audio" ? "opus" : "vp8" },
    );
    stream(1, "audio", "microphone");
    if (at % 4 !== 3) stream(2, "video", "camera");
    if (number("screen") === at) stream(3, "video", "screen");
  }

  script() {
    const first = number("speaking") ?? 0;
    if (this.room.participants.size > 1) this.tell("speakers", { speakers: [{ participant: 2 + first, stream: 10 * (2 + first) + 1, level: -20 }] });
    if (wish.has("lobby")) {
      for (const [at, displayName] of ["Robin Sato", "Guest"].entries()) {
        const one = { participant: 90 + at, identity: { name: "token:guest" }, displayName, role: "speaker" };
        this.room.lobby.set(one.participant, one);
        this.tell("lobby.waiting", one);
      }
    }
    if (wish.has("reconnecting")) this.become("reconnecting", "network");
    if (wish.has("goaway")) this.tell("goaway", { deadlineMilliseconds: 10000, reason: "drain" });
    if (wish.has("selfheld")) this.tell("interruption.began", { reason: "default" });
    if (wish.has("removed")) this.tell("room.removed", { room: this.room.name, reason: wish.get("removed") });
    if (wish.has("chat")) {
      const say = (participant, text, ago) => this.chat.dispatchEvent(new CustomEvent("message", { detail: { participant, text, at: Date.now() - ago } }));
      say(2, "Good morning! Slides are in the shared folder.", 400_000);
      say(3, "Thanks. Can everybody see the second chart?", 300_000);
      say(3, "The blue line is last week.", 290_000);
      say(1, "Yes, looks good here.", 200_000);
      say(2, "https://example.org/a/very/long/address/that/has/no/place/to/break/and/must/not/widen/the/panel?with=a&query=too", 60_000);
    }
    this.tell("room");
  }

  async publish(members) {
    this.requests.push(["publish", members]);
    return Object.assign(new EventTarget(), { stream: 5, configure() {}, send() {}, close() {} });
  }

  async subscribe(members) {
    this.requests.push(["subscribe", members]);
    return { subscribed: [] };
  }

  async request(type, members) {
    this.requests.push([type, members]);
    if (type === "mute") this.room.participants.get(members.participant).muted = members.muted ? members.kinds : [];
    if (type === "lock") this.room.locked = members.locked;
    if (type === "remove") this.room.participants.delete(members.participant);
    this.tell("room");
    return {};
  }
}
