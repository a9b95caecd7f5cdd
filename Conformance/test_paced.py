"""Paced delivery (protocol §6.5): a stream through the relay's buffer, evenly, at the level of frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from support.admin import ADMIN
from support.audio import Stage
from support.authority import Authority
from support.metrics import measure
from support.relay import Relay
from support.session import CONFIGURATION, ENCRYPTED, Session
from support.sound import DISCONTINUITY, Packets, Speaking, Voice, frames_of, opus_head, steps, timestamp, tone_level, tone_packets, wait_frames

# So long that a busy machine's publishers are not late: where no frame may be missing.
PATIENT = 1500
# Undecodable, but of the length that a first byte says: 20 ms, one frame, CELT.
PACKETS = [bytes([0xF8]) + bytes([number % 251]) * 40 for number in range(500)]


TONE = tone_packets(400)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict:
    return {name: authority.issue(name) for name in ("ann", "bob", "cid", "operator")}


@pytest.fixture(scope="module", params=[("1.1", 1), ("1.1", 3), ("2", 3)], ids=lambda param: f"http{param[0]}-{param[1]}loops")
def server(request: pytest.FixtureRequest, start_relay: Callable[..., Relay], authority: Authority, identities: dict) -> tuple[Relay, str]:
    http, loops = request.param
    config = authority.configuration(authority.issue_server()) | {"limits": {"audioDeadlineMilliseconds": 5000}}
    config["policy"] = {"access": [{"identities": ["*"], "rooms": ["*"], "roles": ["host"]}], "admins": [ADMIN]}
    relay = start_relay(f"paced-{http}-{loops}", loops=loops, config=config, authority=authority.certificate, identity=identities["operator"])
    return relay, http


@pytest.fixture
def stage(server: tuple[Relay, str], authority: Authority, identities: dict) -> Iterator[Stage]:
    relay, http = server
    stage = Stage(relay, authority, identities, http)
    yield stage
    stage.close()
    relay.assert_healthy()


def reaches(voice: Voice, listener: Session) -> None:
    """Between loops a subscription takes its time: sends until something comes."""
    for _ in range(200):
        voice.send()
        listener.drain(0.02)
        if frames_of(listener, voice.stream):
            return
    raise AssertionError("nothing comes")


def test_frames_pass_as_they_came(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, Packets(PACKETS))
    assert ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=PATIENT)["subscribed"] == [voice.stream]
    with Speaking(voice):
        frames = wait_frames(ann, voice.stream, 60)
    configuration = ann.frames[0]
    assert (configuration.kind, configuration.payload) == (CONFIGURATION, opus_head())
    assert set(steps(frames)) == {(1, 960)}
    assert [frame.payload for frame in frames] == [PACKETS[frame.sequence % len(PACKETS)] for frame in frames]


def test_a_burst_comes_evenly(stage: Stage) -> None:
    """A stall delivers fifteen frames at once: they lie in the buffer, and leave it one by one."""
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=PATIENT)
    reaches(voice, ann)
    ann.frames.clear()
    voice.send(15)
    bob.barrier()
    ann.barrier()
    # Of frames that are played one a second later, none can be there yet.
    assert len(frames_of(ann, voice.stream)) < 15
    frames = wait_frames(ann, voice.stream, 15)
    assert set(steps(frames)) == {(1, 960)}


def test_late_frames_are_left_out(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=40)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 20)
    late = measure(stage.relay, "segue_audio_packets_total", "late")
    # A second after it was due.
    sequence, stamp = voice.sequence, voice.timestamp
    voice.skip(50)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 60)
    voice.sequence, voice.timestamp = sequence, stamp
    voice.send()
    bob.barrier()
    ann.drain(0.5)
    assert sequence not in {frame.sequence for frame in frames_of(ann, voice.stream)}
    assert measure(stage.relay, "segue_audio_packets_total", "late") > late


def test_encrypted_frames_are_paced_too(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, Packets(PACKETS), flags=ENCRYPTED, description={"frameMilliseconds": 20})
    ann.ask("subscribe", streams=[voice.stream], delivery="paced")
    with Speaking(voice):
        frames = wait_frames(ann, voice.stream, 20)
    assert all(frame.flags & ENCRYPTED for frame in frames)
    assert {frame.payload for frame in frames} <= set(PACKETS)


def test_video_comes_live_beside_paced_audio(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice, picture = Voice(bob, Packets(PACKETS)), bob.publish("video")
    assert ann.ask("subscribe", all=True, delivery="paced")["subscribed"] == sorted([voice.stream, picture])
    reaches(voice, ann)
    bob.media("video", picture, b"key", 1)
    ann.frame(b"key")


def test_streams_to_come_are_paced(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    ann.ask("subscribe", all=True, delivery="paced", delay=1500)
    voice = Voice(bob, Packets(PACKETS))
    ann.event("stream.published", stream=voice.stream)
    reaches(voice, ann)
    buffers = measure(stage.relay, "segue_audio_buffers", "paced")
    assert buffers >= 1


def test_the_first_frames_of_a_stream_to_come_are_not_missed(stage: Stage) -> None:
    """The publisher hears that it may send when the relay's buffer has asked for the stream."""
    bob, ann, cid = stage.join("bob"), stage.join("ann"), stage.join("cid")
    for listener in (ann, cid):
        listener.ask("subscribe", all=True, delivery="paced", delay=PATIENT)
    for _ in range(5):
        voice = Voice(bob, Packets(PACKETS))
        voice.send(5)
        for listener in (ann, cid):
            assert wait_frames(listener, voice.stream, 5)[0].sequence == 0


def test_changes_of_delivery_are_bounded(stage: Stage) -> None:
    """Each may have the relay make encoders; meanwhile another's sound comes as ever."""
    bob, ann, cid = stage.join("bob"), stage.join("ann"), stage.join("cid")
    voice = Voice(bob, TONE)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=PATIENT)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 5)
        numbers = [cid.send("subscribe", streams=[voice.stream], delivery="paced", late="conceal", delay=number) for number in range(100)]
        answers = [cid.wait(f"answer {number}", lambda number=number: cid.answers.get(number)) for number in numbers]
        ann.frames.clear()
        frames = wait_frames(ann, voice.stream, 30)
    codes = [answer.get("code", "ok") for answer in answers]
    assert set(codes) == {"ok", "pending"} and codes.count("ok") < 60
    assert set(steps(frames)) == {(1, 960)}


def test_an_ended_stream_is_played_out(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=600)
    reaches(voice, ann)
    voice.send(10)
    bob.ask("unpublish", stream=voice.stream)
    ann.event("stream.ended", stream=voice.stream)
    last = voice.sequence - 1
    ann.wait("the last frame", lambda: any(frame.sequence == last for frame in frames_of(ann, voice.stream)) or None)


def test_live_and_paced_side_by_side_and_back(stage: Stage) -> None:
    bob, ann, cid = stage.join("bob"), stage.join("ann"), stage.join("cid")
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=200)
    cid.ask("subscribe", streams=[voice.stream])
    with Speaking(voice):
        wait_frames(ann, voice.stream, 10)
        live = wait_frames(cid, voice.stream, 10)
        ann.ask("subscribe", streams=[voice.stream], delivery="live")
        ann.frames.clear()
        frames = wait_frames(ann, voice.stream, 10)
    assert set(steps(live)) == {(1, 960)}
    assert frames[-1].sequence > frames[0].sequence


def test_a_hold_stops_it_and_a_release_begins_at_the_live_edge(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=40)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 10)
        ann.ask("interruption.began", reason="default")
        ann.barrier()
        ann.frames.clear()
        ann.drain(0.3)
        assert frames_of(ann, voice.stream) == []
        ann.ask("interruption.ended", shouldResume=True)
        frames = wait_frames(ann, voice.stream, 10)
    assert frames[0].flags & DISCONTINUITY and not any(frame.flags & DISCONTINUITY for frame in frames[1:])


def test_an_interrupted_publisher_empties_its_buffers(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.phone("bob")
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=1000)
    reaches(voice, ann)
    ann.frames.clear()
    voice.send(20)
    bob.ask("interruption.began", reason="default")
    ann.event("participant.held", participant=bob.participant, held=True)
    before = len(frames_of(ann, voice.stream))
    ann.drain(1.5)
    assert len(frames_of(ann, voice.stream)) <= before + 2, "what was in the buffer is not played behind the hold"


def test_a_parked_listener_goes_on(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, Packets(PACKETS))
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=PATIENT)
    with Speaking(voice):
        had = wait_frames(ann, voice.stream, 10)[-1]
        ann.transport.cut()
        received = [{"stream": voice.stream, "sequence": had.sequence, "timestamp": timestamp(had)}]
        again = stage.open("ann", hello={"resume": {"token": ann.welcome["resumeToken"], "received": received}})
        assert again.welcome["resumed"]["subscribed"] == [voice.stream]
        frames = wait_frames(again, voice.stream, 20)
    gap = sum(entry["frames"] for entry in again.welcome["resumed"]["gaps"])
    assert frames[0].sequence == had.sequence + 1 + gap and set(steps(frames)) == {(1, 960)}


def test_what_is_missing_is_concealed(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, TONE)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", late="conceal", delay=PATIENT)
    concealed = measure(stage.relay, "segue_audio_samples_total", "concealed")
    with Speaking(voice):
        for _ in range(4):
            wait_frames(ann, voice.stream, len(frames_of(ann, voice.stream)) + 25)
            voice.skip(2)
        frames = wait_frames(ann, voice.stream, len(frames_of(ann, voice.stream)) + 40)
    assert (ann.frames[0].kind, ann.frames[0].payload) == (CONFIGURATION, opus_head())
    # Ticks that a busy machine left out show in both alike.
    assert all(time == sequence * 960 and sequence >= 1 for sequence, time in steps(frames))
    assert tone_level(frames[25:], 400) > -16
    ann.wait("concealed samples", lambda: ann.drain(0.3) or (measure(stage.relay, "segue_audio_samples_total", "concealed") > concealed or None))


@pytest.mark.parametrize(("codec", "flags", "reason"), [("pcmu", 0, "codec"), ("opus", ENCRYPTED, "encrypted")])
def test_what_cannot_be_decoded_is_paced_without(stage: Stage, codec: str, flags: int, reason: str) -> None:
    bob, ann, cid = stage.join("bob"), stage.join("ann"), stage.join("cid")
    voice = Voice(bob, Packets(PACKETS), codec=codec, flags=flags, head=opus_head() if codec == "opus" else b"")
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", late="conceal", delay=60)
    with Speaking(voice):
        assert ann.event("stream.unmixed", stream=voice.stream)["reason"] == reason
        frames = wait_frames(ann, voice.stream, 20)
        cid.ask("subscribe", streams=[voice.stream], delivery="paced", late="conceal", delay=60)
        assert cid.event("stream.unmixed", stream=voice.stream)["reason"] == reason
    assert {frame.payload for frame in frames} <= set(PACKETS)


def buffers_of(stage: Stage, stream: int) -> list[dict]:
    status, _, text = stage.relay.get(f"/v1/rooms/{stage.room}/streams")
    assert status == 200, text
    return next(entry for entry in json.loads(text)["streams"] if entry["stream"] == stream).get("buffers", [])


def test_administrators_see_the_buffers(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    voice = Voice(bob, TONE)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", profile="smooth", delay=80)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 30)
        shown = ann.wait("buffers", lambda: ann.drain(0.1) or buffers_of(stage, voice.stream) or None)
    (buffer,) = shown
    assert (buffer["delivery"], buffer["latePolicy"], buffer["profile"], buffer["pinnedMilliseconds"]) == ("paced", "drop", "smooth", 80)
    assert buffer["targetMilliseconds"] == 80 and buffer["packets"] > 0 and buffer["malformed"] == 0


def test_the_mode_of_the_audio_session_is_the_buffers_profile(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone(category="playback")
    voice = Voice(bob, TONE)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced")

    def profiles(*expected: str) -> None:
        ann.wait(f"{expected}", lambda: ann.drain(0.1) or ([buffer["profile"] for buffer in buffers_of(stage, voice.stream)] == list(expected) or None))

    with Speaking(voice):
        wait_frames(ann, voice.stream, 10)
        profiles("balanced")
        ann.ask("session.setCategory", category="playback", mode="moviePlayback")
        profiles("smooth")
        ann.frames.clear()
        wait_frames(ann, voice.stream, 10)


def test_a_pinned_delay_is_that_to_what_is_heard(stage: Stage) -> None:
    """Audio-session §5: with `routeConfigurationChange` jitter buffers are told the new latency; others tell of one that differs by more than 20 ms."""
    bob, ann = stage.join("bob"), stage.phone()
    voice = Voice(bob, TONE)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=500)

    def route(reason: int, latency: float) -> None:
        ann.ask("route.changed", reason=reason, route={"inputs": [], "outputs": [{"type": "bluetoothA2DP", "latency": latency}]})

    def targets(expected: int) -> None:
        ann.wait(f"{expected} ms", lambda: ann.drain(0.1) or ([buffer["targetMilliseconds"] for buffer in buffers_of(stage, voice.stream)] == [expected] or None))

    with Speaking(voice):
        wait_frames(ann, voice.stream, 10)
        targets(500)
        for reason, latency, expected in ((8, 0.2, 300), (1, 0.19, 300), (8, 0.19, 310), (1, 0.04, 460), (8, 0.9, 0), (1, 0, 500)):
            route(reason, latency)
            targets(expected)
        ann.frames.clear()
        wait_frames(ann, voice.stream, 10)


def test_priming_fills_the_buffer_and_says_how_much(stage: Stage) -> None:
    """Audio-session §6: prime fills up to the watermark and reports how much; start plays it."""
    bob, ann = stage.join("bob"), stage.phone()
    voice = Voice(bob, TONE)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=PATIENT)
    ann.ask("stream.pause", stream=voice.stream)
    with Speaking(voice):
        ann.frames.clear()
        # Each answer takes a fifth of a second; what is kept ready stays when it is asked for once more.
        primed = [ann.ask("stream.prime", stream=voice.stream)["primed"] for _ in range(12)]
        assert all(entry["milliseconds"] == entry["frames"] * 20 for entry in primed), primed
        assert primed[-1]["milliseconds"] > PATIENT / 2 > primed[0]["milliseconds"] > 0, primed
        assert frames_of(ann, voice.stream) == []
        ann.ask("stream.start", stream=voice.stream)
        frames = wait_frames(ann, voice.stream, 10)
    assert frames[0].flags & DISCONTINUITY
    assert set(steps(frames)) == {(1, 960)}


@pytest.mark.hostile
@pytest.mark.parametrize(
    "members",
    [
        {"delivery": "live", "late": "drop"}, {"delivery": "live", "delay": 20}, {"profile": "smooth"}, {"delivery": "paced", "channels": 2},
        {"delivery": "paced", "delay": 2001}, {"delivery": "paced", "delay": -1}, {"delivery": "mixed", "late": "conceal"},
    ],
    ids=str,
)
def test_members_of_another_delivery_are_refused(stage: Stage, members: dict) -> None:
    ann = stage.join("ann")
    assert ann.refusal("subscribe", all=True, **members) == "bad_value"


def test_mixed_delivery_is_of_everybody(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.join("bob")
    voice = Voice(bob, Packets(PACKETS))
    assert ann.refusal("subscribe", streams=[voice.stream], delivery="mixed") == "bad_value"
    assert ann.refusal("subscribe", sources=["microphone"], delivery="mixed") == "bad_value"


def test_a_stream_has_eight_kinds_of_buffers(stage: Stage) -> None:
    bob = stage.join("bob")
    voice = Voice(bob, Packets(PACKETS))
    ann = stage.join("ann")
    others = [stage.join("cid") for _ in range(9)]
    codes = []
    for number, other in enumerate(others):
        try:
            other.ask("subscribe", streams=[voice.stream], delivery="paced", delay=100 + number)
            codes.append("ok")
        except Exception as refused:
            codes.append(refused.code)
    # The bound is each loop's.
    if measure(stage.relay, "segue_loop_iterations_total", "1") == 0:
        assert codes == ["ok"] * 8 + ["deliveries_max"]
    else:
        assert "ok" in codes and set(codes) <= {"ok", "deliveries_max"}
    ann.ask("subscribe", streams=[voice.stream])


def test_a_flood_and_wild_timestamps_harm_nobody_else(stage: Stage) -> None:
    bob, ann, cid = stage.join("bob"), stage.join("ann"), stage.join("cid")
    voice, wild = Voice(bob, Packets(PACKETS)), Voice(cid, Packets(PACKETS))
    ann.ask("subscribe", all=True, delivery="paced", delay=PATIENT)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 10)
        for place in range(3000):
            wild.send()
            wild.timestamp = (wild.timestamp * 2654435761 + place) & 0xFFFF_FFFF
            if place % 50 == 0:
                ann.drain(0.01)
        cid.barrier()
        ann.frames.clear()
        frames = wait_frames(ann, voice.stream, 30)
    assert set(steps(frames)) == {(1, 960)}


def test_the_accounts_are_whole(stage: Stage) -> None:
    """Behind everything that these tests did."""
    assert measure(stage.relay, "segue_frames_unaccounted") == 0
    assert measure(stage.relay, "segue_audio_frames_released_total") > 0
