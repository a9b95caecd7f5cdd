"""Pairs between real certificates made by openssl: how they are made, who stays out of their rooms, and how they end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import tls
from support.authority import Authority
from support.relay import Identity, Relay
from support.session import AUDIO, CONFIGURATION, Refused, Session, frame_message
from support.stopwatch import Stopwatch
from websockets.exceptions import WebSocketException

ALPHABET = "23456789ACDEFGHJKMNPQRTWXY"
PEOPLE = ("alice", "bob", "carol", "mallory", "operator", "intercom", "desk", "guest")


def policy(*, grant_seconds: int = 3_600, pairs: bool = True) -> dict:
    everybody = ["urn:segue:client:*"]
    return {
        "admins": ["urn:segue:client:operator"],
        "access": [{"identities": ["*"], "rooms": ["*"], "roles": ["host", "speaker"]}],
        "pairing": {
            "pairs": [{"a": ["urn:segue:client:intercom"], "b": ["urn:segue:client:desk"]}] if pairs else [],
            "requests": [{"from": everybody, "to": ["urn:segue:client:alice", "urn:segue:client:bob", "urn:segue:client:carol"]}],
            "codes": everybody,
            "grantSeconds": grant_seconds,
        },
    }


@dataclass
class Setting:
    folder: Path
    authority: Authority
    clients: dict[str, Identity]
    start: Callable[..., Relay]
    loops: int
    relays: list[Relay] = field(default_factory=list)

    @property
    def relay(self) -> Relay:
        return self.relays[-1]

    @property
    def policy_file(self) -> Path:
        return self.folder / "policy.json5"

    def write_policy(self, content: dict) -> None:
        fresh = self.policy_file.with_suffix(".new")
        fresh.write_text(json.dumps(content))
        fresh.replace(self.policy_file)

    def start_relay(self, **members: object) -> Relay:
        config = {
            "listen": ["127.0.0.1:0"],
            "node": "bench",
            "policy": str(self.policy_file),
            "state": str(self.folder / "state"),
            "reloadCheckMilliseconds": 100,
            # What is measured here is not how fast the machine is.
            "limits": {"audioDeadlineMilliseconds": 30_000},
            "tls": {
                "certificates": [{"chain": str(self.folder / "ca/server.pem"), "key": str(self.folder / "ca/server-key.pem")}],
                "clientAuthorities": [str(self.authority.certificate)],
                "revocationLists": [str(self.authority.revocations)],
                "clientCertificates": "required",
            },
        } | members
        relay = self.start(
            "pairing", config=config, loops=self.loops, authority=self.authority.certificate, identity=self.clients["operator"]
        )
        self.relays.append(relay)
        return relay

    def session(self, name: str, **options: object) -> Session:
        return Session(self.relay, self.clients[name], **options)


@pytest.fixture(scope="module", params=[1, 3], ids=["1 loop", "3 loops"])
def setting(request: pytest.FixtureRequest, start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("pairing")
    authority = Authority.create(folder / "ca")
    authority.issue_server()
    clients = {name: authority.issue(name) for name in PEOPLE}
    clients["bob's telephone"] = authority.issue("bob-telephone", names="URI:urn:segue:client:bob")
    setting = Setting(folder, authority, clients, start_relay, request.param)
    setting.write_policy(policy())
    setting.start_relay()
    return setting


@pytest.fixture(autouse=True)
def still_healthy(setting: Setting) -> Iterator[None]:
    yield
    setting.relay.assert_healthy()


@contextlib.contextmanager
def sessions(setting: Setting, *names: str) -> Iterator[list[Session]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(setting.session(name)) for name in names]


def pair_by_code(first: Session, second: Session) -> dict:
    """Pairs the two; what the second got for the first's code. The first's `pair.made` is taken."""
    code = first.ask("pair.code")["code"]
    pair = second.ask("pair.enter", code=code)["pair"]
    assert first.event("pair.made")["pair"]["pair"] == pair["pair"]
    return pair


def end(session: Session, pair: dict) -> None:
    session.ask("pair.revoke", pair=pair["pair"])


def expect_end(session: Session, pair: dict, reason: str, reason_of_room: str) -> None:
    """The end of a pair as who is in its room hears it: the pair's first, the room's right after (protocol §3.14)."""
    ends = ("pair.revoked", "room.removed")
    session.wait("end of the pair and its room", lambda: True if set(ends) <= {*session.types()} else None)
    heard = [event for event in session.events if event["type"] == ends[1] or event.get("pair") == pair["pair"] and event["type"] == ends[0]]
    assert heard == [
        {"type": "pair.revoked", "pair": pair["pair"], "reason": reason},
        {"type": "room.removed", "room": pair["room"], "reason": reason_of_room},
    ]
    session.events = [event for event in session.events if event["type"] not in ends]


def room_of(first: str, second: str) -> str:
    low, high = sorted((first, second))
    return "pair:" + hashlib.sha256(f"segue-pair-v1\n{low}\n{high}".encode()).hexdigest()


def verify(relay: Relay, text: str, kind: str) -> dict:
    """What a statement or a grant says, once PyJWT believes it by the relay's published key."""
    status, fields, body = relay.get("/v1/keys")
    assert status == 200 and fields["content-type"] == "application/jwk-set+json"
    key = jwt.PyJWKSet.from_dict(json.loads(body))[jwt.get_unverified_header(text)["kid"]]
    assert jwt.get_unverified_header(text)["typ"] == kind
    return jwt.decode(text, key, algorithms=["EdDSA"], options={"require": ["exp", "iat", "iss"]})


# MARK: Three ways to a pair


def test_by_request_and_consent(setting: Setting) -> None:
    with sessions(setting, "alice", "bob", "alice", "bob") as (alice, bob, alice_too, bob_too):
        asked = alice.ask("pair.request", peer=bob.name)
        for device in (bob, bob_too):
            invitation = device.event("pair.requested")
            assert invitation["request"] == asked["request"] and invitation["expires"] == asked["expires"]
            assert invitation["identity"] == {"name": alice.name, "fingerprint": alice.fingerprint, "proof": "certificate"}
        assert 115_000 < asked["expires"] - alice.welcome["serverTime"] < 125_000
        assert bob.ask("pair.list")["requests"][0]["direction"] == "in"
        assert alice.ask("pair.list")["requests"][0]["direction"] == "out"
        pair = bob.ask("pair.accept", request=asked["request"])["pair"]
        assert bob_too.event("pair.withdrawn") == {"type": "pair.withdrawn", "request": asked["request"], "reason": "answered"}
        assert bob_too.event("pair.made")["pair"] == pair
        for device in (alice, alice_too):
            made = device.event("pair.made")
            assert made["request"] == asked["request"] and made["pair"]["peer"]["fingerprint"] == bob.fingerprint
        assert pair["room"] == room_of(alice.fingerprint, bob.fingerprint) and pair["basis"] == "grant"
        assert pair["peer"] == {"name": alice.name, "fingerprint": alice.fingerprint, "proof": "certificate"}
        assert alice.ask("pair.list")["pairs"][0]["pair"] == pair["pair"]
        # Media passes between the two, whichever devices they join with.
        alice_too.ask("join", room=pair["room"])
        answer = bob.ask("join", room=pair["room"], grant=pair["grant"])
        assert answer["role"] == "speaker" and [one["identity"]["name"] for one in answer["participants"]] == [alice.name, bob.name]
        stream = alice_too.ask("publish", kind="audio", codec="opus")["stream"]
        bob.event("stream.published")
        bob.ask("subscribe", all=True)
        # The wish for the stream may still be on its way to the publisher's loop: only the configuration waits for it.
        alice_too.send_message(frame_message(CONFIGURATION, stream, 0, b""))
        assert bob.next_message() == frame_message(CONFIGURATION, stream, 0, b"")
        sent = [frame_message(AUDIO, stream, number, bytes([number]) * 40) for number in range(5)]
        for one in sent:
            alice_too.send_message(one)
        assert [bob.next_message() for _ in sent] == sent
        end(alice, pair)


def test_by_code(setting: Setting) -> None:
    with sessions(setting, "alice", "bob") as (alice, bob):
        shown = alice.ask("pair.code")
        assert len(shown["code"]) == 8 and set(shown["code"]) <= set(ALPHABET)
        typed = f" {shown['code'][:4].lower()}-{shown['code'][4:]} "
        pair = bob.ask("pair.enter", code=typed)["pair"]
        assert pair["basis"] == "code" and pair["peer"]["fingerprint"] == alice.fingerprint
        assert alice.event("pair.made")["pair"]["peer"]["fingerprint"] == bob.fingerprint
        end(bob, pair)
        assert alice.event("pair.revoked") == {"type": "pair.revoked", "pair": pair["pair"], "reason": "revoked"}


def test_by_policy_and_its_end(setting: Setting) -> None:
    """The operator pairs the two; when the file no longer does, their room ends within a second, and no consent brings it back."""
    with sessions(setting, "intercom", "desk") as (intercom, desk):
        pair = intercom.ask("pair.request", peer=desk.name)["pair"]
        assert pair["basis"] == "policy" and "grant" not in pair and "expires" not in pair
        assert desk.event("pair.made")["pair"]["pair"] == pair["pair"]
        assert verify(setting.relay, pair["statement"], "segue-pair+jwt")["basis"] == "policy"
        for session in (intercom, desk):
            session.ask("join", room=pair["room"])
        assert desk.refusal("pair.revoke", pair=pair["pair"]) == "not_allowed"
        try:
            setting.write_policy(policy(pairs=False))
            with Stopwatch() as watch:
                for session in (intercom, desk):
                    expect_end(session, pair, "policy", "policy")
            assert watch.own < 1, watch
            assert intercom.refusal("join", room=pair["room"]) == "not_allowed"
        finally:
            setting.write_policy(policy())
        wait_until(lambda: is_done(desk, "pair.request", peer=intercom.name))
        desk.ask("join", room=pair["room"])


def is_done(session: Session, kind: str, **members: object) -> bool:
    try:
        session.ask(kind, **members)
    except Refused:
        return False
    return True


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def test_several_devices_of_one_identity(setting: Setting) -> None:
    with sessions(setting, "alice", "bob") as (alice, laptop), setting.session("bob's telephone", hello={"device": "telephone"}) as telephone:
        assert laptop.name == telephone.name and laptop.fingerprint != telephone.fingerprint
        assert alice.refusal("pair.request", peer=laptop.name) == "peer_ambiguous"
        seen = alice.ask("pair.devices", peer=laptop.name)["devices"]
        assert {one["fingerprint"] for one in seen} == {laptop.fingerprint, telephone.fingerprint}
        assert all("device" not in one and one["sessions"] == 1 for one in seen)
        own = laptop.ask("pair.devices", peer=laptop.name)["devices"]
        assert [one.get("device") for one in own if one["fingerprint"] == telephone.fingerprint] == ["telephone"]
        asked = alice.ask("pair.request", peer=telephone.name, fingerprint=telephone.fingerprint)
        assert telephone.event("pair.requested")["request"] == asked["request"]
        assert laptop.refusal("pair.accept", request=asked["request"]) == "unknown_request"
        assert laptop.news() == []
        pair = telephone.ask("pair.accept", request=asked["request"])["pair"]
        # A pair is two keys: the other device of the same person is not in it.
        assert laptop.refusal("join", room=pair["room"], grant=pair["grant"]) == "not_allowed"
        telephone.ask("join", room=pair["room"])
        # One's own devices pair with each other as any two do.
        own_pair = pair_by_code(laptop, telephone)
        assert own_pair["peer"]["fingerprint"] == laptop.fingerprint
        end(telephone, pair)
        end(telephone, own_pair)


def test_decline_cancel_and_who_may(setting: Setting) -> None:
    with sessions(setting, "alice", "bob", "mallory") as (alice, bob, mallory):
        asked = alice.ask("pair.request", peer=bob.name)["request"]
        assert alice.ask("pair.request", peer=bob.name)["request"] == asked
        for act in ("pair.accept", "pair.decline", "pair.cancel"):
            assert mallory.refusal(act, request=asked) == "unknown_request"
        bob.ask("pair.decline", request=asked)
        assert alice.event("pair.declined")["request"] == asked
        again = alice.ask("pair.request", peer=bob.name)["request"]
        alice.ask("pair.cancel", request=again)
        bob.event("pair.requested")
        assert bob.event("pair.withdrawn") == {"type": "pair.withdrawn", "request": again, "reason": "cancelled"}
        assert bob.refusal("pair.accept", request=again) == "unknown_request"
        assert alice.refusal("pair.request", peer="urn:segue:client:carol") == "peer_unavailable"
        # Whom the policy does not let one ask, one does not even find out to be there.
        assert alice.refusal("pair.request", peer=mallory.name) == "not_allowed"
        assert mallory.refusal("pair.devices", peer="urn:segue:client:desk") == "not_allowed"
        assert alice.refusal("pair.revoke", pair="0" * 32) == "unknown_pair"


# MARK: What the relay vouches for


def test_statement_and_grant_are_signed(setting: Setting) -> None:
    with sessions(setting, "alice", "bob") as (alice, bob):
        pair = pair_by_code(alice, bob)
        expected = {
            "iss": "bench",
            "pair": pair["pair"],
            "room": pair["room"],
            "basis": "code",
            "members": sorted(
                ({"name": one.name, "fingerprint": one.fingerprint} for one in (alice, bob)), key=lambda member: member["fingerprint"]
            ),
        }
        statement = verify(setting.relay, pair["statement"], "segue-pair+jwt")
        grant = verify(setting.relay, pair["grant"], "segue-grant+jwt")
        assert statement["exp"] - statement["iat"] == 3_600 and statement["exp"] * 1_000 == pair["expires"]
        assert grant.pop("jti") == pair["pair"] and grant == statement
        assert {key: statement[key] for key in expected} == expected
        # Both ends are told the same.
        assert alice.ask("pair.list")["pairs"][0]["statement"] == pair["statement"]
        # Changed by anybody, it is worth nothing.
        head, body, signature = pair["statement"].split(".")
        with pytest.raises(jwt.InvalidTokenError):
            verify(setting.relay, ".".join((head, body[:-2] + ("AA" if body[-2:] != "AA" else "BB"), signature)), "segue-pair+jwt")
        end(alice, pair)


# MARK: Strangers


def test_stranger_is_kept_out(setting: Setting) -> None:
    """With a certificate of the same authority: not by name, nor as host, nor by a code again, nor by another's grant or statement, nor by a forged one."""
    with sessions(setting, "alice", "bob", "mallory", "carol") as (alice, bob, mallory, carol):
        code = alice.ask("pair.code")["code"]
        pair = bob.ask("pair.enter", code=code)["pair"]
        alice.ask("join", room=pair["room"])
        assert mallory.refusal("join", room=pair["room"]) == "not_allowed"
        assert mallory.refusal("join", room=pair["room"], role="host") == "not_allowed"
        assert bob.refusal("join", room=pair["room"], role="host") == "not_allowed"
        assert mallory.refusal("pair.enter", code=code) == "pair_code"
        assert mallory.refusal("join", room=pair["room"], grant=pair["grant"]) == "not_allowed"
        assert mallory.refusal("pair.revoke", pair=pair["pair"]) == "unknown_pair"
        # A grant of one's own for another room, the statement in place of the grant, and a grant that somebody else has signed.
        own = pair_by_code(carol, mallory)
        assert mallory.refusal("join", room=pair["room"], grant=own["grant"]) == "not_allowed"
        assert mallory.refusal("join", room=pair["room"], grant=pair["statement"]) == "not_allowed"
        claims = verify(setting.relay, pair["grant"], "segue-grant+jwt")
        claims["members"][0]["fingerprint"] = mallory.fingerprint
        forged = jwt.encode(claims, Ed25519PrivateKey.generate(), algorithm="EdDSA", headers=jwt.get_unverified_header(pair["grant"]))
        unsigned = jwt.encode(claims, None, algorithm="none", headers={"typ": "segue-grant+jwt"})
        for text in (forged, unsigned, "a.b.c", ""):
            assert mallory.refusal("join", room=pair["room"], grant=text) == "not_allowed"
        assert mallory.refusal("join", room="pair:" + "0" * 64) == "not_allowed"
        # Nobody noticed anything in the room.
        assert alice.news() == ["pair.made"]
        end(alice, pair)
        end(mallory, own)


def test_stranger_with_a_ticket_of_a_revoked_certificate(setting: Setting) -> None:
    """A revoked member's live session ends, and its TLS ticket resumes nothing (CVE-2025-23419): the pair's room is closed to it."""
    setting.clients["doomed"] = setting.authority.issue("doomed")
    with sessions(setting, "alice", "doomed") as (alice, doomed):
        pair = pair_by_code(alice, doomed)
        alice.ask("join", room=pair["room"])
        doomed.ask("join", room=pair["room"])
        context = setting.relay.context(identity=setting.clients["doomed"])
        with tls.connect(setting.relay.port, context) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert connection.recv(64).startswith(b"HTTP/1.1 200")
            ticket = connection.session
        with Stopwatch() as watch:
            setting.authority.revoke(setting.clients["doomed"])
            closed = doomed.closed()
        assert (closed.code, closed.reason) == (1008, "certificate_revoked")
        assert watch.own < 2, watch
        assert tls.refusal_of(setting.relay.port, context, session=ticket) == "certificate_revoked"
        assert alice.event("participant.left")["reason"] == "left"
        with pytest.raises((OSError, WebSocketException)):
            setting.session("doomed").ask("join", room=pair["room"])
        end(alice, pair)


# MARK: Ends


@pytest.mark.parametrize("revoker", ["alice", "bob"])
def test_revoking_cuts_the_live_room(setting: Setting, revoker: str) -> None:
    with sessions(setting, "alice", "bob", "alice", "bob") as (alice, bob, alice_too, bob_too):
        pair = pair_by_code(alice, bob)
        grant = pair["grant"]
        for session in (alice_too, bob):
            session.ask("join", room=pair["room"])
        stream = alice_too.ask("publish", kind="audio", codec="opus")["stream"]
        bob.event("stream.published")
        bob.ask("subscribe", all=True)
        alice_too.send_message(frame_message(CONFIGURATION, stream, 0, b""))
        bob.next_message()
        with Stopwatch() as watch:
            end(alice if revoker == "alice" else bob_too, pair)
            for session in (alice_too, bob):
                expect_end(session, pair, "revoked", "grant_revoked")
        assert watch.own < 1, watch
        alice_too.send_message(frame_message(AUDIO, stream, 0, b"late"))
        for session in (alice, bob):
            assert session.refusal("join", room=pair["room"], grant=grant) == "not_allowed"
            assert session.ask("pair.list")["pairs"] == []
        with pytest.raises(AssertionError, match="no frame"):
            bob.next_message(seconds=0.3)
        # Another pair of the same two has the same room, and the old grant stays dead beside it.
        time.sleep(1.1)
        renewed = pair_by_code(alice, bob)
        assert renewed["room"] == pair["room"] and renewed["pair"] != pair["pair"]
        bob.ask("join", room=pair["room"])
        end(alice, renewed)
        assert bob.event("room.removed")["reason"] == "grant_revoked"
        for text in (grant, renewed["grant"]):
            assert bob.refusal("join", room=pair["room"], grant=text) == "not_allowed"


def test_administrators_see_grants_and_end_them(setting: Setting) -> None:
    """The API is for administrators: a stranger with a good certificate neither reads grants nor ends a pair, nor does a member there."""
    with sessions(setting, "alice", "bob") as (alice, bob):
        pair = pair_by_code(alice, bob)
        bob.ask("join", room=pair["room"])
        for name in ("mallory", "alice"):
            context = setting.relay.context(identity=setting.clients[name])
            for method, path in (("GET", "/v1/grants"), ("DELETE", f"/v1/grants/{pair['pair']}"), ("DELETE", f"/v1/rooms/{pair['room']}")):
                assert setting.relay.get(path, method=method, context=context)[0] == 403
        assert bob.news() == []
        status, _, body = setting.relay.get("/v1/grants")
        seen = {one["pair"]: one for one in json.loads(body)["grants"]}[pair["pair"]]
        assert status == 200 and {one["fingerprint"] for one in seen["members"]} == {alice.fingerprint, bob.fingerprint}
        assert pair["grant"] not in body and pair["statement"] not in body
        assert setting.relay.get(f"/v1/grants/{pair['pair']}", method="DELETE")[0] in (200, 204)
        with Stopwatch() as watch:
            assert bob.event("room.removed")["reason"] == "grant_revoked"
        assert watch.own < 1, watch
        for session in (alice, bob):
            assert session.event("pair.revoked", pair=pair["pair"])["reason"] == "admin"
            assert session.refusal("join", room=pair["room"], grant=pair["grant"]) == "not_allowed"
        assert setting.relay.get(f"/v1/grants/{pair['pair']}", method="DELETE")[0] == 404


def test_joining_races_revoking(setting: Setting) -> None:
    """Whichever goes first, nobody is in the room of a pair that is none."""
    with sessions(setting, "alice", "bob") as (alice, bob):
        for _ in range(20):
            pair = pair_by_code(alice, bob)
            join = bob.send("join", room=pair["room"])
            revoke = alice.send("pair.revoke", pair=pair["pair"])
            alice.answer(revoke)
            try:
                bob.answer(join)
            except Refused as refused:
                assert refused.code == "not_allowed"
            else:
                with Stopwatch() as watch:
                    assert bob.event("room.removed")["reason"] == "grant_revoked"
                assert watch.own < 1, watch
            assert bob.refusal("leave") == "not_in_room"


def test_a_grant_expires(setting: Setting) -> None:
    setting.write_policy(policy(grant_seconds=3))
    try:
        with sessions(setting, "alice", "bob", "alice") as (alice, bob, alice_too):

            def is_short() -> bool:
                pair = pair_by_code(alice, bob)
                if pair["expires"] < time.time() * 1_000 + 4_000:
                    return True
                end(alice, pair)
                return False

            wait_until(is_short)
            pair = bob.ask("pair.list")["pairs"][0]
            alice_too.ask("join", room=pair["room"])
            bob.ask("join", room=pair["room"])
            expect_end(bob, pair, "expired", "grant_expired")
            late = time.time() - pair["expires"] / 1_000
            assert -0.1 < late < 1, late
            for session in (alice, alice_too):
                while (event := session.event("pair.revoked"))["pair"] != pair["pair"]:
                    pass
                assert event["reason"] == "expired"
            for session in (bob, alice):
                assert session.refusal("join", room=pair["room"], grant=pair["grant"]) == "not_allowed"
    finally:
        setting.write_policy(policy())


def test_a_grant_and_a_revocation_survive_the_relay(setting: Setting) -> None:
    with sessions(setting, "alice", "bob", "carol") as (alice, bob, carol):
        kept = pair_by_code(alice, bob)
        dead = pair_by_code(carol, bob)
        end(carol, dead)
    stored = setting.folder / "state/grants.json"
    assert stored.stat().st_mode & 0o777 == 0o600 and stored.parent.stat().st_mode & 0o777 == 0o700
    assert (setting.folder / "state/signing-key.pem").stat().st_mode & 0o777 == 0o600
    # Not in order: what was answered must be on the disk already.
    setting.relay.process.kill()
    setting.relay.process.wait()
    setting.relay.stopped = True
    setting.start_relay()
    with sessions(setting, "alice", "bob", "carol") as (alice, bob, carol):
        assert [one["pair"] for one in alice.ask("pair.list")["pairs"]] == [kept["pair"]]
        assert verify(setting.relay, kept["statement"], "segue-pair+jwt")["pair"] == kept["pair"], "signed with the same key"
        alice.ask("join", room=kept["room"])
        for session in (bob, carol):
            assert session.refusal("join", room=dead["room"], grant=dead["grant"]) == "not_allowed"
        end(bob, kept)
        assert alice.event("room.removed")["reason"] == "grant_revoked"


def test_a_revocation_that_is_not_on_the_disk_is_not_confirmed(setting: Setting) -> None:
    with sessions(setting, "alice", "bob") as (alice, bob):
        pair = pair_by_code(alice, bob)
        wait_until(lambda: pair["pair"] in (setting.folder / "state/grants.json").read_text())
        # The ledger is written to a new file first: a folder of that name fails as a full disk does.
        obstacle = setting.folder / "state/grants.json.new"
        obstacle.mkdir()
        assert alice.refusal("pair.revoke", pair=pair["pair"]) == "not_stored"
        # It has ended all the same, for as long as the relay runs.
        assert bob.refusal("join", room=pair["room"]) == "not_allowed"
        assert "unsaved: grants" in setting.relay.get("/readyz")[2]
        assert "segue_grants_unsaved 1" in setting.relay.get("/metrics")[2]
        obstacle.rmdir()
        wait_until(lambda: "segue_grants_unsaved 0" in setting.relay.get("/metrics")[2])
        assert "unsaved" not in setting.relay.get("/readyz")[2]
    setting.relay.process.kill()
    setting.relay.process.wait()
    setting.relay.stopped = True
    setting.start_relay()
    with sessions(setting, "bob") as (bob,):
        assert bob.refusal("join", room=pair["room"]) == "not_allowed"


def test_a_relay_that_lost_its_grants_takes_a_signed_one(setting: Setting) -> None:
    with sessions(setting, "alice", "bob") as (alice, bob):
        pair = pair_by_code(alice, bob)
    wait_until(lambda: pair["pair"] in (setting.folder / "state/grants.json").read_text())
    setting.relay.stop()
    (setting.folder / "state/grants.json").unlink()
    setting.start_relay()
    with sessions(setting, "alice", "bob", "mallory") as (alice, bob, mallory):
        assert bob.refusal("join", room=pair["room"]) == "not_allowed"
        assert mallory.refusal("join", room=pair["room"], grant=pair["grant"]) == "not_allowed"
        bob.ask("join", room=pair["room"], grant=pair["grant"])
        alice.ask("join", room=pair["room"])
        end(alice, pair)
        assert bob.event("room.removed")["reason"] == "grant_revoked"
        assert bob.refusal("join", room=pair["room"], grant=pair["grant"]) == "not_allowed"


def test_a_damaged_state_is_told(setting: Setting, tmp_path: Path) -> None:
    """To go on without the file would bring revoked grants back to life."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "grants.json").write_text('{"version":1,"pairs":[{"low"')
    with pytest.raises(AssertionError, match=r"grants\.json: is damaged"):
        setting.start_relay(state=str(folder))
    (folder / "grants.json").unlink()
    folder.chmod(0o777)
    with pytest.raises(AssertionError, match="can be written to by others"):
        setting.start_relay(state=str(folder))


# MARK: Codes


@pytest.mark.hostile
def test_codes_are_bound_to_their_session_and_to_one_use(setting: Setting) -> None:
    with sessions(setting, "alice", "bob") as (alice, bob), setting.session("carol") as carol:
        first = carol.ask("pair.code")["code"]
        second = carol.ask("pair.code")["code"]
        assert bob.refusal("pair.enter", code=first) == "pair_code", "void since the second"
        carol.close()
        wait_until(lambda: not is_done(alice, "pair.devices", peer=carol.name))
        assert bob.refusal("pair.enter", code=second) == "pair_code", "void with its session"
        own = bob.ask("pair.code")["code"]
        assert bob.refusal("pair.enter", code=own) == "pair_code", "one's own"
        right = alice.ask("pair.code")["code"]
        assert bob.refusal("pair.enter", code=right) == "pair_rate", "not even the right one after three tries"
        assert bob.refusal("pair.enter", code="2" * 65) == "bad_value"


def test_ten_thousand_wrong_codes(setting: Setting) -> None:
    """By several identities at once, all from one address: no pair comes of it, and whoever shares the address enters the right code at once."""
    setting.relay.stop()
    setting.start_relay()
    names = [f"guesser-{number}" for number in range(5)]
    for name in names:
        setting.clients.setdefault(name, setting.authority.issue(name))
    generator = random.Random(4)
    with sessions(setting, "alice", "guest", *names) as (alice, guest, *guessers):
        code = alice.ask("pair.code")["code"]
        codes: dict[str, int] = {}
        for _ in range(20):
            started = time.monotonic()
            asked = []
            for guesser in guessers:
                for _ in range(100):
                    guess = "".join(generator.choices(ALPHABET, k=8))
                    asked.append((guesser, guesser.send("pair.enter", code=guess if guess != code else "2" * 8)))
            for guesser, number in asked:
                with pytest.raises(Refused) as refused:
                    guesser.answer(number)
                codes[refused.value.code] = codes.get(refused.value.code, 0) + 1
            # Within the budget of requests a second.
            time.sleep(max(0.0, 0.55 - (time.monotonic() - started)))
        assert codes == {"pair_code": 15, "pair_rate": 9_985}, "three tries for each of the five"
        assert alice.ask("pair.list")["pairs"] == []
        pair = guest.ask("pair.enter", code=code)["pair"]
        assert pair["peer"]["fingerprint"] == alice.fingerprint
        end(guest, pair)
    log = setting.relay.log()
    assert code not in log and pair["grant"] not in log and pair["statement"] not in log


# MARK: Records


def test_acts_and_refusals_are_on_record_and_no_secret_is(setting: Setting) -> None:
    with sessions(setting, "alice", "desk", "mallory") as (alice, desk, mallory):
        code = alice.ask("pair.code")["code"]
        pair = desk.ask("pair.enter", code=code)["pair"]
        mallory.refusal("join", room=pair["room"], grant=pair["grant"])
        mallory.refusal("pair.enter", code="23456789")
        end(alice, pair)
    wait_until(lambda: '"act":"pair.revoke"' in setting.relay.log())
    log = setting.relay.log()
    records = [json.loads(line) for line in log.splitlines() if '"event":"audit"' in line]
    seen = {(one["act"], one["actor"].rsplit(":", 1)[-1], one["outcome"], one.get("code")) for one in records}
    for expected in (
        ("pair.code", "alice", "done", None),
        ("pair.enter", "desk", "done", None),
        ("pair.enter", "mallory", "refused", "pair_code"),
        ("join", "mallory", "refused", "not_allowed"),
        ("pair.revoke", "alice", "done", None),
    ):
        assert expected in seen, expected
    for secret in (code, pair["grant"], pair["statement"], "23456789"):
        assert secret not in log
