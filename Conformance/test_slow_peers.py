"""Peers that hold a connection without doing anything: each stage has its deadline, and nobody else notices."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable

import pytest
from support import tls
from support.bystander import Bystander
from support.raw_http2 import END_STREAM, HEADERS, RawHTTP2, frame
from support.raw_websocket import TEXT, RawWebSocket
from support.raw_websocket import frame as websocket_frame
from support.relay import Relay

# The relay's deadlines are 10 s each (handshake, request head, header block, incomplete message, hello); the rest is for a busy machine.
SECONDS_MAX = 40


def connected(relay: Relay) -> socket.socket:
    return socket.create_connection(("127.0.0.1", relay.port), timeout=10)


def silent(relay: Relay) -> socket.socket:
    return connected(relay)


def half_hello(relay: Relay) -> socket.socket:
    raw = connected(relay)
    raw.sendall(client_hello(relay)[:60])
    return raw


def hello_only(relay: Relay) -> socket.socket:
    raw = connected(relay)
    raw.sendall(client_hello(relay))
    return raw


def client_hello(relay: Relay) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    machine = relay.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        machine.do_handshake()
    return outgoing.read()


def half_head(relay: Relay) -> socket.socket:
    client = tls.connect(relay.port, relay.context())
    client.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
    return client


class DribblingClient:
    """A socket that another thread writes to now and then. Closing ends that thread first: the number of a closed socket goes to the next one."""

    def __init__(self, client: socket.socket, line: bytes):
        self.client = client
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._dribble, args=(line,), daemon=True)
        self.thread.start()

    def _dribble(self, line: bytes) -> None:
        try:
            self.client.sendall(line)
            while not self.stopped.wait(1):
                self.client.sendall(line)
        except OSError:
            pass

    def settimeout(self, seconds: float) -> None:
        self.client.settimeout(seconds)

    def recv(self, count: int) -> bytes:
        return self.client.recv(count)

    def setsockopt(self, *arguments: int | bytes) -> None:
        self.client.setsockopt(*arguments)

    def close(self) -> None:
        self.stopped.set()
        self.thread.join(10)
        assert not self.thread.is_alive(), "the dribbling thread still writes"
        self.client.close()


def dribbled_head(relay: Relay) -> DribblingClient:
    """Slowloris: an octet now and then keeps an idle timer from firing, but not a deadline."""
    client = tls.connect(relay.port, relay.context())
    client.sendall(b"GET /healthz HTTP/1.1\r\n")
    return DribblingClient(client, b"X-Slow: a\r\n")


def half_header_block(relay: Relay) -> socket.socket:
    c = RawHTTP2(relay.port, relay.context(alpn=("h2",)))
    c.handshake()
    c.send(frame(HEADERS, END_STREAM, 1, c.block()))
    return c.socket


def half_preface(relay: Relay) -> socket.socket:
    client = tls.connect(relay.port, relay.context(alpn=("h2",)))
    client.sendall(b"PRI * HTTP")
    return client


def half_message(relay: Relay) -> socket.socket:
    client = RawWebSocket(relay.port, relay.context())
    client.send(websocket_frame(TEXT, b"half a message", final=False))
    return client.socket


def half_frame(relay: Relay) -> socket.socket:
    client = RawWebSocket(relay.port, relay.context())
    client.send(websocket_frame(TEXT, b"half a frame")[:9])
    return client.socket


def no_hello(relay: Relay) -> socket.socket:
    return RawWebSocket(relay.port, relay.context(), "/v1/session", "segue.v1").socket


STAGES: tuple[Callable[[Relay], socket.socket | DribblingClient], ...] = (
    silent,
    half_hello,
    hello_only,
    half_head,
    dribbled_head,
    half_header_block,
    half_preface,
    half_message,
    half_frame,
    no_hello,
)


def wait_for_end(client: socket.socket | DribblingClient, deadline: float) -> bool:
    """Reads until the server ends the connection."""
    try:
        while (remaining := deadline - time.monotonic()) > 0:
            client.settimeout(remaining)
            if not client.recv(65536):
                return True
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


@pytest.mark.slow
def test_every_stage_has_a_deadline(relay: Relay) -> None:
    with Bystander(relay):
        clients = [(stage.__name__, stage(relay)) for stage in STAGES]
        deadline = time.monotonic() + SECONDS_MAX
        ended: dict[str, bool] = {}
        threads = [
            threading.Thread(target=lambda name=name, client=client: ended.update({name: wait_for_end(client, deadline)})) for name, client in clients
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS_MAX + 10)
        for _, client in clients:
            client.close()
        held = [name for name, done in ended.items() if not done]
        assert not held, f"still open after {SECONDS_MAX} s: {held}"


@pytest.mark.slow
def test_many_half_open_connections_leave_room(relay: Relay) -> None:
    """300 connections that never shake hands: a client that does is served all the while."""
    with Bystander(relay):
        clients = [silent(relay) for _ in range(300)]
        relay.assert_healthy()
        for client in clients:
            client.close()


def test_garbage_instead_of_tls(relay: Relay) -> None:
    for octets in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        bytes(1_000),
        b"\x16\x03\x01\xff\xff" + bytes(500),
        b"\x80\x2e\x01\x00\x02",
        b"\x15\x03\x03\x00\x02\x02\x28",
    ):
        with connected(relay) as raw:
            raw.sendall(octets)
            assert wait_for_end(raw, time.monotonic() + 15), octets[:20]


def test_client_hello_in_single_octets(relay: Relay) -> None:
    hello = client_hello(relay)
    with connected(relay) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for octet in hello:
            raw.sendall(bytes([octet]))
        readable, _, _ = select.select([raw], [], [], 10)
        assert readable and raw.recv(1) == b"\x16", "no answer to a ClientHello that came octet by octet"


def test_reset_at_every_stage(relay: Relay) -> None:
    """SO_LINGER of 0: the kernel sends RST, and the relay meets ECONNRESET wherever it stands."""
    for stage in STAGES:
        client = stage(relay)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
