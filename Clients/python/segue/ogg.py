"""Ogg Opus files (RFC 3533, RFC 7845): written as packets come, with gaps filled; and read. Nothing is decoded."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from .frames import serial_difference

RATE = 48_000
HEAD_MAGIC, TAGS_MAGIC, PAGE_MAGIC = b"OpusHead", b"OpusTags", b"OggS"
PAGE = struct.Struct("<4sBBqIIIB")
CONTINUED, FIRST, LAST = 1, 2, 4
# A page is written when it holds a second or is full, so that a file whose writer dies lacks no more.
PAGE_SAMPLES, PAGE_SEGMENTS_MAX, SEGMENT_BYTES = RATE, 255, 255
PACKET_SAMPLES_MAX = RATE * 120 // 1_000
# The shortest Opus frame, 2.5 ms: gaps that are no multiple of it cannot be filled (RFC 7845 section 4.1).
UNIT = 120
# What libopus looks ahead by default: a decoder drops so much at the beginning.
PRE_SKIP = 312
# How much longer than the time that has passed a gap may be; beyond it the timestamps have begun anew.
GAP_SLACK_SECONDS = 5.0


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        remainder = value << 24
        for _ in range(8):
            remainder = (remainder << 1 ^ (0x04C1_1DB7 if remainder & 0x8000_0000 else 0)) & 0xFFFF_FFFF
        table.append(remainder)
    return table


CRC_TABLE = _crc_table()


def crc(data: bytes) -> int:
    """RFC 3533 section 6: polynomial 0x04C11DB7, neither reflected nor inverted."""
    remainder = 0
    for octet in data:
        remainder = (remainder << 8 & 0xFFFF_FFFF) ^ CRC_TABLE[remainder >> 24 ^ octet]
    return remainder


# Opus packets by their first byte (RFC 6716 section 3.1)


SILK_SAMPLES, HYBRID_SAMPLES, CELT_SAMPLES = (480, 960, 1_920, 2_880), (480, 960), (120, 240, 480, 960)
# Of one frame at 48 kHz, by the packet's configuration.
SAMPLES = SILK_SAMPLES * 3 + HYBRID_SAMPLES * 2 + CELT_SAMPLES * 4


def frame_samples(toc: int) -> int:
    """Of one frame, at 48 kHz."""
    return SAMPLES[toc >> 3]


def packet_samples(packet: bytes) -> int:
    """Of a packet, at 48 kHz. Raises ValueError for what is no Opus packet."""
    code = packet[0] & 3 if packet else 3
    count = (1, 2, 2)[code] if code < 3 else packet[1] & 0x3F if len(packet) > 1 else 0
    if not count or count * frame_samples(packet[0]) > PACKET_SAMPLES_MAX:
        raise ValueError("no Opus packet")
    return count * frame_samples(packet[0])


def fitting(toc: int, samples: int) -> int:
    """The first byte of packets whose frames are no longer than that: the same when it fits, else of the same mode, else CELT, which has the shortest."""
    configuration = toc >> 3
    mode = configuration // 4 * 4 if configuration < 12 else configuration // 2 * 2 if configuration < 16 else configuration // 4 * 4
    sizes = 2 if 12 <= configuration < 16 else 4
    # CELT has no medium band: that becomes wide band.
    bandwidth = (0, 1, 1)[configuration // 4] if configuration < 12 else 2 + (configuration - 12) // 2 if configuration < 16 else 0
    celt = 16 + 4 * bandwidth
    choices: list[int] = [configuration, *range(mode + sizes - 1, mode - 1, -1), *range(celt + 3, celt - 1, -1)]
    for choice in choices:
        if frame_samples(choice << 3) <= samples:
            return choice << 3 | toc & 4
    raise ValueError(f"{samples} samples are shorter than any frame")


def lost_packets(toc: int, samples: int) -> Iterator[bytes]:
    """Packets of empty frames, for which a decoder conceals (RFC 7845 section 4.1): like the packet before as long as that fits, then in shorter frames."""
    while samples >= UNIT:
        toc = fitting(toc, samples)
        count = min(samples, PACKET_SAMPLES_MAX) // frame_samples(toc)
        yield bytes([toc & 0xFC | 3, count])
        samples -= count * frame_samples(toc)


def head(channels: int = 1, rate: int = RATE, pre_skip: int = PRE_SKIP) -> bytes:
    """An OpusHead (RFC 7845 section 5.1) of one stream: what is sent as configuration, too (protocol section 5.5)."""
    return HEAD_MAGIC + struct.pack("<BBHIhB", 1, channels, pre_skip, rate, 0, 0)


def tags(comments: Mapping[str, str]) -> bytes:
    vendor, fields = b"segue", [f"{name}={value}".encode() for name, value in comments.items()]
    packed = b"".join(struct.pack("<I", len(field)) + field for field in fields)
    return TAGS_MAGIC + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", len(fields)) + packed


class OggOpusWriter:
    """One stream. What was lost, or not sent because nobody spoke, is filled, so that times in the file are those of the stream."""

    def __init__(
        self,
        file: BinaryIO,
        configuration: bytes | None = None,
        comments: Mapping[str, str] | None = None,
        serial: int = 1,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`configuration` is the stream's, if it has one. `close` closes the file, too."""
        self._file, self._serial, self._now = file, serial, now
        self._page, self._segments = b"", bytearray()
        self._number = self._page_begins = 0
        # Samples that all packets so far have; the gaps that were filled are among them.
        self.samples = self.filled = 0
        self._toc = 0
        self._expected: int | None = None
        self._written_at = 0.0
        is_head = configuration is not None and configuration.startswith(HEAD_MAGIC) and len(configuration) >= 19
        self._put(configuration if configuration and is_head else head())
        self._flush(FIRST)
        self._put(tags(comments or {}))
        self._flush(0)

    def write(self, packet: bytes, timestamp: int, timescale: int = RATE) -> None:
        """A packet and its timestamp, which wraps at 32 bits. Raises ValueError for what is no Opus packet; nothing is written then."""
        length = packet_samples(packet)
        now = self._now()
        if self._expected is not None:
            gap = serial_difference(timestamp, self._expected) * RATE // timescale
            if 0 < gap <= (now - self._written_at + GAP_SLACK_SECONDS) * RATE:
                for lost in lost_packets(self._toc, gap):
                    self._add(lost)
                    self.filled += packet_samples(lost)
        self._add(packet)
        self._toc, self._written_at = packet[0], now
        self._expected = (timestamp + length * timescale // RATE) & 0xFFFF_FFFF

    def close(self) -> None:
        """Ends the stream, as its last page says, and the file."""
        self._flush(LAST)
        self._file.close()

    def _add(self, packet: bytes) -> None:
        if len(self._segments) + len(packet) // SEGMENT_BYTES + 1 > PAGE_SEGMENTS_MAX or self.samples - self._page_begins >= PAGE_SAMPLES:
            self._flush(0)
        self.samples += packet_samples(packet)
        self._put(packet)

    def _put(self, packet: bytes) -> None:
        self._page += packet
        self._segments += bytes([SEGMENT_BYTES]) * (len(packet) // SEGMENT_BYTES) + bytes([len(packet) % SEGMENT_BYTES])

    def _flush(self, flags: int) -> None:
        """The granule position is that of the last packet's end, pre-skip included (RFC 7845 section 4)."""
        header = PAGE.pack(PAGE_MAGIC, 0, flags, self.samples, self._serial & 0xFFFF_FFFF, self._number, 0, len(self._segments)) + self._segments
        page = header + self._page
        self._file.write(page[:22] + struct.pack("<I", crc(page)) + page[26:])
        self._number += 1
        self._page, self._segments, self._page_begins = b"", bytearray(), self.samples


def read_packets(file: BinaryIO) -> Iterator[bytes]:
    """The packets of the first stream: OpusHead, OpusTags, then sound. Raises ValueError where a page is not as it must be."""
    packet, serial = b"", None
    while header := file.read(PAGE.size):
        if len(header) < PAGE.size or header[:4] != PAGE_MAGIC:
            raise ValueError("no Ogg page")
        found, count = PAGE.unpack(header)[4], header[26]
        lacing = file.read(count)
        body = file.read(sum(lacing))
        page = header[:22] + bytes(4) + header[26:] + lacing + body
        if len(lacing) < count or len(body) < sum(lacing) or crc(page) != struct.unpack("<I", header[22:26])[0]:
            raise ValueError("an Ogg page is cut off, or damaged")
        serial = found if serial is None else serial
        if found != serial:
            continue
        place = 0
        for length in lacing:
            packet += body[place : place + length]
            place += length
            if length < SEGMENT_BYTES:
                yield packet
                packet = b""
