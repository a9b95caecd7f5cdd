"""A session as a third-party client has it: requests with their answers, events, and media frames, over Python `websockets`."""

from __future__ import annotations

import contextlib
import json
import struct
import time
from collections import deque
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from .relay import Identity, Relay

SECONDS_MAX = 30

AUDIO, DATA, CONFIGURATION = 0, 2, 3
ENCRYPTED = 0x40


class Refused(Exception):
    """The relay answered with an error."""

    def __init__(self, answer: dict[str, Any]):
        super().__init__(f"{answer['code']}: {answer['message']}")
        self.code: str = answer["code"]
        self.retry: bool = answer["retry"]


class Closed(Exception):
    """The relay closed the session."""

    def __init__(self, code: int | None, reason: str):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


def media(kind: int, stream: int, sequence: int, payload: bytes, *, flags: int = 0, level: int = 0x7F) -> bytes:
    """A media frame (protocol §4.1) whose timestamp is its sequence number."""
    return struct.pack(">BBBBIII", 0x10 | kind, flags, 0, level, stream, sequence, sequence) + payload


class Session:
    """Answers and events that nobody waits for yet are kept in the order in which they came."""

    def __init__(self, relay: Relay, identity: Identity | None = None, *, hello: dict[str, Any] | None = None):
        self._stack = contextlib.ExitStack()
        self._socket = self._stack.enter_context(
            connect(
                f"wss://localhost:{relay.port}/v1/session",
                ssl=relay.context(identity=identity),
                subprotocols=["segue.v1"],
                compression=None,
                max_size=None,
                open_timeout=SECONDS_MAX,
                close_timeout=2,
            )
        )
        self._next_id = 1
        self._events: deque[dict[str, Any]] = deque()
        self._answers: dict[int, dict[str, Any]] = {}
        self._frames: deque[bytes] = deque()
        self.welcome = self.request("hello", versions=[1], **(hello or {}))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    @property
    def name(self) -> str:
        return self.welcome["identity"]["name"]

    @property
    def fingerprint(self) -> str:
        return self.welcome["identity"]["fingerprint"]

    def send(self, kind: str, /, **members: Any) -> int:
        """Asks without waiting: the id of the answer."""
        number = self._next_id
        self._next_id += 1
        self._socket.send(json.dumps({"type": kind, "id": number, **members}))
        return number

    def answer(self, number: int, *, seconds: float = SECONDS_MAX) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while number not in self._answers:
            self._take(deadline)
        answer = self._answers.pop(number)
        if answer["type"] == "error":
            raise Refused(answer)
        return answer

    def request(self, kind: str, /, **members: Any) -> dict[str, Any]:
        return self.answer(self.send(kind, **members))

    def refusal(self, kind: str, /, **members: Any) -> str:
        """The code that a request is refused with; it must be refused."""
        try:
            answer = self.request(kind, **members)
        except Refused as refused:
            return refused.code
        raise AssertionError(f"{kind} was not refused: {answer}")

    def event(self, kind: str, *, seconds: float = SECONDS_MAX) -> dict[str, Any]:
        """The next event of a type; earlier events of other types stay where they are."""
        deadline = time.monotonic() + seconds
        while True:
            for event in self._events:
                if event["type"] == kind:
                    self._events.remove(event)
                    return event
            self._take(deadline)

    def events(self) -> list[str]:
        """The types of the events that are there: everything that the relay said before the answer to a `time` request."""
        self.request("time", clientTime=0)
        kinds = [event["type"] for event in self._events]
        self._events.clear()
        return kinds

    def frame(self, *, seconds: float = SECONDS_MAX) -> bytes:
        deadline = time.monotonic() + seconds
        while not self._frames:
            self._take(deadline)
        return self._frames.popleft()

    def send_frame(self, frame: bytes) -> None:
        self._socket.send(frame)

    def wait_closed(self, *, seconds: float = SECONDS_MAX) -> Closed:
        deadline = time.monotonic() + seconds
        try:
            while True:
                self._take(deadline)
        except Closed as closed:
            return closed

    def _take(self, deadline: float) -> None:
        try:
            message = self._socket.recv(timeout=max(0.0, deadline - time.monotonic()))
        except ConnectionClosed as closed:
            raise Closed(closed.rcvd.code if closed.rcvd else None, closed.rcvd.reason if closed.rcvd else "") from None
        if isinstance(message, bytes):
            self._frames.append(message)
            return
        decoded = json.loads(message)
        if "id" in decoded:
            self._answers[decoded["id"]] = decoded
        else:
            self._events.append(decoded)
