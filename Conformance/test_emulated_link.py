"""Backlog never becomes delay: real TCP on an emulated link that carries too little, or stands still.

A short form of what `Deploy/dev real-time` measures. Bounds are far from what a busy machine does to them, and near enough to tell a relay that lets
kernels queue for it from one that does not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from support.authority import Authority
from support.emulated_link import NEAR_ADDRESS, EmulatedLink, reason_to_skip
from support.relay import Relay
from support.session import KEY, Session, HTTP1

REASON = reason_to_skip()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


class Publisher:
    """Sends frames of a size at a pace, each decodable by itself, from a thread of its own; `sent` has each frame's time by its sequence number."""

    def __init__(self, session: Session, kind: str, byte_count: int, interval: float):
        self.session, self.kind, self.interval = session, kind, interval
        self.payload = bytes(byte_count)
        self.stream = session.publish(kind)
        self.sent: dict[int, float] = {}
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Publisher:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ends.set()
        self.thread.join(20)

    def _run(self) -> None:
        due = time.monotonic()
        while not self.ends.is_set():
            self.sent[self.session.media(self.kind, self.stream, self.payload, KEY if self.kind == "video" else 0)] = time.monotonic()
            due += self.interval
            time.sleep(max(0.0, due - time.monotonic()))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture
def link(request: pytest.FixtureRequest) -> Iterator[EmulatedLink]:
    with EmulatedLink(**request.param) as link:
        yield link


@pytest.fixture
def relay(link: EmulatedLink, authority: Authority, tmp_path) -> Iterator[Relay]:
    """A relay at the link's near end."""
    config = authority.configuration(authority.issue_server()) | {"listen": [f"{NEAR_ADDRESS}:0"]}
    relay = Relay.start(
        tmp_path / "relay",
        config=config,
        authority=authority.certificate,
        identity=authority.issue("reader"),
        prefix=("ip", "netns", "exec", link.near),
    )
    yield relay
    relay.stop()


@pytest.fixture
def enter(relay: Relay, link: EmulatedLink, monkeypatch: pytest.MonkeyPatch) -> Iterator:
    """Opens sessions that come from a namespace, in the room "stage"."""
    opened: list[Session] = []
    namespaces: list[str] = []
    monkeypatch.setattr(HTTP1, "connection", lambda _, relay: link.connect(namespaces[-1], relay.port))

    def enter(namespace: str) -> Session:
        namespaces.append(namespace)
        session = Session(relay)
        opened.append(session)
        session.ask("join", room="stage")
        return session

    yield enter
    for session in opened:
        session.close()


@pytest.mark.parametrize("link", [{"rate": 1000, "delay": 50, "queue": 25000}], indirect=True)
def test_control_messages_do_not_queue_behind_media(link: EmulatedLink, enter) -> None:
    """Three times the media that the link carries is due; a request's answer takes its round trip (100 ms) and little more (protocol §6.3)."""
    publisher, reader = enter(link.near), enter(link.far)
    with Publisher(publisher, "video", 15_000, 0.04):
        reader.ask("subscribe", all=True)
        reader.drain(1.5)
        times = []
        for _ in range(40):
            begin = time.monotonic()
            reader.ask("time", clientTime=0)
            times.append(time.monotonic() - begin)
            reader.drain(0.05)
    times.sort()
    assert len(reader.frames) > 10, "the link carried no media, so nothing was measured"
    assert times[35] < 0.8, f"round trips: {[round(seconds, 2) for seconds in times]}"


@pytest.mark.parametrize("link", [{"rate": 5000, "delay": 20}], indirect=True)
def test_nothing_that_is_too_old_comes_after_a_stall(link: EmulatedLink, enter) -> None:
    """The link stands still for 3 s. What was published in the midst of that is past its deadline (200 ms) and never comes; what follows is live."""
    publisher, reader = enter(link.near), enter(link.far)
    with Publisher(publisher, "audio", 160, 0.02) as source:
        reader.ask("subscribe", all=True)
        reader.drain(1.5)
        link.change(stall=1)
        begin = time.monotonic()
        reader.drain(3)
        link.change(stall=0)
        release = time.monotonic()
        reader.drain(2.5)
        end = time.monotonic()
    received = {frame.sequence for frame in reader.frames if frame.stream == source.stream and frame.kind == 0}
    amid = {sequence for sequence, sent in source.sent.items() if begin + 1 < sent < begin + 2}
    after = {sequence for sequence, sent in source.sent.items() if release + 1 < sent < end - 1}
    assert amid and after
    assert not received & amid, f"{len(received & amid)} of {len(amid)} frames that nobody needs any more"
    assert after <= received, f"{len(after - received)} of {len(after)} live frames did not come"
