"""The Python client library without a relay: frames on the wire, Ogg Opus, the clock, and that its types are those of the protocol's description."""

from __future__ import annotations

import asyncio
import io
import json
import random
import re
import struct
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
from support import heard
from support.python_client import LIBRARY
from support.relay import REPOSITORY

from segue import Flag, Frame, FrameError, Kind, Limits, Packet, Unpacker, decode, encode, messages, ntp_from_unix, unix_from_ntp  # isort: skip
from segue.clock import Backoff, Clock, Sample  # isort: skip
from segue.feed import Feed  # isort: skip
from segue.frames import HEADER, encode_bundle, encode_parts, serial_difference  # isort: skip
from segue.ogg import CRC_TABLE, OggOpusWriter, crc, head, lost_packets, packet_samples, read_packets  # isort: skip

PROTOCOL = (REPOSITORY / "Sources/PROTOCOL.md").read_text()

# Frames: the examples of protocol §4.2

EXAMPLES = {
    "an Opus packet": (
        "10 00 00 9E  00 00 00 03  00 00 00 01  00 00 03 C0   F8 FF FE",
        Frame(Kind.AUDIO, 3, 1, 960, b"\xf8\xff\xfe", level=-30, voice=True),
    ),
    "a video key frame": (
        "11 21 00 7F  00 00 00 04  00 00 00 00  00 00 00 00\n00 02 00 00\n02 00 00 04  00 00 0B B8",
        Frame(Kind.VIDEO, 4, 0, 0, flags=Flag.KEY, composition_offset=3_000),
    ),
    "a configuration": ("13 00 00 7F  00 00 00 04  00 00 00 00  00 00 00 00", Frame(Kind.CONFIGURATION, 4, 0, 0)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_protocols_examples_are_read_and_written(name: str) -> None:
    digits, frame = EXAMPLES[name]
    for line in digits.splitlines():
        assert line in PROTOCOL, "the example is not that of the document any more"
    assert decode(bytes.fromhex(digits)) == frame
    assert encode(frame) == bytes.fromhex(digits)


def some_frame(chance: random.Random, kinds: tuple[Kind, ...] = (Kind.AUDIO, Kind.VIDEO, Kind.DATA, Kind.CONFIGURATION)) -> Frame:
    payload = chance.randbytes(chance.choice((0, 1, 3, 100, 1_500)))
    maybe = lambda value: value if chance.random() < 0.4 else None  # noqa: E731
    at = chance.randrange(len(payload) + 1)
    return Frame(
        chance.choice(kinds),
        chance.randrange(1 << 32),
        chance.randrange(1 << 32),
        chance.randrange(1 << 32),
        payload,
        Flag(chance.randrange(0x80) & ~Flag.EXTENSION_PRESENT),
        chance.randrange(16),
        chance.randrange(16),
        -chance.randrange(128),
        chance.random() < 0.5,
        maybe(chance.randrange(1 << 64)),
        maybe(chance.randrange(-(1 << 31), 1 << 31)),
        maybe((Packet(0, at), Packet(at, len(payload) - at, 960))),
        maybe(chance.randbytes(chance.randrange(9))),
        maybe(chance.randrange(1 << 32)),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_frame_is_read_as_it_was_written_and_no_piece_of_it_is_taken_for_another(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        frame = some_frame(chance)
        message = encode(frame)
        assert decode(message) == frame
        start = len(message) - len(frame.payload)
        for length in range(start + 20 if len(message) > start + 20 else len(message)):
            try:
                piece = decode(message[:length])
            except FrameError as fault:
                if length < HEADER.size:
                    assert fault.name == "media_header_truncated"
                elif length < start:
                    assert fault.name == "media_extension_block_truncated"
                else:
                    assert fault.name == "media_packet_outside_payload" and frame.packets
                assert fault.code == 1002
            else:
                assert length >= start and piece.payload == frame.payload[: length - start]


HEAD = bytes.fromhex("1000007f 00000001 00000002 00000003")
EXTENDED = bytes.fromhex("1020007f 00000001 00000002 00000003")
BUNDLE, PART = bytes.fromhex("1400007f") + bytes(12), bytes.fromhex("1500007f 00000001 00000002 00000003")
ENTRY = struct.pack("!I", 16) + HEAD
FAULTS = {
    "no byte": (b"", "media_header_truncated"),
    "version 2": (b"\x20" + HEAD[1:], "media_version_unsupported"),
    "kind 6": (b"\x16" + HEAD[1:], "media_kind_unknown"),
    "flag 0x80": (HEAD[:1] + b"\x80" + HEAD[2:], "media_reserved_flag"),
    "no block": (EXTENDED, "media_extension_block_truncated"),
    "block beyond the frame": (EXTENDED + bytes.fromhex("00010000"), "media_extension_block_truncated"),
    "reserved of the block": (EXTENDED + bytes.fromhex("00000001"), "media_extension_reserved"),
    "reserved of an item": (EXTENDED + bytes.fromhex("00020000 05010004 00000001"), "media_extension_reserved"),
    "padding": (EXTENDED + bytes.fromhex("00020000 04000001 01000001"), "media_extension_reserved"),
    "item beyond the block": (EXTENDED + bytes.fromhex("00010000 04000001 00000000"), "media_extension_item_truncated"),
    "time of capture of 4 bytes": (EXTENDED + bytes.fromhex("00020000 01000004 00000001"), "media_extension_item_length"),
    "offset of 8 bytes": (EXTENDED + bytes.fromhex("00030000 02000008 0000000000000001"), "media_extension_item_length"),
    "empty packet table": (EXTENDED + bytes.fromhex("00010000 03000000"), "media_extension_item_length"),
    "duration twice": (EXTENDED + bytes.fromhex("00040000 05000004 00000001 05000004 00000001"), "media_extension_item_repeated"),
    "packet behind the end": (EXTENDED + bytes.fromhex("00050000 03000010 0000000000000001 00000000 00000001") + b"x", "media_packet_outside_payload"),
    "packet before the beginning": (EXTENDED + bytes.fromhex("00050000 03000010 ffffffffffffffff 00000000 00000001") + b"x", "media_packet_outside_payload"),
    "empty bundle": (BUNDLE, "media_bundle_empty"),
    "bundle with half a length": (BUNDLE + ENTRY + b"\0\0", "media_bundle_entry_truncated"),
    "bundle with half an entry": (BUNDLE + ENTRY[:-1], "media_bundle_entry_truncated"),
    "bundle with an entry without a header": (BUNDLE + struct.pack("!I", 15) + HEAD[:15], "media_header_truncated"),
    "bundle in a bundle": (BUNDLE + struct.pack("!I", 36) + BUNDLE + ENTRY, "media_bundle_nested"),
    "configuration in a bundle": (BUNDLE + struct.pack("!I", 16) + b"\x13" + HEAD[1:], "media_bundle_configuration"),
    "part in a bundle": (BUNDLE + struct.pack("!I", 25) + PART + struct.pack("!II", 0, 20) + b"x", "media_bundle_part"),
    "encrypted bundle": (b"\x14\x40" + BUNDLE[2:] + ENTRY, "media_bundle_encrypted"),
    "part of nothing": (PART + struct.pack("!II", 0, 16), "media_part_truncated"),
    "part with flags": (PART[:1] + b"\x01" + PART[2:] + struct.pack("!II", 0, 20) + b"x", "media_part_flags"),
    "part of less than a header": (PART + struct.pack("!II", 0, 15) + b"x", "media_part_outside_frame"),
    "part beyond its frame": (PART + struct.pack("!II", 16, 16) + b"x", "media_part_outside_frame"),
    "second part first": (PART + struct.pack("!II", 8, 20) + b"x", "media_part_out_of_order"),
    "whole in one part, of another stream": (PART + struct.pack("!II", 0, 16) + b"\x10\0\0\x7f\0\0\0\2" + HEAD[8:], "media_part_outside_frame"),
    "a bundle in a part": (PART + struct.pack("!II", 0, 16) + b"\x14\0\0\x7f" + HEAD[4:], "media_part_outside_frame"),
    "part of more than a client takes": (PART + struct.pack("!II", 0, 1 << 30) + b"x", "media_frame_over_videoFrameBytesMax"),
    "audio over its limit": (HEAD + bytes(8_192), "media_frame_over_audioFrameBytesMax"),
    "data over its limit": (b"\x12" + HEAD[1:] + bytes(65_536), "media_frame_over_dataFrameBytesMax"),
    "configuration over its limit": (b"\x13" + HEAD[1:] + bytes(65_536), "media_frame_over_dataFrameBytesMax"),
    "video over its limit": (b"\x11" + HEAD[1:] + bytes(4_194_304), "media_frame_over_videoFrameBytesMax"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_no_frame_is_told_by_the_protocols_name(name: str) -> None:
    message, fault = FAULTS[name]
    with pytest.raises(FrameError) as raised:
        Unpacker().take(message)
    assert raised.value.name == fault
    codes = [row.split("|")[1].strip() for row in PROTOCOL.splitlines() if row.startswith("| 100") and f"`{fault}`" in row]
    assert codes == [str(raised.value.code)]


def test_every_fault_of_the_protocol_is_among_them() -> None:
    named = set(re.findall(r"`(media_\w+)`", PROTOCOL[PROTOCOL.index("### 4.5") : PROTOCOL.index("### 4.6")]))
    assert named - {fault for _, fault in FAULTS.values()} == {"media_parts_too_many"}


@pytest.mark.parametrize("name", ["streams", "bytes"])
def test_unfinished_frames_are_bounded(name: str) -> None:
    unpacker = Unpacker(streams_max=2, bytes_max=100)
    parts = [encode_parts(encode(Frame(Kind.VIDEO, stream, 0, 0, bytes(200))), 30 if name == "streams" else 60)[0] for stream in (1, 2, 3)]
    with pytest.raises(FrameError, match="media_parts_too_many") as raised:
        for part in parts:
            assert unpacker.take(part) == []
    assert raised.value.code == 1009


@pytest.mark.parametrize("seed", range(10))
def test_bundles_and_parts_of_several_streams_come_out_whole_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    media = (Kind.AUDIO, Kind.VIDEO, Kind.DATA)
    unpacker, expected, found = Unpacker(), [], []
    for _ in range(30):
        if chance.random() < 0.5:
            frames = [some_frame(chance, media) for _ in range(chance.randint(1, 5))]
            expected += frames
            found += unpacker.take(encode_bundle(frames))
            continue
        # Parts of two streams take turns; the frame whose last part comes first is there first.
        cut = [encode_parts(encode(frame), chance.randint(1, 400)) for frame in (some_frame(chance, media), some_frame(chance, media))]
        while any(cut):
            parts = chance.choice([parts for parts in cut if parts])
            found += unpacker.take(parts.pop(0))
            if not parts:
                expected.append(found[-1])
    assert found == expected


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_raise_nothing_but_a_fault_of_frames(seed: int) -> None:
    chance = random.Random(seed)
    unpacker = Unpacker()
    for _ in range(2_000):
        message = bytearray(encode(some_frame(chance)) if chance.random() < 0.7 else encode_bundle([some_frame(chance, (Kind.AUDIO,))]))
        for _ in range(chance.randint(1, 4)):
            message[chance.randrange(min(len(message), 60))] = chance.randrange(256)
        try:
            unpacker.take(bytes(message[: chance.randint(0, len(message))]))
        except FrameError as fault:
            assert f"`{fault.name}`" in PROTOCOL


@pytest.mark.parametrize(("newer", "older", "difference"), [(1, 0, 1), (0, 0xFFFF_FFFF, 1), (0, 1, -1), (0x8000_0000, 0, -0x8000_0000), (5, 0xFFFF_FFFB, 10)])
def test_numbers_wrap(newer: int, older: int, difference: int) -> None:
    assert serial_difference(newer, older) == difference


@pytest.mark.parametrize("value", [{"level": 1}, {"level": -128}, {"spatial": 16}, {"stream": 1 << 32}, {"duration": -1}, {"kind": Kind.PART}])
def test_what_a_field_cannot_hold_is_not_written(value: dict) -> None:
    members = {"kind": Kind.AUDIO, "stream": 1, "sequence": 0, "timestamp": 0} | value
    with pytest.raises(ValueError):
        encode(Frame(**members))


@pytest.mark.parametrize("seconds", [0.0, 1_760_000_000.25, 1_760_000_000.999])
def test_times_of_capture_are_ntps(seconds: float) -> None:
    assert abs(unix_from_ntp(ntp_from_unix(seconds)) - seconds) < 1e-6


def test_limits_are_the_relays() -> None:
    with pytest.raises(FrameError):
        decode(HEAD + bytes(100), Limits(audio=115))
    assert decode(HEAD + bytes(100), Limits(audio=116)).payload == bytes(100)


# Ogg Opus


@pytest.mark.parametrize(
    ("packet", "samples"),
    [
        ("08 00", 960),  # SILK, narrow band, 20 ms
        ("18 00", 2_880),  # 60 ms
        ("60 00", 480),  # hybrid, 10 ms
        ("80 00", 120),  # CELT, 2.5 ms
        ("f8 00", 960),  # full band, 20 ms
        ("f9 00", 1_920),  # two frames alike
        ("fa 00", 1_920),  # two frames
        ("fb 06", 5_760),  # six frames
        ("18", 2_880),  # nothing came: a frame that is lost
    ],
)
def test_how_long_a_packet_plays_its_first_bytes_say(packet: str, samples: int) -> None:
    assert packet_samples(bytes.fromhex(packet)) == samples


@pytest.mark.parametrize("packet", ["", "fb", "fb 00", "fb 07", "1b 03"])
def test_what_is_no_opus_packet_is_not_written(packet: str) -> None:
    file = io.BytesIO()
    writer = OggOpusWriter(file)
    size = file.tell()
    with pytest.raises(ValueError):
        writer.write(bytes.fromhex(packet), 0)
    assert (file.tell(), writer.samples) == (size, 0)


@pytest.mark.parametrize("toc", [configuration << 3 | stereo for configuration in range(32) for stereo in (0, 4)])
def test_a_gap_is_filled_to_within_the_shortest_frame(toc: int) -> None:
    for samples in (0, 119, 120, 500, 960, 5_760, 5_881, 48_000, 100_001):
        packets = list(lost_packets(toc, samples))
        assert sum(map(packet_samples, packets)) == samples // 120 * 120
        assert all(packet[0] & 4 == toc & 4 and len(packet) == 2 for packet in packets)


def test_pages_have_the_checksum_of_rfc_3533() -> None:
    # As libogg has them, and what it says of a page that it wrote.
    assert CRC_TABLE[1] == 0x04C1_1DB7 and CRC_TABLE[255] == 0xB1F7_40B4
    assert crc(b"") == 0 and crc(b"\x01") == 0x04C1_1DB7


@pytest.mark.parametrize("timescale", [48_000, 90_000, 1_000_000])
def test_gaps_keep_their_length_in_a_file_that_third_parties_decode(tmp_path: Path, timescale: int) -> None:
    """A second of a tone, two seconds of nothing, a second of another; timestamps wrap in between."""
    encoder, path = heard.OpusEncoder(), tmp_path / "gap.opus"
    clock = iter(range(10_000))
    writer = OggOpusWriter(path.open("wb"), head(), {"ARTIST": "Ann"}, now=lambda: next(clock) * 0.02)
    start = 0xFFFF_FFFF - timescale // 2
    for hertz, at in ((440, 0), (880, 3)):
        samples = heard.tone(hertz, 1)
        for place in range(0, len(samples), 960):
            writer.write(encoder.encode(samples[place : place + 960]), (start + at * timescale + place * timescale // 48_000) & 0xFFFF_FFFF, timescale)
    writer.close()
    assert writer.filled == 2 * 48_000 and writer.samples == 4 * 48_000
    about = subprocess.run(["opusinfo", path], capture_output=True, text=True, timeout=60, check=True)
    assert "WARNING" not in about.stdout + about.stderr and "ARTIST=Ann" in about.stdout and "0m:03.993s" in about.stdout  # less what the decoder drops
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-ar", "48000", "-"], capture_output=True, timeout=60, check=True)
    assert raw.stderr == b""
    sound = np.frombuffer(raw.stdout, "<f4")
    assert abs(len(sound) - 4 * 48_000) <= 960
    assert heard.level_of(sound[9_600:38_400], 440) > -15 and heard.level_of(sound[153_600:182_400], 880) > -15
    # What a decoder conceals fades away.
    assert abs(sound[72_000:139_200]).max() < 0.01


def test_a_file_is_read_packet_by_packet_and_damage_is_told() -> None:
    file, packets = io.BytesIO(), [bytes([0xF8]) + bytes(length) for length in (0, 1, 253, 254, 255, 509, 510, 1_200)]
    file.close = lambda: None  # type: ignore[method-assign]
    writer = OggOpusWriter(file)
    for place, packet in enumerate(packets):
        writer.write(packet, place * 960)
    writer.close()
    octets = file.getvalue()
    assert list(read_packets(io.BytesIO(octets)))[2:] == packets
    for broken in (octets[:-1], octets[:-100] + b"x" + octets[-99:], b"x" + octets):
        with pytest.raises(ValueError):
            list(read_packets(io.BytesIO(broken)))


def test_timestamps_that_begin_anew_are_no_gap() -> None:
    writer = OggOpusWriter(io.BytesIO(), now=lambda: 0.0)
    for timestamp in (0, 960, 48_000 * 3_600, 48_000 * 3_600 + 960, 5):
        writer.write(b"\xf8\0", timestamp)
    assert (writer.samples, writer.filled) == (5 * 960, 0)


# Clock, feeds


def test_the_exchange_with_the_shortest_round_trip_is_believed() -> None:
    clock = Clock()
    assert clock.server_time(0) is None and clock.last is None
    for sample in (Sample(0, 1_050, 100), Sample(1_000, 2_005, 1_010), Sample(2_000, 3_400, 2_800), Sample(5, 5, 4)):
        clock.take(sample)
    assert clock.best == Sample(1_000, 2_005, 1_010) and clock.server_time(0) == 1_000
    assert clock.last == {"clientTime": 2_000, "serverTime": 3_400, "received": 2_800}
    clock.forget()
    assert clock.best is None


@pytest.mark.parametrize(("chance", "expected"), [(0.0, [0, 0.125, 0.25, 0.5, 1, 2, 2]), (1.0, [0.1, 0.25, 0.5, 1, 2, 4, 4])])
def test_tries_to_come_back_are_spread_and_ever_rarer(chance: float, expected: list[float]) -> None:
    backoff = Backoff(lambda: chance)
    assert [backoff.next() for _ in expected] == expected


def test_a_consumer_that_stands_still_loses_the_oldest_and_no_more() -> None:
    async def consume() -> list[int]:
        feed: Feed[int] = Feed(3, lambda item: item != 4)
        for item in range(7):
            feed.put(item)
        assert feed.dropped == 3
        feed.end(FrameError("media_bundle_empty"))
        taken = []
        with pytest.raises(FrameError):
            async for item in feed:
                taken.append(item)
        return taken

    assert asyncio.run(consume()) == [3, 5, 6]


# Types


DOCUMENT = json.loads((REPOSITORY / "Sources/asyncapi.json").read_text())


def test_the_generated_files_are_what_the_description_says() -> None:
    """When this fails: Clients/python/generate.py writes them anew."""
    made = subprocess.run([sys.executable, LIBRARY / "generate.py", "--check"], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr


def test_a_stale_file_is_told(tmp_path: Path) -> None:
    changed = json.loads(json.dumps(DOCUMENT))
    changed["components"]["messages"]["join"]["payload"]["properties"]["colour"] = {"type": "string"}
    path = tmp_path / "asyncapi.json"
    path.write_text(json.dumps(changed))
    made = subprocess.run([sys.executable, LIBRARY / "generate.py", "--check", path], capture_output=True, text=True, timeout=60)
    assert made.returncode == 1 and "messages.py" in made.stderr and "requests.py" in made.stderr


def fits(value: object, kind: object) -> bool:
    """Whether a JSON value is of a type: what a type checker would say of it."""
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        needed = {name for name, hint in hints.items() if typing.get_origin(hint) is not typing.NotRequired}
        return isinstance(value, dict) and needed <= set(value) <= set(hints) and all(fits(value[name], hints[name]) for name in value)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.NotRequired:
        return fits(value, inner[0])
    if origin is typing.Literal:
        return value in inner
    if origin is list:
        return isinstance(value, list) and all(fits(item, inner[0]) for item in value)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return kind is typing.Any or origin is dict or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))  # type: ignore[arg-type]


@pytest.mark.parametrize("message", [name for name in DOCUMENT["components"]["messages"]])
def test_every_example_of_the_description_is_of_its_type(message: str) -> None:
    kinds = {typing.get_args(typing.get_type_hints(kind)["type"])[0]: kind for kind in typing.get_args(messages.Event)}
    described = DOCUMENT["components"]["messages"][message]
    if message.startswith("event."):
        kind = kinds[message.removeprefix("event.")]
    elif message == "error" or message.endswith(".error"):
        kind = messages.ErrorMessage
    else:
        camel = "".join(word[0].upper() + word[1:] for word in message.split("."))
        name = "Welcome" if message == "hello.welcome" else re.sub("Ok$", "OK", camel) if message.endswith(".ok") else camel + "Request"
        kind = getattr(messages, name)
    for example in described["examples"]:
        assert fits(example["payload"], kind), example["payload"]
        assert not fits({**example["payload"], "colour": "red"}, kind)


@pytest.mark.slow
def test_the_library_and_its_examples_are_typed() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", "segue", *sorted(path.name for path in LIBRARY.glob("*.py"))],
        cwd=LIBRARY,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.parametrize(("name", "lines"), [("echo_bot.py", 50), ("recorder_bot.py", 50)])
def test_the_bots_are_short(name: str, lines: int) -> None:
    assert len((LIBRARY / name).read_text().splitlines()) <= lines
