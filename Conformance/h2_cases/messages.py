"""§8.1–8.4: requests that are malformed, and RFC 8441 §4."""

from __future__ import annotations

from support.raw_http2 import DATA, END_HEADERS, END_STREAM, HEADERS, PROTOCOL_ERROR, RawHTTP2, frame

from . import case


def expect_malformed(c: RawHTTP2, block: bytes) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
    c.expect_stream_error(1, PROTOCOL_ERROR, or_response=True)


@case("§8.1", "a second HEADERS without END_STREAM is a stream error PROTOCOL_ERROR")
def second_headers(c: RawHTTP2) -> None:
    trailers = c.encoder.encode([("x-test", "ok")])
    c.send(c.post(1), frame(HEADERS, END_HEADERS, 1, trailers))
    c.expect_stream_error(1, PROTOCOL_ERROR)


# Fields that make a request malformed: (clause, what, fields after the usual pseudo-fields).
REGULAR = (
    ("§8.2.1", "a field name with capital letters", (("X-TEST", "ok"),)),
    ("§8.2.1", "a field name with a space", (("x test", "ok"),)),
    ("§8.2.1", "a field name with a control character", (("x\x01test", "ok"),)),
    ("§8.2.1", "an empty field name", (("", "ok"),)),
    ("§8.2.1", "a field value with NUL", (("x-test", "a\0b"),)),
    ("§8.2.1", "a field value with CR LF", (("x-test", "a\r\nb: c"),)),
    ("§8.2.2", "Connection", (("connection", "keep-alive"),)),
    ("§8.2.2", "Proxy-Connection", (("proxy-connection", "keep-alive"),)),
    ("§8.2.2", "Keep-Alive", (("keep-alive", "timeout=5"),)),
    ("§8.2.2", "Transfer-Encoding", (("transfer-encoding", "chunked"),)),
    ("§8.2.2", "Upgrade", (("upgrade", "websocket"),)),
    ("§8.2.2", "TE other than trailers", (("te", "trailers, deflate;q=0.5"),)),
    ("§8.3", "an unknown pseudo-field", ((":test", "ok"),)),
    ("§8.3", "a response's pseudo-field :status", ((":status", "200"),)),
)
for clause, what, extra in REGULAR:

    @case(clause, f"{what} makes a request malformed: PROTOCOL_ERROR")
    def regular(c: RawHTTP2, extra: tuple[tuple[str, str], ...] = extra) -> None:
        expect_malformed(c, c.block(*extra))


@case("§8.2.2", "TE: trailers is allowed")
def te_trailers(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, c.block(("te", "trailers"))))
    c.expect_response(1)


@case("§8.3", "a pseudo-field among trailers is a stream error PROTOCOL_ERROR")
def pseudo_trailer(c: RawHTTP2) -> None:
    trailers = c.encoder.encode([(":method", "POST")])
    c.send(c.post(1), frame(HEADERS, END_HEADERS | END_STREAM, 1, trailers))
    c.expect_stream_error(1, PROTOCOL_ERROR)


@case("§8.3", "a pseudo-field after a regular field makes a request malformed: PROTOCOL_ERROR")
def pseudo_after_regular(c: RawHTTP2) -> None:
    usual = [(":method", "GET"), (":scheme", "https"), (":authority", c.authority)]
    expect_malformed(c, c.encoder.encode([*usual, ("x-test", "ok"), (":path", c.path)]))


for name in (":method", ":scheme", ":path"):

    @case("§8.3.1", f"a request without {name} is malformed: PROTOCOL_ERROR")
    def without(c: RawHTTP2, name: str = name) -> None:
        expect_malformed(c, c.block(drop=(name,)))

    @case("§8.3.1", f"a request with {name} twice is malformed: PROTOCOL_ERROR")
    def twice(c: RawHTTP2, name: str = name) -> None:
        value = {":method": "GET", ":scheme": "https", ":path": c.path}[name]
        expect_malformed(c, c.block(pseudo=((name, value),)))


@case("§8.3.1", "a request with an empty :path is malformed: PROTOCOL_ERROR")
def empty_path(c: RawHTTP2) -> None:
    expect_malformed(c, c.block(drop=(":path",), pseudo=((":path", ""),)))


@case("§8.3.1", "a :path that is neither absolute nor * is malformed: PROTOCOL_ERROR")
def relative_path(c: RawHTTP2) -> None:
    expect_malformed(c, c.block(drop=(":path",), pseudo=((":path", "healthz"),)))


@case("§8.1.1", "content-length that is not the length of the DATA frame is a stream error PROTOCOL_ERROR")
def length_mismatch(c: RawHTTP2) -> None:
    c.send(c.post(1, ("content-length", "1")), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_stream_error(1, PROTOCOL_ERROR)


@case("§8.1.1", "content-length that is not the sum of the DATA frames is a stream error PROTOCOL_ERROR")
def length_mismatch_sum(c: RawHTTP2) -> None:
    c.send(c.post(1, ("content-length", "1")), frame(DATA, 0, 1, b"te"), frame(DATA, END_STREAM, 1, b"st"))
    c.expect_stream_error(1, PROTOCOL_ERROR)


@case("§8.1.1", "content-length with a body that falls short is a stream error PROTOCOL_ERROR")
def length_short(c: RawHTTP2) -> None:
    c.send(c.post(1, ("content-length", "8")), frame(DATA, END_STREAM, 1, b"test"))
    c.expect_stream_error(1, PROTOCOL_ERROR)


@case("§8.5", "CONNECT with :scheme and :path but no :protocol is malformed: PROTOCOL_ERROR")
def connect_with_path(c: RawHTTP2) -> None:
    c.send(frame(HEADERS, END_HEADERS, 1, c.block(method="CONNECT")))
    c.expect_stream_error(1, PROTOCOL_ERROR, or_response=True)


@case("RFC 8441 §4", ":protocol with another method than CONNECT is malformed: PROTOCOL_ERROR")
def protocol_with_get(c: RawHTTP2) -> None:
    expect_malformed(c, c.block(pseudo=((":protocol", "websocket"),)))
