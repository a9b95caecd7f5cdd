"""Members who are not what they should be: each was once seen to bring the relay down, to get in, or to make it hold too much."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time

import pytest
from support import tls
from support.bystander import Bystander
from support.raw_websocket import BINARY, TEXT, RawWebSocket, frame
from support.relay import Relay

SUBPROTOCOL = "segue.v1"
CONFIGURATION, VIDEO = 3, 1
KEY = 1


@pytest.fixture(scope="module")
def tight(start_relay) -> Relay:
    """A relay with little patience for unread answers, none for stalls, and any number of requests."""
    environment = {
        "SEGUE_LIMITS_CONTROL_QUEUE_BYTES_MAX": "65536",
        "SEGUE_LIMITS_CONTROL_MESSAGES_PER_SECOND_MAX": "1000000",
        "SEGUE_LIMITS_STALL_MILLISECONDS_MAX": "3000",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return start_relay("tight", arguments=("--echo", "--client-certificates", "required"))


class Session:
    def __init__(self, relay: Relay, room: str, receive_buffer: int | None = None):
        self.ws = RawWebSocket(relay.port, relay.context(), path="/v1/session", subprotocol=SUBPROTOCOL)
        if receive_buffer is not None:
            self.ws.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.request({"type": "hello", "id": 1, "versions": [1]})
        self.request({"type": "join", "id": 2, "room": room})

    def send(self, request: dict) -> None:
        self.ws.send(frame(TEXT, json.dumps(request).encode()))

    def request(self, request: dict) -> dict:
        """Sends, and reads on to the answer."""
        self.send(request)
        while (received := self.ws.receive()) is not None:
            if received[0] == TEXT and (answer := json.loads(received[1])).get("id") == request["id"]:
                return answer
        raise AssertionError(f"the session ended instead of answering {request}")

    def publish(self, kind: str, codec: str) -> int:
        stream = self.request({"type": "publish", "id": 3, "kind": kind, "codec": codec})["stream"]
        self.media(CONFIGURATION, stream, 0, b"")
        return stream

    def media(self, kind: int, stream: int, sequence: int, payload: bytes, flags: int = 0) -> None:
        self.ws.send(frame(BINARY, struct.pack("!BBBBIII", 0x10 | kind, flags, 0, 0, stream, sequence, sequence * 3000) + payload))


def test_answers_that_nobody_reads_end_the_session_alone(tight: Relay) -> None:
    """Once the overflow closed the session in the middle of its own `subscribe`, which trapped."""
    publisher = Session(tight, "flooded")
    streams = [publisher.request({"type": "publish", "id": 10 + n, "kind": "data", "codec": "x"})["stream"] for n in range(16)]
    deaf = Session(tight, "flooded", receive_buffer=4096)
    everything = frame(TEXT, json.dumps({"type": "subscribe", "id": 9, "streams": streams}).encode())
    # The close frame waits behind what is not read, so the relay's own count tells how the session ended.
    ended = 'segue_websockets_closed_total{reason="1013_control_queue"} 1'
    with Bystander(tight):
        deadline = time.monotonic() + 90
        while ended not in tight.get("/metrics")[2]:
            assert time.monotonic() < deadline, "the session was not ended"
            deaf.ws.send(everything * 1_000)
    tight.assert_healthy()


def test_a_reader_that_is_slow_and_steady_is_not_stalled(tight: Relay) -> None:
    publisher = Session(tight, "slow")
    stream = publisher.publish("video", "vp8")
    reader = Session(tight, "slow", receive_buffer=16_384)
    reader.request({"type": "subscribe", "id": 3, "all": True})
    stop = threading.Event()

    def send() -> None:
        for sequence in range(100_000):
            if stop.wait(0.01):
                return
            publisher.media(VIDEO, stream, sequence, bytes(20_000), KEY if sequence % 10 == 0 else 0)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        begun, taken = time.monotonic(), 0
        # Twice the stall limit and more, at about 400 kB/s of 2 MB/s.
        while time.monotonic() - begun < 8:
            octets = reader.ws.socket.recv(4096)
            assert octets, "the relay ended a session that reads"
            taken += len(octets)
            time.sleep(0.01)
    finally:
        stop.set()
        sender.join()
    assert taken > 100_000


def test_nothing_follows_unsubscribe(tight: Relay) -> None:
    publisher = Session(tight, "fickle")
    stream = publisher.publish("video", "vp8")
    for sequence in range(20):
        publisher.media(VIDEO, stream, sequence, bytes(100_000), KEY if sequence == 0 else 0)
    publisher.request({"type": "time", "id": 4, "clientTime": 0})
    fickle = Session(tight, "fickle")
    both = [{"type": "subscribe", "id": 3, "all": True}, {"type": "unsubscribe", "id": 4, "all": True}]
    fickle.ws.send(b"".join(frame(TEXT, json.dumps(request).encode()) for request in both))
    fickle.request({"type": "time", "id": 5, "clientTime": 0})
    fickle.ws.socket.settimeout(1)
    with pytest.raises(TimeoutError):
        while (received := fickle.ws.receive()) is not None:
            assert received[0] != BINARY, "media after unsubscribe was answered"


def test_input_after_the_last_response_is_not_kept(tight: Relay) -> None:
    """A client that pipelines without reading is given up on; what it goes on sending must not pile up."""
    connection = tls.connect(tight.port, tight.context())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    before = resident_bytes(tight)
    connection.settimeout(10)
    sent = 0
    try:
        connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n" * 20_000)
        while sent < 200 << 20:
            connection.sendall(bytes(1 << 20))
            sent += 1 << 20
    except (OSError, ssl.SSLError):
        pass
    assert resident_bytes(tight) - before < 64 << 20
    connection.close()
    tight.assert_healthy()


def resident_bytes(relay: Relay) -> int:
    with open(f"/proc/{relay.process.pid}/statm", encoding="ascii") as statistics:
        return int(statistics.read().split()[1]) * 4096
