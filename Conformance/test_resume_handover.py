"""Resumption when the way back is itself unsure (protocol §3.18): a `welcome` that never comes, and connections that several sessions share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from support.authority import Authority
from support.breakable import Breakable
from support.relay import Identity, Relay
from support.metrics import measure, settled
from support.resuming import Setting
from support.session import Refused, Session
from support.stopwatch import Stopwatch
from support.waiting import wait_until

LOOPS = 4


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identities(authority: Authority) -> dict[str, Identity]:
    return {name: authority.issue(name) for name in ("ann", "bob", "operator")}


@pytest.fixture(scope="module")
def shared_relay(start_relay: Callable[..., Relay], authority: Authority, identities: dict[str, Identity]) -> Relay:
    # Clients that are deaf answer no close frame.
    config = authority.configuration(authority.issue_server()) | {"limits": {"resumeMilliseconds": 60_000, "closeHandshakeMillisecondsMax": 500}}
    return start_relay("handover", loops=LOOPS, config=config, authority=authority.certificate, identity=identities["operator"])


@pytest.fixture
def setting(shared_relay: Relay, authority: Authority, identities: dict[str, Identity]) -> Iterator[Setting]:
    setting = Setting(shared_relay, authority, identities)
    yield setting
    setting.close()
    shared_relay.assert_healthy()


def unheard_welcome(setting: Setting, proxy: Breakable, token: str, http: str) -> Session:
    """A session that comes back by this token, and whose client never learns that it did."""
    resumed = setting.resumptions()
    lost = setting.open("ann", proxy.relay, http=http, greets=False)
    proxy.last.deafen()
    lost.send("hello", versions=[1], resume={"token": token})
    wait_until("the relay has resumed it", lambda: setting.resumptions() > resumed)
    return lost


@pytest.mark.parametrize("http", ["1.1", "2"])
def test_the_token_before_is_good_until_the_client_has_the_new_one(setting: Setting, http: str) -> None:
    """The relay takes the connection to be alive on which its `welcome` was lost: the client, that has no other token, comes all the same, again and again."""
    replaced = settled(setting.relay, "segue_websockets_closed_total", "1000_replaced")
    with Breakable(setting.relay) as proxy:
        ann = setting.open("ann", proxy.relay, http=http)
        me = ann.ask("join", room=setting.room)["participant"]
        stream = ann.publish("audio")
        setting.lose(ann, proxy.last.reset)
        token = ann.welcome["resumeToken"]
        for _ in range(5):
            unheard_welcome(setting, proxy, token, http)
        with Stopwatch() as watch:
            again = setting.back(ann, "ann", http=http)
        assert watch.own < 10, f"it had to wait for the relay to miss the other connection: {watch}"
        assert again.welcome["session"] == ann.welcome["session"]
        assert again.welcome["resumed"]["room"]["participant"] == me
        assert [entry["stream"] for entry in again.welcome["resumed"]["published"]] == [stream]
        # The connections that nobody listens to are ended.
        wait_until("the others are closed", lambda: measure(setting.relay, "segue_websockets_closed_total", "1000_replaced") >= replaced + 5, 30)
        assert again.ask("time", clientTime=0)


def test_another_identity_gets_nothing_by_the_token_before(setting: Setting) -> None:
    with Breakable(setting.relay) as proxy:
        ann = setting.open("ann", proxy.relay)
        setting.lose(ann, proxy.last.reset)
        unheard_welcome(setting, proxy, ann.welcome["resumeToken"], "1.1")
        bob = setting.open("bob", greets=False)
        assert bob.refusal("hello", versions=[1], resume={"token": ann.welcome["resumeToken"]}) == "resume_refused"
        assert setting.back(ann, "ann").welcome["session"] == ann.welcome["session"]


@pytest.mark.parametrize("says", ["time", "nothing"])
def test_a_token_that_is_known_to_be_obsolete_is_refused(setting: Setting, says: str) -> None:
    """The first message behind the `welcome` says that the client has it, and so does the pong to the ping that the relay sends right behind it."""
    with Breakable(setting.relay) as proxy:
        ann = setting.open("ann", proxy.relay)
        setting.lose(ann, proxy.last.reset)
        again = setting.back(ann, "ann", proxy.relay)
        if says == "time":
            again.barrier()
        else:
            # The WebSocket library answers pings by itself.
            again.drain(1)
        with pytest.raises(Refused) as refused:
            setting.back(ann, "ann")
        assert refused.value.code == "resume_refused"
        assert again.ask("time", clientTime=0)
        # So it is when the connection is lost after that.
        setting.lose(again, proxy.last.reset)
        with pytest.raises(Refused):
            setting.back(ann, "ann")
        assert setting.back(again, "ann").welcome["session"] == ann.welcome["session"]


def test_sessions_of_all_loops_come_back_to_one_connection(setting: Setting) -> None:
    """A connection follows one of the sessions that come back over it. Others that live on the same loop come too; the rest are told to come over one of their own."""
    count = 12
    with Breakable(setting.relay) as proxy:
        sessions = [setting.open("ann", proxy.relay, http="2") for _ in range(count)]
        for session in sessions:
            session.ask("join", room=setting.room)
        for link in list(proxy.links):
            link.reset()
        wait_until("all are parked", lambda: len(setting.parked_of(sessions)) == count)
        first = setting.open("ann", http="2", greets=False)
        newcomers = [first] + [setting.open("ann", http="2", greets=False, over=first) for _ in sessions[1:]]
        for session, newcomer in zip(sessions, newcomers, strict=True):
            newcomer.send("hello", versions=[1], resume={"token": session.welcome["resumeToken"]})
        came, sent_away = [], []
        for session, newcomer in zip(sessions, newcomers, strict=True):
            try:
                came.append((session, newcomer.answer(newcomer.last_id)))
            except Refused as refused:
                assert (refused.code, refused.retry) == ("connection_shared", True)
                sent_away.append(session)
        # On four loops, twelve sessions do not all live on the same.
        assert came and sent_away
        for session in sent_away:
            came.append((session, setting.back(session, "ann", http="2").welcome))
        for session, welcome in came:
            assert welcome["session"] == session.welcome["session"] and welcome["resumed"]["room"]["room"] == setting.room
        wait_until("nobody is parked", lambda: not setting.parked_of(sessions))
        print(f"{count - len(sent_away)} came at once, {len(sent_away)} over connections of their own")


@pytest.mark.hostile
@pytest.mark.parametrize("layer", [-1, 8, 99, 2**40])
def test_a_layer_that_cannot_be_is_refused(setting: Setting, layer: int) -> None:
    """Spatial layers are 0 to 7 (protocol §4.1); the token stays good."""
    with Breakable(setting.relay) as proxy:
        ann = setting.open("ann", proxy.relay)
        setting.lose(ann, proxy.last.reset)
        received = [{"stream": 1, "sequence": 0, "timestamp": 0}, {"stream": 1, "sequence": 0, "timestamp": 0, "layer": layer}]
        with pytest.raises(Refused) as refused:
            setting.back(ann, "ann", received=received)
        assert refused.value.code == "bad_value" and "layer" in refused.value.message
        received[1]["layer"] = 7
        assert setting.back(ann, "ann", received=received).welcome["session"] == ann.welcome["session"]
