"""Clients that lose their connections and come back: what the tests of resumption have in common."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .authority import Authority
from .metrics import measure
from .relay import Identity, Relay
from .session import CONFIGURATION, KEY, Session
from .waiting import wait_until


def warm_up(publisher: Session, kind: str, stream: int, listener: Session) -> None:
    """Between loops a subscription takes its time: sends until the listener has a frame, and has all that follow."""
    sent: list[bytes] = []
    while not set(sent).intersection(listener.payloads(stream)):
        sent.append(b"warm-up %d" % len(sent))
        publisher.media(kind, stream, sent[-1], KEY if kind == "video" else 0)
        listener.drain(0.1)
    listener.frame(sent[-1])
    listener.frames.clear()
    publisher.events.clear()


def resumptions(relay: Relay) -> int:
    return relay.log().count('"session_resumed"')


class Setting:
    def __init__(self, relay: Relay, authority: Authority, identities: dict[str, Identity]):
        self.relay, self.authority, self.identities = relay, authority, identities
        self.room = f"room-{os.urandom(4).hex()}"
        self.sessions: list[Session] = []

    def open(self, name: str, relay: Relay | None = None, **options) -> Session:
        session = Session(relay or self.relay, self.identities[name], **options)
        self.sessions.append(session)
        return session

    def back(self, session: Session, name: str, relay: Relay | None = None, *, token: str | None = None, received: list | None = None, **options) -> Session:
        resume = {"token": token or session.welcome["resumeToken"], "received": received or received_by(session)}
        again = self.open(name, relay, hello={"resume": resume}, **options)
        again.last_id += 1000
        again.sequences = session.sequences
        return again

    def parkings(self, session: Session) -> int:
        """How often the session has lost its connection."""
        return sum(session.welcome["session"] in line for line in self.relay.log().splitlines() if '"session_parked"' in line)

    def lose(self, session: Session, lose: Callable[[], None]) -> None:
        """Has the session lose its connection, and waits until the relay knows."""
        before = self.parkings(session)
        lose()
        wait_until("the session is parked", lambda: self.parkings(session) > before)

    def resumptions(self) -> int:
        """Of all sessions. By the log: counters come behind by up to a quarter of a second."""
        return resumptions(self.relay)

    def parked(self) -> int:
        """Of all tests that share the relay: what one has left parked stays so for the relay's grace."""
        return int(measure(self.relay, "segue_sessions_parked"))

    def parked_of(self, sessions: list[Session]) -> set[str]:
        """Those whose last word in the log is that they were parked."""
        identifiers = {session.welcome["session"] for session in sessions}
        last: dict[str, str] = {}
        for line in self.relay.log().splitlines():
            if '"session_parked"' in line or '"session_resumed"' in line:
                event = json.loads(line)
                last[event["session"]] = event["event"]
        return {identifier for identifier in identifiers if last.get(identifier) == "session_parked"}

    def close(self) -> None:
        # Each waits for the relay's close frame, behind all that it has not read: hundreds one after the other would take minutes.
        with ThreadPoolExecutor(64) as pool:
            list(pool.map(Session.close, self.sessions))


def received_by(*sessions: Session) -> list[dict]:
    """What a client says that it has."""
    last: dict[int, dict] = {}
    for session in sessions:
        for frame in session.frames:
            if frame.kind != CONFIGURATION:
                timestamp = int.from_bytes(frame.message[12:16], "big")
                last[frame.stream] = {"stream": frame.stream, "sequence": frame.sequence, "timestamp": timestamp}
    return list(last.values())
