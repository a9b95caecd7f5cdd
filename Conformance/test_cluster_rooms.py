"""What a room decides for those in it holds across nodes too: its lobby, who speaks, whose video comes, key frames asked for (protocol §8.4)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from support.cluster import Cluster
from support.session import CONFIGURATION, KEY
from support.sound import MIX, Packets, Speaking, opus_head, tone_level, tone_packets, wait_frames
from support.sound import Voice as SpokenVoice
from test_cluster import Guests, guests  # noqa: F401
from test_last_n import Camera, assert_begins_well, flows, forwarded
from test_last_n import play as play_cameras
from test_speakers import Voice, play, told

LOW, HIGH = tone_packets(400), tone_packets(2_000)
pytestmark = pytest.mark.skipif(shutil.which("nats-server") is None, reason="no nats-server here")
POLICY = {
    "access": [{"identities": ["*"], "rooms": ["*"], "roles": ["host", "speaker", "listener"]}],
    "rooms": [{"rooms": ["lobby-*"], "lobby": True}],
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes with a room policy."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster-rooms"))
    try:
        cluster.nats.start()
        for name in ("a", "b", "c"):
            cluster.start(name, policy=POLICY, limits={"keyFrameRequestMillisecondsMin": 2_000})
        cluster.await_nodes()
        yield cluster
    finally:
        cluster.stop()


def camera(guests: Guests, node: str, name: str) -> Camera:  # noqa: F811
    session = guests.join(node, name)
    video = session.ask("publish", kind="video", codec="vp8", source="camera")["stream"]
    session.configure(video, b"configuration of %d" % video)
    return Camera(session, video, session.publish("audio"))


def test_a_host_admits_who_waits_on_another_node(guests: Guests) -> None:  # noqa: F811
    guests.room = "lobby-" + guests.room
    host = guests.join("a", "host", role="host")
    stream = host.publish("audio")
    sam, lena = guests.join("b", "sam", role="speaker"), guests.join("c", "lena", role="speaker")
    for session in (sam, lena):
        assert session.joined["state"] == "waiting" and "participants" not in session.joined
        assert host.event("lobby.waiting", participant=session.joined["participant"])["role"] == "speaker"
    assert sam.refusal("publish", kind="audio", codec="opus") == "not_in_room"
    host.ask("deny", participant=lena.joined["participant"])
    assert lena.event("room.removed")["reason"] == "denied"
    assert not sam.events, "somebody who waits heard of the room"
    host.ask("admit", participant=sam.joined["participant"])
    entry = sam.event("room.admitted")
    assert entry["participant"] == sam.joined["participant"] and [info["stream"] for info in entry["streams"]] == [stream]
    assert host.event("participant.joined")["participant"] == sam.joined["participant"]


def test_speakers_are_told_of_on_every_node(guests: Guests) -> None:  # noqa: F811
    listeners = [guests.join(node, f"listener-{node}") for node in ("a", "b", "c")]
    voices = [
        Voice(session, session.publish("audio"), session.joined["participant"]) for session in (guests.join("a", "ann"), guests.join("b", "bob"))
    ]
    for listener in listeners:
        listener.ask("subscribe", all=True)
    for loud, quiet in (voices, voices[::-1]):
        loud.level, quiet.level = 20, 127

        def is_known() -> bool:
            for listener in listeners[1:]:
                listener.drain(0.001)
            return all(told(listener)[-1:] == [[loud.stream]] for listener in listeners)  # noqa: B023

        assert play(voices, listeners[0], 20, is_known), [told(listener) for listener in listeners]


def test_of_other_nodes_cameras_the_last_speakers_comes(guests: Guests) -> None:  # noqa: F811
    ann, bob = camera(guests, "a", "ann"), camera(guests, "b", "bob")
    listener = guests.join("c", "listener")
    listener.ask("subscribe", all=True, lastN=1)
    for loud, quiet in ((ann, bob), (bob, ann)):
        loud.level, quiet.level = 20, 127
        listener.frames.clear()
        play_cameras([ann, bob], listener, lambda loud=loud: forwarded(listener) == [loud.video])
        play_cameras([ann, bob], listener, flows(listener, loud.video))
    assert_begins_well(listener, bob.video)


def test_key_frames_that_several_nodes_ask_for_are_one_request(guests: Guests) -> None:  # noqa: F811
    publisher = guests.join("a", "ann")
    listeners = [guests.join(node, f"{node}{number}") for node in ("a", "b", "c") for number in range(2)]
    stream = publisher.publish("video")
    for listener in listeners:
        listener.event("stream.published")
        listener.ask("subscribe", streams=[stream])
    publisher.media("video", stream, b"key", KEY)
    publisher.media("video", stream, b"delta")
    for listener in listeners:
        listener.frame(b"delta")
    publisher.drain(1)
    publisher.events.clear()
    for listener in listeners:
        listener.ask("keyframe.request", stream=stream)
    assert publisher.event("keyframe.requested")["stream"] == stream
    publisher.drain(1)
    assert "keyframe.requested" not in publisher.types(), "nodes asked the publisher one by one"
    publisher.media("video", stream, b"key 2", KEY)
    for listener in listeners:
        listener.frame(b"key 2")


def test_a_stream_of_another_node_is_paced_by_this_one(guests: Guests) -> None:  # noqa: F811
    """The worker for sound gets it from the loop that has it for the whole node."""
    bob, ann = guests.join("a", "bob"), guests.join("b", "ann")
    packets = [bytes([0xF8]) + bytes([number % 251]) * 40 for number in range(500)]
    voice = SpokenVoice(bob, Packets(packets))
    ann.event("stream.published")
    assert ann.ask("subscribe", streams=[voice.stream], delivery="paced", delay=1_500)["subscribed"] == [voice.stream]
    with Speaking(voice):
        frames = wait_frames(ann, voice.stream, 40)
    assert (ann.frames[0].kind, ann.frames[0].payload) == (CONFIGURATION, opus_head())
    assert [frame.payload for frame in frames] == [packets[frame.sequence % len(packets)] for frame in frames]


def test_who_talks_on_other_nodes_is_in_the_mix_of_this_one(guests: Guests) -> None:  # noqa: F811
    ann = guests.join("c", "ann")
    voices = [SpokenVoice(guests.join(node, name), tone) for node, name, tone in (("a", "bob", LOW), ("b", "cid", HIGH))]
    assert ann.ask("subscribe", all=True, delivery="mixed")["mix"]
    with Speaking(*voices):
        frames = wait_frames(ann, MIX, 100)
    for hertz in (400, 2_000):
        assert tone_level(frames[60:], hertz) > -40, hertz
    assert tone_level(frames[60:], 1_000) < -50
