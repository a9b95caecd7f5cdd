"""Client certificates: which are let in, the alert that each bad one gets, the reason that it is counted by, and what revocation does."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from support import metrics, tls
from support.authority import Authority
from support.raw_websocket import CLOSE, PING, TEXT, RawWebSocket
from support.raw_websocket import frame as websocket_frame
from support.relay import Identity, Relay
from support.tls import refusal_of

VERSIONS = {"TLS 1.2": ssl.TLSVersion.TLSv1_2, "TLS 1.3": ssl.TLSVersion.TLSv1_3}


@dataclass
class Setting:
    relay: Relay
    authority: Authority
    clients: dict[str, Identity | None]

    def context(self, client: str, version: str) -> ssl.SSLContext:
        identity = self.clients[client]
        return tls.client_context(
            self.authority.certificate,
            certificate=identity and identity.certificate,
            key=identity and identity.key,
            minimum=VERSIONS[version],
            maximum=VERSIONS[version],
        )

    def failures(self) -> dict[str, float]:
        status, _, text = self.relay.get("/metrics")
        assert status == 200
        return metrics.by_reason(text, "segue_handshake_failures_total")


def bundle(path: Path, *parts: Path) -> Path:
    path.write_text("".join(part.read_text() for part in parts))
    return path


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("authorities")
    authority = Authority.create(folder / "ca")
    stranger = Authority.create(folder / "stranger", name="Somebody else's CA")
    twin = Authority.create(folder / "twin")  # the same name, another key
    server = authority.issue_server()
    clients: dict[str, Identity | None] = {
        "good": authority.issue("good"),
        "DNS name": authority.issue("dns", names="DNS:client.example"),
        "none": None,
        "other CA": stranger.issue("stranger"),
        "CA of the same name": twin.issue("twin"),
        "expired": authority.issue("expired", starts=timedelta(days=-3), ends=timedelta(days=-1)),
        "not yet valid": authority.issue("early", starts=timedelta(days=1)),
        "wrong EKU": authority.issue("wrong-usage", usage="serverAuth"),
        "self-signed": authority.self_signed("self"),
        "key mismatch": authority.with_foreign_key("mismatch"),
        "revoked": authority.issue("revoked"),
        "revoked later": authority.issue("revoked-later"),
        "resumes": authority.issue("resumes"),
        "in session": authority.issue("in-session"),
    }
    revoked = clients["revoked"]
    assert revoked is not None
    authority.revoke(revoked)
    config = {
        "listen": ["127.0.0.1:0"],
        "tls": {
            "certificates": [{"chain": str(bundle(folder / "chain.pem", server.certificate, authority.certificate)), "key": str(server.key)}],
            "clientAuthorities": [str(authority.certificate)],
            "revocationLists": [str(authority.revocations)],
            "clientCertificates": "required",
        },
    }
    relay = start_relay("certificates", config=config, arguments=("--echo",), authority=authority.certificate, identity=clients["good"])
    return Setting(relay, authority, clients)


@pytest.fixture(autouse=True)
def still_healthy(setting: Setting):
    yield
    setting.relay.assert_healthy()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("client", ["good", "DNS name"])
def test_good_certificate_is_let_in(setting: Setting, client: str, version: str) -> None:
    assert refusal_of(setting.relay.port, setting.context(client, version)) is None


# (client, alert in TLS 1.2, alert in TLS 1.3, reasons that the counter may go by). Alerts: RFC 5246 §7.2.2, RFC 8446 §6.2.
REFUSED = (
    ("none", "handshake_failure", "certificate_required", {"nocertificate"}),
    ("other CA", "unknown_ca", "unknown_ca", {"unknownauthority", "unknownca"}),
    (
        "CA of the same name",
        "unknown_ca|decrypt_error|bad_certificate",
        "unknown_ca|decrypt_error|bad_certificate",
        {"unknownauthority", "unknownca", "badsignature"},
    ),
    ("expired", "certificate_expired", "certificate_expired", {"expired"}),
    ("not yet valid", "bad_certificate|certificate_expired", "bad_certificate|certificate_expired", {"notyetvalid"}),
    ("wrong EKU", "unsupported_certificate", "unsupported_certificate", {"wrongpurpose"}),
    ("self-signed", "unknown_ca|bad_certificate", "unknown_ca|bad_certificate", {"selfsigned"}),
    ("revoked", "certificate_revoked", "certificate_revoked", {"revoked"}),
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("client", "alert_1_2", "alert_1_3", "reasons"), REFUSED, ids=[row[0] for row in REFUSED])
def test_bad_certificate_is_refused_and_counted(
    setting: Setting, client: str, alert_1_2: str, alert_1_3: str, reasons: set[str], version: str
) -> None:
    before = setting.failures()
    refusal = refusal_of(setting.relay.port, setting.context(client, version))
    assert refusal is not None, "was let in"
    assert re.fullmatch(alert_1_2 if version == "TLS 1.2" else alert_1_3, refusal), refusal
    expect_counted(setting, before, reasons)


def expect_counted(setting: Setting, before: dict[str, float], reasons: set[str]) -> None:
    """`/metrics` may be asked of another event loop than the one that refused, whose counters it sees a moment later."""
    deadline = time.monotonic() + 5
    while True:
        after = setting.failures()
        grown = {reason for reason in after if after[reason] > before.get(reason, 0)}
        if grown or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert grown and grown <= reasons, f"counted as {grown or 'nothing'}, expected one of {reasons}; all counts: {after}"


@pytest.mark.parametrize("version", VERSIONS)
def test_key_that_does_not_match_the_certificate(setting: Setting, version: str) -> None:
    """Somebody else's certificate is no secret; the proof is the signature: decrypt_error (RFC 5246 §7.2.2, RFC 8446 §4.4.3)."""
    before = setting.failures()
    assert refusal_of(setting.relay.port, setting.context("key mismatch", version)) == "decrypt_error"
    expect_counted(setting, before, {"badsignature", "keymismatch"})


def wait_until_refused(setting: Setting, client: str) -> None:
    """A reload takes effect soon, not at once: waits until a fresh handshake of `client` is refused as revoked."""
    deadline = time.monotonic() + 15
    while refusal_of(setting.relay.port, setting.context(client, "TLS 1.3")) != "certificate_revoked":
        assert time.monotonic() < deadline, f"{client} is still let in 15 s after its revocation and SIGHUP"
        time.sleep(0.1)


@pytest.mark.parametrize("version", VERSIONS)
def test_revocation_takes_effect_on_reload(setting: Setting, version: str) -> None:
    if version == "TLS 1.2":
        assert refusal_of(setting.relay.port, setting.context("revoked later", version)) is None
        identity = setting.clients["revoked later"]
        assert identity is not None
        setting.authority.revoke(identity)
        setting.relay.reload()
        wait_until_refused(setting, "revoked later")
    assert refusal_of(setting.relay.port, setting.context("revoked later", version)) == "certificate_revoked"
    assert refusal_of(setting.relay.port, setting.context("good", version)) is None


def session_of(port: int, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> tuple[ssl.SSLSession | None, bool]:
    """One request: the session to resume by afterwards, and whether this connection was a resumed one."""
    with tls.connect(port, context, session=session) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        return client.session, bool(client.session_reused)


def test_resumption_after_revocation_is_refused(setting: Setting) -> None:
    contexts = {version: setting.context("resumes", version) for version in VERSIONS}
    sessions = {version: session_of(setting.relay.port, context)[0] for version, context in contexts.items()}
    for version, context in contexts.items():
        fresh, resumed = session_of(setting.relay.port, context, sessions[version])
        assert resumed, f"{version}: no resumption at all, so this test would prove nothing"
        sessions[version] = fresh or sessions[version]
    identity = setting.clients["resumes"]
    assert identity is not None
    setting.authority.revoke(identity)
    setting.relay.reload()
    wait_until_refused(setting, "resumes")
    for version, context in contexts.items():
        before = setting.failures()
        assert refusal_of(setting.relay.port, context, session=sessions[version]) == "certificate_revoked", version
        expect_counted(setting, before, {"revoked"})


def test_revocation_ends_a_live_session(setting: Setting) -> None:
    with (
        RawWebSocket(setting.relay.port, setting.context("in session", "TLS 1.3")) as live,
        RawWebSocket(setting.relay.port, setting.relay.context()) as other,
    ):
        identity = setting.clients["in session"]
        assert identity is not None
        setting.authority.revoke(identity)
        setting.relay.reload()
        live.socket.settimeout(15)
        assert live.close_code() in (1008, None)
        assert_undisturbed(other)


def assert_undisturbed(ws: RawWebSocket) -> None:
    """Nothing comes but the relay's pings, least of all an end."""
    ws.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        while (received := ws.receive()) is not None:
            assert received[0] == PING, received


def test_expiry_ends_a_live_session(setting: Setting) -> None:
    """A certificate is looked at for as long as its session lives, not at the handshake only. This one ends a few seconds after it was let in."""
    short_lived = setting.authority.issue("short-lived", ends=timedelta(seconds=8))
    setting.clients["short-lived"] = short_lived
    with (
        RawWebSocket(setting.relay.port, setting.context("short-lived", "TLS 1.3"), "/v1/session", "segue.v1") as live,
        RawWebSocket(setting.relay.port, setting.relay.context()) as other,
    ):
        live.send(websocket_frame(TEXT, b'{"type":"hello","id":1,"versions":[1]}'))
        welcome = live.receive()
        assert welcome is not None and b'"welcome"' in welcome[1], welcome
        live.socket.settimeout(30)
        while (received := live.receive()) is not None and received[0] != CLOSE:
            pass
        assert received is not None, "the connection ended without a close frame"
        payload = received[1]
        assert (int.from_bytes(payload[:2], "big"), payload[2:]) == (1008, b"certificate_expired")
        assert_undisturbed(other)
    assert refusal_of(setting.relay.port, setting.context("short-lived", "TLS 1.3")) == "certificate_expired"


def test_broken_reload_keeps_the_old_trust(setting: Setting) -> None:
    """A half-written CRL must neither let the revoked in nor shut the good out."""
    kept = setting.authority.revocations.read_bytes()
    try:
        setting.authority.revocations.write_bytes(kept[: len(kept) // 2])
        setting.relay.reload()
        time.sleep(1)
        assert refusal_of(setting.relay.port, setting.context("revoked", "TLS 1.3")) == "certificate_revoked"
        assert refusal_of(setting.relay.port, setting.context("good", "TLS 1.3")) is None
    finally:
        setting.authority.revocations.write_bytes(kept)
        setting.relay.reload()


def test_server_certificate_is_right_for_its_names(setting: Setting) -> None:
    context = setting.context("good", "TLS 1.3")
    for name in ("localhost", "127.0.0.1"):
        with tls.connect(setting.relay.port, context, name=name) as client:
            assert client.version() == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        tls.connect(setting.relay.port, context, name="elsewhere.example").close()
