"""What is heard through a live relay, live, paced and mixed: tones and speech from several publishers, one of them in a stall, telephones' codecs, headsets.

`segue publish --encode` speaks, `segue listen --play` hears through its jitter buffers, and what a subscriber of another make would hear is decoded by libopus itself.
Sound is judged against what was sent. How fast the machine is must not matter: a gap is explained by what the listener noted at its socket, by what the relay
counted, or by the stall that the bench itself brought about, and by nothing else.
"""

from __future__ import annotations

import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support import frame_log, heard, metrics
from support.delayed import Delayed
from support.ear import Ear
from support.heard import RATE, Gap, Listener, Program, assert_explained, assert_not_clipped
from support.phone import ACTIVATE, INIT, Phone
from support.relay import REPOSITORY, Relay, binary, demo_identity
from support.session import AUDIO, Session

SECONDS = 5.0
TONE_DECIBELS = -12
TEXT = "The relay takes every frame once, and hands the same bytes to everyone who listens. One, two, three, four, five."
# A gap shorter than this is not heard as one.
GAP_SECONDS = 0.06
# How long after a hole in what came a gap may begin that it brings about: what was buffered plays first, and what comes back late is caught up with.
AFTERMATH_SECONDS = 1.5
# A buffer that a busy machine does not empty, where it is not the buffer that is judged.
STEADY = ("--delay", "400")
DELIVERIES = ("live", "paced", "conceal", "mixed")
# Of a tone that has been coded: what is below that is a gap.
AUDIBLE = 10 ** ((TONE_DECIBELS - 20) / 20)


@pytest.fixture(scope="module")
def module_relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay("heard", loops=2)


@pytest.fixture
def relay(module_relay: Relay) -> Iterator[Relay]:
    yield module_relay
    module_relay.assert_healthy()


@pytest.fixture
def room() -> str:
    return f"heard-{uuid.uuid4().hex[:8]}"


def publish(relay: Relay, room: str, path: Path, *options: str, listeners: int = 1, identity: str = "alice") -> Program:
    return Program(relay, "publish", "--room", room, "--as", identity, "--wait-for-subscribers", str(listeners), *options, path)


def options(delivery: str, *, steady: bool = True) -> tuple[str, ...]:
    """How a listener asks for it: `conceal` is paced, decoded and encoded anew by the relay."""
    match delivery:
        case "live":
            return STEADY if steady else ()
        case "mixed":
            return ("--delivery", "mixed", *(STEADY if steady else ()))
        case _:
            return ("--delivery", "paced", "--late", "conceal" if delivery == "conceal" else "drop", *(STEADY if steady else ()))


def deadlines_missed(relay: Relay) -> float:
    """Ticks of the relay's audio that came too late for what they were for."""
    return metrics.measure(relay, "segue_audio_deadline_misses_total")


class Reworked:
    """What the relay's own buffers made up, put in and took away while something was heard: of paced and mixed delivery a listener knows nothing of it."""

    KINDS = ("concealed", "accelerated", "expanded")

    def __init__(self, relay: Relay):
        self.relay, self.before = relay, self._counts(relay)

    def _counts(self, relay: Relay) -> list[float]:
        samples = [metrics.settled(relay, "segue_audio_samples_total", kind) for kind in self.KINDS]
        return [*samples, *(metrics.measure(relay, f"segue_audio_{name}_total") for name in ("concealments", "deadline_misses", "ticks_shed", "frames_lost"))]

    def pieces(self) -> float:
        """Pieces of 50 ms that this may have spoiled: those that a concealment touches, and one for each 5 ms that were put in or taken away, as they come."""
        concealed, accelerated, expanded, times, *late = (after - before for before, after in zip(self.before, self._counts(self.relay)))
        milliseconds = RATE / 1_000
        return 3 * concealed / milliseconds / 50 + 2 * times + (accelerated + expanded) / milliseconds / 5 + 2 * sum(late)


def tone_file(folder: Path, hertz: float, seconds: float = SECONDS) -> Path:
    # The silence behind it is what buffers of the relay hold when the stream ends.
    return heard.write_wave(folder / f"tone-{hertz:.0f}.wav", np.concatenate([heard.tone(hertz, seconds, TONE_DECIBELS), np.zeros(RATE)]))


def middle(samples: np.ndarray, hertz: float) -> np.ndarray:
    """Where a tone sounds, without its ends."""
    start, end = heard.heard_from_to(heard.envelope(samples, hertz), AUDIBLE)
    return samples[int((start + 0.2) * RATE) : int((end - 0.2) * RATE)]


def assert_tone_whole(listener: Listener, samples: np.ndarray, hertz: float, *explanations: list[Gap], seconds: float = SECONDS) -> None:
    """It sounds from its beginning to its end, as loud as it was."""
    levels = heard.envelope(samples, hertz)
    start, end = heard.heard_from_to(levels, AUDIBLE)
    found = heard.gaps(levels, AUDIBLE, GAP_SECONDS)
    assert_explained(found, listener.holes(AFTERMATH_SECONDS), *explanations, what=f"{hertz} Hz:")
    held = sum(hole.seconds for hole in listener.holes(0))
    # Its beginning may be cut by what the buffer waits for and its end by an encoder's delay; what came late may be skipped.
    assert seconds - 0.25 - held <= end - start <= seconds + 0.25 + held, (start, end, held)
    sounding = levels[levels >= AUDIBLE]
    assert abs(heard.decibels(float(np.median(sounding))) - TONE_DECIBELS) < 1.5, heard.decibels(float(np.median(sounding)))


# As it comes


@pytest.mark.parametrize("codec", ["opus", "pcmu", "pcma", "pcm_s16"])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_tone_in_each_codec_is_heard_as_it_was_sent(relay: Relay, room: str, tmp_path: Path, codec: str, delivery: str) -> None:
    reworked = Reworked(relay)
    with Listener(relay, room, tmp_path, "--until-end", *options(delivery)) as listener, publish(relay, room, tone_file(tmp_path, 440), "--encode", codec) as publisher:
        assert publisher.finish()["streams"][0]["codec"] == codec
        samples = listener.heard(until_end=True)
    assert_tone_whole(listener, samples, 440)
    assert_not_clipped(samples)
    stream = next(stream for stream in listener.summary["streams"] if stream["frames"])
    # What is no Opus comes as it is even when the relay is asked to conceal.
    assert stream["codec"] == ("opus" if delivery == "mixed" else codec)
    assert_pure(listener, samples, 440, reworked.pieces())


def assert_pure(listener: Listener, samples: np.ndarray, hertz: float, reworked: float) -> None:
    """Whatever else sounds is what coding adds, and what is made up where something was missing."""
    part, size = middle(samples, hertz), RATE // 20
    axis = np.arange(size) / RATE
    basis = np.stack([np.sin(2 * np.pi * hertz * axis), np.cos(2 * np.pi * hertz * axis)], axis=1)
    impure = 0
    for place in range(0, len(part) - size, size):
        piece = part[place : place + size]
        fitted = basis @ np.linalg.lstsq(basis, piece, rcond=None)[0]
        impure += bool(np.sqrt(np.mean((piece - fitted) ** 2)) > 0.3 * np.sqrt(np.mean(piece**2)))
    (played,) = listener.played
    # A concealment spoils the pieces that it touches, and a stretch the one that it is in.
    own = 3 * played["concealedMilliseconds"] / 50 + 2 * played["concealments"] + (played["acceleratedMilliseconds"] + played["expandedMilliseconds"]) / 5
    assert impure <= 2 + own + reworked, f"{impure} of {len(part) // size} pieces of 50 ms are no tone; the relay's buffers explain {reworked:.1f}: {played}"


def spoken_pauses(speech: np.ndarray) -> list[Gap]:
    """Where nothing is said anyway."""
    return heard.runs(heard.loudness(speech) < heard.loudness(speech).max() / 30)


def assert_speech_whole(samples: np.ndarray, speech: np.ndarray, *explanations: list[Gap]) -> None:
    """It is silent only where the speaker is; both are laid one over the other by their loudness."""
    said, came = heard.loudness(speech), heard.loudness(samples)
    size = 1 << int(np.ceil(np.log2(len(said) + len(came))))
    products = np.fft.irfft(np.fft.rfft(came, size) * np.conj(np.fft.rfft(said, size)), size)
    offset = int(np.argmax(products[: len(came)])) * heard.STEP_SECONDS
    pauses = [Gap(pause.start + offset - 0.1, pause.seconds + 0.2) for pause in spoken_pauses(speech)]
    found = heard.gaps(came, float(said.max()) / 30, GAP_SECONDS)
    unexplained = [gap for gap in found if not any(pause.start <= gap.start and gap.end <= pause.end + 0.3 for pause in pauses)]
    assert_explained(unexplained, *explanations, what="speech:")
    power = float(np.sum(samples**2) / np.sum(speech**2))
    # What came late was left out, and then there is less.
    is_whole = not any(explanations)
    assert (0.5 if is_whole else 0) < power < 1.5, f"{power:.2f} of the energy that was sent"


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_speech_is_heard_whole(relay: Relay, room: str, tmp_path: Path, delivery: str) -> None:
    speech = heard.speech(TEXT)
    path = heard.write_wave(tmp_path / "speech.wav", np.concatenate([speech, np.zeros(RATE)]))
    missed = deadlines_missed(relay)
    with Listener(relay, room, tmp_path, "--until-end", *options(delivery)) as listener, publish(relay, room, path, "--encode", "opus", "--bitrate", "64000") as publisher:
        late = publisher.finish()["latenessMillisecondsMax"] > GAP_SECONDS * 1_000
        samples = listener.heard(until_end=True)
    busy = [Gap(0, len(samples) / RATE)] if late or deadlines_missed(relay) > missed else []
    assert_speech_whole(samples, speech, listener.holes(AFTERMATH_SECONDS), busy)
    assert_not_clipped(samples)


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_stall_of_one_publisher_is_heard_of_that_one_alone(relay: Relay, room: str, tmp_path: Path, delivery: str) -> None:
    """Three talk, one stands still for a second: a gap of its own, and it comes back live.

    What the relay got is known from a second listener, who hears it live: a gap in what comes paced or mixed has a hole there, or a deadline that the relay
    counted as missed.
    """
    missed = deadlines_missed(relay)
    with Listener(relay, room, tmp_path, *options(delivery, steady=False)) as listener, Listener(relay, room, tmp_path / "live", identity="operator") as live:
        live.wait_line("listening")
        listener.wait_line("listening")
        tones = {440: "alice", 660: "operator", 880: "alice"}
        publishers = {hertz: publish(relay, room, tone_file(tmp_path, hertz, 6), "--encode", "opus", identity=who) for hertz, who in tones.items()}
        for _ in tones:
            listener.wait_line("published")
        time.sleep(2)
        stall = publishers[660].stall(1)
        for publisher in publishers.values():
            publisher.finish()
        samples = listener.heard()
        live.heard()
    assert_not_clipped(samples)
    # On the clock of the listener's recording.
    shift = listener.at(0) - live.at(0)
    elsewhere = [Gap(hole.start + shift - 0.4, hole.seconds + 0.4) for hole in live.holes(AFTERMATH_SECONDS) if delivery != "live"]
    if deadlines_missed(relay) > missed:
        elsewhere.append(Gap(0, len(samples) / RATE))
    for hertz in tones:
        stalled = [Gap(listener.at(stall[0]), stall[1] - stall[0] + AFTERMATH_SECONDS)] if hertz == 660 else []
        found = heard.gaps(heard.envelope(samples, hertz), AUDIBLE, GAP_SECONDS)
        # The stall itself explains nothing of the others.
        began = listener.at(stall[0])
        busy = [hole for hole in listener.holes(AFTERMATH_SECONDS) + elsewhere if abs(hole.start - began) > 0.3 or hole.seconds < 0.8 + AFTERMATH_SECONDS]
        assert_explained(found, busy, stalled, what=f"{hertz} Hz:")
        if hertz == 660:
            assert sum(gap.seconds for gap in found if abs(gap.start - began) < 1.5) > 0.5, "a second of standing still is heard"


# Held back on the way: everything comes, late and at once.


def test_what_was_held_up_on_the_way_is_caught_up_with(relay: Relay, room: str, tmp_path: Path) -> None:
    with Delayed(relay, 0.02) as path, Listener(path.relay, room, tmp_path, "--until-end") as listener:
        listener.wait_line("listening")
        with publish(relay, room, tone_file(tmp_path, 440, 8), "--encode", "opus") as publisher:
            listener.wait_line("published")
            time.sleep(2)
            held = time.monotonic()
            path.hold()
            time.sleep(1)
            path.release()
            released = time.monotonic()
            publisher.finish()
            samples = listener.heard(until_end=True)
    held_up = [Gap(listener.at(held), released - held + AFTERMATH_SECONDS)]
    assert_explained(heard.gaps(heard.envelope(samples, 440), AUDIBLE, GAP_SECONDS), held_up, listener.holes(AFTERMATH_SECONDS))
    (played,) = listener.played
    assert played["interruptions"] >= 1
    assert any(hole["milliseconds"] > 700 for hole in played["arrivalHoles"]), played["arrivalHoles"]
    # It does not stay behind: the buffer is back where it was, or the machine held it up again.
    assert played["delayMilliseconds"] < 400 or len(played["arrivalHoles"]) > 1, played


def test_the_step_of_the_readme_that_hears_does_what_it_says(relay: Relay, tmp_path: Path) -> None:
    """As written, but for the relay's port, the path of the program, and the player."""
    text = (REPOSITORY / "README.md").read_text()
    (script,) = re.findall(r"^\*\*\d+\. Hear it\.\*\*.*?^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert "--delivery mixed" in script and "--until-end" in script
    segue = f'segue() {{ {binary()} "$1" --connect localhost:{relay.port} --state {relay.state} "${{@:2}}"; }}; ffplay() {{ :; }}\n'
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", segue + script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr.replace("waiting for listeners", "").strip(), done.stderr
    assert "in the mix" in done.stdout and " s were heard" in done.stdout, done.stdout
    samples = heard.read_wave(tmp_path / "heard.wav")[:, 0]
    assert_not_clipped(samples)
    spoken = heard.loudness(samples)
    assert np.count_nonzero(spoken > spoken.max() / 30) * heard.STEP_SECONDS > 0.5, "what was spoken is not heard"


# What is told to the publisher


def test_reports_are_what_the_jitter_buffers_counted(relay: Relay, room: str, tmp_path: Path) -> None:
    with Listener(relay, room, tmp_path) as listener, publish(relay, room, tone_file(tmp_path, 440, 8), "--encode", "opus") as publisher:
        listener.wait_line("published")
        time.sleep(1)
        publisher.stall(0.6)
        told = publisher.finish()["streams"][0]["reception"]
        listener.heard()
    (played,) = listener.played
    assert told["receivers"] == 1 and told["bufferMilliseconds"] >= 0
    # Reports are of seconds, the buffer's counts of the whole: where nothing was missing on the wire, what was concealed is told all the same.
    assert listener.summary["streams"][0]["missingFrames"] <= played["concealedMilliseconds"] / 20 + 50
    assert played["concealedMilliseconds"] > 100


# A headset


HANDS_FREE = {"inputs": [{"type": "bluetoothHFP"}], "outputs": [{"type": "bluetoothHFP", "sampleRate": 16_000, "channels": 1}]}
SPEAKER = {"inputs": [{"type": "builtInMic"}], "outputs": [{"type": "builtInSpeaker", "sampleRate": 48_000, "channels": 2}]}


def hiss(folder: Path, seconds: float) -> Path:
    """All frequencies alike: what of them is left is what is heard."""
    noise = np.random.default_rng(1).standard_normal((int(seconds * RATE), 2)) * 0.1
    return heard.write_wave(folder / "hiss.wav", noise)


def test_a_publisher_makes_no_more_than_a_headset_can_play_and_then_more_again(relay: Relay, room: str, tmp_path: Path) -> None:
    """Live: the publisher's own encoder follows `format.wanted`; one subscriber, whose frames are looked at byte for byte."""
    with Session(relay, demo_identity(relay.state, "bob")) as ear:
        ear.ask("join", room=room)
        ear.ask("session.init")
        ear.ask("session.setActive", active=True)
        ear.ask("subscribe", all=True)
        with publish(relay, room, hiss(tmp_path, 60), "--encode", "opus", "--bitrate", "96000") as publisher:

            def wait_format(bandwidth: str, stereo: bool) -> None:
                def found() -> bool | None:
                    packets = [frame.payload_bytes for frame in map(Packet, ear.frames) if frame.is_audio]
                    ear.frames.clear()
                    return True if packets and heard.opus_bandwidth(packets[-1]) == bandwidth and heard.opus_is_stereo(packets[-1]) == stereo else None

                ear.wait(f"{bandwidth}, {'stereo' if stereo else 'mono'}", found, 30)

            wait_format("fullband", True)
            ear.ask("route.changed", reason=4, route=HANDS_FREE)
            wait_format("wideband", False)
            ear.ask("route.changed", reason=4, route=SPEAKER)
            wait_format("fullband", True)
            formats = [(change["bandwidth"], change["channels"]) for change in publisher.stop()["formats"]]
    assert formats == [("wideband", 1), ("fullband", 2)]


class Packet:
    """A frame's payload behind its extensions."""

    def __init__(self, frame):
        parsed = frame_log.parse_frame(frame.message)
        self.is_audio, self.payload_bytes, self.timestamp = frame.kind == AUDIO, parsed.payload, parsed.timestamp


# A call


def test_nothing_stale_is_heard_after_a_call(relay: Relay, room: str, tmp_path: Path) -> None:
    """The script's client hears silence while it is called, and then what is said then."""
    steps = [INIT, ACTIVATE, {"do": "expect", "media": "flowing", "for": "20s"}, {"do": "stay", "for": "1s"}, {"do": "interruption.began"}, {"do": "stay", "for": "1.5s"},
             {"do": "interruption.ended", "shouldResume": True}, {"do": "expect", "media": "flowing", "for": "20s"}, {"do": "stay", "for": "1s"}]  # fmt: skip
    wav = tmp_path / "heard.wav"
    with publish(relay, room, tone_file(tmp_path, 440, 30), "--encode", "opus", listeners=0) as publisher:
        publisher_is_on(relay)
        with Phone(relay, room, steps, arguments=("--play", str(wav))) as phone:
            phone.finish()
        publisher.stop()
    held, back = phone.steps("interruption.began")[0], phone.steps("interruption.ended")[0]
    # What was heard before there was a session was held by its beginning.
    restarted = [line["reason"] for line in phone.all("buffers.restarted") if line["at"] > held["at"] - 0.5]
    assert restarted == ["held"]
    summary = phone.all("summary")[0]
    samples = heard.read_wave(wav)[:, 0]
    begin = phone.began - summary["playback"]["monotonicMilliseconds"] / 1_000
    levels = heard.envelope(samples, 440)
    silent = levels[int((begin + held["at"] + 0.05) / heard.STEP_SECONDS) : int((begin + back["at"] - back["milliseconds"] / 1_000) / heard.STEP_SECONDS)]
    assert len(silent) > 200 and silent.max() < AUDIBLE, "something was heard during the call"
    assert levels[int((begin + back["at"]) / heard.STEP_SECONDS) :].max() > AUDIBLE, "nothing was heard after the call"
    assert summary["played"][0]["played"]["restarts"] >= 1


def test_buffers_begin_anew_after_sleep_and_on_another_output(relay: Relay, room: str, tmp_path: Path) -> None:
    def route(reason: int, latency: float) -> dict:
        return {"do": "route.changed", "reason": reason, "route": {"outputs": [{"type": "builtInSpeaker", "sampleRate": 48_000, "channels": 1, "latency": latency}]}}

    flows = {"do": "expect", "media": "flowing", "for": "20s"}
    # The latency is far from what it was, near it, and the device slept.
    steps = [INIT, ACTIVATE, flows, route(1, 0.18), flows, route(1, 0.185), flows, route(6, 0.185), {"do": "wait", "event": "buffers.restarted", "with": {"reason": "wakeFromSleep"}}, flows]
    with publish(relay, room, tone_file(tmp_path, 440, 30), "--encode", "opus", listeners=0) as publisher:
        publisher_is_on(relay)
        with Phone(relay, room, steps) as phone:
            phone.finish()
        publisher.stop()
    # What was heard before there was a session was held by its beginning.
    restarted = [line for line in phone.all("buffers.restarted") if line["reason"] != "held"]
    assert [line["reason"] for line in restarted] == ["outputLatency", "wakeFromSleep"]
    assert restarted[0]["outputLatency"] == 0.18


def publisher_is_on(relay: Relay, seconds: float = 60) -> None:
    """Until the relay has a session: the publisher's."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if any(line.startswith("segue_sessions") and float(line.split()[-1]) > 0 for line in relay.get("/metrics")[2].splitlines()):
            return
        time.sleep(0.05)
    raise AssertionError("no publisher")


# The mix, as a subscriber of another make decodes it


def publishing(relay: Relay, room: str, folder: Path, hertz: float, identity: str = "operator", seconds: float = 60) -> Program:
    return publish(relay, room, tone_file(folder, hertz, seconds), "--encode", "opus", listeners=0, identity=identity)


def settled(ear: Ear, hertz: float) -> None:
    """Until a tone is in what comes."""

    def found() -> bool:
        since = time.monotonic() - 0.3
        return len(ear.packets(since)) > 10 and heard.level_of(ear.sound(since), hertz) > TONE_DECIBELS - 6

    ear.wait(f"{hertz} Hz", found)


def windows(samples: np.ndarray) -> list[np.ndarray]:
    """Of half a second each."""
    size = RATE // 2
    return [samples[place : place + size] for place in range(0, len(samples) - size, size // 2)]


def self_exclusion(samples: np.ndarray, own: float, others: float) -> float:
    """How far one tone is below the other, in dB: in the middle one of the windows, since where a busy machine has the other concealed, all frequencies are loud."""
    return float(np.median([heard.level_of(window, others) - heard.level_of(window, own) for window in windows(samples)]))


def above_noise(samples: np.ndarray, own: float) -> float:
    """How far one's own tone sticks out of what is around it, in dB."""
    around = [offset for offset in range(-60, 61, 10) if offset]
    return float(np.median([heard.level_of(window, own) - np.median([heard.level_of(window, own + offset) for offset in around]) for window in windows(samples)]))


@pytest.mark.parametrize("hertz", [(440, 3_000), (440, 660)], ids=["apart", "near"])
def test_nobody_hears_himself_in_the_mix(relay: Relay, room: str, tmp_path: Path, hertz: tuple[int, int]) -> None:
    """Two talk, and a third listens: each talker's mix has the other's tone, and of his own 60 dB less at the least.

    Of tones that are near each other that cannot be measured in half a second: Opus itself, at the mix's bit rate, puts noise 50 dB below a tone around it. There
    one's own must not stick out of the noise.
    """
    alice, bob, operator = (demo_identity(relay.state, name) for name in ("alice", "bob", "operator"))
    low, high = hertz
    with Ear(relay, alice, room, hertz=low) as first, Ear(relay, operator, room, hertz=high) as second, Ear(relay, bob, room) as third:
        settled(first, high)
        settled(second, low)
        settled(third, low)
        settled(third, high)
        since = time.monotonic()
        third.wait_frames(200)
        until = time.monotonic()
        for ear, own, others in ((first, low, high), (second, high, low)):
            samples = ear.sound(since, until)
            if hertz == (440, 3_000):
                exclusion = self_exclusion(samples, own, others)
                assert exclusion >= 60, f"{own} Hz is {exclusion:.1f} dB below {others} Hz"
            else:
                assert self_exclusion(samples, own, others) > 40
                excess = above_noise(samples, own)
                assert excess < 10, f"{own} Hz is {excess:.1f} dB above what is around it"
            assert_not_clipped(samples)
        both = third.sound(since, until)
        # In the middle one of the windows: over all of it, one period that a buffer has put in or left out turns a tone against itself.
        assert abs(self_exclusion(both, low, high)) < 3
        assert_not_clipped(both)


def test_eight_at_full_scale_do_not_clip(relay: Relay, room: str, tmp_path: Path) -> None:
    with Ear(relay, demo_identity(relay.state, "bob"), room) as ear:
        loud = [heard.write_wave(tmp_path / f"{hertz}.wav", heard.tone(hertz, 30, -0.1)) for hertz in (300, 370, 440, 510, 580, 660, 740, 820)]
        publishers = [publish(relay, room, path, "--encode", "pcm_s16", listeners=0) for path in loud]
        try:
            ear.wait("sound", lambda: len(ear.frames) > 50 and np.abs(ear.sound(time.monotonic() - 0.3)).max() > 0.3)
            since = time.monotonic()
            ear.wait_frames(100)
            # The decoder here begins in the middle of the mix: its own beginning is none.
            assert_not_clipped(ear.sound(since)[heard.RATE // 10 :])
        finally:
            for publisher in publishers:
                publisher.__exit__()


def test_a_headset_gets_a_mix_that_it_can_play_and_then_more_again(relay: Relay, room: str, tmp_path: Path) -> None:
    with Ear(relay, demo_identity(relay.state, "bob"), room) as ear:
        with publish(relay, room, hiss(tmp_path, 60), "--encode", "pcm_s16", listeners=0):

            def wait_bandwidth(*bandwidths: str) -> None:
                ear.wait(str(bandwidths), lambda: len(ear.frames) > 20 and heard.opus_bandwidth(ear.frames[-1][3]) in bandwidths)
                since = time.monotonic()
                ear.wait_frames(100)
                told = {heard.opus_bandwidth(packet) for packet in ear.packets(since)}
                assert told <= set(bandwidths), told

            def above(hertz: float) -> float:
                since = time.monotonic() - 1.5
                return heard.energy_above(ear.sound(since), hertz)

            wait_bandwidth("fullband")
            wide = above(8_000)
            assert wide > -6, wide
            ear.ask("route.changed", reason=4, route=HANDS_FREE)
            wait_bandwidth("narrowband", "mediumband", "wideband")
            narrow = above(8_500)
            assert narrow < -40, f"{narrow:.1f} dB above what a headset plays"
            ear.ask("route.changed", reason=4, route=SPEAKER)
            wait_bandwidth("fullband")
            assert above(8_000) > wide - 3


def joined(runs: list[heard.Gap], seconds: float) -> list[heard.Gap]:
    """A level that touches the edge for a step breaks a ramp in two: what lies closer than that is one."""
    whole: list[heard.Gap] = []
    for run in runs:
        if whole and run.start - whole[-1].end < seconds:
            whole[-1] = heard.Gap(whole[-1].start, run.end - whole[-1].start)
        else:
            whole.append(run)
    return whole


def test_ducking_is_heard_in_the_mix_as_a_ramp(relay: Relay, room: str, tmp_path: Path) -> None:
    """Another device of the same identity ducks the phone: its mix falls by 12 dB over 250 ms, and comes back."""
    bob, missed = demo_identity(relay.state, "bob"), deadlines_missed(relay)
    with Ear(relay, bob, room, device="phone") as phone, publishing(relay, room, tmp_path, 440):
        settled(phone, 440)
        phone.wait_frames(50)
        with Session(relay, bob, hello={"device": "navigation"}) as other:
            other.ask("join", room=room)
            other.ask("session.init")
            # duckOthers, which mixes as well.
            other.ask("session.setCategory", category="playback", options=2)
            # Places in the mix by its own frames: this side may be late.
            places = [phone.mark()]
            other.ask("session.setActive", active=True)
            duck = phone.wait_event("duck.began")
            places.append(phone.mark())
            phone.wait_frames(75)
            places.append(phone.mark())
            other.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
            phone.wait_event("duck.ended")
            places.append(phone.mark())
            phone.wait_frames(75)
            places.append(phone.mark())
        settling = 25

        def level(start: int, end: int) -> float:
            """Where nothing is missing."""
            levels = heard.envelope(phone.between(start, end), 440)
            return float(np.median(levels[levels > AUDIBLE / 10]))

        loud, low, back = level(places[0] - 40, places[0]), level(places[1] + settling, places[2]), level(places[3] + settling, places[4])
        assert abs(heard.decibels(low / loud) - duck["gainDecibels"]) < 1, heard.decibels(low / loud)
        assert abs(heard.decibels(back / loud)) < 1, "it comes back"
        frames = phone.frames[places[0] - 40 : places[4]]
        if any(after[1] - before[1] != 1 for before, after in zip(frames, frames[1:])) or deadlines_missed(relay) > missed:
            # The relay has left ticks out, or was late: a ramp is as long as its ticks.
            return
        levels = heard.envelope(phone.sound_of(frames), 440)
        # The ways down and up take what was told, within the window that the level is measured in and the frames of the mix.
        limits = loud * 10 ** (duck["gainDecibels"] * 0.1 / 20), loud * 10 ** (duck["gainDecibels"] * 0.9 / 20)
        # The decoder here begins in the middle of the mix: its own beginning is none.
        ramps = [ramp for ramp in joined(heard.runs((levels < limits[0]) & (levels > limits[1])), 0.05) if ramp.start > 0.3 and ramp.seconds > 0.05]
        told = duck["rampMilliseconds"] / 1_000
        assert len(ramps) == 2 and all(0.5 * told < ramp.seconds < 1.2 * told for ramp in ramps), ramps
