"""What happens to sessions while their clients are away (protocol §3.18): policies change, tokens end, and certificates that a proxy passed on are revoked."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from support import proxies
from support.authority import Authority
from support.breakable import Breakable
from support.relay import Identity, Relay
from support.session import BehindProxy, Refused, Session
from support.tls import client_context
from support.waiting import wait_until
from test_tokens import AUDIENCE, ISSUER, Provider

NAME = "urn:segue:client:"
PEOPLE = ("ann", "bob", "leaver", "leaver-by-header")


def policy(*roles: str, publish: list[str] | None = None) -> dict:
    """Bob is a host; whoever else may do this much. No roles: nothing at all."""
    rules = [{"identities": [f"{NAME}bob"], "rooms": ["*"], "roles": ["host"]}]
    if roles:
        rules.append({"identities": [f"{NAME}*", "token:*"], "rooms": ["*"], "roles": list(roles)} | ({"publish": publish} if publish else {}))
    return {"access": rules}


@dataclass
class World:
    relay: Relay
    behind_headers: Relay
    authority: Authority
    people: dict[str, Identity]
    provider: Provider
    room: str = ""
    sessions: list[Session] = field(default_factory=list)

    def keep(self, session: Session) -> Session:
        self.sessions.append(session)
        return session

    def bob(self, relay: Relay | None = None) -> Session:
        bob = self.keep(Session(relay or self.relay, self.people["bob"]))
        bob.ask("join", room=self.room)
        return bob

    def parkings(self, relay: Relay, session: Session) -> int:
        return sum(session.welcome["session"] in line for line in relay.log().splitlines() if '"session_parked"' in line)

    def lose(self, proxy: Breakable, session: Session, relay: Relay | None = None) -> None:
        relay = relay or self.relay
        before = self.parkings(relay, session)
        proxy.last.reset()
        wait_until("the session is parked", lambda: self.parkings(relay, session) > before)

    def by_token(self, relay: Relay, token: str, **hello) -> Session:
        """Without a certificate."""
        context = client_context(self.authority.certificate)
        return self.keep(Session(relay, context=context, fields=(("authorization", f"Bearer {token}"),), hello=hello))


@pytest.fixture(scope="module")
def shared_world(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("parked")
    authority = Authority.create(folder / "ca")
    server, operator = authority.issue_server(), authority.issue("operator")
    provider = Provider(folder / "jwks.json")
    provider.keys = {"ed": ed25519.Ed25519PrivateKey.generate(), "old": ed25519.Ed25519PrivateKey.generate()}
    provider.publish("ed", "old")
    base = authority.configuration(server)
    base["tls"]["clientCertificates"] = "optional"
    config = base | {
        "reloadCheckMilliseconds": 100,
        "limits": {"resumeMilliseconds": 60_000, "parkedSessionsPerIdentityMax": 200},
        "tokens": {"keys": str(provider.path), "issuer": ISSUER, "audience": AUDIENCE, "leewaySeconds": 0},
    }
    settings = {"authority": authority.certificate, "identity": operator, "loops": 4}
    by_field = {"listen": ["127.0.0.1:0"], "clientCertificate": "client-cert"}
    by_header = {"listen": ["127.0.0.1:0"], "protocol": "required", "clientCertificate": "proxy-protocol"}
    relay = start_relay("parked", config=config | {"proxies": by_field, "policy": policy("speaker")}, **settings)
    behind_headers = start_relay("parked-headers", config=config | {"proxies": by_header, "policy": policy("speaker")}, **settings)
    return World(relay, behind_headers, authority, {name: authority.issue(name) for name in PEOPLE}, provider)


@pytest.fixture
def world(shared_world: World) -> Iterator[World]:
    shared_world.room = f"room-{os.urandom(4).hex()}"
    yield shared_world
    for session in shared_world.sessions:
        session.close()
    shared_world.sessions.clear()
    shared_world.relay.write_policy(policy("speaker"))
    shared_world.relay.assert_healthy()
    time.sleep(0.3)


# The policy


def test_who_may_not_be_there_any_more_is_out_while_away(world: World) -> None:
    bob = world.bob()
    with Breakable(world.relay) as proxy:
        ann = world.keep(Session(proxy.relay, world.people["ann"]))
        me = ann.ask("join", room=world.room)["participant"]
        stream = ann.publish("audio")
        bob.event("stream.published", stream=stream)
        world.lose(proxy, ann)
        world.relay.write_policy(policy())
        bob.event("stream.ended", stream=stream, seconds=10)
        assert bob.event("participant.left", participant=me, seconds=10)["reason"] == "removed"
        again = world.keep(Session(world.relay, world.people["ann"], hello={"resume": {"token": ann.welcome["resumeToken"]}}))
        # The session is there still, in no room, and the policy holds for it.
        assert again.welcome["session"] == ann.welcome["session"] and "room" not in again.welcome["resumed"]
        assert again.refusal("join", room=world.room) == "not_allowed"


def test_a_lower_role_and_fewer_kinds_hold_when_one_comes_back(world: World) -> None:
    bob = world.bob()
    with Breakable(world.relay) as proxy:
        ann = world.keep(Session(proxy.relay, world.people["ann"]))
        me = ann.ask("join", room=world.room)["participant"]
        audio, video = ann.publish("audio"), ann.publish("video")
        bob.event("stream.published", stream=video)
        world.lose(proxy, ann)
        world.relay.write_policy(policy("speaker", publish=["audio"]))
        bob.event("stream.ended", stream=video, seconds=10)
        ann = world.keep(Session(proxy.relay, world.people["ann"], hello={"resume": {"token": ann.welcome["resumeToken"]}}))
        assert [entry["stream"] for entry in ann.welcome["resumed"]["published"]] == [audio]
        assert ann.refusal("publish", kind="video", codec="vp8") == "not_allowed"
        world.lose(proxy, ann)
        world.relay.write_policy(policy("listener"))
        bob.event("stream.ended", stream=audio, seconds=10)
        bob.event("participant.changed", participant=me, role="listener", seconds=10)
        ann = world.keep(Session(world.relay, world.people["ann"], hello={"resume": {"token": ann.welcome["resumeToken"]}}))
        assert ann.welcome["resumed"]["published"] == [] and ann.welcome["resumed"]["room"]["role"] == "listener"
        assert ann.refusal("publish", kind="audio", codec="opus") == "role"


# Tokens


def test_a_session_ends_with_its_token_while_away(world: World) -> None:
    bob = world.bob()
    with Breakable(world.relay) as proxy:
        token = world.provider.token("carol", lifetime=4)
        ends = time.time() + 4
        carol = world.by_token(proxy.relay, token)
        me = carol.ask("join", room=world.room)["participant"]
        bob.event("participant.joined", participant=me)
        world.lose(proxy, carol)
        bob.event("participant.left", participant=me, seconds=15)
        assert time.time() > ends - 1, "it ended before its token did"
        with pytest.raises(Refused) as refused:
            world.by_token(world.relay, world.provider.token("carol"), resume={"token": carol.welcome["resumeToken"]})
        assert refused.value.code == "resume_refused"


def test_a_newer_token_that_one_comes_back_with_is_the_one_that_counts(world: World) -> None:
    bob = world.bob()
    with Breakable(world.relay) as proxy:
        carol = world.by_token(proxy.relay, world.provider.token("carol", lifetime=6))
        ends = time.monotonic() + 6
        me = carol.ask("join", room=world.room)["participant"]
        world.lose(proxy, carol)
        again = world.by_token(world.relay, world.provider.token("carol"), resume={"token": carol.welcome["resumeToken"]})
        assert again.welcome["session"] == carol.welcome["session"]
        again.drain(max(0.0, ends - time.monotonic()) + 1.5)
        assert again.ask("time", clientTime=0)
        assert again.welcome["resumed"]["room"]["participant"] == me and "participant.left" not in bob.news()


def test_another_subject_gets_nothing(world: World) -> None:
    with Breakable(world.relay) as proxy:
        carol = world.by_token(proxy.relay, world.provider.token("carol"))
        world.lose(proxy, carol)
        with pytest.raises(Refused) as refused:
            world.by_token(world.relay, world.provider.token("dave"), resume={"token": carol.welcome["resumeToken"]})
        assert refused.value.code == "resume_refused"
        again = world.by_token(world.relay, world.provider.token("carol"), resume={"token": carol.welcome["resumeToken"]})
        assert again.welcome["session"] == carol.welcome["session"]


def test_a_key_that_goes_takes_who_is_away(world: World) -> None:
    bob = world.bob()
    with Breakable(world.relay) as proxy:
        erin = world.by_token(proxy.relay, world.provider.token("erin", "old"))
        me = erin.ask("join", room=world.room)["participant"]
        bob.event("participant.joined", participant=me)
        world.lose(proxy, erin)
        world.provider.publish("ed")
        try:
            bob.event("participant.left", participant=me, seconds=10)
        finally:
            world.provider.publish("ed", "old")


# Behind a proxy


def forwarded(world: World, relay: Relay, name: str, **hello) -> Session:
    return world.keep(Session(relay, transport=BehindProxy(relay, proxies.client_cert(world.people[name])), hello=hello))


def by_header(world: World, relay: Relay, name: str, **hello) -> Session:
    header = proxies.version_2(tlvs=proxies.ssl_tlv(certificate=proxies.der_of(world.people[name])))
    return world.keep(Session(relay, transport=BehindProxy(relay, header=header), hello=hello))


WAYS = {"field": forwarded, "header": by_header}


@pytest.mark.parametrize("way", WAYS)
def test_a_forwarded_certificate_comes_back(world: World, way: str) -> None:
    """Through the proxy as often as one likes, and past it: who somebody is does not depend on who says so. Nobody else gets the session."""
    relay, come = world.relay if way == "field" else world.behind_headers, WAYS[way]
    bob = world.bob(relay)
    with Breakable(relay, relay.proxy_port) as proxy:
        ann = come(world, proxy.relay, "ann")
        assert ann.welcome["identity"]["proof"] == "forwarded"
        session, me = ann.welcome["session"], ann.ask("join", room=world.room)["participant"]
        stream = ann.publish("audio")
        bob.event("stream.published", stream=stream)
        for _ in range(4):
            world.lose(proxy, ann, relay)
            with pytest.raises(Refused) as refused:
                come(world, proxy.relay, "bob", resume={"token": ann.welcome["resumeToken"]})
            assert refused.value.code == "resume_refused"
            ann = come(world, proxy.relay, "ann", resume={"token": ann.welcome["resumeToken"]})
            assert ann.welcome["session"] == session and ann.welcome["resumed"]["room"]["participant"] == me
            assert [entry["stream"] for entry in ann.welcome["resumed"]["published"]] == [stream]
        world.lose(proxy, ann, relay)
        ann = world.keep(Session(relay, world.people["ann"], hello={"resume": {"token": ann.welcome["resumeToken"]}}))
        assert ann.welcome["session"] == session and ann.welcome["identity"]["proof"] == "certificate"
        assert ann.ask("time", clientTime=0)
    assert "participant.left" not in bob.news()


@pytest.mark.parametrize("way", WAYS)
def test_a_forwarded_certificate_is_revoked_while_its_client_is_away(world: World, way: str) -> None:
    relay, come, name = (world.relay, forwarded, "leaver") if way == "field" else (world.behind_headers, by_header, "leaver-by-header")
    bob = world.bob(relay)
    with Breakable(relay, relay.proxy_port) as proxy:
        leaver = come(world, proxy.relay, name)
        me = leaver.ask("join", room=world.room)["participant"]
        bob.event("participant.joined", participant=me)
        world.lose(proxy, leaver, relay)
        # Once more: the certificate that counts then is that of the second connection.
        leaver = come(world, proxy.relay, name, resume={"token": leaver.welcome["resumeToken"]})
        world.lose(proxy, leaver, relay)
        world.authority.revoke(world.people[name])
        bob.event("participant.left", participant=me, seconds=10)


def test_no_token_is_in_the_log(world: World) -> None:
    log = world.relay.log() + world.behind_headers.log()
    for token in world.provider.made:
        _, claims, signature = token.split(".")
        assert claims not in log and signature not in log
    assert json.loads(Path(world.provider.path).read_text())["keys"]
