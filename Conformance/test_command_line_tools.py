"""curl, openssl s_client, nghttp and h2load against the relay."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.authority import Authority
from support.relay import Relay

SECONDS_MAX = 60


def run(*command: str | Path, feed: str = "", expect: int | None = 0) -> str:
    """The output (both streams) of a command; `expect` is its exit status, None for any but 0."""
    result = subprocess.run([*map(str, command)], input=feed, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX)
    output = result.stdout + result.stderr
    if expect is None:
        assert result.returncode != 0, output
    else:
        assert result.returncode == expect, f"{' '.join(map(str, command))} exited with {result.returncode}\n{output[-3000:]}"
    return output


def curl(relay: Relay, path: str, *options: str, expect: int | None = 0) -> str:
    return run(
        *("curl", "--silent", "--show-error", "--max-time", "20", "--cacert", relay.authority),
        *("--cert", relay.identity.certificate, "--key", relay.identity.key),
        *options,
        f"https://localhost:{relay.port}{path}",
        expect=expect,
    )


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_endpoints(relay: Relay, version: str) -> None:
    shown = "1.1" if version == "--http1.1" else "2"
    for path in ("/healthz", "/readyz", "/metrics"):
        output = curl(relay, path, version, "--write-out", "\n%{http_code} %{http_version}")
        assert output.endswith(f"\n200 {shown}"), output
    output = curl(relay, "/nowhere", version, "--include")
    assert re.match(rf"HTTP/{shown} 404", output) and "application/problem+json" in output
    assert json.loads(re.split(r"\r?\n\r?\n", output, maxsplit=1)[1])["status"] == 404


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_head_and_wrong_method(relay: Relay, version: str) -> None:
    assert " 200" in curl(relay, "/healthz", version, "--head").splitlines()[0]
    refused = curl(relay, "/healthz", version, "--include", "--request", "DELETE")
    assert " 405" in refused.splitlines()[0]
    assert re.search(r"^allow: .*GET", refused, re.IGNORECASE | re.MULTILINE), refused
    posted = curl(relay, "/healthz", version, "--include", "--data", "x" * 5_000)
    assert " 405" in posted, posted


def test_curl_keeps_the_connection_alive(relay: Relay) -> None:
    url = f"https://localhost:{relay.port}/healthz"
    output = curl(relay, "/healthz", "--http1.1", "--verbose", url, url)
    assert len(re.findall(r"Re-using existing connection", output)) == 2, output[-2000:]


@pytest.mark.parametrize(("version", "accepted"), [("1.0", False), ("1.1", False), ("1.2", True), ("1.3", True)])
def test_curl_tls_versions(relay: Relay, version: str, accepted: bool) -> None:
    options = ["--tls-max", version, f"--tlsv{version}"]
    if not accepted:
        options += ["--ciphers", "DEFAULT@SECLEVEL=0"]  # or curl's own OpenSSL would refuse before the relay can
    output = curl(relay, "/healthz", *options, expect=0 if accepted else None)
    assert accepted or "alert protocol version" in output, output


def s_client(relay: Relay, *options: str | Path, feed: str = "", expect: int | None = 0) -> str:
    return run(
        *("openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-servername", "localhost", "-verify_return_error"),
        *("-CAfile", relay.authority, "-cert", relay.identity.certificate, "-key", relay.identity.key),
        *options,
        feed=feed,
        expect=expect,
    )


REQUEST = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(("option", "protocol"), [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")])
def test_s_client_protocol_and_cipher(relay: Relay, option: str, protocol: str) -> None:
    output = s_client(relay, option, "-ign_eof", feed=REQUEST)
    assert "HTTP/1.1 200" in output, output[-2000:]
    suite = re.search(rf"New, {protocol}, Cipher is (\S+)", output)
    assert suite and re.search(r"GCM|CHACHA20", suite.group(1)), output[-2000:]
    assert "Verify return code: 0 (ok)" in output
    assert "Compression: NONE" in output


@pytest.mark.parametrize("option", ["-tls1", "-tls1_1"])
def test_s_client_old_protocols_are_refused(relay: Relay, option: str) -> None:
    output = s_client(relay, option, "-cipher", "DEFAULT@SECLEVEL=0", expect=None)
    assert "alert protocol version" in output, output[-2000:]


@pytest.mark.parametrize(
    "suite", ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384", "DHE-RSA-AES128-GCM-SHA256", "NULL-SHA256:@SECLEVEL=0"]
)
def test_s_client_weak_suites_are_refused(relay: Relay, suite: str) -> None:
    """No RSA key exchange (no forward secrecy), no CBC, no finite-field DHE, no encryption left out."""
    output = s_client(relay, "-tls1_2", "-cipher", suite, expect=None)
    assert "alert handshake failure" in output, output[-2000:]


@pytest.mark.parametrize(("offer", "chosen"), [("h2,http/1.1", "h2"), ("http/1.1,h2", "h2"), ("http/1.1", "http/1.1"), ("h2", "h2")])
def test_s_client_alpn(relay: Relay, offer: str, chosen: str) -> None:
    """RFC 7301: the server's order of preference decides, h2 first."""
    assert f"ALPN protocol: {chosen}" in s_client(relay, "-alpn", offer)


def test_s_client_without_alpn_speaks_http_1_1(relay: Relay) -> None:
    output = s_client(relay, "-ign_eof", feed=REQUEST)
    assert "No ALPN negotiated" in output and "HTTP/1.1 200" in output


def test_s_client_foreign_alpn_is_refused(relay: Relay) -> None:
    """RFC 7301 §3.2: no protocol in common is the alert no_application_protocol, not a guess."""
    output = s_client(relay, "-alpn", "smtp", expect=None)
    assert "no application protocol" in output, output[-2000:]


@pytest.mark.parametrize("option", ["-tls1_2", "-tls1_3"])
def test_s_client_resumption(relay: Relay, tmp_path: Path, option: str) -> None:
    session = tmp_path / "session.pem"
    assert "New, TLSv1" in s_client(relay, option, "-sess_out", session, "-ign_eof", feed=REQUEST)
    assert session.exists(), "the server gave no ticket"
    output = s_client(relay, option, "-sess_in", session, "-ign_eof", feed=REQUEST)
    assert "Reused, TLSv1" in output and "HTTP/1.1 200" in output, output[-2000:]


def test_s_client_no_early_data(relay: Relay, tmp_path: Path) -> None:
    session = tmp_path / "session.pem"
    output = s_client(relay, "-tls1_3", "-sess_out", session, "-ign_eof", feed=REQUEST)
    assert not re.search(r"Max Early Data: [1-9]", output), "0-RTT is offered"


def test_s_client_renegotiation_is_refused(relay: Relay) -> None:
    """A line with `R` asks s_client to renegotiate (TLS 1.2)."""
    with subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-servername", "localhost", "-tls1_2", "-CAfile", relay.authority]
        + ["-cert", relay.identity.certificate, "-key", relay.identity.key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        time.sleep(1)
        output, _ = process.communicate("R\n", timeout=SECONDS_MAX)
    assert "RENEGOTIATING" in output, output[-2000:]
    assert re.search(r"no renegotiation|alert|unexpected eof|closed", output.split("RENEGOTIATING", 1)[1], re.IGNORECASE), output[-2000:]


@pytest.mark.parametrize("group", ["X25519", "P-256", "P-384"])
def test_s_client_groups(relay: Relay, group: str) -> None:
    output = s_client(relay, "-tls1_3", "-groups", group)
    assert "Server Temp Key: " + {"X25519": "X25519", "P-256": "ECDH, prime256v1", "P-384": "ECDH, secp384r1"}[group] in output, output[-2000:]


@pytest.fixture(scope="module")
def two_certificates(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Relay:
    """A relay with an ECDSA and an RSA certificate for the same names."""
    authority = Authority.create(tmp_path_factory.mktemp("authority") / "ca")
    servers = (authority.issue_server(), authority.issue_rsa_server())
    config = {
        "listen": ["127.0.0.1:0"],
        "tls": {
            "certificates": [{"chain": str(server.certificate), "key": str(server.key)} for server in servers],
            "clientAuthorities": [str(authority.certificate)],
            "clientCertificates": "required",
        },
    }
    return start_relay("two-certificates", config=config, authority=authority.certificate, identity=authority.issue("client"))


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize(("algorithms", "kind"), [("ECDSA+SHA256", "ECDSA"), ("rsa_pss_rsae_sha256", "RSA-PSS")])
def test_s_client_rsa_and_ecdsa_certificates_side_by_side(two_certificates: Relay, algorithms: str, kind: str, version: str) -> None:
    # The client's own certificate needs ECDSA, whatever the server's is.
    assert f"Peer signature type: {kind}" in s_client(two_certificates, version, "-sigalgs", algorithms, "-client_sigalgs", "ECDSA+SHA256")
    two_certificates.assert_healthy()


def test_nghttp_gets_the_endpoints(relay: Relay) -> None:
    output = run(
        *("nghttp", "--no-verify-peer", "--timeout=20", "--verbose", f"--cert={relay.identity.certificate}", f"--key={relay.identity.key}"),
        *(f"https://localhost:{relay.port}{path}" for path in ("/healthz", "/readyz")),
    )
    assert output.count(":status: 200") == 2, output[-3000:]
    assert "SETTINGS_ENABLE_CONNECT_PROTOCOL(0x08):1" in output or re.search(r"UNKNOWN\(0x08\):1", output), output[:3000]


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_h2load_loses_no_request(open_relay: Relay, protocol: str) -> None:
    """h2load cannot show a certificate, so this relay does not ask for one."""
    load = ["h2load", "--requests=5000", "--clients=20", "--max-concurrent-streams=20", f"--npn-list={protocol}", "--connection-active-timeout=30"]
    output = run(*load, f"https://localhost:{open_relay.port}/healthz")
    assert "5000 succeeded, 0 failed, 0 errored, 0 timeout" in output, output
    assert "status codes: 5000 2xx" in output, output


def test_plain_http_to_the_tls_port(relay: Relay) -> None:
    """Somebody types http:// for https://: refused at once and without a crash."""
    run("curl", "--silent", "--max-time", "15", f"http://127.0.0.1:{relay.port}/healthz", expect=None)
