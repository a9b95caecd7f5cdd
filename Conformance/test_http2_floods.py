"""HTTP/2 floods: the relay ends the flooding connection (GOAWAY ENHANCE_YOUR_CALM, or a close) and serves everybody else meanwhile."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from hyperframe.frame import Frame, GoAwayFrame, RstStreamFrame
from support.bystander import Bystander
from support.raw_http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    HEADERS,
    PING,
    PREFACE,
    PROTOCOL_ERROR,
    SETTINGS,
    STREAM_CLOSED,
    Ended,
    RawHTTP2,
    frame,
    priority,
    rst_stream,
    settings,
    window_update,
)
from support.raw_websocket import BINARY
from support.raw_websocket import frame as websocket_frame
from support.relay import Relay

# Far over any sane budget, and small enough to be sent in seconds.
FRAMES_MAX = 30_000
BATCH = 100


def drain(c: RawHTTP2) -> int | None | bool:
    """Takes in what has come: the code of a GOAWAY, False at a close without one, None when the connection goes on."""
    while True:
        received = c.receive(0.0005)
        if isinstance(received, GoAwayFrame):
            return received.error_code
        if isinstance(received, Ended):
            return False
        if not isinstance(received, Frame):
            return None


def flood(c: RawHTTP2, frames: Callable[[int], bytes], codes: tuple[int, ...] = (ENHANCE_YOUR_CALM,)) -> int:
    """Sends `frames(index)` in batches until the server has had enough: how many it took. Fails when it never has."""
    for start in range(0, FRAMES_MAX, BATCH):
        c.send(*(frames(index) for index in range(start, start + BATCH)))
        verdict = drain(c)
        if verdict is None:
            continue
        assert verdict is False or verdict in codes, f"the server ended the flood with code {verdict}: {c.seen[-5:]}"
        return start + BATCH
    raise AssertionError(f"the server took all of {FRAMES_MAX} and would take more; its last words: {c.seen[-5:]}")


def rapid_reset(c: RawHTTP2) -> Callable[[int], bytes]:
    return lambda index: c.get(1 + 2 * index) + rst_stream(1 + 2 * index)


def rapid_reset_of_connect(c: RawHTTP2) -> Callable[[int], bytes]:
    """The same by extended CONNECT: each stream would be a WebSocket."""
    block = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", "/echo"), (":authority", c.authority)]
    return lambda index: (
        frame(HEADERS, END_HEADERS, 1 + 2 * index, c.encoder.encode([*block, ("sec-websocket-version", "13")])) + rst_stream(1 + 2 * index)
    )


def made_you_reset(c: RawHTTP2) -> Callable[[int], bytes]:
    """The client sends no RST_STREAM: its faulty frame makes the server send one, and the work is thrown away all the same."""
    return lambda index: c.get(1 + 2 * index) + window_update(1 + 2 * index, 0)


def made_you_reset_by_window(c: RawHTTP2) -> Callable[[int], bytes]:
    return lambda index: c.post(1 + 2 * index) + window_update(1 + 2 * index, (1 << 31) - 1)


def made_you_reset_by_late_data(c: RawHTTP2) -> Callable[[int], bytes]:
    return lambda index: c.get(1 + 2 * index) + frame(DATA, 0, 1 + 2 * index, b"late")


def malformed_requests(c: RawHTTP2) -> Callable[[int], bytes]:
    return lambda index: frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * index, c.block(("connection", "close")))


def continuation_of_fields(c: RawHTTP2) -> Callable[[int], bytes]:
    field = c.encoder.encode([("x-flood", "never ends")])
    return lambda index: frame(HEADERS, END_STREAM, 1, c.block()) if index == 0 else frame(CONTINUATION, 0, 1, field * 50)


def continuation_empty(c: RawHTTP2) -> Callable[[int], bytes]:
    return lambda index: frame(HEADERS, END_STREAM, 1, c.block()) if index == 0 else frame(CONTINUATION, 0, 1)


def empty_data(c: RawHTTP2) -> Callable[[int], bytes]:
    return lambda index: connect(c, 1) if index == 0 else frame(DATA, 0, 1)


def padded_empty_data(c: RawHTTP2) -> Callable[[int], bytes]:
    """DATA of nothing but padding: it takes window and carries nothing."""
    return lambda index: connect(c, 1) if index == 0 else frame(DATA, 0x8, 1, b"\x00")


def connect(c: RawHTTP2, stream: int) -> bytes:
    """An echo WebSocket: a stream that stays open for DATA."""
    fields = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", "/echo"), (":authority", c.authority)]
    return frame(HEADERS, END_HEADERS, stream, c.encoder.encode([*fields, ("sec-websocket-version", "13")]))


CALM_OR_CLOSED = (ENHANCE_YOUR_CALM, STREAM_CLOSED)
FLOODS: tuple[tuple[str, Callable[[RawHTTP2], Callable[[int], bytes]], tuple[int, ...]], ...] = (
    ("CVE-2023-44487 Rapid Reset", rapid_reset, (ENHANCE_YOUR_CALM,)),
    ("CVE-2023-44487 Rapid Reset of extended CONNECT", rapid_reset_of_connect, (ENHANCE_YOUR_CALM,)),
    ("CVE-2025-8671 MadeYouReset by WINDOW_UPDATE of 0", made_you_reset, (ENHANCE_YOUR_CALM, PROTOCOL_ERROR)),
    ("CVE-2025-8671 MadeYouReset by window overflow", made_you_reset_by_window, (ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR)),
    ("CVE-2025-8671 MadeYouReset by DATA after END_STREAM", made_you_reset_by_late_data, CALM_OR_CLOSED),
    ("CVE-2025-8671 MadeYouReset by malformed requests", malformed_requests, (ENHANCE_YOUR_CALM, PROTOCOL_ERROR)),
    ("CVE-2024-27316 CONTINUATION flood of fields", continuation_of_fields, (ENHANCE_YOUR_CALM, PROTOCOL_ERROR)),
    ("CVE-2024-27316 CONTINUATION flood of empty frames", continuation_empty, (ENHANCE_YOUR_CALM, PROTOCOL_ERROR)),
    ("CVE-2019-9515 SETTINGS flood", lambda c: lambda index: settings((3, 100)), (ENHANCE_YOUR_CALM,)),
    ("CVE-2019-9515 empty SETTINGS flood", lambda c: lambda index: frame(SETTINGS), (ENHANCE_YOUR_CALM,)),
    ("CVE-2019-9512 PING flood", lambda c: lambda index: frame(PING, payload=struct.pack("!Q", index)), (ENHANCE_YOUR_CALM,)),
    ("CVE-2019-9518 empty DATA flood", empty_data, (ENHANCE_YOUR_CALM,)),
    ("CVE-2019-9518 flood of DATA with nothing but padding", padded_empty_data, (ENHANCE_YOUR_CALM,)),
    ("PRIORITY flood on idle streams", lambda c: lambda index: priority(1 + 2 * index), (ENHANCE_YOUR_CALM,)),
    (
        "CVE-2019-9513 PRIORITY flood that shuffles a tree",
        lambda c: lambda index: priority(1 + 2 * (index % 50), 1 + 2 * ((index + 7) % 50), exclusive=True),
        (ENHANCE_YOUR_CALM,),
    ),
    ("WINDOW_UPDATE flood", lambda c: lambda index: window_update(0, 1), (ENHANCE_YOUR_CALM,)),
)


@pytest.mark.parametrize(("name", "make", "codes"), FLOODS, ids=[row[0] for row in FLOODS])
def test_flood_is_ended(relay: Relay, name: str, make: Callable[[RawHTTP2], Callable[[int], bytes]], codes: tuple[int, ...]) -> None:
    with Bystander(relay), RawHTTP2(relay.port, relay.context(alpn=("h2",))) as c:
        c.handshake()
        taken = flood(c, make(c), codes)
        print(f"{name}: ended after at most {taken}")
        c.expect_end()


def test_flood_that_reads_nothing(relay: Relay) -> None:
    """CVE-2019-9512: PINGs whose answers are never read must not fill the relay's memory: it stops reading, or ends the connection."""
    with Bystander(relay), RawHTTP2(relay.port, relay.context(alpn=("h2",))) as c:
        c.handshake()
        c.socket.settimeout(3)
        try:
            for _ in range(FRAMES_MAX // BATCH):
                c.socket.sendall(frame(PING, payload=bytes(8)) * BATCH * 10)
        except (OSError, TimeoutError):
            return
        raise AssertionError("the relay took 300,000 PINGs whose answers nobody reads")


def test_header_list_bomb(relay: Relay) -> None:
    """A field of 4,000 octets in the dynamic table, named 16,000 times by one octet each: 64 MB of fields in 16 KB."""
    with Bystander(relay), RawHTTP2(relay.port, relay.context(alpn=("h2",))) as c:
        c.handshake()
        block = c.block(("x-bomb", "b" * 3_900))
        c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        # Every header block of the relay's goes through the decoder, whose table follows from all of them.
        assert c.expect_response(1) == "200"
        c.send(frame(HEADERS, END_HEADERS | END_STREAM, 3, c.block() + b"\xbe" * 16_000))
        while isinstance(received := c.receive(), Frame):
            if isinstance(received, (GoAwayFrame, RstStreamFrame)):
                return
            if received.type == HEADERS and received.stream_id == 3:
                assert dict(c.decoder.decode(received.data))[":status"] in ("431", "400"), c.seen
                return
        assert isinstance(received, Ended), f"64 MB of fields went through: {c.seen}"


def test_data_over_the_window(relay: Relay) -> None:
    """RFC 9113 §6.9.1: a sender that ignores the window is stopped, and the relay never holds more than it granted."""
    with Bystander(relay), RawHTTP2(relay.port, relay.context(alpn=("h2",))) as c:
        c.handshake((4, 0))  # the relay may send nothing back, so an echo cannot consume what comes in
        c.send(connect(c, 1))
        big = frame(DATA, 0, 1, websocket_frame(BINARY, bytes((1 << 14) - 8)))
        for _ in range(4_096):  # 64 MiB
            try:
                c.send(big)
            except TimeoutError:
                return  # the relay reads no more: TCP holds the sender back
            verdict = drain(c)
            if verdict is not None:
                assert verdict is False or verdict == FLOW_CONTROL_ERROR, c.seen[-3:]
                return
            if any("RstStream" in line for line in c.seen):
                return
        raise AssertionError("64 MiB over the window were taken")


def test_streams_that_are_never_read(relay: Relay) -> None:
    """CVE-2019-9517 (internal data buffering), CVE-2019-9511 (data dribble): answers wait for a window of 0; everybody else is served."""
    with Bystander(relay):
        connections = [RawHTTP2(relay.port, relay.context(alpn=("h2",)), path="/metrics") for _ in range(10)]
        for c in connections:
            c.handshake((4, 0))
            c.send(*(c.get(1 + 2 * index) for index in range(50)))
        for c in connections:
            while isinstance(c.receive(0.2), Frame):
                pass
            c.socket.close()


def test_cut_preface_and_garbage(relay: Relay) -> None:
    with Bystander(relay):
        for octets in (
            PREFACE[:10],
            PREFACE,
            PREFACE + bytes(200),
            b"GET / HTTP/1.1\r\n\r\n",
            bytes(range(256)) * 40,
            PREFACE + settings() + b"\xff" * 500,
        ):
            with RawHTTP2(relay.port, relay.context(alpn=("h2",)), patience=0.3) as c:
                c.send(octets)
                while isinstance(c.receive(), Frame):
                    pass


def test_frames_of_every_type_flag_and_length(relay: Relay) -> None:
    """Every type and a scale of lengths with all flags: whatever the verdict, the relay goes on."""
    with Bystander(relay):
        for kind in range(0x12):
            for length in (0, 1, 4, 5, 6, 8, 9, 255):
                with RawHTTP2(relay.port, relay.context(alpn=("h2",)), patience=0.05) as c:
                    c.handshake()
                    c.send(c.post(1), frame(kind, 0xFF, 1, b"\xff" * length), frame(kind, 0xFF, 0, b"\xff" * length))
                    drain(c)
