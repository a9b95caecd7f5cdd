"""Media frames on the wire (protocol sections 4.1 to 4.6): headers, extensions, bundles, parts. Pure: bytes in, bytes out.

All integers are big-endian. Whatever is not as it must be raises `FrameError` with the protocol's name of the fault, never anything else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from .errors import FrameError

VERSION = 1
HEADER = struct.Struct("!BBBBIII")
PART_HEAD = struct.Struct("!II")
PACKET = struct.Struct("!qII")
# Seconds from 1900, which NTP counts from (RFC 5905 section 6), to 1970.
NTP_EPOCH = 2_208_988_800


class Kind(IntEnum):
    AUDIO = 0
    VIDEO = 1
    DATA = 2
    CONFIGURATION = 3
    BUNDLE = 4
    PART = 5


class Flag(IntFlag):
    KEY = 0x01
    DISCARDABLE = 0x02
    DISCONTINUITY = 0x04
    SILENCE = 0x08
    END_OF_PICTURE = 0x10
    EXTENSION_PRESENT = 0x20
    ENCRYPTED = 0x40


RESERVED_FLAG = 0x80
NO_FLAG = Flag(0)


@dataclass(frozen=True)
class Limits:
    """Bytes, headers included; `welcome` tells the relay's. A client takes what it is willing to keep."""

    audio: int = 8_192
    video: int = 4_194_304
    data: int = 65_536

    def check(self, kind: Kind, length: int) -> None:
        if kind is Kind.AUDIO:
            bound, name = self.audio, "audioFrameBytesMax"
        elif kind in (Kind.DATA, Kind.CONFIGURATION):
            bound, name = self.data, "dataFrameBytesMax"
        else:
            bound, name = self.video, "videoFrameBytesMax"
        if length > bound:
            raise FrameError(f"media_frame_over_{name}")


@dataclass(frozen=True)
class Packet:
    """One entry of a packet table: where in the payload a packet lies, and how many frames it has where that varies (else 0)."""

    offset: int
    length: int
    frames: int = 0


@dataclass(frozen=True)
class Frame:
    """One frame. `timestamp` is its decode time in ticks of the stream's timescale; `level` is in dBov, 0 (loudest) to -127, of audio alone.

    The last five are the header's extensions; None: not there. `capture_time` is NTP's 64 bits (`ntp_from_unix`, `unix_from_ntp`), `composition_offset`
    and `duration` are ticks.
    """

    kind: Kind
    stream: int
    sequence: int
    timestamp: int
    payload: bytes = b""
    flags: Flag = NO_FLAG
    spatial: int = 0
    temporal: int = 0
    level: int = -127
    voice: bool = False
    capture_time: int | None = None
    composition_offset: int | None = None
    packets: tuple[Packet, ...] | None = None
    attachments: bytes | None = None
    duration: int | None = None

    @property
    def is_media(self) -> bool:
        return self.kind in (Kind.AUDIO, Kind.VIDEO, Kind.DATA)


def ntp_from_unix(seconds: float) -> int:
    whole = int(seconds // 1)
    return ((whole + NTP_EPOCH) << 32 | int((seconds - whole) * 2**32)) & 0xFFFF_FFFF_FFFF_FFFF


def unix_from_ntp(time: int) -> float:
    return (time >> 32) - NTP_EPOCH + (time & 0xFFFF_FFFF) / 2**32


def serial_difference(newer: int, older: int) -> int:
    """How far one 32-bit number is ahead of another (RFC 1982): from -2^31 to 2^31 - 1."""
    return (newer - older + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000


# Writing


def encode(frame: Frame) -> bytes:
    """The message of a frame that is no bundle and no part. Raises ValueError for a number that its field cannot hold."""
    if frame.kind in (Kind.BUNDLE, Kind.PART):
        raise ValueError("bundles and parts come from the relay only")
    if not -127 <= frame.level <= 0 or not 0 <= frame.spatial < 16 or not 0 <= frame.temporal < 16:
        raise ValueError(f"level {frame.level}, layer {frame.spatial}.{frame.temporal}")
    extensions = _encode_extensions(frame)
    flags = frame.flags & ~Flag.EXTENSION_PRESENT | (Flag.EXTENSION_PRESENT if extensions else 0)
    layer, level = frame.spatial << 4 | frame.temporal, -frame.level | (0x80 if frame.voice else 0)
    try:
        header = HEADER.pack(VERSION << 4 | frame.kind, flags, layer, level, frame.stream, frame.sequence & 0xFFFF_FFFF, frame.timestamp & 0xFFFF_FFFF)
    except struct.error as error:
        raise ValueError(f"stream {frame.stream}, flags {frame.flags!r}") from error
    return header + extensions + frame.payload


def _encode_extensions(frame: Frame) -> bytes:
    try:
        values = [
            (1, None if frame.capture_time is None else struct.pack("!Q", frame.capture_time)),
            (2, None if frame.composition_offset is None else struct.pack("!i", frame.composition_offset)),
            (3, None if not frame.packets else b"".join(PACKET.pack(packet.offset, packet.frames, packet.length) for packet in frame.packets)),
            (4, frame.attachments),
            (5, None if frame.duration is None else struct.pack("!I", frame.duration)),
        ]
        items = b"".join(struct.pack("!BBH", number, 0, len(value)) + value + bytes(-len(value) % 4) for number, value in values if value is not None)
        return struct.pack("!HH", len(items) // 4, 0) + items if items else b""
    except struct.error as error:
        raise ValueError("an extension does not fit its field") from error


def encode_bundle(frames: list[Frame]) -> bytes:
    """As a relay does it; for tests and for servers."""
    return HEADER.pack(VERSION << 4 | Kind.BUNDLE, 0, 0, 0x7F, 0, 0, 0) + b"".join(struct.pack("!I", len(entry)) + entry for entry in map(encode, frames))


def encode_parts(message: bytes, size: int) -> list[bytes]:
    """A frame's message in parts of so many of its bytes; for tests and for servers."""
    head = bytes([VERSION << 4 | Kind.PART, 0]) + message[2 : HEADER.size]
    return [head + PART_HEAD.pack(offset, len(message)) + message[offset : offset + size] for offset in range(0, len(message), size)]


# Reading


def kind_of(message: bytes) -> Kind:
    """Of a message whose header is as it must be."""
    if len(message) < HEADER.size:
        raise FrameError("media_header_truncated")
    if message[0] >> 4 != VERSION:
        raise FrameError("media_version_unsupported")
    try:
        kind = Kind(message[0] & 0x0F)
    except ValueError:
        raise FrameError("media_kind_unknown") from None
    if message[1] & RESERVED_FLAG:
        raise FrameError("media_reserved_flag")
    return kind


def decode(message: bytes, limits: Limits = Limits()) -> Frame:
    """One whole frame that is no bundle and no part: those are for `Unpacker`, and `media_kind_unknown` here."""
    kind = kind_of(message)
    if kind in (Kind.BUNDLE, Kind.PART):
        raise FrameError("media_kind_unknown")
    limits.check(kind, len(message))
    _, flags, layer, level, stream, sequence, timestamp = HEADER.unpack_from(message)
    start, items = _extensions(message) if flags & Flag.EXTENSION_PRESENT else (HEADER.size, {})
    payload = message[start:]
    table = items.get(3)
    return Frame(
        kind,
        stream,
        sequence,
        timestamp,
        payload,
        Flag(flags & ~Flag.EXTENSION_PRESENT),
        layer >> 4,
        layer & 0x0F,
        -(level & 0x7F),
        bool(level & 0x80),
        capture_time=int.from_bytes(items[1], "big") if 1 in items else None,
        composition_offset=int.from_bytes(items[2], "big", signed=True) if 2 in items else None,
        packets=None if table is None else tuple(_packets(table, len(payload))),
        attachments=items.get(4),
        duration=int.from_bytes(items[5], "big") if 5 in items else None,
    )


def _extensions(message: bytes) -> tuple[int, dict[int, bytes]]:
    """Where the payload begins, and the values of the known items by type."""
    first = HEADER.size + 4
    if len(message) < first:
        raise FrameError("media_extension_block_truncated")
    words, reserved = struct.unpack_from("!HH", message, HEADER.size)
    end = first + 4 * words
    if end > len(message):
        raise FrameError("media_extension_block_truncated")
    if reserved:
        raise FrameError("media_extension_reserved")
    items: dict[int, bytes] = {}
    place = first
    while place < end:
        number, zero, length = struct.unpack_from("!BBH", message, place)
        value_end = place + 4 + length
        place = place + 4 + (length + 3 & ~3)
        if place > end:
            raise FrameError("media_extension_item_truncated")
        if zero or any(message[value_end:place]):
            raise FrameError("media_extension_reserved")
        if not 1 <= number <= 5:
            continue
        if (number == 1 and length != 8) or (number in (2, 5) and length != 4) or (number == 3 and (not length or length % PACKET.size)):
            raise FrameError("media_extension_item_length")
        if number in items:
            raise FrameError("media_extension_item_repeated")
        items[number] = message[value_end - length : value_end]
    return end, items


def _packets(table: bytes, payload: int) -> Iterator[Packet]:
    for offset, frames, length in PACKET.iter_unpack(table):
        if offset < 0 or offset + length > payload:
            raise FrameError("media_packet_outside_payload")
        yield Packet(offset, length, frames)


class Unpacker:
    """Makes frames of a relay's binary messages: takes bundles apart and puts parts together. Keeps one unfinished frame a stream, within bounds."""

    def __init__(self, limits: Limits = Limits(), streams_max: int = 64, bytes_max: int = 16 << 20) -> None:
        self.limits, self.streams_max, self.bytes_max = limits, streams_max, bytes_max
        self._unfinished: dict[int, tuple[int, bytearray]] = {}

    def take(self, message: bytes) -> list[Frame]:
        """The frames that this message brings to an end, in order."""
        kind = kind_of(message)
        if kind is Kind.BUNDLE:
            return [self._whole(entry) for entry in self._entries(message)]
        if kind is not Kind.PART:
            return [self._whole(message)]
        whole = self._part(message)
        return [] if whole is None else [whole]

    def _whole(self, message: bytes) -> Frame:
        frame = decode(message, self.limits)
        if frame.stream in self._unfinished:
            raise FrameError("media_part_out_of_order")
        return frame

    def _entries(self, message: bytes) -> Iterator[bytes]:
        self.limits.check(Kind.BUNDLE, len(message))
        place = _extensions(message)[0] if message[1] & Flag.EXTENSION_PRESENT else HEADER.size
        if message[1] & Flag.ENCRYPTED:
            raise FrameError("media_bundle_encrypted")
        if place == len(message):
            raise FrameError("media_bundle_empty")
        while place < len(message):
            length = int.from_bytes(message[place : place + 4], "big")
            if len(message) - place < 4 or length > len(message) - place - 4:
                raise FrameError("media_bundle_entry_truncated")
            entry = message[place + 4 : place + 4 + length]
            fault = {Kind.BUNDLE: "nested", Kind.PART: "part", Kind.CONFIGURATION: "configuration"}.get(kind_of(entry))
            if fault:
                raise FrameError(f"media_bundle_{fault}")
            yield entry
            place += 4 + length

    def _part(self, message: bytes) -> Frame | None:
        self.limits.check(Kind.PART, len(message))
        if message[1]:
            raise FrameError("media_part_flags")
        start = HEADER.size + PART_HEAD.size
        if len(message) <= start:
            raise FrameError("media_part_truncated")
        offset, total = PART_HEAD.unpack_from(message, HEADER.size)
        stream = int.from_bytes(message[4:8], "big")
        if total < HEADER.size or offset + len(message) - start > total:
            raise FrameError("media_part_outside_frame")
        known = self._unfinished.get(stream)
        if (offset == 0) != (known is None) or (known is not None and (offset != len(known[1]) or total != known[0])):
            raise FrameError("media_part_out_of_order")
        if known is None:
            self.limits.check(Kind.VIDEO, total)
            known = total, bytearray()
        held = sum(len(piece) for _, piece in self._unfinished.values())
        if len(self._unfinished) + (offset == 0) > self.streams_max or held + len(message) - start > self.bytes_max:
            raise FrameError("media_parts_too_many")
        self._unfinished[stream] = known
        known[1].extend(message[start:])
        if len(known[1]) < total:
            return None
        whole = bytes(self._unfinished.pop(stream)[1])
        if kind_of(whole) in (Kind.BUNDLE, Kind.PART) or whole[2 : HEADER.size] != message[2 : HEADER.size]:
            raise FrameError("media_part_outside_frame")
        return decode(whole, self.limits)
