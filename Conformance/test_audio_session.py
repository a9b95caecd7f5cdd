"""Audio sessions (protocol §3.19): rights by category, the client's own interruptions, arbitration between devices of one identity."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from support import metrics
from support.audio import DISCONTINUITY, STATUS, Stage, Talker, hears, media, refused, restarts, silent, state
from support.authority import Authority
from support.breakable import Breakable
from support.relay import Relay
from support.session import CONFIGURATION, KEY, VIDEO, Refused, Session
from support.stopwatch import Stopwatch

INTERRUPTION = 1.0
# Long enough for a machine that is busy with other things.
GRACE = 8.0


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict:
    return {name: authority.issue(name) for name in ("ann", "bob", "cid", "operator")}


@pytest.fixture(scope="module", params=[("1.1", 1), ("1.1", 3), ("2", 3)], ids=lambda param: f"http{param[0]}-{param[1]}loops")
def server(request: pytest.FixtureRequest, start_relay: Callable[..., Relay], authority: Authority, identities: dict) -> tuple[Relay, str]:
    http, loops = request.param
    limits = {"resumeMilliseconds": int(GRACE * 1000), "audioDeadlineMilliseconds": 1500}
    config = authority.configuration(authority.issue_server()) | {"limits": limits}
    relay = start_relay(f"audio-{http}-{loops}", loops=loops, config=config, authority=authority.certificate, identity=identities["operator"])
    return relay, http


@pytest.fixture
def stage(server: tuple[Relay, str], authority: Authority, identities: dict) -> Iterator[Stage]:
    relay, http = server
    stage = Stage(relay, authority, identities, http)
    yield stage
    stage.close()
    relay.assert_healthy()


@pytest.fixture(scope="module")
def hasty_server(start_relay: Callable[..., Relay], authority: Authority, identities: dict) -> Relay:
    """Whose clients' interruptions are taken for ended soon."""
    config = authority.configuration(authority.issue_server()) | {"limits": {"interruptionMillisecondsMax": int(INTERRUPTION * 1000)}}
    return start_relay("hasty", loops=2, config=config, authority=authority.certificate, identity=identities["operator"])


# Without a session, and the first steps


@pytest.mark.parametrize(
    "kind, members",
    [
        ("session.setCategory", {"category": "playback"}),
        ("session.setActive", {"active": True}),
        ("interruption.began", {}),
        ("interruption.ended", {}),
        ("route.changed", {"reason": 1}),
        ("playback.pause", {}),
        ("playback.continue", {}),
        ("stream.start", {"stream": 1}),
        ("stream.setParameters", {"stream": 1, "volume": 0.5}),
    ],
)
def test_any_verb_before_init_is_session_lost(stage: Stage, kind: str, members: dict) -> None:
    session = stage.join("ann")
    number = session.send(kind, **members)
    answer = session.wait("answer", lambda: session.answers.get(number))
    assert (answer["code"], answer["fourCharCode"], answer["status"]) == ("session_lost", "!ini", STATUS["!ini"])


def test_who_has_no_audio_session_is_not_restricted(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    stage.phone("ann")
    hears(ann, talker)
    assert not [kind for kind in ann.news() if kind.startswith(("interruption", "session", "duck"))]


def test_init_stops_media_until_activation(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.join("ann")
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    answer = ann.ask("session.init")
    assert answer["session"] == {"state": "inactive", "category": "playAndRecord", "mode": "default", "options": 0, "paused": False}
    silent(ann, talker)
    assert ann.ask("session.init")["warnings"] == ["already_initialised"]
    assert state(ann.ask("session.setActive", active=True)) == "active"
    restarts(ann, talker)
    assert "warnings" not in ann.ask("session.setActive", active=True)


@pytest.mark.parametrize(
    "category, code, publishes, subscribes",
    [
        ("ambient", "ambi", False, True),
        ("soloAmbient", "solo", False, True),
        ("playback", "medi", False, True),
        ("record", "reca", True, False),
        ("playAndRecord", "plar", True, True),
        ("audioProcessing", "proc", False, False),
        ("multiRoute", "mrut", True, True),
    ],
)
def test_a_category_says_what_one_may_do(stage: Stage, category: str, code: str, publishes: bool, subscribes: bool) -> None:
    talker = Talker(stage.join("bob"))
    ann = stage.join("ann")
    ann.ask("session.init")
    assert ann.ask("session.setCategory", category=code)["session"]["category"] == category
    assert ann.ask("session.setCategory", category=category)["session"]["category"] == category
    ann.ask("session.setActive", active=True)
    for kind, members, isAllowed in (("publish", {"kind": "audio", "codec": "opus"}, publishes), ("subscribe", {"streams": [talker.audio]}, subscribes)):
        if isAllowed:
            ann.ask(kind, **members)
        else:
            assert refused(ann, kind, **members).code == "category"


def test_media_needs_an_active_session(stage: Stage) -> None:
    talker = Talker(stage.join("bob"))
    ann = stage.join("ann")
    ann.ask("session.init")
    for kind, members, code, text in (
        ("publish", {"kind": "audio", "codec": "opus"}, "cannot_start_recording", "!rec"),
        ("subscribe", {"streams": [talker.audio]}, "cannot_start_playing", "!pla"),
    ):
        number = ann.send(kind, **members)
        answer = ann.wait("answer", lambda number=number: ann.answers.get(number))
        assert (answer["code"], answer["fourCharCode"], answer["status"], answer["retry"]) == (code, text, STATUS[text], True)
    ann.ask("session.setActive", active=True)
    ann.ask("subscribe", streams=[talker.audio])
    assert ann.publish("audio")


@pytest.mark.parametrize(
    "members",
    [
        {"category": "playback", "options": 8},
        {"category": "ambient", "options": 4},
        {"category": "playback", "mode": "voiceChat"},
        {"category": "record", "options": 2},
        {"category": "playAndRecord", "options": 16},
    ],
)
def test_an_illegal_combination_leaves_the_session_unchanged(stage: Stage, members: dict) -> None:
    ann = stage.join("ann")
    ann.ask("session.init")
    before = ann.ask("session.setCategory", category="playAndRecord", mode="videoChat", options=8)["session"]
    assert refused(ann, "session.setCategory", **members).code == "illegal_category"
    assert ann.ask("playback.continue")["session"] == before


@pytest.mark.hostile
@pytest.mark.parametrize(
    "kind, members",
    [
        ("session.setCategory", {"category": "loud"}),
        ("session.setCategory", {"category": 7}),
        ("session.setCategory", {}),
        ("session.setCategory", {"category": "playback", "mode": "x"}),
        ("session.setCategory", {"category": "playback", "options": 256}),
        ("session.setCategory", {"category": "playback", "options": -1}),
        ("session.setCategory", {"category": "playback", "options": 1 << 40}),
        ("session.setActive", {}),
        ("session.setActive", {"active": "yes"}),
        ("session.setActive", {"active": True, "priority": 101}),
        ("session.setActive", {"active": True, "priority": -1}),
        ("session.setActive", {"active": True, "background": 1}),
        ("session.setActive", {"active": False, "force": "x"}),
        ("interruption.began", {"reason": 3}),
        ("interruption.ended", {"shouldResume": "maybe"}),
    ],
)
def test_hostile_values_change_nothing(stage: Stage, kind: str, members: dict) -> None:
    ann = stage.phone()
    assert refused(ann, kind, **members).code in ("bad_value", "malformed")
    assert state(ann.ask("playback.continue")) == "active"


def test_a_category_that_is_set_while_active_ends_what_it_does_not_allow(stage: Stage) -> None:
    bob = stage.join("bob")
    talker = Talker(bob)
    ann = stage.phone("ann")
    ann.ask("subscribe", all=True)
    own = ann.publish("audio")
    talker.warm_up(ann)
    bob.event("stream.published", stream=own)
    assert ann.ask("session.setCategory", category="playback")["session"]["category"] == "playback"
    ann.event("stream.stopped", stream=own, reason="category")
    ann.event("route.changed", reason=3)
    bob.event("stream.ended", stream=own)
    hears(ann, talker)
    ann.ask("session.setCategory", category="record")
    ann.event("stream.stopped", stream=talker.audio, reason="category")
    silent(ann, talker)
    ann.ask("session.setCategory", category="playAndRecord")
    silent(ann, talker)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)


@pytest.mark.parametrize("kinds", [("publish", "session.setCategory"), ("session.setCategory", "publish")], ids=["publish-first", "category-first"])
def test_a_stream_that_is_published_while_the_category_changes_ends(stage: Stage, kinds: tuple[str, str]) -> None:
    members = {"publish": {"kind": "audio", "codec": "opus"}, "session.setCategory": {"category": "playback"}}
    bob = stage.join("bob")
    for _ in range(8):
        ann = stage.phone("ann")
        numbers = {kind: ann.send(kind, **members[kind]) for kind in kinds}
        ann.answer(numbers["session.setCategory"])
        try:
            stream = ann.answer(numbers["publish"])["stream"]
        except Refused as refusal:
            assert refusal.code in ("category", "insufficient_priority"), refusal
        else:
            ann.event("stream.stopped", stream=stream, reason="category")
            bob.event("stream.ended", stream=stream)
        ann.close()


def test_requests_behind_an_activation_need_not_wait_for_its_answer(stage: Stage) -> None:
    bob = stage.join("bob")
    talker = Talker(bob)
    for _ in range(8):
        ann = stage.join("ann")
        ann.ask("session.init")
        numbers = [
            ann.send("session.setActive", active=True),
            ann.send("subscribe", all=True),
            ann.send("publish", kind="audio", codec="opus"),
            ann.send("session.setActive", active=False),
        ]
        for number in numbers[:3]:
            ann.answer(number)
        with pytest.raises(Refused) as refusal:
            ann.answer(numbers[3])
        assert refusal.value.code == "io_running"
        ann.ask("leave")
        ann.close()
    talker.say(heard=False)


def test_who_changes_too_often_is_told_of_now_and_then(stage: Stage) -> None:
    bob = stage.join("bob")
    ann = stage.phone("ann")
    name = "x" * 120
    for turn in range(60):
        ports = [{"type": "headset", "name": f"{name}{turn}"}] * 8
        ann.ask("route.changed", reason=1, route={"inputs": ports, "outputs": ports}, sharesNames=True)
    # What holds in the end is told, if late.
    bob.wait("the last route", lambda: next((event for event in bob.events if f"{name}59" in str(event)), None))
    assert bob.news().count("participant.route") < 30


# The client's own interruption


def test_a_phone_call(stage: Stage) -> None:
    """Began: not a byte of media behind the answer. Ended: configuration, key frame, discontinuity, live edge. Peers see it held, and not a frozen picture."""
    bob, ann = stage.join("bob"), stage.phone("ann")
    talker = Talker(bob, video=True)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.frame(talker.show(key=True))
    ann.frame(talker.show())
    bob.events.clear()
    ann.frames.clear()
    assert state(ann.ask("interruption.began", reason="default")) == "interrupted"
    ann.frames.clear()
    bob.event("participant.interrupted", participant=ann.participant, interrupted=True, reason="default")
    bob.event("participant.held", participant=ann.participant, held=True)
    silent(ann, talker)
    late = stage.open("cid")
    entry = next(each for each in late.ask("join", room=stage.room)["participants"] if each["participant"] == ann.participant)
    assert entry["interrupted"] is True and entry["held"] is True
    # The key frame that came meanwhile is too old to be shown now.
    time.sleep(0.6)
    talker.show()
    bob.events.clear()
    assert state(ann.ask("interruption.ended", shouldResume=True)) == "active"
    bob.event("participant.interrupted", participant=ann.participant, interrupted=False)
    bob.event("participant.held", participant=ann.participant, held=False)
    bob.event("keyframe.requested", stream=talker.video)
    talker.show()
    key = talker.show(key=True)
    ann.frame(key)
    hears(ann, talker)
    for stream in (talker.audio, talker.video):
        frames = [frame for frame in ann.frames if frame.stream == stream]
        assert frames[0].kind == CONFIGURATION and frames[1].kind != CONFIGURATION, "the configuration first"
        assert frames[1].flags & DISCONTINUITY
    assert media(ann.frames, talker.video)[0].payload == key, "nothing stale"
    assert next(frame for frame in ann.frames if frame.kind == VIDEO).flags & KEY


def test_nothing_is_taken_from_an_interrupted_client(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone("ann")
    talker = Talker(ann, video=True)
    bob.ask("subscribe", all=True)
    talker.warm_up(bob)
    bob.frame(talker.show(key=True))
    ann.ask("interruption.began")
    bob.frames.clear()
    for _ in range(3):
        talker.say(heard=False)
        talker.show()
    assert metrics.by_reason(stage.relay.get("/metrics")[2], "segue_frames_refused_total")
    late = stage.join("cid")
    late.ask("subscribe", all=True)
    bob.drain(0.15)
    bob.barrier()
    late.barrier()
    assert media(bob.frames) == [] and media(late.frames) == [], "a picture of somebody who is held"
    ann.events.clear()
    ann.ask("interruption.ended", shouldResume=True)
    ann.event("keyframe.requested", stream=talker.video)
    talker.show()
    key = talker.show(key=True)
    bob.frame(key)
    spoken = talker.say(bob)
    assert [frame.payload for frame in media(bob.frames, talker.audio)] == [spoken]
    assert [frame.payload for frame in media(bob.frames, talker.video)] == [key]
    assert all(frame.flags & DISCONTINUITY for frame in media(bob.frames))


def test_a_users_pause_survives_an_interruption(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone("ann")
    talker, own = Talker(bob), Talker(ann)
    ann.ask("subscribe", all=True)
    bob.ask("subscribe", all=True)
    talker.warm_up(ann)
    own.warm_up(bob)
    assert ann.ask("playback.pause")["session"]["paused"] is True
    silent(ann, talker)
    own.say(bob)
    assert "participant.held" not in bob.news(), "a pause is no hold"
    ann.ask("interruption.began")
    assert ann.ask("interruption.ended", shouldResume=True)["session"] == {
        "state": "active", "category": "playAndRecord", "mode": "default", "options": 0, "paused": True,
    }  # fmt: skip
    silent(ann, talker)
    own.say(bob)
    assert ann.ask("playback.continue")["session"]["paused"] is False
    assert hears(ann, talker)[-1].flags & DISCONTINUITY


def test_ends_without_beginnings_and_second_beginnings(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone("ann")
    assert ann.ask("interruption.ended", shouldResume=True)["warnings"] == ["not_interrupted"]
    for _ in range(3):
        assert state(ann.ask("interruption.began", reason="appWasSuspended")) == "interrupted"
    bob.event("participant.interrupted", interrupted=True, reason="appWasSuspended")
    assert state(ann.ask("interruption.ended")) == "inactive"
    bob.event("participant.interrupted", interrupted=False)
    assert "participant.interrupted" not in bob.types(), "told on change only"
    assert ann.ask("interruption.began")["warnings"] == ["not_active"]
    assert state(ann.ask("session.setActive", active=True)) == "active"
    assert ann.ask("interruption.began", reason="an asteroid")["warnings"] == ["unknown_reason"]
    bob.event("participant.interrupted", interrupted=True, reason="default")


def test_without_should_resume_it_stays_silent(stage: Stage) -> None:
    bob, ann = stage.join("bob"), stage.phone("ann")
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    ann.ask("interruption.began")
    assert state(ann.ask("interruption.ended", shouldResume=False)) == "inactive"
    bob.event("participant.interrupted", interrupted=False)
    silent(ann, talker)
    assert "participant.held" not in bob.types() or all(event.get("held") for event in bob.events if event["type"] == "participant.held")
    ann.ask("session.setActive", active=True)
    bob.event("participant.held", held=False)
    hears(ann, talker)


def test_a_missing_end_is_made_up_for(stage: Stage, hasty_server: Relay) -> None:
    stage.relay = hasty_server
    bob, ann = stage.join("bob"), stage.phone("ann")
    talker = Talker(bob)
    ann.ask("subscribe", all=True)
    talker.warm_up(ann)
    begun = time.monotonic()
    ann.ask("interruption.began")
    ann.event("interruption.ended", shouldResume=False, cause="timeout")
    assert time.monotonic() - begun >= INTERRUPTION
    assert state(ann.ask("playback.continue")) == "inactive"
    silent(ann, talker)
    ann.ask("session.setActive", active=True)
    hears(ann, talker)


@pytest.mark.parametrize("how", ["media", "activated"])
def test_an_interruption_ends_when_the_client_goes_on(stage: Stage, how: str) -> None:
    ann = stage.phone("ann")
    own = Talker(ann)
    with Stopwatch() as watch:
        ann.ask("interruption.began")
        if how == "media":
            # What was under way when it began says nothing.
            own.say(heard=False)
            ann.barrier()
    if how == "media":
        # Half a second later media is no more what was under way: on a machine that stood still for so long, nothing is shown by what came.
        assert "interruption.ended" not in ann.types() or watch.seconds > 0.5, watch
        time.sleep(0.6)
        own.say(heard=False)
    else:
        ann.ask("session.setActive", active=True)
    ann.event("interruption.ended", shouldResume=False, cause=how)
    assert state(ann.ask("playback.continue")) == ("inactive" if how == "media" else "active")


def test_an_interruption_outlives_the_connection(stage: Stage) -> None:
    """Resumed over another connection while it lasts: nothing flows before its end."""
    bob = stage.join("bob")
    talker = Talker(bob)
    with Breakable(stage.relay) as proxy:
        ann = stage.phone("ann", proxy.relay)
        ann.ask("subscribe", all=True)
        talker.warm_up(ann)
        ann.ask("interruption.began")
        bob.event("participant.held", held=True)
        proxy.last.reset()
        time.sleep(0.1)
        again = stage.open("ann", proxy.relay, hello={"resume": {"token": ann.welcome["resumeToken"], "received": []}})
        again.last_id += 1000
        resumed = again.welcome["resumed"]
        assert resumed["session"]["state"] == "interrupted" and resumed["subscribed"] == [talker.audio]
        me = next(each for each in resumed["room"]["participants"] if each["participant"] == ann.participant)
        assert me["held"] is True
        silent(again, talker)
        assert "participant.held" not in bob.news()
        assert state(again.ask("interruption.ended", shouldResume=True)) == "active"
        bob.event("participant.held", held=False)
        restarts(again, talker)


def test_who_does_not_come_back_leaves_no_trace(stage: Stage) -> None:
    bob = stage.join("bob")
    with Breakable(stage.relay) as proxy:
        ann = stage.phone("ann", proxy.relay)
        ann.ask("interruption.began")
        bob.event("participant.held", held=True)
        proxy.last.reset()
    bob.event("participant.left", participant=ann.participant)
    held = metrics.value(stage.relay.get("/metrics")[2], "segue_sessions_held")
    deadline = time.monotonic() + 2 * GRACE
    while held > 0 and time.monotonic() < deadline:
        time.sleep(0.1)
        held = metrics.value(stage.relay.get("/metrics")[2], "segue_sessions_held")
    assert held == 0


def test_a_refused_resumption_tells_that_media_services_were_reset(stage: Stage) -> None:
    session = Session(stage.relay, stage.identities["ann"], http=stage.http, greets=False)
    stage.sessions.append(session)
    assert refused(session, "hello", versions=[1], resume={"token": "0" * 64, "received": []}).code == "resume_refused"
    session.ask("hello", versions=[1])
    session.event("mediaServices.wereLost")
    session.event("mediaServices.wereReset")
    assert refused(session, "session.setActive", active=True).code == "session_lost"
