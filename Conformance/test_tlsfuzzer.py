"""tlsfuzzer's scripts about client certificates. They are in no package registry: TLSFUZZER_HOME names a checkout of github.com/tlsfuzzer/tlsfuzzer (tried with
commit 14555fe of January 2026); without it these tests are left out. What the scripts need besides is tlslite-ng, which the benches' environment has.

Not here, because these scripts offer nothing but suites with CBC in TLS 1.2, none of which the relay speaks, so that all of their conversations end with
handshake_failure: test-certificate-verify-malformed-sig, test-rsa-sigs-on-certificate-verify, test-rsa-pss-sigs-on-certificate-verify,
test-ecdsa-in-certificate-verify, test-eddsa-in-certificate-verify, test-dsa-in-certificate-verify. The scripts about certificate compression (RFC 8879) want a server that has it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.authority import Authority
from support.relay import Identity, Relay

CHECKOUT = os.environ.get("TLSFUZZER_HOME")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHECKOUT, reason="TLSFUZZER_HOME names no checkout of tlsfuzzer"),
]

SUITE = ("-d", "-C", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
# In the relay's order (TLSContext.signatureAlgorithms).
SIGNATURES = (
    "ecdsa_secp256r1_sha256 ed25519 ecdsa_secp384r1_sha384 ecdsa_secp521r1_sha512 rsa_pss_rsae_sha256 rsa_pss_rsae_sha384 rsa_pss_rsae_sha512 "
    "rsa_pss_pss_sha256 rsa_pss_pss_sha384 rsa_pss_pss_sha512 rsa_pkcs1_sha256 rsa_pkcs1_sha384 rsa_pkcs1_sha512"
)


@dataclass
class Setting:
    relay: Relay
    rsa: Identity
    ecdsa: Identity


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Setting:
    # The scripts for RSA offer no other signatures, and those count for the whole chain.
    authority = Authority.create(tmp_path_factory.mktemp("tlsfuzzer") / "ca", key_type=("rsa:2048",))
    pairs = [{"chain": str(pair.certificate), "key": str(pair.key)} for pair in (authority.issue_rsa_server(), authority.issue_server())]
    rsa, ecdsa = authority.issue("client-rsa", key_type=("rsa:2048",)), authority.issue("client-ecdsa")
    config = authority.configuration(rsa, certificates=pairs, clientCertificates="optional")
    return Setting(start_relay("tlsfuzzer", config=config, authority=authority.certificate, identity=rsa), rsa, ecdsa)


# (script, kind of key, arguments, conversations at least). The one left out takes certificate_authorities (RFC 8446 §4.2.4) in the request for a fault.
SCRIPTS = (
    ("test-certificate-malformed", "rsa", (*SUITE, "-n", "150"), 100),
    ("test-certificate-request", "rsa", (*SUITE, "-s", SIGNATURES), 5),
    ("test-certificate-verify", "rsa", SUITE, 5),
    ("test-certificate-verify-malformed", "rsa", SUITE, 260),
    ("test-tls13-certificate-request", "rsa", ("-s", SIGNATURES, "-e", "verify extensions in CertificateRequest"), 4),
    ("test-tls13-certificate-verify", "rsa", ("-s", SIGNATURES), 31),
    ("test-tls13-ecdsa-in-certificate-verify", "ecdsa", ("-s", SIGNATURES), 132),
)


@pytest.mark.parametrize(("script", "kind", "arguments", "least"), SCRIPTS, ids=[row[0] for row in SCRIPTS])
def test_tlsfuzzer(setting: Setting, script: str, kind: str, arguments: tuple[str, ...], least: int) -> None:
    assert CHECKOUT
    identity = setting.rsa if kind == "rsa" else setting.ecdsa
    command = [sys.executable, f"scripts/{script}.py", "-h", "localhost", "-p", str(setting.relay.port)]
    command += ["-k", str(identity.key), "-c", str(identity.certificate), *arguments]
    environment = os.environ | {"PYTHONPATH": CHECKOUT}
    result = subprocess.run(command, cwd=Path(CHECKOUT), env=environment, capture_output=True, text=True, errors="replace", timeout=100)
    counts = dict(re.findall(r"^(TOTAL|PASS|FAIL|XPASS): (\d+)", result.stdout, re.MULTILINE))
    print(f"{script}: {counts.get('PASS')} of {counts.get('TOTAL')}")
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]
    assert int(counts["PASS"]) >= least, counts
    setting.relay.assert_healthy()
