"""Rooms that span the nodes of a cluster, and outlive them (protocol §8.4), against a real nats-server with mutual TLS."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator

import pytest
from support.cluster import Cable, Cluster
from support.metrics import measure
from support.relay import Relay
from support.resuming import received_by
from support.session import KEY, Refused, Session
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(shutil.which("nats-server") is None, reason="no nats-server here")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes that no test ends."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.nats.start()
        for name in ("a", "b", "c"):
            cluster.start(name)
        cluster.await_nodes()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes of a test's own, to be ended."""
    cluster = Cluster(tmp_path_factory.mktemp("mortal"))
    try:
        cluster.nats.start()
        for name in ("a", "b"):
            cluster.start(name)
        cluster.await_nodes()
        yield cluster
    finally:
        cluster.stop()


class Guests:
    def __init__(self, cluster: Cluster):
        self.cluster, self.sessions = cluster, []
        self.room = f"room-{os.urandom(4).hex()}"

    def open(self, node: str, name: str, **options) -> Session:
        session = Session(self.cluster.relays[node], self.cluster.identity(name), **options)
        self.sessions.append(session)
        return session

    def join(self, node: str, name: str, **more) -> Session:
        session = self.open(node, name)
        session.joined = session.ask("join", room=self.room, **more)
        return session

    def back(self, session: Session, node: str, name: str) -> Session:
        again = self.open(node, name, hello={"resume": {"token": session.welcome["resumeToken"], "received": received_by(session)}})
        again.last_id += 1000
        again.sequences = session.sequences
        return again

    def close(self) -> None:
        for session in self.sessions:
            session.close()


@pytest.fixture
def guests(cluster: Cluster) -> Iterator[Guests]:
    guests = Guests(cluster)
    yield guests
    guests.close()


@pytest.fixture
def mortals(mortal: Cluster) -> Iterator[Guests]:
    guests = Guests(mortal)
    yield guests
    guests.close()


def participants(session: Session) -> set[int]:
    return {entry["participant"] for entry in session.joined["participants"]}


def send_until(publisher: Session, kind: str, stream: int, *listeners: Session) -> None:
    """Between nodes a subscription takes its time: sends until every listener has a frame."""
    for count in range(400):
        payload = b"until %d" % count
        publisher.media(kind, stream, payload, KEY if kind == "video" else 0)
        for listener in listeners:
            listener.drain(0.05)
        if all(any(frame.payload.startswith(b"until") and frame.stream == stream for frame in listener.frames) for listener in listeners):
            for listener in listeners:
                listener.frame(payload)
                listener.frames.clear()
            return
    raise AssertionError("no frame came")


def test_a_room_is_one_room_on_all_nodes(guests: Guests) -> None:
    ann, bob, cy = (guests.join(node, name) for node, name in (("a", "ann"), ("b", "bob"), ("c", "cy")))
    assert len(participants(cy)) == 3 and participants(ann) < participants(bob) < participants(cy)
    assert ann.event("participant.joined")["participant"] == bob.joined["participant"]
    assert bob.event("participant.joined")["participant"] == cy.joined["participant"]
    stream = bob.publish("audio")
    for session in (ann, cy):
        assert session.event("stream.published")["stream"] == stream
    late = guests.join("a", "late")
    assert [entry["stream"] for entry in late.joined["streams"]] == [stream]
    bob.ask("leave")
    for session in (ann, cy, late):
        assert session.event("stream.ended")["stream"] == stream
        assert session.event("participant.left")["participant"] == bob.joined["participant"]


@pytest.mark.parametrize("kind", ["audio", "video", "data"])
def test_media_arrives_as_it_was_sent(guests: Guests, kind: str) -> None:
    publisher, far, near = guests.join("a", "ann"), guests.join("b", "bob"), guests.join("a", "near")
    stream = publisher.publish(kind)
    for listener in (far, near):
        listener.event("stream.published")
        listener.ask("subscribe", streams=[stream])
    send_until(publisher, kind, stream, far, near)
    sent = [os.urandom(size) for size in (1, 160, 1_200, 8_000)] + ([os.urandom(200_000)] if kind == "video" else [])
    for payload in sent:
        publisher.media(kind, stream, payload, KEY if kind == "video" else 0)
    for listener in (far, near):
        listener.frame(sent[-1])
        assert listener.payloads(stream) == sent


def test_a_late_joiner_on_another_node_begins_with_configuration_and_key_frame(guests: Guests) -> None:
    publisher, far = guests.join("a", "ann"), guests.join("b", "bob")
    stream = publisher.publish("video")
    publisher.media("video", stream, b"key", KEY)
    publisher.media("video", stream, b"delta")
    publisher.barrier()
    far.event("stream.published")
    far.ask("subscribe", streams=[stream])
    far.frame(b"delta")
    assert [frame.payload for frame in far.frames if frame.kind != 3] == [b"key", b"delta"] and far.frames[0].kind == 3


def test_a_stream_crosses_once_and_only_while_somebody_there_wants_it(guests: Guests) -> None:
    publisher = guests.join("a", "ann")
    listeners = [guests.join("b", f"listener{number}") for number in range(6)]
    other = guests.join("c", "cy")
    stream = publisher.publish("audio")
    for listener in listeners:
        listener.event("stream.published")
        listener.ask("subscribe", streams=[stream])
    send_until(publisher, "audio", stream, *listeners)
    relays = guests.cluster.relays

    def frames(node: str) -> int:
        return int(measure(relays[node], "segue_cluster_frames_total", "in"))

    before = {node: frames(node) for node in ("b", "c")}
    for number in range(50):
        publisher.media("audio", stream, b"once %d" % number)
    for listener in listeners:
        listener.frame(b"once 49")
        assert [payload for payload in listener.payloads() if payload.startswith(b"once")] == [b"once %d" % number for number in range(50)]
    wait_until("the counter follows", lambda: frames("b") >= before["b"] + 50)
    time.sleep(0.3)
    assert frames("b") == before["b"] + 50
    assert frames("c") == before["c"] and not other.payloads()
    for listener in listeners:
        listener.ask("unsubscribe", all=True)
    publisher.drain(0.5)
    for number in range(20):
        publisher.media("audio", stream, b"nobody %d" % number)
    publisher.barrier()
    time.sleep(0.5)
    assert frames("b") <= before["b"] + 51


def test_hosts_moderate_across_nodes(guests: Guests) -> None:
    host = guests.join("a", "host", role="host")
    guest = guests.join("b", "guest")
    number = guest.joined["participant"]
    host.ask("mute", participant=number, muted=True)
    assert guest.event("participant.changed")["muted"]
    host.ask("promote", participant=number, role="listener")
    assert guest.event("participant.changed", role="listener")
    assert guest.refusal("publish", kind="audio", codec="opus") == "role"
    host.ask("lock", locked=True)
    assert guest.event("room.locked")["locked"]
    late = guests.open("c", "late")
    assert late.refusal("join", room=guests.room) == "room_locked"
    host.ask("remove", participant=number)
    assert guest.event("room.removed")["reason"] == "removed"
    host.ask("lock", locked=False)
    late.joined = late.ask("join", room=guests.room)
    host.ask("end")
    assert late.event("room.removed")["reason"] == "ended"


def test_a_session_goes_on_on_another_node(guests: Guests) -> None:
    """Make before break: nobody sees it leave, it publishes and gets what it did before."""
    ann, bob = guests.join("a", "ann"), guests.join("b", "bob")
    stream, other = ann.publish("audio"), bob.publish("audio")
    bob.event("stream.published")
    bob.ask("subscribe", all=True)
    ann.ask("subscribe", all=True)
    send_until(ann, "audio", stream, bob)
    send_until(bob, "audio", other, ann)
    again = guests.back(ann, "c", "ann")
    assert again.welcome["session"] == ann.welcome["session"]
    resumed = again.welcome["resumed"]
    assert resumed["room"]["participant"] == ann.joined["participant"] and resumed["subscribed"] == [other]
    assert ann.closed().code == 1000
    send_until(again, "audio", stream, bob)
    send_until(bob, "audio", other, again)
    assert not {"participant.left", "participant.joined", "stream.ended"} & set(bob.types())
    again.ask("leave")
    assert bob.event("participant.left")["reason"] == "left"


def test_a_token_of_another_node_is_good_once_and_for_its_owner(guests: Guests) -> None:
    ann = guests.join("a", "ann")
    token = ann.welcome["resumeToken"]
    time.sleep(0.6)
    with pytest.raises(Refused, match="resume_refused"):
        guests.open("b", "mallory", hello={"resume": {"token": token}})
    guests.back(ann, "b", "ann")
    with pytest.raises(Refused, match="resume_refused"):
        guests.open("c", "ann", hello={"resume": {"token": token}})


def test_a_room_outlives_its_home(mortals: Guests) -> None:
    host, bob, carol = mortals.join("a", "host", role="host"), mortals.join("b", "bob", role="host"), mortals.join("b", "carol")
    bob.ask("lock", locked=True)
    stream = bob.publish("audio")
    carol.event("stream.published")
    carol.ask("subscribe", all=True)
    send_until(bob, "audio", stream, carol)
    host_number = host.joined["participant"]
    time.sleep(0.6)
    mortals.cluster.kill("a")
    for number in range(5):
        bob.media("audio", stream, b"goes on %d" % number)
    carol.frame(b"goes on 4")
    wait_until("the other node has the room", lambda: measure(mortals.cluster.relays["b"], "segue_cluster_rooms_taken_total") >= 1, seconds=30)
    # Its new home decides: the lock is as it was, and the host still one.
    late = mortals.open("b", "late")
    assert late.refusal("join", room=mortals.room) == "room_locked"
    bob.ask("lock", locked=False)
    late.joined = late.ask("join", room=mortals.room)
    assert host_number in participants(late) and "participant.left" not in carol.types()
    # Whoever was there comes back as the same participant.
    again = mortals.back(host, "b", "host")
    assert again.welcome["resumed"]["room"]["participant"] == host_number and again.welcome["resumed"]["room"]["role"] == "host"
    carol.drain(0.3)
    assert not [event for event in carol.events if event.get("participant") == host_number]


def test_two_that_were_on_a_lost_node_find_each_other_again(mortals: Guests) -> None:
    ann, bob = mortals.join("a", "ann"), mortals.join("a", "bob")
    stream = ann.publish("audio")
    bob.event("stream.published")
    bob.ask("subscribe", all=True)
    send_until(ann, "audio", stream, bob)
    time.sleep(0.6)
    mortals.cluster.kill("a")
    wait_until("the node is gone", lambda: '"cluster_node_gone"' in mortals.cluster.relays["b"].log(), seconds=30)
    ann_again, bob_again = mortals.back(ann, "b", "ann"), mortals.back(bob, "b", "bob")
    assert bob_again.welcome["resumed"]["room"]["participant"] == bob.joined["participant"]
    send_until(ann_again, "audio", stream, bob_again)


def test_without_nats_rooms_go_on_and_are_put_right_afterwards(mortals: Guests) -> None:
    cluster = mortals.cluster
    ann, near, bob = mortals.join("a", "ann", role="host"), mortals.join("a", "near"), mortals.join("b", "bob")
    stream = ann.publish("audio")
    near.event("stream.published")
    near.ask("subscribe", all=True)
    send_until(ann, "audio", stream, near)
    cluster.nats.stop()
    for relay in cluster.relays.values():
        wait_until("it says so", lambda relay=relay: "degraded: cluster" in relay.get("/readyz")[2], seconds=30)
        assert relay.get("/readyz")[0] == 200 and relay.get("/healthz")[0] == 200
    ann.media("audio", stream, b"still here")
    near.frame(b"still here")
    # Who comes and goes on either side meanwhile: the other side hears of it afterwards.
    newcomer = mortals.join("a", "newcomer")
    assert mortals.open("b", "stranger").refusal("join", room=mortals.room) == "cluster_unavailable"
    bob.ask("leave")
    wait_until("the lease is over", lambda: ann.refusal("lock", locked=True) == "cluster_unavailable" if lease_is_over(ann) else False, seconds=30)
    # Rooms may begin: each node has its own for now.
    twins = [Guests(cluster), Guests(cluster)]
    twins[1].room = twins[0].room
    left, right = twins[0].join("a", "left"), twins[1].join("b", "right")
    assert participants(left) == {left.joined["participant"]} and participants(right) == {right.joined["participant"]}
    cluster.nats.start()
    assert near.event("participant.left", seconds=30)["participant"] == bob.joined["participant"]
    seen = left.event("participant.joined", seconds=30)["participant"], right.event("participant.joined", seconds=30)["participant"]
    assert seen == (right.joined["participant"], left.joined["participant"])
    again = mortals.join("b", "bob")
    assert participants(again) == {session.joined["participant"] for session in (ann, near, newcomer, again)}
    for twin in twins:
        twin.close()


@pytest.fixture
def cabled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    """Two nodes, the second of which can be cut off from NATS without a word."""
    cluster = Cluster(tmp_path_factory.mktemp("cabled"), lease=1_500)
    guests = Guests(cluster)
    try:
        cluster.nats.start()
        cluster.cables["b"] = Cable(cluster.nats.port)
        for name in ("a", "b"):
            cluster.start(name)
        cluster.await_nodes()
        yield guests
    finally:
        cluster.cables["b"].flows.set()
        guests.close()
        cluster.stop()


def test_a_partition_leaves_one_truth_that_of_the_side_that_the_registry_is_on(cabled: Guests) -> None:
    """The home is cut off: it may not give roles or locks any more, another may; afterwards that is how it is everywhere."""
    cluster = cabled.cluster
    host, guest = cabled.join("b", "host", role="host"), cabled.join("b", "guest")
    other, second = cabled.join("a", "other", role="host"), cabled.join("a", "second")
    stream = host.publish("audio")
    for session in (guest, second):
        session.event("stream.published")
        session.ask("subscribe", all=True)
    send_until(host, "audio", stream, guest, second)
    cluster.cables["b"].flows.clear()
    wait_until("the other side has the room", lambda: measure(cluster.relays["a"], "segue_cluster_rooms_taken_total") >= 1, seconds=30)
    # Where it was: media goes on, and nobody's rights grow.
    host.media("audio", stream, b"within the partition")
    guest.frame(b"within the partition")
    assert host.refusal("lock", locked=True) == "cluster_unavailable"
    assert host.refusal("promote", participant=guest.joined["participant"], role="host") == "cluster_unavailable"
    # Where it is now: a host decides.
    other.ask("lock", locked=True)
    other.ask("promote", participant=second.joined["participant"], role="listener")
    cluster.cables["b"].flows.set()
    assert guest.event("room.locked", seconds=40)["locked"] is True
    assert guest.event("participant.changed", seconds=40, participant=second.joined["participant"])["role"] == "listener"
    late = cabled.open("b", "late")
    # Until the other node is heard of again, it may be that nobody can be asked.
    wait_until("the lock holds here too", lambda: late.refusal("join", room=cabled.room) == "room_locked")
    host.ask("lock", locked=False)
    assert other.event("room.locked", locked=False)
    late.joined = late.ask("join", room=cabled.room)
    assert participants(late) == {session.joined["participant"] for session in (host, guest, other, second, late)}
    send_until(host, "audio", stream, second)


def lease_is_over(host: Session) -> bool:
    try:
        host.ask("lock", locked=False)
    except Refused:
        return True
    time.sleep(0.1)
    return False


def test_a_node_that_goes_away_gives_its_rooms_to_others(mortals: Guests) -> None:
    cluster = mortals.cluster
    ann, bob = mortals.join("a", "ann"), mortals.join("b", "bob")
    stream = ann.publish("audio")
    bob.event("stream.published")
    bob.ask("subscribe", all=True)
    send_until(ann, "audio", stream, bob)
    relay: Relay = cluster.relays["a"]
    relay.process.send_signal(signal.SIGTERM)
    ann.event("goaway")
    again = mortals.back(ann, "b", "ann")
    assert again.welcome["resumed"]["room"]["participant"] == ann.joined["participant"]
    send_until(again, "audio", stream, bob)
    assert not {"participant.left", "participant.joined", "stream.ended"} & set(bob.types())
    relay.process.wait(60)
    relay.stopped = True
    del cluster.relays["a"]
    late = mortals.join("b", "late")
    assert len(participants(late)) == 3
