"""RFC 7541: header blocks that do not decode are a connection error COMPRESSION_ERROR (RFC 9113 §4.3)."""

from __future__ import annotations

from support.raw_http2 import COMPRESSION_ERROR, END_HEADERS, END_STREAM, HEADERS, RawHTTP2, frame

from . import case

# (clause, what, the octets that follow a good request's fields).
BLOCKS = (
    ("RFC 7541 §2.3.3", "an indexed field beyond both tables", b"\xff\x80\x01"),
    ("RFC 7541 §2.3.3", "a literal with a name index beyond both tables", b"\x7f\x80\x01\x04test"),
    ("RFC 7541 §4.2", "a table size update at the end of the block", b"\x20"),
    ("RFC 7541 §5.1", "an integer that never ends", b"\xff" + b"\xff" * 12),
    ("RFC 7541 §5.1", "an integer of more than 32 bits", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
    # "user-agent" by index 58, then a Huffman-coded value (RFC 7541 §5.2).
    ("RFC 7541 §5.2", "Huffman padding of more than 7 bits", b"\x7a\x82\x1f\xff"),
    ("RFC 7541 §5.2", "Huffman padding with zeroes", b"\x7a\x81\x18"),
    ("RFC 7541 §5.2", "the Huffman code of EOS", b"\x7a\x85\x1f\xff\xff\xff\xff"),
    ("RFC 7541 §5.2", "a string longer than the block", b"\x7a\x7ftest"),
    ("RFC 7541 §6.1", "the index 0", b"\x80"),
)
for clause, what, octets in BLOCKS:

    @case(clause, f"{what} is a connection error COMPRESSION_ERROR")
    def undecodable(c: RawHTTP2, octets: bytes = octets) -> None:
        c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, c.block() + octets))
        c.expect_connection_error(COMPRESSION_ERROR)


@case("RFC 7541 §6.3", "a table size update over SETTINGS_HEADER_TABLE_SIZE is a connection error COMPRESSION_ERROR")
def table_size_over(c: RawHTTP2) -> None:
    # A prefix of 5 bits, then the rest: 2^28 is far over any table.
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x3f\xe1\xff\xff\x7f" + c.block()))
    c.expect_connection_error(COMPRESSION_ERROR)
