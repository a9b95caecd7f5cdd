"""Mixed delivery (protocol §6.5): one stream with all audio of a room but one's own, at the level of frames and of what libopus makes of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import pytest
from support.admin import ADMIN
from support.audio import Stage
from support.authority import Authority
from support.heard import opus_bandwidth, opus_is_stereo
from support.metrics import measure
from support.relay import Relay
from support.session import CONFIGURATION, ENCRYPTED, Session
from support.sound import (
    DISCONTINUITY,
    MIX,
    Packets,
    Speaking,
    Voice,
    frames_of,
    opus_head,
    silence_packets,
    steps,
    timestamp,
    tone_level,
    tone_packets,
    wait_frames,
)

HANDS_FREE = {"inputs": [{"type": "bluetoothHFP"}], "outputs": [{"type": "bluetoothHFP", "name": "Ann's headset", "sampleRate": 8000, "channels": 1}]}
LOW, MIDDLE, HIGH = (tone_packets(hertz) for hertz in (400, 1000, 2000))
SILENCE = silence_packets()
# Two seconds: buffers have filled, whoever begins is heard.
SETTLED = 60
QUIET = -60


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict:
    return {name: authority.issue(name) for name in ("ann", "bob", "cid", "dan", "operator")}


@pytest.fixture(scope="module", params=[("1.1", 1), ("1.1", 3), ("2", 3)], ids=lambda param: f"http{param[0]}-{param[1]}loops")
def server(request: pytest.FixtureRequest, start_relay: Callable[..., Relay], authority: Authority, identities: dict) -> tuple[Relay, str]:
    http, loops = request.param
    # A busy machine's clients read late: what they are sent must not expire meanwhile.
    config = authority.configuration(authority.issue_server()) | {"limits": {"audioDeadlineMilliseconds": 10_000, "mixStreamsMax": 6}}
    config["policy"] = {"access": [{"identities": ["*"], "rooms": ["*"], "roles": ["host"]}], "admins": [ADMIN]}
    relay = start_relay(f"mixed-{http}-{loops}", loops=loops, config=config, authority=authority.certificate, identity=identities["operator"])
    return relay, http


@pytest.fixture
def stage(server: tuple[Relay, str], authority: Authority, identities: dict) -> Iterator[Stage]:
    relay, http = server
    stage = Room(relay, authority, identities, http)
    yield stage
    stage.close()
    relay.assert_healthy()


def until(session: Session, what: str, holds, seconds: float = 40):
    """Receives until that is so, and answers what it is. What comes is judged now and then: a busy machine would fall behind over judging each frame."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        session.drain(0.25)
        if result := holds():
            return result
    raise AssertionError(f"no {what} within {seconds} s; events: {session.events[-5:]}, frames: {len(session.frames)}")


class Room(Stage):
    """Who speaks does so from a thread of its own, which the HTTP/2 client here cannot do: over HTTP/2 it is dan and cid who only listen."""

    def open(self, name: str, relay: Relay | None = None, *, http: str | None = None, **options) -> Session:
        return super().open(name, relay, http=http or (self.http if name in ("cid", "dan") else "1.1"), **options)


def mixes(session: Session, **members) -> dict:
    answer = session.ask("subscribe", all=True, delivery="mixed", **members)
    channels = members.get("channels", 1)
    assert answer["mix"] == {"stream": MIX, "codec": "opus", "sampleRate": 48000, "channels": channels, "frameMilliseconds": 20}
    return answer


def more(session: Session, count: int) -> list:
    """The next frames of the mix, after those that were there."""
    place = len(frames_of(session, MIX))
    return wait_frames(session, MIX, place + count)[place:]


def is_whole(frames: list) -> bool:
    """Ticks that a busy machine left out are gaps of sequence and timestamp together: nothing is double, nothing goes back."""
    return all(1 <= sequence < 1000 and time == sequence * 960 for sequence, time in steps(frames))


def test_everybody_hears_everybody_but_himself(stage: Stage) -> None:
    ann, bob, cid = (stage.join(name) for name in ("ann", "bob", "cid"))
    voices = [Voice(ann, LOW), Voice(bob, HIGH)]
    for session in (ann, bob, cid):
        mixes(session)
    with Speaking(*voices):
        heard = {}
        for session in (ann, bob, cid):
            more(session, SETTLED)
            heard[session] = more(session, 50)
    for session in (ann, bob, cid):
        assert is_whole(frames_of(session, MIX)), steps(frames_of(session, MIX))
        assert session.frames[0].kind == CONFIGURATION and session.frames[0].payload == opus_head()
        assert {frame.stream for frame in session.frames} == {MIX}
    assert tone_level(heard[cid], 400) > -16 and tone_level(heard[cid], 2000) > -16
    assert tone_level(heard[ann], 2000) > -16 and tone_level(heard[ann], 400) < tone_level(heard[cid], 400) - 60
    assert tone_level(heard[bob], 400) > -16 and tone_level(heard[bob], 2000) < tone_level(heard[cid], 2000) - 60


def test_who_begins_to_speak_changes_its_slot_without_a_gap(stage: Stage) -> None:
    ann, bob, cid = (stage.join(name) for name in ("ann", "bob", "cid"))
    bobs, anns = Voice(bob, HIGH), Voice(ann, SILENCE)
    for session in (ann, cid):
        mixes(session)
    with Speaking(bobs, anns):
        more(ann, SETTLED)
        for _ in range(3):
            anns.packets = LOW
            until(cid, "ann in the mix", lambda: tone_level(frames_of(cid, MIX)[-15:], 400) > -20 or None)
            more(ann, 40)
            anns.packets = SILENCE
            until(cid, "ann's silence", lambda: tone_level(frames_of(cid, MIX)[-15:], 400) < -40 or None)
            more(ann, 40)
    frames = frames_of(ann, MIX)
    assert is_whole(frames), steps(frames)
    # A window in which bob's own thread was late is concealed: most are not.
    levels = sorted(tone_level(frames[start : start + 50], 2000) for start in range(SETTLED, len(frames) - 50, 50))
    assert levels[len(levels) // 2] > -16, levels
    assert tone_level(frames[SETTLED:], 400) < QUIET
    assert measure(stage.relay, "segue_frames_unaccounted") == 0


def test_a_mix_is_joined_in_the_middle_and_left(stage: Stage) -> None:
    ann, bob, cid = (stage.join(name) for name in ("ann", "bob", "cid"))
    voice = Voice(bob, LOW)
    mixes(ann)
    with Speaking(voice):
        more(ann, SETTLED)
        mixes(cid)
        frames = more(cid, SETTLED)
        assert cid.frames[0].kind == CONFIGURATION
        assert tone_level(frames[10:], 400) > -16
        cid.ask("unsubscribe", all=True)
        cid.frames.clear()
        cid.drain(0.3)
        assert cid.frames == []
        ann.ask("subscribe", all=True, delivery="live")
        ann.barrier()
        ann.frames.clear()
        wait_frames(ann, voice.stream, 10)
        assert frames_of(ann, MIX) == []


def test_live_streams_give_way_to_the_mix(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.join("bob")
    voice, picture = Voice(bob, LOW), bob.publish("video")
    ann.ask("subscribe", all=True)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 5)
        assert mixes(ann)["subscribed"] == [picture]
        ann.frames.clear()
        more(ann, 20)
        assert frames_of(ann, voice.stream) == []
        bob.media("video", picture, b"key", 1)
        ann.frame(b"key")
        late = Voice(bob, HIGH)
        ann.event("stream.published", stream=late.stream)
        with Speaking(late):
            until(ann, "the new voice in the mix", lambda: tone_level(frames_of(ann, MIX)[-20:], 2000) > -20 or None)
        assert frames_of(ann, late.stream) == []


def test_the_mix_takes_the_place_of_what_was_subscribed_to_beside_it(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.join("bob")
    voice = Voice(bob, LOW)
    mixes(ann)
    ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=100)
    with Speaking(voice):
        wait_frames(ann, voice.stream, 5)
        mixes(ann)
        ann.barrier()
        ann.drain(0.3)
        ann.frames.clear()
        more(ann, 40)
    assert frames_of(ann, voice.stream) == []


def test_a_stream_that_ends_falls_silent(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.join("bob")
    voice, other = Voice(bob, LOW), Voice(bob, HIGH)
    mixes(ann)
    with Speaking(other):
        with Speaking(voice):
            until(ann, "both", lambda: tone_level(frames_of(ann, MIX)[-20:], 400) > -20 or None)
        bob.ask("unpublish", stream=voice.stream)
        until(ann, "silence", lambda: tone_level(frames_of(ann, MIX)[-20:], 400) < QUIET or None)
        assert tone_level(frames_of(ann, MIX)[-20:], 2000) > -20
        # One after the other, as fast as can be.
        for _ in range(20):
            bob.ask("unpublish", stream=Voice(bob, LOW).stream)
        frames = more(ann, 50)
    assert is_whole(frames)


def test_who_is_held_or_muted_is_not_heard(stage: Stage) -> None:
    ann, cid, bob = stage.join("ann"), stage.join("cid"), stage.phone("bob")
    voice = Voice(bob, LOW)
    mixes(ann)

    def is_heard() -> bool | None:
        return tone_level(frames_of(ann, MIX)[-20:], 400) > -20 or None

    def is_silent() -> bool | None:
        return tone_level(frames_of(ann, MIX)[-20:], 400) < QUIET or None

    with Speaking(voice):
        until(ann, "bob", is_heard)
        bob.ask("interruption.began", reason="default")
    # Who goes on sending is taken to have missed the end of it.
    until(ann, "a held bob's silence", is_silent)
    bob.ask("interruption.ended", shouldResume=True)
    with Speaking(voice):
        until(ann, "bob again", is_heard)
        cid.ask("mute", participant=bob.participant, muted=True, kinds=["audio"])
        until(ann, "a muted bob's silence", is_silent)
        cid.ask("mute", participant=bob.participant, muted=False, kinds=["audio"])
        until(ann, "bob again", is_heard)
    assert is_whole(frames_of(ann, MIX))


def test_a_held_listener_gets_nothing_and_then_the_live_edge(stage: Stage) -> None:
    ann, bob = stage.phone("ann"), stage.join("bob")
    voice = Voice(bob, LOW)
    mixes(ann)
    with Speaking(voice):
        more(ann, SETTLED)
        ann.ask("interruption.began", reason="default")
        ann.barrier()
        ann.frames.clear()
        ann.drain(0.3)
        assert ann.frames == []
        ann.ask("interruption.ended", shouldResume=True)
        frames = wait_frames(ann, MIX, 40)
    assert frames[0].flags & DISCONTINUITY and not any(frame.flags & DISCONTINUITY for frame in frames[1:])
    assert tone_level(frames[20:], 400) > -16


def test_an_encrypted_stream_is_told_of(stage: Stage) -> None:
    ann, bob, cid = (stage.join(name) for name in ("ann", "bob", "cid"))
    secret, open_voice = Voice(bob, LOW, flags=ENCRYPTED), Voice(bob, HIGH)
    mixes(ann)
    with Speaking(secret, open_voice):
        assert ann.event("stream.unmixed", stream=secret.stream)["reason"] == "encrypted"
        more(ann, SETTLED)
        # Who comes later hears of it as well.
        mixes(cid)
        assert cid.event("stream.unmixed", stream=secret.stream)["reason"] == "encrypted"
        frames = more(ann, 20)
        # It is to be had by itself.
        ann.ask("subscribe", streams=[secret.stream])
        wait_frames(ann, secret.stream, 5)
    assert tone_level(frames, 400) < QUIET and tone_level(frames, 2000) > -20


def test_what_the_relay_cannot_decode_and_what_is_too_much(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.join("bob")
    aac = Voice(bob, Packets([b"x"]), codec="aac", head=b"\x12\x10")
    many = [Voice(bob, LOW) for _ in range(7)]
    mixes(ann)
    assert ann.event("stream.unmixed", stream=aac.stream)["reason"] == "codec"
    assert ann.event("stream.unmixed", stream=many[6].stream)["reason"] == "limit"
    # One goes, one comes.
    bob.ask("unpublish", stream=many[0].stream)
    many[6].packets = HIGH
    with Speaking(many[6]):
        until(ann, "who had no place", lambda: len(frames_of(ann, MIX)) > 20 and tone_level(frames_of(ann, MIX)[-20:], 2000) > -20 or None)


def test_garbage_costs_only_itself(stage: Stage) -> None:
    ann, bob, cid = stage.join("dan"), stage.join("bob"), stage.join("ann")
    voice, garbage = Voice(bob, LOW), Voice(cid, Packets([bytes([place * 37 % 256]) * (place % 200) for place in range(256)]))
    long = Voice(cid, Packets([bytes([0x1B, 0x02]) + b"\x55" * 60]))
    mixes(ann)
    with Speaking(voice):
        more(ann, SETTLED)
        for place in range(1500):
            garbage.send()
            garbage.timestamp = (garbage.timestamp * 2654435761 + place) & 0xFFFF_FFFF
            if place % 10 == 0:
                long.send()
                ann.drain(0.005)
        cid.barrier()
        frames = more(ann, 50)
    assert is_whole(frames_of(ann, MIX))
    # The garbage may be loud; the voice is not gone.
    assert frames


def test_hands_free_and_two_channels(stage: Stage) -> None:
    ann, bob, cid = stage.phone("ann"), stage.join("bob"), stage.join("cid")
    voice = Voice(bob, HIGH)
    mixes(ann)
    mixes(cid, channels=2)
    with Speaking(voice):
        assert {opus_bandwidth(frame.payload) for frame in more(ann, SETTLED)[-10:] if len(frame.payload) > 3} == {"fullband"}
        ann.ask("route.changed", reason=1, route=HANDS_FREE)
        narrow = until(ann, "narrowband", lambda: {opus_bandwidth(frame.payload) for frame in frames_of(ann, MIX)[-10:] if len(frame.payload) > 3} == {"narrowband"} or None
        )
        ann.ask("route.changed", reason=2, route={"inputs": [{"type": "builtInMic"}], "outputs": [{"type": "builtInSpeaker"}]})
        ann.ask("playback.continue")
        wide = until(ann, "fullband", lambda: {opus_bandwidth(frame.payload) for frame in frames_of(ann, MIX)[-10:] if len(frame.payload) > 3} == {"fullband"} or None
        )
        assert narrow and wide
        stereo = more(cid, 40)
        assert any(opus_is_stereo(frame.payload) for frame in stereo)
        assert cid.frames[0].payload == opus_head(2)
        # The same client wants one channel now.
        mixes(cid, channels=1)
        until(cid, "a configuration of one channel", lambda: any(frame.payload == opus_head(1) for frame in cid.frames) or None)
    assert is_whole([frame for frame in frames_of(cid, MIX)])


def test_parameters_of_streams_in_the_mix(stage: Stage) -> None:
    ann, bob, cid = stage.phone("ann"), stage.join("bob"), stage.join("cid")
    low, high = Voice(bob, LOW), Voice(bob, HIGH)
    mixes(ann, channels=2)
    mixes(cid)
    with Speaking(low, high):
        more(ann, SETTLED)
        answer = ann.ask("stream.setParameters", stream=low.stream, volume=0.1, rampMilliseconds=40)
        assert math.isclose(answer["parameters"]["volume"], 0.1, rel_tol=1e-6) and answer["playback"]["stream"] == low.stream
        until(ann, "bob softer", lambda: -37 < tone_level(frames_of(ann, MIX)[-20:], 400, 2) < -30 or None)
        assert tone_level(frames_of(ann, MIX)[-20:], 2000, 2) > -16
        more(cid, 30)
        assert tone_level(frames_of(cid, MIX)[-20:], 400) > -16, "one's own parameters are nobody else's"
        ann.ask("stream.setParameters", stream=high.stream, pan=1)
        until(ann, "the other at the right", lambda: tone_level(frames_of(ann, MIX)[-20:], 2000, 2, 0) < -40 or None)
        assert tone_level(frames_of(ann, MIX)[-20:], 2000, 2, 1) > -16
        ann.ask("stream.setParameters", stream=MIX, volume=0)
        until(ann, "nothing", lambda: tone_level(frames_of(ann, MIX)[-20:], 2000, 2, 1) < QUIET or None)
        ann.ask("stream.setParameters", stream=MIX, volume=1)
        ann.ask("stream.setParameters", stream=low.stream, volume=1)
        ann.ask("stream.setParameters", stream=high.stream, pan=0)
        until(ann, "all of it", lambda: tone_level(frames_of(ann, MIX)[-20:], 400, 2) > -16 or None)
        assert ann.refusal("stream.setParameters", stream=4711, volume=1) == "unknown_stream"
    assert is_whole(frames_of(ann, MIX))


def test_a_parameter_takes_effect_with_its_frame(stage: Stage) -> None:
    """Audio-session §6: parameters per frame, when that frame plays. The frame from which on bob is not heard is the one with which his tone changes."""
    ann, bob = stage.phone("ann"), stage.join("bob")
    changes, back = 400, 600
    tones = [(LOW if place < changes else HIGH if place < back else MIDDLE)[place] for place in range(1500)]
    voice = Voice(bob, Packets(tones))
    mixes(ann)
    with Speaking(voice):
        more(ann, SETTLED)
        for place, volume in ((changes, 0), (back, 1)):
            answer = ann.ask("stream.setParameters", stream=voice.stream, volume=volume, at=place * 960)
            assert answer["parameters"]["at"] == place * 960
        until(ann, "the third tone", lambda: tone_level(frames_of(ann, MIX)[-20:], 1000) > -16 or None)
    frames = frames_of(ann, MIX)
    windows = [frames[start : start + 30] for start in range(0, len(frames) - 30, 10)]
    assert max(tone_level(window, 400) for window in windows) > -16
    assert max(tone_level(window, 2000) for window in windows) < -30
    assert is_whole(frames)


def test_the_relay_ducks_the_mix(stage: Stage) -> None:
    """Another device of the identity plays, and asks others to be soft meanwhile."""
    ann, bob = stage.phone("ann", device="phone", category="ambient"), stage.join("bob")
    voice = Voice(bob, LOW)
    mixes(ann)
    with Speaking(voice):
        more(ann, SETTLED)
        loud = tone_level(more(ann, 20), 400)
        other = stage.join("ann", hello={"device": "navigation"})
        other.ask("session.init")
        other.ask("session.setCategory", category="playback", options=0x2)
        other.ask("session.setActive", active=True)
        gain = ann.event("duck.began")["gainDecibels"]
        until(ann, "a softer mix", lambda: abs(tone_level(frames_of(ann, MIX)[-20:], 400) - loud - gain) < 1.5 or None)
        other.ask("session.setActive", active=False)
        ann.event("duck.ended")
        until(ann, "the mix as it was", lambda: abs(tone_level(frames_of(ann, MIX)[-20:], 400) - loud) < 1 or None)
    assert is_whole(frames_of(ann, MIX))


def test_a_parked_listener_goes_on(stage: Stage) -> None:
    ann, bob = stage.join("ann"), stage.join("bob")
    voice = Voice(bob, LOW)
    mixes(ann)
    with Speaking(voice):
        had = more(ann, SETTLED)[-1]
        ann.transport.cut()
        received = [{"stream": MIX, "sequence": had.sequence, "timestamp": timestamp(had)}]
        again = stage.open("ann", hello={"resume": {"token": ann.welcome["resumeToken"], "received": received}})
        resumed = again.welcome["resumed"]
        assert resumed["mix"]["stream"] == MIX and MIX in resumed["subscribed"]
        frames = wait_frames(again, MIX, 40)
    gap = sum(entry["frames"] for entry in resumed["gaps"])
    assert frames[0].sequence == (had.sequence + 1 + gap) & 0xFFFF_FFFF and is_whole(frames)
    assert measure(stage.relay, "segue_frames_unaccounted") == 0


def test_a_room_of_listeners_costs_one_encode_a_tick(stage: Stage) -> None:
    bob = stage.join("bob")
    voice = Voice(bob, LOW)
    listeners = [stage.join(("ann", "cid", "dan")[number % 3]) for number in range(9)]
    for listener in listeners:
        mixes(listener)
    with Speaking(voice):
        for listener in listeners:
            more(listener, 10)
        encodes, ticks = (measure(stage.relay, f"segue_audio_{what}_total") for what in ("encodes", "ticks"))
        more(listeners[0], 150)
        encodes, ticks = (measure(stage.relay, f"segue_audio_{what}_total") - before for what, before in (("encodes", encodes), ("ticks", ticks)))
    assert ticks >= 50 and encodes <= 1.2 * ticks, (encodes, ticks)


def test_nothing_is_left(stage: Stage) -> None:
    """Behind everything that these tests did: rooms, mixes and buffers go with their last member, and the accounts are whole."""
    ann = stage.join("ann")
    until(ann, "an empty board", lambda: ann.drain(0.3) or (measure(stage.relay, "segue_audio_mixes") == 0 or None))
    assert measure(stage.relay, "segue_audio_buffers") == 0
    assert measure(stage.relay, "segue_frames_unaccounted") == 0
    for name in ("ticks", "encodes", "deadline_misses", "ticks_shed", "frames_received", "busy_seconds"):
        print(name, measure(stage.relay, f"segue_audio_{name}_total"))
