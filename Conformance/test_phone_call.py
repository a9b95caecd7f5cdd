"""Phone calls, hand-offs and route changes, live: `segue listen --script` plays the phone, three peers talk over third-party WebSockets.

What is demanded is order, and the bounds that the specification of audio sessions names: after an interruption the first audio is younger than 200 ms by its
capture time, and peers see the phone held within a round trip of its link, as the run itself measured it. The ages also depend on when the machine lets each process
run: they are judged where it was responsive meanwhile, and told anyhow. Order, flags, states and the silence in between are judged always. With PHONE_CALL_TABLE=FILE the measured values are written there as a table (`Deploy/dev phone-call`).
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.delayed import Delayed
from support.phone import ACTIVATE, INIT, SCRIPTS, Phone, playable
from support.relay import Relay, demo_identity
from support.session import AUDIO, Session
from support.talker import AUDIO_SECONDS, Arrival, Talker, captured_at

LOOPS = 3
GRACE_MILLISECONDS = 3_000
MISSING_END_MILLISECONDS = 2_000
# Of the specification: the first audio after an interruption, by capture time.
FRESH_MILLISECONDS = 200
# A machine on which requests and audio take longer than this for themselves is too busy for anything to be said of time.
RESPONSIVE_MILLISECONDS = 50
# Of the three who talk.
STREAMS = 4
DELAY_MILLISECONDS = 100
PUBLISH = {"do": "publish"}
FLOWS = {"do": "expect", "media": "flowing", "for": "20s"}
# How old its audio is, these benches judge themselves.
FRESH = {"do": "expect", "for": "20s", "videoStartsWithKey": True, "discontinuous": True, "unexpectedFramesMax": 0}
SPEAKER = {"inputs": [{"type": "builtInMic", "name": "Ann's microphone"}], "outputs": [{"type": "builtInSpeaker", "sampleRate": 48_000, "channels": 2}]}


def silence(seconds: float) -> dict:
    return {"do": "expect", "media": "none", "for": f"{seconds}s"}


def began(**members) -> dict:
    return {"do": "interruption.began", **members}


def ended(should_resume: bool, **members) -> dict:
    return {"do": "interruption.ended", "shouldResume": should_resume, **members}


def deactivate(notify: bool) -> dict:
    return {"do": "session.setActive", "active": False, "force": True, "notifyOthersOnDeactivation": notify}


class Table:
    """What was measured, and what is demanded."""

    def __init__(self):
        self.rows: list[tuple[str, str, str, str]] = []

    def below(self, scenario: str, what: str, milliseconds: float, bound: float, *, is_judged: bool = True) -> None:
        demanded = f"< {bound:.0f} ms" + ("" if is_judged else " (not judged: the machine was too busy meanwhile)")
        self.rows.append((scenario, what, f"{milliseconds:.1f} ms", demanded))
        assert milliseconds < bound or not is_judged, f"{scenario}: {what}: {milliseconds:.1f} ms"

    def equal(self, scenario: str, what: str, value: object, wanted: object) -> None:
        self.rows.append((scenario, what, self.words(value), self.words(wanted)))
        assert value == wanted, f"{scenario}: {what}: {value} instead of {wanted}"

    @staticmethod
    def words(value: object) -> str:
        """For readers who know no Python."""
        match value:
            case bool():
                return "yes" if value else "no"
            case list() | tuple() | set():
                words = [Table.words(part) for part in value]
                return ", ".join(sorted(words) if isinstance(value, set) else words) or "none"
            case _:
                return str(value)

    @property
    def text(self) -> str:
        rows = [("Scenario", "Measured", "Value", "Demanded"), *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows]
        return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]) + "\n"


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    measured = Table()
    yield measured
    if path := os.environ.get("PHONE_CALL_TABLE"):
        Path(path).write_text(measured.text)


@pytest.fixture(scope="module")
def module_call_relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay("calls", loops=LOOPS, prefix=("env", f"SEGUE_LIMITS_RESUME_MILLISECONDS={GRACE_MILLISECONDS}"))


@pytest.fixture
def relay(module_call_relay: Relay) -> Iterator[Relay]:
    yield module_call_relay
    module_call_relay.assert_healthy()


@pytest.fixture(scope="module")
def impatient_relay(start_relay: Callable[..., Relay]) -> Relay:
    """Takes a call for ended long before anybody would."""
    return start_relay("impatient", loops=LOOPS, prefix=("env", f"SEGUE_LIMITS_INTERRUPTION_MILLISECONDS_MAX={MISSING_END_MILLISECONDS}"))


@contextlib.contextmanager
def conversation(relay: Relay) -> Iterator[tuple[str, list[Talker]]]:
    """A room in which three talk, one of them with a picture."""
    room = f"call-{uuid.uuid4().hex[:8]}"
    with contextlib.ExitStack() as stack:
        alice, operator = demo_identity(relay.state, "alice"), demo_identity(relay.state, "operator")
        peers = [
            Talker(relay, alice, room, ("audio", "video")),
            Talker(relay, operator, room, http="2"),
            Talker(relay, alice, room),
        ]
        for peer in peers:
            stack.enter_context(peer)
        yield room, peers


# What peers and the phone saw


def uplink(peer: Talker, phone: Phone) -> list[Arrival]:
    """The frames of the phone that came to a peer, configurations left out."""
    participant = phone.all("began")[0]["participant"]
    streams = {arrival.event["stream"] for arrival in peer.events("stream.published", participant=participant)}
    return [arrival for arrival in peer.arrivals if arrival.frame and arrival.stream in streams and not arrival.is_configuration]


def asked_at(step: dict) -> float:
    """When the phone sent a step's request, by time.monotonic()."""
    return step["monotonic"] - step["milliseconds"] / 1_000


def ages_among_peers(peers: list[Talker]) -> list[float]:
    """How long the audio of each took to the others, in milliseconds: what the relay, the loopback and the peers' own turns cost."""
    clocks = time.time() - time.monotonic()
    audio = [arrival for peer in peers for arrival in peer.arrivals if arrival.frame and arrival.frame[0] & 15 == AUDIO]
    return [(arrival.at + clocks - captured) * 1_000 for arrival in audio if (captured := captured_at(arrival.frame))]


def is_responsive(phone: Phone, peers: list[Talker], path_milliseconds: float = 0) -> bool:
    """Whether the phone was answered, and peers heard each other, as fast as on a machine with nothing else to do."""
    waits = [step["milliseconds"] - path_milliseconds for step in phone.all("step") if step.get("answer") is not None]
    return max(waits + ages_among_peers(peers)) < RESPONSIVE_MILLISECONDS


def judge_held(table: Table, scenario: str, phone: Phone, peers: list[Talker]) -> None:
    """Peers saw the phone held within one round trip of its link, whatever link that is and however busy the machine.

    The round trip is that of the very request: what holds it up on its way to the relay holds up the peers' news as well. What the way from the relay to the
    peers takes is measured by the audio that they send each other all the while, of which one frame may be under way when the news comes.
    """
    begin = phone.steps("interruption.began")[0]
    participant = phone.all("began")[0]["participant"]
    delays = [milliseconds_from(begin, peer.events("participant.held", participant=participant, held=True)[0]) for peer in peers]
    round_trip, among_peers = begin["milliseconds"], max(ages_among_peers(peers))
    slack = among_peers + AUDIO_SECONDS * 1_000
    what = f"asked, until the last of three peers saw it held (its round trip {round_trip:.0f} ms, the peers' audio {among_peers:.0f} ms, one frame {AUDIO_SECONDS * 1_000:.0f} ms)"
    table.below(scenario, what, max(delays), round_trip + slack)


def milliseconds_from(line: dict, arrival: Arrival) -> float:
    """From the moment when the phone asked to the arrival."""
    return (arrival.at - asked_at(line)) * 1_000


def states(peer: Talker, phone: Phone) -> list[tuple[str, bool]]:
    """What a peer was told of the phone's being interrupted and held, in order."""
    participant = phone.all("began")[0]["participant"]
    names = {"participant.interrupted": "interrupted", "participant.held": "held"}
    told = [arrival.event for arrival in peer.arrivals if arrival.event and arrival.event["type"] in names]
    return [(names[event["type"]], event[names[event["type"]]]) for event in told if event["participant"] == participant]


ONE_INTERRUPTION = [("interrupted", True), ("held", True), ("interrupted", False), ("held", False)]


def assert_silent_between(phone: Phone, peers: list[Talker], begin: dict, end: dict) -> None:
    """No frame of the phone that was captured between two of its steps came to anybody."""
    start = phone.all("began")[0]["unixMilliseconds"] / 1_000
    since, until = start + begin["at"], start + end["at"] - end["milliseconds"] / 1_000
    for peer in peers:
        stray = [arrival for arrival in uplink(peer, phone) if since + 0.002 < captured_at(arrival.frame) < until - 0.002]
        assert not stray, f"{len(stray)} frames"


def restarts(phone: Phone, after: dict) -> list[dict]:
    """First frames since a line."""
    place = phone.place(after)
    return [line for line in phone.lines[place:] if line["event"] == "media.started"]


def judge_return(table: Table, scenario: str, phone: Phone, peers: list[Talker], asked: dict, path_milliseconds: float = 0) -> None:
    """What the phone heard first after it was held the last time: live, from a key frame on, marked; nothing before.

    `asked` is the step, of whichever device, by which it was to hear again; `path_milliseconds` is the known round trip.
    """
    lines = restarts(phone, phone.all("media.stopped")[-1])
    first = [line["media"] for line in lines]
    assert sorted(start["kind"] for start in first) == ["audio"] * (STREAMS - 1) + ["video"], first
    audio = [line for line in lines if line["media"]["kind"] == "audio"]
    captured = [line["monotonic"] - line["media"]["ageMilliseconds"] / 1_000 for line in audio]
    responsive = is_responsive(phone, peers, path_milliseconds)
    before = max(0, (asked_at(asked) - min(captured)) * 1_000)
    table.below(scenario, "captured before it was asked for, the oldest", before, FRESH_MILLISECONDS, is_judged=responsive)
    oldest = max(line["media"]["ageMilliseconds"] for line in audio) - path_milliseconds / 2
    table.below(scenario, f"age of the first audio afterwards{', the way to the phone taken off' if path_milliseconds else ''}", oldest, FRESH_MILLISECONDS, is_judged=responsive)
    table.equal(scenario, "video begins with a key frame", all(start["key"] for start in first if start["kind"] == "video"), True)
    table.equal(scenario, "configuration first", all(start["configured"] for start in first), True)
    table.equal(scenario, "streams whose jitter buffer is told to begin anew", sum(start["discontinuity"] for start in first), STREAMS)
    table.equal(scenario, "frames while it was held", phone.all("summary")[0]["unexpectedFrames"], 0)


# Calls


def test_a_call_in_the_middle_of_a_conversation(relay: Relay, table: Table, tmp_path: Path) -> None:
    scenario = "call"
    with conversation(relay) as (room, peers), Phone(relay, room, playable(SCRIPTS / "call.json5", tmp_path)) as phone:
        phone.finish()
        begin, end = phone.steps("interruption.began")[0], phone.steps("interruption.ended")[0]
        for peer in peers:
            peer.wait_event("participant.left")
        for peer in peers:
            assert states(peer, phone) == ONE_INTERRUPTION, states(peer, phone)
        assert_silent_between(phone, peers, begin, end)
        judge_held(table, scenario, phone, peers)
        judge_return(table, scenario, phone, peers, end)
        # The phone's own voice begins anew at its peers.
        back = [next(frame for frame in uplink(peer, phone) if frame.at > asked_at(end)) for peer in peers]
        table.equal(scenario, "peers whose jitter buffer for it is told to begin anew", sum(frame.has_discontinuity for frame in back), len(peers))


def test_a_call_on_a_path_of_a_known_round_trip(relay: Relay, table: Table) -> None:
    scenario = f"call, {2 * DELAY_MILLISECONDS} ms from the relay and back"
    steps = [INIT, ACTIVATE, PUBLISH, FLOWS, began(), silence(1), ended(True), FLOWS, FRESH]
    with conversation(relay) as (room, peers), Delayed(relay, DELAY_MILLISECONDS / 1_000) as path, Phone(path.relay, room, steps) as phone:
        phone.finish()
        assert phone.steps("interruption.began")[0]["milliseconds"] >= 2 * DELAY_MILLISECONDS
        judge_held(table, scenario, phone, peers)
        judge_return(table, scenario, phone, peers, phone.steps("interruption.ended")[0], 2 * DELAY_MILLISECONDS)


def test_a_pause_by_the_user_survives_the_call(relay: Relay, table: Table) -> None:
    steps = [INIT, ACTIVATE, FLOWS, {"do": "playback.pause"}, silence(0.5), began(), ended(True), {"do": "expect", "session": "active"}, silence(1)]
    with conversation(relay) as (room, peers), Phone(relay, room, [*steps, {"do": "playback.continue"}, FLOWS, FRESH]) as phone:
        phone.finish()
        judge_return(table, "call, paused by the user before", phone, peers, phone.steps("playback.continue")[0])


def test_a_call_after_which_nothing_is_to_resume(relay: Relay) -> None:
    steps = [INIT, ACTIVATE, FLOWS, began(), ended(False), {"do": "expect", "session": "inactive"}, silence(1), ACTIVATE, FLOWS, FRESH]
    with conversation(relay) as (room, peers), Phone(relay, room, steps) as phone:
        phone.finish()
        for peer in peers:
            peer.wait_event("participant.left")
            assert states(peer, phone) == ONE_INTERRUPTION


def test_a_call_whose_end_is_never_told_ends_when_the_client_talks(relay: Relay, table: Table, tmp_path: Path) -> None:
    with conversation(relay) as (room, peers), Phone(relay, room, playable(SCRIPTS / "missing-end.json5", tmp_path)) as phone:
        phone.finish()
        # It sent all the while, and nobody heard it.
        assert_silent_between(phone, peers, phone.steps("interruption.began")[0], phone.steps("session.setActive")[1])
        told = phone.messages("interruption.ended")[0]["message"]
        table.equal("missing end", "the client talks: the relay takes it for ended, and to resume", (told["cause"], told["shouldResume"]), ("media", False))
        judge_return(table, "missing end, activated again", phone, peers, phone.steps("session.setActive")[1])


def test_a_call_whose_end_is_never_told_ends_with_an_activation(relay: Relay) -> None:
    steps = [INIT, ACTIVATE, FLOWS, began(), silence(0.5), ACTIVATE, {"do": "wait", "event": "interruption.ended", "with": {"shouldResume": False, "cause": "activated"}}]
    with conversation(relay) as (room, _), Phone(relay, room, [*steps, {"do": "expect", "session": "active"}, FLOWS, FRESH]) as phone:
        phone.finish()


def test_a_call_whose_end_is_never_told_ends_in_time(impatient_relay: Relay, table: Table) -> None:
    timeout = {"do": "wait", "event": "interruption.ended", "with": {"shouldResume": False, "cause": "timeout"}, "timeout": "30s"}
    steps = [INIT, ACTIVATE, FLOWS, began(), timeout, {"do": "expect", "session": "inactive"}, silence(0.5), ACTIVATE, FLOWS, FRESH]
    with conversation(impatient_relay) as (room, peers), Phone(impatient_relay, room, steps) as phone:
        phone.finish()
        waited = (phone.steps("wait")[0]["at"] - phone.steps("interruption.began")[0]["at"]) * 1_000
        table.equal("missing end", "taken for ended, not before its time", waited > MISSING_END_MILLISECONDS - 50, True)
        judge_return(table, "missing end, by time", phone, peers, phone.steps("session.setActive")[1])


def test_a_reactivation_that_is_refused(relay: Relay, table: Table) -> None:
    scenario = "refused re-activation"
    tells = {"do": "route.changed", "reason": 1, "route": SPEAKER}
    steps = [
        INIT, ACTIVATE, FLOWS, began(), {"do": "wait", "event": "participant.route", "timeout": "60s"},
        ended(True, refused="insufficient_priority"), {"do": "expect", "session": "inactive"}, silence(1),
        {"do": "wait", "event": "participant.left", "timeout": "60s"}, ACTIVATE, FLOWS, FRESH,
    ]  # fmt: skip
    with conversation(relay) as (room, peers), Phone(relay, room, steps) as phone:
        phone.wait_step("interruption.began")
        other = [INIT, {**ACTIVATE, "priority": 50}, tells, FLOWS, {"do": "stay", "for": "4s"}]
        with Phone(relay, room, other, device="tablet") as tablet:
            tablet.finish()
        phone.finish()
        answer = phone.steps("interruption.ended")[0]["answer"]["refusal"]
        table.equal(scenario, "the refusal, in the platform's words", f"{answer['fourCharCode']}, status {answer['status']:#x}", "!pri, status 0x21707269")
        table.equal(scenario, "what else the phone is told", [line["message"]["cause"] for line in phone.messages("session.changed")], ["refused"])
        judge_return(table, scenario, phone, peers, phone.steps("session.setActive")[1])


def test_a_client_that_dies_during_a_call(relay: Relay, table: Table) -> None:
    steps = [INIT, ACTIVATE, PUBLISH, FLOWS, began(), {"do": "stay", "for": "60s"}]
    with conversation(relay) as (room, peers), Phone(relay, room, steps) as phone:
        phone.wait_step("interruption.began")
        participant = phone.all("began")[0]["participant"]
        for peer in peers:
            peer.wait_event("participant.held", participant=participant, held=True)
        phone.kill()
        gone = [peer.wait_event("participant.left", participant=participant).event["reason"] for peer in peers]
        table.equal("killed during a call", "how its peers are told that it left", set(gone), {"lost"})
        for peer in peers:
            assert states(peer, phone) == ONE_INTERRUPTION[:2]
        # The identity is free again.
        with Phone(relay, room, [INIT, ACTIVATE, FLOWS]) as again:
            again.finish()


@pytest.mark.parametrize("http", ["1.1", "2"])
@pytest.mark.parametrize("way", [["disconnect", "reconnect"], ["renew"]], ids=["lost", "renewed"])
def test_a_call_goes_on_over_another_connection(relay: Relay, table: Table, way: list[str], http: str) -> None:
    scenario = f"call, connection {'lost' if len(way) > 1 else 'renewed'} meanwhile, HTTP/{http}"
    change = [{"do": "disconnect"}, {"do": "stay", "for": "500ms"}, {"do": "reconnect"}] if len(way) > 1 else [{"do": "renew"}]
    steps = [INIT, ACTIVATE, PUBLISH, FLOWS, began(), *change, {"do": "expect", "session": "interrupted"}, silence(1), ended(True), FLOWS, FRESH]
    with conversation(relay) as (room, peers), Phone(relay, room, [*steps, {"do": "stay", "for": "500ms"}], arguments=("--http", http)) as phone:
        phone.finish()
        participant = phone.all("began")[0]["participant"]
        table.equal(scenario, "the session as the relay gives it back", phone.all("resumed")[0]["session"]["state"], "interrupted")
        judge_return(table, scenario, phone, peers, phone.steps("interruption.ended")[0])
        for peer in peers:
            peer.wait_event("participant.left", participant=participant)
            assert states(peer, phone) == ONE_INTERRUPTION
            assert len(peer.events("participant.joined", participant=participant)) == 1


# Hand-off


def test_the_documented_hand_off(relay: Relay, table: Table, tmp_path: Path) -> None:
    with conversation(relay) as (room, peers), Phone(relay, room, playable(SCRIPTS / "hand-off-phone.json5", tmp_path)) as phone:
        phone.wait_step("expect")
        with Phone(relay, room, playable(SCRIPTS / "hand-off-tablet.json5", tmp_path)) as tablet:
            tablet.finish()
        phone.finish()
        heard = [line["media"] for line in restarts(tablet, tablet.all("media.stopped")[0])]
        table.equal("hand-off, the tablet", "video begins with a key frame", all(start["key"] for start in heard if start["kind"] == "video"), True)
        table.equal("hand-off, the tablet", "configuration first", all(start["configured"] for start in heard), True)
        # Told once media had stopped: not one frame behind it.
        table.equal("hand-off", "frames after `interruption.began`", phone.all("summary")[0]["unexpectedFrames"], 0)
        judge_return(table, "hand-off", phone, peers, [step for step in tablet.steps("session.setActive") if not step["answer"].get("refusal")][-1])


@pytest.mark.parametrize("notify", [True, False], ids=["notified", "not-notified"])
def test_three_devices_deep(relay: Relay, table: Table, notify: bool) -> None:
    scenario = f"three deep, {'with' if notify else 'without'} notifyOthersOnDeactivation"

    def interrupted(device: str) -> list[dict]:
        return [
            {"do": "wait", "event": "interruption.began", "with": {"reason": "handoff", "device": device}, "timeout": "60s"},
            {"do": "expect", "session": "interrupted"},
            {"do": "wait", "event": "interruption.ended", "with": {"shouldResume": notify, "cause": "deactivated"}, "timeout": "60s"},
            {"do": "expect", "session": "active" if notify else "inactive"},
            *([FLOWS, FRESH] if notify else [silence(0.5)]),
        ]

    with conversation(relay) as (room, peers), contextlib.ExitStack() as stack:
        phone = stack.enter_context(Phone(relay, room, [INIT, ACTIVATE, FLOWS, *interrupted("tablet"), {"do": "stay", "for": "500ms"}]))
        phone.wait_step("expect")
        tablet = stack.enter_context(
            Phone(relay, room, [INIT, ACTIVATE, FLOWS, *interrupted("watch"), {"do": "stay", "for": "500ms"}, deactivate(notify)], device="tablet")
        )
        tablet.wait_step("expect")
        watch = stack.enter_context(Phone(relay, room, [INIT, ACTIVATE, FLOWS, {"do": "stay", "for": "500ms"}, deactivate(notify)], device="watch"))
        for device in (watch, tablet, phone):
            device.finish()
        for device in (phone, tablet):
            assert device.all("summary")[0]["unexpectedFrames"] == 0
            table.equal(scenario, f"interruptions of the {'phone' if device is phone else 'tablet'}",
                f"{len(device.messages('interruption.began'))} begun, {len(device.messages('interruption.ended'))} ended", "1 begun, 1 ended")  # fmt: skip
        ends = [device.messages("interruption.ended")[0]["monotonic"] for device in (tablet, phone)]
        given_up = [device.steps("session.setActive")[-1] for device in (watch, tablet)]
        # Each end goes to whom it had interrupted, and to nobody else: the phone hears nothing before the tablet is deactivated as well.
        asked = [asked_at(step) for step in given_up]
        table.equal(scenario, "last begun, first ended", asked[0] < ends[0] < asked[1] < ends[1], True)


def test_an_interrupter_that_dies(relay: Relay, table: Table) -> None:
    left = {"do": "wait", "event": "interruption.ended", "with": {"shouldResume": False, "cause": "left"}, "timeout": "60s"}
    steps = [INIT, ACTIVATE, FLOWS, {"do": "wait", "event": "interruption.began", "timeout": "60s"}, left, {"do": "expect", "session": "inactive"}, silence(0.5)]
    with conversation(relay) as (room, _), Phone(relay, room, steps) as phone:
        phone.wait_step("expect")
        with Phone(relay, room, [INIT, ACTIVATE, FLOWS, {"do": "stay", "for": "60s"}], device="tablet") as tablet:
            phone.wait_message("interruption.began")
            tablet.wait_step("expect")
            tablet.kill()
        phone.finish()
        table.equal("interrupter killed", "interruptions ended", len(phone.messages("interruption.ended")), 1)


def test_an_interrupter_that_comes_back_in_time(relay: Relay) -> None:
    steps = [INIT, ACTIVATE, FLOWS, {"do": "wait", "event": "interruption.began", "timeout": "60s"}]
    steps += [{"do": "expect", "noEvent": "interruption.ended", "for": "1s"}, {"do": "wait", "event": "interruption.ended", "with": {"shouldResume": True}, "timeout": "60s"}, FLOWS, FRESH]
    with conversation(relay) as (room, _), Phone(relay, room, steps) as phone:
        phone.wait_step("expect")
        away = [{"do": "disconnect"}, {"do": "stay", "for": "500ms"}, {"do": "reconnect"}, FLOWS, {"do": "stay", "for": "4s"}]
        with Phone(relay, room, [INIT, ACTIVATE, FLOWS, *away, deactivate(True)], device="tablet") as tablet:
            tablet.finish()
        phone.finish()
        assert len(phone.messages("interruption.began")) == len(phone.messages("interruption.ended")) == 1


# Routes


def test_a_headset_that_is_pulled(relay: Relay, table: Table, tmp_path: Path) -> None:
    with conversation(relay) as (room, peers), Phone(relay, room, playable(SCRIPTS / "pulled-headset.json5", tmp_path)) as phone:
        phone.finish()
        pulled, back = phone.steps("route.changed")[-1], phone.steps("playback.continue")[0]
        for peer in peers:
            peer.wait_event("participant.left")
            # What the phone sends goes on, and nobody sees it held.
            spoken = [frame for frame in uplink(peer, phone) if pulled["monotonic"] < frame.at < back["monotonic"]]
            assert spoken and states(peer, phone) == []
            assert [arrival.event["outputs"] for arrival in peer.events("participant.route")][-1] == [{"type": "builtInSpeaker"}]
        judge_return(table, "headset pulled", phone, peers, back)


GOES_ON = [{"do": "expect", "session": "active", "media": "flowing", "for": "10s"}, {"do": "expect", "unexpectedFramesMax": 0}]
PAUSED = [{"do": "expect", "session": "active"}, silence(1), {"do": "playback.continue"}, FLOWS, FRESH]
AFRESH = [{"do": "wait", "event": "media.started", "with": {"kind": "video"}}, FRESH]
NEXT_ROUTE = {"do": "route.changed", "reason": 1, "route": SPEAKER}
SUSPENDED = [{"do": "expect", "session": "interrupted"}, silence(1), NEXT_ROUTE, {"do": "expect", "session": "active"}, FLOWS, FRESH]
MEDIA_GO_ON, PLAYBACK_PAUSES, AFRESH_TOO, HELD = "media go on", "playback pauses, the microphone goes on", "every stream begins afresh", "held until the next route"
WARNED = "media go on, with a warning"
# Each with the platform's name, what the phone goes on with, and what the relay is to do.
ROUTES = {
    0: ("unknown", GOES_ON, MEDIA_GO_ON),
    1: ("newDeviceAvailable", GOES_ON, MEDIA_GO_ON),
    2: ("oldDeviceUnavailable", PAUSED, PLAYBACK_PAUSES),
    3: ("categoryChange", GOES_ON, MEDIA_GO_ON),
    4: ("override", GOES_ON, MEDIA_GO_ON),
    5: ("no such reason", GOES_ON, WARNED),
    6: ("wakeFromSleep", AFRESH, AFRESH_TOO),
    7: ("noSuitableRouteForCategory", SUSPENDED, HELD),
    8: ("routeConfigurationChange", GOES_ON, MEDIA_GO_ON),
    9: ("no such reason", GOES_ON, WARNED),
    255: ("no such reason", GOES_ON, WARNED),
}


def what_a_route_did(phone: Phone, peers: list[Talker]) -> str:
    """As the phone and its peers saw it."""
    changed = phone.steps("route.changed")[0]
    if any(states(peer, phone) for peer in peers):
        return HELD
    if changed["answer"]["session"].get("paused"):
        return PLAYBACK_PAUSES
    behind = phone.lines[phone.place(changed) + 1 :]
    meanwhile = behind[: next(place for place, line in enumerate(behind) if line["event"] == "step")]
    # A stream that had flowed before is heard from a marked frame on.
    if any(line["event"] == "media.started" and line["media"]["discontinuity"] and "silenceMilliseconds" in line["media"] for line in meanwhile):
        return AFRESH_TOO
    return WARNED if changed["answer"].get("warnings") else MEDIA_GO_ON


@pytest.mark.parametrize("reason", ROUTES)
def test_each_reason_of_a_route_change(relay: Relay, table: Table, reason: int) -> None:
    name, goes_on, wanted = ROUTES[reason]
    change = {"do": "route.changed", "reason": reason, "route": SPEAKER}
    with conversation(relay) as (room, peers), Phone(relay, room, [INIT, ACTIVATE, PUBLISH, FLOWS, change, *goes_on]) as phone:
        phone.finish()
        assert bool(phone.steps("route.changed")[0]["answer"].get("warnings")) == (reason in (5, 9, 255))
        for peer in peers:
            peer.wait_event("participant.left")
            shown = [(arrival.event["inputs"], arrival.event["outputs"]) for arrival in peer.events("participant.route")]
            # Names are private.
            assert shown and shown[-1] == ([{"type": "builtInMic"}], [{"type": "builtInSpeaker"}]), shown
            assert states(peer, phone) == ([("held", True), ("held", False)] if reason == 7 else [])
        did = what_a_route_did(phone, peers)
        if did == AFRESH_TOO != wanted and not is_responsive(phone, peers):
            # What has waited beyond its deadline is dropped, and the frame behind it is marked as well.
            table.rows.append((f"route change {reason}, {name}", "what the relay does", "not judged: the machine was too busy", wanted))
            return
        table.equal(f"route change {reason}, {name}", "what the relay does", did, wanted)


HANDS_FREE = {"inputs": [{"type": "bluetoothHFP"}], "outputs": [{"type": "bluetoothHFP", "sampleRate": 16_000, "channels": 1}]}


def test_a_hands_free_headset_and_back(relay: Relay, table: Table) -> None:
    """What its only listener hears is all that a publisher need send."""
    scenario, room = "hands-free headset (HFP), and back", f"call-{uuid.uuid4().hex[:8]}"
    # Less is asked for when it has lasted: the headset stays until the publisher was told.
    there = [{"do": "route.changed", "reason": 4, "route": HANDS_FREE}, {"do": "wait", "event": "participant.joined", "timeout": "60s"}]
    steps = [INIT, ACTIVATE, FLOWS, *there, {"do": "route.changed", "reason": 4, "route": SPEAKER}, FLOWS]
    with Talker(relay, demo_identity(relay.state, "alice"), room) as peer, Phone(relay, room, steps) as phone:
        peer.wait_event("format.wanted", bandwidth="wideband")
        with Session(relay) as other:
            other.ask("join", room=room)
            phone.finish()
        peer.wait_event("format.wanted", bandwidth="fullband")
        wanted = [f"{event['bandwidth']}, {event['channels']} channel{'s' * (event['channels'] > 1)}" for event in (arrival.event for arrival in peer.events("format.wanted"))]
        table.equal(scenario, "what the publisher is asked for, in turn", " – ".join(wanted[:2]), "wideband, 1 channel – fullband, 2 channels")
        answers = [step["answer"]["session"]["format"]["sampleRate"] for step in phone.steps("route.changed")]
        table.equal(scenario, "the phone's format in Hz, in turn", answers, [16_000, 48_000])
