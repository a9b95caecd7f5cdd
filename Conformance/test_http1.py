"""HTTP/1.1 over real sockets: what must be answered, what must be refused, and vectors of request smuggling."""

from __future__ import annotations

import json

import pytest
from support import metrics
from support.raw_http1 import RawHTTP1
from support.raw_http2 import DATA, RawHTTP2, window_update
from support.relay import Relay

KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
VERSION = "Sec-WebSocket-Version: 13\r\n"


def get(path: str = "/healthz", fields: str = "", method: str = "GET", host: str = "Host: localhost\r\n") -> bytes:
    return f"{method} {path} HTTP/1.1\r\n{host}{fields}\r\n".encode("latin-1")


def test_pipelined_requests_are_answered_in_order(relay: Relay) -> None:
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get() + get("/nowhere") + get(method="HEAD") + get("/readyz"))
        for status, to_head in ((200, False), (404, False), (200, True), (200, False)):
            response = client.response(to_head=to_head)
            assert response is not None and response.status == status


def turns(before: str, after: str) -> float:
    """The most turns that one of the relay's loops has made between two readings of the metrics."""
    name = "segue_loop_iterations_total"
    then = {labels["loop"]: value for sample, labels, value in metrics.parse(before) if sample == name}
    return max(value - then[labels["loop"]] for sample, labels, value in metrics.parse(after) if sample == name)


@pytest.mark.parametrize("path", ["/healthz", "/v1/keys", "/nowhere"])
def test_pipelined_requests_are_served_over_many_turns(relay: Relay, path: str) -> None:
    """Media waits while a loop answers: a client that writes hundreds of requests at once has a few in each turn, in order, and all of them."""
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get("/metrics") + get(path) * 400 + get("/metrics"))
        answers = [client.response() for _ in range(402)]
        assert all(answer is not None for answer in answers)
        assert [answer.status for answer in answers[1:-1]] == [answers[1].status] * 400
        assert turns(answers[0].body.decode(), answers[-1].body.decode()) >= 400 / 8 - 1
        # What comes behind the last of them is still read.
        client.send(get())
        assert client.response().status == 200


def test_streams_are_served_over_many_turns(relay: Relay) -> None:
    """As above over HTTP/2, where the limit on streams bounds how many come at once."""
    with RawHTTP2(relay.port, relay.context(alpn=("h2",))) as client:
        client.handshake()
        requests = [window_update(0, 1 << 20)]
        for stream in range(1, 181, 2):
            client.path = "/metrics" if stream in (1, 179) else "/healthz"
            requests.append(client.get(stream))
        client.send(*requests)
        bodies = {stream: b"" for stream in range(1, 181, 2)}
        ended: set[int] = set()
        while len(ended) < len(bodies):
            received = client.receive(10)
            assert getattr(received, "stream_id", None) is not None, client.seen
            if received.type == DATA:
                bodies[received.stream_id] += received.data
            if "END_STREAM" in received.flags:
                ended.add(received.stream_id)
        assert all(body == b"ok\n" for stream, body in bodies.items() if stream not in (1, 179))
        assert turns(bodies[1].decode(), bodies[179].decode()) >= 90 / 8 - 1
        client.expect_ping_answered()


def test_head_cut_anywhere_is_understood(relay: Relay) -> None:
    with RawHTTP1(relay.port, relay.context()) as client:
        for octet in get(fields="X-Test: one octet a record\r\n"):
            client.send(bytes([octet]))
        response = client.response()
        assert response is not None and response.status == 200


def test_pipelined_message_right_after_the_upgrade(relay: Relay) -> None:
    """Frames sent together with the request head must not be lost."""
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get("/echo", UPGRADE + KEY + VERSION) + b"\x81\x82\x00\x00\x00\x00hi")
        response = client.response()
        assert response is not None and response.status == 101
        assert response.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # RFC 6455 §1.3
        while len(client.buffer) < 4:
            client._fill()
        assert client.buffer == b"\x81\x02hi"


@pytest.mark.parametrize(("version", "fields", "kept"), [("1.1", "", True), ("1.1", "Connection: close\r\n", False), ("1.0", "", False)])
def test_connection_persistence(relay: Relay, version: str, fields: str, kept: bool) -> None:
    """RFC 9112 §9.3."""
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(f"GET /healthz HTTP/{version}\r\nHost: localhost\r\n{fields}\r\n".encode())
        response = client.response()
        assert response is not None and response.status == 200
        if kept:
            client.send(get())
            again = client.response()
            assert again is not None and again.status == 200
        else:
            assert client.ends()


def test_refusals_are_problem_documents(relay: Relay) -> None:
    """RFC 9457."""
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get("/nowhere"))
        response = client.response()
        assert response is not None and response.status == 404
        assert response.fields["content-type"].startswith("application/problem+json")
        document = json.loads(response.body)
        assert document["status"] == 404 and document["title"]


# (clause and what, the octets, statuses that are right).
REFUSED: tuple[tuple[str, bytes, tuple[int, ...]], ...] = (
    ("RFC 9110 §9.1 a method that the path has not", get(method="DELETE"), (405,)),
    ("RFC 9110 §9.1 a method that nobody knows", get(method="BREW"), (405, 501)),
    ("an unknown path", get("/nowhere"), (404,)),
    ("RFC 9112 §3.2 no Host", get(host=""), (400,)),
    ("RFC 9112 §3.2 two Hosts", get(fields="Host: other\r\n"), (400,)),
    ("RFC 9112 §2.3 HTTP/2.0 in a request line", b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", (505,)),
    ("RFC 9112 §2.3 HTTP/9.9", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", (505,)),
    ("RFC 9112 §2.3 http in small letters", b"GET / http/1.1\r\nHost: localhost\r\n\r\n", (400, 505)),
    ("RFC 9112 §3 a request line without a version", b"GET /healthz\r\nHost: localhost\r\n\r\n", (400, 505)),
    ("RFC 9112 §3 two spaces in the request line", b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
    ("RFC 9112 §3 a tab in the request line", b"GET\t/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
    ("RFC 9112 §3.2 a target without a slash", b"GET healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
    ("RFC 9110 §5.6.2 a method that is no token", b"GE(T) /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", (400,)),
    ("RFC 9112 §2.2 lines that end in LF alone", b"GET /healthz HTTP/1.1\nHost: localhost\n\n", (400,)),
    ("RFC 9112 §2.2 a CR within a value", get(fields="X-Test: a\rb\r\n"), (400,)),
    ("RFC 9110 §5.5 NUL in a value", get(fields="X-Test: a\0b\r\n"), (400,)),
    ("RFC 9110 §5.1 a control character in a name", get(fields="X\x01Test: a\r\n"), (400,)),
    ("RFC 9112 §5.1 a space before the colon", get(fields="Content-Length : 0\r\n"), (400,)),
    ("RFC 9112 §5.2 a folded line", get(fields="X-Test: a\r\n b\r\n"), (400,)),
    ("RFC 9112 §5 a line without a colon", get(fields="nonsense\r\n"), (400,)),
    ("RFC 9112 §5 an empty name", get(fields=": a\r\n"), (400,)),
    ("RFC 9112 §2.2 a space before the first field", get(host=" Host: localhost\r\n"), (400,)),
    ("a head over 16 KiB in one field", get(fields=f"X-Test: {'a' * 20_000}\r\n"), (431,)),
    ("a head over 16 KiB that never ends", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-Test: " + b"a" * 200_000, (431,)),
    ("more than 100 fields", get(fields="".join(f"X-{index}: a\r\n" for index in range(101))), (431,)),
    ("a target over 16 KiB", get("/" + "a" * 20_000), (414, 431)),
)


@pytest.mark.parametrize(("what", "octets", "statuses"), REFUSED, ids=[row[0] for row in REFUSED])
def test_request_is_refused(relay: Relay, what: str, octets: bytes, statuses: tuple[int, ...]) -> None:
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(octets)
        response = client.response()
        assert response is not None, f"{what}: closed without an answer"
        assert response.status in statuses, f"{what}: {response.status}"
        if response.status == 405:
            assert "GET" in response.fields["allow"]
        if response.status in (400, 431, 505):
            assert client.ends(), "what follows a head that cannot be read cannot be read either"


SMUGGLED = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
# Heads whose end of body two parsers may see in different places (RFC 9112 §6.3, §11.2).
SMUGGLING: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("Content-Length and Transfer-Encoding", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", (400,)),
    ("Transfer-Encoding and Content-Length", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", (400,)),
    ("two different Content-Lengths", "Content-Length: 0\r\nContent-Length: 44\r\n", (400,)),
    ("a list of Content-Lengths", "Content-Length: 0, 44\r\n", (400,)),
    ("a Content-Length with a sign", "Content-Length: +44\r\n", (400,)),
    ("a negative Content-Length", "Content-Length: -1\r\n", (400,)),
    ("a hexadecimal Content-Length", "Content-Length: 0x2c\r\n", (400,)),
    ("a Content-Length with an underscore", "Content-Length: 4_4\r\n", (400,)),
    ("a Content-Length beyond 64 bits", "Content-Length: 99999999999999999999999\r\n", (400, 413)),
    ("an empty Content-Length", "Content-Length:\r\n", (400,)),
    ("Transfer-Encoding of an unknown coding", "Transfer-Encoding: xchunked\r\n", (400, 501)),
    ("Transfer-Encoding where chunked is not last", "Transfer-Encoding: chunked, identity\r\n", (400, 501)),
    ("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", (400, 501)),
    ("Transfer-Encoding with a vertical tab", "Transfer-Encoding: \x0bchunked\r\n", (400, 501)),
    ("Transfer-Encoding in quotes", 'Transfer-Encoding: "chunked"\r\n', (400, 501)),
    ("Transfer-Encoding with a space before the colon", "Transfer-Encoding : chunked\r\n", (400,)),
    ("Transfer-Encoding behind a bare CR", "X: y\rTransfer-Encoding: chunked\r\n", (400,)),
    ("Transfer-Encoding behind a bare LF", "X: y\nTransfer-Encoding: chunked\r\n", (400,)),
    ("a folded Transfer-Encoding", "Transfer-Encoding:\r\n chunked\r\n", (400,)),
)


@pytest.mark.parametrize(("what", "fields", "statuses"), SMUGGLING, ids=[row[0] for row in SMUGGLING])
def test_smuggling_is_refused_and_nothing_after_it_answered(relay: Relay, what: str, fields: str, statuses: tuple[int, ...]) -> None:
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get(fields=fields, method="POST") + b"0\r\n\r\n" + SMUGGLED.encode())
        response = client.response()
        assert response is not None and response.status in statuses, f"{what}: {response}"
        assert client.ends(), "the request behind it was answered"


def test_transfer_encoding_in_http_1_0(relay: Relay) -> None:
    """RFC 9112 §6.1: the framing of such a message is faulty, and the connection ends after it."""
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(
            b"POST /healthz HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n" + SMUGGLED.encode()
        )
        response = client.response()
        assert response is not None and response.status >= 400
        assert client.ends()


# (clause and what, method, fields of the request to /echo, statuses, a field that the answer must have).
UPGRADES: tuple[tuple[str, str, str, tuple[int, ...], str | None], ...] = (
    ("RFC 6455 §4.4 another version", "GET", UPGRADE + KEY + "Sec-WebSocket-Version: 12\r\n", (426,), "sec-websocket-version"),
    ("RFC 6455 §4.2.1 no version", "GET", UPGRADE + KEY, (400, 426), None),
    ("RFC 6455 §4.2.1 no key", "GET", UPGRADE + VERSION, (400,), None),
    ("RFC 6455 §4.2.1 a key that is not 16 octets", "GET", UPGRADE + VERSION + "Sec-WebSocket-Key: c2hvcnQ=\r\n", (400,), None),
    ("RFC 6455 §4.2.1 a key that is not base64", "GET", UPGRADE + VERSION + "Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!==\r\n", (400,), None),
    ("RFC 6455 §11.3.1 two keys", "GET", UPGRADE + VERSION + KEY + KEY, (400,), None),
    ("RFC 6455 §4.2.1 another method", "POST", UPGRADE + KEY + VERSION, (405, 400), None),
    ("RFC 9110 §15.5.22 no Upgrade at all", "GET", "", (426,), "upgrade"),
    ("RFC 6455 §4.2.1 Upgrade without Connection", "GET", "Upgrade: websocket\r\n" + KEY + VERSION, (400, 426), None),
    ("RFC 6455 §4.2.1 Upgrade to something else", "GET", "Upgrade: h2c\r\nConnection: Upgrade\r\n" + KEY + VERSION, (400, 426), None),
    ("RFC 6455 §10.2 a foreign Origin", "GET", UPGRADE + KEY + VERSION + "Origin: https://evil.example\r\n", (403,), None),
    ("RFC 6454 §7.3 the Origin null", "GET", UPGRADE + KEY + VERSION + "Origin: null\r\n", (403,), None),
    ("RFC 6454 §7.3 two Origins", "GET", UPGRADE + KEY + VERSION + "Origin: https://localhost\r\nOrigin: https://evil.example\r\n", (400, 403), None),
)


@pytest.mark.parametrize(("what", "method", "fields", "statuses", "field"), UPGRADES, ids=[row[0] for row in UPGRADES])
def test_upgrade_is_refused(relay: Relay, what: str, method: str, fields: str, statuses: tuple[int, ...], field: str | None) -> None:
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get("/echo", fields, method))
        response = client.response()
        assert response is not None and response.status in statuses, f"{what}: {response}"
        assert field is None or field in response.fields


def test_upgrade_names_are_case_insensitive_and_lists_are_read(relay: Relay) -> None:
    with RawHTTP1(relay.port, relay.context()) as client:
        client.send(get("/echo", "UPGRADE: h2c, WebSocket\r\ncOnnection: keep-alive, upGrade\r\n" + KEY + VERSION))
        response = client.response()
        assert response is not None and response.status == 101
