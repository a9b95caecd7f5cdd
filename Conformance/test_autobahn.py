"""Autobahn's WebSocket suite over HTTP/1.1 and over HTTP/2 (see autobahn.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import autobahn
import pytest
from support.relay import Relay


@pytest.fixture(scope="module")
def echo_relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay("autobahn", arguments=("--echo", "--echo-message-bytes-max", str(16 << 20)))


@pytest.mark.slow
@pytest.mark.timeout(autobahn.SECONDS_MAX + 60)
@pytest.mark.skipif(not autobahn.is_available(), reason="Autobahn's suite needs CPython 2.7, and Deploy/python-environment found none")
@pytest.mark.parametrize("section", autobahn.SECTIONS)
@pytest.mark.parametrize("http", ["1.1", "2"])
def test_autobahn(echo_relay: Relay, tmp_path: Path, http: str, section: str) -> None:
    report = autobahn.run(tmp_path, echo_relay.port, echo_relay.authority, echo_relay.identity, http, [section])
    autobahn.print_table(report)
    assert not autobahn.faults(report, [section])
    echo_relay.assert_healthy()
