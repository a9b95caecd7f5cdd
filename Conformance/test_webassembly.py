"""The jitter buffer is one implementation: WebAssembly/jitter-buffer.wasm (under node) and the same sources for this machine play a trace alike, bit for bit."""

from __future__ import annotations

import math
import os
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULE = ROOT / ".build/webassembly/jitter-buffer.wasm"
MODULE_BYTES_MAX = 128 << 10
SILENCE = 8
NORMAL = 0
#: normal, accelerate, fast accelerate, pre-emptive expand, conceal, comfort noise, wait
DECISIONS = set(range(7))


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    subprocess.run([ROOT / "WebAssembly/build"], check=True, timeout=1_200)


@dataclass
class Trace:
    """Sound in packets: what is said, when each packet comes, and what is asked of the buffer meanwhile."""

    rate: int = 16_000
    channels: int = 1
    profile: int = 1
    is_float: bool = False
    seed: int = 1
    seconds: float = 6
    packet_milliseconds: float = 20
    #: How packets come: a case of `_arrivals`.
    arrival: str = "steady"
    first_sequence: int = 0
    first_timestamp: int = 0
    requests: list[tuple[float, str]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        generator = random.Random(self.seed)
        yield f"jitter-replay 1 {self.rate} {self.channels} 48000 {self.profile} {int(self.is_float)}"
        events: list[tuple[int, int, str]] = []
        for number in range(int(self.seconds * 1_000 / self.packet_milliseconds)):
            sent = number * self.packet_milliseconds
            for at in self._arrivals(number, sent, generator):
                flags = SILENCE if self.arrival == "pauses" and sent % 2_000 == 1_200 else 0
                sequence = (self.first_sequence + number) & 0xFFFF_FFFF
                timestamp = (self.first_timestamp + round(sent * 48)) & 0xFFFF_FFFF
                events.append((round(at * 1_000), 0, f"i {round(at * 1_000)} {sequence} {timestamp} {flags} {self._payload(sent).hex()}"))
        for place in range(int(self.seconds * 100) + 100):
            at = place * 10_000 + generator.randrange(300)
            events.append((at, 1, f"p {at}"))
        events += [(round(at * 1_000), 2, request) for at, request in self.requests]
        yield from (line for _, _, line in sorted(events, key=lambda event: event[:2]))

    def _arrivals(self, number: int, sent: float, generator: random.Random) -> list[float]:
        base = sent + 30
        match self.arrival:
            case "jitter":
                return [base + abs(generator.gauss(0, 25))]
            case "loss":
                return [] if generator.random() < 0.05 else [base + generator.uniform(0, 15)]
            case "stalls":  # As TCP makes them: nothing for 300 ms, then all at once.
                begin = math.floor(sent / 2_000) * 2_000 + 900
                return [max(base, begin + 330) if begin <= base < begin + 330 else base + generator.uniform(0, 8)]
            case "twice":
                return [base, base + generator.uniform(0, 120)]
            case "pauses":  # Discontinuous transmission: one packet says that silence follows.
                return [base] if sent % 2_000 <= 1_200 else []
            case "drift":
                return [base + sent * 0.0005 + generator.uniform(0, 3)]
            case _:
                return [base]

    def _payload(self, sent: float) -> bytes:
        generator = random.Random(round(sent * 7) + self.seed)
        values = []
        for place in range(round(self.rate * self.packet_milliseconds / 1_000)):
            t = sent / 1_000 + place / self.rate
            talks = t % 2 < 0.9
            pitch = 2 * math.pi * (130 * t + 20 * math.sin(2 * math.pi * 0.5 * t))
            voice = sum(math.sin(pitch * harmonic) / harmonic for harmonic in range(1, 8)) * 0.2 if talks else 0
            for channel in range(self.channels):
                values.append(voice * (1 - 0.4 * channel) + generator.gauss(0, 0.002))
        if self.is_float:
            # Some of it is hostile: no number, and far too loud.
            if generator.random() < 0.02:
                values[:3] = [math.nan, math.inf, 1e30]
            return struct.pack(f"<{len(values)}f", *values)
        return struct.pack(f"<{len(values)}h", *(max(min(round(value * 32_767), 32_767), -32_768) for value in values))


TRACES = {
    "steady": Trace(),
    "jitter-48k-stereo-float": Trace(rate=48_000, channels=2, is_float=True, arrival="jitter", seed=2, seconds=4),
    "loss-low-latency": Trace(arrival="loss", profile=0, seed=3, rate=24_000),
    "stalls": Trace(arrival="stalls", seed=4, seconds=12),
    "stalls-smooth": Trace(arrival="stalls", seed=5, profile=2, packet_milliseconds=60),
    "twice-8k": Trace(arrival="twice", seed=6, rate=8_000),
    "drift-short-packets": Trace(arrival="drift", seed=7, rate=8_000, packet_milliseconds=2.5, seconds=8),
    "pauses": Trace(arrival="pauses", seed=10, rate=16_000, seconds=8),
    "wraps": Trace(arrival="jitter", seed=8, first_sequence=0xFFFF_FFF0, first_timestamp=0xFFFF_0000),
    "requests": Trace(
        arrival="jitter", seed=9, seconds=8,
        requests=[(1_500, "c 1 0 2000 200 0"), (3_000, "c 0 0 2000 -1 0"), (4_500, "f"), (5_500, "r"), (6_500, "c 2 40 500 -1 1")],
    ),
}  # fmt: skip


def replay(command: list[str | Path], trace: Path) -> list[str]:
    run = subprocess.run([*command, trace], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def node() -> str:
    program = shutil.which(os.environ.get("NODE", "node"))
    assert program, "node is missing: Deploy/install test"
    return program


@pytest.mark.parametrize("name", TRACES)
def test_native_and_webassembly_play_alike(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("\n".join(TRACES[name].lines()) + "\n")
    native = replay([ROOT / ".build/webassembly/replay"], trace)
    module = replay([node(), ROOT / "WebAssembly/replay.mjs", MODULE], trace)
    for place, (left, right) in enumerate(zip(native, module)):
        assert left == right, f"line {place}"
    assert len(native) == len(module)

    # And it is a trace that says something: much of it plays as it is, and pulls differ.
    pulls = [line.split() for line in native if line.startswith("p ")]
    assert len({tuple(pull[4:]) for pull in pulls}) > len(pulls) / 3
    assert sum(int(pull[1]) == NORMAL for pull in pulls) > len(pulls) / 3


def test_every_decision_is_made_in_the_traces(tmp_path: Path) -> None:
    """Otherwise their being alike would say nothing."""
    seen: set[int] = set()
    for name in ("stalls", "loss-low-latency", "requests", "pauses"):
        trace = tmp_path / name
        trace.write_text("\n".join(TRACES[name].lines()) + "\n")
        seen |= {int(line.split()[1]) for line in replay([ROOT / ".build/webassembly/replay"], trace) if line.startswith("p ")}
    assert seen == DECISIONS


def test_module_is_small_and_asks_for_nothing(tmp_path: Path) -> None:
    """A browser loads it: no imports, and a size that a page does not notice."""
    assert MODULE.stat().st_size < MODULE_BYTES_MAX
    script = tmp_path / "imports.mjs"
    script.write_text(
        "import { readFileSync } from 'node:fs';\n"
        "const module = new WebAssembly.Module(readFileSync(process.argv[2]));\n"
        "console.log(WebAssembly.Module.imports(module).length, WebAssembly.Module.exports(module).map((each) => each.name).join(' '));\n"
    )
    run = subprocess.run([node(), script, MODULE], capture_output=True, text=True, timeout=60, check=True)
    imports, *exports = run.stdout.split()
    assert imports == "0"
    assert {"memory", "segue_jitter_create", "segue_jitter_pull", "segue_video_release", "segue_allocate"} <= set(exports)


WRAPPER = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [module, face] = process.argv.slice(2);
const { AudioJitterBuffer, VideoPlayout, instantiate } = await import(pathToFileURL(face));
const exports = await instantiate(readFileSync(module));
const grown = [];
for (let round = 0; round < 40; round += 1) {
  const audio = new AudioJitterBuffer(exports, { sampleRate: 48000, channels: 2 });
  const video = new VideoPlayout(exports, {});
  const frame = new Uint8Array(40);
  const view = new DataView(frame.buffer);
  let played = 0, shown = 0, worst = 0;
  for (let at = 0; at < 2000; at += 10) {
    if (at % 20 === 0) {
      const samples = new Float32Array(1920).map((_, place) => 0.5 * Math.sin(2 * Math.PI * 440 * (at / 1000 + (place >> 1) / 48000)));
      if (audio.insert(samples, { sequence: at / 20, timestamp: at * 48 }, 1000 + at) !== "stored") throw new Error("audio was not stored");
    }
    if (at % 40 === 0) {
      view.setUint8(0, 0x11);
      view.setUint8(1, at === 0 ? 1 : 0);
      view.setUint32(8, at / 40);
      view.setUint32(12, at * 90);
      if (video.insert(frame, 1000 + at) !== "stored") throw new Error("video was not stored");
    }
    const pull = audio.pull(1000 + at);
    if (pull.samples.length !== 960) throw new Error("10 ms of stereo");
    if (!pull.isAudible) continue;
    played += 1;
    for (let picture; (picture = video.release(1000 + at, { timestamp: pull.mediaTimestamp, timescale: 48000, heardAt: 1000 + at })); ) {
      if (picture.showAt === undefined || picture.frame.length !== 40) throw new Error("a picture to show");
      worst = Math.max(worst, Math.abs(new DataView(picture.frame.buffer, picture.frame.byteOffset).getUint32(12) / 90 - pull.mediaTimestamp / 48));
      shown += 1;
    }
  }
  if (audio.statistics.packetsInserted !== 100 || played < 180) throw new Error(`played ${played}`);
  if (video.statistics.isHeldToAudio !== 1 || shown < 40 || worst > 40) throw new Error(`shown ${shown}, ${worst} ms apart`);
  audio.reset();
  video.reset();
  if (!video.needsKeyFrame) throw new Error("a key frame is needed after a reset");
  audio.free();
  video.free();
  grown.push(exports.memory.buffer.byteLength);
}
if (grown[0] !== grown.at(-1)) throw new Error(`memory is lost: ${grown[0]} to ${grown.at(-1)}`);
try {
  new AudioJitterBuffer(exports, { sampleRate: 7000 });
  throw new Error("7 kHz was taken");
} catch (fault) {
  if (!(fault instanceof RangeError)) throw fault;
}
"""


def test_buffers_serve_javascript_and_give_their_memory_back(tmp_path: Path) -> None:
    """jitter-buffer.mjs: sound and pictures through both buffers, in step, forty times over in the same memory."""
    script = tmp_path / "wrapper.mjs"
    script.write_text(WRAPPER)
    run = subprocess.run([node(), script, MODULE, ROOT / "WebAssembly/jitter-buffer.mjs"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
