"""What can go wrong, as exceptions. All are `SegueError`; none has a token, a key or a payload in its text."""

from __future__ import annotations


class SegueError(Exception):
    """Any failure that this library tells of."""


class FrameError(SegueError):
    """A binary message is no media frame by the protocol's section 4. `name` is the fault's name in section 4.5, `code` the close code that goes with it."""

    UNSUPPORTED = ("media_version_unsupported", "media_kind_unknown")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    @property
    def code(self) -> int:
        if self.name in self.UNSUPPORTED:
            return 1003
        return 1009 if self.name == "media_parts_too_many" or self.name.startswith("media_frame_over_") else 1002


class MessageError(SegueError):
    """A text message is no control message: no JSON, no object, no type, or an answer that lacks what every answer of its kind has."""


class Refused(SegueError):
    """The relay answered a request with an error (section 3.11). `retry`: the same request may succeed later."""

    def __init__(self, request: str, code: str, message: str, retry: bool) -> None:
        super().__init__(f"{request}: {code}: {message}")
        self.request, self.code, self.message, self.retry = request, code, message, retry


class HandshakeRefused(SegueError):
    """The relay refused to open a WebSocket (section 1.5): `status` is HTTP's, `detail` the problem document's sentence, if there was one."""

    # Others fail the same way again.
    PASSING = (429, 502, 503, 504)

    def __init__(self, status: int, detail: str = "") -> None:
        super().__init__(f"{status} {detail}".strip())
        self.status, self.detail = status, detail

    @property
    def retry(self) -> bool:
        return self.status in self.PASSING


class ConnectionFailed(SegueError):
    """No connection came about: no such host, nobody listens, TLS failed (no certificate, a certificate that is not trusted), or it took too long."""


class ConnectionLost(SegueError):
    """The connection ended while a request had no answer yet. Whether it was done, the room model shows when the client is back (section 3.18)."""


class NoAnswer(SegueError):
    """The relay did not answer in time."""


class Closed(SegueError):
    """The session is over: `code` and `reason` are the close frame's (section 8.2); without one, `code` is None."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(f"{code} {reason}".strip() if code is not None else reason)
        self.code, self.reason = code, reason
