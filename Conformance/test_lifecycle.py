"""How a relay begins and ends beside others."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from support.relay import Relay, binary
from test_hostile_sessions import Session


@pytest.mark.parametrize("loops", [1, 2])
def test_a_taken_port_is_told(start_relay, tmp_path, loops: int) -> None:
    """With several loops the listeners share their port, and another relay's would join them unseen."""
    first: Relay = start_relay(f"first-{loops}", loops=2)
    address = f"127.0.0.1:{first.port}"
    command = [str(binary()), "serve", "--state", str(tmp_path), "--loops", str(loops), "--listen", address]
    second = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1, second
    assert f"cannot listen on {address}" in second.stdout + second.stderr
    first.assert_healthy()


@pytest.mark.parametrize("loops", [1, 4])
def test_requests_are_answered_while_the_relay_drains(start_relay, monkeypatch, loops: int) -> None:
    """A loop without sessions of its own may be home to rooms whose members are elsewhere: it stays as long as any session does."""
    monkeypatch.setenv("SEGUE_DRAIN_MILLISECONDS", "20000")
    relay: Relay = start_relay(f"drain-{loops}", loops=loops)
    sessions = [Session(relay, f"room-{number}") for number in range(4)]
    relay.process.send_signal(signal.SIGTERM)
    # Longer than a turn of the loops' housekeeping.
    time.sleep(1.5)
    for number, session in enumerate(sessions):
        answer = session.request({"type": "publish", "id": 10 + number, "kind": "audio", "codec": "opus"})
        assert answer["type"] == "ok", answer
    for session in sessions:
        session.ws.socket.close()
    assert relay.process.wait(timeout=30) == 0
