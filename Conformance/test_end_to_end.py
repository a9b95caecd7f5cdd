"""Real media end to end: an Ogg Opus speech and an H.264 clip are published; every frame that listeners save equals the file's packet."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import frame_log, metrics
from support.relay import Relay, binary

TEXT = "The relay takes every frame once, and hands the same bytes to everyone who listens. One, two, three, four, five."
CLIP_SECONDS = 5
SECONDS_MAX = 90


@dataclass
class Media:
    speech: Path
    clip: Path
    # Hashes of the packets' bytes, in the file's order, by codec name.
    packets: dict[str, list[str]]


def run(*command: str | Path, feed: bytes = b"") -> bytes:
    result = subprocess.run([*map(str, command)], input=feed, capture_output=True, timeout=SECONDS_MAX)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stderr.decode(errors='replace')[-2000:]}"
    return result.stdout


def packet_hashes(path: Path) -> list[str]:
    """What ffprobe, a demuxer call of somebody else's, says of each packet."""
    output = run("ffprobe", "-v", "error", "-show_packets", "-show_entries", "packet=data_hash", "-show_data_hash", "sha256", "-of", "json", path)
    return [packet["data_hash"].removeprefix("SHA256:").lower() for packet in json.loads(output)["packets"]]


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Media:
    folder = tmp_path_factory.mktemp("media")
    speech, clip = folder / "speech.opus", folder / "clip.mp4"
    wave = run("espeak-ng", "-s", "150", "--stdout", TEXT)
    run("opusenc", "--quiet", "--framesize", "20", "--bitrate", "32", "-", speech, feed=wave)
    source = f"testsrc=size=320x180:rate=25:duration={CLIP_SECONDS}"
    encoder = ("-c:v", "libx264", "-profile:v", "baseline", "-pix_fmt", "yuv420p", "-g", "25", "-b:v", "300k", "-threads", "1")
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, *encoder, "-movflags", "+faststart", clip)
    made = Media(speech, clip, {"opus": packet_hashes(speech), "h264": packet_hashes(clip)})
    assert len(made.packets["opus"]) > 200 and len(made.packets["h264"]) == 25 * CLIP_SECONDS
    return made


def client_command(relay: Relay, verb: str, *options: str | Path) -> list[str]:
    """How our own command line is pointed at a relay of development mode."""
    return [str(binary()), verb, "--connect", f"localhost:{relay.port}", "--state", str(relay.state), *map(str, options)]


def saved_logs(folder: Path) -> list[frame_log.FrameLog]:
    return [frame_log.read(path) for path in sorted(folder.rglob("*.segue"))]


def codec_of(log: frame_log.FrameLog) -> str:
    codec = log.description["codec"]
    return "h264" if codec.startswith(("avc1", "avc3", "h264")) else codec


def assert_complete(logs: list[frame_log.FrameLog], media: Media, listeners: int) -> None:
    """Each listener has each packet of each file once, in order, unchanged."""
    by_codec: dict[str, list[frame_log.FrameLog]] = {}
    for log in logs:
        by_codec.setdefault(codec_of(log), []).append(log)
    assert set(by_codec) == {"opus", "h264"}, f"saved: {[log.path.name for log in logs]}"
    for codec, saved in by_codec.items():
        assert len(saved) == listeners, f"{codec}: {len(saved)} logs of {listeners} listeners"
        for log in saved:
            hashes = [hashlib.sha256(frame.payload).hexdigest() for frame in log.media]
            assert len(hashes) == len(media.packets[codec]), f"{log.path}: {len(hashes)} frames of {len(media.packets[codec])}"
            assert hashes == media.packets[codec], f"{log.path}: frames differ from the file's packets"
            first = log.media[0].sequence
            assert [frame.sequence for frame in log.media] == [(first + index) & 0xFFFFFFFF for index in range(len(hashes))]


def publish_and_listen(relay: Relay, media: Media, folder: Path, *, listeners: int, options: tuple[str, ...]) -> list[frame_log.FrameLog]:
    """Starts the listeners, publishes both files in real time, and gives what was saved."""
    room = f"room-{folder.name}"
    many = ("--clients", str(listeners)) if listeners > 1 else ()
    log = (folder / "listen.log").open("wb")
    listen = subprocess.Popen(
        client_command(relay, "listen", "--room", room, "--save", folder / "out", *many, *options), stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    try:
        wait_for_participants(relay, listeners, listen, folder / "listen.log")
        run(*client_command(relay, "publish", "--room", room, *options, media.speech, media.clip))
        # The publisher returns when the relay has its last frame; the listeners' copies are on their way.
        wait_until_quiet(folder / "out")
    finally:
        listen.send_signal(signal.SIGINT)
        try:
            status = listen.wait(20)
        except subprocess.TimeoutExpired:
            listen.kill()
            status = listen.wait()
        log.close()
    assert status == 0, f"segue listen exited with {status}:\n{(folder / 'listen.log').read_text(errors='replace')[-2000:]}"
    return saved_logs(folder / "out")


def wait_for_participants(relay: Relay, count: int, listen: subprocess.Popen, log: Path) -> None:
    """Until the relay counts so many sessions, or fails."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert listen.poll() is None, f"segue listen ended:\n{log.read_text(errors='replace')[-2000:]}"
        sessions = [value for name, _, value in metrics.parse(relay.get("/metrics")[2]) if name == "segue_sessions"]
        if sum(sessions) >= count:
            return
        time.sleep(0.1)
    raise AssertionError(f"the relay counts {sessions} sessions, {count} were to join")


def wait_until_quiet(folder: Path) -> None:
    """Until no file below has grown for a second and a half (logs are flushed about once a second)."""
    before, since = -1, time.monotonic()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and time.monotonic() - since < 1.5:
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if size != before:
            before, since = size, time.monotonic()
        time.sleep(0.1)


@pytest.fixture(scope="module")
def relays(start_relay: Callable[..., Relay]) -> Callable[[int], Relay]:
    """A relay by its number of event loops."""
    started: dict[int, Relay] = {}

    def relay(loops: int) -> Relay:
        if loops not in started:
            started[loops] = start_relay(f"loops-{loops}", loops=loops)
        return started[loops]

    return relay


@pytest.mark.slow
@pytest.mark.timeout(SECONDS_MAX + 60)
@pytest.mark.parametrize("loops", [1, 4])
@pytest.mark.parametrize("tls", ["1.2", "1.3"])
@pytest.mark.parametrize("http", ["1.1", "2"])
def test_one_listener_gets_every_byte(relays: Callable[[int], Relay], media: Media, tmp_path: Path, http: str, tls: str, loops: int) -> None:
    relay = relays(loops)
    logs = publish_and_listen(relay, media, tmp_path, listeners=1, options=("--http", http, "--tls", tls))
    assert_complete(logs, media, 1)
    relay.assert_healthy()


@pytest.mark.slow
@pytest.mark.timeout(SECONDS_MAX + 60)
@pytest.mark.parametrize("loops", [1, 4])
@pytest.mark.parametrize("http", ["1.1", "2"])
def test_fifty_listeners_get_every_byte(relays: Callable[[int], Relay], media: Media, tmp_path: Path, http: str, loops: int) -> None:
    relay = relays(loops)
    logs = publish_and_listen(relay, media, tmp_path, listeners=50, options=("--http", http))
    assert_complete(logs, media, 50)
    relay.assert_healthy()


@pytest.mark.slow
@pytest.mark.timeout(SECONDS_MAX + 60)
def test_every_loop_gets_the_streams_of_every_other(relays: Callable[[int], Relay], tmp_path: Path) -> None:
    """40 short streams at once in rounds of 8, each with listeners on all loops: the news of a stream and the wish for it cross between three loops,
    in whatever order, and nobody is left without frames."""
    relay = relays(4)
    tone = tmp_path / "tone.opus"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=duration=0.3", "-c:a", "libopus", tone)
    packets = packet_hashes(tone)
    rooms = [f"crossing-{number}" for number in range(8)]
    with (tmp_path / "listen.log").open("wb") as log:
        listens = [
            subprocess.Popen(
                client_command(relay, "listen", "--room", room, "--clients", "4", "--save", tmp_path / room),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            for room in rooms
        ]
        try:
            wait_for_participants(relay, 4 * len(rooms), listens[0], tmp_path / "listen.log")
            for _ in range(5):
                publishes = [
                    subprocess.Popen(client_command(relay, "publish", "--room", room, tone), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                    for room in rooms
                ]
                assert [publish.wait(SECONDS_MAX) for publish in publishes] == [0] * len(rooms)
            wait_until_quiet(tmp_path)
        finally:
            for listen in listens:
                listen.send_signal(signal.SIGINT)
            statuses = [listen.wait(20) for listen in listens]
    assert statuses == [0] * len(rooms), (tmp_path / "listen.log").read_text(errors="replace")[-2000:]
    logs = [log for room in rooms for log in saved_logs(tmp_path / room)]
    assert len(logs) == 5 * 4 * len(rooms)
    short = [str(log.path) for log in logs if [hashlib.sha256(frame.payload).hexdigest() for frame in log.media] != packets]
    assert not short, f"{len(short)} of {len(logs)} saved streams are not whole: {short[:5]}"


def test_listener_that_comes_late_starts_at_a_key_frame(relays: Callable[[int], Relay], media: Media, tmp_path: Path) -> None:
    """The cached group of pictures: configuration, then a key frame, then what follows without a gap."""
    relay = relays(1)
    room = f"room-{tmp_path.name}"
    with (tmp_path / "publish.log").open("wb") as log:
        publish = subprocess.Popen(client_command(relay, "publish", "--room", room, media.clip), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        time.sleep(2.4)
        listen = subprocess.Popen(
            client_command(relay, "listen", "--room", room, "--save", tmp_path / "out"), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        assert publish.wait(SECONDS_MAX) == 0
        wait_until_quiet(tmp_path / "out")
        listen.send_signal(signal.SIGINT)
        assert listen.wait(20) == 0
    (saved,) = saved_logs(tmp_path / "out")
    assert saved.media[0].flags & 0x01, "the first frame is no key frame"
    hashes = [hashlib.sha256(frame.payload).hexdigest() for frame in saved.media]
    assert hashes == media.packets["h264"][-len(hashes) :], "what follows the key frame is not the rest of the clip"
    assert 25 <= len(hashes) < 25 * CLIP_SECONDS
