"""The Python client library against a live relay, with certificates and with tokens: rooms, media, losses, moves, and its echo and recorder bots."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support import frame_log, heard, python_client
from support.breakable import Breakable
from support.delayed import Delayed
from support.heard import Listener, Program
from support.python_client import Bot, Stage, record, run, sound, tone_packets, until, url
from support.relay import Relay
from support.session import AUDIO, Session

import segue  # isort: skip  (found by support.python_client)
from segue import Client, Flag, Kind  # isort: skip

GRACE_MILLISECONDS = 4_000


@pytest.fixture(scope="module")
def module_stage(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage.create(start_relay, tmp_path_factory.mktemp("python"), resumeMilliseconds=GRACE_MILLISECONDS)


@pytest.fixture
def stage(module_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    record(monkeypatch)
    yield module_stage
    module_stage.relay.assert_healthy()


@pytest.fixture
def room() -> str:
    return f"python-{uuid.uuid4().hex[:8]}"


async def talk(publication: segue.Publication, count: int, start: int = 0, seconds: float = 0.005) -> list[bytes]:
    """So many frames, each with a payload of its own."""
    payloads = [b"\xf8 word %d" % number for number in range(start, start + count)]
    for number, payload in enumerate(payloads, start):
        await publication.send(payload, number * 960, level=-20, voice=True)
        await asyncio.sleep(seconds)
    return payloads


def collect(client: Client) -> tuple[list[segue.Frame], asyncio.Task]:
    """All media frames that come from now on."""
    frames: list[segue.Frame] = []

    async def take() -> None:
        async for _, frame in client.frames():
            if frame.is_media:
                frames.append(frame)

    return frames, asyncio.create_task(take())


async def hears(publication: segue.Publication, frames: list[segue.Frame]) -> None:
    """Between the relay's loops a subscription takes its time: talks until it is heard, then forgets that."""
    number = 0
    while not frames:
        await publication.send(b"\xf8 warm-up", number * 960)
        number += 1
        await asyncio.sleep(0.02)
    await publication.send(b"\xf8 last", number * 960)
    await until("the last word", lambda: frames[-1].payload == b"\xf8 last")
    frames.clear()


# Who one is


@pytest.mark.parametrize("proof", ["certificate", "token", "function", "both"])
def test_a_client_is_who_its_certificate_or_its_token_says(stage: Stage, room: str, proof: str) -> None:
    async def fresh() -> str:
        return stage.token("ben")

    async def work() -> None:
        identity = stage.identities["ben"]
        both = {"token": stage.token("ben"), "certificate": identity.certificate, "key": identity.key}
        options = {"certificate": {}, "token": {"token": stage.token("ben")}, "function": {"token": fresh}, "both": both}[proof]
        async with stage.client("ben", **options) as client:
            assert client.state == "open"
            said = client.welcome["identity"]
            expected = {"certificate": "urn:segue:client:ben", "both": "urn:segue:client:ben"}.get(proof, "token:ben")
            assert (said["name"], said["proof"]) == (expected, {"function": "token", "both": "certificate+token"}.get(proof, proof))
            there = await client.join(room, display_name="Ben", role="listener")
            me = there.participants[there.me]
            assert (me.name, me.display_name, me.role, there.role, there.state) == (expected, "Ben", "listener", "listener", "joined")
            with pytest.raises(segue.Refused) as refused:
                await client.publish("audio", "opus")
            assert (refused.value.code, refused.value.retry) == ("role", False)
        assert client.state == "closed" and await client.closed() is None
        with pytest.raises(segue.Closed):
            await client.request("leave")

    run(work())


def test_who_is_nobody_is_told_what_is_wrong(stage: Stage, tmp_path: Path) -> None:
    authority, address = stage.authority.certificate, url(stage.relay)
    forged = stage.token("ben")[:-8] + "AAAAAAAA"
    stranger = stage.authority.self_signed(f"stranger-{os.urandom(3).hex()}")

    async def failure(client: Client) -> segue.SegueError:
        with pytest.raises(segue.SegueError) as raised:
            async with client:
                raise AssertionError("let in")
        assert "AAAAAAAA" not in str(raised.value)
        return raised.value

    async def work() -> None:
        nobody = await failure(Client(address, authority=authority))
        assert isinstance(nobody, segue.Refused) and nobody.code == "unauthenticated"
        liar = await failure(Client(address, authority=authority, token=forged))
        assert isinstance(liar, segue.HandshakeRefused) and liar.status == 401 and liar.detail and not liar.retry
        assert isinstance(await failure(Client(address, authority=authority, certificate=stranger.certificate, key=stranger.key)), segue.ConnectionFailed)
        assert isinstance(await failure(Client(address)), segue.ConnectionFailed), "an authority that the system does not know"
        assert isinstance(await failure(Client("wss://localhost:1", authority=authority)), segue.ConnectionFailed)

    run(work())


# Rooms and media


@pytest.mark.parametrize("wishes", [None, {"parts": True, "bundles": {"delayMilliseconds": 10}}], ids=["plain", "parts-bundles"])
def test_what_is_published_comes_whole_with_all_that_the_header_says(stage: Stage, room: str, wishes: dict | None) -> None:
    async def work() -> None:
        async with stage.client("ann") as ann, stage.client("ben", wishes=wishes) as ben:
            await ann.join(room)
            there = await ben.join(room)
            events, frames = ben.events(), ben.frames()
            voice = await ann.publish("audio", "opus", source="microphone", description={"channels": 1})
            video = await ann.publish("video", "vp8", configuration=b"form", priority="low")
            await until("both streams are there", lambda: len(there.streams) == 2)
            assert [stream.source for stream in there.streams.values()] == ["microphone", None]
            assert {stream.participant.name for stream in there.streams.values() if stream.participant} == {"urn:segue:client:ann"}
            assert sorted((await ben.subscribe(all=True))["subscribed"]) == sorted(there.streams)
            time_of_capture = segue.ntp_from_unix(1_760_000_000)
            picture = os.urandom(300_000)
            await video.send(picture, 0, flags=Flag.KEY, temporal=2, duration=3_000)
            await voice.send(b"\xf8\xff\xfe", 960, level=-30, voice=True, capture_time=time_of_capture)
            found: dict[Kind, segue.Frame] = {}
            async for stream, frame in frames:
                if frame.is_media:
                    found[frame.kind] = frame
                    assert stream.number == frame.stream
                elif stream.kind == "video":
                    assert frame.payload == b"form" == stream.configuration
                if len(found) == 2:
                    break
            heard_frame, seen = found[Kind.AUDIO], found[Kind.VIDEO]
            assert (heard_frame.payload, heard_frame.level, heard_frame.voice, heard_frame.capture_time) == (b"\xf8\xff\xfe", -30, True, time_of_capture)
            assert (seen.payload, seen.temporal, seen.duration, seen.flags & Flag.KEY) == (picture, 2, 3_000, Flag.KEY)
            await ben.requests.keyframe_request(stream=video.stream)
            await asyncio.wait_for(video.key_frame_wanted.wait(), 15)
            await ann.unpublish(voice)
            await until("the stream has ended", lambda: list(there.streams) == [video.stream])
            await ann.leave()
            await until("ann has left", lambda: list(there.participants) == [there.me])
            seen_events = []
            async for event in events:
                seen_events.append(event["type"])
                if event["type"] == "participant.left":
                    break
            assert [kind for kind in seen_events if kind.startswith("stream.")] == ["stream.published"] * 2 + ["stream.ended"] * 2

    run(work())


def test_hosts_moderate_and_the_model_follows(stage: Stage, room: str) -> None:
    async def work() -> None:
        async with stage.client("ann") as ann, stage.client("ben") as ben:
            await ann.join(room, role="host")
            there = await ben.join(room, role="speaker")
            frames = ben.frames()
            await ben.publish("audio", "opus")
            await ann.requests.mute(participant=there.me, kinds=["audio"], muted=True)
            await until("muted", lambda: there.participants[there.me].muted == {"audio"})
            await ann.requests.lock(locked=True)
            await until("locked", lambda: there.locked)
            await ann.requests.promote(participant=there.me, role="listener")
            await until("ben's stream has ended", lambda: not ben.publications)
            assert there.role == "listener"
            removed = asyncio.create_task(ben.event("room.removed"))
            await asyncio.sleep(0)
            await ann.requests.remove(participant=there.me)
            assert (await removed)["reason"] == "removed"
            assert [frame async for frame in frames] == [], "the iterator ends with the room"
            assert ben.room is None and there.state == "left"
            with pytest.raises(segue.Refused) as refused:
                await ben.join(room)
            assert (refused.value.code, refused.value.retry) == ("room_locked", True)

    run(work())


def test_reports_reach_the_publisher_and_clocks_agree(stage: Stage, room: str) -> None:
    async def work() -> None:
        with Delayed(stage.relay, 0.05) as far:
            async with stage.client("ann") as ann, stage.client("ben", far.relay, report_seconds=0.5) as ben:
                await ann.join(room)
                await ben.join(room)
                await ben.subscribe(all=True)
                voice = await ann.publish("audio", "opus")
                frames, _ = collect(ben)
                await hears(voice, frames)
                for _ in range(400):
                    await talk(voice, 5, seconds=0.02)
                    if voice.report and ben.clock.best:
                        break
                assert voice.report and voice.report["receivers"] == 1
                assert ben.clock.best and 100 <= ben.clock.best.round_trip < 5_000
                # Both clocks are this machine's; the wall clock's offset is the same for both clients.
                near, distant = ann.server_time(), ben.server_time()
                assert near and distant and abs(near - distant) <= ben.clock.best.round_trip

    run(work())


# Losses and moves


@pytest.mark.parametrize("side", ["publisher", "listener"])
def test_a_lost_connection_costs_neither_room_nor_frames(stage: Stage, room: str, side: str) -> None:
    async def work() -> None:
        with Breakable(stage.relay) as weak:
            relays = {"publisher": stage.relay, "listener": stage.relay, side: weak.relay}
            async with stage.client("ann", relays["publisher"]) as ann, stage.client("ben", relays["listener"]) as ben:
                await ann.join(room)
                there = await ben.join(room)
                await ben.subscribe(all=True)
                voice = await ann.publish("audio", "opus")
                frames, _ = collect(ben)
                await hears(voice, frames)
                loser = ann if side == "publisher" else ben
                session, events = loser.welcome["session"], loser.events("client.lost", "client.resumed", "client.restarted")
                sent = await talk(voice, 20)
                talking = asyncio.create_task(talk(voice, 100, 20))
                await asyncio.sleep(0.1)
                weak.last.reset()
                assert [(await anext(events))["type"] for _ in range(2)] == ["client.lost", "client.resumed"]
                sent += await talking
                assert loser.welcome["session"] == session and loser.statistics["resumptions"] == 1
                await until("the last word", lambda: frames and frames[-1].payload == sent[-1])
                gaps = there.streams[voice.stream].reception.missing
                came = [frame.payload for frame in frames]
                assert len(set(came)) == len(came) and [word for word in sent if word in set(came)] == came, "once each, in order"
                # On a machine that was too slow for the relay's deadlines, what is missing was told.
                assert len(came) + gaps + voice.lost == len(sent)
                assert set(there.participants) == {there.me, min(set(there.participants) - {there.me})}

    run(work())


def test_a_client_whose_link_is_cut_through_comes_back_when_it_carries_again(stage: Stage, room: str) -> None:
    async def work() -> None:
        with Delayed(stage.relay, 0.02) as far:
            async with stage.client("ann") as ann, stage.client("ben", far.relay) as ben:
                await ann.join(room)
                await ben.join(room)
                await ben.subscribe(all=True)
                voice = await ann.publish("audio", "opus")
                frames, _ = collect(ben)
                await hears(voice, frames)
                back = asyncio.create_task(ben.event("client.resumed", seconds=40))
                await asyncio.sleep(0)
                for end in far.ends:
                    end.close()
                await talk(voice, 20)
                assert (await back)["type"] == "client.resumed"
                sent = (await talk(voice, 20, 20))[-1]
                await until("the last word", lambda: frames and frames[-1].payload == sent)

    run(work())


def test_a_client_moves_to_a_new_connection_before_the_old_one_ends(stage: Stage, room: str) -> None:
    async def work() -> None:
        async with stage.client("ann") as ann, stage.client("ben") as ben:
            await ann.join(room)
            there = await ben.join(room)
            await ben.subscribe(all=True)
            voice = await ann.publish("audio", "opus")
            frames, _ = collect(ben)
            await hears(voice, frames)
            talking = asyncio.create_task(talk(voice, 150))
            for mover in (ann, ben, ann, ben):
                await mover.migrate()
            sent = await talking
            await until("the last word", lambda: frames and frames[-1].payload == sent[-1])
            came = [frame.payload for frame in frames]
            assert len(set(came)) == len(came) and [word for word in sent if word in set(came)] == came
            assert len(came) + there.streams[voice.stream].reception.missing + voice.lost == len(sent)
            assert ann.statistics["resumptions"] == ben.statistics["resumptions"] == 2
            assert len(there.participants) == 2 and ann.state == ben.state == "open"

    run(work())


def test_when_the_session_is_gone_a_new_one_takes_its_place(stage: Stage, room: str) -> None:
    """The relay keeps a lost session for four seconds; the network is gone for longer."""

    async def work() -> None:
        with Breakable(stage.relay) as weak:
            async with stage.client("ann") as ann, stage.client("ben", weak.relay) as ben:
                there = await ann.join(room)
                await ben.join(room, display_name="Ben", role="speaker")
                await ben.subscribe(all=True)
                await ann.subscribe(all=True)
                theirs, mine = await ann.publish("audio", "opus"), await ben.publish("audio", "opus", configuration=b"head", source="microphone")
                session, number = ben.welcome["session"], mine.stream
                back = asyncio.create_task(ben.event("client.restarted", seconds=50))
                await asyncio.sleep(0)
                weak.shut_out()
                weak.last.reset()
                await until("ben is gone", lambda: len(there.participants) == 1)
                with pytest.raises(segue.NoAnswer):
                    await asyncio.wait_for(ben._session.ask("time", {"clientTime": 1}, 0.1), 5)
                weak.let_in()
                await back
                assert ben.welcome["session"] != session and mine.stream != number and ben.statistics["resumptions"] == 0
                await until("ben is back", lambda: len(there.participants) == 2 and len(there.streams) == 2)
                assert {person.display_name for person in there.participants.values()} == {None, "Ben"}
                to_ann, _ = collect(ann)
                to_ben, _ = collect(ben)
                await hears(mine, to_ann)
                await hears(theirs, to_ben)
                assert there.streams[mine.stream].configuration == b"head"

    run(work())


def test_a_client_goes_to_another_relay_when_its_own_goes_away(stage: Stage, room: str, start_relay: Callable[..., Relay]) -> None:
    server = stage.authority.issue("drained", usage="serverAuth", names="DNS:localhost")
    config = stage.authority.configuration(server) | {"drainMilliseconds": 20_000}
    going = start_relay("going", config=config, authority=stage.authority.certificate, identity=stage.identities["ann"])
    identity = stage.identities["ben"]

    async def work() -> None:
        options = {"authority": stage.authority.certificate, "certificate": identity.certificate, "key": identity.key}
        async with Client([url(going), url(stage.relay)], **options) as ben, stage.client("ann") as ann:
            assert ben.welcome["node"]
            await ben.join(room, display_name="Ben")
            voice = await ben.publish("audio", "opus")
            await ben.subscribe(all=True)
            there = await ann.join(room)
            await ann.subscribe(all=True)
            moved = asyncio.create_task(ben.event("client.restarted", seconds=40))
            await asyncio.sleep(0)
            going.process.send_signal(signal.SIGTERM)
            await moved
            assert [person.display_name for person in there.participants.values()] == [None, "Ben"]
            frames, _ = collect(ann)
            await hears(voice, frames)
            assert ben.state == "open"

    run(work())


def test_a_token_that_ends_ends_the_session_unless_a_newer_one_is_shown(stage: Stage) -> None:
    async def work() -> None:
        async with stage.client("ann", token=stage.token("short", 3)) as short, stage.client("ann", token=stage.token("long", 3)) as long:
            answer = await long.requests.authenticate(token=stage.token("long", 600))
            assert answer["expires"] > time.time() * 1_000 + 60_000
            ended = await short.closed()
            assert isinstance(ended, segue.Closed) and (ended.code, ended.reason) == (1008, "token_expired")
            with pytest.raises(segue.Closed):
                await anext(short.frames())
            assert long.state == "open"

    run(work())


# Bots


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
    """Two utterances. The answer to the first would take 30 s, and the second begins when it has begun. Ends of speech are told by the header's voice bit, by
    frames that do not come any more (DTX), or by the samples where the header says nothing."""
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
            # A third that is not finished silences it.
            await speaker.say(heard.tone(440, 0.5), voice=True)
            talking = asyncio.create_task(speaker.say(heard.tone(440, 3.0), voice=True))
            await asyncio.sleep(1)
            so_far = len(speaker.frames)
            await talking
            assert len(speaker.frames) == so_far < 2_000, "it goes on to speak while somebody else does"
            answer = sound([frame.payload for frame in speaker.frames[-100:]])[4_800:]
            assert heard.level_of(answer, 700) > -20 and all(frame.voice and frame.level > -20 for frame in speaker.frames)
            assert sum(bool(frame.flags & Flag.DISCONTINUITY) for frame in speaker.frames) == 2, "each answer begins anew"

    with Bot("voice_agent.py", stage, room, "ben", "--answer", command) as bot:
        run(work())
        bot.stop()
    for name, hertz in (("0-ann.wav", 440), ("1-ann.wav", 880)):
        made = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / name, "-f", "f32le", "-"], capture_output=True, timeout=60, check=True)
        samples = np.frombuffer(made.stdout, "<f4")
        start, end = heard.heard_from_to(heard.envelope(samples, hertz), 0.05)
        assert abs(end - start - 1) < 0.15 and start < 0.5 and len(samples) / 48_000 < 2, (start, end, len(samples))
