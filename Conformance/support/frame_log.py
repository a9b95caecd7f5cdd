"""Reads what `segue listen --save` writes: the frame logs (`*.segue`), written from their description alone, not from the relay's code.

segue-frames 1\\n
{"participant":…,"stream":…,"kind":…,…}\\n
| length u32 | frame | length u32 | frame | …        big-endian; a frame is a 16-byte header, extensions when flag 0x20 is set, payload
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"segue-frames 1\n"
EXTENSION_PRESENT = 0x20
CONFIGURATION = 3


@dataclass
class Frame:
    kind: int
    flags: int
    stream: int
    sequence: int
    timestamp: int
    payload: bytes


@dataclass
class FrameLog:
    path: Path
    description: dict
    frames: list[Frame]

    @property
    def media(self) -> list[Frame]:
        return [frame for frame in self.frames if frame.kind != CONFIGURATION]


def parse_frame(octets: bytes) -> Frame:
    first, flags, _, _, stream, sequence, timestamp = struct.unpack_from("!BBBBLLL", octets)
    assert first >> 4 == 1, f"version {first >> 4}"
    start = 16
    if flags & EXTENSION_PRESENT:
        words, reserved = struct.unpack_from("!HH", octets, start)
        assert reserved == 0
        start += 4 + 4 * words
    assert start <= len(octets), "the extensions run over the frame's end"
    return Frame(first & 0xF, flags, stream, sequence, timestamp, octets[start:])


def read(path: Path) -> FrameLog:
    octets = path.read_bytes()
    assert octets.startswith(MAGIC), f"{path} is no frame log"
    end = octets.index(b"\n", len(MAGIC))
    position = end + 1
    frames = []
    while position < len(octets):
        (length,) = struct.unpack_from("!L", octets, position)
        position += 4
        assert position + length <= len(octets), f"{path} ends within a record"
        frames.append(parse_frame(octets[position : position + length]))
        position += length
    return FrameLog(path, json.loads(octets[len(MAGIC) : end]), frames)
