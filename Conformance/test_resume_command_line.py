"""`segue publish` and `segue listen` over connections that are lost: they come back, and what is saved is what was sent."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.breakable import Breakable
from support.metrics import measure, settled
from support.relay import Relay, binary
from support.resuming import resumptions
from support.session import CONFIGURATION, KEY, Session
from support.waiting import wait_until

SECONDS = 8
DISCONTINUITY = 0x04


@pytest.fixture(scope="module")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("media") / "tone.opus"
    subprocess.run(
        ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", f"sine=duration={SECONDS}", "-c:a", "libopus", str(path)], check=True, timeout=60
    )
    return path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key frame a second, 25 frames a second."""
    path = tmp_path_factory.mktemp("media") / "clip.ivf"
    source = ("-f", "lavfi", "-i", f"testsrc=duration={SECONDS}:size=160x120:rate=25")
    codec = ("-c:v", "libvpx", "-g", "25", "-keyint_min", "25", "-b:v", "100k", "-deadline", "realtime")
    subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *source, *codec, str(path)], check=True, timeout=60)
    return path


@pytest.fixture(scope="module")
def loops_relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay("lossy", loops=4)


def start(relay: Relay, *arguments: object) -> subprocess.Popen:
    command = [str(binary()), *map(str, arguments), "--state", str(relay.state), "--connect", f"127.0.0.1:{relay.port}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen, seconds: float = 60) -> tuple[int, list[dict], str]:
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def wait_for_media(relay: Relay) -> Callable[[], None]:
    """Waits from where it is called, when what it answers is."""
    before = settled(relay, "segue_frames_total", "delivered")
    return lambda: wait_until("media flows", lambda: measure(relay, "segue_frames_total", "delivered") > before + 50, 30)


def lose(relay: Relay, proxy: Breakable) -> None:
    """The last connection through the proxy, until its client is back."""
    resumed = resumptions(relay)
    proxy.last.reset()
    wait_until("it is back", lambda: resumptions(relay) > resumed, 30)


@pytest.mark.parametrize("http", ["1.1", "2"])
def test_both_ends_lose_their_connections_again_and_again(loops_relay: Relay, tone: Path, tmp_path: Path, http: str) -> None:
    with Breakable(loops_relay) as here, Breakable(loops_relay) as there:
        room, media_flows = f"lossy-{http}", wait_for_media(loops_relay)
        listener = start(there.relay, "listen", "--room", room, "--save", tmp_path, "--until-end", "--json", "--http", http)
        publisher = start(here.relay, "publish", "--room", room, "--wait-for-subscribers", 1, "--json", "--send-late", "--http", http, tone)
        media_flows()
        for turn in range(6):
            if publisher.poll() is not None:
                break
            lose(loops_relay, here if turn % 2 else there)
        code, sent, err = finish(publisher)
        assert code == 0, err
        listened, heard, err = finish(listener)
        assert listened == 0, err
    summary, stream = sent[-1], heard[-1]["streams"][0]
    assert summary["resumptions"] >= 2
    assert [event["event"] for event in heard].count("resumed") >= 2
    assert "left" not in [event["event"] for event in heard if event.get("reason") != "left"]
    frames = summary["streams"][0]["frames"]
    gaps = sum(int(event["frames"]) for event in heard if event["event"] == "gap")
    # Every frame came once, or is in a gap that was told.
    assert stream["reorderedFrames"] == 0
    assert stream["frames"] + stream["missingFrames"] == frames
    assert stream["missingFrames"] == gaps
    print(f"{frames} frames, {gaps} in gaps, {summary['framesRepeated']} sent again")


def test_a_publishers_loss_costs_its_listeners_nothing(loops_relay: Relay, tone: Path, tmp_path: Path) -> None:
    with Breakable(loops_relay) as here:
        media_flows = wait_for_media(loops_relay)
        listener = start(loops_relay, "listen", "--room", "unbroken", "--save", tmp_path, "--until-end", "--json")
        publisher = start(here.relay, "publish", "--room", "unbroken", "--wait-for-subscribers", 1, "--json", "--send-late", tone)
        media_flows()
        for _ in range(3):
            lose(loops_relay, here)
        code, sent, err = finish(publisher)
        assert code == 0, err
        _, heard, _ = finish(listener)
    stream = heard[-1]["streams"][0]
    assert sent[-1]["resumptions"] == 3
    assert stream["frames"] == sent[-1]["streams"][0]["frames"] and stream["missingFrames"] == 0 and stream["reorderedFrames"] == 0


@pytest.mark.parametrize("kind", ["audio", "video"])
def test_an_outage_is_not_made_good_in_a_burst(loops_relay: Relay, tone: Path, clip: Path, kind: str) -> None:
    """What has become too late while nobody got through is left out (of video up to the next key frame), said so, and what comes then is live."""
    room = f"outage-{kind}"
    with Session(loops_relay) as listener, Breakable(loops_relay) as here:
        listener.ask("join", room=room)
        listener.ask("subscribe", all=True)
        media = tone if kind == "audio" else clip
        publisher = start(here.relay, "publish", "--room", room, "--wait-for-subscribers", 1, "--loop", 10, "--json", media)
        stream = listener.event("stream.published")["stream"]
        listener.wait("a first frame", lambda: listener.payloads(stream) or None)
        listener.drain(1.5)
        here.shut_out()
        here.last.reset()
        listener.drain(3)
        before = len(listener.payloads(stream))
        here.let_in()
        # Within one turn of the listener's clock after the first frame, nothing but what is due.
        listener.wait("a frame after the outage", lambda: len(listener.payloads(stream)) > before or None)
        first = time.monotonic()
        counts = []
        while time.monotonic() - first < 1:
            listener.drain(0.1)
            counts.append(len(listener.payloads(stream)) - before)
        publisher.send_signal(signal.SIGINT)
        code, sent, err = finish(publisher)
        assert code == 0, err
        listener.drain(0.5)
    (summary,) = sent
    own = summary["streams"][0]
    frames = [frame for frame in listener.frames if frame.stream == stream and frame.kind != CONFIGURATION]
    # 50 frames of audio a second, 25 of video: without the skip, three seconds' worth would come at once.
    per_second = 50 if kind == "audio" else 25
    assert counts[1] < 2 * per_second, counts
    assert own["framesSkipped"] > 1.5 * per_second
    assert len(frames) == own["frames"]
    sequences = [frame.sequence for frame in frames]
    jumps = [(one, other) for one, other in zip(sequences, sequences[1:], strict=False) if other != one + 1]
    assert sum(other - one - 1 for one, other in jumps) == own["framesSkipped"]
    # Of the frame behind the gap it is said that what came before does not lead there, and of video it is a key frame.
    for _, sequence in jumps:
        flags = next(frame.flags for frame in frames if frame.sequence == sequence)
        assert flags & DISCONTINUITY and (kind == "audio" or flags & KEY)
    print(f"{own['framesSkipped']} frames left out, {counts[0]} within 100 ms of the comeback")


def test_no_resume_ends_with_the_connection(loops_relay: Relay, tmp_path: Path) -> None:
    with Session(loops_relay) as witness, Breakable(loops_relay) as there:
        witness.ask("join", room="once")
        listener = start(there.relay, "listen", "--room", "once", "--no-resume", "--json")
        witness.event("participant.joined")
        there.last.reset()
        code, heard, err = finish(listener, 15)
        assert code == 5 and "lost" in err
        assert "lost" not in [event["event"] for event in heard]
