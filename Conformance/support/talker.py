"""Participants who talk: threads that publish audio, and video with key frames, each frame with its capture time, and note when what came."""

from __future__ import annotations

import struct
import threading
import time
from dataclasses import dataclass

from .relay import Identity, Relay
from .session import CONFIGURATION, KEY, VIDEO, Closed, Session

SECONDS_MAX = 20
DISCONTINUITY, EXTENSION = 0x04, 0x20
NTP_EPOCH = 2_208_988_800
CAPTURE_TIME = 1
AUDIO_SECONDS, VIDEO_SECONDS = 0.02, 0.04
# Of 25 pictures a second: a key frame every two seconds, unless one is asked for.
PICTURES_PER_KEY = 50


def capture_extension(unix_seconds: float) -> bytes:
    """The extension block with a capture time alone (protocol §4.2): 3 words."""
    ntp = int((unix_seconds + NTP_EPOCH) * 2**32) & (2**64 - 1)
    return struct.pack("!HHBBHQ", 3, 0, CAPTURE_TIME, 0, 8, ntp)


def captured_at(message: bytes) -> float | None:
    """The Unix time at which a frame was captured, where it says so as its first extension."""
    if not message[1] & EXTENSION:
        return None
    kind, _, length = struct.unpack("!BBH", message[20:24])
    return struct.unpack("!Q", message[24:32])[0] / 2**32 - NTP_EPOCH if kind == CAPTURE_TIME and length == 8 else None


@dataclass(frozen=True)
class Arrival:
    """Something that came, and when by time.monotonic(): a frame's message, or an event."""

    at: float
    frame: bytes | None
    event: dict | None

    @property
    def stream(self) -> int:
        return struct.unpack("!I", self.frame[4:8])[0]

    @property
    def is_configuration(self) -> bool:
        return self.frame[0] & 15 == CONFIGURATION

    @property
    def has_discontinuity(self) -> bool:
        return bool(self.frame[1] & DISCONTINUITY)


class NotingSession(Session):
    """Notes when what came, in order."""

    def __init__(self, *arguments, **options):
        self.arrivals: list[Arrival] = []
        super().__init__(*arguments, **options)

    def _take(self, seconds: float) -> None:
        frames, events = len(self.frames), len(self.events)
        super()._take(seconds)
        now = time.monotonic()
        self.arrivals += [Arrival(now, frame.message, None) for frame in self.frames[frames:]]
        self.arrivals += [Arrival(now, None, event) for event in self.events[events:]]


class Source:
    def __init__(self, session: Session, kind: str):
        self.session, self.kind = session, kind
        self.stream = session.publish(kind)
        self.seconds = AUDIO_SECONDS if kind == "audio" else VIDEO_SECONDS
        self.ticks = 960 if kind == "audio" else 3_600
        self.due, self.number, self.needs_key = time.monotonic(), 0, True

    def send(self, now: float) -> None:
        """What is due; what a busy machine made late is sent late, with the time at which it really is captured."""
        if now < self.due:
            return
        self.due = max(self.due + self.seconds, now - 1)
        is_key = self.kind == "video" and (self.needs_key or self.number % PICTURES_PER_KEY == 0)
        self.needs_key = self.needs_key and not is_key
        kind = VIDEO if self.kind == "video" else 0
        flags = EXTENSION | (KEY if is_key else 0)
        head = struct.pack("!BBBBIII", 0x10 | kind, flags, 0, 0x30, self.stream, self.number, self.number * self.ticks & 0xFFFF_FFFF)
        self.session.send_message(head + capture_extension(time.time()) + bytes(60 if self.kind == "audio" else 1_500 if is_key else 400))
        self.number += 1


class Talker(threading.Thread):
    """Use as a context manager: it talks and listens until that ends. What it notes may be read any time."""

    def __init__(self, relay: Relay, identity: Identity, room: str, kinds: tuple[str, ...] = ("audio",), *, http: str = "1.1"):
        super().__init__(daemon=True)
        self.session = NotingSession(relay, identity, http=http)
        self.participant = self.session.ask("join", room=room)["participant"]
        self.sources = [Source(self.session, kind) for kind in kinds]
        self.session.ask("subscribe", all=True)
        self.stopping = False
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping:
                now = time.monotonic()
                for source in self.sources:
                    source.send(now)
                left = min((source.due for source in self.sources), default=now + 0.02) - time.monotonic()
                try:
                    self.session._take(max(left, 0.0005))
                except TimeoutError:
                    continue
                self._hear()
        except (Closed, OSError, AssertionError) as fault:
            self.fault = fault

    def _hear(self) -> None:
        for event in self.session.events:
            if event["type"] == "keyframe.requested":
                for source in self.sources:
                    source.needs_key |= source.stream == event["stream"]
        # They are noted.
        self.session.events.clear()
        self.session.frames.clear()

    @property
    def arrivals(self) -> list[Arrival]:
        return list(self.session.arrivals)

    def events(self, kind: str, **members) -> list[Arrival]:
        return [
            arrival
            for arrival in self.arrivals
            if arrival.event and arrival.event["type"] == kind and all(arrival.event.get(name) == value for name, value in members.items())
        ]

    def wait_event(self, kind: str, seconds: float = SECONDS_MAX, **members) -> Arrival:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := self.events(kind, **members):
                return found[0]
            assert self.fault is None, self.fault
            time.sleep(0.01)
        raise AssertionError(f"no {kind} {members} within {seconds} s; events: {[arrival.event for arrival in self.arrivals if arrival.event][-8:]}")

    def __enter__(self) -> Talker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping = True
        self.join(SECONDS_MAX)
        self.session.close()
        assert self.fault is None, self.fault
