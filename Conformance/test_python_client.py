"""The Python client library against a live relay, with certificates and with tokens: rooms, media, losses, moves."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support import heard, python_client
from support.breakable import Breakable
from support.delayed import Delayed
from support.python_client import Stage, collect, record, run, sound, tone_packets, until, url
from support.relay import Relay
from support.session import Session

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

            async def send() -> None:
                """Again and again: a subscription takes its time between the relay's loops, and on a busy machine frames grow too old."""
                while True:
                    await video.send(picture, 0, flags=Flag.KEY, temporal=2, duration=3_000)
                    await voice.send(b"\xf8\xff\xfe", 960, level=-30, voice=True, capture_time=time_of_capture)
                    await asyncio.sleep(0.2)

            sending = asyncio.create_task(send())
            found: dict[Kind, segue.Frame] = {}
            async for stream, frame in frames:
                if frame.is_media:
                    found[frame.kind] = frame
                    assert stream.number == frame.stream
                elif stream.kind == "video":
                    assert frame.payload == b"form" == stream.configuration
                if len(found) == 2:
                    break
            sending.cancel()
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


def test_the_mix_comes_as_a_stream_of_nobody_and_goes_on_over_another_connection(stage: Stage, room: str) -> None:
    async def work() -> None:
        async with stage.client("ann") as ann, stage.client("ben") as ben:
            await ann.join(room)
            there = await ben.join(room)
            voice = await ann.publish("audio", "opus")
            frames = ben.frames()
            answer = await ben.subscribe(all=True, delivery="mixed")
            assert there.mix and there.mix.number == answer["mix"]["stream"] and answer["subscribed"] == []
            speaking = asyncio.create_task(speak(voice, tone_packets(440, 8)))
            packets: list[bytes] = []
            last = None
            async for stream, frame in frames:
                assert stream.number == there.mix.number and stream.participant is None
                if frame.kind is not Kind.AUDIO:
                    assert frame.payload.startswith(b"OpusHead")
                    continue
                assert last is None or segue.frames.serial_difference(frame.sequence, last) > 0
                last = frame.sequence
                packets += [] if frame.flags & Flag.SILENCE else [frame.payload]
                if len(packets) == 40:
                    await ben.migrate()
                if len(packets) == 120:
                    break
            # Where ticks are missing, the tone's phase jumps: judged in windows of 20 ms.
            samples = sound(packets)[9_600:]
            assert np.median(heard.envelope(samples, 440)) > 0.1 > np.median(heard.envelope(samples, 900))
            await speaking

    run(work())


async def speak(publication: segue.Publication, packets: list[bytes]) -> None:
    for place, packet in enumerate(packets):
        await publication.send(packet, place * 960, level=-12, voice=True)
        await asyncio.sleep(0.02)


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


def test_the_program_of_the_readme_does_what_it_says(stage: Stage, tmp_path: Path) -> None:
    """With a client of another make in the room, which hears the note and speaks."""
    (program,) = re.findall(r"```python\n(.*?)```", (python_client.LIBRARY / "README.md").read_text(), re.DOTALL)
    path, identity = tmp_path / "program.py", stage.identities["ben"]
    path.write_text(program)
    command = [sys.executable, path, url(stage.relay), stage.authority.certificate, identity.certificate, identity.key]
    environment = os.environ | {"PYTHONPATH": str(python_client.LIBRARY)}
    with Session(stage.relay, stage.identities["ann"]) as ann:
        ann.ask("join", room="demo", displayName="Ann")
        ann.ask("subscribe", all=True)
        stream = ann.publish("audio")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as process:
            ann.event("stream.published", source="notes", seconds=60)
            ann.frame(b"Good evening.")
            while process.poll() is None:
                ann.media("audio", stream, b"\xf8\xff\xfe")
                ann.drain(0.1)
            said = process.stdout.read()
    assert process.returncode == 0 and "here are ['Ann', 'Python']" in said and "urn:segue:client:ann" in said and "3 bytes, -127 dBov" in said, said
