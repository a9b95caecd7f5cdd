"""§6.5 SETTINGS, §6.9 flow control, RFC 8441 §3."""

from __future__ import annotations

from hyperframe.frame import DataFrame, Frame, GoAwayFrame, RstStreamFrame, SettingsFrame
from support.raw_http2 import (
    ACK,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    PROTOCOL_ERROR,
    SETTINGS,
    WINDOW_UPDATE,
    RawHTTP2,
    frame,
    settings,
    window_update,
)

from . import case

WINDOW_MAX = (1 << 31) - 1
ENABLE_PUSH, CONCURRENT_STREAMS, INITIAL_WINDOW, FRAME_SIZE, ENABLE_CONNECT = 2, 3, 4, 5, 8


@case("§6.5", "SETTINGS with ACK and a payload is a connection error FRAME_SIZE_ERROR")
def ack_with_payload(c: RawHTTP2) -> None:
    c.send(frame(SETTINGS, ACK, 0, bytes(6)))
    c.expect_connection_error(FRAME_SIZE_ERROR)


@case("§6.5", "SETTINGS on a stream is a connection error PROTOCOL_ERROR")
def settings_stream(c: RawHTTP2) -> None:
    c.send(frame(SETTINGS, 0, 1, bytes(6)))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.5", "SETTINGS whose length is no multiple of 6 is a connection error FRAME_SIZE_ERROR")
def settings_length(c: RawHTTP2) -> None:
    c.send(frame(SETTINGS, 0, 0, bytes(3)))
    c.expect_connection_error(FRAME_SIZE_ERROR)


VALUES = {
    "ENABLE_PUSH of 2": ((ENABLE_PUSH, 2), PROTOCOL_ERROR),
    "INITIAL_WINDOW_SIZE over 2^31-1": ((INITIAL_WINDOW, 1 << 31), FLOW_CONTROL_ERROR),
    "MAX_FRAME_SIZE below 2^14": ((FRAME_SIZE, (1 << 14) - 1), PROTOCOL_ERROR),
    "MAX_FRAME_SIZE over 2^24-1": ((FRAME_SIZE, 1 << 24), PROTOCOL_ERROR),
    "ENABLE_CONNECT_PROTOCOL of 2": ((ENABLE_CONNECT, 2), PROTOCOL_ERROR),
}
for title, (pair, code) in VALUES.items():

    @case("RFC 8441 §3" if "CONNECT" in title else "§6.5.2", f"{title} is a connection error")
    def value(c: RawHTTP2, pair: tuple[int, int] = pair, code: int = code) -> None:
        c.send(settings(pair))
        c.expect_connection_error(code)


@case("§6.5.2", "an unknown setting is ignored")
def unknown_setting(c: RawHTTP2) -> None:
    c.send(settings((0xFF, 1)))
    c.expect_ping_answered()


@case("§6.5.3", "settings apply in the order in which they stand")
def settings_order(c: RawHTTP2) -> None:
    c.send(settings((INITIAL_WINDOW, 100), (INITIAL_WINDOW, 1)), c.get(1))
    assert first_data(c) == 1


@case("§6.5.3", "SETTINGS is acknowledged")
def settings_acknowledged(c: RawHTTP2) -> None:
    c.send(settings((CONCURRENT_STREAMS, 10)))
    while isinstance(received := c.receive(), Frame):
        if isinstance(received, SettingsFrame) and "ACK" in received.flags:
            return
    raise AssertionError(f"no acknowledgement: {c.seen}")


def first_data(c: RawHTTP2) -> int:
    """The length of the first DATA frame on stream 1."""
    while isinstance(received := c.receive(), Frame):
        if isinstance(received, DataFrame):
            return received.flow_controlled_length
    raise AssertionError(f"no DATA: {c.seen}")


def expect_no_data(c: RawHTTP2) -> None:
    while isinstance(received := c.receive(0.5), Frame):
        assert not (isinstance(received, DataFrame) and received.flow_controlled_length), f"DATA without window: {c.seen}"


@case("§6.9", "WINDOW_UPDATE of 0 on the connection is a connection error PROTOCOL_ERROR")
def zero_connection(c: RawHTTP2) -> None:
    c.send(window_update(0, 0))
    c.expect_connection_error(PROTOCOL_ERROR)


@case("§6.9", "WINDOW_UPDATE of 0 on a stream is a stream error PROTOCOL_ERROR")
def zero_stream(c: RawHTTP2) -> None:
    c.send(c.post(1), window_update(1, 0))
    c.expect_stream_error(1, PROTOCOL_ERROR)


@case("§6.9", "WINDOW_UPDATE of another length than 4 is a connection error FRAME_SIZE_ERROR")
def window_update_length(c: RawHTTP2) -> None:
    c.send(frame(WINDOW_UPDATE, 0, 0, bytes(3)))
    c.expect_connection_error(FRAME_SIZE_ERROR)


@case("§6.9.1", "no DATA goes out over the stream's window")
def window_respected(c: RawHTTP2) -> None:
    c.send(settings((INITIAL_WINDOW, 1)), c.get(1))
    assert first_data(c) == 1, f"got {c.seen}"
    expect_no_data(c)


@case("§6.9.1", "a connection window over 2^31-1 is a connection error FLOW_CONTROL_ERROR")
def window_overflow_connection(c: RawHTTP2) -> None:
    c.send(window_update(0, WINDOW_MAX), window_update(0, WINDOW_MAX))
    c.expect_connection_error(FLOW_CONTROL_ERROR)


@case("§6.9.1", "a stream window over 2^31-1 is a stream error FLOW_CONTROL_ERROR")
def window_overflow_stream(c: RawHTTP2) -> None:
    c.send(c.post(1), window_update(1, WINDOW_MAX), window_update(1, WINDOW_MAX))
    while isinstance(received := c.receive(), Frame):
        assert not isinstance(received, GoAwayFrame), f"a stream error ended the connection: {c.seen}"
        if isinstance(received, RstStreamFrame):
            assert received.stream_id == 1 and received.error_code == FLOW_CONTROL_ERROR, f"got {c.seen}"
            return
    raise AssertionError(f"no RST_STREAM: {c.seen}")


@case("§6.9.2", "a new INITIAL_WINDOW_SIZE adjusts the windows of open streams")
def initial_window_adjusts(c: RawHTTP2) -> None:
    c.send(settings((INITIAL_WINDOW, 0)), c.get(1))
    expect_no_data(c)
    c.send(settings((INITIAL_WINDOW, 1)))
    assert first_data(c) == 1


@case("§6.9.2", "a window that has become negative is kept account of")
def negative_window(c: RawHTTP2) -> None:
    # One octet is used of a window of 1; with 0 the window is -1, so two more give room for exactly one.
    c.send(settings((INITIAL_WINDOW, 1)), c.get(1))
    assert first_data(c) == 1
    c.send(settings((INITIAL_WINDOW, 0)))
    expect_no_data(c)
    c.send(window_update(1, 1))
    expect_no_data(c)
    c.send(window_update(1, 1))
    assert first_data(c) == 1


@case("§6.9.2", "INITIAL_WINDOW_SIZE that takes a stream's window over 2^31-1 is a connection error FLOW_CONTROL_ERROR")
def initial_window_overflow(c: RawHTTP2) -> None:
    c.send(c.post(1), window_update(1, WINDOW_MAX - (1 << 16)), settings((INITIAL_WINDOW, WINDOW_MAX)))
    c.expect_connection_error(FLOW_CONTROL_ERROR)
