"""Speech through Opus, an arrival trace, the jitter buffer and the decoder, scored by PESQ (ITU-T P.862.2) against what went in.

`jitter-traces hear` plays; traces are those of Benchmarks/JitterTraces and generated ones. SPEECH_QUALITY_TABLE names a file for the table.
"""

from __future__ import annotations

import os
import subprocess
import wave
from pathlib import Path

import numpy
import pytest
from pesq import pesq

ROOT = Path(__file__).parent.parent
RATE = 16_000
# The Harvard sentences (IEEE 269), list 1.
SPEECH = (
    "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. It is easy to tell the depth of a well. "
    "These days a chicken leg is a rare dish. Rice is often served in round bowls. The juice of lemons makes fine punch. "
    "The box was thrown beside the parked truck. The hogs were fed chopped corn and garbage. Four hours of steady work faced us. "
    "A large size in stockings is hard to sell."
)
# What each trace may at most take from the score of the codec alone. A point is the step from "good" to "fair". Twice what is lost today at the most.
LOSS_MAX = {
    "recorded-rtt20": 0.6,
    "recorded-jitter-30": 1.0,
    "recorded-rtt40-loss05": 1.3,
    "recorded-rtt60-loss1-cubic": 1.3,
    "recorded-rtt100-loss3": 1.5,
    "recorded-rtt200-loss2": 1.6,
    "recorded-wifi": 1.6,
    "generated-gaussian-5": 0.5,
    "generated-gaussian-20": 0.8,
    "generated-drift-fast-500": 0.8,
    "generated-drift-slow-500": 0.8,
}


def player() -> Path:
    """The program: named, built before, or built now."""
    if (named := os.environ.get("JITTER_TRACES_BIN")) is not None:
        return Path(named)
    for configuration in ("release", "debug"):
        if (built := ROOT / ".build" / configuration / "jitter-traces").exists():
            return built
    subprocess.run(["swift", "build", "--product", "jitter-traces"], cwd=ROOT, check=True, timeout=1_200)
    return ROOT / ".build/debug/jitter-traces"


def samples(path: Path) -> numpy.ndarray:
    with wave.open(str(path)) as file:
        assert file.getframerate() == RATE and file.getnchannels() == 1
        return numpy.frombuffer(file.readframes(file.getnframes()), dtype=numpy.int16)


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_speech_through_traces(tmp_path: Path) -> None:
    spoken, speech, heard = tmp_path / "spoken.wav", tmp_path / "speech.wav", tmp_path / "heard"
    heard.mkdir()
    subprocess.run(["espeak-ng", "-v", "en-gb", "-s", "150", "-w", str(spoken), SPEECH], check=True, timeout=60)
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-i", str(spoken), "-ar", str(RATE), "-ac", "1", "-c:a", "pcm_s16le", "-bitexact", str(speech)],
        check=True,
        timeout=60,
    )
    played = subprocess.run(
        [str(player()), "hear", str(speech), "--into", str(heard), "--traces", str(ROOT / "Benchmarks/JitterTraces/Recorded")],
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    ).stdout
    reference = samples(heard / "clean.wav")
    lines = ["| trace | mean ms | concealed % | PESQ, wideband | less than the codec |", "|---|---:|---:|---:|---:|"]
    scores: dict[str, float] = {}
    for line in played.splitlines():
        name, delay, concealed = line.split()
        scores[name] = pesq(RATE, reference, samples(heard / f"{name}.wav"), "wb")
        less = f"{scores['codec'] - scores[name]:.2f}" if "codec" in scores and name != "codec" else ""
        lines.append(f"| {name} | {delay} | {concealed} | {scores[name]:.2f} | {less} |")
    table = "\n".join(lines)
    print(table)
    if (path := os.environ.get("SPEECH_QUALITY_TABLE")) is not None:
        Path(path).write_text(table + "\n")
    assert scores["codec"] > 3.3, table
    assert LOSS_MAX.keys() <= scores.keys(), table
    worse = {name: scores["codec"] - scores[name] for name, bound in LOSS_MAX.items() if scores["codec"] - scores[name] > bound}
    assert not worse, f"{worse}\n{table}"
