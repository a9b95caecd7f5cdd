"""Several sessions on one HTTP/2 connection that is slower than what they are due: what is urgent does not wait behind what is not."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable

import pytest
from support import metrics
from support.h2_websocket import H2Client, H2WebSocket
from support.relay import Relay
from support.session import CONFIGURATION, PATH, SUBPROTOCOL, Frame, Session

SECONDS_MAX = 30


class Multiplexed:
    """Sessions on one HTTP/2 connection, read at a pace of one's own."""

    def __init__(self, relay: Relay, *, window: int = 1 << 20):
        context = relay.context(alpn=("h2",))
        self.client = H2Client(relay.port, context, window=window)
        # The window of the connection as a whole is no matter here.
        self.client.connection.increment_flow_control_window(1 << 24)
        self.client.flush()
        self.last_id = 0

    def open(self, room: str, priority: str | None = None) -> H2WebSocket:
        fields = (("priority", priority),) if priority else ()
        socket = self.client.open_websocket(PATH, (SUBPROTOCOL,), fields)
        self.ask(socket, "hello", versions=[1])
        self.ask(socket, "join", room=room)
        self.ask(socket, "subscribe", all=True)
        return socket

    def ask(self, socket: H2WebSocket, kind: str, /, **members) -> dict:
        self.last_id += 1
        socket.send_text(json.dumps({"type": kind, "id": self.last_id, **members}))
        while True:
            received = socket.receive()
            answer = json.loads(received) if isinstance(received, str) else {}
            if answer.get("id") == self.last_id:
                assert answer["type"] != "error", answer
                return answer


def take(sockets: dict[str, H2WebSocket], client: H2Client, arrived: list[tuple[str, Frame, float]]) -> None:
    """Sorts what the connection has received: media frames in the order in which their last byte came."""
    for name, socket in sockets.items():
        while client.events.get(socket.stream_id):
            socket._take()
            while socket.incoming:
                event = socket.incoming.popleft()
                data = getattr(event, "data", None)
                if not isinstance(data, (bytes, bytearray)):
                    continue
                socket.parts.append(bytes(data))
                if event.message_finished:
                    frame = Frame.parse(b"".join(socket.parts))
                    socket.parts = []
                    if frame.kind != CONFIGURATION:
                        arrived.append((name, frame, time.monotonic()))


def read(
    connection: Multiplexed, sockets: dict[str, H2WebSocket], arrived: list, *, seconds: float, pause: float, until: Callable[[], bool] = lambda: False
) -> None:
    """Reads at most 16 KiB (one record) after each pause."""
    deadline = time.monotonic() + seconds
    connection.client.socket.settimeout(0.2)
    while time.monotonic() < deadline and not until():
        try:
            connection.client.pump()
        except TimeoutError:
            continue
        take(sockets, connection.client, arrived)
        time.sleep(pause)


@pytest.fixture
def publisher(relay: Relay):
    sessions: list[Session] = []

    def make(room: str, kind: str) -> tuple[Session, int]:
        session = Session(relay)
        sessions.append(session)
        session.ask("join", room=room)
        return session, session.publish(kind)

    yield make
    for session in sessions:
        session.close()


def test_audio_is_not_behind_the_video_of_other_sessions(relay: Relay, publisher) -> None:
    connection = Multiplexed(relay)
    speaker, audio = publisher("talk", "audio")
    cameras = [publisher(f"film{number}", "video") for number in range(4)]
    sockets = {"audio": connection.open("talk")} | {f"video{number}": connection.open(f"film{number}") for number in range(4)}
    sent: dict[tuple[str, int], float] = {}
    stop = threading.Event()

    def publish() -> None:
        tick = 0
        while not stop.wait(0.02):
            # In the same breath, and audio last.
            for number, (camera, video) in enumerate(cameras):
                sent[f"video{number}", camera.media("video", video, bytes(12_000), flags=1)] = time.monotonic()
            sent["audio", speaker.media("audio", audio, bytes(100))] = time.monotonic()
            tick += 1

    thread = threading.Thread(target=publish)
    thread.start()
    arrived: list[tuple[str, Frame, float]] = []
    try:
        # A quarter of what is due.
        read(connection, sockets, arrived, seconds=6, pause=0.025)
    finally:
        stop.set()
        thread.join(SECONDS_MAX)
    late: dict[str, list[float]] = {"audio": [], "video": []}
    for name, frame, at in arrived:
        if at - min(sent.values()) > 1:
            late[name[:5]].append(at - sent[name, frame.sequence])
    assert len(late["audio"]) > 20 and len(late["video"]) > 5, {name: len(values) for name, values in late.items()}
    heard = {frame.sequence for name, frame, _ in arrived if name == "audio"}
    seen = sum(1 for name, _, _ in arrived if name != "audio")
    assert seen < 4 * len(heard), "the connection was as fast as what was due"
    assert statistics.median(late["audio"]) < statistics.median(late["video"]), {name: statistics.median(values) for name, values in late.items()}
    # A reader as slow as this one opens its window in jumps of 128 KiB (two of the loopback's segments): some audio expires in between, and far more video does.
    due = max(heard) - min(heard) + 1
    assert len(heard) > 0.6 * due and len(heard) / due > 2 * seen / (4 * due), (len(heard), seen, due)
    relay.assert_healthy()


def test_a_stream_whose_window_is_shut_holds_nobody_up(relay: Relay, publisher) -> None:
    """RFC 9113 §5.2: flow control of one stream is nobody else's matter."""
    connection = Multiplexed(relay, window=40_000)
    camera, video = publisher("film", "data")
    speaker, audio = publisher("talk", "audio")
    shut = connection.open("film", "u=0")
    heard = connection.open("talk", "u=7")
    arrived: list[tuple[str, Frame, float]] = []
    for _ in range(40):
        camera.media("data", video, bytes(4_000))
    camera.barrier()
    # What comes for the one stream is never acknowledged: its window stays shut.
    for number in range(100):
        speaker.media("audio", audio, bytes(1_000) + number.to_bytes(2, "big"))
        if number % 20 == 0:
            read(connection, {"audio": heard}, arrived, seconds=5, pause=0, until=lambda expected=number: any(frame.sequence >= expected for _, frame, _ in arrived))
    read(connection, {"audio": heard}, arrived, seconds=SECONDS_MAX, pause=0, until=lambda: len(arrived) >= 100)
    assert [frame.sequence for _, frame, _ in arrived] == list(range(100))
    unread = sum(event.flow_controlled_length for event in connection.client.events[shut.stream_id] if hasattr(event, "flow_controlled_length"))
    assert 30_000 < unread <= 40_000, "the other stream's window was used up"
    # As soon as it opens, what waited comes.
    rest: list[tuple[str, Frame, float]] = []
    take({"data": shut}, connection.client, rest)
    read(connection, {"data": shut}, rest, seconds=SECONDS_MAX, pause=0, until=lambda: len(rest) >= 40)
    assert [frame.sequence for _, frame, _ in rest] == list(range(40))
    relay.assert_healthy()


def test_the_clients_urgency_decides_between_sessions_of_one_lane(relay: Relay, publisher) -> None:
    """RFC 9218 §4.1, of the request's `priority` field."""
    connection = Multiplexed(relay)
    first, one = publisher("a", "data")
    second, two = publisher("b", "data")
    sockets = {"late": connection.open("a", "u=6"), "soon": connection.open("b", "u=1")}
    # Nobody reads meanwhile: what the relay and the kernels hold is less than that.
    for _ in range(120):
        first.media("data", one, bytes(30_000))
        second.media("data", two, bytes(30_000))
    first.barrier()
    second.barrier()
    arrived: list[tuple[str, Frame, float]] = []
    read(connection, sockets, arrived, seconds=SECONDS_MAX, pause=0, until=lambda: len(arrived) >= 240)
    places = {name: statistics.mean(place for place, (other, _, _) in enumerate(arrived) if other == name) for name in sockets}
    assert places["soon"] < places["late"], places
    relay.assert_healthy()


def test_what_connections_carry_is_told(relay: Relay, publisher) -> None:
    connection = Multiplexed(relay)
    speaker, audio = publisher("talk", "audio")
    heard = connection.open("talk")
    arrived: list[tuple[str, Frame, float]] = []
    for _ in range(40):
        speaker.media("audio", audio, bytes(400))
        time.sleep(0.02)
    read(connection, {"audio": heard}, arrived, seconds=SECONDS_MAX, pause=0, until=lambda: len(arrived) >= 40)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        text = relay.get("/metrics")[2]
        classes = {labels["le"]: value for name, labels, value in metrics.parse(text) if name == "segue_connections_bit_rate"}
        if classes.get("+Inf", 0) >= 1 and metrics.value(text, "segue_flow_samples_total") > 0:
            break
        time.sleep(0.2)
    assert classes["+Inf"] >= 1 and list(classes.values()) == sorted(classes.values())
    assert metrics.value(text, "segue_connections_congested") >= 0
