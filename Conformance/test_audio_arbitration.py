"""Who of an identity's devices has the audio (protocol §3.19, "Arbitration"): hand-off, nesting, priorities, ducking, and devices that die."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import pytest
from support.audio import Stage, Talker, hears, refused, restarts, silent, state
from support.authority import Authority
from support.breakable import Breakable
from support.relay import Relay
from support.session import Refused, Session

GRACE = 2.0
NESTING = ("phone", "tablet", "laptop")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict:
    return {name: authority.issue(name) for name in ("ann", "bob", "operator")}


@pytest.fixture(scope="module", params=[("1.1", 1), ("1.1", 3), ("2", 3)], ids=lambda param: f"http{param[0]}-{param[1]}loops")
def server(request: pytest.FixtureRequest, start_relay: Callable[..., Relay], authority: Authority, identities: dict) -> tuple[Relay, str]:
    http, loops = request.param
    limits = {"resumeMilliseconds": int(GRACE * 1000), "audioSessionsPerIdentityMax": 8, "audioDeadlineMilliseconds": 1500}
    config = authority.configuration(authority.issue_server()) | {"limits": limits}
    relay = start_relay(f"arbiter-{http}-{loops}", loops=loops, config=config, authority=authority.certificate, identity=identities["operator"])
    return relay, http


PEOPLE = itertools.count()


@pytest.fixture
def stage(server: tuple[Relay, str], authority: Authority, identities: dict) -> Iterator[Stage]:
    relay, http = server
    # Devices of an identity must not meet those of the test before, which may be parked.
    stage = Stage(relay, authority, identities | {"ann": authority.issue(f"ann-{next(PEOPLE)}")}, http)
    yield stage
    stage.close()
    relay.assert_healthy()


def listen(stage: Stage, *devices: Session) -> Talker:
    talker = Talker(stage.join("bob"))
    for device in devices:
        device.ask("subscribe", all=True)
    talker.warm_up(*devices)
    return talker


@pytest.mark.parametrize("notify", [True, False])
def test_hand_off_and_back(stage: Stage, notify: bool) -> None:
    phone = stage.phone(device="phone")
    talker = listen(stage, phone)
    tablet = stage.phone(device="tablet")
    phone.event("interruption.began", reason="handoff", device="tablet")
    silent(phone, talker)
    talker.session.event("participant.interrupted", participant=phone.participant, interrupted=True, reason="handoff")
    talker.session.event("participant.held", participant=phone.participant, held=True)
    talker.session.events.clear()
    assert state(tablet.ask("session.setActive", active=False, notifyOthersOnDeactivation=notify)) == "inactive"
    phone.event("interruption.ended", shouldResume=notify, cause="deactivated")
    assert state(phone.ask("playback.continue")) == ("active" if notify else "inactive")
    talker.session.event("participant.interrupted", participant=phone.participant, interrupted=False)
    if notify:
        talker.session.event("participant.held", participant=phone.participant, held=False)
        restarts(phone, talker)
    else:
        silent(phone, talker)
    assert "interruption.ended" not in phone.news(), "one end for a beginning"


@pytest.mark.parametrize("notify", [True, False])
def test_nested_three_deep(stage: Stage, notify: bool) -> None:
    devices = []
    for name in NESTING:
        devices.append(stage.phone(device=name))
        if len(devices) > 1:
            devices[-2].event("interruption.began", reason="handoff", device=name)
    phone, tablet, laptop = devices
    laptop.ask("session.setActive", active=False, notifyOthersOnDeactivation=notify)
    tablet.event("interruption.ended", shouldResume=notify, cause="deactivated")
    assert "interruption.ended" not in phone.news(), "the third's end goes to the second alone"
    if not notify:
        assert state(tablet.ask("session.setActive", active=True)) == "active"
    tablet.ask("session.setActive", active=False, notifyOthersOnDeactivation=notify)
    phone.event("interruption.ended", shouldResume=notify, cause="deactivated")
    assert [session.news().count("interruption.ended") for session in devices] == [0, 0, 0]
    assert state(phone.ask("playback.continue")) == ("active" if notify else "inactive")


def test_the_middle_goes_first(stage: Stage) -> None:
    """Whatever the order: one end for a beginning, and the last that is left has the audio."""
    phone, tablet, laptop = (stage.phone(device=name) for name in NESTING)
    tablet.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
    tablet.event("interruption.ended", shouldResume=False, cause="deactivated")
    laptop.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
    phone.event("interruption.ended", shouldResume=True, cause="deactivated")
    assert state(phone.ask("playback.continue")) == "active"
    assert state(tablet.ask("playback.continue")) == "inactive"
    for session in (phone, tablet, laptop):
        assert session.news().count("interruption.ended") == 0


def test_who_is_interrupted_may_take_the_audio_back(stage: Stage) -> None:
    phone, tablet = stage.phone(device="phone"), stage.phone(device="tablet")
    phone.event("interruption.began")
    phone.ask("session.setActive", active=True)
    phone.event("interruption.ended", shouldResume=False, cause="activated")
    tablet.event("interruption.began", reason="handoff", device="phone")
    tablet.events.clear()
    phone.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
    tablet.event("interruption.ended", shouldResume=True)


def test_background_and_priority(stage: Stage) -> None:
    phone, tablet = stage.phone(priority=50), stage.join("ann")
    tablet.ask("session.init")
    for wish in ({"background": True, "priority": 60}, {"priority": 49}, {}):
        refusal = refused(tablet, "session.setActive", active=True, **wish)
        assert refusal.code == "insufficient_priority" and refusal.retry
        assert state(tablet.ask("playback.continue")) == "inactive"
    assert not [kind for kind in phone.news() if kind.startswith("interruption")]
    tablet.ask("session.setActive", active=True, priority=50)
    phone.event("interruption.began")
    assert refused(phone, "session.setActive", active=True, priority=49).code == "insufficient_priority"
    assert "interruption.ended" not in phone.news(), "a refusal changes nothing"


def test_a_refused_reactivation(stage: Stage) -> None:
    """The phone call is over, and meanwhile somebody of higher priority has the audio."""
    phone = stage.phone()
    talker = listen(stage, phone)
    phone.ask("interruption.began")
    stage.phone(priority=80)
    refusal = refused(phone, "interruption.ended", shouldResume=True)
    assert refusal.code == "insufficient_priority"
    assert phone.event("session.changed", cause="refused")["session"]["state"] == "inactive"
    assert state(phone.ask("playback.continue")) == "inactive"
    silent(phone, talker)
    talker.session.event("participant.interrupted", participant=phone.participant, interrupted=False)


@pytest.mark.parametrize("comes_back", [True, False])
def test_an_interrupter_that_dies(stage: Stage, comes_back: bool) -> None:
    phone = stage.phone(device="phone")
    with Breakable(stage.relay) as proxy:
        tablet = stage.phone("ann", proxy.relay, device="tablet")
        phone.event("interruption.began")
        proxy.last.reset()
        time.sleep(0.2)
        if comes_back:
            again = stage.open("ann", proxy.relay, hello={"resume": {"token": tablet.welcome["resumeToken"], "received": []}})
            again.last_id += 1000
            assert again.welcome["resumed"]["session"]["state"] == "active"
            phone.drain(GRACE + 0.3)
            assert "interruption.ended" not in phone.news()
            again.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
            phone.event("interruption.ended", shouldResume=True, cause="deactivated")
        else:
            phone.event("interruption.ended", shouldResume=False, cause="left")
            assert state(phone.ask("playback.continue")) == "inactive"


def test_an_interrupter_that_says_goodbye(stage: Stage) -> None:
    phone, tablet = stage.phone(), stage.phone()
    phone.event("interruption.began")
    tablet.close()
    phone.event("interruption.ended", shouldResume=False, cause="left")


def test_a_victim_that_leaves_hears_nothing_and_holds_up_nobody(stage: Stage) -> None:
    phone, tablet, laptop = (stage.phone(device=name) for name in NESTING)
    tablet.event("interruption.began")
    tablet.close()
    time.sleep(0.2)
    laptop.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
    # The tablet had interrupted the phone, and its end has ended that.
    phone.event("interruption.ended")
    assert phone.news().count("interruption.ended") == 0


def test_streams_that_run(stage: Stage) -> None:
    phone = stage.phone()
    own = phone.publish("audio")
    talker = listen(stage, phone)
    refusal = refused(phone, "session.setActive", active=False)
    assert refusal.code == "io_running"
    hears(phone, talker)
    phone.ask("unpublish", stream=own)
    assert refused(phone, "session.setActive", active=False).code == "io_running"
    assert phone.ask("stream.pause", stream=talker.audio)["playback"]["state"] == "paused"
    assert state(phone.ask("session.setActive", active=False)) == "inactive"
    assert state(phone.ask("session.setActive", active=True)) == "active"
    silent(phone, talker)
    phone.ask("stream.start", stream=talker.audio)
    hears(phone, talker)
    phone.events.clear()
    assert state(phone.ask("session.setActive", active=False, force=True)) == "inactive"
    assert [event["stream"] for event in phone.events if event["type"] == "stream.stopped"] == [talker.audio]
    silent(phone, talker)
    phone.ask("session.setActive", active=True)
    hears(phone, talker)


def test_ducking_and_secondary_audio(stage: Stage) -> None:
    music = stage.phone(category="ambient")
    prompt = stage.join("ann")
    prompt.ask("session.init")
    prompt.ask("session.setCategory", category="playback", options=2)
    prompt.ask("session.setActive", active=True)
    duck = music.event("duck.began")
    assert duck["gainDecibels"] < 0 and duck["rampMilliseconds"] > 0
    prompt.ask("session.setActive", active=False)
    assert music.event("duck.ended")["gainDecibels"] == 0
    call = stage.phone()
    music.event("silenceSecondaryAudio.begin")
    call.ask("session.setActive", active=False, force=True)
    music.event("silenceSecondaryAudio.end")
    assert not [kind for kind in music.news() if kind.startswith("interruption")]


def test_spoken_audio_is_interrupted_by_a_prompt(stage: Stage) -> None:
    book = stage.join("ann")
    book.ask("session.init")
    book.ask("session.setCategory", category="playback", mode="spokenAudio")
    book.ask("session.setActive", active=True)
    prompt = stage.join("ann")
    prompt.ask("session.init")
    prompt.ask("session.setCategory", category="playback", mode="voicePrompt")
    prompt.ask("session.setActive", active=True)
    book.event("interruption.began", reason="prompt")
    prompt.ask("session.setActive", active=False, notifyOthersOnDeactivation=True)
    book.event("interruption.ended", shouldResume=True)


def test_another_identity_is_another_phone(stage: Stage) -> None:
    ann, bob = stage.phone("ann"), stage.phone("bob")
    ann.drain(0.1)
    assert not [kind for session in (ann, bob) for kind in session.news() if kind.startswith("interruption")]


def test_an_identity_has_so_many_sessions_at_most(stage: Stage) -> None:
    for _ in range(8):
        stage.join("ann").ask("session.init")
    last = stage.join("ann")
    numbers = [last.send("session.init"), last.send("session.setActive", active=True)]
    for number, code in zip(numbers, ["audio_sessions_max", "session_lost"], strict=True):
        with pytest.raises(Refused) as refusal:
            last.answer(number)
        assert refusal.value.code == code
    assert refused(last, "session.setActive", active=True).code == "session_lost"
    stage.sessions[0].close()
    deadline = time.monotonic() + 10
    while True:
        try:
            last.ask("session.init")
            return
        except Refused:
            assert time.monotonic() < deadline
            time.sleep(0.05)
