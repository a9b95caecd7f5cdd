"""Sound that was heard, and how it is judged: WAV files, tones, gaps, levels. With numpy, and libopus by itself where frames are decoded here."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import signal
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .relay import Relay, binary

RATE = 48_000
SECONDS_MAX = 60
# Of a tone's envelope: short enough for gaps of 60 ms, long enough to tell tones 220 Hz apart.
WINDOW_SECONDS = 0.02
STEP_SECONDS = 0.005


@dataclass(frozen=True)
class Gap:
    """A time without sound, in seconds of the recording."""

    start: float
    seconds: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


# Files


def write_wave(path: Path, samples: np.ndarray, rate: int = RATE) -> Path:
    """16 bits, one channel or, of a two-dimensional array, its columns."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    data = (np.clip(samples, -1, 1) * 32_767).astype("<i2").tobytes()
    head = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    path.write_bytes(head + b"data" + struct.pack("<I", len(data)) + data)
    return path


def read_wave(path: Path) -> np.ndarray:
    """What `--play` writes: 32-bit float at 48 kHz. A column for each channel."""
    octets = path.read_bytes()
    assert octets[:4] == b"RIFF" and octets[8:12] == b"WAVE", octets[:12]
    place, form, data = 12, None, None
    while place + 8 <= len(octets):
        name, length = octets[place : place + 4], struct.unpack_from("<I", octets, place + 4)[0]
        body = octets[place + 8 : place + 8 + length]
        form = struct.unpack_from("<HHIIHH", body) if name == b"fmt " else form
        data = body if name == b"data" else data
        place += 8 + length + length % 2
    kind, channels, rate, _, _, bits = form
    assert (kind, rate, bits) == (3, RATE, 32), form
    return np.frombuffer(data, "<f4").reshape(-1, channels).astype(np.float64)


def tone(hertz: float, seconds: float, decibels: float = -12, rate: int = RATE) -> np.ndarray:
    """With 10 ms of fading at both ends: what begins with a step is no tone."""
    time_axis = np.arange(int(seconds * rate)) / rate
    fade = np.minimum(1, np.minimum(time_axis, seconds - time_axis) / 0.01)
    return 10 ** (decibels / 20) * fade * np.sin(2 * np.pi * hertz * time_axis)


def speech(text: str, rate: int = RATE) -> np.ndarray:
    """A synthesiser's voice."""
    made = subprocess.run(["espeak-ng", "-s", "150", "--stdout", text], capture_output=True, timeout=SECONDS_MAX, check=True).stdout
    command = ["ffmpeg", "-v", "error", "-i", "-", "-ar", str(rate), "-ac", "1", "-f", "f32le", "-"]
    raw = subprocess.run(command, input=made, capture_output=True, timeout=SECONDS_MAX, check=True).stdout
    return np.frombuffer(raw, "<f4").astype(np.float64)


# Judgements


def envelope(samples: np.ndarray, hertz: float) -> np.ndarray:
    """The amplitude of one frequency, each 5 ms, in a window of 20 ms."""
    window = np.hanning(int(WINDOW_SECONDS * RATE))
    carrier = samples * np.exp(-2j * np.pi * hertz * np.arange(len(samples)) / RATE)
    smooth = np.convolve(carrier, window / window.sum(), "same")
    return 2 * np.abs(smooth[:: int(STEP_SECONDS * RATE)])


def loudness(samples: np.ndarray) -> np.ndarray:
    """The root mean square, each 5 ms, of 10 ms."""
    size, step = int(0.01 * RATE), int(STEP_SECONDS * RATE)
    power = np.convolve(samples**2, np.ones(size) / size, "same")
    return np.sqrt(np.maximum(power[::step], 0))


def runs(flags: np.ndarray, step: float = STEP_SECONDS) -> list[Gap]:
    """Where flags are set one after the other."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    return [Gap(start * step, (end - start) * step) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def heard_from_to(levels: np.ndarray, threshold: float) -> tuple[float, float]:
    sounding = np.flatnonzero(levels >= threshold)
    assert len(sounding), "nothing is heard"
    return sounding[0] * STEP_SECONDS, (sounding[-1] + 1) * STEP_SECONDS


def gaps(levels: np.ndarray, threshold: float, seconds_min: float = 0.06) -> list[Gap]:
    """Longer than that, between the first sound and the last."""
    start, end = heard_from_to(levels, threshold)
    return [gap for gap in runs(levels < threshold) if gap.seconds > seconds_min and gap.start >= start and gap.end <= end]


def decibels(ratio: float) -> float:
    return 20 * float(np.log10(max(ratio, 1e-9)))


def level_of(samples: np.ndarray, hertz: float) -> float:
    """Of one frequency over all of the samples, in dB of full scale. Hann-windowed, so that a tone next to it does not leak in."""
    window = np.hanning(len(samples))
    carrier = np.exp(-2j * np.pi * hertz * np.arange(len(samples)) / RATE)
    return decibels(2 * abs(np.sum(samples * window * carrier)) / np.sum(window))


def energy_above(samples: np.ndarray, hertz: float) -> float:
    """Of the whole spectrum, the part above a frequency, in dB."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    place = int(np.ceil(hertz * len(samples) / RATE))
    return 10 * float(np.log10(max(spectrum[place:].sum(), 1e-20) / max(spectrum.sum(), 1e-20)))


def assert_not_clipped(samples: np.ndarray) -> None:
    """No sample beyond full scale, and none of the flat tops that clipping leaves: three equal ones at the largest level."""
    peak = np.abs(samples).max()
    assert peak < 1, f"peak {peak}"
    if peak > 0.5:
        flat = (np.abs(samples[2:]) >= 0.999 * peak) & (samples[2:] == samples[1:-1]) & (samples[1:-1] == samples[:-2])
        assert not flat.any(), f"{int(flat.sum())} samples on a flat top at {peak}"


# Opus frames, decoded by libopus itself


BANDWIDTHS = ("narrowband", "mediumband", "wideband", "superwideband", "fullband")


def opus_bandwidth(packet: bytes) -> str:
    """Of a packet by its first byte (RFC 6716 §3.1)."""
    config = packet[0] >> 3
    if config < 12:
        return BANDWIDTHS[config // 4]
    if config < 16:
        return BANDWIDTHS[3 + (config - 12) // 2]
    return ("narrowband", "wideband", "superwideband", "fullband")[(config - 16) // 4]


def opus_is_stereo(packet: bytes) -> bool:
    return bool(packet[0] & 0x04)


class OpusDecoder:
    """libopus through its C interface: what a subscriber of another make would hear. `packet` None: one frame is lost."""

    def __init__(self, channels: int = 1):
        self.library = ctypes.CDLL(ctypes.util.find_library("opus"))
        self.library.opus_decoder_create.restype = ctypes.c_void_p
        self.library.opus_decoder_destroy.argtypes = [ctypes.c_void_p]
        self.library.opus_decode_float.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_float), ctypes.c_int, ctypes.c_int]
        status = ctypes.c_int()
        self.channels = channels
        self.decoder = self.library.opus_decoder_create(RATE, channels, ctypes.byref(status))
        assert status.value == 0, status.value
        self.room = (ctypes.c_float * (5_760 * channels))()

    def decode(self, packet: bytes | None, samples: int = 960) -> np.ndarray:
        """A column for each channel."""
        room = samples if packet is None else 5_760
        count = self.library.opus_decode_float(self.decoder, packet, len(packet or b""), self.room, room, 0)
        assert count > 0, f"libopus says {count}"
        return np.array(self.room[: count * self.channels]).reshape(-1, self.channels)

    def __del__(self) -> None:
        if getattr(self, "decoder", None):
            self.library.opus_decoder_destroy(self.decoder)


# Programs


class Program:
    """`segue publish` or `segue listen` on a relay of development mode, as a process. Use as a context manager."""

    def __init__(self, relay: Relay, verb: str, *options: str | Path):
        self.errors_file = tempfile.TemporaryFile("w+")
        command = [str(binary()), verb, "--connect", f"localhost:{relay.port}", "--state", str(relay.state), "--json", *map(str, options)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors_file, text=True)
        self.lines: list[dict] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for text in self.process.stdout:
            self.lines.append(json.loads(text))

    def errors(self) -> str:
        self.errors_file.seek(0)
        return self.errors_file.read()

    def wait_line(self, event: str, seconds: float = SECONDS_MAX, **members) -> dict:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if line.get("event") == event and all(line.get(name) == value for name, value in members.items()):
                    return line
            assert self.process.poll() is None or self.reader.is_alive(), f"ended with {self.process.returncode}: {self.errors()}"
            time.sleep(0.01)
        raise AssertionError(f"no {event} {members} within {seconds} s: {self.lines[-5:]} {self.errors()}")

    def finish(self, seconds: float = SECONDS_MAX) -> dict:
        """It comes to its own end, well. Its last line."""
        self.process.wait(seconds)
        self.reader.join(SECONDS_MAX)
        assert self.process.returncode == 0, f"exit code {self.process.returncode}: {self.errors()}"
        return self.lines[-1]

    def stop(self) -> dict:
        self.process.send_signal(signal.SIGINT)
        return self.finish()

    def stall(self, seconds: float) -> tuple[float, float]:
        """It does nothing for so long; from when to when, by time.monotonic()."""
        os.kill(self.process.pid, signal.SIGSTOP)
        start = time.monotonic()
        time.sleep(seconds)
        os.kill(self.process.pid, signal.SIGCONT)
        return start, time.monotonic()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(SECONDS_MAX)
        self.process.stdout.close()
        self.errors_file.close()


class Listener(Program):
    """`segue listen --play`, and what it heard."""

    def __init__(self, relay: Relay, room: str, folder: Path, *options: str | Path, identity: str = "bob"):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "heard.wav"
        super().__init__(relay, "listen", "--room", room, "--as", identity, "--play", self.path, *options)
        self.summary: dict = {}

    def heard(self, *, until_end: bool = False) -> np.ndarray:
        """Ends it; the first channel of what was heard."""
        self.summary = self.finish() if until_end else self.stop()
        samples = read_wave(self.path)
        assert abs(len(samples) / RATE - self.summary["playback"]["seconds"]) < 0.001
        return samples[:, 0]

    def at(self, monotonic: float) -> float:
        """Seconds of the recording, of a time of time.monotonic()."""
        return monotonic - self.summary["playback"]["monotonicMilliseconds"] / 1_000

    @property
    def played(self) -> list[dict]:
        return [stream["played"] for stream in self.summary["streams"] if "played" in stream]

    def holes(self, delay: float = 1.5) -> list[Gap]:
        """When nothing came of a stream that was due, as the listener noted at its socket, and for so long after it what that may still be heard of."""
        return [Gap(hole["seconds"], hole["milliseconds"] / 1_000 + delay) for played in self.played for hole in played["arrivalHoles"]]


def assert_explained(found: list[Gap], *explanations: list[Gap], what: str = "") -> None:
    """Each gap begins while something is told that brings it about."""
    told = [explanation for some in explanations for explanation in some]
    unexplained = [gap for gap in found if not any(explanation.start - 0.1 <= gap.start <= explanation.end for explanation in told)]
    assert not unexplained, f"{what} gaps that nothing explains: {unexplained}; explained would be {told}"


class OpusEncoder:
    """libopus through its C interface: a publisher of another make. 20 ms of one channel at a time, at its default bit rate."""

    AUDIO = 2_049

    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("opus"))
        self.library.opus_encoder_create.restype = ctypes.c_void_p
        self.library.opus_encoder_destroy.argtypes = [ctypes.c_void_p]
        self.library.opus_encode_float.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_float), ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        status = ctypes.c_int()
        self.encoder = self.library.opus_encoder_create(RATE, 1, self.AUDIO, ctypes.byref(status))
        assert status.value == 0, status.value
        self.room = ctypes.create_string_buffer(4_000)

    def encode(self, samples: np.ndarray) -> bytes:
        values = samples.astype("<f4")
        count = self.library.opus_encode_float(self.encoder, values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), len(values), self.room, len(self.room))
        assert count > 0, f"libopus says {count}"
        return self.room.raw[:count]

    def __del__(self) -> None:
        if getattr(self, "encoder", None):
            self.library.opus_encoder_destroy(self.encoder)
