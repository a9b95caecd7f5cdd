"""`segue pair` as people and scripts use it, in development mode: both ways to a pair, media in its room, and its end."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.relay import Relay, binary

SECONDS_MAX = 20


@pytest.fixture(scope="module")
def pair_relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay("pair-commands")


def command(relay: Relay, *words: str) -> list[str]:
    return [str(binary()), *words, "--connect", f"localhost:{relay.port}", "--state", str(relay.state)]


def start(relay: Relay, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(relay, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(relay: Relay, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(relay, *words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    output, errors = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, errors
    return output, errors


def pairs(relay: Relay, name: str) -> list[dict]:
    done = run(relay, "pair", "list", "--json", "--as", name)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["pairs"]


def test_code_and_enter(pair_relay: Relay) -> None:
    shower = start(pair_relay, "pair", "code")
    code = shower.stdout.readline().strip()
    entered = run(pair_relay, "pair", "enter", *code.lower().split("-"))
    assert entered.returncode == 0, entered.stderr
    shown, _ = finish(shower)
    pair = pairs(pair_relay, "alice")[0]
    assert pair["peer"]["name"] == "urn:segue:client:bob"
    for text, peer in ((shown, "bob"), (entered.stdout, "alice")):
        assert f"paired with urn:segue:client:{peer}, by code" in text and pair["room"] in text
    assert pair["peer"]["fingerprint"] in shown.split("their fingerprint")[1].split("yours")[0]
    revoked = run(pair_relay, "pair", "revoke", "urn:segue:client:bob")
    assert revoked.returncode == 0, revoked.stderr
    assert pairs(pair_relay, "bob") == []


def test_request_and_accept_then_media(pair_relay: Relay, tmp_path: Path) -> None:
    accepter = start(pair_relay, "pair", "accept", "--from", "urn:segue:client:alice", "--for", str(SECONDS_MAX))
    assert "waiting" in accepter.stderr.readline()
    asked = run(pair_relay, "pair", "request", "urn:segue:client:bob")
    assert asked.returncode == 0, asked.stderr
    assert "paired with urn:segue:client:alice, by grant" in finish(accepter)[0]
    pair = pairs(pair_relay, "bob")[0]
    tone = tmp_path / "tone.opus"
    subprocess.run(
        ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=1", "-c:a", "libopus", str(tone)],
        check=True,
        timeout=SECONDS_MAX,
    )
    listener = start(pair_relay, "listen", "--room", pair["room"], "--until-end", "--json", "--for", str(SECONDS_MAX))
    while '"listening"' not in listener.stdout.readline():
        assert listener.poll() is None
    published = run(pair_relay, "publish", "--room", pair["room"], "--json", str(tone))
    assert published.returncode == 0, published.stderr
    heard = json.loads(finish(listener)[0].splitlines()[-1])
    assert heard["streams"][0]["frames"] == json.loads(published.stdout)["streams"][0]["frames"] > 40
    assert run(pair_relay, "pair", "revoke", pair["pair"], "--as", "bob").returncode == 0
    refused = run(pair_relay, "publish", "--room", pair["room"], str(tone))
    assert refused.returncode != 0 and "not_allowed" in refused.stderr


def test_what_goes_wrong_is_said(pair_relay: Relay) -> None:
    for words, status, said in (
        (("pair", "enter", "22222222"), 5, "pair_code"),
        (("pair", "request", "urn:segue:client:nobody"), 5, "peer_unavailable"),
        (("pair", "accept"), 2, "--from"),
        (("pair", "accept", "--from", "urn:segue:client:alice", "--for", "0.3"), 1, "nobody has asked"),
        (("pair", "revoke", "urn:segue:client:bob"), 1, "no pair"),
        (("pair",), 2, "command"),
    ):
        done = run(pair_relay, *words) if len(words) > 1 else subprocess.run([str(binary()), *words], capture_output=True, text=True, timeout=5)
        assert done.returncode == status and said in done.stderr, (words, done.returncode, done.stderr)


def test_declined_on_the_terminal(pair_relay: Relay) -> None:
    """Asked on a terminal, somebody who says anything but yes declines."""
    primary, secondary = pty.openpty()
    accepter = subprocess.Popen(command(pair_relay, "pair", "accept"), stdin=secondary, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(secondary)
    try:
        assert "waiting" in accepter.stderr.readline()
        asker = start(pair_relay, "pair", "request", "urn:segue:client:bob")
        assert "asked" in asker.stderr.readline()
        time.sleep(0.3)
        os.write(primary, b"no\n")
        _, errors = asker.communicate(timeout=SECONDS_MAX)
        assert asker.returncode == 1 and "has declined" in errors
        second = start(pair_relay, "pair", "request", "urn:segue:client:bob")
        assert "asked" in second.stderr.readline()
        os.write(primary, b"yes\n")
        assert "paired with urn:segue:client:bob" in finish(second)[0]
        assert "paired with urn:segue:client:alice" in finish(accepter)[0]
    finally:
        os.close(primary)
        accepter.kill()
        accepter.wait()
    assert run(pair_relay, "pair", "revoke", "urn:segue:client:bob").returncode == 0
