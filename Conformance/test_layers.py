"""Layers (protocol §3.6, §3.8, §5.6, §6.4): simulcast, bounds that subscribers set, what publishers are told, key frames across loops."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from support.relay import Relay
from support.session import CONFIGURATION, KEY, VIDEO, Session
from support.simulcast import SimulcastPublisher, assert_decodable, layer_of
from support.stopwatch import Stopwatch

ROOMS = itertools.count()


@dataclass
class Setting:
    relay: Relay
    http: str
    room: str
    sessions: list[Session] = field(default_factory=list)

    def join(self) -> Session:
        session = Session(self.relay, http=self.http)
        self.sessions.append(session)
        session.ask("join", room=self.room)
        return session


@pytest.fixture(scope="module", params=[("1.1", 1), ("1.1", 3), ("2", 3)], ids=lambda param: f"http{param[0]}-{param[1]}loops")
def relay_and_http(request: pytest.FixtureRequest, start_relay: Callable[..., Relay]) -> tuple[Relay, str]:
    http, loops = request.param
    return start_relay(f"layers-{loops}", loops=loops), http


@pytest.fixture
def setting(relay_and_http: tuple[Relay, str]) -> Iterator[Setting]:
    relay, http = relay_and_http
    setting = Setting(relay, http, f"layers-{next(ROOMS)}")
    yield setting
    for session in setting.sessions:
        session.close()
    relay.assert_healthy()


def video(session: Session) -> list[int]:
    """The spatial layers of the video frames that came, in order, repetitions left out."""
    return [layer for layer, _ in itertools.groupby(layer_of(frame) for frame in session.frames if frame.kind == VIDEO)]


def test_others_see_layers_and_priority(setting: Setting) -> None:
    early = setting.join()
    publisher = SimulcastPublisher(setting.join(), priority="high")
    event = early.event("stream.published", stream=publisher.stream)
    late = Session(setting.relay, http=setting.http)
    setting.sessions.append(late)
    listed = late.ask("join", room=setting.room)["streams"]
    for info in (event, *listed):
        assert info["priority"] == "high"
        assert [layer["width"] for layer in info["layers"]] == [320, 640, 1280]


@pytest.mark.hostile
@pytest.mark.parametrize(
    "members, member",
    [
        ({"layers": []}, "layers"),
        ({"layers": [{}] * 9}, "layers"),
        ({"layers": [{"temporalLayers": 0}]}, "layers[0].temporalLayers"),
        ({"layers": [{}, {"temporalLayers": 9}]}, "layers[1].temporalLayers"),
        ({"layers": [{"bitrate": 0}]}, "layers[0].bitrate"),
        ({"layers": [{"bitrate": 1e10}]}, "layers[0].bitrate"),
        ({"layers": [{"width": 0}]}, "layers[0].width"),
        ({"layers": [{"frameRate": 0}]}, "layers[0].frameRate"),
        ({"kind": "audio", "codec": "opus", "layers": [{}]}, "layers"),
    ],
)
def test_layers_that_cannot_be_are_refused(setting: Setting, members: dict, member: str) -> None:
    session = setting.join()
    request = {"kind": "video", "codec": "vp8", **members}
    number = session.send("publish", **request)
    answer = session.wait("answer", lambda: session.answers.get(number))
    assert answer["code"] == "bad_value" and member in answer["message"], answer


@pytest.mark.hostile
@pytest.mark.parametrize(
    "wish",
    [
        {"maxLayer": {"spatial": 8}},
        {"maxLayer": {"temporal": -1}},
        {"maxBitrate": 0},
        {"maxBitrate": 1e10},
        {"maxDelay": 0},
        {"maxDelay": 1e9},
        {"sources": []},
        {"sources": ["x" * 65]},
    ],
)
def test_wishes_that_cannot_be_are_refused(setting: Setting, wish: dict) -> None:
    session = setting.join()
    assert session.refusal("subscribe", **({} if "sources" in wish else {"all": True}), **wish) == "bad_value"


@pytest.mark.parametrize("layer", [0x80, 0xF0, 0x08, 0x0F])
def test_a_frame_of_a_layer_above_7_closes_1008(setting: Setting, layer: int) -> None:
    session = setting.join()
    stream = session.publish("video")
    session.send_message(bytes([0x11, KEY, layer, 0x7F]) + stream.to_bytes(4, "big") + bytes(8) + b"x")
    assert session.closed().code == 1008


def test_max_layer_and_its_change(setting: Setting) -> None:
    listener, publisher = setting.join(), SimulcastPublisher(setting.join())
    listener.ask("subscribe", streams=[publisher.stream], maxLayer={"spatial": 0})
    publisher.run(1.5, listener)
    assert video(listener) == [0]
    listener.ask("subscribe", streams=[publisher.stream], maxLayer={"spatial": 2})
    publisher.run(15, listener, until=lambda: video(listener)[-1] == 2)
    publisher.run(0.5, listener)
    listener.ask("subscribe", streams=[publisher.stream], maxLayer={"spatial": 1})
    publisher.run(5, listener, until=lambda: video(listener)[-1] == 1)
    publisher.run(1, listener)
    assert video(listener)[-1] == 1
    assert_decodable(listener.frames, publisher.stream)


def test_max_bitrate_bounds_the_layer(setting: Setting) -> None:
    listener, publisher = setting.join(), SimulcastPublisher(setting.join())
    # Until the relay has measured the layers, it does not know what they cost.
    other = setting.join()
    other.ask("subscribe", streams=[publisher.stream])
    publisher.run(3, other)
    listener.ask("subscribe", streams=[publisher.stream], maxBitrate=500_000)
    publisher.run(4, listener, other)
    listener.frames.clear()
    publisher.run(1, listener, other)
    assert video(listener) == [1]


def test_publisher_hears_what_is_wanted(setting: Setting) -> None:
    listener, publisher = setting.join(), SimulcastPublisher(setting.join())
    publisher.run(3, listener, until=lambda: publisher.wanted == {})
    assert publisher.wanted_told == [{}], "nobody wants anything yet"
    sent = list(publisher.sequences)
    publisher.run(0.5, listener)
    assert publisher.sequences == sent
    with Stopwatch() as watch:
        listener.ask("subscribe", streams=[publisher.stream], maxLayer={"spatial": 1})
        publisher.run(15, listener, until=lambda: bool(video(listener)))
    assert watch.own < 2, watch
    publisher.run(15, listener, until=lambda: publisher.wanted == {1: 0})
    assert 2 not in set().union(*publisher.wanted_told), "nobody ever wanted layer 2"
    listener.ask("unsubscribe", streams=[publisher.stream])
    let_go = time.monotonic()
    publisher.run(3, listener, until=lambda: publisher.wanted == {})
    assert time.monotonic() - let_go >= 0.4, "less is told when it has lasted a moment"
    assert_decodable(listener.frames, publisher.stream)


def test_two_listeners_of_different_layers(setting: Setting) -> None:
    publisher = SimulcastPublisher(setting.join())
    low, high = setting.join(), setting.join()
    low.ask("subscribe", streams=[publisher.stream], maxLayer={"spatial": 0})
    high.ask("subscribe", streams=[publisher.stream])
    publisher.run(15, low, high, until=lambda: bool(video(high)) and video(high)[-1] == 2 and publisher.wanted == {0: 0, 2: 0})
    assert video(low) == [0]
    low.ask("unsubscribe", streams=[publisher.stream])
    publisher.run(5, low, high, until=lambda: publisher.wanted == {2: 0})
    for listener in (low, high):
        assert_decodable(listener.frames, publisher.stream)


def test_late_joiner_gets_the_group_of_its_layer(setting: Setting) -> None:
    publisher = SimulcastPublisher(setting.join(), obeys=False)
    watcher = setting.join()
    watcher.ask("subscribe", streams=[publisher.stream])
    publisher.run(2, watcher)
    late = setting.join()
    asked = len(publisher.key_frames_requested)
    late.ask("subscribe", streams=[publisher.stream], maxLayer={"spatial": 0})
    publisher.run(3, late, watcher, until=lambda: len([frame for frame in late.frames if frame.kind == VIDEO]) > 60)
    first, second = late.frames[:2]
    assert (first.kind, first.payload) == (CONFIGURATION, b"configuration 0")
    assert second.flags & KEY and video(late) == [0]
    assert_decodable(late.frames, publisher.stream)
    assert 0 not in publisher.key_frames_requested[asked:] or setting.relay.state.name.find("layers-1") < 0


def test_sources_catch_streams_to_come(setting: Setting) -> None:
    listener = setting.join()
    assert listener.ask("subscribe", sources=["camera"], maxLayer={"spatial": 0})["subscribed"] == []
    publisher = SimulcastPublisher(setting.join())
    screen = publisher.session.ask("publish", kind="data", codec="x", source="screen")["stream"]
    publisher.session.configure(screen)
    publisher.session.media("data", screen, b"not for the listener")
    publisher.run(1, listener)
    assert video(listener) == [0]
    assert {frame.stream for frame in listener.frames} == {publisher.stream}


def test_joiners_on_all_loops_cost_few_key_frames(setting: Setting) -> None:
    """200 come within a second: the publisher is asked twice at most."""
    publisher = SimulcastPublisher(setting.join(), obeys=False)
    joiners = [setting.join() for _ in range(8)]
    publisher.run(0.3)
    publisher.needs_key = set()
    publisher.key_frames_requested.clear()
    start = time.monotonic()
    for _ in range(25):
        for joiner in joiners:
            joiner.send("subscribe", streams=[publisher.stream], maxLayer={"spatial": 0})
            joiner.send("unsubscribe", streams=[publisher.stream])
        publisher.step()
        time.sleep(max(0, 0.01))
    seconds = time.monotonic() - start
    for joiner in joiners:
        joiner.barrier()
    publisher.run(0.2)
    assert len(publisher.key_frames_requested) <= 2 * max(1, round(seconds)), publisher.key_frames_requested
