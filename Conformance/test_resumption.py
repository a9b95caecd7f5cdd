"""Sessions resumed where or when they must not be: CVE-2025-23419 (nginx) and CVE-2025-23048 (Apache's mod_ssl) and their like, with tickets kept by the
openssl command line and by Python's ssl module."""

from __future__ import annotations

import re
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import tls
from support.authority import Authority
from support.raw_http1 import RawHTTP1
from support.relay import Identity, Relay
from support.proven import Session1
from support.tls import alert_of

VERSIONS = {"TLS 1.2": ssl.TLSVersion.TLSv1_2, "TLS 1.3": ssl.TLSVersion.TLSv1_3}
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "ca")


@pytest.fixture
def launch(start_relay: Callable[..., Relay], authority: Authority) -> Callable[..., Relay]:
    server, me = authority.issue_server(), authority.issue("operator")

    def start(listen: int = 1, **settings: object) -> Relay:
        config = authority.configuration(server, **settings) | {"listen": ["127.0.0.1:0"] * listen}
        return start_relay("resumption", config=config, arguments=("--echo",), authority=authority.certificate, identity=me)

    return start


def context_of(authority: Authority, identity: Identity | None, version: str) -> ssl.SSLContext:
    context = tls.client_context(
        authority.certificate,
        certificate=identity and identity.certificate,
        key=identity and identity.key,
        minimum=VERSIONS[version],
        maximum=VERSIONS[version],
    )
    # What a malicious client does: it is this end's own affair whom it believes.
    context.check_hostname = False
    return context


def session_of(port: int, context: ssl.SSLContext) -> ssl.SSLSession:
    """A session that has its ticket, and that is resumed where it comes from: otherwise a test of where it is not would prove nothing."""
    for attempt in (None, "resume"):
        with tls.connect(port, context, session=session if attempt else None) as client:
            client.sendall(REQUEST)
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
            session = client.session
            assert session is not None and bool(client.session_reused) == bool(attempt)
    return session


def outcome(port: int, context: ssl.SSLContext, session: ssl.SSLSession, name: str = "localhost") -> tuple[str, bool]:
    """What becomes of offering a session: ("200", resumed) or (the alert, False)."""
    try:
        with tls.connect(port, context, session=session, name=name) as client:
            client.sendall(REQUEST)
            answer = client.recv(4096)
            return answer.split(b" ")[1].decode() if answer else "closed", bool(client.session_reused)
    except ssl.SSLError as fault:
        return alert_of(fault), False
    except ConnectionResetError:
        return "closed", False


@pytest.mark.parametrize("version", VERSIONS)
def test_cve_2025_23419_session_without_a_certificate_where_one_is_required(authority: Authority, launch: Callable[..., Relay], version: str) -> None:
    open_relay, strict = launch(clientCertificates="optional"), launch(clientCertificates="required")
    context = context_of(authority, None, version)
    session = session_of(open_relay.port, context)
    alert, resumed = outcome(strict.port, context, session)
    assert alert in ("certificate_required", "handshake_failure", "closed") and not resumed


@pytest.mark.parametrize("version", VERSIONS)
def test_cve_2025_23048_session_where_other_authorities_are_trusted(
    authority: Authority, launch: Callable[..., Relay], tmp_path: Path, version: str
) -> None:
    other = Authority.create(tmp_path / "other", name="Another CA")
    first = launch()
    second = launch(clientAuthorities=[str(other.certificate)], revocationLists=[])
    context = context_of(authority, authority.issue("alice"), version)
    session = session_of(first.port, context)
    assert outcome(second.port, context, session) == ("unknown_ca", False)


@pytest.mark.parametrize("version", VERSIONS)
def test_cve_2025_23048_session_of_before_its_authority_was_taken_away(
    authority: Authority, launch: Callable[..., Relay], tmp_path: Path, version: str
) -> None:
    """The same process, and so the same ticket secrets."""
    other = Authority.create(tmp_path / "other", name="Another CA")
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(authority.certificate.read_text() + other.certificate.read_text())
    relay = launch(clientAuthorities=[str(trusted)], revocationLists=[])
    leaving, staying = (context_of(authority, issuer.issue("alice"), version) for issuer in (other, authority))
    sessions = [session_of(relay.port, context) for context in (leaving, staying)]
    trusted.write_text(authority.certificate.read_text())
    wait_until(lambda: outcome(relay.port, leaving, sessions[0]) == ("unknown_ca", False))
    assert outcome(relay.port, staying, sessions[1]) == ("200", False), "whoever is trusted still comes in, by a full handshake"


def wait_until(condition: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)


@pytest.mark.parametrize("version", VERSIONS)
def test_session_of_before_a_revocation(authority: Authority, launch: Callable[..., Relay], version: str) -> None:
    relay = launch()
    leaver, stayer = authority.issue("leaver"), authority.issue("stayer")
    leaving, staying = (context_of(authority, identity, version) for identity in (leaver, stayer))
    sessions = [session_of(relay.port, context) for context in (leaving, staying)]
    authority.revoke(leaver)
    wait_until(lambda: outcome(relay.port, leaving, sessions[0]) == ("certificate_revoked", False))
    assert outcome(relay.port, staying, sessions[1]) == ("200", False)
    assert session_of(relay.port, staying), "and under the new list sessions are resumed again"


@pytest.mark.parametrize("version", VERSIONS)
def test_session_of_another_process(authority: Authority, launch: Callable[..., Relay], version: str) -> None:
    """The same configuration, other secrets: a full handshake."""
    context = context_of(authority, authority.issue("alice"), version)
    session = session_of(launch().port, context)
    assert outcome(launch().port, context, session) == ("200", False)


@pytest.mark.parametrize("version", VERSIONS)
def test_session_at_another_listener_and_under_another_name(authority: Authority, launch: Callable[..., Relay], version: str) -> None:
    """One trust store stands behind all listeners and names; wherever the session is resumed, it has the certificate that it began with."""
    relay = launch(listen=2)
    ports = [int(port) for port in re.findall(r"^ready https://[^\s:]+:(\d+)", relay.log(), re.MULTILINE)]
    assert len(ports) == 2
    alice = authority.issue("alice")
    context = context_of(authority, alice, version)
    for port, name in ((ports[1], "localhost"), (ports[0], "elsewhere.example"), (ports[1], "127.0.0.1")):
        session = session_of(ports[0], context)
        assert outcome(port, context, session, name)[0] == "200"
        with tls.connect(port, context, session=session, name=name) as client, pytest.MonkeyPatch.context() as patch:
            patch.setattr(tls, "connect", lambda *_, **__: client)
            with Session1(port, context) as opened:
                assert opened.identity is not None and opened.identity["name"] == "urn:segue:client:alice"


@pytest.mark.parametrize("version", VERSIONS)
def test_session_of_one_certificate_with_another_one_at_hand(authority: Authority, launch: Callable[..., Relay], version: str) -> None:
    """Who resumes is who began, whatever certificate the client would show now; and it stays so after the first one's revocation."""
    relay = launch()
    leaver = authority.issue("leaver")
    first = context_of(authority, leaver, version)
    session = session_of(relay.port, first)
    authority.revoke(leaver)
    wait_until(lambda: outcome(relay.port, first, session) == ("certificate_revoked", False))


@pytest.mark.parametrize("flag", ["-tls1_2", "-tls1_3"])
def test_openssl_session_file_after_revocation(authority: Authority, launch: Callable[..., Relay], tmp_path: Path, flag: str) -> None:
    """The same with `openssl s_client -sess_out` and `-sess_in`: a client that is none of Python's."""
    relay = launch()
    leaver = authority.issue("leaver")
    kept = tmp_path / "session.pem"
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-servername", "localhost", "-CAfile", str(authority.certificate), flag]
    command += ["-cert", str(leaver.certificate), "-key", str(leaver.key), "-ign_eof"]
    request = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    def run(*more: str) -> str:
        result = subprocess.run([*command, *more], input=request, capture_output=True, text=True, timeout=20)
        return result.stdout + result.stderr

    first = run("-sess_out", str(kept))
    assert "HTTP/1.1 200" in first, first
    second = run("-sess_in", str(kept))
    assert "Reused, " in second and "HTTP/1.1 200" in second, second
    authority.revoke(leaver)
    wait_until(lambda: "alert certificate revoked" in run("-sess_in", str(kept)))
    last = run("-sess_in", str(kept))
    assert "Reused, " not in last and "HTTP/1.1" not in last, last


def test_resumed_session_ends_with_its_certificate(authority: Authority, launch: Callable[..., Relay]) -> None:
    """A connection that was resumed knows its certificate from the ticket alone, and is measured all the same."""
    relay = launch()
    leaver = authority.issue("leaver")
    context = context_of(authority, leaver, "TLS 1.3")
    session = session_of(relay.port, context)
    with tls.connect(relay.port, context, session=session) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tls, "connect", lambda *_, **__: client)
        with Session1(relay.port, context) as opened:
            assert client.session_reused
            authority.revoke(leaver)
            assert opened.close_reason(10) == (1008, "certificate_revoked")


def test_no_early_data(authority: Authority, launch: Callable[..., Relay]) -> None:
    """0-RTT can be replayed (RFC 8446 §8): tickets do not allow it."""
    relay = launch()
    identity = authority.issue("alice")
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-servername", "localhost", "-CAfile", str(authority.certificate), "-tls1_3"]
    command += ["-cert", str(identity.certificate), "-key", str(identity.key), "-ign_eof"]
    request = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    output = subprocess.run(command, input=request, capture_output=True, text=True, timeout=20).stdout
    assert "Max Early Data: 0" in output, output
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(REQUEST)
        assert client.response() is not None
