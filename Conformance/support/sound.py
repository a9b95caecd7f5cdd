"""Publishers of Opus, and what listeners get of it: for paced and mixed delivery (protocol §6.5)."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
import threading
import time

import numpy as np

from .heard import OpusDecoder, level_of
from .session import CONFIGURATION, Frame, Session

MIX = 0x8000_0000
TICKS = 960
DISCONTINUITY, SILENCE = 0x04, 0x08


def opus_head(channels: int = 1) -> bytes:
    return b"OpusHead" + struct.pack("<BBHIhB", 1, channels, 312, 48_000, 0, 0)


def timestamp(frame: Frame) -> int:
    return struct.unpack("!I", frame.message[12:16])[0]


class Packets:
    """Packets of 20 ms, over and over."""

    def __init__(self, packets: list[bytes]):
        self.packets = packets

    def __getitem__(self, place: int) -> bytes:
        return self.packets[place % len(self.packets)]

    def __len__(self) -> int:
        return len(self.packets)


def encoded(samples: np.ndarray, bits_per_second: int = 48_000) -> Packets:
    """By libopus, for one channel at 48 kHz."""
    library = ctypes.CDLL(ctypes.util.find_library("opus"))
    library.opus_encoder_create.restype = ctypes.c_void_p
    library.opus_encoder_destroy.argtypes = [ctypes.c_void_p]
    library.opus_encode_float.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_float), ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    library.opus_encoder_ctl.argtypes = [ctypes.c_void_p, ctypes.c_int]
    status = ctypes.c_int()
    encoder = library.opus_encoder_create(48_000, 1, 2_049, ctypes.byref(status))
    assert status.value == 0, status.value
    library.opus_encoder_ctl(encoder, 4_002, ctypes.c_int(bits_per_second))
    packets, room = [], ctypes.create_string_buffer(1_500)
    for start in range(0, len(samples) - TICKS + 1, TICKS):
        frame = samples[start : start + TICKS].astype(np.float32)
        count = library.opus_encode_float(encoder, frame.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), TICKS, room, len(room))
        assert count > 0, count
        packets.append(room.raw[:count])
    library.opus_encoder_destroy(encoder)
    return Packets(packets)


def tone_packets(hertz: float, decibels: float = -12) -> Packets:
    """A second of it, which goes on where it began: of frequencies that are whole multiples of 50 Hz."""
    assert hertz % 50 == 0
    steady = 10 ** (decibels / 20) * np.sin(2 * np.pi * hertz * np.arange(3 * 48_000) / 48_000)
    return Packets(encoded(steady).packets[50:100])


def silence_packets() -> Packets:
    return Packets(encoded(np.zeros(48_000)).packets[10:40])


def decoded(frames: list[Frame], channels: int = 1) -> np.ndarray:
    """What a client hears of frames without a gap; a column for each channel."""
    decoder = OpusDecoder(channels)
    return np.concatenate([decoder.decode(frame.payload) for frame in frames])


def tone_level(frames: list[Frame], hertz: float, channels: int = 1, channel: int = 0) -> float:
    """In dB of full scale, when the decoder has settled; of too few frames, nothing."""
    if len(frames) < 10:
        return -200
    return level_of(decoded(frames, channels)[5 * TICKS :, channel], hertz)


class Voice:
    """Publishes frames whose payloads are given, each at its time; `pause` lets it fall silent and go on with the clock."""

    def __init__(self, session: Session, packets, *, codec: str = "opus", flags: int = 0, description: dict | None = None, head: bytes | None = None):
        self.session, self.packets, self.flags = session, packets, flags
        members = {"description": description} if description else {}
        self.stream = session.ask("publish", kind="audio", codec=codec, **members)["stream"]
        session.configure(self.stream, opus_head() if head is None else head)
        self.sequence, self.timestamp = 0, 0
        self.lock = threading.Lock()

    def send(self, count: int = 1, *, flags: int = 0, level: int = 0x20) -> None:
        with self.lock:
            for _ in range(count):
                stamp = self.timestamp & 0xFFFF_FFFF
                head = struct.pack("!BBBBIII", 0x10, self.flags | flags, 0, level, self.stream, self.sequence & 0xFFFF_FFFF, stamp)
                self.session.send_message(head + self.packets[self.sequence])
                self.sequence += 1
                self.timestamp += TICKS

    def skip(self, count: int) -> None:
        """Frames that are lost on the way to the relay."""
        with self.lock:
            self.sequence += count
            self.timestamp += count * TICKS


class Speaking(threading.Thread):
    """Sends a voice's frames every 20 ms until it is stopped. Use as a context manager."""

    def __init__(self, *voices: Voice):
        super().__init__(daemon=True)
        self.voices, self.stopping, self.fault = voices, threading.Event(), None

    def run(self) -> None:
        due = time.monotonic()
        try:
            while not self.stopping.is_set():
                for voice in self.voices:
                    voice.send()
                due += 0.02
                if (left := due - time.monotonic()) > 0:
                    self.stopping.wait(left)
        except OSError as fault:
            self.fault = fault

    def __enter__(self) -> Speaking:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.join(20)
        assert self.fault is None, self.fault


def frames_of(session: Session, stream: int) -> list[Frame]:
    """Media frames so far, in order of arrival."""
    return [frame for frame in session.frames if frame.stream == stream and frame.kind != CONFIGURATION]


def wait_frames(session: Session, stream: int, count: int, seconds: float = 20) -> list[Frame]:
    return session.wait(f"{count} frames of {stream}", lambda: frames_of(session, stream) if len(frames_of(session, stream)) >= count else None, seconds)


def steps(frames: list[Frame]) -> list[tuple[int, int]]:
    """From each frame to the next: of sequence number and of timestamp."""
    return [
        ((after.sequence - before.sequence) & 0xFFFF_FFFF, (timestamp(after) - timestamp(before)) & 0xFFFF_FFFF)
        for before, after in zip(frames, frames[1:])
    ]
