"""A participant of another make that talks and hears: third-party WebSockets, libopus by itself. A thread each, so that benches can wait for each other."""

from __future__ import annotations

import threading
import time

import numpy as np

from . import frame_log
from .heard import RATE, OpusDecoder, OpusEncoder
from .relay import Identity, Relay
from .session import AUDIO, Closed, Session

SECONDS_MAX = 30
FRAME_SAMPLES, FRAME_SECONDS = 960, 0.02


class Ear(threading.Thread):
    """Joins, and subscribes to the room's mix. With `hertz` it talks: a tone without end. Use as a context manager.

    Requests are asked for through ``ask``, from any thread, while it is running.
    """

    def __init__(self, relay: Relay, identity: Identity, room: str, *, hertz: float | None = None, decibels: float = -12, channels: int = 1, device: str | None = None, init: bool = True):
        super().__init__(daemon=True)
        self.session = Session(relay, identity, hello={"device": device} if device else None)
        self.participant = self.session.ask("join", room=room)["participant"]
        if init:
            self.session.ask("session.init")
            self.session.ask("session.setActive", active=True)
        self.channels = channels
        self.mix = self.session.ask("subscribe", all=True, delivery="mixed", channels=channels)["mix"]
        self.stream = self.session.publish("audio") if hertz else None
        self.hertz, self.amplitude = hertz, 10 ** (decibels / 20)
        self.encoder, self.sequence, self.due = OpusEncoder(), 0, time.monotonic()
        self.stopping = False
        self.fault: BaseException | None = None
        self.lock = threading.Lock()
        # Every frame of the mix: when it came by time.monotonic(), its number, timestamp and packet.
        self.frames: list[tuple[float, int, int, bytes]] = []
        self.events: list[dict] = []

    def run(self) -> None:
        try:
            while not self.stopping:
                with self.lock:
                    self._talk()
                    self.session.drain(min(max(self.due - time.monotonic(), 0.001), FRAME_SECONDS) if self.stream else FRAME_SECONDS)
                    self._hear()
                # So that others get the lock.
                time.sleep(0.0005)
        except (Closed, OSError, AssertionError) as fault:
            self.fault = fault

    def _talk(self) -> None:
        while self.stream and time.monotonic() >= self.due:
            axis = (np.arange(FRAME_SAMPLES) + self.sequence * FRAME_SAMPLES) / RATE
            self.session.media("audio", self.stream, self.encoder.encode(self.amplitude * np.sin(2 * np.pi * self.hertz * axis)))
            self.sequence += 1
            self.due += FRAME_SECONDS

    def _hear(self) -> None:
        now = time.monotonic()
        for frame in self.session.frames:
            if frame.kind == AUDIO and frame.stream == self.mix["stream"]:
                parsed = frame_log.parse_frame(frame.message)
                self.frames.append((now, parsed.sequence, parsed.timestamp, parsed.payload))
        self.events += self.session.events
        self.session.frames.clear()
        self.session.events.clear()

    def ask(self, kind: str, **members) -> dict:
        with self.lock:
            answer = self.session.ask(kind, **members)
            self._hear()
            return answer

    def wait(self, what: str, found, seconds: float = SECONDS_MAX):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if result := found():
                return result
            assert self.fault is None, self.fault
            time.sleep(0.02)
        raise AssertionError(f"no {what} within {seconds} s; {len(self.frames)} frames, events {[event['type'] for event in self.events][-8:]}")

    def wait_event(self, kind: str, seconds: float = SECONDS_MAX) -> dict:
        return self.wait(kind, lambda: next((event for event in list(self.events) if event["type"] == kind), None), seconds)

    def wait_frames(self, count: int, seconds: float = SECONDS_MAX) -> None:
        """So many more than now."""
        more = len(self.frames) + count
        self.wait(f"{count} frames", lambda: len(self.frames) >= more, seconds)

    def packets(self, since: float = 0) -> list[bytes]:
        return [packet for at, _, _, packet in list(self.frames) if at >= since]

    def sound(self, since: float = 0, until: float = float("inf")) -> np.ndarray:
        """What came between two times, decoded, each frame at the place that its timestamp says; nothing where none came. The first channel."""
        return self.sound_of([frame for frame in list(self.frames) if since <= frame[0] < until])

    def mark(self) -> int:
        """How many frames the relay had sent when it was asked, all of which have come: a place in the mix, however late this side is."""
        self.ask("time", clientTime=0)
        return len(self.frames)

    def between(self, start: int, end: int) -> np.ndarray:
        """The sound between two places."""
        return self.sound_of(self.frames[start:end])

    def sound_of(self, frames: list[tuple[float, int, int, bytes]]) -> np.ndarray:
        assert frames, "no frame of the mix"
        decoder, first = OpusDecoder(self.channels), frames[0][2]
        span = (frames[-1][2] - first) & 0xFFFF_FFFF
        samples = np.zeros(span + 2 * 5_760)
        end = 0
        for _, _, timestamp, packet in frames:
            start = (timestamp - first) & 0xFFFF_FFFF
            piece = decoder.decode(packet)[:, 0]
            samples[start : start + len(piece)] = piece
            end = start + len(piece)
        return samples[:end]

    def __enter__(self) -> Ear:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping = True
        self.join(SECONDS_MAX)
        self.session.close()
        assert self.fault is None, self.fault
