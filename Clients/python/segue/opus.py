"""libopus by its C interface, for bots that speak or understand: 48 kHz, 16 bits a sample.

Needs the system's libopus (Debian: libopus0); nothing else in this package does.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any

RATE = 48_000
FRAME_SAMPLES = 960
PACKET_SAMPLES_MAX, PACKET_BYTES_MAX = 5_760, 1_275
VOIP = 2_048


class OpusError(Exception):
    """There is no libopus, or it refuses."""


@cache
def _library() -> Any:
    name = ctypes.util.find_library("opus")
    if name is None:
        raise OpusError("libopus is not installed")
    library = ctypes.CDLL(name)
    pointer, number, data = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    for function, result, arguments in (
        ("opus_encoder_create", pointer, [ctypes.c_int32, number, number, ctypes.POINTER(number)]),
        ("opus_encoder_destroy", None, [pointer]),
        ("opus_encode", ctypes.c_int32, [pointer, data, number, data, ctypes.c_int32]),
        ("opus_decoder_create", pointer, [ctypes.c_int32, number, ctypes.POINTER(number)]),
        ("opus_decoder_destroy", None, [pointer]),
        ("opus_decode", number, [pointer, data, ctypes.c_int32, data, number, number]),
    ):
        getattr(library, function).restype, getattr(library, function).argtypes = result, arguments
    return library


class Encoder:
    """Frames of 20 ms: 960 samples of each channel, interleaved, little-endian."""

    def __init__(self, channels: int = 1) -> None:
        status = ctypes.c_int()
        self.channels, self._library = channels, _library()
        self._state = self._library.opus_encoder_create(RATE, channels, VOIP, ctypes.byref(status))
        if status.value:
            raise OpusError(f"libopus says {status.value}")
        self._room = ctypes.create_string_buffer(PACKET_BYTES_MAX)

    def encode(self, samples: bytes) -> bytes:
        """A frame's packet. What is shorter than a frame is filled with silence."""
        whole = samples.ljust(FRAME_SAMPLES * self.channels * 2, b"\0")
        count = self._library.opus_encode(self._state, whole, FRAME_SAMPLES, self._room, PACKET_BYTES_MAX)
        if count < 0:
            raise OpusError(f"libopus says {count}")
        return self._room.raw[:count]

    def __del__(self) -> None:
        if getattr(self, "_state", None):
            self._library.opus_encoder_destroy(self._state)


class Decoder:
    def __init__(self, channels: int = 1) -> None:
        status = ctypes.c_int()
        self.channels, self._library = channels, _library()
        self._state = self._library.opus_decoder_create(RATE, channels, ctypes.byref(status))
        if status.value:
            raise OpusError(f"libopus says {status.value}")
        self._room = ctypes.create_string_buffer(PACKET_SAMPLES_MAX * channels * 2)

    def decode(self, packet: bytes | None, lost_samples: int = FRAME_SAMPLES) -> bytes:
        """A packet's samples, interleaved, little-endian; None: what is played in place of one that is lost."""
        count = self._library.opus_decode(self._state, packet, len(packet or b""), self._room, PACKET_SAMPLES_MAX if packet else lost_samples, 0)
        if count < 0:
            raise OpusError(f"libopus says {count}")
        return self._room.raw[: count * self.channels * 2]

    def __del__(self) -> None:
        if getattr(self, "_state", None):
            self._library.opus_decoder_destroy(self._state)
