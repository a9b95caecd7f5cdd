"""Requests right behind `join` (protocol §3.4): they wait for its answer instead of being refused, whichever loop is the room's home."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

import pytest
from support.relay import Relay
from support.session import Session

HTTP = ["1.1", "2"]


@pytest.fixture(scope="module")
def shared_relay(start_relay: Callable[..., Relay]) -> Relay:
    # Rooms of which three in four have their home on another loop than the client's.
    return start_relay("pipelined", loops=4)


@pytest.fixture
def relay(shared_relay: Relay) -> Iterator[Relay]:
    yield shared_relay
    shared_relay.assert_healthy()


def room() -> str:
    return f"room-{os.urandom(4).hex()}"


def send_all(session: Session, *requests: tuple[str, dict]) -> list[int]:
    return [session.send(kind, **members) for kind, members in requests]


def code(session: Session, number: int) -> str:
    answer = session.wait(f"answer {number}", lambda: session.answers.get(number))
    return answer.get("code", "ok")


@pytest.mark.parametrize("http", HTTP)
def test_join_publish_and_subscribe_go_out_together(relay: Relay, http: str) -> None:
    for _ in range(8):
        place = room()
        with Session(relay, http=http) as speaker, Session(relay, http=http) as listener:
            speaker.ask("join", room=place)
            stream = speaker.publish("audio")
            numbers = send_all(
                listener, ("join", {"room": place}), ("subscribe", {"all": True}), ("publish", {"kind": "audio", "codec": "opus"}), ("leave", {})
            )
            assert [code(listener, number) for number in numbers[:2]] == ["ok", "ok"]
            assert listener.answers[numbers[1]]["subscribed"] == [stream]
            # In order: what the leave overtakes is answered as it would be without a join before it.
            assert code(listener, numbers[2]) in ("ok", "not_in_room")
            assert code(listener, numbers[3]) == "ok"


@pytest.mark.parametrize("http", HTTP)
def test_media_come_without_a_further_word(relay: Relay, http: str) -> None:
    place = room()
    with Session(relay, http=http) as speaker, Session(relay, http=http) as listener:
        speaker.ask("join", room=place)
        stream = speaker.publish("audio")
        send_all(listener, ("join", {"room": place}), ("subscribe", {"streams": [stream]}))
        sent = 0
        while not listener.payloads(stream):
            speaker.media("audio", stream, b"%d" % sent)
            sent += 1
            listener.drain(0.05)
        assert sent < 100


@pytest.mark.hostile
def test_a_refused_join_refuses_what_waits_for_it(relay: Relay) -> None:
    with Session(relay) as session:
        numbers = send_all(session, ("join", {"room": "no room's name"}), ("subscribe", {"all": True}), ("time", {"clientTime": 0}))
        assert [code(session, number) for number in numbers] == ["room_name", "not_in_room", "ok"]
        locked = room()
        with Session(relay) as host:
            host.ask("join", room=locked, role="host")
            host.ask("lock", locked=True)
            numbers = send_all(session, ("join", {"room": locked}), ("publish", {"kind": "audio", "codec": "opus"}), ("leave", {}), ("join", {"room": room()}))
            answers = [code(session, number) for number in numbers]
        # The last join was sent while the first was not answered, or after.
        assert answers == ["room_locked", "not_in_room", "not_in_room", "ok"]


def test_from_room_to_room_in_one_go(relay: Relay) -> None:
    with Session(relay) as session:
        rooms = [room() for _ in range(5)]
        requests = []
        for place in rooms:
            requests += [("join", {"room": place}), ("publish", {"kind": "data", "codec": "x"}), ("leave", {})]
        numbers = send_all(session, *requests)
        answers = [code(session, number) for number in numbers]
        assert answers[0::3] == ["ok"] * 5 and answers[2::3] == ["ok"] * 5, answers
        assert session.ask("join", room=rooms[0])["room"] == rooms[0]


def test_no_answer_is_lost_however_many_wait(relay: Relay) -> None:
    with Session(relay) as session:
        numbers = send_all(session, ("join", {"room": room()}), *[("subscribe", {"all": True})] * 120)
        answers = [code(session, number) for number in numbers]
        assert answers[0] == "ok" and set(answers) <= {"ok", "pending"}
        assert json.dumps(session.ask("subscribe", all=True)["subscribed"]) == "[]"
