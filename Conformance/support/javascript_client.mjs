/**
 * Two clients of the JavaScript library in one room, for test_javascript_client.py: what one sends the other gets, before and after each step that is read
 * from the standard input, and what happened is told line by line as JSON.
 *
 * Usage: node --experimental-websocket javascript_client.mjs URL-OF-SENDER URL-OF-RECEIVER ROOM, with SENDER_TOKEN and RECEIVER_TOKEN in the environment
 */

import { createInterface } from "node:readline";
import { SegueClient } from "../../Web/segue/segue.mjs";

const [senderURL, receiverURL, room] = process.argv.slice(2);
const say = (event, members = {}) => console.log(JSON.stringify({ event, ...members }));
const FRAME_MILLISECONDS = 20;
const VIDEO_BYTES = 60_000;

function open(name, url, token) {
  const client = new SegueClient({ url, token: () => token, client: { name: "bench", version: "1" }, device: name, reconnectMillisecondsMax: 60_000 });
  for (const type of ["state", "resumed", "renewed", "admitted", "rejoin-refused", "stream.gap", "ended"]) {
    client.addEventListener(type, ({ detail }) => say(type, { name, detail: summary(detail) }));
  }
  return client;
}

function summary(detail) {
  if (detail instanceof Error) return { code: detail.code, message: detail.message };
  return detail?.room?.participants instanceof Map ? { room: detail.room.name } : detail;
}

const sender = open("sender", senderURL, process.env.SENDER_TOKEN);
const receiver = open("receiver", receiverURL, process.env.RECEIVER_TOKEN);
const got = { audio: [], video: [], configurations: 0, repeated: 0, broken: 0 };
const seen = new Set();

receiver.onFrame = (frame) => {
  if (frame.kind === "configuration") {
    got.configurations += 1;
    return;
  }
  const key = `${frame.stream}/${frame.spatial}/${frame.sequence}`;
  if (seen.has(key)) got.repeated += 1;
  seen.add(key);
  if (frame.kind === "data") return;
  // Each payload says which frame it is, in each of its bytes.
  const number = new DataView(frame.payload.buffer, frame.payload.byteOffset).getUint32(0);
  if (!frame.payload.subarray(4).every((byte) => byte === (number & 0xff))) got.broken += 1;
  got[frame.kind].push(number);
};

function payload(number, bytes) {
  const made = new Uint8Array(bytes).fill(number & 0xff);
  new DataView(made.buffer).setUint32(0, number);
  return made;
}

const welcome = await sender.connect();
await receiver.connect();
const hall = await sender.join(room, { displayName: "Sender" });
await receiver.join(room);
await receiver.subscribe({ all: true });
const audio = await sender.publish({ kind: "audio", codec: "opus", source: "microphone", description: { sampleRate: 48000, channels: 1 } });
const video = await sender.publish({ kind: "video", codec: "vp8", source: "camera" });
let keyWanted = true;
video.addEventListener("keyframe", () => {
  keyWanted = true;
});
receiver.chat.addEventListener("message", ({ detail }) => say("chat", detail));
say("ready", { identity: welcome.identity.name, me: hall.me, participants: receiver.room.participants.size, streams: receiver.room.streams.size });

let number = 0;
const pace = setInterval(() => {
  audio.send({ payload: payload(number, 80), timestamp: number * 960, level: -30, voice: true });
  if (number % 5 === 0) {
    video.send({ payload: payload(number, VIDEO_BYTES), timestamp: number * 1_800, key: keyWanted, captureTime: sender.serverTime() });
    keyWanted = false;
  }
  number += 1;
}, FRAME_MILLISECONDS);

for await (const line of createInterface({ input: process.stdin })) {
  const [command] = line.split(" ");
  if (command === "migrate") await receiver.migrate().then(() => sender.migrate());
  else if (command === "chat") await sender.chat.send("hello, all");
  else if (command === "trickle") video.close();
  else if (command === "end") break;
  say("status", {
    command: line,
    sent: number,
    ...got,
    sender: sender.statistics,
    receiver: receiver.statistics,
    states: [sender.state, receiver.state],
    participants: receiver.room?.participants.size ?? 0,
    offsets: [sender.serverTime() - Date.now(), receiver.serverTime() - Date.now()],
  });
}
clearInterval(pace);
await Promise.all([sender.close(), receiver.close()]);
say("closed", { states: [sender.state, receiver.state] });
process.stdin.destroy();
