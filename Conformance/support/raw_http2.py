"""An HTTP/2 client that sends exactly the frames it is told to, and says what came back."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from dataclasses import dataclass

import hpack
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from . import tls

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, PRIORITY_FLAG, ACK = 0x1, 0x4, 0x8, 0x20, 0x1

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM = range(8)
CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(8, 12)
CODE_NAMES = (
    "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM "
    "CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM INADEQUATE_SECURITY HTTP_1_1_REQUIRED"
).split()


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"", length: int | None = None) -> bytes:
    """RFC 9113 §4.1. Nothing is checked: `stream` may carry the reserved bit, `length` may lie."""
    stated = len(payload) if length is None else length
    return struct.pack("!BHBBL", stated >> 16, stated & 0xFFFF, kind, flags, stream) + payload


def settings(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, payload=b"".join(struct.pack("!HL", *pair) for pair in pairs))


def window_update(stream: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, struct.pack("!L", increment))


def rst_stream(stream: int, code: int = CANCEL) -> bytes:
    return frame(RST_STREAM, 0, stream, struct.pack("!L", code))


def priority(stream: int, depends_on: int = 0, weight: int = 16, exclusive: bool = False) -> bytes:
    return frame(PRIORITY, 0, stream, struct.pack("!LB", depends_on | (1 << 31 if exclusive else 0), weight - 1))


@dataclass
class Ended:
    """The server closed the connection."""


@dataclass
class Silence:
    """Nothing came within the time to wait."""


class RawHTTP2:
    """A connection with its own HPACK state and a log of what was received, for the report when an expectation fails."""

    def __init__(self, port: int, context: ssl.SSLContext | None, *, patience: float = 2.0, path: str = "/healthz"):
        self.patience = patience
        self.path = path
        self.authority = f"localhost:{port}"
        if context is None:
            self.socket: socket.socket = socket.create_connection(("127.0.0.1", port), timeout=tls.SECONDS_MAX)
        else:
            self.socket = tls.connect(port, context)
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.buffer = b""
        self.seen: list[str] = []
        self.remote: dict[int, int] = {}

    def __enter__(self) -> RawHTTP2:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        """All frames in one write, so that the server sees them together. That it has closed already is for the reading side to tell."""
        try:
            self.socket.sendall(b"".join(frames))
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            pass

    def handshake(self, *pairs: tuple[int, int]) -> None:
        """§3.4: preface and SETTINGS out, the server's SETTINGS in, both acknowledged."""
        self.send(PREFACE, settings(*pairs))
        acknowledged = False
        while not (acknowledged and self.remote):
            received = self.receive(5.0)
            assert isinstance(received, Frame), f"no server preface: {received} after {self.seen}"
            if isinstance(received, SettingsFrame):
                if "ACK" in received.flags:
                    acknowledged = True
                else:
                    self.remote.update(received.settings or {3: 0})
                    self.send(frame(SETTINGS, ACK))

    def _fill(self, count: int, deadline: float) -> Ended | Silence | None:
        while len(self.buffer) < count:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return Silence()
            self.socket.settimeout(remaining)
            try:
                more = self.socket.recv(65536)
            except TimeoutError:
                return Silence()
            except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                more = b""
            if not more:
                return Ended()
            self.buffer += more
        return None

    def receive(self, patience: float | None = None) -> Frame | Ended | Silence:
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        if stopped := self._fill(9, deadline):
            self.seen.append(type(stopped).__name__)
            return stopped
        received, length = Frame.parse_frame_header(memoryview(self.buffer[:9]))
        if stopped := self._fill(9 + length, deadline):
            self.seen.append(type(stopped).__name__)
            return stopped
        received.parse_body(memoryview(self.buffer[9 : 9 + length]))
        self.buffer = self.buffer[9 + length :]
        self.seen.append(describe(received))
        return received

    def block(
        self,
        *extra: tuple[str, str],
        method: str = "GET",
        drop: tuple[str, ...] = (),
        pseudo: tuple[tuple[str, str], ...] = (),
    ) -> bytes:
        """A request's header block: the usual pseudo-fields less `drop`, plus `pseudo`, then `extra`."""
        usual = [(":method", method), (":scheme", "https"), (":path", self.path), (":authority", self.authority)]
        return self.encoder.encode([pair for pair in usual if pair[0] not in drop] + list(pseudo) + list(extra))

    def get(self, stream: int = 1) -> bytes:
        return frame(HEADERS, END_HEADERS | END_STREAM, stream, self.block())

    def post(self, stream: int = 1, *extra: tuple[str, str]) -> bytes:
        """A request whose body is still to come: the stream stays open."""
        return frame(HEADERS, END_HEADERS, stream, self.block(*extra, method="POST"))

    def expect_connection_error(self, *codes: int, or_end: bool = False) -> None:
        """§5.4.1: GOAWAY with one of the codes, then the end of the connection. `or_end`: the end alone will do."""
        while True:
            received = self.receive()
            if isinstance(received, GoAwayFrame):
                assert received.error_code in codes, self._complaint("GOAWAY", codes)
                return
            if isinstance(received, Ended) and or_end:
                return
            assert isinstance(received, Frame), self._complaint("GOAWAY", codes)

    def expect_stream_error(self, stream: int, *codes: int, or_response: bool = False) -> None:
        """§5.4.2: RST_STREAM with one of the codes. A GOAWAY with such a code is allowed too:
        an endpoint may treat a stream error as one of the connection.

        `or_response`: a 4xx answer will do as well (§8.1.1: a server may answer a malformed request before it closes or resets the stream).
        """
        while True:
            received = self.receive()
            if isinstance(received, RstStreamFrame) and received.stream_id == stream:
                assert received.error_code in codes, self._complaint("RST_STREAM", codes)
                return
            if isinstance(received, GoAwayFrame):
                assert received.error_code in codes, self._complaint("RST_STREAM", codes)
                return
            if or_response and isinstance(received, HeadersFrame) and received.stream_id == stream:
                status = dict(self.decoder.decode(received.data)).get(":status", "")
                assert status.startswith("4"), f"expected a refusal, the answer was {status}"
                return
            assert isinstance(received, Frame), self._complaint("RST_STREAM", codes)

    def expect_response(self, stream: int = 1) -> str:
        """The whole answer on `stream`: its status."""
        status = ""
        while True:
            received = self.receive()
            assert isinstance(received, Frame) and not isinstance(received, GoAwayFrame), f"expected an answer on stream {stream}, got {self.seen}"
            if isinstance(received, HeadersFrame):
                fields = dict(self.decoder.decode(received.data))
                if received.stream_id == stream:
                    status = fields.get(":status", status)
            if getattr(received, "stream_id", 0) == stream:
                assert not isinstance(received, RstStreamFrame), f"expected an answer on stream {stream}, got {self.seen}"
                if isinstance(received, (HeadersFrame, DataFrame, ContinuationFrame)) and "END_STREAM" in received.flags:
                    return status

    def expect_ping_answered(self, payload: bytes = b"segue-ok") -> None:
        """The connection is alive: a PING comes back, and nothing before it was a GOAWAY."""
        self.send(frame(PING, payload=payload))
        while True:
            received = self.receive()
            if isinstance(received, PingFrame) and "ACK" in received.flags and received.opaque_data == payload:
                return
            assert isinstance(received, Frame) and not isinstance(received, GoAwayFrame), f"the connection is not alive: {self.seen}"

    def expect_end(self) -> None:
        """The server closes the connection, with or without a GOAWAY."""
        while isinstance(received := self.receive(), Frame):
            pass
        assert isinstance(received, Ended), f"the connection stayed open: {self.seen}"

    def _complaint(self, kind: str, codes: tuple[int, ...]) -> str:
        return f"expected {kind} {'/'.join(CODE_NAMES[code] for code in codes)}, got {self.seen}"


def describe(received: Frame) -> str:
    name = type(received).__name__.removesuffix("Frame")
    if isinstance(received, (GoAwayFrame, RstStreamFrame)):
        code = received.error_code
        return f"{name}({received.stream_id}, {CODE_NAMES[code] if code < len(CODE_NAMES) else code})"
    if isinstance(received, WindowUpdateFrame):
        return f"{name}({received.stream_id}, +{received.window_increment})"
    return f"{name}({received.stream_id}, {'|'.join(sorted(received.flags))}, {received.body_len} octets)"
