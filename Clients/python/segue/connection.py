"""One WebSocket to a relay, from its opening to `welcome` and to its end (protocol sections 1.3, 1.5, 3.2, 8). No state of the session lives here."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConcurrencyError, ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from .errors import Closed, ConnectionFailed, ConnectionLost, HandshakeRefused, MessageError, NoAnswer, Refused
from .frames import Limits

PATH, SUBPROTOCOL = "/v1/session", Subprotocol("segue.v1")
VERSIONS = [1]
# A relay that is alive pings every 15 s (section 7), and `time` is asked more often than that.
SILENCE_SECONDS_MAX = 35.0
OPENING_SECONDS_MAX = 15.0
CLOSING_SECONDS_MAX = 5.0


def tls_context(authority: str | Path | None = None, certificate: str | Path | None = None, key: str | Path | None = None) -> ssl.SSLContext:
    """Trusts `authority` (PEM) instead of the system's, and shows `certificate` with its `key`, if there is one (section 1.2)."""
    context = ssl.create_default_context(cafile=None if authority is None else str(authority))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context


def parse(text: str | bytes) -> dict[str, Any]:
    """A control message: an object with a `type`."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError("a text message is no JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise MessageError("a text message is no object with a type")
    return message


def refusal(request: str, answer: Mapping[str, Any]) -> Refused:
    """What an `error` says. Raises MessageError when it is none."""
    code, message, retry = answer.get("code"), answer.get("message"), answer.get("retry")
    if not isinstance(code, str) or not isinstance(message, str) or not isinstance(retry, bool):
        raise MessageError(f"an error without code, message or retry answers {request}")
    return Refused(request, code, message, retry)


class Connection:
    """An open WebSocket that has been welcomed. `welcome` is the relay's answer to `hello`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.welcome: dict[str, Any] = {}
        self.limits = Limits()
        self.bytes_in = self.bytes_out = 0

    @classmethod
    async def open(cls, url: str, context: ssl.SSLContext | None, token: str | None, hello: Mapping[str, Any], limits: Limits) -> Connection:
        """Opens one and says hello, within a bound of time.

        Raises ConnectionFailed, HandshakeRefused, Refused, Closed, ConnectionLost, MessageError, NoAnswer.
        """
        target = url.rstrip("/") + ("" if url.rstrip("/").endswith(PATH) else PATH)
        headers = {"Authorization": f"Bearer {token}"} if token else None
        options: dict[str, Any] = {"ssl": context} if target.startswith("wss:") else {}
        try:
            # The relay declines compression of media, and asks often enough who is alive.
            socket = await connect(
                target,
                subprotocols=[SUBPROTOCOL],
                additional_headers=headers,
                compression=None,
                ping_interval=None,
                max_size=limits.video,
                open_timeout=OPENING_SECONDS_MAX,
                close_timeout=CLOSING_SECONDS_MAX,
                **options,
            )
        except InvalidStatus as error:
            raise HandshakeRefused(error.response.status_code, _detail(bytes(error.response.body or b""))) from None
        except (InvalidHandshake, InvalidURI, OSError, EOFError, TimeoutError, asyncio.TimeoutError) as error:
            raise ConnectionFailed(f"{type(error).__name__}: {error}") from error
        connection = cls(socket)
        try:
            await asyncio.wait_for(connection._greet(hello, limits), OPENING_SECONDS_MAX)
        except asyncio.TimeoutError:
            await connection.close()
            raise NoAnswer("hello was not answered in time") from None
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _greet(self, hello: Mapping[str, Any], limits: Limits) -> None:
        await self.send(json.dumps({"type": "hello", "versions": VERSIONS, **hello}))
        text = await self.receive()
        if isinstance(text, bytes):
            raise MessageError("media came before welcome")
        answer = parse(text)
        if answer["type"] == "error":
            raise refusal("hello", answer)
        if answer["type"] != "welcome" or answer.get("id") != hello["id"] or not isinstance(answer.get("limits"), dict):
            raise MessageError(f"hello was answered by {answer['type']!r}")
        said = answer["limits"]
        try:
            bounds = [int(said[f"{kind}FrameBytesMax"]) for kind in ("audio", "video", "data")]
        except (KeyError, TypeError, ValueError):
            raise MessageError("welcome lacks limits") from None
        # What the relay's operator lets others send, as far as this client takes it.
        self.limits = Limits(min(bounds[0], limits.video), min(bounds[1], limits.video), min(bounds[2], limits.video))
        self.welcome = answer

    async def send(self, message: str | bytes) -> None:
        """Raises ConnectionLost or Closed when it is over."""
        try:
            await self._socket.send(message)
        except ConnectionClosed as end:
            raise _end(end) from None
        self.bytes_out += len(message)

    async def receive(self) -> str | bytes:
        """The next message. Raises ConnectionLost when the connection ended without a close frame, or nothing came for long; Closed for a close frame."""
        try:
            message = await asyncio.wait_for(self._socket.recv(), SILENCE_SECONDS_MAX)
        except asyncio.TimeoutError:
            raise ConnectionLost(f"nothing came for {SILENCE_SECONDS_MAX:.0f} s") from None
        except ConcurrencyError:
            # It is being closed, and what comes until then is dropped.
            await self._socket.wait_closed()
            raise Closed(1000, "closed by this side") from None
        except ConnectionClosed as end:
            raise _end(end) from None
        self.bytes_in += len(message)
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Waits for the relay's close frame, but not for long. What is still to be read is dropped."""
        draining = asyncio.ensure_future(self._drain())
        try:
            await self._socket.close(code, reason)
        finally:
            draining.cancel()

    def abort(self) -> None:
        """Ends the connection without a close frame, as a network that fails: the relay keeps the session (section 3.18)."""
        self._socket.transport.abort()

    async def _drain(self) -> None:
        # The library reads no further while messages wait, and the close frame comes behind them. Where somebody else reads, that one drains.
        try:
            while True:
                await self._socket.recv()
        except (ConnectionClosed, ConcurrencyError):
            pass


def _end(closed: ConnectionClosed) -> Closed | ConnectionLost:
    """Who sent a close frame: the relay, or this side because of what it got. Without any, the connection was lost."""
    frame = closed.rcvd or closed.sent
    if frame is None:
        return ConnectionLost("the connection ended without a close frame")
    return Closed(frame.code, frame.reason)


def _detail(body: bytes) -> str:
    """The sentence of a problem document (RFC 9457)."""
    try:
        problem = json.loads(body)
    except ValueError:
        return ""
    return str(problem.get("detail") or problem.get("title") or "") if isinstance(problem, dict) else ""
