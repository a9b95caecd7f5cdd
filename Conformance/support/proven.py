"""A session's beginning over either HTTP version: hello, and whom the relay then holds the client to be."""

from __future__ import annotations

import json
import ssl

from wsproto.events import CloseConnection

from .h2_websocket import H2Client, H2WebSocket, StreamRefused
from .raw_http1 import RawHTTP1
from .raw_websocket import CLOSE, PING, PONG, TEXT, RawWebSocket, frame

HELLO = json.dumps({"type": "hello", "id": 1, "versions": [1]})
Fields = tuple[tuple[str, str], ...]


class Session1:
    """A session over HTTP/1.1."""

    def __init__(self, port: int, context: ssl.SSLContext | None, fields: Fields = (), prelude: bytes = b""):
        self.socket = RawWebSocket(port, context, "/v1/session", "segue.v1", headers=fields, prelude=prelude)
        self.socket.send(frame(TEXT, HELLO.encode()))
        received = self.socket.receive()
        assert received is not None and received[0] == TEXT, received
        self.welcome = json.loads(received[1])
        assert self.welcome["type"] == "welcome", self.welcome

    @property
    def identity(self) -> dict | None:
        return self.welcome.get("identity")

    def is_alive(self) -> bool:
        self.socket.send(frame(TEXT, b'{"type":"time","id":2,"clientTime":1}'))
        while (received := self.socket.receive()) is not None:
            if received[0] == PING:
                self.socket.send(frame(PONG, received[1]))
            else:
                return received[0] == TEXT and json.loads(received[1])["type"] == "ok"
        return False

    def close_reason(self, seconds: float) -> tuple[int, str] | None:
        """What the relay's close frame says, or None when the connection ends without one."""
        self.socket.socket.settimeout(seconds)
        while (received := self.socket.receive()) is not None:
            if received[0] == CLOSE:
                return int.from_bytes(received[1][:2], "big"), received[1][2:].decode()
        return None

    def __enter__(self) -> Session1:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.socket.close()


class Session2:
    """A session over a stream of an HTTP/2 connection, which others may share."""

    def __init__(self, client: H2Client, fields: Fields = ()):
        self.client = client
        self.socket: H2WebSocket = client.open_websocket("/v1/session", ("segue.v1",), fields)
        self.socket.send_text(HELLO)
        received = self.socket.receive()
        assert isinstance(received, str), received
        self.welcome = json.loads(received)
        assert self.welcome["type"] == "welcome", self.welcome

    @property
    def identity(self) -> dict | None:
        return self.welcome.get("identity")

    def is_alive(self) -> bool:
        self.socket.send_text('{"type":"time","id":2,"clientTime":1}')
        received = self.socket.receive()
        return isinstance(received, str) and json.loads(received)["type"] == "ok"

    def close_reason(self, seconds: float) -> tuple[int, str] | None:
        self.client.socket.settimeout(seconds)
        while (received := self.socket.receive()) is not None:
            if isinstance(received, CloseConnection):
                return int(received.code), received.reason or ""
        return None


def refusal(port: int, context: ssl.SSLContext | None, fields: Fields = (), prelude: bytes = b"") -> int | None:
    """The status that a session over HTTP/1.1 is refused with, or None when it is opened."""
    head = "GET /v1/session HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    head += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: segue.v1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields)
    with RawHTTP1(port, context, prelude=prelude) as client:
        client.send(head.encode() + b"\r\n")
        answer = client.response()
    assert answer is not None, "closed without an answer"
    return None if answer.status == 101 else answer.status


def refusal_h2(client: H2Client, fields: Fields = ()) -> int | None:
    """The same over HTTP/2."""
    try:
        client.open_websocket("/v1/session", ("segue.v1",), fields)
        return None
    except StreamRefused as refused:
        return refused.status
