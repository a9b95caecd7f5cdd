"""Format first (audio-session semantics §6; protocol §5.1): a stream's configuration goes before its media, to everybody, and again when it changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from support.relay import Relay
from support.session import CONFIGURATION, KEY, Session

ROOMS = itertools.count()


@pytest.fixture(scope="module", params=[1, 2], ids=lambda loops: f"{loops}loops")
def format_relay(request: pytest.FixtureRequest, start_relay: Callable[..., Relay]) -> Relay:
    return start_relay(f"formats-{request.param}", loops=request.param)


@pytest.fixture
def join(format_relay: Relay) -> Iterator[Callable[[], Session]]:
    room, sessions = f"formats-{next(ROOMS)}", []

    def join() -> Session:
        session = Session(format_relay)
        sessions.append(session)
        session.ask("join", room=room)
        return session

    yield join
    for session in sessions:
        session.close()
    format_relay.assert_healthy()


@pytest.mark.parametrize("kind", ["audio", "video", "data"])
def test_media_before_its_format_closes_1008(join: Callable[[], Session], kind: str) -> None:
    session = join()
    stream = session.publish(kind, configured=False)
    session.media(kind, stream, b"x", flags=KEY)
    end = session.closed()
    assert (end.code, end.reason) == (1008, "media before its configuration")


def test_a_format_of_one_stream_is_none_of_another(join: Callable[[], Session]) -> None:
    session = join()
    session.publish("audio")
    other = session.publish("audio", configured=False)
    session.media("audio", other, b"x")
    assert session.closed().code == 1008


@pytest.mark.parametrize("kind, cookie", [("audio", b"OpusHead\x01\x02"), ("video", b"\x01\x64\x00\x1f")], ids=["audio", "video"])
def test_a_late_joiner_gets_the_format_first(join: Callable[[], Session], kind: str, cookie: bytes) -> None:
    publisher = join()
    stream = publisher.publish(kind, configured=False)
    publisher.configure(stream, cookie)
    publisher.media(kind, stream, b"early", flags=KEY)
    publisher.barrier()
    late = join()
    late.ask("subscribe", streams=[stream])
    publisher.media(kind, stream, b"late", flags=KEY)
    late.frame(b"late")
    assert (late.frames[0].kind, late.frames[0].payload) == (CONFIGURATION, cookie)
    assert sum(frame.kind == CONFIGURATION for frame in late.frames) == 1


def test_a_changed_format_goes_before_the_media_that_needs_it(join: Callable[[], Session]) -> None:
    publisher, listener = join(), join()
    stream = publisher.publish("audio", configured=False)
    listener.event("stream.published", stream=stream)
    listener.ask("subscribe", streams=[stream])
    for cookie in (b"first", b"second"):
        publisher.configure(stream, cookie)
        publisher.media("audio", stream, b"media of " + cookie)
        listener.frame(b"media of " + cookie)
    assert [frame.payload for frame in listener.frames] == [b"first", b"media of first", b"second", b"media of second"]
    late = join()
    late.ask("subscribe", streams=[stream])
    publisher.media("audio", stream, b"more")
    late.frame(b"more")
    assert [frame.payload for frame in late.frames] == [b"second", b"more"]
