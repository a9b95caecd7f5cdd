// Plays a trace through jitter-buffer.wasm and prints what the native program prints: README.md has both formats.
//
//     node replay.mjs MODULE TRACE

import { readFileSync } from "node:fs";
import { instantiate } from "./jitter-buffer.mjs";

const [modulePath, tracePath] = process.argv.slice(2);
const exports = await instantiate(readFileSync(modulePath));
const lines = readFileSync(tracePath, "latin1").split("\n").filter((line) => line !== "");
const [, , sampleRate, channels, timescale, profile, format] = lines[0].split(" ").map(Number);
const handle = exports.segue_jitter_create(sampleRate, channels, timescale, profile, format);
if (!handle) throw new RangeError("a trace with values that the buffer does not take");

// The exports themselves, without the wrapper: what is compared is the module.
const count = (sampleRate / 100) * channels;
const payloadBytesMax = 1 << 20;
const payload = exports.segue_allocate(payloadBytesMax);
const samples = exports.segue_allocate(count * 4);
const mediaTimestamp = exports.segue_allocate(4);
const numbers = exports.segue_allocate(32 * 8);
const memoryAtFirst = exports.memory.buffer.byteLength;
const output = [];

function insert([at, sequence, timestamp, flags, hexadecimal]) {
  const bytes = Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  new Uint8Array(exports.memory.buffer).set(bytes, payload);
  const code = exports.segue_jitter_insert(handle, Number(sequence), Number(timestamp), Number(flags), payload, bytes.length, Number(at));
  output.push(`i ${code}`);
}

function pull([at]) {
  const code = exports.segue_jitter_pull(handle, samples, mediaTimestamp, Number(at));
  let first = 0x811c9dc5;
  let second = 0x01935aa3;
  for (const bits of new Uint32Array(exports.memory.buffer, samples, count)) {
    first = Math.imul(first ^ bits, 0x01000193);
    second = Math.imul(((second << 5) | (second >>> 27)) + bits, 0x85ebca6b);
  }
  const timestamp = new Uint32Array(exports.memory.buffer, mediaTimestamp, 1)[0];
  output.push(`p ${code & 255} ${code >= 256 ? 1 : 0} ${timestamp} ${first >>> 0} ${second >>> 0}`);
}

for (const line of lines.slice(1)) {
  const fields = line.split(" ");
  switch (fields.shift()) {
    case "i": insert(fields); break;
    case "p": pull(fields); break;
    case "c": exports.segue_jitter_configure(handle, ...fields.map(Number)); break;
    case "f": exports.segue_jitter_flush(handle); break;
    case "r": exports.segue_jitter_reset(handle); break;
  }
}

const known = exports.segue_jitter_statistics(handle, numbers);
const statistics = [...new Float64Array(exports.memory.buffer, numbers, known)].map((number, place) =>
  place === 16 ? new BigUint64Array(new Float64Array([number]).buffer)[0] : number);
output.push(`s ${statistics.join(" ")}`);
if (exports.memory.buffer.byteLength !== memoryAtFirst) throw new Error("the module took memory after the buffer was made");
exports.segue_jitter_destroy(handle);
console.log(output.join("\n"));
