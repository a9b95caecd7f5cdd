"""What the Python client library believes of its room and of its own streams, event by event, without a relay and without a clock."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from support.python_client import LIBRARY
from support.relay import REPOSITORY

from segue import Closed, ConnectionLost, Flag, Frame, Kind, Publication, Room, decode  # isort: skip
from segue.model import Asked, Model  # isort: skip

assert LIBRARY.is_dir()
EXAMPLES = {
    name.removeprefix("event."): [example["payload"] for example in message["examples"]]
    for name, message in json.loads((REPOSITORY / "Sources/asyncapi.json").read_text())["components"]["messages"].items()
    if name.startswith("event.")
}


def person(number: int, role: str = "speaker", **others: Any) -> dict:
    return {"participant": number, "role": role, "identity": {"name": f"urn:{number}", "fingerprint": "ab", "proof": "certificate"}, **others}


def stream(number: int, participant: int, kind: str = "audio", **others: Any) -> dict:
    return {"stream": number, "participant": participant, "kind": kind, "codec": "opus", **others}


def joined(**others: Any) -> dict:
    entry = {"room": "r", "participant": 5, "role": "speaker", "state": "joined", "locked": False}
    return entry | {"participants": [person(4, "host"), person(5)], "streams": [stream(1, 4)]} | others


def room(**others: Any) -> Room:
    made = Room("r", 5, "speaker")
    made.fill(joined(**others))
    return made


LISTENER, HEADSET = ("listener", {"audio"}), [{"type": "headset"}]
# By event: what of the room is then, as an expression.
EVENTS: list[tuple[dict, str, object]] = [
    ({"type": "participant.joined", **person(6, "listener", displayName="Six", muted=["video"])}, "sorted(room.participants)", [4, 5, 6]),
    ({"type": "participant.joined", **person(6, displayName="Six")}, "room.participants[6].display_name", "Six"),
    ({"type": "participant.left", "participant": 4, "reason": "left"}, "sorted(room.participants)", [5]),
    ({"type": "participant.left", "participant": 99, "reason": "left"}, "sorted(room.participants)", [4, 5]),
    ({"type": "participant.changed", "participant": 5, "role": "listener", "muted": ["audio"]}, "room.role, set(room.participants[5].muted)", LISTENER),
    ({"type": "participant.changed", "participant": 4, "role": "speaker", "muted": []}, "room.role, room.participants[4].role", ("speaker", "speaker")),
    ({"type": "participant.interrupted", "participant": 4, "interrupted": True, "reason": "default"}, "room.participants[4].interrupted", True),
    ({"type": "participant.held", "participant": 4, "held": True}, "room.participants[4].held", True),
    ({"type": "participant.route", "participant": 4, "inputs": [], "outputs": HEADSET}, "room.participants[4].route['outputs']", HEADSET),
    ({"type": "participant.mode", "participant": 4, "category": "playback", "mode": "default"}, "room.participants[4].category", "playback"),
    ({"type": "stream.published", **stream(2, 5, "video", layers=[{}], description={"timescale": 48_000})}, "room.streams[2].timescale", 48_000),
    ({"type": "stream.published", **stream(2, 5, "video")}, "(room.streams[2].timescale, room.streams[2].participant.number)", (90_000, 5)),
    ({"type": "stream.published", **stream(2, 77)}, "room.streams[2].participant", None),
    ({"type": "stream.ended", "stream": 1}, "(list(room.streams), room.stream(1).is_ended)", ([], True)),
    ({"type": "stream.ended", "stream": 88}, "list(room.streams)", [1]),
    ({"type": "room.locked", "locked": True}, "room.locked", True),
    ({"type": "room.removed", "room": "r", "reason": "ended"}, "(room.state, room.participants, room.streams)", ("left", {}, {})),
    ({"type": "lobby.waiting", **person(9)}, "room.lobby[9].name", "urn:9"),
    ({"type": "lobby.left", "participant": 9}, "room.lobby", {}),
    ({"type": "speakers", "speakers": [{"participant": 4, "stream": 1, "level": -23}]}, "room.speakers[0]['level']", -23),
    ({"type": "stream.forwarded", "streams": [3, 7]}, "set(room.forwarded)", {3, 7}),
    ({"type": "weather", "participant": 4}, "sorted(room.participants)", [4, 5]),
]


@pytest.mark.parametrize(("event", "expression", "expected"), EVENTS)
def test_the_room_follows_each_event(event: dict, expression: str, expected: object) -> None:
    there = room()
    there.apply(event)
    assert eval(expression, {"room": there, "sorted": sorted, "list": list, "set": set}) == expected


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_event_of_the_description_is_taken(kind: str) -> None:
    model = Model(lambda message: asyncio.sleep(0))
    model.answered(Asked("join", {"room": "r"}), joined(participants=[person(4), person(5), person(6)]))
    for example in EXAMPLES[kind]:
        model.event(copy.deepcopy(example))


def test_who_waits_in_the_lobby_has_an_empty_room_until_let_in() -> None:
    there = Room("r", 5, "speaker")
    there.fill({"room": "r", "participant": 5, "role": "speaker", "state": "waiting"})
    assert (there.state, there.participants) == ("waiting", {})
    admitted = joined()
    del admitted["state"]
    there.apply({"type": "room.admitted", **admitted})
    assert (there.state, sorted(there.participants)) == ("joined", [4, 5])


def test_what_was_missed_is_told_by_the_whole_and_who_stays_is_the_same() -> None:
    """§3.18: what was said meanwhile is not repeated; the room of the welcome replaces it."""
    ended = []
    there = Room("r", 5, "speaker", on_ended=lambda stream: ended.append(stream.number))
    there.fill(joined(streams=[stream(1, 4), stream(2, 4)]))
    ann, first = there.participants[4], there.streams[1]
    there.fill(joined(participants=[person(4, held=True), person(5), person(6)], streams=[stream(1, 4), stream(3, 6)]))
    assert there.participants[4] is ann and ann.held and there.streams[1] is first and ended == [2]
    assert there.streams[3].participant is there.participants[6]


# Frames that come again


def media(stream: int, sequence: int, spatial: int = 0) -> Frame:
    return Frame(Kind.VIDEO, stream, sequence & 0xFFFF_FFFF, (sequence * 3_000) & 0xFFFF_FFFF, b"x", spatial=spatial)


def resumed(**others: Any) -> dict:
    return {"room": joined(), "subscribed": [1], "published": [], "gaps": [], **others}


@pytest.mark.parametrize("first", [0, 0xFFFF_FFFE], ids=["from 0", "wrapping"])
def test_a_frame_that_came_before_a_resumption_is_not_given_again(first: int) -> None:
    model = Model(lambda message: asyncio.sleep(0))
    model.answered(Asked("join", {"room": "r"}), joined())
    for place in range(4):
        assert model.frame(media(1, first + place), place)
    assert model.received() == [{"stream": 1, "sequence": (first + 3) & 0xFFFF_FFFF, "timestamp": ((first + 3) * 3_000) & 0xFFFF_FFFF}]
    model.resumed(resumed())
    given = [place for place in (2, 3, 4, 3, 5) if model.frame(media(1, first + place), 5.0)]
    # Behind the first that is new, what comes is the publisher's numbering, whatever it is.
    assert given == [4, 3, 5]


def test_a_publisher_that_numbers_anew_is_heard_after_a_resumption() -> None:
    model = Model(lambda message: asyncio.sleep(0))
    model.answered(Asked("join", {"room": "r"}), joined())
    model.frame(media(1, 1 << 20), 0)
    model.resumed(resumed())
    assert model.frame(media(1, 0), 1)


def test_spatial_layers_are_numbered_apart() -> None:
    model = Model(lambda message: asyncio.sleep(0))
    model.answered(Asked("join", {"room": "r"}), joined())
    for number, layer in ((7, 0), (3, 1)):
        model.frame(media(1, number, layer), 0)
    assert model.received() == [{"stream": 1, "sequence": 3, "timestamp": 9_000, "layer": 1}]
    model.resumed(resumed())
    assert model.frame(media(1, 3, 1), 1) is None and model.frame(media(1, 4, 1), 1)
    assert model.room and model.room.streams[1].reception.missing == 0, "another numbering is no loss"


@pytest.mark.parametrize(("sequences", "missing"), [([0, 1, 2], 0), ([0, 3], 2), ([0xFFFF_FFFF, 1], 1), ([5, 5, 6], 0), ([0, 1 << 20], 0)])
def test_holes_in_the_numbering_are_counted(sequences: list[int], missing: int) -> None:
    there = room()
    for sequence in sequences:
        there.streams[1].take(Frame(Kind.AUDIO, 1, sequence, 0, b"x"), 0.0)
    assert there.streams[1].reception.missing == missing


def test_a_session_that_lost_its_room_meanwhile_has_none() -> None:
    model, left = Model(lambda message: asyncio.sleep(0)), []
    model.on_left = lambda: left.append(True)
    model.answered(Asked("join", {"room": "r"}), joined())
    model.answered(Asked("publish", {"kind": "audio", "codec": "opus"}), {"stream": 9})
    own = model.publications[9]
    model.resumed({"subscribed": [], "published": [], "gaps": []})
    assert model.room is None and own.is_ended and left == [True] and not model.publications


def test_wishes_that_hold_are_kept_for_a_new_session() -> None:
    model = Model(lambda message: asyncio.sleep(0))
    model.answered(Asked("join", {"room": "r"}), joined())
    ok = {"subscribed": [1]}
    for members in ({"streams": [1]}, {"sources": ["screen"]}, {"all": True, "delivery": "mixed"}, {"all": True, "maxBitrate": 5}, {"sources": ["screen"]}):
        model.answered(Asked("subscribe", members), ok)
    assert model.wishes == [{"sources": ["screen"]}, {"all": True, "maxBitrate": 5}]
    model.answered(Asked("unsubscribe", {"streams": [1]}), ok)
    assert len(model.wishes) == 2
    model.answered(Asked("unsubscribe", {"all": True}), ok)
    assert model.wishes == []


# One's own streams


class Wire:
    """Takes what a publication sends, or is cut."""

    def __init__(self) -> None:
        self.now, self.sent, self.cut = 0.0, list[Frame](), None
        self.publication = Publication(3, {"kind": "audio", "codec": "opus"}, self.send, lambda: self.now)

    async def send(self, message: bytes) -> None:
        if self.cut:
            raise self.cut
        self.sent.append(decode(message))

    def take(self) -> list[tuple[Kind, int, bytes]]:
        """Since the last time."""
        taken = [(frame.kind, frame.sequence, frame.payload) for frame in self.sent]
        self.sent.clear()
        return taken


def test_frames_are_numbered_and_a_configuration_has_the_number_of_what_follows() -> None:
    async def work() -> None:
        wire = Wire()
        await wire.publication.configure(b"head")
        assert [await wire.publication.send(b"%d" % place, place * 960, flags=Flag.KEY) for place in range(2)] == [0, 1]
        await wire.publication.configure(b"other")
        await wire.publication.send(b"2", 1_920, spatial=0)
        expected = [(3, 0, b"head"), (0, 0, b"0"), (0, 1, b"1"), (3, 2, b"other"), (0, 2, b"2")]
        assert wire.take() == [(Kind(kind), sequence, payload) for kind, sequence, payload in expected]

    asyncio.run(work())


@pytest.mark.parametrize("fault", [ConnectionLost("gone"), Closed(1001, "away")])
def test_after_a_loss_a_stream_goes_on_behind_what_the_relay_has(fault: Exception) -> None:
    """§3.18: the configuration once more, then what the old connection may have taken with it, then what waited. What is older than a second is not live."""

    async def work() -> None:
        wire = Wire()
        await wire.publication.configure(b"head")
        for place in range(4):
            wire.now = place * 0.02
            await wire.publication.send(b"%d" % place, place * 960)
        wire.take()
        wire.cut = fault
        wire.publication.suspend()
        for place in range(4, 8):
            await wire.publication.send(b"%d" % place, place * 960)
        wire.cut = None
        await wire.publication.send(b"8", 8 * 960)
        assert wire.take() == [], "nothing goes before the configuration"
        await wire.publication.resume([{"stream": 3, "sequence": 1}])
        assert [payload for _, _, payload in wire.take()] == [b"head", *(b"%d" % place for place in range(2, 9))]
        wire.publication.suspend()
        await wire.publication.send(b"9", 9 * 960)
        wire.now += 5
        await wire.publication.resume([{"stream": 3, "sequence": 8}])
        await wire.publication.send(b"10", 10 * 960)
        assert [payload for _, _, payload in wire.take()] == [b"head", b"10"] and wire.publication.lost == 1

    asyncio.run(work())


def test_of_a_stream_of_which_nothing_came_all_is_sent_again() -> None:
    async def work() -> None:
        wire = Wire()
        await wire.publication.configure()
        await wire.publication.send(b"0", 0)
        wire.publication.suspend()
        wire.take()
        await wire.publication.resume([{"stream": 3}])
        assert [payload for _, _, payload in wire.take()] == [b"", b"0"]

    asyncio.run(work())


def test_in_a_new_session_a_stream_has_a_new_number_and_nothing_old_is_sent() -> None:
    async def work() -> None:
        wire = Wire()
        await wire.publication.configure(b"head")
        await wire.publication.send(b"0", 0)
        wire.publication.suspend()
        await wire.publication.send(b"1", 960)
        wire.take()
        await wire.publication.restart(77)
        await wire.publication.send(b"2", 1_920)
        assert [(frame.stream, frame.payload) for frame in wire.sent] == [(77, b"head"), (77, b"2")] and wire.publication.lost == 1

    asyncio.run(work())


@pytest.mark.parametrize(
    ("event", "expression", "expected"),
    [
        ({"type": "keyframe.requested", "stream": 3, "layer": 2}, "(it.key_frame_wanted.is_set(), it.wanted_key_layers)", (True, {2})),
        ({"type": "layers.wanted", "stream": 3, "layers": [{"spatial": 0, "temporal": 1}]}, "it.wanted[0]['temporal']", 1),
        ({"type": "format.wanted", "stream": 3, "channels": 1, "bandwidth": "wideband"}, "it.format['bandwidth']", "wideband"),
        ({"type": "stream.report", "stream": 3, "receivers": 2}, "it.report['receivers']", 2),
        ({"type": "stream.ended", "stream": 3}, "it.is_ended", True),
        ({"type": "stream.stopped", "stream": 3, "reason": "category"}, "it.is_ended", True),
        ({"type": "stream.stopped", "stream": 3, "reason": "deactivated"}, "it.is_ended", False),
    ],
)
def test_a_stream_of_ones_own_follows_its_events(event: dict, expression: str, expected: object) -> None:
    it = Wire().publication
    it.take(event)
    assert eval(expression, {"it": it}) == expected
