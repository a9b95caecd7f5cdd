"""`segue publish` and `segue listen` in rooms with a lobby and with hosts who act: what they say, and the code that they end with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.authority import Authority
from support.relay import Identity, Relay, binary
from support.session import Refused, Session
from test_rooms import POLICY, configuration

SECONDS_MAX = 30


@pytest.fixture(scope="module")
def people(authority: Authority) -> dict[str, Identity]:
    return {name: authority.issue(name) for name in ("host", "sam", "lena", "stranger")}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def relay(
    start_relay: Callable[..., Relay], authority: Authority, people: dict[str, Identity], tmp_path_factory: pytest.TempPathFactory
) -> Relay:
    config = configuration(tmp_path_factory.mktemp("server"), authority, policy=POLICY)
    return start_relay("commands", loops=2, config=config, authority=authority.certificate, identity=people["host"])


@pytest.fixture
def host(relay: Relay) -> Iterator[Session]:
    with Session(relay) as session:
        yield session
    relay.assert_healthy()


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("media") / "tone.opus"
    subprocess.run(
        ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=60", "-c:a", "libopus", str(path)],
        check=True,
        timeout=60,
    )
    return path


class Command:
    """A `segue` at work; ended with the block."""

    def __init__(self, relay: Relay, identity: Identity, *arguments: str):
        credentials = ("--ca", relay.authority, "--cert", identity.certificate, "--key", identity.key)
        command = [binary(), arguments[0], "--connect", f"localhost:{relay.port}", *credentials, *arguments[1:]]
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def ends(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=SECONDS_MAX)
        return self.process.returncode, output, errors


def test_listen_waits_in_the_lobby_and_is_let_in(relay: Relay, host: Session, people: dict[str, Identity]) -> None:
    host.ask("join", room="lobby-listen")
    with Command(relay, people["lena"], "listen", "--room", "lobby-listen", "--json") as command:
        waiting = host.event("lobby.waiting")
        host.ask("admit", participant=waiting["participant"])
        host.event("participant.joined", participant=waiting["participant"])
        lines = []
        while not lines or '"listening"' not in lines[-1]:
            lines.append(command.process.stdout.readline())
            assert lines[-1], "it ended before it listened"
        host.ask("end")
        lines += command.process.stdout.readlines()
        assert command.process.wait(SECONDS_MAX) == 0
    events = [json.loads(line) for line in lines]
    told = [event["event"] for event in events]
    assert told[0] == "waiting" and told[-1] == "summary" and "listening" in told
    assert next(event for event in events if event["event"] == "removed")["reason"] == "ended"


@pytest.mark.parametrize("command", ["listen", "publish"])
def test_not_let_in_ends_with_code_5(relay: Relay, host: Session, people: dict[str, Identity], speech: Path, command: str) -> None:
    room = f"lobby-deny-{command}"
    host.ask("join", room=room)
    more = (speech,) if command == "publish" else ()
    with Command(relay, people["sam"], command, "--room", room, *more) as running:
        host.ask("deny", participant=host.event("lobby.waiting")["participant"])
        code, _, errors = running.ends()
    assert code == 5 and "did not let this client in" in errors, errors


@pytest.mark.parametrize("command", ["listen", "publish"])
def test_taken_out_ends_with_code_5(relay: Relay, host: Session, people: dict[str, Identity], speech: Path, command: str) -> None:
    room = f"remove-{command}"
    host.ask("join", room=room)
    more = (speech,) if command == "publish" else ()
    with Command(relay, people["sam"], command, "--room", room, *more) as running:
        number = host.event("participant.joined")["participant"]
        if command == "publish":
            host.event("stream.published")
        host.ask("remove", participant=number)
        code, _, errors = running.ends()
    assert code == 5 and "taken this client out" in errors, errors


def test_publish_tells_of_a_mute_and_of_a_lost_right(relay: Relay, host: Session, people: dict[str, Identity], speech: Path) -> None:
    host.ask("join", room="rights")
    with Command(relay, people["sam"], "publish", "--room", "rights", speech) as running:
        number = host.event("participant.joined")["participant"]
        host.event("stream.published")
        host.ask("mute", participant=number, kinds=["audio"], muted=True)
        host.event("participant.changed")
        host.ask("promote", participant=number, role="listener")
        code, _, errors = running.ends()
    assert code == 5 and "muted by a host: audio" in errors and "may not publish it any more" in errors, errors


def test_roles_on_the_command_line(relay: Relay, host: Session, people: dict[str, Identity], speech: Path) -> None:
    host.ask("join", room="asked")
    with Command(relay, people["sam"], "listen", "--room", "asked", "--role", "recorder"):
        assert host.event("participant.joined")["role"] == "recorder"
    for identity, arguments, said in (
        ("lena", ("listen", "--room", "asked", "--role", "host"), "not_allowed"),
        ("lena", ("publish", "--room", "asked", speech), "(role)"),
        ("stranger", ("listen", "--room", "asked"), "not_allowed"),
    ):
        with Command(relay, people[identity], *arguments) as running:
            code, _, errors = running.ends()
        assert code == 5 and said in errors, (arguments, errors)
    with Command(relay, people["lena"], "listen", "--room", "asked", "--role", "emperor") as running:
        code, _, errors = running.ends()
    assert code == 2 and "emperor" in errors


def room_command(relay: Relay, identity: Identity, *words: str) -> subprocess.CompletedProcess[str]:
    credentials = ("--ca", relay.authority, "--cert", identity.certificate, "--key", identity.key)
    command = [binary(), "room", words[0], "--connect", f"localhost:{relay.port}", *credentials, *words[1:]]
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX)


def act(relay: Relay, identity: Identity, *words: str) -> str:
    """`segue room` to its end, which must be good."""
    done = room_command(relay, identity, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def waits(relay: Relay, identity: Identity, room: str) -> tuple[Session, int]:
    session = Session(relay, identity)
    answer = session.ask("join", room=room)
    assert answer["state"] == "waiting"
    return session, answer["participant"]


def test_the_lobby_is_worked_from_the_command_line(relay: Relay, people: dict[str, Identity]) -> None:
    room = "lobby-worked"
    (sam, number), (lena, _) = waits(relay, people["sam"], room), waits(relay, people["lena"], room)
    with sam, lena:
        shown = json.loads(act(relay, people["host"], "show", room, "--json"))
        assert [who["identity"]["name"] for who in shown["waiting"]] == ["urn:segue:client:sam", "urn:segue:client:lena"]
        assert shown["participants"] == [] and not shown["locked"]
        assert "lobby" in act(relay, people["host"], "show", room)
        act(relay, people["host"], "admit", room, str(number))
        assert sam.event("room.admitted")["room"] == room
        act(relay, people["host"], "deny", room, "lena")
        assert lena.event("room.removed")["reason"] == "denied"
        assert json.loads(act(relay, people["host"], "show", room, "--json"))["participants"][0]["participant"] == number
    relay.assert_healthy()


def test_several_are_let_in_at_once(relay: Relay, people: dict[str, Identity]) -> None:
    room = "lobby-several"
    (sam, _), (lena, _) = waits(relay, people["sam"], room), waits(relay, people["lena"], room)
    with sam, lena:
        act(relay, people["host"], "admit", room, "urn:segue:client:sam", "lena")
        for session in (sam, lena):
            session.event("room.admitted")


def test_moderation_from_the_command_line(relay: Relay, host: Session, people: dict[str, Identity]) -> None:
    room = "moderated"
    host.ask("join", room=room)
    with Session(relay, people["sam"]) as sam:
        mine = sam.ask("join", room=room)["participant"]
        for words, changed in (
            (("mute", room, "sam", "--kind", "audio"), {"muted": ["audio"], "role": "speaker"}),
            (("unmute", room, "sam"), {"muted": [], "role": "speaker"}),
            (("promote", room, str(mine), "--to", "listener"), {"muted": [], "role": "listener"}),
        ):
            act(relay, people["host"], *words)
            assert sam.event("participant.changed") == {"type": "participant.changed", "participant": mine, **changed}
        act(relay, people["host"], "lock", room)
        assert sam.event("room.locked")["locked"]
        with Session(relay, people["lena"]) as lena, pytest.raises(Refused) as refused:
            lena.ask("join", room=room)
        assert refused.value.code == "room_locked"
        act(relay, people["host"], "unlock", room)
        assert not sam.event("room.locked")["locked"]
        act(relay, people["host"], "remove", room, "sam")
        assert sam.event("room.removed")["reason"] == "removed"
    act(relay, people["host"], "end", room)
    assert host.event("room.removed")["reason"] == "ended"


def test_what_a_host_on_the_command_line_may_not_or_cannot_do(relay: Relay, host: Session, people: dict[str, Identity]) -> None:
    room = "may-not"
    host.ask("join", room=room)
    with Session(relay, people["sam"]) as first, Session(relay, people["sam"]) as second:
        numbers = [session.ask("join", room=room)["participant"] for session in (first, second)]
        for identity, words, status, said in (
            ("sam", ("remove", room, "host"), 5, "not_allowed"),
            ("host", ("remove", room, "nobody"), 1, "'nobody' is not in may-not"),
            ("host", ("admit", room, "sam"), 1, "in the room already"),
            ("host", ("remove", room, "sam"), 1, f"one of {numbers[0]}, {numbers[1]}"),
            ("host", ("promote", room, "sam"), 2, "--to"),
            ("host", ("admit", room), 2, "WHO"),
        ):
            done = room_command(relay, people[identity], *words)
            assert done.returncode == status and said in done.stderr, (words, done.stderr)


def test_a_host_who_listens_is_told_who_waits(relay: Relay, people: dict[str, Identity]) -> None:
    room = "lobby-told"
    before, number = waits(relay, people["sam"], room)
    with before, Command(relay, people["host"], "listen", "--room", room, "--json") as command:

        def until(event: str, number: int) -> dict:
            while True:
                line = command.process.stdout.readline()
                assert line, f"it ended before it told of {event}"
                told = json.loads(line)
                if told["event"] == event and told["number"] == str(number):
                    return told

        assert until("lobby", number)["identity"] == "urn:segue:client:sam"
        later, number = waits(relay, people["lena"], room)
        with later:
            assert until("lobby", number)["participant"] == "lena"
        assert until("lobby-left", number)["participant"] == "lena"


def test_nothing_was_published_is_said_by_who_has_listened_only(relay: Relay, people: dict[str, Identity]) -> None:
    with Command(relay, people["stranger"], "listen", "--room", "quiet") as running:
        code, output, _ = running.ends()
    assert code == 5 and "nothing was published" not in output
    with Command(relay, people["sam"], "listen", "--room", "quiet", "--for", "0.5") as running:
        code, output, _ = running.ends()
    assert code == 0 and output.endswith("nothing was published\n")
