"""Who speaks, by the levels of RFC 6464 in audio frames: `speakers`, in rooms whose publishers are at several loops."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from support import metrics
from support.authority import Authority
from support.relay import Identity, Relay
from support.session import AUDIO, CONFIGURATION, Session, frame_message
from test_room_commands import Command
from test_rooms import ROUTES, configuration

NAME = "urn:segue:client:"
PEOPLE = ("host", "ann", "bob", "cid", "dan", "eve")
POLICY = {"access": [{"identities": ["*"], "rooms": ["*"], "roles": ["host", "speaker", "listener"]}]}
SPEAKERS_MAX = 3
FRAME = 0.02
QUIET = 90
ROOMS = itertools.count()


@dataclass
class Voice:
    """A stream of audio whose frames have a level below overload; 127: silence."""

    session: Session
    stream: int
    participant: int
    level: int = QUIET
    sequence: int = 0

    def send(self) -> None:
        self.session.transport.send(frame_message(AUDIO, self.stream, self.sequence, b"voice", level=self.level))
        self.sequence += 1


@dataclass
class Setting:
    relay: Relay
    people: dict[str, Identity]
    http: str
    room: str
    sessions: list[Session] = field(default_factory=list)

    def join(self, name: str, **options) -> Session:
        session = Session(self.relay, self.people[name], http=self.http, **options)
        self.sessions.append(session)
        session.joined = session.ask("join", room=self.room)
        return session

    def voice(self, name: str) -> Voice:
        session = self.join(name)
        return Voice(session, session.publish("audio"), session.joined["participant"])

    def counter(self, name: str) -> float:
        status, _, text = self.relay.get("/metrics")
        assert status == 200
        return sum(number for sample, _, number in metrics.parse(text) if sample == name)


def play(voices: Iterable[Voice], listener: Session, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
    """Sends a frame of each voice every 20 ms while the listener listens. Answers whether `until` came true, at which it ends."""
    voices = list(voices)
    start = time.monotonic()
    for number in itertools.count(1):
        for voice in voices:
            voice.send()
        listener.drain(max(start + number * FRAME - time.monotonic(), 0.001))
        if until():
            return True
        if time.monotonic() - start >= seconds:
            return False


def told(listener: Session) -> list[list[int]]:
    """The streams that spoke by each `speakers` that has come."""
    return [[speaker["stream"] for speaker in event["speakers"]] for event in listener.events if event["type"] == "speakers"]


def play_until(voices: Iterable[Voice], listener: Session, order: list[int], seconds: float = 20) -> float:
    """Plays until the listener was told of these streams last; answers how long that took."""
    start = time.monotonic()
    assert play(voices, listener, seconds, lambda: told(listener)[-1:] == [order]), f"not {order}: {told(listener)}"
    return time.monotonic() - start


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def people(authority: Authority) -> dict[str, Identity]:
    return {name: authority.issue(name) for name in PEOPLE}


@pytest.fixture(scope="module")
def relays(
    start_relay: Callable[..., Relay], authority: Authority, people: dict[str, Identity], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Relay]:
    started: dict[int, Relay] = {}

    def relay(loops: int) -> Relay:
        if loops not in started:
            limits = {"speakersMax": SPEAKERS_MAX, "resumeMilliseconds": 20_000}
            config = configuration(tmp_path_factory.mktemp("server"), authority, policy=POLICY, limits=limits)
            started[loops] = start_relay(f"speakers-{loops}", loops=loops, config=config, authority=authority.certificate, identity=people["host"])
        return started[loops]

    return relay


@pytest.fixture(params=ROUTES, ids=lambda route: f"HTTP {route[0]}, {route[1]} loops")
def setting(request: pytest.FixtureRequest, relays: Callable[[int], Relay], people: dict[str, Identity]) -> Iterator[Setting]:
    http, loops = request.param
    setting = Setting(relays(loops), people, http, f"speakers-{next(ROOMS)}")
    yield setting
    for session in setting.sessions:
        session.close()
    setting.relay.assert_healthy()
    assert setting.counter("segue_frames_unaccounted") == 0


def test_who_speaks_is_told_to_everybody_and_silence_too(setting: Setting) -> None:
    listener, ann, bob = setting.join("host"), setting.voice("ann"), setting.voice("bob")
    play([ann, bob], listener, 0.5)
    assert told(listener) == []
    ann.level = 23
    play_until([ann, bob], listener, [ann.stream])
    event = [event for event in listener.events if event["type"] == "speakers"][-1]
    assert event == {"type": "speakers", "speakers": [{"participant": ann.participant, "stream": ann.stream, "level": event["speakers"][0]["level"]}]}
    assert -28 <= event["speakers"][0]["level"] <= -22
    # The speaker is told as well.
    ann.session.event("speakers", speakers=event["speakers"])
    ann.level = QUIET
    play_until([ann, bob], listener, [])
    assert told(listener) == [[ann.stream], []]


def test_a_pause_or_a_cough_changes_nothing(setting: Setting) -> None:
    listener, ann, bob = setting.join("host"), setting.voice("ann"), setting.voice("bob")
    ann.level = 23
    play_until([ann, bob], listener, [ann.stream])
    for _ in range(3):
        # 0.3 s of a pause in which somebody else coughs for 80 ms.
        ann.level, bob.level = QUIET, 12
        play([ann, bob], listener, 0.08)
        bob.level = QUIET
        play([ann, bob], listener, 0.2)
        ann.level = 23
        play([ann, bob], listener, 0.5)
    assert told(listener) == [[ann.stream]]


def test_the_louder_goes_first_when_it_is_clearly_louder(setting: Setting) -> None:
    listener, ann, bob = setting.join("host"), setting.voice("ann"), setting.voice("bob")
    ann.level = 30
    play_until([ann, bob], listener, [ann.stream])
    bob.level = 28
    play_until([ann, bob], listener, [ann.stream, bob.stream])
    play([ann, bob], listener, 1)
    assert told(listener)[-1] == [ann.stream, bob.stream]
    bob.level = 15
    play_until([ann, bob], listener, [bob.stream, ann.stream])
    ann.level = QUIET
    play_until([ann, bob], listener, [bob.stream])


def test_no_more_than_speakers_max_and_no_more_than_five_changes_a_second(setting: Setting) -> None:
    listener = setting.join("host")
    voices = [setting.voice(name) for name in PEOPLE[1:]]
    arrivals: list[float] = []

    def note() -> bool:
        arrivals.extend(time.monotonic() for _ in range(len(told(listener)) - len(arrivals)))
        return False

    for turn in range(12):
        for place, voice in enumerate(voices):
            voice.level = 15 + 8 * ((place + turn) % len(voices)) if (place + turn) % 3 else QUIET
        play(voices, listener, 0.4, note)
    orders = told(listener)
    assert len(orders) >= 3 and max(len(order) for order in orders) == SPEAKERS_MAX
    known = {voice.stream for voice in voices}
    assert all(set(order) <= known and len(set(order)) == len(order) for order in orders)
    # Six changes take a second at the relay; a busy machine may bring the first late.
    assert all(later - earlier > 0.5 for earlier, later in zip(arrivals, arrivals[5:]))


def test_streams_without_levels_and_those_of_silence_are_nobodys_voice(setting: Setting) -> None:
    listener, ann, bob = setting.join("host"), setting.voice("ann"), setting.voice("bob")
    ann.level, bob.level = 0x7F, 0x80 | 0x7F
    play([ann, bob], listener, 1.5)
    assert told(listener) == []


def test_whoever_is_muted_is_no_speaker(setting: Setting) -> None:
    listener, ann, bob = setting.join("host"), setting.voice("ann"), setting.voice("bob")
    ann.level, bob.level = 20, 34
    play_until([ann, bob], listener, [ann.stream, bob.stream])
    listener.ask("mute", participant=ann.participant, kinds=["audio"], muted=True)
    # Sooner than the second for which a pause is waited.
    play_until([ann, bob], listener, [bob.stream])
    play([ann, bob], listener, 1.5)
    assert told(listener)[-1] == [bob.stream]
    listener.ask("mute", participant=ann.participant, muted=False)
    play_until([ann, bob], listener, [ann.stream, bob.stream])


def test_whoever_is_interrupted_is_no_speaker(setting: Setting) -> None:
    listener, session = setting.join("host"), setting.join("ann")
    session.ask("session.init")
    session.ask("session.setActive", active=True)
    ann = Voice(session, session.publish("audio"), session.joined["participant"], level=20)
    play_until([ann], listener, [ann.stream])
    session.ask("interruption.began", reason="default")
    # Before any frame that would be dropped, and before the pause of a second is over.
    listener.event("participant.held", seconds=20, participant=ann.participant, held=True)
    listener.event("speakers", seconds=20, speakers=[])
    session.ask("interruption.ended", shouldResume=True)
    play_until([ann], listener, [ann.stream])


@pytest.mark.parametrize("end", ["unpublish", "leave", "close"])
def test_whose_stream_has_ended_is_no_speaker(setting: Setting, end: str) -> None:
    listener, ann = setting.join("host"), setting.voice("ann")
    ann.level = 20
    play_until([ann], listener, [ann.stream])
    if end == "unpublish":
        ann.session.ask("unpublish", stream=ann.stream)
    elif end == "leave":
        ann.session.ask("leave")
    else:
        ann.session.close()
    listener.event("speakers", speakers=[])


def test_who_comes_in_or_comes_back_is_told_who_speaks(setting: Setting) -> None:
    listener, ann = setting.join("host"), setting.voice("ann")
    assert "speakers" not in listener.joined
    ann.level = 20
    play_until([ann], listener, [ann.stream])
    late = setting.join("bob")
    assert [(one["participant"], one["stream"]) for one in late.joined["speakers"]] == [(ann.participant, ann.stream)]
    play([ann], listener, 0.1)
    again = Session(setting.relay, setting.people["bob"], http=setting.http, hello={"resume": {"token": late.welcome["resumeToken"]}})
    setting.sessions.append(again)
    assert [one["stream"] for one in again.welcome["resumed"]["room"]["speakers"]] == [ann.stream]


def test_segue_listen_says_who_speaks(setting: Setting) -> None:
    listener, ann = setting.join("host"), setting.voice("ann")
    listener.event("stream.published")
    for options, words in (("--json",), '"speakers"'), ((), "urn:segue:client:ann"):
        listener.events.clear()
        with Command(setting.relay, setting.people["eve"], "listen", "--room", setting.room, "--for", "4", *options) as command:
            ann.level = 23
            joined = listener.event("participant.joined")["participant"]
            play([ann], listener, 1.5)
            ann.level = QUIET
            play([ann], listener, 2)
            code, output, errors = command.ends()
        listener.event("participant.left", participant=joined)
        assert code == 0, errors
        if options:
            lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
            said = [line for line in lines if line.get("event") == "speakers"]
            assert [line["streams"] for line in said] == [str(ann.stream), ""], output
            assert said[0]["participants"].endswith("ann") and -28 <= int(said[0]["levels"]) <= -22
        else:
            assert "ann (-2" in output and "dBov) speaks" in output and "nobody speaks" in output, output


def test_configurations_have_no_level(setting: Setting) -> None:
    """The byte is that of audio frames alone (protocol §4.1): a configuration that has one is nobody's voice."""
    listener, ann = setting.join("host"), setting.voice("ann")
    for _ in range(50):
        ann.session.transport.send(frame_message(CONFIGURATION, ann.stream, 0, b"", level=10))
        listener.drain(FRAME)
    assert told(listener) == []
