// A media engine without media, for looking at the page: it draws people made of circles.

const wish = new URLSearchParams(globalThis.location?.search ?? "");

export async function capabilities() {
  if (wish.has("listenonly")) return { audioEncode: false, audioDecode: false, worklet: false, video: [], screen: false, outputSelection: false, why: [] };
  return {
    audioEncode: true, audioDecode: true, worklet: true, video: [{ codec: "vp8", encode: true, decode: true, scalabilityModes: [] }],
    screen: true, outputSelection: true, why: [],
  };
}

function draw(canvas, seed) {
  canvas.width = 640;
  canvas.height = 360;
  const context = canvas.getContext("2d");
  const hue = (seed * 47) % 360;
  const ground = context.createLinearGradient(0, 0, 640, 360);
  ground.addColorStop(0, `hsl(${hue} 35% 62%)`);
  ground.addColorStop(1, `hsl(${(hue + 40) % 360} 30% 38%)`);
  context.fillStyle = ground;
  context.fillRect(0, 0, 640, 360);
  context.fillStyle = `hsl(${(hue + 200) % 360} 25% 30%)`;
  context.beginPath();
  context.ellipse(320, 380, 170, 130, 0, 0, 7);
  context.fill();
  context.fillStyle = `hsl(25 35% ${45 + (seed * 13) % 35}%)`;
  context.beginPath();
  context.ellipse(320, 165, 68, 84, 0, 0, 7);
  context.fill();
}

export class MediaEngine extends EventTarget {
  constructor(client) {
    super();
    this.client = client;
    this.microphoneLevel = -32;
    this.calls = [];
  }

  async start() {
    if (wish.has("soundblocked")) throw new DOMException("no gesture", "NotAllowedError");
  }

  async setMicrophone(track) { this.calls.push(["microphone", track]); }
  async setCamera(track) { this.calls.push(["camera", track]); }
  async setScreen(track) { this.calls.push(["screen", track]); }
  setMuted(muted) { this.calls.push(["muted", muted]); }
  attach(stream, canvas) { if (canvas) draw(canvas, stream); }
  setVolume() {}
  async setOutput() {}
  level(stream) { return stream === 31 ? -25 : -70; }

  statistics() {
    const streams = [...(this.client.room?.streams.values() ?? [])];
    const stalled = Number(wish.get("stalled") ?? -1) + 2;
    const poor = Number(wish.get("poor") ?? -1) + 2;
    return {
      outputLatencyMilliseconds: 21.3,
      sending: [{ stream: 5, source: "microphone", kbps: 32 }, { stream: 6, source: "camera", kbps: 1240, framesPerSecond: 30, layers: 3, keyFrames: 4 }],
      audio: streams.filter((one) => one.kind === "audio").map((one) => ({
        stream: one.stream, participant: one.participant, codec: "opus", kbps: one.participant === stalled ? 0 : 31.8,
        targetMilliseconds: 40, levelMilliseconds: 43.6,
        concealedShare: one.participant === poor ? 0.081 : 0.0014, latencyMilliseconds: one.participant === poor ? 412 : 84, driftPPM: 12.4,
      })),
      video: streams.filter((one) => one.kind === "video").map((one) => ({
        stream: one.stream, participant: one.participant, codec: "vp8", width: 1280, height: 720,
        layer: { spatial: 2, temporal: 0 }, framesPerSecond: one.participant === poor ? 7 : 29.7,
        decoded: 5120, dropped: one.participant === poor ? 700 : 3, freezes: 0, kbps: one.participant === stalled ? 0 : 1180,
        latencyMilliseconds: 96,
      })),
    };
  }

  async close() {}
}
