"""`segue listen` and audio sessions at the command line: the documented scripts against `segue publish`, scripts without a session, what others are told of a call."""

from __future__ import annotations

import contextlib
import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.phone import ACTIVATE, INIT, SCRIPTS, Phone, playable
from support.relay import Relay, binary
from support.session import Session

SECONDS_MAX = 60
FLOWS = {"do": "expect", "media": "flowing", "for": "20s"}
NOTHING_UNEXPECTED = {"do": "expect", "unexpectedFramesMax": 0}


@pytest.fixture(scope="module")
def shared_relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay("scripts", loops=2)


@pytest.fixture
def relay(shared_relay: Relay) -> Iterator[Relay]:
    yield shared_relay
    shared_relay.assert_healthy()


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """As the README makes them: speech of some seconds, and a picture with a key frame every two."""
    folder = tmp_path_factory.mktemp("media")
    speech, clip = folder / "speech.opus", folder / "clip.mp4"
    sound = ("-f", "lavfi", "-i", "sine=duration=3", "-c:a", "libopus", str(speech))
    picture = ("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-t", "10", "-c:v", "libx264", "-g", "50", "-pix_fmt", "yuv420p", str(clip))
    for arguments in (sound, picture):
        subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *arguments], check=True, timeout=60)
    return [speech, clip]


def client(relay: Relay, command: str, identity: str, *arguments: str | Path) -> list[str]:
    words = [binary(), *command.split(), *arguments, "--as", identity, "--state", relay.state, "--connect", f"127.0.0.1:{relay.port}"]
    return [str(word) for word in words]


@contextlib.contextmanager
def published(relay: Relay, media: list[Path]) -> Iterator[tuple[str, Session]]:
    """A room in which `segue publish --loop 100` plays, and somebody who is told of everything."""
    room = f"script-{uuid.uuid4().hex[:8]}"
    with Session(relay) as watcher:
        watcher.ask("join", room=room)
        publisher = subprocess.Popen(
            client(relay, "publish", "alice", "--room", room, "--loop", "100", *media), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            for kind in ("audio", "video"):
                watcher.event("stream.published", kind=kind)
            yield room, watcher
            assert publisher.poll() is None
        finally:
            publisher.kill()
            publisher.wait(SECONDS_MAX)


# The documented scripts


def test_every_documented_script_is_played_here() -> None:
    assert {path.name for path in SCRIPTS.glob("*.json5")} == {f"{name}.json5" for name in (*ALONE, "hand-off-phone", "hand-off-tablet")}


ALONE = ["call", "missing-end", "pulled-headset"]


@pytest.mark.parametrize("name", ALONE)
def test_a_documented_script_against_what_publish_sends(relay: Relay, media: list[Path], tmp_path: Path, name: str) -> None:
    with published(relay, media) as (room, _), Phone(relay, room, playable(SCRIPTS / f"{name}.json5", tmp_path)) as phone:
        phone.finish()
        assert all("ageMilliseconds" in line["media"] for line in phone.all("media.started") if line["media"]["kind"] == "audio")


def test_the_documented_hand_off_against_what_publish_sends(relay: Relay, media: list[Path], tmp_path: Path) -> None:
    with published(relay, media) as (room, _), Phone(relay, room, playable(SCRIPTS / "hand-off-phone.json5", tmp_path)) as phone:
        phone.wait_step("expect")
        with Phone(relay, room, playable(SCRIPTS / "hand-off-tablet.json5", tmp_path), device="tablet") as tablet:
            tablet.finish()
        phone.finish()


# What a script may expect


@pytest.mark.parametrize(
    "refused", [{**ACTIVATE}, {"do": "playback.pause"}, {"do": "stream.pause", "stream": "video"}], ids=lambda step: step["do"]
)
def test_without_an_audio_session_everything_may_come(relay: Relay, media: list[Path], refused: dict) -> None:
    steps = [FLOWS, {**refused, "refused": "session_lost"}, FLOWS, {"do": "stay", "for": "500ms"}, NOTHING_UNEXPECTED]
    with published(relay, media) as (room, _), Phone(relay, room, steps) as phone:
        phone.finish()
        assert not phone.all("media.stopped") and not phone.all("media.unexpected")


def test_one_stream_that_is_paused_leaves_the_others(relay: Relay, media: list[Path]) -> None:
    steps = [INIT, ACTIVATE, FLOWS, {"do": "stream.pause", "stream": "video"}, {"do": "stay", "for": "300ms"}]
    steps += [FLOWS, {"do": "stream.pause", "stream": "audio"}, {"do": "expect", "media": "none", "for": "1s"}, NOTHING_UNEXPECTED]
    steps += [{"do": "stream.start", "stream": "audio"}, FLOWS, NOTHING_UNEXPECTED]
    with published(relay, media) as (room, _), Phone(relay, room, steps) as phone:
        phone.finish()


# What others see of a call


CALL = [INIT, ACTIVATE, {"do": "publish"}, FLOWS, {"do": "interruption.began", "reason": "default"}]
HANDSET = {"inputs": [{"type": "builtInMic"}], "outputs": [{"type": "builtInReceiver"}]}


def test_listen_and_room_show_tell_who_is_held(relay: Relay, media: list[Path]) -> None:
    route = {"do": "route.changed", "reason": 4, "route": HANDSET}
    over = {"do": "wait", "event": "participant.joined", "timeout": "60s"}
    steps = [*CALL[:4], route, CALL[4], over, over, {"do": "interruption.ended", "shouldResume": True}, FLOWS]
    with published(relay, media) as (room, watcher), contextlib.ExitStack() as stack:
        listeners = [
            stack.enter_context(
                subprocess.Popen(client(relay, "listen", "operator", "--room", room, "--for", "60", *more), stdout=subprocess.PIPE, text=True)
            )
            for more in ((), ("--json",))
        ]
        for listener in listeners:
            stack.callback(listener.kill)
            assert any("listening" in line for line in iter(listener.stdout.readline, ""))
        phone = stack.enter_context(Phone(relay, room, steps))
        number = watcher.event("participant.held", held=True)["participant"]
        shown = subprocess.run(client(relay, "room show", "operator", room), capture_output=True, text=True, timeout=SECONDS_MAX, check=True).stdout
        row = next(line.split() for line in shown.splitlines() if line.split()[:1] == [str(number)])
        assert row[shown.splitlines()[1].split().index("AUDIO")] == "interrupted,held", shown
        # Who comes in the middle of it is told as well.
        late = stack.enter_context(
            subprocess.Popen(client(relay, "listen", "operator", "--room", room, "--for", "60", "--json"), stdout=subprocess.PIPE, text=True)
        )
        stack.callback(late.kill)
        watcher.event("participant.held", held=False)
        texts, lines, later = (until(listener, "held no more", '"held":"false"') for listener in (*listeners, late))
        phone.finish()
    said = [line.split(" ", 1)[1] for line in texts if line.startswith("bob ") and not line.startswith("bob publishes")]
    assert said == [
        *("came", "has an audio session: playAndRecord", "hears through builtInReceiver, talks through builtInMic"),
        *("is interrupted (default)", "is held: nothing goes to it or comes from it", "is interrupted no more", "is held no more"),
    ]
    for told, route_count, reason in ((lines, 1, {"reason": "default"}), (later, 0, {})):
        events = [json.loads(line) for line in told]
        states = [{name: event[name] for name in ("interrupted", "reason", "held") if name in event} for event in events if event["event"] in ("interrupted", "held")]
        assert states == [{"interrupted": "true", **reason}, {"held": "true"}, {"interrupted": "false"}, {"held": "false"}], states
        routes = [(event["participant"], event["inputs"], event["outputs"]) for event in events if event["event"] == "route"]
        assert routes == [("bob", "builtInMic", "builtInReceiver")] * route_count


def until(listener: subprocess.Popen, *ends: str) -> list[str]:
    """What it prints, to the first line with one of these."""
    lines: list[str] = []
    while not lines or not any(end in lines[-1] for end in ends):
        lines.append(listener.stdout.readline())
        assert lines[-1], lines
    return [line.rstrip("\n") for line in lines]
