"""Routes, formats and single streams of audio sessions (protocol §3.19, "Routes", "Streams")."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from support.admin import ADMIN
from support.audio import DISCONTINUITY, Stage, Talker, hears, media, refused, restarts, silent, state
from support.authority import Authority
from support.relay import Relay
from support.session import KEY

# Older groups are of the past.
GROUP_MILLISECONDS_MAX = 1500

SPEAKER = {"inputs": [{"type": "builtInMic"}], "outputs": [{"type": "builtInSpeaker", "name": "Ann's", "sampleRate": 48000, "channels": 2, "latency": 0.01}]}
HANDS_FREE = {"inputs": [{"type": "bluetoothHFP"}], "outputs": [{"type": "bluetoothHFP", "name": "Ann's headset", "sampleRate": 16000, "channels": 1}]}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict:
    return {name: authority.issue(name) for name in ("ann", "bob", "cid", "operator")}


@pytest.fixture(scope="module", params=[("1.1", 1), ("1.1", 3), ("2", 3)], ids=lambda param: f"http{param[0]}-{param[1]}loops")
def server(request: pytest.FixtureRequest, start_relay: Callable[..., Relay], authority: Authority, identities: dict) -> tuple[Relay, str]:
    http, loops = request.param
    config = authority.configuration(authority.issue_server()) | {
        "limits": {"audioDeadlineMilliseconds": 1500, "videoDeadlineMilliseconds": GROUP_MILLISECONDS_MAX}
    }
    config["policy"] = {
        "access": [{"identities": ["*"], "rooms": ["*"], "roles": ["speaker"]}],
        "admins": [ADMIN],
    }
    relay = start_relay(f"routes-{http}-{loops}", loops=loops, config=config, authority=authority.certificate, identity=identities["operator"])
    return relay, http


@pytest.fixture
def stage(server: tuple[Relay, str], authority: Authority, identities: dict) -> Iterator[Stage]:
    relay, http = server
    stage = Stage(relay, authority, identities, http)
    yield stage
    stage.close()
    relay.assert_healthy()


# Routes


@pytest.mark.parametrize("reason", [0, 1, 3, 4, 8, 5, 9, 255, -1])
def test_reasons_that_stop_nothing(stage: Stage, reason: int) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"))
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    answer = ann.ask("route.changed", reason=reason, route=SPEAKER)
    assert state(answer) == "active"
    assert answer.get("warnings") == (["unknown_reason"] if reason in (5, 9, 255, -1) else None)
    assert answer["session"]["format"] == {"sampleRate": 48000, "channels": 2, "bandwidth": "fullband", "latency": 0.01}
    hears(ann, talker)


def test_a_pulled_headset_pauses_the_downlink_alone(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker, own = Talker(bob), Talker(ann)
    for session in (ann, bob):
        session.ask("subscribe", all=True)
    talker.warm_up(ann)
    own.warm_up(bob)
    assert ann.ask("route.changed", reason=2, route=SPEAKER)["session"]["paused"] is True
    silent(ann, talker)
    own.say(bob)
    ann.ask("playback.continue")
    restarts(ann, talker)


def test_a_pulled_headset_without_another_input_stops_the_uplink(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    own = Talker(ann)
    bob.ask("subscribe", all=True)
    own.warm_up(bob)
    ann.ask("route.changed", reason=2, route={"inputs": [], "outputs": [{"type": "builtInSpeaker"}]})
    silent(bob, own)
    ann.ask("route.changed", reason=1, route=SPEAKER)
    assert hears(bob, own)[-1].flags & DISCONTINUITY


def test_waking_starts_afresh(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"), video=True)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.frame(talker.show(key=True))
    talker.session.events.clear()
    ann.frames.clear()
    assert state(ann.ask("route.changed", reason=6)) == "active"
    talker.session.event("keyframe.requested", stream=talker.video)
    talker.show()
    key = talker.show(key=True)
    ann.frame(key)
    frames = hears(ann, talker)
    assert [frame.payload for frame in media(ann.frames, talker.video)] == [key]
    assert frames[-1].flags & DISCONTINUITY and media(ann.frames, talker.video)[0].flags & (DISCONTINUITY | KEY) == DISCONTINUITY | KEY


def test_no_suitable_route_holds_until_there_is_one(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    assert state(ann.ask("route.changed", reason=7)) == "interrupted"
    bob.event("participant.held", participant=ann.participant, held=True)
    silent(ann, talker)
    assert state(ann.ask("route.changed", reason=8, route=SPEAKER)) == "active"
    bob.event("participant.held", participant=ann.participant, held=False)
    hears(ann, talker)
    assert "stream.ended" not in bob.news(), "a change of route never loses the session"


@pytest.mark.parametrize(
    "legacy, outputs",
    [
        ("Headset", ["headset"]),
        ("Headphone", ["headphones"]),
        ("Speaker", ["builtInSpeaker"]),
        ("SpeakerAndMicrophone", ["builtInSpeaker"]),
        ("HeadphonesAndMicrophone", ["headphones"]),
        ("HeadsetInOut", ["headset"]),
        ("ReceiverAndMicrophone", ["builtInReceiver"]),
        ("Lineout", ["lineOut"]),
        ("", []),
    ],
)
def test_routes_of_old_systems(stage: Stage, legacy: str, outputs: list[str]) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    answer = ann.ask("route.changed", reason=8, legacyRoute=legacy)
    assert ("format" in answer["session"]) == bool(outputs)
    event = bob.event("participant.route", participant=ann.participant)
    assert [port["type"] for port in event["outputs"]] == outputs


@pytest.mark.parametrize("shares", [False, True])
def test_names_are_private_unless_shared(stage: Stage, shares: bool) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    ann.ask("route.changed", reason=1, route=HANDS_FREE, sharesNames=shares)
    event = bob.event("participant.route", participant=ann.participant)
    assert event["outputs"] == [{"type": "bluetoothHFP"} | ({"name": "Ann's headset"} if shares else {})]
    late = stage.open("cid").ask("join", room=stage.room)["participants"]
    assert next(each for each in late if each["participant"] == ann.participant)["route"]["outputs"] == event["outputs"]


@pytest.mark.hostile
@pytest.mark.parametrize(
    "members",
    [
        {"reason": "unplugged"},
        {},
        {"reason": 1, "route": {"inputs": [], "outputs": [{"type": "gramophone"}]}},
        {"reason": 1, "route": {"inputs": []}},
        {"reason": 1, "route": {"inputs": [{"type": "builtInMic"}] * 17, "outputs": []}},
        {"reason": 1, "route": {"inputs": [], "outputs": [{"type": "headset", "name": "x" * 129}]}},
        {"reason": 1, "route": {"inputs": [], "outputs": [{"type": "headset", "sampleRate": 0}]}},
        {"reason": 1, "route": {"inputs": [], "outputs": [{"type": "headset", "sampleRate": 1e300}]}},
        {"reason": 1, "route": {"inputs": [], "outputs": [{"type": "headset", "channels": 65}]}},
        {"reason": 1, "route": {"inputs": [], "outputs": [{"type": "headset", "latency": -1}]}},
        {"reason": 1, "legacyRoute": "Gramophone"},
        {"reason": 1, "legacyRoute": "Speaker", "route": SPEAKER},
        {"reason": 1 << 70},
        {"reason": 1, "sharesNames": "yes"},
    ],
)
def test_hostile_routes(stage: Stage, members: dict) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    assert refused(ann, "route.changed", **members).code in ("bad_value", "malformed")
    assert state(ann.ask("playback.continue")) == "active"
    assert "participant.route" not in bob.news()


def test_hands_free_brings_the_format_down_and_back(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    answer = ann.ask("route.changed", reason=4, route=HANDS_FREE)
    assert answer["session"]["format"] == {"sampleRate": 16000, "channels": 1, "bandwidth": "wideband"}
    assert bob.event("format.wanted") == {"type": "format.wanted", "stream": talker.audio, "channels": 1, "bandwidth": "wideband"}
    cid = stage.join("cid")
    cid.ask("subscribe", all=True)
    assert bob.event("format.wanted")["bandwidth"] == "fullband", "somebody hears more"
    cid.ask("unsubscribe", all=True)
    assert bob.event("format.wanted")["bandwidth"] == "wideband"
    ann.ask("route.changed", reason=4, route=SPEAKER)
    assert bob.event("format.wanted") == {"type": "format.wanted", "stream": talker.audio, "channels": 2, "bandwidth": "fullband"}
    hears(ann, talker)


# Single streams


def test_a_stream_is_paused_and_goes_on(stage: Stage) -> None:
    ann = stage.phone()
    one, two = Talker(stage.join("bob")), Talker(stage.join("cid"))
    ann.ask("subscribe", all=True)
    one.warm_up(ann)
    two.warm_up(ann)
    answer = ann.ask("stream.pause", stream=one.audio)
    assert (answer["playback"]["state"], answer["playback"]["rate"]) == ("paused", 0)
    event = ann.event("stream.state", stream=one.audio)
    assert event["state"] == "paused" and event["rate"] == 0
    silent(ann, one)
    hears(ann, two)
    started = ann.ask("stream.start", stream=one.audio)["playback"]
    assert (started["state"], started["rate"], started["elapsed"]) == ("waiting", 0, event["elapsed"]), "nothing has come yet"
    restarts(ann, one)
    assert ann.event("stream.state", stream=one.audio, state="playing")["rate"] == 1


def test_elapsed_is_what_was_sent_on(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.drain(0.7)
    # Nothing has come for half a second, and nothing has played since anybody asked.
    silence = ann.ask("stream.start", stream=talker.audio)["playback"]
    assert (silence["state"], silence["rate"], silence["elapsed"]) == ("waiting", 0, 0)
    ann.drain(0.3)
    assert ann.ask("stream.start", stream=talker.audio)["playback"] == silence, "nothing has changed, so it says the same"
    for _ in range(10):
        talker.say(ann)
    playing = ann.event("stream.state", stream=talker.audio, state="playing")
    assert playing["rate"] == 1 and playing["elapsed"] <= 0.2 + 1e-9
    for _ in range(10):
        talker.say(ann)
    paused = ann.ask("stream.pause", stream=talker.audio)["playback"]
    assert (paused["state"], paused["rate"], round(paused["elapsed"], 6)) == ("paused", 0, 0.4), "twenty frames of 20 ms"
    ann.drain(0.3)
    assert ann.ask("stream.pause", stream=talker.audio)["playback"] == paused


def test_a_starved_stream_waits(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.ask("stream.reset", stream=talker.audio)
    hears(ann, talker)
    ann.event("stream.state", stream=talker.audio, state="waiting")
    hears(ann, talker)
    ann.event("stream.state", stream=talker.audio, state="playing")
    ann.ask("interruption.began")
    assert ann.event("stream.state", stream=talker.audio, state="waiting")["rate"] == 0


@pytest.mark.parametrize("mode", [None, "immediate", "drain"])
def test_a_stream_is_stopped(stage: Stage, mode: str | None) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"))
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.ask("stream.stop", stream=talker.audio, **({"mode": mode} if mode else {}))
    ann.event("stream.state", state="stopped")
    silent(ann, talker)
    ann.ask("stream.start", stream=talker.audio)
    hears(ann, talker)


def test_flush_and_reset_begin_afresh(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"))
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    for kind in ("stream.flush", "stream.reset"):
        assert ann.ask(kind, stream=talker.audio)["playback"]["state"] in ("playing", "waiting")
        restarts(ann, talker)


def test_a_stream_starts_at_a_media_time(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"))
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    following = talker.session.sequences[talker.audio]
    waiting = ann.ask("stream.start", stream=talker.audio, at=(following + 3) * 960)["playback"]
    assert (waiting["state"], waiting["rate"]) == ("waiting", 0)
    for _ in range(3):
        talker.say(heard=False)
    ann.barrier()
    spoken = talker.say(ann)
    assert [frame.payload for frame in media(ann.frames)] == [spoken]
    assert media(ann.frames)[0].flags & DISCONTINUITY


def test_priming_says_what_there_is(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"), video=True)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    assert ann.ask("stream.prime", stream=talker.audio)["primed"] == {"frames": 0, "milliseconds": 0}
    ann.ask("stream.stop", stream=talker.video)
    nothing = ann.ask("stream.prime", stream=talker.video)
    assert nothing["primed"] == {"frames": 0, "milliseconds": 0} and nothing["playback"]["state"] == "paused"
    talker.session.event("keyframe.requested", stream=talker.video)
    ann.ask("stream.stop", stream=talker.video)
    shown = [talker.show(key=place == 0) for place in range(6)]
    talker.session.barrier()
    ready = ann.ask("stream.prime", stream=talker.video)
    assert ready["primed"]["frames"] == 6 and ready["playback"]["state"] == "paused"
    assert 0 <= ready["primed"]["milliseconds"] <= GROUP_MILLISECONDS_MAX
    silent_until = len(ann.frames)
    ann.ask("stream.start", stream=talker.video)
    ann.frame(shown[-1])
    frames = media(ann.frames[silent_until:], talker.video)
    assert [frame.payload for frame in frames] == shown and frames[0].flags & KEY and frames[0].flags & DISCONTINUITY


def test_a_started_stream_shows_the_cached_key_frame(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"), video=True)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.ask("stream.stop", stream=talker.video)
    talker.show(key=True)
    talker.session.barrier()
    ann.drain(0.05)
    seen = [talker.show(key=place == 0) for place in range(6)]
    talker.session.barrier()
    ann.ask("stream.start", stream=talker.video)
    ann.frame(seen[-1])
    frames = media(ann.frames, talker.video)
    assert [frame.payload for frame in frames] == seen and frames[0].flags & KEY and frames[0].flags & DISCONTINUITY


def test_what_was_seen_before_a_stop_is_not_shown_again(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"), video=True)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.frame(talker.show(key=True))
    ann.ask("stream.stop", stream=talker.video)
    assert ann.ask("stream.prime", stream=talker.video)["primed"]["frames"] == 0
    ann.frames.clear()
    ann.ask("stream.start", stream=talker.video)
    ann.drain(0.15)
    assert media(ann.frames, talker.video) == []
    ann.frame(talker.show(key=True))


def test_a_stream_that_starts_far_ahead_asks_for_few_key_frames(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker = Talker(bob, video=True)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.frame(talker.show(key=True))
    bob.news()
    ann.frames.clear()
    ann.ask("stream.start", stream=talker.video, at=1 << 30)
    requests = 0
    for _ in range(25):
        # The publisher does as it is asked.
        asked = bob.news().count("keyframe.requested")
        requests += asked
        talker.show(key=asked > 0)
        bob.drain(0.1)
    assert requests <= 2, "its time has not come"
    assert media(ann.frames, talker.video) == []


def test_the_room_sees_what_a_session_is_for(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    assert "participant.mode" not in bob.news()
    ann.ask("session.init")
    shown = {"type": "participant.mode", "participant": ann.participant}
    assert bob.event("participant.mode") == shown | {"category": "playAndRecord", "mode": "default"}
    ann.ask("session.setCategory", category="playAndRecord", mode="measurement")
    assert bob.event("participant.mode") == shown | {"category": "playAndRecord", "mode": "measurement"}
    ann.ask("session.setCategory", category="playAndRecord", mode="measurement")
    ann.ask("session.setActive", active=True)
    assert "participant.mode" not in bob.news(), "on change only"
    entry = next(entry for entry in stage.open("cid").ask("join", room=stage.room)["participants"] if entry["participant"] == ann.participant)
    assert (entry["category"], entry["mode"]) == ("playAndRecord", "measurement")
    assert "participant.mode" not in ann.news(), "it knows"


@pytest.mark.hostile
def test_parameters_are_kept_and_answered(stage: Stage) -> None:
    ann = stage.phone()
    talker = Talker(stage.join("bob"))
    ann.ask("subscribe", all=True)
    assert ann.ask("stream.setParameters", stream=talker.audio, volume=0.5, rampMilliseconds=20)["parameters"] == {
        "stream": talker.audio, "volume": 0.5, "rate": 1, "pan": 0,
    }  # fmt: skip
    assert ann.ask("stream.setParameters", stream=talker.audio, pan=-1)["parameters"]["volume"] == 0.5
    for wrong in ({"volume": 1.1}, {"volume": -1}, {"rate": 0.4}, {"rate": 3}, {"pan": 2}, {"rampMilliseconds": -1}, {"volume": "loud"}):
        assert refused(ann, "stream.setParameters", stream=talker.audio, **wrong).code in ("bad_value", "malformed")


@pytest.mark.hostile
def test_what_streams_refuse(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()
    talker = Talker(bob)
    for kind in ("start", "prime", "pause", "stop", "flush", "reset", "setParameters"):
        assert refused(ann, f"stream.{kind}", stream=talker.audio).code == "unknown_stream"
        assert refused(ann, f"stream.{kind}", stream=4_000_000_000).code == "unknown_stream"
        assert refused(ann, f"stream.{kind}", stream=-1).code == "malformed"
    assert refused(ann, "stream.stop", stream=talker.audio, mode="gently").code == "malformed"
    ann.ask("subscribe", all=True)
    ann.ask("interruption.began")
    assert refused(ann, "stream.start", stream=talker.audio).code == "cannot_start_playing"
    assert ann.ask("stream.pause", stream=talker.audio)["playback"]["state"] == "paused"
    ann.ask("interruption.ended", shouldResume=True)
    silent(ann, talker)
    ann.ask("leave")
    assert refused(ann, "stream.pause", stream=talker.audio).code == "not_in_room"


# Administration


def test_administrators_see_who_is_held(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone()

    def listed() -> dict:
        status, _, body = stage.relay.get(f"/v1/rooms/{stage.room}/participants")
        assert status == 200
        return {entry["participant"]: (entry["interrupted"], entry["held"]) for entry in json.loads(body)["participants"]}

    assert listed() == {bob.participant: (False, False), ann.participant: (False, False)}
    ann.ask("interruption.began")
    bob.event("participant.held", held=True)
    assert listed() == {bob.participant: (False, False), ann.participant: (True, True)}
    ann.ask("interruption.ended", shouldResume=False)
    bob.event("participant.interrupted", interrupted=False)
    assert listed()[ann.participant] == (False, True)


def test_administrators_see_audio_sessions(stage: Stage) -> None:
    ann = stage.phone()
    ann.ask("route.changed", reason=1, route=HANDS_FREE)
    ann.ask("interruption.began", reason="builtInMicMuted")
    status, _, body = stage.relay.get(f"/v1/sessions/{ann.welcome['session']}")
    assert status == 200
    shown = json.loads(body)["audioSession"]
    assert shown == {
        "state": "interrupted", "category": "playAndRecord", "mode": "default", "options": 0, "paused": False, "held": True,
        "interruption": {"reason": "builtInMicMuted", "own": True}, "route": {"inputs": ["bluetoothHFP"], "outputs": ["bluetoothHFP"]},
    }  # fmt: skip
