"""Rooms with roles: who may publish, the lobby, lock, mute, remove, promote, end, bounds and bit rates; several devices of one identity."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support import metrics
from support.authority import Authority
from support.relay import Identity, Relay
from support.session import KEY, Closed, Refused, Session

NAME = "urn:segue:client:"
POLICY = {
    "access": [
        {"identities": [f"{NAME}host*"], "rooms": ["*"], "roles": ["host", "speaker", "listener", "recorder"]},
        {"identities": [f"{NAME}sam*"], "rooms": ["*"], "roles": ["speaker", "listener", "recorder"]},
        {"identities": [f"{NAME}lena"], "rooms": ["*"], "roles": ["listener"]},
        {"identities": [f"{NAME}reed"], "rooms": ["*"], "roles": ["recorder"]},
        {"identities": [f"{NAME}audrey"], "rooms": ["*"], "roles": ["speaker"], "publish": ["audio"]},
    ],
    "rooms": [
        {"rooms": ["lobby-*"], "lobby": True},
        {"rooms": ["small-*"], "participantsMax": 2, "publishersMax": 1},
        {"rooms": ["slow-*"], "bitRateMax": 80_000},
    ],
}
PEOPLE = ("host", "host-2", "sam", "sam-2", "lena", "reed", "audrey")
# (HTTP version of the clients, loops of the relay)
ROUTES = [("1.1", 1), ("1.1", 3), ("2", 3)]


@dataclass
class Setting:
    """A relay, the clients' certificates, and sessions that end with the test."""

    relay: Relay
    people: dict[str, Identity]
    http: str
    room: str = ""
    sessions: list[Session] = field(default_factory=list)

    def open(self, name: str) -> Session:
        session = Session(self.relay, self.people[name], http=self.http)
        self.sessions.append(session)
        return session

    def join(self, name: str, room: str | None = None, **members) -> tuple[Session, dict]:
        """Joins, and subscribes to everything: of streams that are published afterwards no frame is missed, whichever loops they cross."""
        session = self.open(name)
        joined = session.ask("join", room=room or self.room, **members)
        if joined["state"] == "joined":
            session.ask("subscribe", all=True)
        return session, joined

    @staticmethod
    def send_until_heard(sender: Session, stream: int, payload: bytes, listener: Session) -> None:
        """For a listener that subscribed to a stream that was there: it may miss the first frames of data."""
        deadline = time.monotonic() + 20
        while payload not in listener.payloads():
            assert time.monotonic() < deadline, f"{payload!r} was not heard"
            sender.media("data", stream, payload)
            listener.drain(0.1)

    def counter(self, name: str, label: str = "", value: str = "") -> float:
        status, _, text = self.relay.get("/metrics")
        assert status == 200
        return sum(number for sample, labels, number in metrics.parse(text) if sample == name and (not label or labels.get(label) == value))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def people(authority: Authority) -> dict[str, Identity]:
    return {name: authority.issue(name) for name in PEOPLE}


def configuration(folder: Path, authority: Authority, **more) -> dict:
    server = authority.issue_server()
    chain = folder / "chain.pem"
    chain.write_text(server.certificate.read_text() + authority.certificate.read_text())
    return {
        "listen": ["127.0.0.1:0"],
        "reloadCheckMilliseconds": 100,
        "tls": {
            "certificates": [{"chain": str(chain), "key": str(server.key)}],
            "clientAuthorities": [str(authority.certificate)],
            "revocationLists": [str(authority.revocations)],
        },
        **more,
    }


@pytest.fixture(scope="module")
def relays(
    start_relay: Callable[..., Relay], authority: Authority, people: dict[str, Identity], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Relay]:
    started: dict[int, Relay] = {}

    def relay(loops: int) -> Relay:
        if loops not in started:
            config = configuration(tmp_path_factory.mktemp("server"), authority, policy=POLICY, limits={"lobbyMax": 2, "resumeMilliseconds": 500})
            started[loops] = start_relay(
                f"rooms-{loops}", loops=loops, config=config, authority=authority.certificate, identity=people["host"]
            )
        return started[loops]

    return relay


ROOM_NUMBERS = itertools.count()


@pytest.fixture(params=ROUTES, ids=lambda route: f"HTTP {route[0]}, {route[1]} loops")
def setting(request: pytest.FixtureRequest, relays: Callable[[int], Relay], people: dict[str, Identity]) -> Iterator[Setting]:
    http, loops = request.param
    setting = Setting(relays(loops), people, http, f"room-{next(ROOM_NUMBERS)}")
    yield setting
    for session in setting.sessions:
        session.close()
    setting.relay.assert_healthy()
    assert setting.counter("segue_frames_unaccounted") == 0


# Roles


def test_each_role_may_what_it_may(setting: Setting) -> None:
    roles = {"host": "host", "sam": "speaker", "lena": "listener", "reed": "recorder"}
    present = {}
    for name, role in roles.items():
        session, joined = setting.join(name)
        assert joined["role"] == role and joined["state"] == "joined" and joined["locked"] is False
        present[name] = (session, joined["participant"])
    shown = {entry["participant"]: entry["role"] for entry in joined["participants"]}
    assert shown == {present[name][1]: role for name, role in roles.items()}
    for name, role in roles.items():
        session = present[name][0]
        if role in ("host", "speaker"):
            stream = session.publish("data")
            session.media("data", stream, name.encode())
            for other in roles:
                if other != name:
                    present[other][0].frame(name.encode())
        else:
            assert session.refusal("publish", kind="audio", codec="opus") == "role"
        if role != "host":
            for request, members in (
                ("mute", {"participant": present["host"][1], "muted": True}),
                ("remove", {"participant": present["host"][1]}),
                ("promote", {"participant": present[name][1], "role": "host"}),
                ("lock", {"locked": True}),
                ("end", {}),
                ("admit", {"participant": 1}),
                ("deny", {"participant": 1}),
            ):
                assert session.refusal(request, **members) == "not_host", request
    present["reed"][0].barrier()
    assert present["host"][0].event("participant.joined", participant=present["reed"][1])["role"] == "recorder"


@pytest.mark.hostile
def test_a_role_that_the_policy_does_not_give_is_refused(setting: Setting) -> None:
    lena = setting.open("lena")
    for role in ("host", "speaker", "recorder"):
        assert lena.refusal("join", room=setting.room, role=role) == "not_allowed"
    assert lena.refusal("join", room=setting.room, role="emperor") == "malformed"
    assert lena.ask("join", room=setting.room, role="listener")["role"] == "listener"
    host, joined = setting.join("host", role="recorder")
    assert joined["role"] == "recorder"
    assert host.refusal("lock", locked=True) == "not_host"


def test_a_kind_above_the_ceiling_is_refused_whatever_the_role(setting: Setting) -> None:
    host, _ = setting.join("host")
    audrey, joined = setting.join("audrey")
    assert audrey.refusal("publish", kind="video", codec="vp8") == "not_allowed"
    host.ask("promote", participant=joined["participant"], role="host")
    audrey.event("participant.changed", participant=joined["participant"], role="host")
    assert audrey.refusal("publish", kind="video", codec="vp8") == "not_allowed"
    assert audrey.refusal("publish", kind="data", codec="x") == "not_allowed"
    audrey.publish("audio")


@pytest.mark.hostile
def test_moderation_outside_of_a_room(setting: Setting) -> None:
    host = setting.open("host")
    for request, members in (("mute", {"participant": 1, "muted": True}), ("lock", {"locked": True}), ("end", {}), ("admit", {"participant": 1})):
        assert host.refusal(request, **members) == "not_in_room"
    host.ask("join", room=setting.room)
    for request, members in (
        ("mute", {"participant": 4_000_000_000, "muted": True}),
        ("remove", {"participant": 4_000_000_000}),
        ("promote", {"participant": 4_000_000_000, "role": "host"}),
        ("admit", {"participant": 4_000_000_000}),
        ("deny", {"participant": 4_000_000_000}),
    ):
        assert host.refusal(request, **members) == "unknown_participant"
    assert host.refusal("mute", participant=1, kinds=[], muted=True) == "bad_value"
    assert host.refusal("mute", participant=1) == "malformed"
    assert host.refusal("promote", participant=1, role="boss") == "malformed"


def test_moderation_does_not_reach_into_another_room(setting: Setting) -> None:
    host, _ = setting.join("host")
    sam, elsewhere = setting.join("sam", setting.room + "-other")
    for request, members in (("mute", {"muted": True}), ("remove", {}), ("promote", {"role": "host"})):
        assert host.refusal(request, participant=elsewhere["participant"], **members) == "unknown_participant"
    sam.publish("audio")


# Mute


def test_mute_stops_frames_and_video_comes_back_with_a_key_frame(setting: Setting) -> None:
    host, _ = setting.join("host")
    sam, joined = setting.join("sam")
    me = joined["participant"]
    video, data = sam.publish("video"), sam.publish("data")
    sam.media("video", video, b"key 1", KEY)
    sam.media("video", video, b"delta 1")
    host.frame(b"delta 1")

    host.ask("mute", participant=me, kinds=["video"], muted=True)
    assert sam.event("participant.changed", participant=me)["muted"] == ["video"]
    assert host.event("participant.changed", participant=me) == {"type": "participant.changed", "participant": me, "role": "speaker", "muted": ["video"]}
    for number in range(5):
        sam.media("video", video, b"muted %d" % number, KEY if number == 3 else 0)
    # The configuration of a muted stream must not be a way round.
    sam.configure(video, b"muted configuration")
    sam.media("data", data, b"not muted")
    host.frame(b"not muted")

    late, shown = setting.join("lena")
    assert [entry.get("muted") for entry in shown["participants"] if entry["participant"] == me] == [["video"]]
    setting.send_until_heard(sam, data, b"marker for latecomers", late)
    assert not [frame for frame in late.frames if frame.stream == video and frame.kind == 1], "a latecomer is shown muted pictures"

    sam.events.clear()
    host.ask("mute", participant=me, kinds=["video"], muted=False)
    assert sam.event("participant.changed", participant=me)["muted"] == []
    sam.event("keyframe.requested", stream=video)
    sam.media("video", video, b"delta that nobody can decode")
    sam.media("video", video, b"key 2", KEY)
    sam.media("video", video, b"delta 2")
    for listener in (host, late):
        listener.frame(b"delta 2")
        after = [frame.payload for frame in listener.frames if frame.stream == video]
        assert after[-3:] == [b"muted configuration", b"key 2", b"delta 2"], after
        assert not any(payload.startswith(b"muted ") and payload != b"muted configuration" for payload in listener.payloads(video))
        assert b"delta that nobody can decode" not in listener.payloads(video)


def test_mute_of_all_kinds_and_of_streams_to_come(setting: Setting) -> None:
    host, _ = setting.join("host")
    sam, joined = setting.join("sam")
    audio = sam.publish("audio")
    host.ask("mute", participant=joined["participant"], muted=True)
    assert sam.event("participant.changed", participant=joined["participant"])["muted"] == ["audio", "video", "data"]
    data = sam.publish("data")
    for number in range(3):
        sam.media("audio", audio, b"muted")
        sam.media("data", data, b"muted")
    sam.barrier()
    host.ask("mute", participant=joined["participant"], kinds=["data"], muted=False)
    assert sam.event("participant.changed", participant=joined["participant"])["muted"] == ["audio", "video"]
    sam.media("audio", audio, b"still muted")
    sam.media("data", data, b"heard")
    host.frame(b"heard")
    assert host.payloads() == [b"heard"]


def test_leaving_sheds_neither_mute_nor_demotion(setting: Setting) -> None:
    """What a host imposes holds for the identity as long as the room is there, whichever session or device it comes with."""
    host, _ = setting.join("host")
    sam, joined = setting.join("sam")
    host.ask("mute", participant=joined["participant"], kinds=["audio"], muted=True)
    sam.ask("leave")
    number = sam.ask("join", room=setting.room)["participant"]
    device, entry = setting.join("sam")
    shown = {participant["participant"]: participant.get("muted") for participant in entry["participants"]}
    assert shown[number] == shown[entry["participant"]] == ["audio"]
    assert host.event("participant.joined", participant=entry["participant"])["muted"] == ["audio"]
    for session in (sam, device):
        audio, data = session.publish("audio"), session.publish("data")
        session.media("audio", audio, b"muted")
        session.media("data", data, b"from %d" % data)
        host.frame(b"from %d" % data)
    assert b"muted" not in host.payloads()
    host.ask("mute", participant=number, kinds=["audio"], muted=False)
    sam.event("participant.changed", participant=number, muted=[])

    host.ask("promote", participant=number, role="listener")
    sam.event("participant.changed", participant=number, role="listener")
    sam.ask("leave")
    assert sam.ask("join", room=setting.room, role="speaker")["role"] == "listener"
    assert sam.refusal("publish", kind="audio", codec="opus") == "role"
    # Another identity, and another room, are none of it.
    assert setting.join("sam-2")[1]["role"] == "speaker"
    sam.ask("leave")
    assert sam.ask("join", room=setting.room + "-other")["role"] == "speaker"


def test_muted_frames_are_counted(setting: Setting) -> None:
    host, _ = setting.join("host")
    sam, joined = setting.join("sam")
    audio = sam.publish("audio")
    host.ask("mute", participant=joined["participant"], muted=True)
    sam.event("participant.changed", participant=joined["participant"])
    before = metrics.settled(setting.relay, "segue_frames_refused_total", "muted")
    for _ in range(7):
        sam.media("audio", audio, b"x")
    sam.barrier()
    deadline = time.monotonic() + 10
    while setting.counter("segue_frames_refused_total", "reason", "muted") != before + 7:
        assert time.monotonic() < deadline, setting.counter("segue_frames_refused_total", "reason", "muted") - before
        time.sleep(0.05)


# Promote


def test_demotion_ends_streams_and_promotion_allows_new_ones(setting: Setting) -> None:
    host, _ = setting.join("host")
    sam, joined = setting.join("sam")
    me = joined["participant"]
    stream, second = sam.publish("audio"), sam.publish("video")
    host.ask("promote", participant=me, role="listener")
    for session in (sam, host):
        assert session.event("participant.changed", participant=me)["role"] == "listener"
        session.event("stream.ended", stream=stream)
        session.event("stream.ended", stream=second)
    # What was under way does no harm.
    for _ in range(3):
        sam.media("audio", stream, b"too late")
    assert sam.refusal("publish", kind="audio", codec="opus") == "role"
    assert sam.refusal("unpublish", stream=stream) == "unknown_stream"
    host.ask("promote", participant=me, role="speaker")
    assert sam.event("participant.changed", participant=me, role="speaker")
    again = sam.publish("audio")
    sam.media("audio", again, b"allowed again")
    host.frame(b"allowed again")
    assert host.payloads() == [b"allowed again"]


def test_a_listener_is_made_host_and_moderates(setting: Setting) -> None:
    host, first = setting.join("host")
    lena, joined = setting.join("lena")
    host.ask("promote", participant=joined["participant"], role="host")
    lena.event("participant.changed", participant=joined["participant"], role="host")
    lena.ask("promote", participant=first["participant"], role="listener")
    host.event("participant.changed", participant=first["participant"], role="listener")
    assert host.refusal("lock", locked=True) == "not_host"
    lena.ask("lock", locked=True)


# Remove, end, lock


def test_who_is_removed_hears_that_last_and_may_go_elsewhere(setting: Setting) -> None:
    host, _ = setting.join("host")
    lena, _ = setting.join("lena")
    sam, joined = setting.join("sam")
    me = joined["participant"]
    own, hosts = sam.publish("audio"), host.publish("audio")
    sam.media("audio", own, b"before")
    host.media("audio", hosts, b"before, host")
    sam.frame(b"before, host")
    host.frame(b"before")

    host.ask("remove", participant=me)
    assert sam.event("room.removed") == {"type": "room.removed", "room": setting.room, "reason": "removed"}
    for session in (host, lena):
        session.event("stream.ended", stream=own)
        assert session.event("participant.left", participant=me)["reason"] == "removed"
    heard = len(sam.frames)
    sam.events.clear()
    host.media("audio", hosts, b"after")
    lena.frame(b"after")
    sam.media("audio", own, b"still under way")
    sam.barrier()
    sam.drain()
    assert sam.events == [] and len(sam.frames) == heard, "something of the room came after room.removed"
    assert sam.refusal("leave") == "not_in_room"
    assert sam.refusal("publish", kind="audio", codec="opus") == "not_in_room"
    sam.ask("join", room=setting.room + "-elsewhere")
    sam.ask("leave")
    # Not barred: a lock is what keeps somebody out.
    sam.ask("join", room=setting.room)


def test_end_is_for_everybody(setting: Setting) -> None:
    host, _ = setting.join("host")
    others = [setting.join(name)[0] for name in ("sam", "lena", "reed")]
    stream = others[0].publish("audio")
    for session in (host, *others):
        session.barrier()
        session.events.clear()
    host.ask("end")
    for session in (host, *others):
        assert session.event("room.removed") == {"type": "room.removed", "room": setting.room, "reason": "ended"}
    others[0].media("audio", stream, b"under way")
    for session in (host, *others):
        session.barrier()
        assert session.events == [], "room.removed is the last that anybody hears"
        assert session.refusal("leave") == "not_in_room"
    # The name is free again: a new room, with nothing of the old.
    joined = others[1].ask("join", room=setting.room)
    assert len(joined["participants"]) == 1 and joined["streams"] == []


def test_a_host_may_remove_itself(setting: Setting) -> None:
    host, joined = setting.join("host")
    host.ask("remove", participant=joined["participant"])
    assert host.event("room.removed")["reason"] == "removed"
    host.ask("join", room=setting.room)


def test_a_lock_keeps_everybody_out_but_hosts(setting: Setting) -> None:
    host, _ = setting.join("host")
    sam, joined = setting.join("sam")
    host.ask("lock", locked=True)
    assert sam.event("room.locked")["locked"] is True
    late = setting.open("sam-2")
    assert late.refusal("join", room=setting.room) == "room_locked"
    second, entry = setting.join("host-2")
    assert entry["locked"] is True
    host.ask("remove", participant=joined["participant"])
    sam.event("room.removed")
    assert sam.refusal("join", room=setting.room) == "room_locked"
    second.ask("lock", locked=False)
    assert host.event("room.locked", locked=False)
    late.ask("join", room=setting.room)


# Lobby


def test_the_lobby(setting: Setting) -> None:
    room = "lobby-" + setting.room
    host, entry = setting.join("host", room)
    assert entry["state"] == "joined"
    stream = host.publish("audio")
    sam, joined = setting.join("sam", room, displayName="Sam")
    me = joined["participant"]
    assert joined == {"type": "ok", "id": joined["id"], "room": room, "participant": me, "role": "speaker", "state": "waiting"}
    waiting = host.event("lobby.waiting", participant=me)
    assert waiting["identity"]["name"] == f"{NAME}sam" and waiting["displayName"] == "Sam" and waiting["role"] == "speaker"
    # Who waits is not in.
    for request, members in (("publish", {"kind": "audio", "codec": "opus"}), ("subscribe", {"all": True}), ("lock", {"locked": True})):
        assert sam.refusal(request, **members) == "not_in_room"
    assert sam.refusal("join", room=room) == "already_in_room"
    assert host.refusal("remove", participant=me) == "unknown_participant"
    # And hears nothing of the room.
    lena = setting.open("lena")
    lena.ask("join", room=room)
    other = host.event("lobby.waiting")["participant"]
    host.ask("deny", participant=other)
    assert lena.event("room.removed") == {"type": "room.removed", "room": room, "reason": "denied"}
    host.event("lobby.left", participant=other)
    host.media("audio", stream, b"private")
    host.ask("lock", locked=True)
    host.ask("lock", locked=False)
    sam.barrier()
    sam.drain()
    assert sam.events == [] and sam.frames == [], "somebody who waits heard of the room"

    host.ask("admit", participant=me)
    entry = sam.event("room.admitted")
    assert entry["participant"] == me and entry["role"] == "speaker" and entry["locked"] is False
    assert [info["stream"] for info in entry["streams"]] == [stream]
    assert {participant["role"] for participant in entry["participants"]} == {"host", "speaker"}
    host.event("lobby.left", participant=me)
    assert host.event("participant.joined", participant=me)["displayName"] == "Sam"
    sam.ask("subscribe", all=True)
    own = sam.publish("audio")
    sam.media("audio", own, b"in")
    host.frame(b"in")
    lena.ask("join", room=setting.room)


def test_lobby_is_bounded_and_outlives_hosts(setting: Setting) -> None:
    room = "lobby-" + setting.room
    sam, joined = setting.join("sam", room)
    assert joined["state"] == "waiting"
    lena, _ = setting.join("lena", room)
    assert setting.open("reed").refusal("join", room=room) == "lobby_full"
    lena.ask("leave")
    host, entry = setting.join("host", room)
    assert len(entry["participants"]) == 1
    # A host that comes later is told of who waits already.
    assert host.event("lobby.waiting")["participant"] == joined["participant"]
    host.ask("leave")
    second, _ = setting.join("host-2", room)
    second.event("lobby.waiting", participant=joined["participant"])
    sam.transport.cut()
    second.event("lobby.left", participant=joined["participant"])
    assert second.refusal("admit", participant=joined["participant"]) == "unknown_participant"


def test_end_empties_the_lobby(setting: Setting) -> None:
    room = "lobby-" + setting.room
    host, _ = setting.join("host", room)
    sam, _ = setting.join("sam", room)
    host.ask("end")
    assert sam.event("room.removed")["reason"] == "ended"
    assert sam.refusal("leave") == "not_in_room"


def test_who_is_promoted_to_host_is_told_of_the_lobby(setting: Setting) -> None:
    room = "lobby-" + setting.room
    host, _ = setting.join("host", room)
    sam, joined = setting.join("sam", room)
    host.ask("admit", participant=joined["participant"])
    sam.event("room.admitted")
    _, waiting = setting.join("lena", room)
    host.event("lobby.waiting", participant=waiting["participant"])
    sam.barrier()
    assert "lobby.waiting" not in sam.types(), "the lobby is for hosts"
    host.ask("promote", participant=joined["participant"], role="host")
    sam.event("lobby.waiting", participant=waiting["participant"])
    sam.ask("admit", participant=waiting["participant"])
    host.event("lobby.left", participant=waiting["participant"])


# Bounds


def test_bounds_of_a_room(setting: Setting) -> None:
    room = "small-" + setting.room
    host, _ = setting.join("host", room)
    sam, _ = setting.join("sam", room)
    with pytest.raises(Refused) as refused:
        setting.join("lena", room)
    assert refused.value.code == "participants_max" and "2" in refused.value.message
    sam.publish("audio")
    assert host.refusal("publish", kind="audio", codec="opus") == "publishers_max"
    sam.publish("data")
    sam.ask("leave")
    host.event("participant.left")
    host.publish("audio")


def test_bit_rate_of_a_participant(setting: Setting) -> None:
    """80 kbit/s, so 10,000 bytes at once, and then no more than that a second."""
    room = "slow-" + setting.room
    sam, _ = setting.join("sam", room)
    lena, _ = setting.join("lena", room)
    video, data = sam.publish("video"), sam.publish("data")
    before = metrics.settled(setting.relay, "segue_frames_refused_total", "bit_rate")
    sam.media("video", video, b"key 1".ljust(1_000), KEY)
    started = time.monotonic()
    for number in range(60):
        sam.media("video", video, (b"delta %d" % number).ljust(1_000))
    sam.barrier()
    spent = time.monotonic() - started
    sam.event("keyframe.requested", stream=video)
    lena.drain(0.5)
    got = len(lena.payloads(video))
    assert 9 <= got <= 10 + 10 * spent + 1, (got, spent)
    assert lena.payloads(video)[0].startswith(b"key 1")
    # Nothing of the stream is of use until a key frame comes, which must wait for its bits.
    time.sleep(1.2)
    sam.media("video", video, b"delta without a reference")
    sam.media("video", video, b"key 2", KEY)
    sam.media("video", video, b"delta on it")
    sam.media("data", data, b"data too")
    lena.frame(b"delta on it")
    lena.frame(b"data too")
    assert b"delta without a reference" not in lena.payloads(video)
    deadline = time.monotonic() + 10
    while setting.counter("segue_frames_refused_total", "reason", "bit_rate") - before != 62 - got:
        assert time.monotonic() < deadline
        time.sleep(0.05)


# Devices


def test_one_identity_with_one_certificate_several_times(setting: Setting) -> None:
    """Two devices share a room with somebody else, a third is in another room; each is a participant of its own, and none disturbs another."""
    lena, _ = setting.join("lena")
    first, one = setting.join("sam")
    second, two = setting.join("sam")
    third, three = setting.join("sam", setting.room + "-other")
    assert len({one["participant"], two["participant"], three["participant"]}) == 3
    names = [entry["identity"]["name"] for entry in two["participants"]]
    assert names.count(f"{NAME}sam") == 2
    streams = [session.publish("audio") for session in (first, second, third)]
    first.media("audio", streams[0], b"from the first")
    second.media("audio", streams[1], b"from the second")
    third.media("audio", streams[2], b"from elsewhere")
    lena.frame(b"from the first")
    lena.frame(b"from the second")
    first.frame(b"from the second")
    second.frame(b"from the first")
    first.ask("leave")
    second.event("participant.left", participant=one["participant"])
    second.media("audio", streams[1], b"still here")
    lena.frame(b"still here")
    third.barrier()
    assert b"from elsewhere" not in lena.payloads()


def test_one_identity_with_two_certificates(setting: Setting, authority: Authority) -> None:
    """A host acts on one device; the other, with another key, stays what it is."""
    setting.people.setdefault("sam-phone", authority.issue(f"sam-phone-{time.monotonic_ns()}", names=f"URI:{NAME}sam"))
    host, _ = setting.join("host")
    laptop, one = setting.join("sam")
    phone, two = setting.join("sam-phone")
    fingerprints = {entry["identity"]["fingerprint"] for entry in two["participants"] if entry["identity"]["name"] == f"{NAME}sam"}
    assert len(fingerprints) == 2
    host.ask("mute", participant=one["participant"], muted=True)
    host.ask("remove", participant=one["participant"])
    laptop.event("room.removed")
    stream = phone.publish("audio")
    phone.media("audio", stream, b"from the phone")
    host.frame(b"from the phone")


def test_many_come_and_go_while_a_host_acts(setting: Setting) -> None:
    """Removals, demotions and leaves that cross each other on the way leave nobody half in the room."""
    host, first = setting.join("host")
    for turn in range(8):
        sessions = [setting.join("sam") for _ in range(3)]
        for session, joined in sessions:
            session.send("publish", kind="audio", codec="opus")
            host.send("promote", participant=joined["participant"], role="listener")
            host.send("remove", participant=joined["participant"])
            if turn % 2:
                session.send("leave")
            session.send("join", room=setting.room)
        for session, _ in sessions:
            try:
                session.barrier()
                session.close()
            except Closed as end:
                raise AssertionError(f"a session was closed: {end}") from end
    host.barrier()
    deadline = time.monotonic() + 10
    while True:
        second, entry = setting.join("host-2")
        if len(entry["participants"]) == 2:
            break
        assert time.monotonic() < deadline, entry["participants"]
        second.close()
        # Over HTTP/2 it ends without a close frame, and is kept for half a second.
        time.sleep(0.8)
    assert entry["streams"] == []
    assert {participant["participant"] for participant in entry["participants"]} == {first["participant"], entry["participant"]}
