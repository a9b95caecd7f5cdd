"""WebSocket over HTTP/2 (RFC 8441) out of third-party parts: h2 does the HTTP/2, wsproto the WebSocket frames. Several share one connection."""

from __future__ import annotations

import ssl
from collections import deque

import h2.config
import h2.connection
import h2.events
import h2.settings
from wsproto import ConnectionType
from wsproto.connection import Connection as WebSocketFrames
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

from . import tls
from .traffic import SUBPROTOCOL, Conversation


class StreamRefused(Exception):
    """The server answered the extended CONNECT with something else than 200, or reset the stream."""

    def __init__(self, status: int | None, fields: dict[str, str], reset: int | None = None):
        super().__init__(f"status {status}, reset {reset}")
        self.status, self.fields, self.reset = status, fields, reset


class H2Client:
    """One HTTP/2 connection over TLS, blocking; the WebSockets and requests on it pump it whenever one of them waits."""

    def __init__(self, port: int, context: ssl.SSLContext | None, *, window: int = 1 << 20, prelude: bytes = b""):
        self.authority = f"localhost:{port}"
        self.socket = tls.connect(port, context, prelude=prelude)
        # Without TLS both ends know beforehand that it is HTTP/2 (RFC 9113 §3.3).
        assert context is None or self.socket.selected_alpn_protocol() == "h2", "ALPN did not choose h2"
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.connection.initiate_connection()
        self.connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.events: dict[int, deque] = {}
        self.terminated: h2.events.ConnectionTerminated | None = None
        self.settings_seen = False
        self.flush()
        while not self.settings_seen:
            self.pump()

    def __enter__(self) -> H2Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.connection.close_connection()
            self.flush()
        except (OSError, h2.exceptions.ProtocolError):
            pass
        self.socket.close()

    @property
    def extended_connect(self) -> bool:
        """RFC 8441 §3: the server said SETTINGS_ENABLE_CONNECT_PROTOCOL = 1."""
        return self.connection.remote_settings.enable_connect_protocol == 1

    def flush(self) -> None:
        data = self.connection.data_to_send()
        if data:
            self.socket.sendall(data)

    def pump(self) -> None:
        """Waits for bytes and sorts what they mean by stream. Raises ConnectionError at the connection's end."""
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(f"the server closed the HTTP/2 connection ({self.terminated})")
        for event in self.connection.receive_data(data):
            if isinstance(event, h2.events.RemoteSettingsChanged):
                self.settings_seen = True
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.terminated = event
            elif getattr(event, "stream_id", 0):
                self.events.setdefault(event.stream_id, deque()).append(event)
        self.flush()

    def next_event(self, stream_id: int):
        waiting = self.events.setdefault(stream_id, deque())
        while not waiting:
            self.pump()
        return waiting.popleft()

    def open_stream(self, fields: list[tuple[str, str]], *, end: bool) -> int:
        stream_id = self.connection.get_next_available_stream_id()
        self.connection.send_headers(stream_id, fields, end_stream=end)
        self.flush()
        return stream_id

    def send_data(self, stream_id: int, data: bytes) -> None:
        """Sends all of it, waiting for window where there is none."""
        view = memoryview(data)
        while view:
            room = min(self.connection.local_flow_control_window(stream_id), self.connection.max_outbound_frame_size, len(view))
            if room == 0:
                self.pump()
                continue
            self.connection.send_data(stream_id, bytes(view[:room]))
            view = view[room:]
            self.flush()

    def request(self, method: str, path: str, fields: tuple[tuple[str, str], ...] = ()) -> tuple[int, dict[str, str], bytes]:
        """A request without a body: (status, fields, body)."""
        return self.response(self.open_stream([(":method", method), (":scheme", "https"), (":authority", self.authority), (":path", path), *fields], end=True))

    def response(self, stream_id: int) -> tuple[int, dict[str, str], bytes]:
        """The whole answer on a stream: (status, fields, body)."""
        status, answer, body = 0, {}, b""
        while True:
            event = self.next_event(stream_id)
            if isinstance(event, h2.events.ResponseReceived):
                answer = dict(event.headers)
                status = int(answer[":status"])
            elif isinstance(event, h2.events.DataReceived):
                body += event.data
                self.connection.acknowledge_received_data(event.flow_controlled_length, stream_id)
                self.flush()
            elif isinstance(event, h2.events.StreamReset):
                raise StreamRefused(status or None, answer, int(event.error_code))
            elif isinstance(event, h2.events.StreamEnded):
                return status, answer, body

    def open_websocket(
        self, path: str, subprotocols: tuple[str, ...] = (), fields: tuple[tuple[str, str], ...] = (), protocol: str = "websocket"
    ) -> H2WebSocket:
        """RFC 8441 §5: extended CONNECT. Raises StreamRefused unless the answer is 200."""
        head = [(":method", "CONNECT"), (":protocol", protocol), (":scheme", "https"), (":path", path), (":authority", self.authority)]
        head += [("sec-websocket-version", "13")]
        if subprotocols:
            head.append(("sec-websocket-protocol", ", ".join(subprotocols)))
        stream_id = self.open_stream([*head, *fields], end=False)
        while True:
            event = self.next_event(stream_id)
            if isinstance(event, h2.events.StreamReset):
                raise StreamRefused(None, {}, int(event.error_code))
            if isinstance(event, h2.events.ResponseReceived):
                answer = dict(event.headers)
                if answer[":status"] != "200":
                    raise StreamRefused(int(answer[":status"]), answer)
                return H2WebSocket(self, stream_id, answer)


class H2WebSocket:
    """One WebSocket on a stream. `receive` gives wsproto's events with messages put together; pings are answered as they come."""

    def __init__(self, client: H2Client, stream_id: int, fields: dict[str, str]):
        self.client, self.stream_id, self.fields = client, stream_id, fields
        self.frames = WebSocketFrames(ConnectionType.CLIENT)
        self.incoming: deque[Event] = deque()
        self.parts: list[str] | list[bytes] = []
        self.ended = False
        self.conversation = Conversation() if self.subprotocol == SUBPROTOCOL else None

    @property
    def subprotocol(self) -> str | None:
        return self.fields.get("sec-websocket-protocol")

    def send(self, event: Event) -> None:
        self.send_bytes(self.frames.send(event))

    def send_bytes(self, data: bytes) -> None:
        """Bytes of the WebSocket stream as they are: raw frames for violations, or frames cut anywhere."""
        self.client.send_data(self.stream_id, data)

    def send_text(self, text: str) -> None:
        if self.conversation:
            self.conversation.sent(text)
        self.send(TextMessage(data=text))

    def send_binary(self, data: bytes) -> None:
        self.send(BytesMessage(data=data))

    def ping(self, payload: bytes = b"") -> None:
        self.send(Ping(payload=payload))

    def receive(self) -> str | bytes | Pong | CloseConnection | None:
        """A whole message (str or bytes), a Pong, the peer's CloseConnection, or None once the stream has ended."""
        while True:
            while self.incoming:
                event = self.incoming.popleft()
                if isinstance(event, (TextMessage, BytesMessage)):
                    self.parts.append(event.data if isinstance(event, TextMessage) else bytes(event.data))
                    if event.message_finished:
                        whole = self.parts[0][:0].join(self.parts)
                        self.parts = []
                        if self.conversation:
                            self.conversation.received(whole)
                        return whole
                elif isinstance(event, Ping):
                    self.send(event.response())
                else:
                    return event
            if self.ended:
                return None
            self._take()

    def _take(self) -> None:
        event = self.client.next_event(self.stream_id)
        if isinstance(event, h2.events.DataReceived):
            self.client.connection.acknowledge_received_data(event.flow_controlled_length, self.stream_id)
            self.client.flush()
            self.frames.receive_data(bytes(event.data))
            self.incoming.extend(self.frames.events())
        elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
            self.ended = True

    def close(self, code: int = 1000, reason: str | None = None) -> int | None:
        """The close handshake (RFC 6455 §7): the code that the server answered."""
        self.send(CloseConnection(code=code, reason=reason))
        while (received := self.receive()) is not None:
            if isinstance(received, CloseConnection):
                self.client.connection.end_stream(self.stream_id)
                self.client.flush()
                return int(received.code)
        return None

    def close_code(self) -> int | None:
        """Reads on to the server's close frame: its code, or None when the stream ended without one."""
        while (received := self.receive()) is not None:
            if isinstance(received, CloseConnection):
                return int(received.code)
        return None
