"""§5.1 stream states and identifiers, §5.1.2 concurrency, RFC 7540 §5.3.1 dependencies."""

from __future__ import annotations

import struct

from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame, RstStreamFrame
from support.raw_http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PRIORITY_FLAG,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    STREAM_CLOSED,
    RawHTTP2,
    frame,
    priority,
    rst_stream,
    settings,
    window_update,
)

from . import case

IDLE = {
    "DATA": frame(DATA, END_STREAM, 1, b"test"),
    "RST_STREAM": rst_stream(1),
    "WINDOW_UPDATE": window_update(1, 100),
    "CONTINUATION": frame(CONTINUATION, END_HEADERS, 1, b"\x82"),
}
for name, octets in IDLE.items():

    @case("§5.1", f"idle: {name} is a connection error PROTOCOL_ERROR")
    def idle(c: RawHTTP2, octets: bytes = octets) -> None:
        c.send(octets)
        c.expect_connection_error(PROTOCOL_ERROR)


@case("§5.1", "half-closed (remote): DATA is a stream error STREAM_CLOSED")
def half_closed_data(c: RawHTTP2) -> None:
    c.send(c.get(1), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_stream_error(1, STREAM_CLOSED)


@case("§5.1", "half-closed (remote): HEADERS is a stream error STREAM_CLOSED")
def half_closed_headers(c: RawHTTP2) -> None:
    c.send(c.get(1), c.get(1))
    c.expect_stream_error(1, STREAM_CLOSED)


@case("§5.1", "half-closed (remote): CONTINUATION is an error STREAM_CLOSED or PROTOCOL_ERROR")
def half_closed_continuation(c: RawHTTP2) -> None:
    c.send(c.get(1), frame(CONTINUATION, END_HEADERS, 1, b"\x82"))
    c.expect_stream_error(1, STREAM_CLOSED, PROTOCOL_ERROR)


@case("§5.1", "closed by RST_STREAM: DATA is an error STREAM_CLOSED")
def reset_data(c: RawHTTP2) -> None:
    c.send(c.post(1), rst_stream(1), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_stream_error(1, STREAM_CLOSED)


@case("§5.1", "closed by RST_STREAM: HEADERS is an error STREAM_CLOSED")
def reset_headers(c: RawHTTP2) -> None:
    c.send(c.post(1), rst_stream(1), c.get(1))
    c.expect_stream_error(1, STREAM_CLOSED)


@case("§5.1", "closed by RST_STREAM: CONTINUATION is an error STREAM_CLOSED or PROTOCOL_ERROR")
def reset_continuation(c: RawHTTP2) -> None:
    c.send(c.post(1), rst_stream(1), frame(CONTINUATION, END_HEADERS, 1, b"\x82"))
    c.expect_stream_error(1, STREAM_CLOSED, PROTOCOL_ERROR)


@case("§5.1", "closed by END_STREAM: DATA is a connection error STREAM_CLOSED")
def closed_data(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)
    c.send(frame(DATA, END_STREAM, 1, b"test"))
    c.expect_stream_error(1, STREAM_CLOSED)


@case("§5.1", "closed by END_STREAM: HEADERS is a connection error STREAM_CLOSED")
def closed_headers(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)
    c.send(c.get(1))
    c.expect_connection_error(STREAM_CLOSED)


@case("§5.1", "closed by END_STREAM: CONTINUATION is a connection error STREAM_CLOSED or PROTOCOL_ERROR")
def closed_continuation(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)
    c.send(frame(CONTINUATION, END_HEADERS, 1, b"\x82"))
    c.expect_connection_error(STREAM_CLOSED, PROTOCOL_ERROR)


@case("§5.1.1", "an even-numbered stream from a client is a connection error PROTOCOL_ERROR")
def even_stream(c: RawHTTP2) -> None:
    c.send(c.get(2))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§5.1.1", "a stream identifier lower than one already used is a connection error PROTOCOL_ERROR")
def descending_stream(c: RawHTTP2) -> None:
    c.send(c.get(5))
    c.expect_response(5)
    c.send(c.get(3))
    # Streams that were skipped are closed (§5.1.1), so STREAM_CLOSED is right as well.
    c.expect_connection_error(PROTOCOL_ERROR, STREAM_CLOSED)


@case("§5.1.2", "a stream over SETTINGS_MAX_CONCURRENT_STREAMS is refused: REFUSED_STREAM or PROTOCOL_ERROR")
def concurrency(c: RawHTTP2) -> None:
    limit = c.remote.get(3)
    assert limit is not None, "the server states no limit"
    # The streams are left open and their answers cannot be sent off: no window.
    c.send(settings((4, 0)), *(c.post(1 + 2 * index) for index in range(limit)))
    over = 1 + 2 * limit
    c.send(c.post(over))
    while True:
        received = c.receive()
        if isinstance(received, RstStreamFrame) and received.stream_id == over:
            assert received.error_code in (REFUSED_STREAM, PROTOCOL_ERROR), f"got {c.seen[-3:]}"
            return
        if isinstance(received, GoAwayFrame):
            assert received.error_code == PROTOCOL_ERROR, f"got {c.seen[-3:]}"
            return
        assert hasattr(received, "stream_id"), f"stream {over} was not refused: {c.seen[-3:]}"


@case("RFC 7540 §5.3.1", "HEADERS that depend on their own stream are a stream error PROTOCOL_ERROR, or ignored by RFC 9113")
def headers_self_dependency(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM | PRIORITY_FLAG, 1, struct.pack("!LB", 1, 255) + c.block()))
    expect_error_or_service(c)


@case("RFC 7540 §5.3.1", "PRIORITY that depends on its own stream is a stream error PROTOCOL_ERROR, or ignored by RFC 9113")
def priority_self_dependency(c: RawHTTP2) -> None:
    c.send(priority(1, depends_on=1), c.get(1))
    expect_error_or_service(c)


def expect_error_or_service(c: RawHTTP2) -> None:
    """RFC 9113 §5.3.2 deprecates the priority scheme; a server that said SETTINGS_NO_RFC7540_PRIORITIES may ignore its contents."""
    if c.remote.get(9) == 1:
        while isinstance(received := c.receive(), Frame):
            if isinstance(received, HeadersFrame) and received.stream_id == 1:
                return
            if isinstance(received, (RstStreamFrame, GoAwayFrame)):
                # An endpoint may treat a stream error as one of the connection (§5.4.2).
                assert received.error_code == PROTOCOL_ERROR, f"got {c.seen[-3:]}"
                return
        raise AssertionError(f"neither an answer nor an error: {c.seen}")
    c.expect_stream_error(1, PROTOCOL_ERROR)
