"""Server-sent events (WHATWG HTML §9.2) of the relay over both HTTP versions."""

from __future__ import annotations

import json
import ssl
import time

import h2.events

from .h2_websocket import H2Client
from .raw_http1 import RawHTTP1

SECONDS_MAX = 20


class EventStream:
    """The events of one answer, parsed as they come."""

    def __init__(self) -> None:
        self.text = b""

    def _next_bytes(self) -> bytes | None:
        """More of the answer's content, or None at its end."""
        raise NotImplementedError

    def next(self) -> tuple[str, dict] | None:
        """The next event's name and its data, or None at the answer's end."""
        deadline = time.monotonic() + SECONDS_MAX
        while b"\n\n" not in self.text:
            assert time.monotonic() < deadline, "no event came"
            more = self._next_bytes()
            if more is None:
                return None
            self.text += more
        event, self.text = self.text.split(b"\n\n", 1)
        lines = dict(line.split(": ", 1) for line in event.decode().split("\n"))
        assert set(lines) == {"event", "data"}, lines
        return lines["event"], json.loads(lines["data"])

    def overview(self) -> dict:
        event = self.next()
        assert event is not None and event[0] == "overview"
        return event[1]


class HTTP1Events(EventStream):
    def __init__(self, port: int, context: ssl.SSLContext, path: str, *, fields: str = "", version: str = "1.1"):
        super().__init__()
        self.client = RawHTTP1(port, context)
        self.client.send(f"GET {path} HTTP/{version}\r\nHost: localhost:{port}\r\n{fields}\r\n".encode())
        while b"\r\n\r\n" not in self.client.buffer:
            assert self.client._fill()
        head, self.client.buffer = self.client.buffer.split(b"\r\n\r\n", 1)
        status_line, *lines = head.decode().split("\r\n")
        self.status = int(status_line.split(" ")[1])
        self.fields = dict(line.split(": ", 1) for line in lines)
        self.is_chunked = self.fields.get("transfer-encoding") == "chunked"

    def _next_bytes(self) -> bytes | None:
        """Exactly one chunk (RFC 9112 §7.1), or what there is."""
        client = self.client
        if not self.is_chunked:
            if not client.buffer and not client._fill():
                return None
            content, client.buffer = client.buffer, b""
            return content
        while b"\r\n" not in client.buffer:
            if not client._fill():
                return None
        size, rest = client.buffer.split(b"\r\n", 1)
        count = int(size, 16)
        while len(rest) < count + 2:
            client.buffer = b""
            assert client._fill(), "the connection ended within a chunk"
            rest += client.buffer
        assert rest[count : count + 2] == b"\r\n"
        client.buffer = rest[count + 2 :]
        return rest[:count]

    def close(self) -> None:
        self.client.socket.close()


class HTTP2Events(EventStream):
    def __init__(self, client: H2Client, path: str, fields: tuple[tuple[str, str], ...] = ()):
        super().__init__()
        self.client = client
        self.stream = client.open_stream([(":method", "GET"), (":scheme", "https"), (":authority", client.authority), (":path", path), *fields], end=True)
        event = client.next_event(self.stream)
        assert isinstance(event, h2.events.ResponseReceived), event
        self.fields = dict(event.headers)
        self.status = int(self.fields[":status"])

    def _next_bytes(self) -> bytes | None:
        event = self.client.next_event(self.stream)
        if isinstance(event, h2.events.DataReceived):
            self.client.connection.acknowledge_received_data(event.flow_controlled_length, self.stream)
            self.client.flush()
            return event.data
        return None

    def close(self) -> None:
        self.client.connection.reset_stream(self.stream, 8)
        self.client.flush()
