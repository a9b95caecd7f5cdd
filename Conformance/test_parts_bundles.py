"""Frames in parts and in bundles (protocol §4.4, §4.6): what real clients get over HTTP/1.1 and HTTP/2, whether they wish for them or not."""

from __future__ import annotations

import itertools
import json
import socket
import struct

import pytest
from support.h2_websocket import H2Client
from support.raw_websocket import BINARY, TEXT, RawWebSocket, frame
from support.relay import Relay
from support.session import AUDIO, BUNDLE, CONFIGURATION, ENCRYPTED, KEY, PART, PATH, SUBPROTOCOL, VIDEO, Session, Unpacker, frame_message

BOTH = pytest.mark.parametrize("http", ["1.1", "2"])
numbers = itertools.count()


class Burst:
    """A publisher that puts many frames into one write, so that the relay has them in one turn."""

    def __init__(self, relay: Relay, room: str):
        self.ws = RawWebSocket(relay.port, relay.context(), path=PATH, subprotocol=SUBPROTOCOL)
        self.request("hello", versions=[1])
        self.request("join", room=room)

    def request(self, kind: str, /, **members) -> dict:
        number = next(numbers)
        self.ws.send(frame(TEXT, json.dumps({"type": kind, "id": number, **members}).encode()))
        while (received := self.ws.receive()) is not None:
            if received[0] == TEXT and (answer := json.loads(received[1])).get("id") == number:
                assert answer["type"] != "error", answer
                return answer
        raise AssertionError("the publisher's session ended")

    def publish(self, kind: str) -> int:
        stream = self.request("publish", kind=kind, codec={"audio": "opus", "video": "vp8"}[kind])["stream"]
        self.send([frame_message(CONFIGURATION, stream, 0, b"")])
        return stream

    def send(self, frames: list[bytes]) -> None:
        self.ws.send(b"".join(frame(BINARY, message) for message in frames))

    def barrier(self) -> None:
        self.request("time", clientTime=0)


class LazyReader:
    """A session that reads only when told, behind a small window: what is due to it waits in the relay."""

    def __init__(self, relay: Relay, http: str, room: str, wishes: dict):
        self.unpacker = Unpacker()
        if http == "2":
            context = relay.context(alpn=("h2",))
            self.client = H2Client(relay.port, context, window=20_000)
            self.h2 = self.client.open_websocket(PATH, (SUBPROTOCOL,))
        else:
            self.h2 = None
            self.ws = RawWebSocket(relay.port, relay.context(), path=PATH, subprotocol=SUBPROTOCOL)
            self.ws.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
        self.request("hello", versions=[1], wishes=wishes)
        self.request("join", room=room)
        self.request("subscribe", all=True)

    def receive(self) -> str | bytes:
        if self.h2 is None:
            received = self.ws.receive()
            assert received is not None, "the session ended"
            return received[1].decode() if received[0] == TEXT else received[1]
        received = self.h2.receive()
        assert isinstance(received, (str, bytes)), received
        return received

    def send(self, kind: str, /, **members) -> int:
        number = next(numbers)
        text = json.dumps({"type": kind, "id": number, **members})
        if self.h2 is None:
            self.ws.send(frame(TEXT, text.encode()))
        else:
            self.h2.send_text(text)
        return number

    def request(self, kind: str, /, **members) -> dict:
        number = self.send(kind, **members)
        while True:
            received = self.receive()
            if isinstance(received, str) and (answer := json.loads(received)).get("id") == number:
                assert answer["type"] != "error", answer
                return answer

    def close(self) -> None:
        if self.h2 is None:
            self.ws.socket.close()
        else:
            self.client.close()


def room() -> str:
    return f"room-{next(numbers)}"


@pytest.mark.parametrize("wishes", [{}, {"parts": True}, {"bundles": {"delayMilliseconds": 0}}, {"parts": True, "bundles": {"delayMilliseconds": 10}}])
@BOTH
def test_the_same_frames_whatever_was_wished(relay: Relay, http: str, wishes: dict) -> None:
    name = room()
    publisher = Burst(relay, name)
    streams = {kind: publisher.publish(kind) for kind in ("audio", "video")}
    with Session(relay, http=http, hello={"wishes": wishes}) as listener:
        listener.ask("join", room=name)
        listener.ask("subscribe", all=True)
        sent: dict[str, list[bytes]] = {"audio": [], "video": []}
        for burst in range(20):
            frames = []
            for n in range(10):
                sent["audio"].append(bytes([burst, n]) * (n * 7))
                frames.append(frame_message(AUDIO, streams["audio"], burst * 10 + n, sent["audio"][-1]))
            sent["video"].append(bytes([burst]) * (60_000 if burst % 10 == 0 else 700))
            frames.append(frame_message(VIDEO, streams["video"], burst, sent["video"][-1], flags=KEY if burst % 10 == 0 else 0))
            publisher.send(frames)
            # Whoever does not read in time loses frames.
            listener.wait("the burst", lambda due=11 * (burst + 1): len(listener.payloads()) >= due or None)
        for kind, stream in streams.items():
            assert listener.payloads(stream) == sent[kind]
        kinds = [kind for kind, _, _ in listener.unpacker.messages]
        assert (PART in kinds) == ("parts" in wishes), "60 kB do not fit in one write"
        assert (BUNDLE in kinds) == ("bundles" in wishes)
        # Configurations and frames from 8 KiB on come alone; a bundle is no longer than 16 KiB.
        assert all(length <= 16 << 10 for kind, _, length in listener.unpacker.messages if kind == BUNDLE)


@BOTH
def test_audio_and_control_go_between_two_parts_of_a_key_frame(relay: Relay, http: str) -> None:
    name = room()
    publisher = Burst(relay, name)
    audio, video = publisher.publish("audio"), publisher.publish("video")
    reader = LazyReader(relay, http, name, {"parts": True})
    key = bytes(range(256)) * 8_000
    publisher.send([frame_message(VIDEO, video, 0, key, flags=KEY)])
    while not reader.unpacker.unfinished:
        if isinstance(received := reader.receive(), bytes):
            reader.unpacker.take(received)
    # Most of the key frame waits in the relay.
    publisher.send([frame_message(AUDIO, audio, 0, b"sound")])
    publisher.barrier()
    asked = reader.send("time", clientTime=1)
    order = ["part"]
    whole = b""
    while not whole:
        received = reader.receive()
        if isinstance(received, str):
            order += ["answer"] if json.loads(received).get("id") == asked else []
            continue
        for message in reader.unpacker.take(received):
            if message[0] & 15 == AUDIO:
                order.append("audio")
            elif message[0] & 15 == VIDEO:
                whole = message[16:]
        if received[0] & 15 == PART and (not order or order[-1] != "part"):
            order.append("part")
    assert whole == key
    assert order[-1] == "part" and {"audio", "answer"} <= set(order), order
    reader.close()


@BOTH
def test_without_the_wish_a_key_frame_is_one_message(relay: Relay, http: str) -> None:
    name = room()
    publisher = Burst(relay, name)
    video = publisher.publish("video")
    reader = LazyReader(relay, http, name, {})
    key = bytes(200_000)
    publisher.send([frame_message(VIDEO, video, 0, key, flags=KEY)])
    while True:
        received = reader.receive()
        if isinstance(received, bytes) and received[0] & 15 == VIDEO:
            assert received[16:] == key
            break
        assert isinstance(received, str) or received[0] & 15 == CONFIGURATION
    reader.close()


@BOTH
def test_a_late_joiner_gets_its_group_of_pictures_in_parts(relay: Relay, http: str) -> None:
    name = room()
    publisher = Burst(relay, name)
    video = publisher.publish("video")
    payloads = [bytes([n]) * (80_000 if n == 0 else 500) for n in range(5)]
    publisher.send([frame_message(VIDEO, video, n, payload, flags=KEY if n == 0 else 0) for n, payload in enumerate(payloads)])
    publisher.barrier()
    with Session(relay, http=http, hello={"wishes": {"parts": True}}) as joiner:
        joiner.ask("join", room=name)
        joiner.ask("subscribe", all=True)
        joiner.wait("the group", lambda: len(joiner.payloads()) >= 5 or None)
        assert joiner.payloads(video) == payloads
        assert PART in [kind for kind, _, _ in joiner.unpacker.messages]


@BOTH
def test_what_a_burst_costs_in_messages(relay: Relay, http: str) -> None:
    """Several frames in one message: a quarter of the messages and less, for the same frames."""
    name = room()
    publisher = Burst(relay, name)
    audio = publisher.publish("audio")
    counts = []
    for wishes in ({}, {"bundles": {"delayMilliseconds": 5}}):
        with Session(relay, http=http, hello={"wishes": wishes}) as listener:
            listener.ask("join", room=name)
            listener.ask("subscribe", all=True)
            listener.barrier()
            listener.unpacker.messages.clear()
            for burst in range(20):
                publisher.send([frame_message(AUDIO, audio, burst * 10 + n, bytes(100)) for n in range(10)])
                publisher.barrier()
            listener.wait("all", lambda: sum(frames for _, frames, _ in listener.unpacker.messages) >= 200 or None)
            counts.append(len(listener.unpacker.messages))
    print(f"HTTP/{http}: {counts[0]} messages without, {counts[1]} with bundles")
    assert counts[1] * 4 <= counts[0]


@pytest.mark.parametrize("kind, name", [(BUNDLE, "bundles"), (PART, "parts")])
def test_neither_is_taken_from_a_client(relay: Relay, kind: int, name: str) -> None:
    with Session(relay) as session:
        session.ask("join", room=room())
        stream = session.publish("video")
        inner = frame_message(VIDEO, stream, 0, b"x", flags=KEY)
        head = struct.pack("!BBBBIII", 0x10 | kind, 0, 0, 0x7F, 0 if kind == BUNDLE else stream, 0, 0)
        body = struct.pack("!I", len(inner)) + inner if kind == BUNDLE else struct.pack("!II", 0, len(inner)) + inner
        session.send_message(head + body)
        end = session.closed()
        assert end.code == 1003 and name in end.reason


@pytest.mark.parametrize("kind, name", [(BUNDLE, "bundles"), (PART, "parts")])
@pytest.mark.parametrize("flags", [0, ENCRYPTED])
@pytest.mark.parametrize("body", [b"", b"\xff" * 7, struct.pack("!I", 1 << 20)], ids=["empty", "cut short", "too long"])
def test_neither_is_looked_into(relay: Relay, kind: int, name: str, flags: int, body: bytes) -> None:
    """Whatever is wrong with it besides, it is refused for what it is."""
    with Session(relay) as session:
        session.ask("join", room=room())
        stream = session.publish("video")
        session.send_message(struct.pack("!BBBBIII", 0x10 | kind, flags, 0, 0x7F, stream, 0, 0) + body)
        end = session.closed()
        assert end.code == 1003 and name in end.reason


@pytest.mark.hostile
@pytest.mark.parametrize(
    "wishes",
    [{"bundles": {"delayMilliseconds": 11}}, {"bundles": {"delayMilliseconds": -0.1}}, {"keepAliveMilliseconds": 100}, {"keepAliveMilliseconds": 1e300}],
)
def test_wishes_out_of_range_are_refused(relay: Relay, wishes: dict) -> None:
    with Session(relay, greets=False) as session:
        assert session.refusal("hello", versions=[1], wishes=wishes) == "bad_value"
        session.ask("hello", versions=[1], wishes={"parts": False})


@BOTH
def test_a_reader_that_leaves_in_the_middle_of_a_frame_harms_nobody(relay: Relay, http: str) -> None:
    """It goes between two parts, or leaves its room: what was begun is finished, and the session lives on."""
    name = room()
    publisher = Burst(relay, name)
    video = publisher.publish("video")
    for leaving in ("unsubscribe", "leave", "cut"):
        reader = LazyReader(relay, http, name, {"parts": True})
        publisher.send([frame_message(VIDEO, video, 0, bytes(500_000), flags=KEY)])
        publisher.barrier()
        if leaving == "cut":
            reader.close()
            continue
        asked = reader.send("unsubscribe", all=True) if leaving == "unsubscribe" else reader.send("leave")
        answered = False
        while not answered or reader.unpacker.unfinished:
            received = reader.receive()
            if isinstance(received, str):
                answered = answered or json.loads(received).get("id") == asked
            else:
                reader.unpacker.take(received)
        reader.request("time", clientTime=0)
        reader.close()
