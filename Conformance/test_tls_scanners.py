"""testssl.sh and sslscan find no weak protocol, cipher or known flaw (see tls_scan.py)."""

from __future__ import annotations

import pytest
import tls_scan
from support.relay import Relay


def assert_clean(findings: list[tls_scan.Finding]) -> None:
    assert len(findings) > 10, f"hardly anything was looked at: {findings}"
    faults = [f"{finding.name}: {finding.verdict}" for finding in findings if finding.fault]
    assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.timeout(tls_scan.SECONDS_MAX + 20)
def test_testssl(open_relay: Relay) -> None:
    assert_clean(tls_scan.testssl(open_relay.port))


@pytest.mark.slow
@pytest.mark.timeout(tls_scan.SECONDS_MAX + 20)
def test_sslscan(open_relay: Relay) -> None:
    assert_clean(tls_scan.sslscan(open_relay.port))
