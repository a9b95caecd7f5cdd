"""HTTP/2 conformance of the relay, case by case (see h2_conformance.py)."""

from __future__ import annotations

import h2_cases
import pytest
from h2_conformance import KNOWN_OF_NGHTTP2, run_case
from support.relay import Relay


@pytest.mark.parametrize("case", h2_cases.load(), ids=lambda case: case.name)
def test_http2(case: h2_cases.Case, module_relay: Relay) -> None:
    try:
        run_case(case, module_relay.port, module_relay.context(alpn=("h2",)), path="/healthz", patience=5.0)
    except AssertionError as fault:
        if case.name in KNOWN_OF_NGHTTP2:
            pytest.xfail(f"{KNOWN_OF_NGHTTP2[case.name]} ({fault})")
        raise
    assert module_relay.process.poll() is None, "the relay died"


def test_every_known_failure_names_a_case() -> None:
    """A name that no case has any more would hide nothing and mislead the reader."""
    assert set(KNOWN_OF_NGHTTP2) <= {case.name for case in h2_cases.load()}


def test_case_names_are_unique() -> None:
    names = [case.name for case in h2_cases.load()]
    assert len(names) == len(set(names))


def test_well_behaved_client_after_all_cases(relay: Relay) -> None:
    """Whatever the cases did, a new client is served."""
    relay.assert_healthy()
