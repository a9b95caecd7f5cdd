"""A client of the protocol on third-party WebSockets: Python `websockets` over HTTP/1.1, `h2` with `wsproto` over HTTP/2.

Blocking, with every wait bounded. Whatever comes while something is waited for is kept: events in `events`, media in `frames`.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field

from h2.exceptions import ProtocolError
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from wsproto.events import CloseConnection
from wsproto.utilities import LocalProtocolError

from .h2_websocket import H2Client
from .relay import Identity, Relay
from .serial_tls import SerialContext
from .traffic import Conversation

SECONDS_MAX = 20
PATH, SUBPROTOCOL = "/v1/session", "segue.v1"
AUDIO, VIDEO, DATA, CONFIGURATION, BUNDLE, PART = 0, 1, 2, 3, 4, 5
KINDS = {"audio": AUDIO, "video": VIDEO, "data": DATA}
KEY, DISCARDABLE, ENCRYPTED = 0x01, 0x02, 0x40
Fields = tuple[tuple[str, str], ...]


class Refused(Exception):
    """The relay answered a request with an error."""

    def __init__(self, request: dict, answer: dict):
        super().__init__(f"{request} was refused: {answer}")
        self.code, self.message, self.retry = answer["code"], answer["message"], answer["retry"]


class Closed(Exception):
    """The relay ended the session."""

    def __init__(self, code: int | None, reason: str):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


@dataclass(frozen=True)
class Frame:
    kind: int
    flags: int
    stream: int
    sequence: int
    payload: bytes
    # The whole message as it came.
    message: bytes = field(default=b"", compare=False, repr=False)

    @classmethod
    def parse(cls, message: bytes) -> Frame:
        version_and_kind, flags, _, _, stream, sequence, _ = struct.unpack("!BBBBIII", message[:16])
        assert version_and_kind >> 4 == 1, message[:16].hex()
        return cls(version_and_kind & 15, flags, stream, sequence, message[16:], message)


class Unpacker:
    """Makes frames of a relay's binary messages: parts are put together, bundles taken apart (protocol §4.4, §4.6)."""

    def __init__(self):
        self.unfinished: dict[int, bytearray] = {}
        # Every binary message as (kind, frames that it brought to an end, its length): what parts and bundles are measured by.
        self.messages: list[tuple[int, int, int]] = []

    def take(self, message: bytes) -> list[bytes]:
        kind = message[0] & 15
        frames = {BUNDLE: self._bundle, PART: self._part}.get(kind, self._whole)(message)
        self.messages.append((kind, len(frames), len(message)))
        return frames

    def _whole(self, message: bytes) -> list[bytes]:
        stream = struct.unpack("!I", message[4:8])[0]
        assert stream not in self.unfinished, f"a frame of stream {stream} between the parts of another"
        return [message]

    def _bundle(self, message: bytes) -> list[bytes]:
        assert message[:16] == bytes.fromhex("1400007f") + bytes(12), message[:16].hex()
        frames, offset = [], 16
        while offset < len(message):
            length = struct.unpack("!I", message[offset : offset + 4])[0]
            frame = message[offset + 4 : offset + 4 + length]
            assert len(frame) == length and length >= 16 and frame[0] & 15 in (AUDIO, VIDEO, DATA), frame[:16].hex()
            frames += self._whole(frame)
            offset += 4 + length
        assert len(frames) > 1, "one frame alone comes as itself"
        return frames

    def _part(self, message: bytes) -> list[bytes]:
        stream, offset, total = struct.unpack("!4xI8xII", message[:24])
        frame = self.unfinished.setdefault(stream, bytearray())
        assert message[1] == 0 and len(message) > 24, message[:24].hex()
        assert offset == len(frame) and offset + len(message) - 24 <= total, (offset, len(frame), total)
        frame += message[24:]
        assert message[2:16] == frame[2:16], "a part repeats its frame's header"
        if len(frame) < total:
            return []
        del self.unfinished[stream]
        return [bytes(frame)]


def frame_message(kind: int, stream: int, sequence: int, payload: bytes, *, flags: int = 0, level: int = 0x7F) -> bytes:
    """A media frame (protocol §4.1) whose timestamp is its sequence number."""
    return struct.pack("!BBBBIII", 0x10 | kind, flags, 0, level, stream, sequence, sequence) + payload


class HTTP1:
    def __init__(self, relay: Relay, context: ssl.SSLContext | None, fields: Fields):
        self.conversation = Conversation()
        self.socket = self._open(relay, context, fields)

    def connection(self, relay: Relay) -> socket.socket | None:
        """What it goes over; None: whatever the library opens."""
        return None

    def _open(self, relay: Relay, context: ssl.SSLContext | None, fields: Fields):
        self.opening = connect(
            f"{'wss' if context else 'ws'}://localhost:{relay.port}{PATH}",
            sock=self.connection(relay),
            ssl=context and SerialContext(context),
            subprotocols=[SUBPROTOCOL],
            additional_headers=fields,
            compression=None,
            # Its own pings end it where the machine is busy for long; the relay asks often enough who is alive.
            ping_interval=None,
            max_size=1 << 23,
            open_timeout=SECONDS_MAX,
            close_timeout=5,
        )
        return self.opening.__enter__()

    def send(self, message: str | bytes) -> None:
        self.conversation.sent(message)
        self.socket.send(message)

    def receive(self, seconds: float) -> str | bytes:
        try:
            message = self.socket.recv(timeout=seconds)
        except ConnectionClosed as end:
            raise Closed(end.rcvd and end.rcvd.code, end.rcvd.reason if end.rcvd else "") from None
        self.conversation.received(message)
        return message

    def close(self) -> None:
        # The library stops reading while sixteen messages wait for somebody who takes them, and the relay's close frame comes behind all there are.
        closing = threading.Thread(target=self.opening.__exit__, args=(None, None, None), daemon=True)
        closing.start()
        try:
            while True:
                self.socket.recv(timeout=SECONDS_MAX)
        except (ConnectionClosed, TimeoutError):
            pass
        closing.join()

    def cut(self) -> None:
        self.socket.socket.close()


class BehindProxy(HTTP1):
    """What a proxy that ends TLS would open on `relay.port`: without TLS, behind a PROXY header if there is one."""

    def __init__(self, relay: Relay, fields: Fields = (), header: bytes = b""):
        self.header = header
        super().__init__(relay, None, fields)

    def connection(self, relay: Relay) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", relay.port), timeout=SECONDS_MAX)
        opened.sendall(self.header)
        return opened


class _HTTP2:
    def __init__(self, relay: Relay, context: ssl.SSLContext, fields: Fields, client: H2Client | None = None):
        context.set_alpn_protocols(["h2"])
        self.client = client or H2Client(relay.port, context)
        self.socket = self.client.open_websocket(PATH, (SUBPROTOCOL,), fields)

    def send(self, message: str | bytes) -> None:
        if isinstance(message, str):
            self.socket.send_text(message)
        else:
            self.socket.send_binary(message)

    def receive(self, seconds: float) -> str | bytes:
        self.client.socket.settimeout(max(seconds, 0.001))
        try:
            while True:
                received = self.socket.receive()
                if isinstance(received, CloseConnection):
                    raise Closed(int(received.code), received.reason or "")
                if received is None:
                    raise Closed(None, "")
                if isinstance(received, (str, bytes)):
                    return received
        finally:
            self.client.socket.settimeout(SECONDS_MAX)

    def close(self) -> None:
        # Without a close frame the session would be kept for its client, and the end of the bench would not be its end.
        try:
            self.socket.send(CloseConnection(code=1000))
        except (LocalProtocolError, ProtocolError):
            # It is closed already, or its stream has ended.
            pass
        self.client.close()

    def cut(self) -> None:
        self.client.socket.close()


Transport = HTTP1 | _HTTP2


class Session:
    """One session that has said hello, unless `greets` is false. Use as a context manager, or keep it in a fixture that closes it.

    Without an `identity` the relay's default one is shown; `context` says exactly what is shown instead. `fields` go with the request that opens it. `over` is
    another session whose HTTP/2 connection it shares.
    """

    def __init__(
        self,
        relay: Relay,
        identity: Identity | None = None,
        *,
        http: str = "1.1",
        hello: dict | None = None,
        context: ssl.SSLContext | None = None,
        fields: Fields = (),
        greets: bool = True,
        over: Session | None = None,
        transport: Transport | None = None,
    ):
        context = context or relay.context(identity=identity)
        if transport:
            self.transport = transport
        elif over:
            self.transport = _HTTP2(relay, context, fields, over.transport.client)
        else:
            self.transport = (_HTTP2 if http == "2" else HTTP1)(relay, context, fields)
        self.events: list[dict] = []
        self.frames: list[Frame] = []
        self.unpacker = Unpacker()
        self.answers: dict[int, dict] = {}
        self.last_id = 0
        self.sequences: dict[int, int] = {}
        try:
            self.welcome = self.ask("hello", versions=[1], **(hello or {})) if greets else {}
        except BaseException:
            # Nobody else would: the relay would wait for it when it is told to stop.
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.transport.close()
        except (OSError, Closed):
            pass

    @property
    def name(self) -> str:
        return self.welcome["identity"]["name"]

    @property
    def fingerprint(self) -> str:
        return self.welcome["identity"]["fingerprint"]

    # Receiving

    def _take(self, seconds: float) -> None:
        message = self.transport.receive(seconds)
        if isinstance(message, bytes):
            self.frames += [Frame.parse(frame) for frame in self.unpacker.take(message)]
            return
        received = json.loads(message)
        if "id" in received:
            assert received["id"] not in self.answers, f"answered twice: {received}"
            self.answers[received["id"]] = received
        else:
            self.events.append(received)

    def wait(self, what: str, found, seconds: float = SECONDS_MAX):
        """Receives until `found()` is something else than None, and answers that."""
        deadline = time.monotonic() + seconds
        while (result := found()) is None:
            left = deadline - time.monotonic()
            try:
                if left <= 0:
                    raise TimeoutError
                self._take(left)
            except TimeoutError:
                raise AssertionError(f"no {what} within {seconds} s; events: {self.events[-5:]}, frames: {len(self.frames)}") from None
        return result

    def drain(self, seconds: float = 0.2) -> None:
        """Receives for so long, whatever comes."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._take(left)
            except TimeoutError:
                return

    def event(self, kind: str, /, seconds: float = SECONDS_MAX, **members) -> dict:
        """The first event of that type with these members; it is taken off the list, and so is everything before it of the same type."""

        def found() -> dict | None:
            for place, event in enumerate(self.events):
                if event["type"] == kind and all(event.get(name) == value for name, value in members.items()):
                    del self.events[place]
                    return event
            return None

        return self.wait(f"{kind} {members}", found, seconds)

    def closed(self, seconds: float = SECONDS_MAX) -> Closed:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._take(left)
            except Closed as end:
                return end
            except TimeoutError:
                break
        raise AssertionError(f"the session was not closed within {seconds} s")

    def news(self) -> list[str]:
        """The types of the events that the relay has told of until now, taken off the list."""
        self.barrier()
        types = self.types()
        self.events.clear()
        return types

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    # Asking

    def send(self, kind: str, /, **members) -> int:
        self.last_id += 1
        self.transport.send(json.dumps({"type": kind, "id": self.last_id, **members}))
        return self.last_id

    def ask(self, kind: str, /, **members) -> dict:
        """The answer's members. Raises Refused for an error."""
        return self.answer(self.send(kind, **members), {"type": kind, **members})

    def answer(self, number: int, request: dict | None = None) -> dict:
        """The answer to what was sent under a number."""
        answer = self.wait(f"answer to {request or number}", lambda: self.answers.get(number))
        if answer["type"] == "error":
            raise Refused(request or {}, answer)
        return answer

    def refusal(self, kind: str, /, **members) -> str:
        """The code that a request is refused with."""
        try:
            answer = self.ask(kind, **members)
        except Refused as refused:
            return refused.code
        raise AssertionError(f"{kind} {members} was not refused: {answer}")

    def barrier(self) -> None:
        """Everything that was sent has been read by the relay when this returns."""
        self.ask("time", clientTime=0)

    # Media

    def publish(self, kind: str = "audio", codec: str | None = None, *, configured: bool = True) -> int:
        stream = self.ask("publish", kind=kind, codec=codec or {"audio": "opus", "video": "vp8", "data": "x"}[kind])["stream"]
        if configured:
            self.configure(stream)
        return stream

    def configure(self, stream: int, payload: bytes = b"") -> None:
        self.transport.send(struct.pack("!BBBBIII", 0x10 | CONFIGURATION, 0, 0, 0x7F, stream, self.sequences.get(stream, 0), 0) + payload)

    def media(self, kind: str, stream: int, payload: bytes, flags: int = 0) -> int:
        """Sends a frame; answers its sequence number."""
        sequence = self.sequences.get(stream, 0)
        self.sequences[stream] = sequence + 1
        self.transport.send(struct.pack("!BBBBIII", 0x10 | KINDS[kind], flags, 0, 0x7F, stream, sequence, sequence * 960) + payload)
        return sequence

    def frame(self, payload: bytes, seconds: float = SECONDS_MAX) -> Frame:
        """Waits for a frame with this payload."""
        return self.wait(f"frame {payload[:16]!r}", lambda: next((frame for frame in self.frames if frame.payload == payload), None), seconds)

    def send_message(self, message: bytes) -> None:
        """A binary message as it stands."""
        self.transport.send(message)

    def next_message(self, seconds: float = SECONDS_MAX) -> bytes:
        """The next media frame in order of arrival, taken off the list, as it came."""
        self.wait("frame", lambda: self.frames or None, seconds)
        return self.frames.pop(0).message

    def payloads(self, stream: int | None = None) -> list[bytes]:
        """Of the media frames so far, in order of arrival; configurations are left out."""
        return [frame.payload for frame in self.frames if frame.kind != CONFIGURATION and stream in (None, frame.stream)]
