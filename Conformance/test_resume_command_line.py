"""`segue publish` and `segue listen` over connections that are lost: they come back, and what is saved is what was sent."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.breakable import Breakable
from support.relay import Relay, binary

SECONDS = 8


@pytest.fixture(scope="module")
def tone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("media") / "tone.opus"
    subprocess.run(
        ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", f"sine=duration={SECONDS}", "-c:a", "libopus", str(path)], check=True, timeout=60
    )
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


@pytest.mark.parametrize("http", ["1.1", "2"])
def test_both_ends_lose_their_connections_again_and_again(loops_relay: Relay, tone: Path, tmp_path: Path, http: str) -> None:
    with Breakable(loops_relay) as here, Breakable(loops_relay) as there:
        room = f"lossy-{http}"
        listener = start(there.relay, "listen", "--room", room, "--save", tmp_path, "--until-end", "--json", "--http", http)
        publisher = start(here.relay, "publish", "--room", room, "--wait-for-subscribers", 1, "--json", "--http", http, tone)
        time.sleep(4)
        for turn in range(6):
            (here if turn % 2 else there).last.reset()
            time.sleep(0.8)
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
        listener = start(loops_relay, "listen", "--room", "unbroken", "--save", tmp_path, "--until-end", "--json")
        publisher = start(here.relay, "publish", "--room", "unbroken", "--wait-for-subscribers", 1, "--json", tone)
        time.sleep(4)
        for _ in range(3):
            here.last.reset()
            time.sleep(1)
        code, sent, err = finish(publisher)
        assert code == 0, err
        _, heard, _ = finish(listener)
    stream = heard[-1]["streams"][0]
    assert sent[-1]["resumptions"] == 3
    assert stream["frames"] == sent[-1]["streams"][0]["frames"] and stream["missingFrames"] == 0 and stream["reorderedFrames"] == 0


def test_no_resume_ends_with_the_connection(loops_relay: Relay, tmp_path: Path) -> None:
    with Breakable(loops_relay) as there:
        listener = start(there.relay, "listen", "--room", "once", "--no-resume", "--json")
        time.sleep(3)
        there.last.reset()
        code, heard, err = finish(listener, 15)
        assert code == 5 and "lost" in err
        assert "lost" not in [event["event"] for event in heard]
