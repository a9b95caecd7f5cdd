"""The policy: deny by default, patterns over the names of certificates made by openssl, two factors, reload with live members, bad files."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import metrics
from support.authority import Authority
from support.relay import ALLOW_ALL, Identity, Relay, binary, policy_path
from support.session import Refused, Session
from test_rooms import configuration

NAME = "urn:segue:client:"
# From the change of the file to the end of a membership.
RELOAD_SECONDS_MAX = 2


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def people(authority: Authority) -> dict[str, Identity]:
    names = {
        "alice": f"URI:{NAME}alice",
        "bob": f"URI:{NAME}bob",
        "stranger": "URI:urn:elsewhere:mallory",
        "device": "DNS:Cam-7.Devices.EXAMPLE.org",
        "mail": "email:Ann@Example.ORG",
        "both": f"URI:urn:elsewhere:x,DNS:host.example.net,email:second@example.org",
        # Names that look like what a pattern of another kind means.
        "url": "URI:https://cam-7.devices.example.org",
        "mailto": "URI:mailto:ann@example.org",
        "deep": "DNS:devices.example.org.evil.example",
        "prefix": f"URI:{NAME}alice-2",
        "nameless": "IP:192.0.2.1",
    }
    return {label: authority.issue(label, names=value) for label, value in names.items()}


@pytest.fixture
def start(
    start_relay: Callable[..., Relay], authority: Authority, people: dict[str, Identity], tmp_path: Path
) -> Iterator[Callable[..., Relay]]:
    relays: list[Relay] = []

    def run(policy: dict | None, loops: int = 1, **more) -> Relay:
        config = configuration(tmp_path, authority, policy=policy, **more)
        relays.append(start_relay("policy", loops=loops, config=config, authority=authority.certificate, identity=people["alice"]))
        return relays[-1]

    yield run
    for relay in relays:
        relay.stop()


def allow(*identities: str, rooms: tuple[str, ...] = ("*",), roles: tuple[str, ...] = ("speaker",), **more) -> dict:
    return {"identities": list(identities), "rooms": list(rooms), "roles": list(roles), **more}


def log_lines(relay: Relay, event: str) -> list[dict]:
    lines = (line for line in relay.log().splitlines() if line.startswith("{"))
    return [entry for entry in map(json.loads, lines) if entry.get("event") == event]


def until(what: str, condition, seconds: float = 10):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"{what} not within {seconds} s"
        time.sleep(0.02)
    return result


def enters(session: Session, room: str, code: str) -> bool:
    """Whether a session may join a room, which it leaves again; if not, it must be for the reason given."""
    try:
        session.ask("join", room=room)
    except Refused as refused:
        assert refused.code == code
        return False
    session.ask("leave")
    return True


# Denial


def test_without_a_policy_nobody_joins_anything(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start(None, loops=2)
    assert len(until("the warning", lambda: log_lines(relay, "no_policy"))) == 1
    for http in ("1.1", "2"):
        with Session(relay, people["alice"], http=http) as alice:
            for room in ("demo", "a", "x" * 128):
                assert alice.refusal("join", room=room) == "not_allowed"
            for role in ("host", "speaker", "listener", "recorder"):
                assert alice.refusal("join", room="demo", role=role) == "not_allowed"
    relay.assert_healthy()


def test_a_certificate_of_the_authority_alone_implies_no_room(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    """The stranger's certificate is as good as the others': it opens a session, and nothing else."""
    relay = start({"access": [allow(f"{NAME}*", rooms=("team", "hall"))]})
    with Session(relay, people["alice"]) as alice, Session(relay, people["stranger"]) as stranger:
        alice.ask("join", room="team")
        assert stranger.welcome["identity"]["name"] == "urn:elsewhere:mallory"
        # Whether the room is there makes no difference.
        refusals = []
        for room in ("team", "hall", "nowhere", "pair:" + "0" * 64):
            number = stranger.send("join", room=room)
            answer = stranger.wait("answer", lambda number=number: stranger.answers.get(number))
            refusals.append({name: value for name, value in answer.items() if name != "id"})
        assert all(refusal == refusals[0] for refusal in refusals) and refusals[0]["code"] == "not_allowed"
        assert stranger.refusal("subscribe", all=True) == "not_in_room"
        alice.barrier()
        assert alice.events == []
        assert alice.refusal("join", room="other") == "already_in_room"
    with Session(relay, people["alice"]) as alice:
        assert alice.refusal("join", room="other") == "not_allowed"
    refused = until("the audit", lambda: [line for line in log_lines(relay, "audit") if line["actor"] == "urn:elsewhere:mallory"])
    assert len(refused) == 4
    assert {(line["act"], line["outcome"], line["code"]) for line in refused} == {("join", "refused", "not_allowed")}
    assert refused[0]["room"] == "team" and refused[0]["address"].startswith("127.0.0.1:")


def test_no_rule_opens_a_pairs_room(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start({"access": [allow("*", rooms=("*", "pair:*"), roles=("host", "speaker"))]})
    with Session(relay, people["alice"]) as alice:
        for room in ("pair:", "pair:x", "pair:" + "0" * 64):
            assert alice.refusal("join", room=room) == "not_allowed"
            assert alice.refusal("join", room=room, role="host") == "not_allowed"


def test_a_room_that_asks_for_two_factors_says_which_is_missing(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start({"access": [allow("*")], "rooms": [{"rooms": ["vault"], "requires": ["certificate", "token"]}]})
    with Session(relay, people["alice"]) as alice:
        number = alice.send("join", room="vault")
        answer = alice.wait("answer", lambda: alice.answers.get(number))
        assert answer["code"] == "proof_required" and "a token" in answer["message"] and "certificate" not in answer["message"]
        alice.ask("join", room="hall")


# (pattern, who is meant by it). Everybody else is not.
PATTERNS = [
    (f"{NAME}alice", {"alice"}),
    (f"{NAME}*", {"alice", "bob", "prefix"}),
    ("*.devices.example.org", {"device"}),
    ("*.DEVICES.example.org", {"device"}),
    ("*@example.org", {"mail", "both"}),
    ("Ann@example.org", {"mail"}),
    ("ann@example.org", set()),
    ("*@*", {"mail", "both"}),
    ("*.example.net", {"both"}),
    ("https://*", {"url"}),
    ("*:*", {"alice", "bob", "stranger", "both", "url", "mailto", "prefix"}),
    ("token:*", set()),
    ("spki:*", {"alice", "bob", "stranger", "device", "mail", "both", "url", "mailto", "deep", "prefix", "nameless"}),
    ("*", {"alice", "bob", "stranger", "device", "mail", "both", "url", "mailto", "deep", "prefix", "nameless"}),
]


def test_patterns_mean_names_of_their_own_kind(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    rules = [allow(pattern, rooms=(f"room-{number}",)) for number, (pattern, _) in enumerate(PATTERNS)]
    relay = start({"access": rules})
    faults = []
    for label, identity in people.items():
        with Session(relay, identity) as session:
            for number, (pattern, meant) in enumerate(PATTERNS):
                joined = enters(session, f"room-{number}", "not_allowed")
                if joined != (label in meant):
                    faults.append(f"{pattern} {'admits' if joined else 'refuses'} {label}")
    assert not faults, "\n".join(faults)


def test_the_first_rule_decides(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start({"access": [allow(f"{NAME}alice", rooms=("team-*",), roles=("listener",)), allow("*", roles=("speaker", "host"))]})
    with Session(relay, people["alice"]) as alice:
        assert alice.refusal("join", room="team-1", role="host") == "not_allowed"
        assert alice.ask("join", room="team-1")["role"] == "listener"
        alice.ask("leave")
        assert alice.ask("join", room="hall", role="host")["role"] == "host"


# Reload


@pytest.mark.parametrize("loops", [1, 3])
def test_a_reload_takes_out_who_is_no_longer_allowed(start: Callable[..., Relay], people: dict[str, Identity], loops: int) -> None:
    relay = start({"access": [allow("*", roles=("speaker", "host"))]}, loops=loops)
    with (
        Session(relay, people["alice"]) as alice,
        Session(relay, people["bob"], http="2") as bob,
        Session(relay, people["bob"]) as second,
        Session(relay, people["stranger"]) as stranger,
    ):
        alice.ask("join", room="team")
        alice.ask("subscribe", all=True)
        bobs = [bob.ask("join", room="team")["participant"], second.ask("join", room="team")["participant"]]
        stranger.ask("join", room="elsewhere")
        stream = bob.publish("audio")
        bob.media("audio", stream, b"before")
        alice.frame(b"before")
        relay.write_policy({"access": [allow(f"{NAME}alice"), allow(f"{NAME}bob", rooms=("hall",))]})
        changed = time.monotonic()
        for session, room in ((bob, "team"), (second, "team"), (stranger, "elsewhere")):
            assert session.event("room.removed") == {"type": "room.removed", "room": room, "reason": "policy"}
        assert time.monotonic() - changed < RELOAD_SECONDS_MAX
        for number in bobs:
            assert alice.event("participant.left", participant=number)["reason"] == "removed"
        alice.event("stream.ended", stream=stream)
        bob.media("audio", stream, b"after")
        assert bob.refusal("join", room="team") == "not_allowed"
        bob.ask("join", room="hall")
        own = alice.publish("audio")
        alice.media("audio", own, b"nobody hears this")
        alice.barrier()
        second.drain()
        assert second.payloads() == []
    relay.assert_healthy()
    assert [line for line in log_lines(relay, "reloaded") if line["part"] == "policy"]


def test_a_reload_changes_roles_ceilings_and_bounds_of_live_members(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start({"access": [allow("*", roles=("host", "speaker"))]}, loops=3)
    with Session(relay, people["alice"]) as alice, Session(relay, people["bob"]) as bob, Session(relay, people["stranger"]) as guest:
        alice.ask("join", room="team")
        bobs = bob.ask("join", room="team", role="speaker")["participant"]
        guests = guest.ask("join", room="team", role="speaker")["participant"]
        alice.ask("promote", participant=guests, role="host")
        guest.event("participant.changed", participant=guests, role="host")
        video, audio = bob.publish("video"), bob.publish("audio")
        relay.write_policy(
            {
                "access": [
                    allow(f"{NAME}alice", roles=("listener",)),
                    allow(f"{NAME}bob", roles=("speaker",), publish=["audio"]),
                    allow("*", roles=("speaker",)),
                ],
                "rooms": [{"rooms": ["team"], "bitRateMax": 8_000, "participantsMax": 3}],
            }
        )
        # Given by the policy: gone with it. Given by a host: kept.
        guest.event("participant.changed", role="listener")
        assert alice.refusal("lock", locked=True) == "not_host"
        guest.ask("lock", locked=False)
        # Of a kind above the new ceiling: ended, the publisher told. The other goes on.
        bob.event("stream.ended", stream=video)
        bob.media("video", video, b"under way", 1)
        assert bob.refusal("publish", kind="video", codec="vp8") == "not_allowed"
        alice.ask("subscribe", all=True)
        for _ in range(3):
            bob.media("audio", audio, bytes(900))
        bob.barrier()
        alice.drain(0.5)
        assert len(alice.payloads(audio)) <= 2, "the new bit rate does not hold for who was there before"
        with Session(relay, people["device"]) as late:
            until("the new bound", lambda: not enters(late, "team", "participants_max"))
        guest.ask("promote", participant=bobs, role="listener")
        bob.event("stream.ended", stream=audio)


def test_a_reload_reaches_the_lobby(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    rooms = [{"rooms": ["*"], "lobby": True}]
    relay = start({"access": [allow(f"{NAME}alice", roles=("host",)), allow("*")], "rooms": rooms}, loops=2)
    with Session(relay, people["alice"]) as alice, Session(relay, people["bob"]) as bob, Session(relay, people["stranger"]) as stranger:
        alice.ask("join", room="team")
        waiting = {name: session.ask("join", room="team")["participant"] for name, session in (("bob", bob), ("stranger", stranger))}
        relay.write_policy({"access": [allow(f"{NAME}alice", roles=("host",)), allow(f"{NAME}bob", roles=("listener",))], "rooms": rooms})
        assert stranger.event("room.removed")["reason"] == "policy"
        alice.event("lobby.left", participant=waiting["stranger"])
        alice.ask("admit", participant=waiting["bob"])
        # His loop may hear of the new policy after the stranger's: then he is told once he is in.
        if bob.event("room.admitted")["role"] != "listener":
            bob.event("participant.changed", participant=waiting["bob"], role="listener")
        assert bob.refusal("publish", kind="audio", codec="opus") == "role"


def test_sighup_reloads_at_once(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start({"access": [allow("*")]}, reloadCheckMilliseconds=3_600_000)
    with Session(relay, people["alice"]) as alice:
        alice.ask("join", room="team")
        relay.write_policy({})
        relay.reload()
        assert alice.event("room.removed")["reason"] == "policy"


# Bad files


def stale(relay: Relay) -> float:
    return next(
        value for name, labels, value in metrics.parse(relay.get("/metrics")[2]) if name == "segue_reload_failed" and labels["part"] == "policy"
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{ access: [", "policy"),
        ('{"access": [{"identities": ["*"], "rooms": ["*"], "roles": ["emperor"]}]}', "policy.access[0].roles[0]"),
        ('{"acces": []}', "policy.acces"),
        (None, "policy"),
    ],
    ids=["half a file", "a role that is none", "an unknown key", "no file"],
)
def test_a_bad_file_keeps_the_old_policy(start: Callable[..., Relay], people: dict[str, Identity], content: str | None, told: str) -> None:
    relay = start({"access": [allow(f"{NAME}alice", f"{NAME}bob")]})
    with Session(relay, people["alice"]) as alice:
        alice.ask("join", room="team")
        assert stale(relay) == 0
        assert relay.get("/readyz")[2] == "ready\n"
        if content is None:
            policy_path(relay.state).unlink()
        else:
            relay.write_policy(content)
        until("the failed reload", lambda: stale(relay) == 1)
        status, _, body = relay.get("/readyz")
        assert status == 200 and body == "ready\nstale: policy\n"
        failures = [line for line in log_lines(relay, "reload_failed") if line["part"] == "policy"]
        assert failures and told in failures[0]["fault"]
        # Nothing has changed for anybody.
        assert alice.publish("audio")
        with Session(relay, people["bob"]) as bob, Session(relay, people["stranger"]) as stranger:
            bob.ask("join", room="team")
            assert stranger.refusal("join", room="team") == "not_allowed"
        assert alice.types().count("room.removed") == 0
        relay.write_policy({"access": [allow("*")]})
        until("the good reload", lambda: stale(relay) == 0)
        assert relay.get("/readyz")[2] == "ready\n"
        with Session(relay, people["stranger"]) as stranger:
            stranger.ask("join", room="team")


def run_segue(*arguments: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEGUE_") or name == "SEGUE_BIN"}
    return subprocess.run([str(binary()), *arguments], capture_output=True, text=True, timeout=60, env=environment)


def test_check_and_serve_tell_all_faults_of_a_policy(authority: Authority, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json5"
    policy.write_text("{ access: [{identities: ['a b'], rooms: [], roles: ['boss']}], colour: 1, rooms: [{rooms: ['*'], bitRateMax: 1}] }")
    config = tmp_path / "segue.json5"
    config.write_text(json.dumps(configuration(tmp_path, authority, policy=str(policy))))
    faults = (
        "policy.access[0].identities[0]",
        "policy.access[0].rooms",
        "policy.access[0].roles[0]",
        "policy.colour",
        "policy.rooms[0].bitRateMax",
    )
    for command in ("check", "serve"):
        result = run_segue(command, "--config", str(config))
        assert result.returncode == 3, (command, result)
        for fault in faults:
            assert fault in result.stdout + result.stderr, (command, fault, result)
    policy.write_text(json.dumps(ALLOW_ALL))
    result = run_segue("check", "--config", str(config), "--json")
    assert {finding["status"] for finding in json.loads(result.stdout)["findings"] if finding["subject"] in ("policy", str(policy))} == {"ok"}, result.stdout


# Audit


def test_acts_of_hosts_are_in_the_audit_log(start: Callable[..., Relay], people: dict[str, Identity]) -> None:
    relay = start({"access": [allow(f"{NAME}alice", roles=("host",)), allow("*", roles=("speaker",))]}, loops=2)
    with Session(relay, people["alice"]) as alice, Session(relay, people["bob"]) as bob:
        alice.ask("join", room="team")
        number = bob.ask("join", room="team")["participant"]
        assert bob.refusal("lock", locked=True) == "not_host"
        alice.ask("mute", participant=number, muted=True)
        alice.ask("promote", participant=number, role="listener")
        bob.event("participant.changed", role="listener")
        assert bob.refusal("publish", kind="audio", codec="opus") == "role"
        alice.ask("remove", participant=number)
        alice.ask("end")
    expected = [
        ("lock", "bob", "refused", "not_host", None),
        ("mute", "alice", "done", None, str(number)),
        ("promote", "alice", "done", None, str(number)),
        ("publish", "bob", "refused", "role", None),
        ("remove", "alice", "done", None, str(number)),
        ("end", "alice", "done", None, None),
    ]

    def acts() -> list[tuple]:
        return [
            (line["act"], line["actor"].removeprefix(NAME), line["outcome"], line.get("code"), line.get("participant"))
            for line in log_lines(relay, "audit")
            if line["room"] == "team"
        ]

    until("the audit records", lambda: len(acts()) >= len(expected))
    assert sorted(acts(), key=str) == sorted(expected, key=str)
