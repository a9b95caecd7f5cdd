"""What every server must take: each frame type in its ordinary forms, and each HPACK representation."""

from __future__ import annotations

import struct

import hpack.huffman
import hpack.huffman_constants
from support.raw_http2 import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    NO_ERROR,
    PADDED,
    PRIORITY_FLAG,
    RawHTTP2,
    frame,
    priority,
    rst_stream,
    settings,
    window_update,
)

from . import case

HUFFMAN = hpack.huffman.HuffmanEncoder(hpack.huffman_constants.REQUEST_CODES, hpack.huffman_constants.REQUEST_CODES_LENGTH)


@case("§3.4", "a client's connection preface is accepted")
def preface(c: RawHTTP2) -> None:
    c.expect_ping_answered()


@case("§5.1", "PRIORITY on an idle stream is accepted")
def priority_idle(c: RawHTTP2) -> None:
    c.send(priority(1), c.get(1))
    c.expect_response(1)


@case("§5.1", "WINDOW_UPDATE on a half-closed (remote) stream is accepted")
def window_update_half_closed(c: RawHTTP2) -> None:
    c.send(c.get(1), window_update(1, 1))
    c.expect_response(1)


@case("§5.1", "PRIORITY on a half-closed (remote) stream is accepted")
def priority_half_closed(c: RawHTTP2) -> None:
    c.send(c.get(1), priority(1))
    c.expect_response(1)


@case("§5.1", "RST_STREAM on a half-closed (remote) stream is accepted")
def reset_half_closed(c: RawHTTP2) -> None:
    c.send(c.get(1), rst_stream(1))
    c.expect_ping_answered()


@case("§5.1", "PRIORITY on a closed stream is accepted")
def priority_closed(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)
    c.send(priority(1))
    c.expect_ping_answered()


@case("§5.1", "WINDOW_UPDATE and RST_STREAM shortly after a stream has closed are ignored")
def late_frames_closed(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)
    c.send(window_update(1, 1), rst_stream(1))
    c.expect_ping_answered()


@case("§6.1", "a DATA frame is accepted")
def data(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_response(1)


@case("§6.1", "several DATA frames are accepted")
def data_several(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(DATA, 0, 1, b"test"), frame(DATA, 0, 1, b"test"), frame(DATA, END_STREAM, 1))
    c.expect_response(1)


@case("§6.1", "a padded DATA frame is accepted")
def data_padded(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(DATA, END_STREAM | PADDED, 1, b"\x05" + b"test" + bytes(5)))
    c.expect_response(1)


@case("§6.2", "a HEADERS frame is accepted")
def headers(c: RawHTTP2) -> None:
    c.send(c.get(1))
    c.expect_response(1)


@case("§6.2", "a padded HEADERS frame is accepted")
def headers_padded(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM | PADDED, 1, b"\x06" + c.block() + bytes(6)))
    c.expect_response(1)


@case("§6.2", "a HEADERS frame with priority is accepted")
def headers_priority(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM | PRIORITY_FLAG, 1, struct.pack("!LB", 0, 255) + c.block()))
    c.expect_response(1)


@case("§6.2", "a HEADERS frame with padding and priority is accepted")
def headers_padded_priority(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM | PRIORITY_FLAG | PADDED, 1, b"\x03" + struct.pack("!LB", 0, 1) + c.block() + bytes(3)))
    c.expect_response(1)


for weight in (1, 256):

    @case("§6.3", f"a PRIORITY frame with weight {weight} is accepted")
    def priority_weight(c: RawHTTP2, weight: int = weight) -> None:
        c.send(priority(1, weight=weight), c.get(1))
        c.expect_response(1)


@case("§6.3", "a PRIORITY frame with a dependency on an idle stream is accepted")
def priority_dependency(c: RawHTTP2) -> None:
    c.send(priority(1, depends_on=3), c.get(1))
    c.expect_response(1)


@case("§6.3", "a PRIORITY frame with the exclusive flag is accepted")
def priority_exclusive(c: RawHTTP2) -> None:
    c.send(priority(1, exclusive=True), c.get(1))
    c.expect_response(1)


@case("§6.3", "PRIORITY for an idle stream does not close lower stream identifiers")
def priority_then_lower(c: RawHTTP2) -> None:
    c.send(priority(5), c.get(3))
    c.expect_response(3)


@case("§6.4", "RST_STREAM on an open stream is accepted")
def reset(c: RawHTTP2) -> None:
    c.send(c.post(1), rst_stream(1, CANCEL))
    c.expect_ping_answered()


@case("§6.5", "a SETTINGS frame is accepted")
def settings_accepted(c: RawHTTP2) -> None:
    c.send(settings((3, 100), (4, 65535)))
    c.expect_ping_answered()


@case("§6.7", "a PING frame is answered")
def ping(c: RawHTTP2) -> None:
    c.expect_ping_answered(b"12345678")


@case("§6.8", "a GOAWAY frame is accepted: streams already open are served")
def goaway(c: RawHTTP2) -> None:
    c.send(c.get(1), frame(GOAWAY, payload=struct.pack("!LL", 0, NO_ERROR)))
    c.expect_response(1)


@case("§6.9", "WINDOW_UPDATE on the connection is accepted")
def window_update_connection(c: RawHTTP2) -> None:
    c.send(window_update(0, 1))
    c.expect_ping_answered()


@case("§6.9", "WINDOW_UPDATE on an open stream is accepted")
def window_update_stream(c: RawHTTP2) -> None:
    c.send(c.post(1), window_update(1, 1), frame(DATA, END_STREAM, 1))
    c.expect_response(1)


@case("§6.10", "a CONTINUATION frame is accepted")
def continuation(c: RawHTTP2) -> None:
    block = c.block()
    c.send(frame(HEADERS, END_STREAM, 1, block[:3]), frame(CONTINUATION, END_HEADERS, 1, block[3:]))
    c.expect_response(1)


@case("§6.10", "several CONTINUATION frames are accepted, cut within a field")
def continuation_several(c: RawHTTP2) -> None:
    block = c.block(("x-long", "a" * 40))
    c.send(
        frame(HEADERS, END_STREAM, 1, block[:5]),
        frame(CONTINUATION, 0, 1, block[5:9]),
        frame(CONTINUATION, 0, 1, block[9:20]),
        frame(CONTINUATION, END_HEADERS, 1, block[20:]),
    )
    c.expect_response(1)


for method in ("GET", "HEAD"):

    @case("§8.1", f"a {method} request is answered")
    def request(c: RawHTTP2, method: str = method) -> None:
        c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, c.block(method=method)))
        c.expect_response(1)


@case("§8.1", "a POST request is answered, if only by a refusal")
def request_post(c: RawHTTP2) -> None:
    c.send(c.post(1), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_response(1)


@case("§8.1", "a POST request with trailers is answered")
def request_trailers(c: RawHTTP2) -> None:
    trailers = c.encoder.encode([("x-test", "ok")])
    c.send(c.post(1, ("trailer", "x-test")), frame(DATA, 0, 1, b"test"), frame(HEADERS, END_HEADERS | END_STREAM, 1, trailers))
    c.expect_response(1)


def text(value: str, huffman: bool = False) -> bytes:
    """RFC 7541 §5.2, for values under 127 octets."""
    octets = HUFFMAN.encode(value.encode()) if huffman else value.encode()
    return bytes([(0x80 if huffman else 0) | len(octets)]) + octets


def send_with_field(c: RawHTTP2, field: bytes) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, c.block() + field))
    c.expect_response(1)


@case("RFC 7541 §6.1", "an indexed field is accepted")
def indexed(c: RawHTTP2) -> None:
    send_with_field(c, b"\x90")  # static table: accept-encoding: gzip, deflate


# Representation: the first octet for a new name, and the one for the name of index 58 (user-agent) in a prefix of 6 bits or index 58 in 4 bits.
LITERALS = {
    "§6.2.1 literal with incremental indexing": (b"\x40", b"\x7a"),
    "§6.2.2 literal without indexing": (b"\x00", b"\x0f\x2b"),
    "§6.2.3 literal never indexed": (b"\x10", b"\x1f\x2b"),
}
for representation, (new_name, indexed_name) in LITERALS.items():
    for huffman in (False, True):
        coding = "Huffman-coded" if huffman else "plain"

        @case(f"RFC 7541 {representation.split(' ', 1)[0]}", f"a {representation.split(' ', 1)[1]}, indexed name, {coding} value is accepted")
        def literal_indexed_name(c: RawHTTP2, head: bytes = indexed_name, huffman: bool = huffman) -> None:
            send_with_field(c, head + text("bench", huffman))

        @case(f"RFC 7541 {representation.split(' ', 1)[0]}", f"a {representation.split(' ', 1)[1]}, new name, {coding} is accepted")
        def literal_new_name(c: RawHTTP2, head: bytes = new_name, huffman: bool = huffman) -> None:
            send_with_field(c, head + text("x-test", huffman) + text("bench", huffman))


@case("RFC 7541 §6.3", "a dynamic table size update is accepted")
def table_size_update(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x20" + c.block()))
    c.expect_response(1)


@case("RFC 7541 §6.3", "two dynamic table size updates in a row are accepted")
def table_size_updates(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x20\x3f\xe1\x1f" + c.block()))
    c.expect_response(1)
