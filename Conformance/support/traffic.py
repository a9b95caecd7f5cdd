"""Every control message that the benches' clients send and get, kept while they run and held against the protocol's description at the end.

What the relay says must always be in the description, to the last member. What a client says must be, too, unless the test is marked `hostile`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol_description import Description

SUBPROTOCOL = "segue.v1"


@dataclass(frozen=True)
class Record:
    conversation: int
    is_sent: bool
    text: str | bytes
    test: str
    is_hostile: bool


@dataclass
class Traffic:
    """All of a run. `test` and `is_hostile` are of the test that runs."""

    records: list[Record] = field(default_factory=list)
    conversations: int = 0
    test: str = "(no test)"
    is_hostile: bool = False

    def begin(self, test: str, is_hostile: bool) -> None:
        self.test, self.is_hostile = test, is_hostile


class Conversation:
    """One session's messages."""

    def __init__(self, traffic: Traffic | None = None):
        self.traffic = TRAFFIC if traffic is None else traffic
        self.traffic.conversations += 1
        self.number = self.traffic.conversations
        self.is_opaque = False

    def sent(self, message: str | bytes) -> None:
        """Before it goes: an answer must not be kept before its request."""
        if isinstance(message, str):
            self._keep(True, message)

    def received(self, message: Any) -> None:
        if isinstance(message, str):
            self._keep(False, message)

    def sent_bytes(self, data: bytes) -> None:
        """Raw bytes of a WebSocket stream: whole text frames are looked at, up to the first thing that is not a plain frame."""
        while data and not self.is_opaque:
            if (frame := _frame(data)) is None:
                self.is_opaque = True
                return
            opcode, payload, data = frame
            if opcode == 0x1:
                self._keep(True, payload)

    def received_text(self, payload: bytes) -> None:
        self._keep(False, payload)

    def _keep(self, is_sent: bool, text: str | bytes) -> None:
        self.traffic.records.append(Record(self.number, is_sent, text, self.traffic.test, self.traffic.is_hostile))


def _frame(data: bytes) -> tuple[int, bytes, bytes] | None:
    """One final, masked frame without reserved bits, as opcode, payload and what follows; None for anything else."""
    if len(data) < 6 or data[0] & 0xF0 != 0x80 or not data[1] & 0x80:
        return None
    length, offset = data[1] & 0x7F, 2
    if length >= 126:
        octets = 2 if length == 126 else 8
        if len(data) < offset + octets + 4:
            return None
        length, offset = int.from_bytes(data[offset : offset + octets]), offset + octets
    key, body = data[offset : offset + 4], data[offset + 4 : offset + 4 + length]
    if len(body) < length:
        return None
    mask = key * (length // 4 + 1)
    payload = (int.from_bytes(body) ^ int.from_bytes(mask[:length])).to_bytes(length)
    return data[0] & 0x0F, payload, data[offset + 4 + length :]


TRAFFIC = Traffic()


@dataclass
class Verdict:
    faults: list[str] = field(default_factory=list)
    seen: Counter = field(default_factory=Counter)

    def summary(self, description: Description) -> str:
        return f"{self.seen.total()} control messages, of {len(self.seen)} of the {len(description.messages)} kinds that are described"


class Judge:
    def __init__(self, description: Description):
        self.description = description
        self.verdict = Verdict()
        # What was asked under an id, by conversation.
        self.asked: dict[tuple[int, int], list[str]] = {}

    def judge(self, records: list[Record]) -> Verdict:
        for record in records:
            fault = self._sent(record) if record.is_sent else self._received(record)
            if fault is not None:
                who = "the client sent" if record.is_sent else "the relay said"
                self.verdict.faults.append(f"{record.test}: {who} {shown(record.text)}: {fault}")
        # The relay's first: they say that it, or its description, is wrong.
        self.verdict.faults.sort(key=lambda fault: ": the client sent " in fault)
        return self.verdict

    def _sent(self, record: Record) -> str | None:
        message, fault = _object(record.text)
        if message is not None:
            kind, number = message.get("type"), message.get("id")
            if isinstance(number, (int, float)):
                self.asked.setdefault((record.conversation, int(number)), []).append(str(kind))
            fault = self._against([kind], message, closed=False) if kind in self.description.requests else f"there is no request {kind!r}"
        return None if record.is_hostile else fault

    def _received(self, record: Record) -> str | None:
        message, fault = _object(record.text)
        if message is None:
            return fault
        names = self._names(record.conversation, message)
        return self._against(names, message, closed=True) if names else f"there is no message {message.get('type')!r}"

    def _names(self, conversation: int, message: dict) -> list[str]:
        """What a message of the relay can be: an answer is of the requests that had its id. One to a request of a lost connection is of any."""
        description, kind = self.description, message.get("type")
        if kind not in ("ok", "welcome", "error"):
            return [description.events[kind]] if kind in description.events else []
        place = 1 if kind == "error" else 0
        asked = self.asked.get((conversation, message.get("id")), description.requests)
        names = [description.answers(request)[place] for request in asked if request in description.requests]
        if kind == "error" and len(names) < len(asked) or "id" not in message:
            names.append("error")
        return names

    def _against(self, names: list[str], message: dict, *, closed: bool) -> str | None:
        faults = []
        for name in names:
            if self.description.is_valid(name, message, closed=closed):
                self.verdict.seen[name] += 1
                return None
            faults.append(f"no {name}, {self.description.fault(name, message, closed=closed)}")
        return "; ".join(faults[:3])


def _object(text: str | bytes) -> tuple[dict | None, str | None]:
    try:
        message = json.loads(text)
    except ValueError as error:
        return None, f"no JSON: {error}"
    return (message, None) if isinstance(message, dict) else (None, "no object")


def shown(text: str | bytes) -> str:
    shown = text if isinstance(text, str) else text.decode(errors="replace")
    return shown if len(shown) <= 300 else shown[:300] + "…"
