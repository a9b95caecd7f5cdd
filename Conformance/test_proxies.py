"""TLS ended in front: whom the relay holds a proxy's clients to be. Certificates by openssl; PROXY headers and fields as raw bytes, then the same with HAProxy."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from support import metrics, proxies, tls
from support.authority import Authority
from support.h2_websocket import H2Client
from support.proxies import HAProxy, bundle
from support.raw_http1 import RawHTTP1
from support.relay import Identity, Relay
from support.proven import Session1, Session2, refusal, refusal_h2

FORMS = {"client-cert": proxies.client_cert, "x-ssl-client-der": proxies.haproxy_field, "x-forwarded-client-cert": proxies.envoy_field}
PROXY_NAME = "urn:segue:proxy:edge"


@dataclass
class World:
    folder: Path
    authority: Authority
    server: Identity
    proxy: Identity
    good: dict[str, Identity]
    bad: dict[str, tuple[Identity, str]]
    start: Callable[..., Relay]

    def relay(self, name: str, limits: dict | None = None, **settings: object) -> Relay:
        config = self.authority.configuration(self.server) | {"proxies": settings, "limits": limits or {}}
        return self.start(name, config=config, arguments=("--echo",), authority=self.authority.certificate, identity=self.good["alice"])

    def context(self, identity: Identity, *alpn: str) -> ssl.SSLContext:
        return tls.client_context(self.authority.certificate, certificate=identity.certificate, key=identity.key, alpn=alpn)


@pytest.fixture(scope="module")
def world(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("proxies")
    authority = Authority.create(folder / "ca")
    stranger = Authority.create(folder / "stranger", name="Somebody else's CA")
    twin = Authority.create(folder / "twin")
    revoked = authority.issue("revoked")
    authority.revoke(revoked)
    return World(
        folder,
        authority,
        authority.issue_server(),
        authority.issue("edge", names=f"URI:{PROXY_NAME}"),
        {name: authority.issue(name) for name in ("alice", "bob", "leaver", "stayer")},
        {
            "other CA": (stranger.issue("stranger"), "unknown_authority"),
            "CA of the same name": (twin.issue("twin"), "bad_signature|unknown_authority"),
            "expired": (authority.issue("expired", starts=timedelta(days=-3), ends=timedelta(days=-1)), "expired"),
            "not yet valid": (authority.issue("early", starts=timedelta(days=1)), "not_yet_valid"),
            "wrong EKU": (authority.issue("wrong-usage", usage="serverAuth"), "wrong_purpose"),
            "self-signed": (authority.self_signed("self"), "self_signed"),
            "revoked": (revoked, "revoked"),
        },
        start_relay,
    )


@pytest.fixture(scope="module")
def by_form(world: World) -> dict[str, Relay]:
    """A relay behind a local proxy without PROXY headers, for each field."""
    return {form: world.relay(form, listen=["127.0.0.1:0"], clientCertificate=form, identities=[PROXY_NAME]) for form in FORMS}


@pytest.fixture(scope="module")
def by_header(world: World) -> Relay:
    """Certificates come in PROXY headers."""
    limits = {"proxyHeaderMillisecondsMax": 700, "connectionsPerAddressMax": 5}
    return world.relay(
        "header",
        limits,
        listen=["127.0.0.1:0"],
        protocol="required",
        tlsProtocol="required",
        clientCertificate="proxy-protocol",
        identities=[PROXY_NAME],
        networks=["127.0.0.1"],
    )


def count(relay: Relay, name: str, prelude: bytes = b"") -> dict[str, float]:
    """A counter of `/metrics` by reason, or as the one value under ''. Another loop's counts are a quarter of a second old at most."""
    time.sleep(0.3)
    with RawHTTP1(relay.port, relay.context(), prelude=prelude) as client:
        client.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = client.response()
    assert answer is not None and answer.status == 200, answer
    return {labels.get("reason", ""): value for sample, labels, value in metrics.parse(answer.body.decode()) if sample == name}


def expect_identity(identity: dict | None, client: Identity, proof: str) -> None:
    assert identity == {
        "name": f"urn:segue:client:{client.certificate.stem}",
        "fingerprint": proxies.fingerprint_of(client),
        "proof": proof,
    }


# Fields over a listener without TLS.


@pytest.mark.parametrize("form", FORMS)
def test_forwarded_certificate_is_the_identity(world: World, by_form: dict[str, Relay], form: str) -> None:
    fields = FORMS[form](world.good["alice"])
    with Session1(by_form[form].proxy_port, None, fields) as session:
        expect_identity(session.identity, world.good["alice"], "forwarded")
    with H2Client(by_form[form].proxy_port, None) as client:
        expect_identity(Session2(client, fields).identity, world.good["alice"], "forwarded")


@pytest.mark.parametrize("form", FORMS)
def test_without_a_certificate_there_is_no_identity(by_form: dict[str, Relay], form: str) -> None:
    """A common name, a hash or the proxy's own verdict is none."""
    claims = {
        "client-cert": (("x-ssl-client-cn", "alice"), ("x-ssl-client-verify", "0")),
        "x-ssl-client-der": (("x-ssl-client-der", ""), ("x-ssl-client-cn", "alice"), ("x-ssl-client-verify", "SUCCESS")),
        "x-forwarded-client-cert": (("x-forwarded-client-cert", 'Hash=00;Subject="CN=alice";URI=urn:segue:client:alice'),),
    }
    for fields in ((), claims[form]):
        assert refusal(by_form[form].proxy_port, None, fields) == 403
        with H2Client(by_form[form].proxy_port, None) as client:
            assert refusal_h2(client, fields) == 403


@pytest.mark.parametrize("form", FORMS)
def test_each_request_has_its_own_identity(world: World, by_form: dict[str, Relay], form: str) -> None:
    """RFC 9440 §4: connections between proxy and origin are shared by clients."""
    port, alice, bob = by_form[form].proxy_port, FORMS[form](world.good["alice"]), FORMS[form](world.good["bob"])
    with RawHTTP1(port, None) as client:
        statuses = []
        for fields in (alice, (), bob, (), alice):
            client.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + b"".join(f"{name}: {value}\r\n".encode() for name, value in fields) + b"\r\n")
            answer = client.response()
            assert answer is not None
            statuses.append(answer.status)
        assert statuses == [200, 403, 200, 403, 200]
    with H2Client(port, None) as client:
        first, second = Session2(client, alice), Session2(client, bob)
        assert refusal_h2(client) == 403
        expect_identity(first.identity, world.good["alice"], "forwarded")
        expect_identity(second.identity, world.good["bob"], "forwarded")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", ["other CA", "CA of the same name", "expired", "not yet valid", "wrong EKU", "self-signed", "revoked"])
def test_bad_certificate_is_nobody(world: World, by_form: dict[str, Relay], form: str, what: str) -> None:
    """Verified here as in a handshake, whatever the proxy has made of it."""
    identity, reasons = world.bad[what]
    relay = by_form[form]
    before = count(relay, "segue_forwarded_certificates_refused_total")
    assert refusal(relay.proxy_port, None, FORMS[form](identity)) == 403
    after = count(relay, "segue_forwarded_certificates_refused_total")
    grown = {reason for reason, value in after.items() if value > before.get(reason, 0)}
    assert grown and grown <= set(reasons.split("|")), grown


MALFORMED = {
    "client-cert": ("", "alice", ":AA:", ":MAMCAfs=:", "::", ":" + "A" * 12_000 + ":"),
    "x-ssl-client-der": ("alice", "MAMCAfs=", "====", "A" * 12_000),
    "x-forwarded-client-cert": ("Cert", 'Cert="', "Cert=%", "Cert=alice", "," * 100, ";" * 100, "Cert=%2D" * 1_000),
}


@pytest.mark.parametrize("form", FORMS)
def test_malformed_field_is_nobody(world: World, by_form: dict[str, Relay], form: str) -> None:
    relay, fields = by_form[form], FORMS[form](world.good["alice"])
    for value in MALFORMED[form]:
        assert refusal(relay.proxy_port, None, ((fields[0][0], value),)) == 403, value
    assert refusal(relay.proxy_port, None, fields + FORMS[form](world.good["bob"])) == 403, "two certificates: whose request is it?"
    assert refusal(relay.proxy_port, None, fields) is None
    relay.assert_healthy()


@pytest.mark.parametrize("form", FORMS)
def test_other_proxies_fields_are_taken_out(world: World, by_form: dict[str, Relay], form: str) -> None:
    relay = by_form[form]
    before = count(relay, "segue_forwarded_certificates_ignored_total")[""]
    for other in set(FORMS) - {form}:
        assert refusal(relay.proxy_port, None, FORMS[other](world.good["alice"])) == 403
        with Session1(relay.proxy_port, None, FORMS[form](world.good["bob"]) + FORMS[other](world.good["alice"])) as session:
            expect_identity(session.identity, world.good["bob"], "forwarded")
    assert count(relay, "segue_forwarded_certificates_ignored_total")[""] == before + 4


# Fields over TLS.


@pytest.mark.parametrize("form", FORMS)
def test_fields_of_anybody_are_taken_out_and_counted(world: World, by_form: dict[str, Relay], form: str) -> None:
    """A client of its own right that claims to be somebody else stays who it is; nothing of the claim is even parsed."""
    relay, claim = by_form[form], FORMS[form](world.good["alice"])
    before = count(relay, "segue_forwarded_certificates_ignored_total")[""]
    with Session1(relay.port, world.context(world.good["bob"]), claim) as session:
        expect_identity(session.identity, world.good["bob"], "certificate")
    with H2Client(relay.port, world.context(world.good["bob"], "h2")) as client:
        expect_identity(Session2(client, claim).identity, world.good["bob"], "certificate")
        expect_identity(Session2(client, ((claim[0][0], "no certificate"),)).identity, world.good["bob"], "certificate")
    assert count(relay, "segue_forwarded_certificates_ignored_total")[""] == before + 3


@pytest.mark.parametrize("form", FORMS)
def test_listed_proxy_over_mutual_tls(world: World, by_form: dict[str, Relay], form: str) -> None:
    """The proxy's own certificate makes it trusted and gives nobody an identity: what it asks, its clients ask."""
    relay, context = by_form[form], world.context(world.proxy)
    with Session1(relay.port, context, FORMS[form](world.good["alice"])) as session:
        expect_identity(session.identity, world.good["alice"], "forwarded")
    assert refusal(relay.port, context) == 403
    assert refusal(relay.port, context, FORMS[form](world.bad["expired"][0])) == 403
    with H2Client(relay.port, world.context(world.proxy, "h2")) as client:
        expect_identity(Session2(client, FORMS[form](world.good["alice"])).identity, world.good["alice"], "forwarded")
        expect_identity(Session2(client, FORMS[form](world.good["bob"])).identity, world.good["bob"], "forwarded")
        assert refusal_h2(client) == 403


def test_listener_without_tls_is_for_listed_networks(world: World) -> None:
    relay = world.relay("networks", listen=["127.0.0.1:0"], networks=["127.0.0.3"], clientCertificate="client-cert")
    with socket.create_connection(("127.0.0.1", relay.proxy_port), timeout=5) as stranger:
        assert stranger.recv(1) == b""
    with socket.create_connection(("127.0.0.1", relay.proxy_port), timeout=5, source_address=("127.0.0.3", 0)) as listed:
        listed.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert listed.recv(64).startswith(b"HTTP/1.1 200")
    assert count(relay, "segue_connections_refused_total")["proxy_network"] == 1


def test_no_proxies_no_listener_and_no_trust(world: World) -> None:
    """As shipped: no port without TLS, and all fields are noise."""
    relay = world.relay("plain")
    assert "proxy http" not in relay.log()
    for field in FORMS.values():
        with Session1(relay.port, world.context(world.good["bob"]), field(world.good["alice"])) as session:
            expect_identity(session.identity, world.good["bob"], "certificate")
    with pytest.raises((ssl.SSLError, OSError)):
        Session1(relay.port, world.context(world.good["bob"]), prelude=proxies.version_1())
    assert count(relay, "segue_handshake_failures_total")["not_tls"] >= 1


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"listen": ["192.0.2.1:8080"], "clientCertificate": "client-cert"}, "proxies.listen[0]"),
        ({"listen": ["0.0.0.0:8080"], "clientCertificate": "client-cert"}, "proxies.listen[0]"),
        ({"networks": ["10.0.0.1/8"]}, "proxies.networks[0]"),
        ({"identities": ["*"], "clientCertificate": "client-cert"}, "proxies.identities[0]"),
        ({"identities": [PROXY_NAME]}, "proxies.identities"),
        ({"clientCertificate": "x-ssl-client-cn"}, "proxies.clientCertificate"),
        ({"clientCertificate": "client-cert"}, "proxies.clientCertificate"),
        ({"listen": ["127.0.0.1:0"], "clientCertificate": "proxy-protocol"}, "proxies.clientCertificate"),
        ({"protocol": "optional"}, "proxies.protocol"),
    ],
    ids=str,
)
def test_configuration_that_would_trust_too_much_is_a_fault(world: World, settings: dict, path: str) -> None:
    with pytest.raises(AssertionError, match=path.replace("[", r"\[").replace("]", r"\]").replace(".", r"\.")):
        world.relay("faulty", **settings)


# PROXY headers.


@pytest.mark.parametrize("header", [proxies.version_1(), proxies.version_2()], ids=["version 1", "version 2"])
def test_header_comes_first_and_gives_the_address(world: World, by_header: Relay, header: bytes) -> None:
    """Cut anywhere, or in one packet with what follows; with and without TLS behind it."""
    request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    with socket.create_connection(("127.0.0.1", by_header.proxy_port), timeout=5) as client:
        client.sendall(header + request)
        assert client.recv(64).startswith(b"HTTP/1.1 200")
    with socket.create_connection(("127.0.0.1", by_header.proxy_port), timeout=5) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for octet in header:
            client.sendall(bytes((octet,)))
            time.sleep(0.002)
        client.sendall(request)
        assert client.recv(64).startswith(b"HTTP/1.1 200")
    with Session1(by_header.port, world.context(world.good["alice"]), prelude=header) as session:
        expect_identity(session.identity, world.good["alice"], "certificate")
    # A refused handshake is logged with the client's address.
    identity, _ = world.bad["expired"]
    with pytest.raises((ssl.SSLError, OSError)):
        Session1(by_header.port, world.context(identity), prelude=header)
    deadline = time.monotonic() + 5
    while "192.0.2.7:4711" not in by_header.log() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "192.0.2.7:4711" in by_header.log()


def test_tls_records_right_behind_the_header(world: World, by_header: Relay) -> None:
    """The client's first flight may come in the packet of the header: it is put back for TLS."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    machine = world.context(world.good["alice"]).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", by_header.port), timeout=5) as client:
        packet = proxies.version_2()
        while True:
            try:
                machine.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(packet + outgoing.read())
                packet = b""
                incoming.write(client.recv(65536))
        machine.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        client.sendall(outgoing.read())
        while True:
            incoming.write(client.recv(65536))
            try:
                assert machine.read(64).startswith(b"HTTP/1.1 200")
                break
            except ssl.SSLWantReadError:
                pass


@pytest.mark.parametrize("header", [proxies.version_2(command=0), b"PROXY UNKNOWN\r\n"], ids=["LOCAL", "UNKNOWN"])
def test_header_that_names_no_client(by_header: Relay, header: bytes) -> None:
    with RawHTTP1(by_header.proxy_port, None, prelude=header) as client:
        client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = client.response()
        assert answer is not None and answer.status == 200


BAD_HEADERS = {
    "none": b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "a line too long": b"PROXY TCP4 " + b"1" * 120,
    "a malformed line": b"PROXY TCP4 192.0.2.7 198.51.100.1 1 2 3\r\n",
    "version 3": proxies.SIGNATURE + b"\x31\x11\x00\x00",
    "larger than the bound": proxies.SIGNATURE + b"\x21\x11\xff\xff",
    "TLVs cut short": proxies.version_2(tlvs=b"\x01\x00\xff"),
    "a certificate twice": proxies.version_2(tlvs=proxies.ssl_tlv(certificate=b"0\x00") * 2),
    "UDP": proxies.SIGNATURE + b"\x21\x12\x00\x0c" + bytes(12),
}


@pytest.mark.parametrize("tls_port", [False, True], ids=["without TLS", "TLS"])
@pytest.mark.parametrize("header", BAD_HEADERS)
def test_bad_header_closes_without_a_word(by_header: Relay, header: str, tls_port: bool) -> None:
    local = proxies.version_2(command=0)
    before = sum(count(by_header, "segue_proxy_headers_refused_total", local).values())
    with socket.create_connection(("127.0.0.1", by_header.port if tls_port else by_header.proxy_port), timeout=5) as client:
        client.sendall(BAD_HEADERS[header])
        try:
            assert client.recv(1) == b""
        except ConnectionResetError:
            pass
    assert sum(count(by_header, "segue_proxy_headers_refused_total", local).values()) == before + 1


def test_header_is_waited_for_only_so_long(by_header: Relay) -> None:
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", by_header.proxy_port), timeout=10) as client:
        client.sendall(proxies.version_1()[:-2])
        assert client.recv(1) == b""
    assert time.monotonic() - started >= 0.6
    assert count(by_header, "segue_proxy_headers_refused_total", proxies.version_2(command=0))["timeout"] >= 1


def test_limits_count_by_the_address_in_the_header(by_header: Relay) -> None:
    """Five connections of one client at most; the proxy's own address, which all share, is not what counts."""
    request, held = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", []
    try:
        for number in range(12):
            client = RawHTTP1(by_header.proxy_port, None, prelude=proxies.version_1(f"203.0.113.{number + 1}"))
            held.append(client)
            client.send(request)
            assert client.response() is not None
        for _ in range(5):
            client = RawHTTP1(by_header.proxy_port, None, prelude=proxies.version_1("198.51.100.77"))
            held.append(client)
            client.send(request)
            assert client.response() is not None
        with RawHTTP1(by_header.proxy_port, None, prelude=proxies.version_1("198.51.100.77")) as sixth:
            sixth.send(request)
            assert sixth.response() is None
    finally:
        for client in held:
            client.socket.close()


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2"])
def test_certificate_in_the_header(world: World, by_header: Relay, version: str) -> None:
    """PP2_SUBTYPE_SSL_CLIENT_CERT, 0x28."""
    header = proxies.version_2(tlvs=proxies.ssl_tlv(name=b"somebody", certificate=proxies.der_of(world.good["alice"])))
    if version == "HTTP/1.1":
        with Session1(by_header.proxy_port, None, prelude=header) as session:
            expect_identity(session.identity, world.good["alice"], "forwarded")
        with Session1(by_header.proxy_port, None, proxies.client_cert(world.good["bob"]), prelude=header) as session:
            expect_identity(session.identity, world.good["alice"], "forwarded")
    else:
        with H2Client(by_header.proxy_port, None, prelude=header) as client:
            expect_identity(Session2(client).identity, world.good["alice"], "forwarded")


def test_name_and_verdict_in_the_header_are_no_identity(world: World, by_header: Relay) -> None:
    assert refusal(by_header.proxy_port, None, prelude=proxies.version_2(tlvs=proxies.ssl_tlv(name=b"alice"))) == 403
    assert refusal(by_header.proxy_port, None, prelude=proxies.version_1()) == 403
    unshown = proxies.ssl_tlv(certificate=proxies.der_of(world.good["alice"]), client=1)
    assert refusal(by_header.proxy_port, None, prelude=proxies.version_2(tlvs=unshown)) == 403, "no certificate was shown, says the proxy"


@pytest.mark.parametrize("what", ["other CA", "expired", "revoked", "wrong EKU"])
def test_bad_certificate_in_the_header_ends_the_connection(world: World, by_header: Relay, what: str) -> None:
    header = proxies.version_2(tlvs=proxies.ssl_tlv(certificate=proxies.der_of(world.bad[what][0])))
    with RawHTTP1(by_header.proxy_port, None, prelude=header) as client:
        client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response() is None


def test_certificate_in_the_header_before_tls(world: World, by_header: Relay) -> None:
    """Believed of a listed proxy alone; a client that comes through a proxy which ends no TLS has the certificate of its own handshake."""
    header = proxies.version_2(tlvs=proxies.ssl_tlv(certificate=proxies.der_of(world.good["alice"])))
    with Session1(by_header.port, world.context(world.proxy), prelude=header) as session:
        expect_identity(session.identity, world.good["alice"], "forwarded")
    with Session1(by_header.port, world.context(world.good["bob"]), prelude=header) as session:
        expect_identity(session.identity, world.good["bob"], "certificate")
    assert refusal(by_header.port, world.context(world.proxy), prelude=proxies.version_2()) == 403


# As long as sessions live.


@pytest.mark.parametrize("way", ["field, HTTP/1.1", "field, HTTP/2", "header"])
def test_revocation_ends_a_forwarded_session_and_no_other(world: World, by_form: dict[str, Relay], by_header: Relay, way: str) -> None:
    leaver, stayer = world.authority.issue(f"leaver-{len(way)}"), world.good["stayer"]
    relay = by_header if way == "header" else by_form["client-cert"]
    if way == "field, HTTP/2":
        client = H2Client(relay.proxy_port, None)
        sessions = [Session2(client, proxies.client_cert(who)) for who in (leaver, stayer)]
    elif way == "header":
        headers = [proxies.version_2(tlvs=proxies.ssl_tlv(certificate=proxies.der_of(who))) for who in (leaver, stayer)]
        sessions = [Session1(relay.proxy_port, None, prelude=header) for header in headers]
    else:
        sessions = [Session1(relay.proxy_port, None, proxies.client_cert(who)) for who in (leaver, stayer)]
    world.authority.revoke(leaver)
    assert sessions[0].close_reason(10) == (1008, "certificate_revoked")
    assert sessions[1].is_alive()
    if way != "header":
        assert refusal(relay.proxy_port, None, proxies.client_cert(leaver)) == 403


def test_expiry_ends_a_forwarded_session(world: World, by_form: dict[str, Relay]) -> None:
    brief = world.authority.issue("brief", ends=timedelta(seconds=6))
    relay = by_form["client-cert"]
    with RawHTTP1(relay.proxy_port, None) as client, Session1(relay.proxy_port, None, proxies.client_cert(brief)) as session:
        name, value = proxies.client_cert(brief)[0]
        request = f"GET /metrics HTTP/1.1\r\nHost: a\r\n{name}: {value}\r\n\r\n".encode()
        client.send(request)
        answer = client.response()
        assert answer is not None and answer.status == 200
        assert session.close_reason(30) == (1008, "certificate_expired")
        client.send(request)
        answer = client.response()
        assert answer is not None and answer.status == 403, "what was found good once is not good for ever"


# HAProxy.


@pytest.fixture
def haproxy(world: World, tmp_path: Path) -> Iterator[Callable[[str], HAProxy]]:
    running: list[HAProxy] = []

    def start(sections: str) -> HAProxy:
        proxy = HAProxy(tmp_path, sections)
        running.append(proxy)
        proxy.__enter__()
        return proxy

    yield start
    for proxy in running:
        proxy.__exit__()


TERMINATOR = """
frontend clients
    mode http
    bind 127.0.0.1:{port} ssl crt %(server)s ca-file %(ca)s verify optional alpn h2,http/1.1
    http-request set-header X-SSL-Client-DER %%[ssl_c_der,base64]
    http-request set-header X-SSL-Client-Chain-DER %%[ssl_c_chain_der,base64]
    http-request del-header Client-Cert
    default_backend relay
backend relay
    mode http
    server relay 127.0.0.1:%(relay)d %(options)s
"""


@pytest.mark.parametrize("hop", ["without TLS", "without TLS, HTTP/2", "mutual TLS"])
def test_haproxy_ends_tls(world: World, by_form: dict[str, Relay], haproxy: Callable[[str], HAProxy], hop: str) -> None:
    relay = by_form["x-ssl-client-der"]
    settings = {"server": bundle(world.folder, "front", world.server), "ca": world.authority.certificate, "relay": relay.proxy_port, "options": ""}
    if hop == "without TLS, HTTP/2":
        settings["options"] = "proto h2"
    elif hop == "mutual TLS":
        crt = bundle(world.folder, "edge", world.proxy)
        settings |= {"relay": relay.port, "options": f"ssl verify required ca-file {world.authority.certificate} sni str(localhost) crt {crt}"}
    front = haproxy(TERMINATOR % settings)
    for name in ("alice", "bob"):
        # Whatever the client claims is overwritten by what it has shown.
        with Session1(front.port, world.context(world.good[name]), proxies.haproxy_field(world.good["stayer"])) as session:
            expect_identity(session.identity, world.good[name], "forwarded")
            assert session.is_alive()
    nobody = tls.client_context(world.authority.certificate)
    assert refusal(front.port, nobody, proxies.haproxy_field(world.good["alice"])) == 403
    assert refusal(front.port, nobody, proxies.client_cert(world.good["alice"])) == 403


def test_haproxy_ends_tls_for_http2_clients(world: World, by_form: dict[str, Relay], haproxy: Callable[[str], HAProxy]) -> None:
    """One HTTP/2 connection of the client; to the relay HAProxy makes of each WebSocket what it likes."""
    relay = by_form["x-ssl-client-der"]
    front = haproxy(
        TERMINATOR
        % {"server": bundle(world.folder, "front", world.server), "ca": world.authority.certificate, "relay": relay.proxy_port, "options": "ws h1"}
    )
    with H2Client(front.port, world.context(world.good["alice"], "h2")) as client:
        expect_identity(Session2(client).identity, world.good["alice"], "forwarded")


@pytest.fixture
def sample(world: World, by_form: dict[str, Relay], tmp_path: Path) -> Iterator[HAProxy]:
    """Deploy/balancers/haproxy-tls.cfg as it stands, but for ports and paths."""
    text = (Path(__file__).parent.parent / "Deploy/balancers/haproxy-tls.cfg").read_text()
    places = {
        "bind :443 ": "bind 127.0.0.1:{port} ",
        "/etc/haproxy/relay.pem": str(bundle(world.folder, "front", world.server)),
        "/etc/segue/ca/ca.pem": str(world.authority.certificate),
        "server relay 127.0.0.1:8080 ": f"server relay 127.0.0.1:{by_form['x-ssl-client-der'].proxy_port} ",
    }
    for written, real in places.items():
        assert text.count(written) == 1, written
        text = text.replace(written, real)
    with HAProxy(tmp_path, text, defaults="") as front:
        yield front


def test_the_sample_passes_certificates_on(world: World, sample: HAProxy) -> None:
    for name in ("alice", "bob"):
        with Session1(sample.port, world.context(world.good[name])) as session:
            expect_identity(session.identity, world.good[name], "forwarded")
            assert session.is_alive()
        with H2Client(sample.port, world.context(world.good[name], "h2")) as client:
            expect_identity(Session2(client).identity, world.good[name], "forwarded")


@pytest.mark.parametrize("form", FORMS)
def test_the_sample_believes_no_client(world: World, by_form: dict[str, Relay], sample: HAProxy, form: str) -> None:
    """Whoever shows no certificate has none, whatever the fields say; who shows one has that one."""
    claim = FORMS[form](world.good["alice"])
    ignored = count(by_form["x-ssl-client-der"], "segue_forwarded_certificates_ignored_total")
    assert refusal(sample.port, tls.client_context(world.authority.certificate), claim) == 403
    with Session1(sample.port, world.context(world.good["bob"]), claim) as session:
        expect_identity(session.identity, world.good["bob"], "forwarded")
    assert count(by_form["x-ssl-client-der"], "segue_forwarded_certificates_ignored_total") == ignored, "a field came through"


@pytest.mark.parametrize("kind", ["revoked", "expired", "other CA"])
def test_the_sample_leaves_the_verdict_to_the_relay(world: World, by_form: dict[str, Relay], sample: HAProxy, kind: str) -> None:
    identity, reason = world.bad[kind]
    before = count(by_form["x-ssl-client-der"], "segue_forwarded_certificates_refused_total")
    assert refusal(sample.port, world.context(identity)) == 403
    after = count(by_form["x-ssl-client-der"], "segue_forwarded_certificates_refused_total")
    assert any(after.get(word, 0) == before.get(word, 0) + 1 for word in reason.split("|")), (before, after)

PASSTHROUGH = """
frontend clients
    mode tcp
    bind 127.0.0.1:{port}
    default_backend relay
backend relay
    mode tcp
    server relay 127.0.0.1:%(relay)d send-proxy%(version)s
"""


@pytest.mark.parametrize("version", ["", "-v2"])
def test_haproxy_passes_tls_through(world: World, by_header: Relay, haproxy: Callable[[str], HAProxy], version: str) -> None:
    front = haproxy(PASSTHROUGH % {"relay": by_header.port, "version": version})
    with Session1(front.port, world.context(world.good["alice"])) as session:
        expect_identity(session.identity, world.good["alice"], "certificate")
        assert session.is_alive()


def test_haproxy_common_name_is_no_identity(world: World, by_header: Relay, haproxy: Callable[[str], HAProxy]) -> None:
    """`send-proxy-v2-ssl-cn` of a client with a good certificate: TLS, verified, CN=alice, and no certificate."""
    front = haproxy(
        f"""
frontend clients
    mode tcp
    bind 127.0.0.1:{{port}} ssl crt {bundle(world.folder, "front", world.server)} ca-file {world.authority.certificate} verify required
    default_backend relay
backend relay
    mode tcp
    server relay 127.0.0.1:{by_header.proxy_port} send-proxy-v2-ssl-cn
"""
    )
    context = world.context(world.good["alice"])
    assert refusal(front.port, context) == 403
    with RawHTTP1(front.port, context) as client:
        client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = client.response()
        assert answer is not None and answer.status == 200
