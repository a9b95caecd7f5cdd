"""Publishers of real Opus, and what listeners get of it: for paced and mixed delivery (protocol §6.5)."""

from __future__ import annotations

import struct
import threading
import time
from dataclasses import dataclass

from .session import CONFIGURATION, Frame, Session

MIX = 0x8000_0000
TICKS = 960
DISCONTINUITY, SILENCE = 0x04, 0x08


def opus_head(channels: int = 1) -> bytes:
    return b"OpusHead" + struct.pack("<BBHIhB", 1, channels, 312, 48_000, 0, 0)


def timestamp(frame: Frame) -> int:
    return struct.unpack("!I", frame.message[12:16])[0]


@dataclass
class Packets:
    """Opus packets of 20 ms, made once."""

    list: list[bytes]

    def __getitem__(self, place: int) -> bytes:
        return self.list[place % len(self.list)]


class Voice:
    """Publishes frames whose payloads are given, each at its time; `pause` lets it fall silent and go on with the clock."""

    def __init__(self, session: Session, packets, *, codec: str = "opus", flags: int = 0, description: dict | None = None, head: bytes | None = None):
        self.session, self.packets, self.flags = session, packets, flags
        members = {"description": description} if description else {}
        self.stream = session.ask("publish", kind="audio", codec=codec, **members)["stream"]
        session.configure(self.stream, opus_head() if head is None else head)
        self.sequence, self.timestamp = 0, 0

    def send(self, count: int = 1, *, flags: int = 0, level: int = 0x20) -> None:
        for _ in range(count):
            head = struct.pack(
                "!BBBBIII", 0x10, self.flags | flags, 0, level, self.stream, self.sequence & 0xFFFF_FFFF, self.timestamp & 0xFFFF_FFFF
            )
            self.session.send_message(head + self.packets[self.sequence])
            self.sequence += 1
            self.timestamp += TICKS

    def skip(self, count: int) -> None:
        """Frames that are lost on the way to the relay."""
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
