"""Audio sessions in benches: clients of one or several identities in a room, and what reaches them (protocol §3.19)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from .authority import Authority
from .relay import Identity, Relay
from .session import CONFIGURATION, KEY, Frame, Refused, Session

DISCONTINUITY = 0x04
# The platform's numbers for its four characters.
STATUS = {"!ini": 560557673, "nope": 1852797029, "!pri": 561017449, "!act": 560030580, "!pla": 561015905, "!rec": 561145187}


@dataclass
class Stage:
    """A room of its own, and everybody whom a test brings there."""

    relay: Relay
    authority: Authority
    identities: dict[str, Identity]
    http: str
    room: str = field(default_factory=lambda: f"audio-{os.urandom(4).hex()}")
    sessions: list[Session] = field(default_factory=list)

    def open(self, name: str, relay: Relay | None = None, *, http: str | None = None, **options) -> Session:
        session = Session(relay or self.relay, self.identities[name], http=http or self.http, **options)
        self.sessions.append(session)
        return session

    def join(self, name: str, relay: Relay | None = None, **options) -> Session:
        session = self.open(name, relay, **options)
        session.participant = session.ask("join", room=self.room)["participant"]
        return session

    def phone(self, name: str = "ann", relay: Relay | None = None, *, device: str | None = None, category: str | None = None, **activation) -> Session:
        """In the room, with an active audio session."""
        session = self.join(name, relay, hello={"device": device} if device else None)
        session.ask("session.init")
        if category:
            session.ask("session.setCategory", category=category)
        session.ask("session.setActive", active=True, **activation)
        return session

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def refused(session: Session, kind: str, /, **members) -> Refused:
    try:
        answer = session.ask(kind, **members)
    except Refused as refusal:
        return refusal
    raise AssertionError(f"{kind} {members} was not refused: {answer}")


def state(answer: dict) -> str:
    return answer["session"]["state"]


def media(frames: list[Frame], stream: int | None = None) -> list[Frame]:
    return [frame for frame in frames if frame.kind != CONFIGURATION and stream in (None, frame.stream)]


class Talker:
    """Publishes audio and, if wanted, video by hand, each frame with a payload of its own."""

    def __init__(self, session: Session, *, video: bool = False):
        self.session = session
        self.audio = session.publish("audio")
        self.video = session.publish("video") if video else None
        self.count = 0

    def say(self, *listeners: Session, heard: bool = True) -> bytes:
        """One frame of audio, which the listeners get; with `heard` false, which has passed the relay when this returns."""
        self.count += 1
        payload = b"word %d of %d" % (self.count, self.audio)
        self.session.media("audio", self.audio, payload)
        if not heard:
            self.session.barrier()
        for listener in listeners if heard else ():
            listener.frame(payload)
        return payload

    def show(self, *, key: bool = False) -> bytes:
        """One frame of video."""
        assert self.video is not None
        self.count += 1
        payload = b"picture %d of %d" % (self.count, self.video)
        self.session.media("video", self.video, payload, KEY if key else 0)
        return payload

    def warm_up(self, *listeners: Session) -> None:
        """Between loops a subscription takes its time: talks until everybody hears it."""
        for listener in listeners:
            # Of what it has heard before it may have let go since.
            said: set[bytes] = set()
            while not said.intersection(listener.payloads(self.audio)):
                said.add(self.say(heard=False))
                listener.drain(0.05)
        self.say(*listeners)
        for session in (self.session, *listeners):
            session.frames.clear()


def silent(session: Session, *talkers: Talker) -> None:
    """Nothing of what is said now reaches the session."""
    before = len(session.frames)
    for talker in talkers:
        for _ in range(3):
            talker.say(heard=False)
        if talker.video:
            talker.show(key=True)
        talker.session.barrier()
    session.barrier()
    session.drain(0.15)
    session.barrier()
    assert session.frames[before:] == [], f"media came: {session.frames[before:][:3]}"


def hears(session: Session, talker: Talker) -> list[Frame]:
    """What is said reaches the session (from another loop it may take a moment); answers the frames of the talker's audio that came, configurations included."""
    before = len(session.frames)
    spoken = []
    deadline = time.monotonic() + 10
    while not (frames := [frame for frame in session.frames[before:] if frame.stream == talker.audio and frame.kind != CONFIGURATION]):
        assert time.monotonic() < deadline, "nothing is heard"
        spoken.append(talker.say(heard=False))
        session.barrier()
        session.drain(0.02)
    assert [frame.payload for frame in frames] == spoken[-len(frames) :], "something stale, or something lost"
    return [frame for frame in session.frames[before:] if frame.stream == talker.audio]


def restarts(session: Session, talker: Talker) -> None:
    """The talker is heard anew: the configuration went before, and the first frame says that it does not follow the last."""
    heard = len(media(session.frames, talker.audio))
    hears(session, talker)
    frames = [frame for frame in session.frames if frame.stream == talker.audio]
    first = media(frames)[heard]
    before = frames[frames.index(first) - 1 : frames.index(first)]
    assert [frame.kind for frame in before] == [CONFIGURATION], "the configuration comes first"
    assert first.flags & DISCONTINUITY
    assert not hears(session, talker)[-1].flags & DISCONTINUITY, "the first frame alone has the flag"
