"""RFC 6455 violations over real sockets: each gets its close code, over HTTP/1.1 and over HTTP/2, and harms nobody else."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import pytest
from support.h2_websocket import H2Client
from support.raw_websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, RawWebSocket, frame
from support.relay import Relay

ECHO_BYTES_MAX = 16 << 20


@pytest.fixture(scope="module")
def module_relay(start_relay) -> Relay:
    """With the echo path's message limit stated: 16 MiB."""
    return start_relay(arguments=("--echo", "--echo-message-bytes-max", str(ECHO_BYTES_MAX), "--client-certificates", "required"))


@dataclass(frozen=True)
class Violation:
    what: str
    octets: bytes
    codes: tuple[int, ...]


def closing(code: int, reason: bytes = b"") -> bytes:
    return frame(CLOSE, struct.pack("!H", code) + reason)


VIOLATIONS = [
    *(Violation(f"§5.2 reserved bit {bit} without an extension", frame(TEXT, b"x", reserved=bit), (1002,)) for bit in (1, 2, 4)),
    *(Violation(f"§5.2 reserved opcode {opcode:#x}", frame(opcode, b"x"), (1002,)) for opcode in (0x3, 0x7, 0xB, 0xF)),
    Violation("§5.1 a frame without a mask", frame(TEXT, b"x", masked=False), (1002,)),
    Violation("§5.1 a ping without a mask", frame(PING, b"x", masked=False), (1002,)),
    *(Violation(f"§5.5 a fragmented control frame {opcode:#x}", frame(opcode, b"", final=False), (1002,)) for opcode in (PING, PONG, CLOSE)),
    *(Violation(f"§5.5 a control frame {opcode:#x} over 125 octets", frame(opcode, bytes(126)), (1002,)) for opcode in (PING, PONG, CLOSE)),
    Violation("§5.2 a length of 5 in 16 bits", frame(BINARY, b"12345", length_octets=2), (1002,)),
    Violation("§5.2 a length of 200 in 64 bits", frame(BINARY, bytes(200), length_octets=8), (1002,)),
    Violation("§5.2 a length with the top bit set", frame(BINARY, b"", length=1 << 63), (1002,)),
    Violation("§5.2 the largest length of all", frame(BINARY, b"", length=(1 << 64) - 1), (1002,)),
    Violation("§5.4 a continuation of nothing", frame(CONTINUATION, b"x"), (1002,)),
    Violation("§5.4 a continuation after a whole message", frame(TEXT, b"x") + frame(CONTINUATION, b"y"), (1002,)),
    Violation("§5.4 a new message within a fragmented one", frame(TEXT, b"x", final=False) + frame(TEXT, b"y"), (1002,)),
    Violation("§5.5.1 a close frame with half a code", frame(CLOSE, b"\x03"), (1002,)),
    *(Violation(f"§7.4 close code {code}", closing(code), (1002,)) for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)),
    Violation("§5.5.1 a close reason that is not UTF-8", closing(1000, b"\xff\xfe"), (1007,)),
    *(
        Violation(f"§8.1 text that is not UTF-8: {octets!r}", frame(TEXT, octets), (1007,))
        for octets in (
            b"\xff",
            b"\x80",
            b"\xc0\xaf",
            b"\xe0\x80\xaf",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xf8\x88\x80\x80\x80",
            b"ok \xc3",
            b"\xe2\x82",
        )
    ),
    Violation("§8.1 a fragment that cannot become UTF-8 fails at once", frame(TEXT, b"\xed\xa0", final=False), (1007,)),
    Violation("§8.1 a character broken by the message's end", frame(TEXT, b"\xe2\x82", final=False) + frame(CONTINUATION, b""), (1007,)),
    Violation("a message over the limit, by its header alone", frame(BINARY, b"", length=ECHO_BYTES_MAX + 1), (1009,)),
    Violation("a message of a terabyte", frame(BINARY, b"", length=1 << 40), (1009,)),
    Violation(
        "fragments whose sum is over the limit",
        frame(BINARY, bytes(1 << 20), final=False) + frame(CONTINUATION, b"", length=ECHO_BYTES_MAX, final=False),
        (1009,),
    ),
]


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda violation: violation.what)
def test_violation_closes_over_http_1_1(relay: Relay, violation: Violation) -> None:
    with RawWebSocket(relay.port, relay.context()) as socket:
        socket.send(violation.octets)
        assert socket.close_code() in violation.codes
        assert socket.ends(), "§7.1.7 the server must close the connection"


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda violation: violation.what)
def test_violation_closes_over_http_2(relay: Relay, violation: Violation) -> None:
    """The close is of the one stream: another WebSocket on the same connection goes on."""
    with H2Client(relay.port, relay.context(alpn=("h2",))) as client:
        other = client.open_websocket("/echo")
        socket = client.open_websocket("/echo")
        socket.send_bytes(violation.octets)
        assert socket.close_code() in violation.codes
        other.send_text("none the worse")
        assert other.receive() == "none the worse"


@pytest.mark.parametrize("size", [1, 7, 64])
def test_violation_is_found_however_it_is_cut(relay: Relay, size: int) -> None:
    octets = frame(TEXT, b"good") + frame(PING, b"p") + frame(TEXT, b"ok \xe2\x28\xa1")
    with RawWebSocket(relay.port, relay.context()) as socket:
        for start in range(0, len(octets), size):
            socket.send(octets[start : start + size])
        assert socket.receive() == (TEXT, b"good", True)
        assert socket.receive() == (PONG, b"p", True)
        assert socket.close_code() == 1007


def test_ping_is_answered_within_a_fragmented_message(relay: Relay) -> None:
    with RawWebSocket(relay.port, relay.context()) as socket:
        socket.send(frame(TEXT, b"frag", final=False) + frame(PING, bytes(125)) + frame(CONTINUATION, b"ment"))
        assert socket.receive() == (PONG, bytes(125), True)
        assert socket.receive() == (TEXT, b"fragment", True)


def test_unasked_pong_is_ignored(relay: Relay) -> None:
    with RawWebSocket(relay.port, relay.context()) as socket:
        socket.send(frame(PONG, b"unasked") + frame(TEXT, b"x"))
        assert socket.receive() == (TEXT, b"x", True)


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999])
def test_close_is_answered_in_kind(relay: Relay, code: int) -> None:
    """§5.5.1: the answer to a close carries its code; then the server ends the connection."""
    with RawWebSocket(relay.port, relay.context()) as socket:
        socket.send(closing(code, "auf Wiedersehen".encode()))
        assert socket.close_code() == code
        assert socket.ends()


def test_close_without_a_code_is_answered(relay: Relay) -> None:
    with RawWebSocket(relay.port, relay.context()) as socket:
        socket.send(frame(CLOSE))
        assert socket.close_code() in (1000, 1005)
        assert socket.ends()


def test_nothing_after_close_is_answered(relay: Relay) -> None:
    """§5.5.1: no more data frames after a close frame."""
    with RawWebSocket(relay.port, relay.context()) as socket:
        socket.send(closing(1000) + frame(TEXT, b"late") + frame(PING, b"late"))
        assert socket.receive() == (CLOSE, struct.pack("!H", 1000), True)
        assert socket.receive() is None


def test_vanished_peer_harms_nobody(relay: Relay) -> None:
    """Connections cut within the head, within a frame, and within a fragmented message, without a close of any kind."""
    for octets in (frame(BINARY, bytes(1000))[:1], frame(BINARY, bytes(1000))[:300], frame(TEXT, b"half", final=False)):
        for _ in range(20):
            with RawWebSocket(relay.port, relay.context()) as socket:
                socket.send(octets)


SESSION_VIOLATIONS = (
    ("media before hello", frame(BINARY, bytes(16)), (1002, 1003, 1008)),
    ("text that is no JSON", frame(TEXT, b"{not json"), (1002, 1003, 1007, 1008)),
    ("a control message over 64 KiB", frame(TEXT, b"", length=(64 << 10) + 1), (1009,)),
    ("a media frame over 4 MiB", frame(BINARY, b"", length=(5 << 20)), (1009,)),
    (
        "a message in more fragments than 1,024",
        frame(TEXT, b" " * 128, final=False) + frame(CONTINUATION, b" " * 32, final=False) * 1_100,
        (1008, 1009),
    ),
)


@pytest.mark.hostile
@pytest.mark.parametrize(("what", "octets", "codes"), SESSION_VIOLATIONS, ids=[row[0] for row in SESSION_VIOLATIONS])
def test_session_path_refuses(relay: Relay, what: str, octets: bytes, codes: tuple[int, ...]) -> None:
    with RawWebSocket(relay.port, relay.context(), "/v1/session", "segue.v1") as socket:
        socket.send(octets)
        assert socket.close_code() in codes, what


DEFLATE = (("Sec-WebSocket-Extensions", "permessage-deflate"),)
# RFC 7692 §7.2.3.1: "Hello", compressed.
COMPRESSED_HELLO = b"\xf2\x48\xcd\xc9\xc9\x07\x00"


def test_deflate_vector_of_the_rfc(relay: Relay) -> None:
    with RawWebSocket(relay.port, relay.context(), headers=DEFLATE) as socket:
        assert "permessage-deflate" in socket.head.lower()
        socket.send(frame(TEXT, COMPRESSED_HELLO, reserved=4))
        # Read by hand: this client's reader takes any reserved bit for a fault.
        head = socket._take(2)
        assert head is not None
        answer = socket._take(head[1]) or b""
        text = zlib.decompressobj(-15).decompress(answer + b"\x00\x00\xff\xff") if head[0] & 0x40 else answer
        assert text == b"Hello"


DEFLATE_VIOLATIONS = (
    ("§6.2 garbage for compressed data", frame(TEXT, b"\xff\xff\xff\xff", reserved=4), (1002, 1007)),
    ("§6.1 the compressed bit on a continuation", frame(TEXT, b"a", final=False) + frame(CONTINUATION, b"b", reserved=4), (1002,)),
    ("§6.1 the compressed bit on a control frame", frame(PING, b"", reserved=4), (1002,)),
    ("§8.1 compressed text that is not UTF-8", frame(TEXT, b"\xfa\x0f\x00", reserved=4), (1007,)),
)


@pytest.mark.parametrize(("what", "octets", "codes"), DEFLATE_VIOLATIONS, ids=[row[0] for row in DEFLATE_VIOLATIONS])
def test_deflate_violation_closes(relay: Relay, what: str, octets: bytes, codes: tuple[int, ...]) -> None:
    with RawWebSocket(relay.port, relay.context(), headers=DEFLATE) as socket:
        socket.send(octets)
        assert socket.close_code() in codes, what


def test_deflate_bomb_is_bounded(relay: Relay) -> None:
    """64 MiB of zeroes in 64 KiB: inflation stops at the message limit (1009)."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = compressor.compress(bytes(64 << 20)) + compressor.flush(zlib.Z_SYNC_FLUSH)
    with RawWebSocket(relay.port, relay.context(), headers=DEFLATE) as socket:
        socket.send(frame(TEXT, bomb[:-4], reserved=4))
        assert socket.close_code() == 1009
