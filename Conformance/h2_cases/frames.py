"""§6.1–6.4, 6.6–6.8 and 6.10: each frame type in its forbidden forms; §7 error codes."""

from __future__ import annotations

import struct

from hyperframe.frame import Frame, PingFrame
from support.raw_http2 import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITY,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    RST_STREAM,
    STREAM_CLOSED,
    RawHTTP2,
    frame,
    priority,
    rst_stream,
)

from . import case


@case("§6.1", "DATA on stream 0 is a connection error PROTOCOL_ERROR")
def data_stream_zero(c: RawHTTP2) -> None:
    c.send(frame(DATA, END_STREAM, 0, b"test"))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.1", "DATA on a stream that is neither open nor half-closed (local) is a stream error STREAM_CLOSED")
def data_not_open(c: RawHTTP2) -> None:
    c.send(c.get(1), frame(DATA, 0, 1, b"test"))
    c.expect_stream_error(1, STREAM_CLOSED)


for length, pad in ((4, 6), (1, 1), (0, 0)):

    @case("§6.1", f"DATA of {length} octets whose padding claims {pad} is a connection error")
    def data_pad(c: RawHTTP2, length: int = length, pad: int = pad) -> None:
        payload = bytes([pad]) + bytes(length - 1) if length else b""
        c.send(c.post(1), frame(DATA, END_STREAM | PADDED, 1, payload))
        # With no room for the Pad Length octet itself it is a FRAME_SIZE_ERROR (§4.2).
        c.expect_connection_error(PROTOCOL_ERROR, FRAME_SIZE_ERROR)


@case("§6.2", "HEADERS without END_HEADERS and then PRIORITY is a connection error PROTOCOL_ERROR")
def headers_then_priority(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_STREAM, 1, c.block()), priority(3))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.2", "HEADERS without END_HEADERS and then HEADERS of another stream is a connection error PROTOCOL_ERROR")
def headers_then_headers(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_STREAM, 1, c.block()), c.get(3))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.2", "HEADERS on stream 0 is a connection error PROTOCOL_ERROR")
def headers_stream_zero(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 0, c.block()))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.2", "HEADERS whose padding exceeds its payload is a connection error PROTOCOL_ERROR")
def headers_pad(c: RawHTTP2) -> None:
    block = c.block()
    c.send(frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, bytes([len(block) + 1]) + block))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.3", "PRIORITY on stream 0 is a connection error PROTOCOL_ERROR")
def priority_stream_zero(c: RawHTTP2) -> None:
    c.send(priority(0))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.3", "PRIORITY of another length than 5 is a stream error FRAME_SIZE_ERROR")
def priority_length(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(PRIORITY, 0, 1, bytes(4)))
    c.expect_stream_error(1, FRAME_SIZE_ERROR)


@case("§6.4", "RST_STREAM on stream 0 is a connection error PROTOCOL_ERROR")
def reset_stream_zero(c: RawHTTP2) -> None:
    c.send(rst_stream(0))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.4", "RST_STREAM on an idle stream is a connection error PROTOCOL_ERROR")
def reset_idle(c: RawHTTP2) -> None:
    c.send(rst_stream(1))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.4", "RST_STREAM of another length than 4 is a connection error FRAME_SIZE_ERROR")
def reset_length(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(RST_STREAM, 0, 1, bytes(3)))
    c.expect_connection_error(FRAME_SIZE_ERROR)


@case("§6.6", "PUSH_PROMISE from a client is a connection error PROTOCOL_ERROR")
def push_promise(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack("!L", 2) + c.block()))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.7", "PING comes back with ACK and the same payload")
def ping_payload(c: RawHTTP2) -> None:
    c.send(frame(PING, payload=b"\x00\xffh2\x80\x01\x02\x03"))
    while isinstance(received := c.receive(), Frame):
        if isinstance(received, PingFrame):
            assert "ACK" in received.flags and received.opaque_data == b"\x00\xffh2\x80\x01\x02\x03"
            return
    raise AssertionError(f"no answer: {c.seen}")


@case("§6.7", "PING with ACK is not answered")
def ping_ack(c: RawHTTP2) -> None:
    c.send(frame(PING, ACK, 0, b"unasked!"), frame(PING, 0, 0, b"followed"))
    while isinstance(received := c.receive(), Frame):
        if isinstance(received, PingFrame):
            assert received.opaque_data == b"followed", "answered a PING that was an answer"
            return
    raise AssertionError(f"no answer: {c.seen}")


@case("§6.7", "PING on a stream is a connection error PROTOCOL_ERROR")
def ping_stream(c: RawHTTP2) -> None:
    c.send(frame(PING, 0, 1, bytes(8)))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.7", "PING of another length than 8 is a connection error FRAME_SIZE_ERROR")
def ping_length(c: RawHTTP2) -> None:
    c.send(frame(PING, 0, 0, bytes(6)))
    c.expect_connection_error(FRAME_SIZE_ERROR)


@case("§6.8", "GOAWAY on a stream is a connection error PROTOCOL_ERROR")
def goaway_stream(c: RawHTTP2) -> None:
    c.send(frame(GOAWAY, 0, 1, bytes(8)))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.8", "GOAWAY shorter than 8 octets is a connection error FRAME_SIZE_ERROR")
def goaway_length(c: RawHTTP2) -> None:
    c.send(frame(GOAWAY, 0, 0, bytes(7)))
    c.expect_connection_error(FRAME_SIZE_ERROR)


@case("§6.10", "CONTINUATION frames after HEADERS are accepted, empty ones too")
def continuation_empty(c: RawHTTP2) -> None:
    block = c.block()
    c.send(frame(HEADERS, END_STREAM, 1, block), frame(CONTINUATION, 0, 1), frame(CONTINUATION, END_HEADERS, 1))
    c.expect_response(1)


@case("§6.10", "another frame than CONTINUATION within a header block is a connection error PROTOCOL_ERROR")
def continuation_interrupted(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(HEADERS, END_STREAM, 3, c.block()), frame(CONTINUATION, 0, 3), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.10", "CONTINUATION of another stream is a connection error PROTOCOL_ERROR")
def continuation_other_stream(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(HEADERS, END_STREAM, 3, c.block()), frame(CONTINUATION, END_HEADERS, 1))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.10", "CONTINUATION on stream 0 is a connection error PROTOCOL_ERROR")
def continuation_stream_zero(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_STREAM, 1, c.block()), frame(CONTINUATION, END_HEADERS, 0))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.10", "CONTINUATION after HEADERS with END_HEADERS is a connection error PROTOCOL_ERROR")
def continuation_after_headers_end(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(CONTINUATION, END_HEADERS, 1, b"\x90"))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.10", "CONTINUATION after CONTINUATION with END_HEADERS is a connection error PROTOCOL_ERROR")
def continuation_after_end(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, 0, 1, c.block(method="POST")), frame(CONTINUATION, END_HEADERS, 1), frame(CONTINUATION, END_HEADERS, 1, b"\x90"))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.10", "CONTINUATION after DATA is a connection error PROTOCOL_ERROR")
def continuation_after_data(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(DATA, 0, 1, b"test"), frame(CONTINUATION, END_HEADERS, 1, b"\x90"))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§7", "GOAWAY with an unknown error code has no special effect")
def goaway_unknown_code(c: RawHTTP2) -> None:
    c.send(c.get(1), frame(GOAWAY, payload=struct.pack("!LL", 0, 0xFF)))
    c.expect_response(1)


@case("§7", "RST_STREAM with an unknown error code has no special effect")
def reset_unknown_code(c: RawHTTP2) -> None:
    c.send(c.post(1), rst_stream(1, 0xFF))
    c.expect_ping_answered()
