"""HTTP/1.1 as bytes: sends what it is told to and parses the answers strictly."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from . import tls


@dataclass
class Response:
    status: int
    fields: dict[str, str]
    body: bytes


class RawHTTP1:
    def __init__(self, port: int, context: ssl.SSLContext | None, *, prelude: bytes = b""):
        self.socket = tls.connect(port, context, prelude=prelude)
        self.buffer = b""

    def __enter__(self) -> RawHTTP1:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, octets: bytes) -> None:
        """Sends; that the server has closed meanwhile shows when reading."""
        try:
            self.socket.sendall(octets)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            pass

    def _fill(self) -> bool:
        try:
            more = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError):
            more = b""
        self.buffer += more
        return bool(more)

    def response(self, *, to_head: bool = False) -> Response | None:
        """The next answer, or None at the connection's end. `to_head`: it answers a HEAD, so no body follows."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._fill():
                assert not self.buffer, f"the connection ended within a head: {self.buffer!r}"
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        status_line, *lines = head.decode("latin-1").split("\r\n")
        version, status, _ = status_line.split(" ", 2)
        assert version == "HTTP/1.1" and len(status) == 3, status_line
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        length = 0 if to_head or status in ("204", "304") else int(fields.get("content-length", "0"))
        while len(self.buffer) < length:
            assert self._fill(), "the connection ended within a body"
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Response(int(status), fields, body)

    def ends(self) -> bool:
        """True when the server closes without another octet (within the socket's timeout)."""
        try:
            return not self.buffer and not self._fill()
        except TimeoutError:
            return False
