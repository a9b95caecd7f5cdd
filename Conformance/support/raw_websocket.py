"""A WebSocket client over HTTP/1.1 that sends exactly the bytes it is told to: for violations that no library would make."""

from __future__ import annotations

import base64
import hashlib
import os
import ssl
import struct

from . import tls
from .traffic import SUBPROTOCOL, Conversation

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(
    opcode: int,
    payload: bytes = b"",
    *,
    final: bool = True,
    masked: bool = True,
    reserved: int = 0,
    length: int | None = None,
    length_octets: int | None = None,
) -> bytes:
    """One frame. `length` lies about the payload's length; `length_octets` (0, 2 or 8) forces a longer form than is needed (RFC 6455 §5.2)."""
    stated = len(payload) if length is None else length
    first = (0x80 if final else 0) | reserved << 4 | opcode
    mask_bit = 0x80 if masked else 0
    if length_octets is None:
        length_octets = 0 if stated < 126 else 2 if stated < 1 << 16 else 8
    if length_octets == 0:
        head = struct.pack("!BB", first, mask_bit | stated)
    elif length_octets == 2:
        head = struct.pack("!BBH", first, mask_bit | 126, stated)
    else:
        head = struct.pack("!BBQ", first, mask_bit | 127, stated)
    if not masked:
        return head + payload
    key = os.urandom(4)
    return head + key + bytes(octet ^ key[index & 3] for index, octet in enumerate(payload))


class RawWebSocket:
    """An upgraded connection. Incoming frames are parsed strictly: the server's own faults show as AssertionError."""

    def __init__(
        self,
        port: int,
        context: ssl.SSLContext | None,
        path: str = "/echo",
        subprotocol: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        prelude: bytes = b"",
        host: str = "127.0.0.1",
    ):
        self.socket = tls.connect(port, context, prelude=prelude, host=host)
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {path} HTTP/1.1", f"Host: localhost:{port}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key.decode()}", "Sec-WebSocket-Version: 13"]
        if subprotocol is not None:
            lines.append(f"Sec-WebSocket-Protocol: {subprotocol}")
        lines += [f"{name}: {value}" for name, value in headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            more = self.socket.recv(4096)
            assert more, f"closed within the handshake after {self.buffer!r}"
            self.buffer += more
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.head = head.decode("latin-1")
        self.conversation = Conversation() if subprotocol == SUBPROTOCOL else None
        assert self.head.startswith("HTTP/1.1 101"), self.head
        expected = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        assert f"sec-websocket-accept: {expected}".lower() in self.head.lower(), "§4.2.2 Sec-WebSocket-Accept is wrong"

    def __enter__(self) -> RawWebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Sends; that the server has closed meanwhile is no fault here, the reading side tells why it did."""
        if self.conversation:
            self.conversation.sent_bytes(data)
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            pass

    def _take(self, count: int) -> bytes | None:
        while len(self.buffer) < count:
            try:
                more = self.socket.recv(65536)
            except (ConnectionResetError, ssl.SSLEOFError):
                more = b""
            if not more:
                return None
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self) -> tuple[int, bytes, bool] | None:
        """The next frame as (opcode, payload, final), or None at the end of the connection."""
        head = self._take(2)
        if head is None:
            return None
        assert not head[1] & 0x80, "§5.1 a server must not mask"
        assert not head[0] & 0x70, "§5.2 a reserved bit is set that no extension defines"
        length = head[1] & 0x7F
        if length >= 126:
            octets = 2 if length == 126 else 8
            extended = self._take(octets)
            assert extended is not None, "the connection ended within a frame's head"
            length = int.from_bytes(extended, "big")
            assert length > (125 if octets == 2 else 0xFFFF), "§5.2 the length is not in its shortest form"
        payload = self._take(length)
        assert payload is not None, "the connection ended within a frame"
        opcode, final = head[0] & 0x0F, bool(head[0] & 0x80)
        if self.conversation and opcode == TEXT and final:
            self.conversation.received_text(payload)
        return opcode, payload, final

    def close_code(self) -> int | None:
        """Reads on to the close frame: its code (1005 when it has none), or None when the connection ended without one."""
        while (received := self.receive()) is not None:
            opcode, payload, _ = received
            if opcode == CLOSE:
                return int.from_bytes(payload[:2], "big") if payload else 1005
        return None

    def ends(self) -> bool:
        """True when the server closes the connection (within the socket's timeout)."""
        try:
            while self.receive() is not None:
                pass
        except TimeoutError:
            return False
        return True
