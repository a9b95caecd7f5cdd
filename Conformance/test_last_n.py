"""`subscribe` with `lastN`: the video of those who spoke last, and every screen; what is given begins with its configuration and a key frame."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from support.relay import Identity, Relay
from support.session import AUDIO, CONFIGURATION, KEY, VIDEO, Session, frame_message
from test_rooms import ROUTES
from test_speakers import QUIET, Setting, authority, people, relays  # noqa: F401

PICTURE = 0.04
ROOMS = itertools.count()


@dataclass
class Camera:
    """A participant with a microphone and a camera: its picture is a key frame when it was asked for one, and otherwise not."""

    session: Session
    video: int
    audio: int
    level: int = QUIET
    sequence: int = 0
    needs_key: bool = True
    wanted: list[dict] = field(default_factory=list)

    def send(self) -> None:
        self.session.drain(0.001)
        for event in self.session.events:
            self.needs_key |= event["type"] == "keyframe.requested" and event["stream"] == self.video
            if event["type"] == "layers.wanted" and event["stream"] == self.video:
                self.wanted.append(event)
        self.session.events.clear()
        flags, self.needs_key = KEY if self.needs_key else 0, False
        self.session.transport.send(frame_message(VIDEO, self.video, self.sequence, b"picture %d" % self.sequence, flags=flags))
        for _ in range(2):
            self.session.transport.send(frame_message(AUDIO, self.audio, self.sequence, b"voice", level=self.level))
        self.sequence += 1


def camera(setting: Setting, name: str, source: str = "camera") -> Camera:
    session = setting.join(name)
    video = session.ask("publish", kind="video", codec="vp8", source=source)["stream"]
    session.configure(video, b"configuration of %d" % video)
    audio = session.publish("audio")
    return Camera(session, video, audio)


def play(cameras: list[Camera], listener: Session, until: Callable[[], bool], seconds: float = 20) -> None:
    start = time.monotonic()
    for number in itertools.count(1):
        for one in cameras:
            one.send()
        listener.drain(max(start + number * PICTURE - time.monotonic(), 0.001))
        if until():
            return
        assert time.monotonic() - start < seconds, f"{listener.events[-6:]}"


def play_for(cameras: list[Camera], listener: Session, seconds: float) -> None:
    end = time.monotonic() + seconds
    play(cameras, listener, lambda: time.monotonic() >= end, seconds + 20)


def forwarded(listener: Session) -> list[int] | None:
    lists = [event["streams"] for event in listener.events if event["type"] == "stream.forwarded"]
    return lists[-1] if lists else None


def pictures(listener: Session) -> set[int]:
    return {frame.stream for frame in listener.frames if frame.kind == VIDEO}


def flows(listener: Session, stream: int) -> Callable[[], bool]:
    return lambda: stream in pictures(listener)


def assert_begins_well(listener: Session, stream: int) -> None:
    """Of the frames that are there: the configuration, then a key frame, then every picture after it."""
    frames = [frame for frame in listener.frames if frame.stream == stream]
    assert [frame.kind for frame in frames[:2]] == [CONFIGURATION, VIDEO], frames[:3]
    assert frames[0].payload == b"configuration of %d" % stream and frames[1].flags & KEY
    numbers = [frame.sequence for frame in frames if frame.kind == VIDEO]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.fixture(params=ROUTES, ids=lambda route: f"HTTP {route[0]}, {route[1]} loops")
def setting(request: pytest.FixtureRequest, relays: Callable[[int], Relay], people: dict[str, Identity]) -> Iterator[Setting]:  # noqa: F811
    http, loops = request.param
    setting = Setting(relays(loops), people, http, f"last-n-{next(ROOMS)}")
    yield setting
    for session in setting.sessions:
        session.close()
    setting.relay.assert_healthy()
    assert setting.counter("segue_frames_unaccounted") == 0


def test_only_the_last_speakers_video_comes(setting: Setting) -> None:
    cameras = [camera(setting, name) for name in ("ann", "bob", "cid")]
    ann, bob, cid = cameras
    listener = setting.join("host")
    subscribed = listener.ask("subscribe", all=True, lastN=1)["subscribed"]
    assert set(subscribed) == {stream for one in cameras for stream in (one.video, one.audio)}
    # Nobody has spoken: who published first. It is said before any media.
    listener.wait("stream.forwarded", lambda: forwarded(listener))
    assert forwarded(listener) == [ann.video] and pictures(listener) == set()
    play(cameras, listener, flows(listener, ann.video))
    assert_begins_well(listener, ann.video)
    cid.level = 20
    play(cameras, listener, lambda: forwarded(listener) == [cid.video] and cid.video in pictures(listener))
    assert_begins_well(listener, cid.video)
    # The publishers hear what is wanted, and from here on nothing else comes; sound comes from all.
    # Before the first of these events, everything is wanted (protocol §5.6).
    play(cameras, listener, lambda: ann.wanted[-1:] != [] and ann.wanted[-1]["layers"] == [])
    assert not cid.wanted or cid.wanted[-1]["layers"] != []
    listener.frames.clear()
    play_for(cameras, listener, 0.5)
    assert pictures(listener) == {cid.video}
    assert {frame.stream for frame in listener.frames if frame.kind == AUDIO} == {one.audio for one in cameras}
    # Who fell silent stays until somebody else speaks.
    cid.level = QUIET
    play_for(cameras, listener, 1.5)
    assert forwarded(listener) == [cid.video]
    ann.level = 20
    listener.frames.clear()
    play(cameras, listener, lambda: forwarded(listener) == [ann.video] and ann.video in pictures(listener))
    assert_begins_well(listener, ann.video)
    assert bob.video not in pictures(listener)


def test_the_last_two_and_every_screen(setting: Setting) -> None:
    cameras = [camera(setting, name) for name in ("ann", "bob", "cid")]
    screen = camera(setting, "dan", source="screen")
    everybody = [*cameras, screen]
    listener = setting.join("host")
    listener.ask("subscribe", all=True, lastN=2)
    listener.wait("stream.forwarded", lambda: forwarded(listener))
    assert forwarded(listener) == sorted([cameras[0].video, cameras[1].video, screen.video])
    cameras[2].level = 20
    play(everybody, listener, lambda: forwarded(listener) == sorted([cameras[0].video, cameras[2].video, screen.video]))
    cameras[1].level = 10
    play(everybody, listener, lambda: forwarded(listener) == sorted([cameras[1].video, cameras[2].video, screen.video]))
    listener.frames.clear()
    play_for(everybody, listener, 0.6)
    assert screen.video in pictures(listener) and cameras[0].video not in pictures(listener)


def test_places_follow_who_comes_and_who_goes(setting: Setting) -> None:
    listener = setting.join("host")
    listener.ask("subscribe", all=True, lastN=1)
    listener.wait("stream.forwarded", lambda: forwarded(listener))
    assert forwarded(listener) == []
    ann = camera(setting, "ann")
    play([ann], listener, lambda: forwarded(listener) == [ann.video] and ann.video in pictures(listener))
    bob = camera(setting, "bob")
    play_for([ann, bob], listener, 0.5)
    assert forwarded(listener) == [ann.video] and bob.video not in pictures(listener)
    ann.session.ask("unpublish", stream=ann.video)
    play([bob], listener, lambda: forwarded(listener) == [bob.video] and bob.video in pictures(listener))
    assert_begins_well(listener, bob.video)


def test_a_stream_that_is_named_comes_whoever_speaks_and_all_without_last_n_gives_all(setting: Setting) -> None:
    cameras = [camera(setting, name) for name in ("ann", "bob", "cid")]
    listener = setting.join("host")
    listener.ask("subscribe", all=True, lastN=1)
    listener.wait("stream.forwarded", lambda: forwarded(listener))
    listener.ask("subscribe", streams=[cameras[1].video])
    play(cameras, listener, lambda: pictures(listener) == {cameras[0].video, cameras[1].video})
    assert forwarded(listener) == [cameras[0].video, cameras[1].video]
    listener.ask("subscribe", all=True)
    play(cameras, listener, lambda: pictures(listener) == {one.video for one in cameras})


def test_who_comes_back_is_told_what_is_forwarded(setting: Setting) -> None:
    cameras = [camera(setting, name) for name in ("ann", "bob")]
    listener = setting.join("host")
    listener.ask("subscribe", all=True, lastN=1)
    play(cameras, listener, flows(listener, cameras[0].video))
    again = Session(setting.relay, setting.people["host"], http=setting.http, hello={"resume": {"token": listener.welcome["resumeToken"]}})
    setting.sessions.append(again)
    again.last_id += 1000
    again.wait("stream.forwarded", lambda: forwarded(again))
    assert forwarded(again) == [cameras[0].video]
    cameras[1].level = 20
    play(cameras, again, lambda: forwarded(again) == [cameras[1].video] and cameras[1].video in pictures(again))


@pytest.mark.hostile
@pytest.mark.parametrize("members", [{"all": True, "lastN": 0}, {"all": True, "lastN": 65}, {"streams": [1], "lastN": 2}, {"sources": ["camera"], "lastN": 2}])
def test_last_n_is_of_all_and_from_1_to_64(setting: Setting, members: dict) -> None:
    ann = camera(setting, "ann")
    listener = setting.join("host")
    assert ann.video and listener.refusal("subscribe", **members) == "bad_value"
