"""What the session is in, as far as answers, events and frames have told: the room, one's own streams, what was asked for. No connection, no waiting.

Raises KeyError, TypeError, ValueError or AttributeError for messages that lack what they must have; `Session` makes MessageError of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .frames import Frame, serial_difference
from .publication import Publication
from .room import Room, Stream

# How far behind the last frame one may be to count as sent again after a resumption, rather than as a publisher's new numbering.
REPEATED_MAX = 4_096


@dataclass
class Asked:
    """A request: what the answer to it means."""

    kind: str
    members: Mapping[str, Any]
    # Of `publish`: the stream that goes on in a new session.
    publication: Publication | None = None


class Model:
    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self.room: Room | None = None
        self.publications: dict[int, Publication] = {}
        # Called when there is no room any more, and when a stream of it has ended.
        self.on_left: Callable[[], None] = lambda: None
        self.on_ended: Callable[[Stream], None] = lambda stream: None
        # What `join` was asked with, and the subscriptions that hold for streams to come: for a new session.
        self.joined: Mapping[str, Any] | None = None
        self.wishes: list[Mapping[str, Any]] = []
        self.congested = False
        self.bitrate: float | None = None
        # What a new session has still to publish, until it is where the old one was.
        self.is_restarting, self.unpublished = False, list[Publication]()
        # Frames of streams that are not, or not any more, known.
        self.strays = 0
        self._send = send
        self._guards: dict[tuple[int, int], int] = {}

    def answered(self, asked: Asked, answer: Mapping[str, Any]) -> None:
        if asked.kind == "join":
            if self.room is None or self.room.state == "left":
                self.room = Room(answer["room"], answer["participant"], answer["role"], on_ended=self.on_ended)
            self.room.fill(answer)
            self.joined = asked.members
        elif asked.kind == "leave":
            self.left()
        elif asked.kind == "publish":
            publication = asked.publication or Publication(answer["stream"], asked.members, self._send)
            self.publications[answer["stream"]] = publication
            if self.room:
                self.room.publish({**asked.members, "stream": answer["stream"], "participant": self.room.me})
        elif asked.kind == "unpublish":
            if (ended := self.publications.pop(answer["stream"], None)) is not None:
                ended.is_ended = True
            if self.room:
                self.room.end(answer["stream"])
        elif asked.kind == "subscribe":
            self._subscribed(asked.members, answer)
        elif asked.kind == "unsubscribe" and asked.members.get("all"):
            self.wishes.clear()
            if self.room:
                self.room.mixed(None)

    def _subscribed(self, members: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        lasting = {name: value for name, value in members.items() if name != "streams"}
        if members.get("all"):
            self.wishes = [wish for wish in self.wishes if not wish.get("all")]
            if self.room:
                self.room.mixed(answer.get("mix"))
        if (members.get("all") or members.get("sources")) and lasting not in self.wishes:
            self.wishes.append(lasting)

    def left(self) -> None:
        """The room is no more, for this session."""
        if self.room:
            self.room.leave()
        for publication in [*self.publications.values(), *self.unpublished]:
            publication.is_ended = True
        self.unpublished.clear()
        self.room, self.joined = None, None
        self.publications.clear()
        self.wishes.clear()
        self._guards.clear()
        self.on_left()

    def event(self, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if self.room:
            self.room.apply(event)
        if "stream" in event and (publication := self.publications.get(event["stream"])) is not None:
            publication.take(event)
            if publication.is_ended:
                del self.publications[event["stream"]]
        if kind == "room.removed":
            self.left()
        elif kind in ("congested", "recovered"):
            self.congested, self.bitrate = kind == "congested", event.get("bitrate")

    def frame(self, frame: Frame, arrived: float) -> Stream | None:
        """The stream of a frame that is new; None for one to be passed over."""
        stream = self.room.stream(frame.stream) if self.room else None
        if stream is None:
            self.strays += 1
            return None
        if frame.is_media and (frame.stream, frame.spatial) in self._guards:
            ahead = serial_difference(frame.sequence, self._guards[frame.stream, frame.spatial])
            if -REPEATED_MAX < ahead <= 0:
                return None
            del self._guards[frame.stream, frame.spatial]
        stream.take(frame, arrived)
        return stream

    # Coming back

    def _last_frames(self) -> list[Frame]:
        if self.room is None:
            return []
        streams = [*self.room.streams.values(), *([self.room.mix] if self.room.mix else [])]
        return [stream.reception.last for stream in streams if stream.reception.last is not None]

    def received(self) -> list[Mapping[str, int]]:
        """As `resume` wants it: the last frame that came of each stream."""
        return [
            {"stream": last.stream, "sequence": last.sequence, "timestamp": last.timestamp, **({"layer": last.spatial} if last.spatial else {})}
            for last in self._last_frames()
        ]

    def resumed(self, resumed: Mapping[str, Any]) -> dict[Publication, list[Mapping[str, Any]]]:
        """Takes `resumed` of a welcome, in place of the events that were missed. Answers one's own streams, with what the relay has of each."""
        self._guards = {(last.stream, last.spatial): last.sequence for last in self._last_frames()}
        if "room" in resumed and self.room:
            self.room.fill(resumed["room"])
            self.room.mixed(resumed.get("mix"))
        elif "waiting" not in resumed and self.room:
            self.left()
        entries: dict[Publication, list[Mapping[str, Any]]] = {}
        for entry in resumed["published"]:
            if (publication := self.publications.get(entry["stream"])) is not None:
                entries.setdefault(publication, []).append(entry)
        for number, publication in list(self.publications.items()):
            if publication not in entries:
                publication.is_ended = True
                del self.publications[number]
        return entries

    def restart(self) -> None:
        """A new session begins: nothing of the old one's numbers holds. One's own streams wait in `unpublished`."""
        self.is_restarting = True
        self.unpublished += self.publications.values()
        self.publications.clear()
        self._guards.clear()
        if self.room:
            self.room.empty()
