"""The room as its members see it: who is there, what they publish.

Follows the answers to `join` and `hello`, and the events (protocol sections 3.4, 3.12, 3.13, 3.18, 3.19).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from . import messages
from .frames import Frame, Kind, serial_difference

TIMESCALES = {"audio": 48_000, "video": 90_000, "data": 1_000_000}
# Of streams that have ended, whose last frames may still follow (section 3.12).
ENDED_KEPT = 256


@dataclass(eq=False)
class Participant:
    """Somebody in the room. `name` and `fingerprint` are verified by the relay, `display_name` is what they call themselves."""

    number: int
    name: str
    fingerprint: str | None
    proof: str
    role: str
    display_name: str | None = None
    muted: frozenset[str] = frozenset()
    interrupted: bool = False
    held: bool = False
    route: Mapping[str, Any] | None = None
    category: str | None = None
    mode: str | None = None


@dataclass(eq=False)
class Reception:
    """What has come of a stream that one receives. Counts are of media frames; `missing` are holes in the numbering: of audio and data, losses."""

    received: int = 0
    missing: int = 0
    bytes: int = 0
    # The mean deviation of arrival, as in RFC 3550 section 6.4.1.
    jitter_milliseconds: float = 0.0
    last: Frame | None = None
    _transit: float | None = None

    def take(self, frame: Frame, arrived: float, timescale: int) -> None:
        """`arrived`: seconds of a clock that nobody sets."""
        self.received += 1
        self.bytes += len(frame.payload)
        if self.last is not None and self.last.spatial == frame.spatial:
            ahead = serial_difference(frame.sequence, self.last.sequence)
            self.missing += ahead - 1 if 1 < ahead < 1 << 16 else 0
        transit = arrived * 1_000 - frame.timestamp * 1_000 / timescale
        if self._transit is not None and (change := abs(transit - self._transit)) < 10_000:
            self.jitter_milliseconds += (change - self.jitter_milliseconds) / 16
        self._transit, self.last = transit, frame


@dataclass(eq=False)
class Stream:
    """A stream of the room. `participant` is None of the relay's mix. `configuration` is what came last for the decoder (section 5.5)."""

    number: int
    kind: str
    codec: str
    participant: Participant | None
    source: str | None = None
    description: messages.StreamDescription = field(default_factory=lambda: messages.StreamDescription())
    layers: tuple[Mapping[str, Any], ...] = ()
    priority: str = "medium"
    configuration: bytes | None = None
    is_ended: bool = False
    reception: Reception = field(default_factory=Reception)

    @property
    def timescale(self) -> int:
        """Ticks of the frames' timestamps a second."""
        return int(self.description.get("timescale", TIMESCALES.get(self.kind, 1_000_000)))

    def take(self, frame: Frame, arrived: float) -> None:
        if frame.kind is Kind.CONFIGURATION:
            self.configuration = frame.payload
        else:
            self.reception.take(frame, arrived, self.timescale)


def participant_of(entry: Mapping[str, Any]) -> Participant:
    identity = entry["identity"]
    found = Participant(entry["participant"], identity["name"], identity.get("fingerprint"), identity["proof"], entry["role"], entry.get("displayName"))
    found.muted = frozenset(entry.get("muted", ()))
    found.interrupted, found.held = bool(entry.get("interrupted")), bool(entry.get("held"))
    found.route, found.category, found.mode = entry.get("route"), entry.get("category"), entry.get("mode")
    return found


class Room:
    """`state` is "joined", "waiting" (in the lobby) or "left". Objects of participants and streams stay the same as long as their numbers do."""

    def __init__(self, name: str, me: int, role: str, state: str = "waiting", on_ended: Callable[[Stream], None] = lambda stream: None) -> None:
        self.name, self.me, self.role, self.state = name, me, role, state
        self.locked = False
        self.participants: dict[int, Participant] = {}
        self.streams: dict[int, Stream] = {}
        self.mix: Stream | None = None
        # Who speaks, loudest first: `participant`, `stream`, `level` (dBov).
        self.speakers: list[Mapping[str, Any]] = []
        # For hosts: who waits in the lobby.
        self.lobby: dict[int, Participant] = {}
        self._ended: OrderedDict[int, Stream] = OrderedDict()
        self._on_ended = on_ended

    def fill(self, entry: Mapping[str, Any]) -> None:
        """Takes the answer to `join`, `room.admitted` or the room in `resumed`: all that there is, in place of what was."""
        self.name, self.me, self.role = entry["room"], entry["participant"], entry["role"]
        self.state = entry.get("state", "joined")
        if self.state == "waiting":
            return
        self.locked, self.speakers = entry["locked"], list(entry.get("speakers", ()))
        before = self.participants
        self.participants = {}
        for found in map(participant_of, entry["participants"]):
            known = before.get(found.number, found)
            vars(known).update(vars(found))
            self.participants[found.number] = known
        gone = set(self.streams) - {stream["stream"] for stream in entry["streams"]}
        for number in gone:
            self.end(number)
        for stream in entry["streams"]:
            self.publish(stream)

    def apply(self, event: Mapping[str, Any]) -> None:
        """Takes an event; what it does not know, it passes over (section 3). Raises KeyError for one that lacks what it must have."""
        kind = event["type"]
        who = self.participants.get(event["participant"]) if "participant" in event else None
        if kind == "participant.joined":
            self.participants[event["participant"]] = participant_of(event)
        elif kind == "participant.left":
            self.participants.pop(event["participant"], None)
        elif kind == "stream.published":
            self.publish(event)
        elif kind == "stream.ended":
            self.end(event["stream"])
        elif kind == "participant.changed" and who:
            who.role, who.muted = event["role"], frozenset(event.get("muted", ()))
            self.role = who.role if who.number == self.me else self.role
        elif kind in ("participant.interrupted", "participant.held") and who:
            setattr(who, kind.removeprefix("participant."), event[kind.removeprefix("participant.")])
        elif kind == "participant.route" and who:
            who.route = {"inputs": event["inputs"], "outputs": event["outputs"]}
        elif kind == "participant.mode" and who:
            who.category, who.mode = event["category"], event["mode"]
        elif kind == "room.locked":
            self.locked = event["locked"]
        elif kind == "room.admitted":
            self.fill(event)
        elif kind == "room.removed":
            self.leave()
        elif kind == "lobby.waiting":
            self.lobby[event["participant"]] = participant_of(event)
        elif kind == "lobby.left":
            self.lobby.pop(event["participant"], None)
        elif kind == "speakers":
            self.speakers = list(event["speakers"])

    def leave(self) -> None:
        self.state = "left"
        self._clear()

    def empty(self) -> None:
        """Another session begins, maybe at another relay: who is there and what there is comes anew, with other numbers."""
        self.state = "waiting"
        self._clear()
        self._ended.clear()

    def _clear(self) -> None:
        for number in list(self.streams):
            self.end(number)
        self.participants.clear()
        self.lobby.clear()
        self.speakers, self.mix = [], None

    def mixed(self, entry: Mapping[str, Any] | None) -> None:
        """Takes `mix` of an answer (section 6.5)."""
        if entry is None or self.mix is None or self.mix.number != entry["stream"]:
            self.mix = None if entry is None else Stream(entry["stream"], "audio", entry["codec"], None, description=cast(messages.StreamDescription, entry))

    def stream(self, number: int) -> Stream | None:
        """The stream of a frame: open, or ended with frames that still come, or the mix."""
        if self.mix is not None and number == self.mix.number:
            return self.mix
        return self.streams.get(number) or self._ended.get(number)

    def publish(self, entry: Mapping[str, Any]) -> None:
        """Of somebody else by event; of oneself by the answer to `publish`."""
        number = entry["stream"]
        if number in self.streams:
            return
        stream = Stream(number, entry["kind"], entry["codec"], self.participants.get(entry["participant"]), entry.get("source"))
        stream.description, stream.layers = entry.get("description", {}), tuple(entry.get("layers", ()))
        stream.priority = entry.get("priority", "medium")
        self.streams[number] = stream

    def end(self, number: int) -> None:
        if (stream := self.streams.pop(number, None)) is not None:
            stream.is_ended = True
            self._ended[number] = stream
            while len(self._ended) > ENDED_KEPT:
                self._ended.popitem(last=False)
            self._on_ended(stream)

    def forget(self, stream: Stream) -> None:
        """Frames of a stream that has ended are not waited for any more."""
        if self._ended.get(stream.number) is stream:
            del self._ended[stream.number]
