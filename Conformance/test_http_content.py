"""Content of requests and answers that come later, over both HTTP versions: what is taken, what is refused, and what hostile clients make of it."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable

import h2.errors
import h2.events
import pytest
from support.admin import AdminSetting, request
from support.h2_websocket import H2Client
from support.relay import Relay

BODY_MILLISECONDS_MAX = 1_500
CONTENT_BYTES_MAX = 64 << 10


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("content"), limits={"requestHeadMillisecondsMax": BODY_MILLISECONDS_MAX})


@pytest.fixture(autouse=True)
def _healthy(setting: AdminSetting):
    yield
    setting.relay.assert_healthy()


JSON = "Content-Type: application/json\r\n"
# The operation needs no rights, and says 404 where the relay has no authority of its own: then the content was taken.
TAKEN = 404
CONTENT: tuple[tuple[str, bytes, int], ...] = (
    ("one object", request("POST", "/v1/enroll", b"{}"), TAKEN),
    ("with a charset", request("POST", "/v1/enroll", b"{}", "Content-Type: Application/JSON ; charset=utf-8\r\n"), TAKEN),
    ("no object", request("POST", "/v1/enroll", b"[]"), 400),
    ("no JSON", request("POST", "/v1/enroll", b"{"), 400),
    ("not UTF-8", request("POST", "/v1/enroll", b'{"a": "\xff"}'), 400),
    ("nested beyond all sense", request("POST", "/v1/enroll", b'{"a":' * 9_000 + b"1" + b"}" * 9_000), 400),
    ("RFC 9110 §15.5.12 no length", f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n".encode(), 411),
    ("no content", request("POST", "/v1/enroll", b""), 400),
    ("RFC 9110 §15.5.16 another type", request("POST", "/v1/enroll", b"{}", "Content-Type: text/plain\r\n"), 415),
    ("a form", request("POST", "/v1/enroll", b"a=b", "Content-Type: application/x-www-form-urlencoded\r\n"), 415),
    ("two types", request("POST", "/v1/enroll", b"{}", JSON + "Content-Type: text/plain\r\n"), 415),
    ("compressed", request("POST", "/v1/enroll", b"{}", JSON + "Content-Encoding: gzip\r\n"), 415),
    (
        "RFC 9112 §7.1 in chunks",
        f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n1;a=b\r\n}}\r\n0\r\nT: t\r\n\r\n".encode(),
        TAKEN,
    ),
    (
        "RFC 9112 §7.1 a chunk that is none",
        f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\nxyz\r\n".encode(),
        400,
    ),
    (
        "RFC 9110 §15.5.14 too much by its own account",
        f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: {CONTENT_BYTES_MAX + 1}\r\n\r\n".encode(),
        413,
    ),
    (
        "RFC 9110 §15.5.14 too much in chunks",
        f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n{CONTENT_BYTES_MAX + 1:x}\r\n".encode(),
        413,
    ),
)


@pytest.mark.parametrize(("what", "octets", "status"), CONTENT, ids=[row[0] for row in CONTENT])
def test_content(setting: AdminSetting, what: str, octets: bytes, status: int) -> None:
    with setting.connect(None) as client:
        client.send(octets)
        response = client.response()
        assert response is not None and response.status == status, f"{what}: {response}"
        if status != 413 and what != "RFC 9112 §7.1 a chunk that is none":
            client.send(request("GET", "/healthz"))
            again = client.response()
            assert again is not None and again.status == 200, "the next request is answered"
        else:
            assert client.ends(), "one answer, and the end"


def test_content_cut_anywhere(setting: AdminSetting) -> None:
    octets = f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n".encode() + b"a\r\n" + b'{"a": "b"}' + b"\r\n0\r\n\r\n"
    with setting.connect(None) as client:
        for octet in octets:
            client.send(bytes([octet]))
        response = client.response()
        assert response is not None and response.status == TAKEN


def test_expect_100_continue(setting: AdminSetting) -> None:
    """RFC 9110 §10.1.1: told to go on when the content is wanted, refused at once when it is not."""
    head = f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n".encode()
    with setting.connect(None) as client:
        client.send(head)
        interim = client.response()
        assert interim is not None and interim.status == 100
        client.send(b"{}")
        response = client.response()
        assert response is not None and response.status == TAKEN
    with setting.connect(None) as client:
        client.send(head.replace(b"application/json", b"text/plain"))
        response = client.response()
        assert response is not None and response.status == 415
        assert client.ends(), "whether the content comes all the same nobody can tell"


def test_content_larger_than_announced_is_the_next_request(setting: AdminSetting) -> None:
    with setting.connect(None) as client:
        client.send(request("POST", "/v1/enroll", b"{}") + b"{}")
        response = client.response()
        assert response is not None and response.status == TAKEN
        client.send(b"\r\n\r\n")
        again = client.response()
        assert again is not None and again.status == 400 and client.ends()


def test_content_that_never_ends_is_given_up(setting: AdminSetting) -> None:
    with setting.connect(None) as client:
        started = time.monotonic()
        client.send(f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Content-Length: 1000\r\n\r\n".encode())
        for _ in range(3):
            client.send(b"{")
            time.sleep(0.2)
        response = client.response()
        assert response is not None and response.status == 408 and client.ends()
        assert time.monotonic() - started >= BODY_MILLISECONDS_MAX / 1000 * 0.9


def test_a_get_with_content_is_answered_and_the_content_dropped(setting: AdminSetting) -> None:
    """RFC 9110 §9.3.1: it means nothing, and does not become the next request."""
    with setting.connect() as client:
        client.send(b"GET /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a" + request("GET", "/healthz"))
        assert [client.response().status for _ in range(2)] == [200, 200]
        assert not client.buffer


def h2_post(client: H2Client, *fields: tuple[str, str]) -> int:
    head = [(":method", "POST"), (":scheme", "https"), (":path", "/v1/enroll"), (":authority", client.authority)]
    return client.open_stream([*head, ("content-type", "application/json"), *fields], end=False)


def test_content_over_http2(setting: AdminSetting) -> None:
    with setting.h2(None) as client:
        streams = [h2_post(client) for _ in range(4)]
        for piece in (b'{"a"', b": 1", b"}"):
            for stream in streams:
                client.send_data(stream, piece)
        for stream in reversed(streams):
            client.connection.end_stream(stream)
            client.flush()
            assert client.response(stream)[0] == TAKEN
        # RFC 9113 §8.1.1: the declared length must be right.
        stream = h2_post(client, ("content-length", "5"))
        client.connection.send_data(stream, b"{}")
        client.flush()
        assert client.request("GET", "/healthz")[0] == 200


def test_expect_100_continue_over_http2(setting: AdminSetting) -> None:
    with setting.h2(None) as client:
        stream = h2_post(client, ("expect", "100-continue"))
        interim = client.next_event(stream)
        assert isinstance(interim, h2.events.InformationalResponseReceived) and dict(interim.headers)[":status"] == "100"
        client.connection.send_data(stream, b"{}", end_stream=True)
        client.flush()
        assert client.response(stream)[0] == TAKEN


def test_too_much_content_over_http2(setting: AdminSetting) -> None:
    with setting.h2(None) as client:
        stream = h2_post(client)
        for _ in range(5):
            client.connection.send_data(stream, b" " * 16_000)
            client.flush()
        assert client.response(stream)[0] == 413
        assert client.request("GET", "/healthz")[0] == 200


def test_content_that_never_ends_over_http2(setting: AdminSetting) -> None:
    with setting.h2(None) as client:
        stream = h2_post(client)
        client.send_data(stream, b"{")
        assert client.response(stream)[0] == 408
        assert client.request("GET", "/healthz")[0] == 200


def test_too_many_requests_at_a_time(setting: AdminSetting) -> None:
    """Each waits for its content; those beyond the bound are told to come back, and room comes again."""
    with setting.h2(None) as client:
        streams = [h2_post(client) for _ in range(20)]
        refused = [client.response(stream)[0] for stream in streams[16:]]
        assert refused == [503] * 4
        for stream in streams[:16]:
            client.connection.send_data(stream, b"{}", end_stream=True)
        client.flush()
        assert [client.response(stream)[0] for stream in streams[:16]] == [TAKEN] * 16
        stream = h2_post(client)
        client.connection.send_data(stream, b"{}", end_stream=True)
        client.flush()
        assert client.response(stream)[0] == TAKEN


# Answers that come later.


def test_pipelined_requests_wait_for_the_one_before(setting: AdminSetting) -> None:
    """RFC 9112 §9.3.2: in order, whoever knows the answer."""
    with setting.connect() as client:
        pipelined = [("GET", "/v1/rooms"), ("GET", "/healthz"), ("DELETE", "/v1/rooms/nowhere"), ("HEAD", "/v1/sessions"), ("GET", "/v1/openapi.json")] * 20
        client.send(b"".join(request(method, path) for method, path in pipelined))
        for method, path in pipelined:
            response = client.response(to_head=method == "HEAD")
            assert response is not None and response.status == (404 if "nowhere" in path else 200)
            if path == "/healthz":
                assert response.body == b"ok\n"


def test_clients_that_go_away_while_they_wait(setting: AdminSetting) -> None:
    for number in range(60):
        client = setting.connect()
        client.send(request("GET", "/v1/sessions") + request("GET", "/v1/rooms"))
        if number % 2:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.socket.close()
    with setting.h2() as client:
        for _ in range(50):
            head = [(":method", "GET"), (":scheme", "https"), (":path", "/v1/sessions"), (":authority", client.authority)]
            stream = client.open_stream(head, end=True)
            client.connection.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        client.flush()
        assert client.request("GET", "/v1/rooms")[0] == 200


def test_whoever_sends_on_and_on_behind_a_body_is_cut_off(setting: AdminSetting) -> None:
    with setting.connect() as client:
        # The content never ends, so that what follows is content: bounded by its limit.
        client.send(f"POST /v1/enroll HTTP/1.1\r\nHost: localhost\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
        for _ in range(200):
            client.send(chunk)
        try:
            response = client.response()
        except ssl.SSLError:
            response = None
        assert response is None or response.status == 413
