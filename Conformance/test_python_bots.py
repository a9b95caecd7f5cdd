"""The Python client library's bots as processes, with certificates and with tokens: echoes measured, recordings decoded, an agent that is interrupted."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support import frame_log, heard, python_client
from support.heard import Listener, Program
from support.python_client import Bot, Stage, collect, record, run, sound, tone_packets, until
from support.relay import Relay
from support.session import AUDIO, Session

import segue  # isort: skip  (found by support.python_client)
from segue import Client, Flag  # isort: skip


@pytest.fixture(scope="module")
def module_stage(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage.create(start_relay, tmp_path_factory.mktemp("bots"))


@pytest.fixture
def stage(module_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    record(monkeypatch)
    yield module_stage
    module_stage.relay.assert_healthy()


@pytest.fixture
def room() -> str:
    return f"bots-{uuid.uuid4().hex[:8]}"


def publish(stage: Stage, room: str, path: Path, identity: str = "ann", listeners: int = 1) -> Program:
    options = ("--room", room, "--as", identity, "--wait-for-subscribers", str(listeners), "--encode", "opus")
    return Program(stage.for_programs, "publish", *options, path)


@pytest.mark.parametrize("token", [False, True], ids=["certificate", "token"])
def test_the_echo_bot_says_back_what_a_speaker_said_and_never_itself(stage: Stage, room: str, tmp_path: Path, token: bool) -> None:
    """Two echo bots hear each other, too. The speaker is `segue publish`; what is heard is a tone of its frequency, as long as it was."""
    path = heard.write_wave(tmp_path / "tone.wav", heard.tone(600, 3))
    delay = 2.0
    with (
        Session(stage.relay, stage.identities["cid"]) as listener,
        Bot("echo_bot.py", stage, room, "ben", "--delay", delay, token=token) as bot,
        Bot("echo_bot.py", stage, room, "ben", "--delay", delay, token=token) as other,
    ):
        listener.ask("join", room=room, role="listener")
        listener.ask("subscribe", all=True)
        listener.event("participant.joined", displayName="Echo")
        listener.event("participant.joined", displayName="Echo")
        with publish(stage, room, path, listeners=3) as program:
            spoken = listener.event("stream.published")["stream"]
            echoes = [listener.event("stream.published", source="echo", seconds=60)["stream"] for _ in range(2)]
            program.finish()
        for stream in echoes:
            listener.event("stream.ended", stream=stream, seconds=60)
        assert "stream.published" not in listener.types(), "an echo of an echo"
        media = [frame_log.parse_frame(frame.message) for frame in listener.frames if frame.kind == AUDIO]
        frames = {stream: [frame for frame in media if frame.stream == stream] for stream in (spoken, *echoes)}
        for stream in echoes:
            said = {frame.payload for frame in frames[spoken]}
            assert len(frames[stream]) > 100 and all(frame.payload in said for frame in frames[stream])
            samples = sound([frame.payload for frame in frames[stream]])[9_600:]
            assert heard.level_of(samples, 600) > -20 > heard.level_of(samples, 900)
            times = [frame.timestamp for frame in frames[stream]]
            assert all((later - earlier) % 960 == 0 and later > earlier for earlier, later in zip(times, times[1:], strict=False))
            # At least 1.5 s of speech came before the first of it was said back.
            first = media.index(frames[stream][0])
            assert sum(frame.stream == spoken for frame in media[:first]) > 75
        bot.stop()
        other.stop(signal.SIGTERM)
        listener.event("participant.left", reason="left")


def test_two_who_speak_at_once_are_said_back_each_by_itself_and_heard_together(stage: Stage, room: str, tmp_path: Path) -> None:
    with (
        Bot("echo_bot.py", stage, room, "ben", "--delay", 3) as bot,
        Listener(stage.for_programs, room, tmp_path / "heard", "--delay", "400", identity="cid") as listener,
    ):
        listener.wait_line("joined")
        with (
            publish(stage, room, heard.write_wave(tmp_path / "low.wav", heard.tone(400, 2)), listeners=2) as low,
            publish(stage, room, heard.write_wave(tmp_path / "high.wav", heard.tone(1_000, 2)), "cid", listeners=2) as high,
        ):
            low.finish()
            high.finish()
        for _ in range(4):
            python_client.wait_until("four streams have ended", lambda: sum(line.get("event") == "ended" for line in listener.lines) == 4, 60)
        samples = listener.heard()
        bot.stop()
    # Said and said back: each tone is there twice, with a pause in between.
    for hertz in (400, 1_000):
        levels = heard.envelope(samples, hertz)
        assert len([run for run in heard.runs(levels > 0.05) if run.seconds > 1]) >= 2, hertz


@pytest.mark.parametrize("token", [False, True], ids=["certificate", "token"])
def test_the_recorder_bot_writes_files_that_play_with_silence_where_nothing_came(stage: Stage, room: str, tmp_path: Path, token: bool) -> None:
    """Ann speaks for a second, is silent for two, and speaks on; Cid speaks meanwhile, and says what is no Opus."""
    first, second = tone_packets(440, 1), tone_packets(880, 1)
    with Bot("recorder_bot.py", stage, room, "ben", "--out", tmp_path, token=token) as bot:

        async def work() -> None:
            async with stage.client("ann") as ann, stage.client("cid") as cid:
                there = await ann.join(room)
                await cid.join(room)
                await until("the recorder", lambda: any(person.role == "recorder" for person in there.participants.values()))
                voice = await ann.publish("audio", "opus", description={"channels": 1})
                other = await cid.publish("audio", "opus", description={"timescale": 90_000})
                # The recorder's subscription takes its time: what comes before is not recorded.
                await asyncio.sleep(1)
                start = 0xFFFF_FFFF - 48_000
                for place, packet in enumerate(first):
                    await voice.send(packet, start + place * 960)
                    await other.send(second[place], place * 1_800)
                    await other.send(b"", place * 1_800)
                    await asyncio.sleep(0.02)
                await asyncio.sleep(1)
                for place, packet in enumerate(second):
                    await voice.send(packet, start + 3 * 48_000 + place * 960)
                    await asyncio.sleep(0.02)
                await asyncio.to_thread(python_client.wait_until, "both files", lambda: len(list(tmp_path.glob("*.opus"))) == 2, 30)
                await ann.unpublish(voice)
                await asyncio.sleep(0.5)

        run(work())
        said = bot.stop()
    files = {("ann" if "-ann-" in path.name else "cid"): path for path in tmp_path.glob("*.opus")}
    assert set(files) == {"ann", "cid"} and all(str(path) in said for path in files.values())
    sounds = {}
    for name, path in files.items():
        assert "WARNING" not in subprocess.run(["opusinfo", path], capture_output=True, text=True, timeout=60, check=True).stdout
        subprocess.run(["opusdec", "--quiet", path, tmp_path / f"{name}.wav"], timeout=60, check=True)
        made = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-"], capture_output=True, timeout=60, check=True)
        assert made.stderr == b""
        sounds[name] = np.frombuffer(made.stdout, "<f4")
    assert abs(len(sounds["ann"]) / 48_000 - 4) < 0.05 and abs(len(sounds["cid"]) / 48_000 - 1) < 0.05
    tones = [heard.heard_from_to(heard.envelope(sounds["ann"], hertz), 0.05) for hertz in (440, 880)]
    assert abs(tones[0][1] - 1) < 0.1 and abs(tones[1][0] - 3) < 0.1, tones
    assert heard.level_of(sounds["cid"][9_600:38_400], 880) > -15


def test_a_recording_plays_whose_recorder_was_killed(stage: Stage, room: str, tmp_path: Path) -> None:
    async def work(bot: Bot) -> None:
        async with stage.client("ann") as ann:
            there = await ann.join(room)
            await until("the recorder", lambda: len(there.participants) == 2)
            voice = await ann.publish("audio", "opus")
            for place, packet in enumerate(tone_packets(440, 4)):
                await voice.send(packet, place * 960)
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.5)
            bot.process.kill()

    with Bot("recorder_bot.py", stage, room, "ben", "--out", tmp_path) as bot:
        run(work(bot))
        bot.process.wait(30)
    (path,) = tmp_path.glob("*.opus")
    made = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-"], capture_output=True, timeout=60, check=True)
    samples = np.frombuffer(made.stdout, "<f4")
    assert len(samples) >= 48_000 and heard.level_of(samples, 440) > -20


def test_a_bot_ends_with_its_room_and_tells_in_a_line_why_it_could_not_come(stage: Stage, room: str, tmp_path: Path) -> None:
    with Session(stage.relay, stage.identities["ann"]) as host:
        host.ask("join", room=room, role="host")
        with Bot("recorder_bot.py", stage, room, "ben", "--out", tmp_path) as bot:
            host.event("participant.joined")
            stream = host.publish("audio")
            while ".opus" not in bot.text():
                assert bot.process.poll() is None, bot.text()
                host.media("audio", stream, b"\xf8\xff\xfe")
                host.drain(0.1)
            host.ask("end")
            bot.process.wait(30)
            assert bot.process.returncode == 0, bot.text()
        host.ask("join", room=room, role="host")
        host.ask("lock", locked=True)
        with Bot("recorder_bot.py", stage, room, "ben", "--out", tmp_path) as bot:
            bot.process.wait(30)
            assert bot.process.returncode == 1 and bot.text().startswith("Refused: join: room_locked"), bot.text()


# An agent that is spoken with

ANSWER = """
import array, math, os, sys, wave
folder, seconds, who = sys.argv[1:]
said = sys.stdin.buffer.read()
with open(f"{folder}/{len(os.listdir(folder))}-{who.rsplit(':', 1)[1]}.wav", "wb") as file:
    file.write(said)
# Two periods of 700 Hz at 22,050 Hz, again and again.
tone = array.array("h", (round(9000 * math.sin(2 * math.pi * at * 2 / 63)) for at in range(63)))
with wave.open(sys.stdout.buffer, "wb") as answer:
    answer.setnchannels(1), answer.setsampwidth(2), answer.setframerate(22050)
    answer.writeframes(tone.tobytes() * (350 * int(seconds)))
"""


class Speaker:
    """Speaks tones into a room, with silence after them, and keeps what the agent says."""

    def __init__(self, client: Client, says_level: bool):
        self.client, self.says_level = client, says_level
        self.encoder, self.place = heard.OpusEncoder(), 0
        self.answers: list[segue.Frame] = []

    async def come(self, room: str) -> None:
        there = await self.client.join(room)
        await until("the agent", lambda: any(stream.source == "agent" for stream in there.streams.values()))
        await self.client.subscribe(sources=["agent"])
        self.voice = await self.client.publish("audio", "opus", source="microphone")
        self.frames, self.taking = collect(self.client)
        # The agent's subscription takes its time.
        await self.say(np.zeros(48_000), voice=False)

    async def say(self, samples: np.ndarray, *, voice: bool) -> None:
        for place in range(0, len(samples) - 959, 960):
            level = {"level": -20 if voice else -90, "voice": voice} if self.says_level else {}
            await self.voice.send(self.encoder.encode(samples[place : place + 960]), self.place, **level)
            self.place += 960
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("silence", ["sent", "not sent", "no levels"])
def test_the_agent_hears_each_utterance_and_is_silent_when_somebody_speaks(stage: Stage, room: str, tmp_path: Path, silence: str) -> None:
    """Two utterances. The answer to the first would take 30 s, and the second begins when it has begun.

    Ends of speech are told by the header's voice bit, by frames that do not come any more (DTX), or by the samples where the header says nothing.
    """
    folder, script = tmp_path / "said", tmp_path / "answer.py"
    folder.mkdir()
    script.write_text(ANSWER)
    command = f"{sys.executable} {script} {folder} 30"

    async def work() -> None:
        async with stage.client("ann") as ann:
            speaker = Speaker(ann, silence != "no levels")
            await speaker.come(room)
            for hertz, number in ((440, 1), (880, 2)):
                await speaker.say(heard.tone(hertz, 1.0), voice=True)
                if silence != "not sent":
                    await speaker.say(np.zeros(48_000 + 4_800), voice=False)
                await until("an answer", lambda so_far=len(speaker.frames): len(speaker.frames) >= so_far + 25, 40)
                assert len(list(folder.iterdir())) == number
            # A third, which does not finish, silences it, as soon as the machine gets to it.
            for _ in range(30):
                so_far = len(speaker.frames)
                await speaker.say(heard.tone(440, 0.6), voice=True)
                if len(speaker.frames) == so_far:
                    break
            assert len(speaker.frames) == so_far, "it goes on to speak while somebody else does"
            answer = sound([frame.payload for frame in speaker.frames[-100:]])[4_800:]
            assert heard.level_of(answer, 700) > -20 and all(frame.voice and frame.level > -20 for frame in speaker.frames)
            assert sum(bool(frame.flags & Flag.DISCONTINUITY) for frame in speaker.frames) == 2, "each answer begins anew, once"

    with Bot("voice_agent.py", stage, room, "ben", "--answer", command) as bot:
        run(work())
        bot.stop()
    for name, hertz in (("0-ann.wav", 440), ("1-ann.wav", 880)):
        made = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / name, "-f", "f32le", "-"], capture_output=True, timeout=60, check=True)
        samples = np.frombuffer(made.stdout, "<f4")
        start, end = heard.heard_from_to(heard.envelope(samples, hertz), 0.05)
        assert abs(end - start - 1) < 0.15 and start < 0.5 and len(samples) / 48_000 < 2, (start, end, len(samples))
