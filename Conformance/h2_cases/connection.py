"""§3.4 preface, §4 frames and header compression, §5.4 errors, §5.5 extensions."""

from __future__ import annotations

import struct

from hyperframe.frame import Frame, SettingsFrame
from support.raw_http2 import (
    COMPRESSION_ERROR,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_SIZE_ERROR,
    HEADERS,
    PING,
    PREFACE,
    PROTOCOL_ERROR,
    RawHTTP2,
    frame,
    priority,
    settings,
)

from . import case


@case("§3.4", "the server's first frame is SETTINGS", handshake=False)
def server_preface(c: RawHTTP2) -> None:
    c.send(PREFACE, settings())
    received = c.receive()
    assert isinstance(received, SettingsFrame) and "ACK" not in received.flags, f"the first frame was {c.seen}"


@case("§3.4", "an invalid preface ends the connection", handshake=False)
def invalid_preface(c: RawHTTP2) -> None:
    c.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
    c.expect_end()


@case("§3.4", "the first frame after the preface must be SETTINGS", handshake=False)
def preface_without_settings(c: RawHTTP2) -> None:
    c.send(PREFACE, frame(PING, payload=bytes(8)))
    c.expect_connection_error(PROTOCOL_ERROR, or_end=True)


@case("§4.1", "a frame of unknown type is ignored")
def unknown_type(c: RawHTTP2) -> None:
    c.send(frame(0x16, 0, 0, bytes(8)))
    c.expect_ping_answered()


@case("§4.1", "undefined flags are ignored")
def undefined_flags(c: RawHTTP2) -> None:
    c.send(frame(PING, 0x16, 0, b"undefine"))
    c.expect_ping_answered()


@case("§4.1", "the reserved bit of the stream identifier is ignored")
def reserved_bit(c: RawHTTP2) -> None:
    c.send(frame(PING, 0, 1 << 31, b"reserved"))
    c.expect_ping_answered()


@case("§4.2", "a DATA frame of 2^14 octets is accepted")
def largest_data(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(DATA, END_STREAM, 1, bytes(1 << 14)))
    c.expect_response(1)


@case("§4.2", "a DATA frame over SETTINGS_MAX_FRAME_SIZE is a FRAME_SIZE_ERROR")
def oversized_data(c: RawHTTP2) -> None:
    size = c.remote.get(5, 1 << 14) + 1
    c.send(c.post(1), frame(DATA, END_STREAM, 1, bytes(size)))
    c.expect_stream_error(1, FRAME_SIZE_ERROR)


@case("§4.2", "a HEADERS frame over SETTINGS_MAX_FRAME_SIZE is a connection error FRAME_SIZE_ERROR")
def oversized_headers(c: RawHTTP2) -> None:
    size = c.remote.get(5, 1 << 14) + 1
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, c.block().ljust(size, b"\x90")))
    c.expect_connection_error(FRAME_SIZE_ERROR)


@case("§4.3", "an invalid header block is a connection error COMPRESSION_ERROR")
def invalid_block(c: RawHTTP2) -> None:
    # A literal with a new name whose length runs past the end of the block.
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, c.block() + b"\x00\x7f\x20"))
    c.expect_connection_error(COMPRESSION_ERROR)


@case("§4.3", "PRIORITY within a header block is a connection error PROTOCOL_ERROR")
def priority_within_block(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_STREAM, 1, c.block()), priority(1))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§4.3", "HEADERS of another stream within a header block is a connection error PROTOCOL_ERROR")
def headers_within_block(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_STREAM, 1, c.block()), c.get(3))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§5.4.1", "the connection ends after a connection error")
def ends_after_error(c: RawHTTP2) -> None:
    c.send(frame(PING, 0, 3, bytes(8)))
    c.expect_end()


@case("§5.4.1", "a GOAWAY that names the error goes before the end")
def goaway_before_end(c: RawHTTP2) -> None:
    c.send(frame(PING, 0, 3, bytes(8)))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§5.4.1", "the GOAWAY names the last stream that was processed")
def goaway_last_stream(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)
    c.send(frame(PING, 0, 3, bytes(8)))
    while isinstance(received := c.receive(), Frame):
        if getattr(received, "last_stream_id", None) is not None:
            assert received.last_stream_id == 1, f"last stream {received.last_stream_id}"
            return
    raise AssertionError(f"no GOAWAY: {c.seen}")


@case("§5.5", "an unknown extension frame is ignored, on a stream and on the connection")
def extension_ignored(c: RawHTTP2) -> None:
    c.send(frame(0xF0, 0xFF, 0, b"unknown"), c.post(1), frame(0xF1, 0, 1, struct.pack("!Q", 7)), frame(DATA, END_STREAM, 1))
    c.expect_response(1)


@case("§5.5", "an extension frame within a header block is a connection error PROTOCOL_ERROR")
def extension_within_block(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_STREAM, 1, c.block()), frame(0xF0, 0, 0, bytes(8)))
    c.expect_connection_error(PROTOCOL_ERROR)
