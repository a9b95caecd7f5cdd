"""Heartbeats, dead peers, clocks and receiver reports, with real clients and real time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import namespaces
from support.admin import AdminSetting, until
from support.metrics import by_reason, value
from support.namespaces import HOST_A, Cable
from support.raw_websocket import CLOSE, PING, PONG, TEXT, RawWebSocket, frame
from support.relay import Relay
from support.session import CONFIGURATION, Session
from support.stopwatch import Stopwatch

PING_MILLISECONDS = 400


def raw_session(relay: Relay, context, *, port: int | None = None, host: str = "127.0.0.1", hello: dict | None = None) -> RawWebSocket:
    ws = RawWebSocket(port or relay.port, context, path="/v1/session", subprotocol="segue.v1", host=host)
    ask(ws, {"type": "hello", "id": 1, "versions": [1], **(hello or {})})
    return ws


def ask(ws: RawWebSocket, message: dict) -> dict:
    """The answer; whatever else comes meanwhile is dropped, pings are answered."""
    ws.send(frame(TEXT, json.dumps(message).encode()))
    while (received := ws.receive()) is not None:
        if received[0] == PING:
            ws.send(frame(PONG, received[1]))
        elif received[0] == TEXT and (answer := json.loads(received[1])).get("id") == message["id"]:
            return answer
    raise AssertionError(f"the session ended instead of answering {message}")


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    return AdminSetting.create(
        start_relay, tmp_path_factory.mktemp("liveness"), limits={"pingMilliseconds": PING_MILLISECONDS}
    )


@pytest.fixture(scope="module")
def impatient(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    """Whoever is slow to say hello on a busy machine is closed: only for whoever says none."""
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("impatient"), limits={"helloMillisecondsMax": 1_700})


def session_of(setting: AdminSetting, session: str) -> dict:
    return setting.read(f"/v1/sessions/{session}")


# Heartbeats


def test_pings_keep_their_beat_and_pongs_give_the_round_trip(setting: AdminSetting) -> None:
    """The answers are held back for 50 ms, which is what the relay must find."""
    with raw_session(setting.relay, setting.context("alice")) as ws:
        session = setting.read("/v1/sessions")["sessions"][-1]["session"]
        came, payloads = [], []
        watch = Stopwatch()
        while len(came) < 10:
            opcode, payload, _ = ws.receive()
            if opcode == PING:
                came.append(time.monotonic())
                payloads.append(payload)
                time.sleep(0.05)
                ws.send(frame(PONG, payload))
        assert all(len(payload) == 8 for payload in payloads)
        assert len(set(payloads)) == len(payloads)
        watch.stop()
        # Late wake-ups do not add up: the tenth is nine intervals behind the first.
        assert abs((came[-1] - came[0]) - 9 * PING_MILLISECONDS / 1_000) < 0.25 + watch.stood_still, watch
        until(lambda: "roundTripMilliseconds" in session_of(setting, session), "the round trip is shown")
        shown = session_of(setting, session)
        assert 50 <= shown["roundTripMillisecondsMin"] <= shown["roundTripMilliseconds"] < 400 + 1_000 * watch.stood_still
    _, _, text = setting.relay.get("/metrics")
    assert value(text, "segue_ping_round_trip_seconds_count") >= 9


def test_pongs_that_nobody_asked_for_are_no_round_trip(setting: AdminSetting) -> None:
    with raw_session(setting.relay, setting.context("alice")) as ws:
        answer = ask(ws, {"type": "time", "id": 2, "clientTime": 0})
        assert answer["type"] == "ok"
        session = max(setting.read("/v1/sessions")["sessions"], key=lambda one: one["since"])["session"]
        for payload in (b"", b"\0" * 8, b"\xff" * 8, b"x" * 7, b"x" * 9, b"x" * 125):
            ws.send(frame(PONG, payload))
        while ws.receive()[0] != PING:
            pass
        # Not answered: whatever is shown would come from the pongs above.
        assert "roundTripMilliseconds" not in session_of(setting, session)


def test_who_says_no_hello_is_closed_in_time(impatient: AdminSetting) -> None:
    watch = Stopwatch()
    with RawWebSocket(impatient.relay.port, impatient.context("alice"), path="/v1/session", subprotocol="segue.v1") as ws:
        code = ws.close_code()
        watch.stop()
        assert code == 1008
        assert watch.seconds > 1.65 and watch.own < 2.5, watch


def test_keep_alive_messages_fill_silence_and_nothing_else(setting: AdminSetting) -> None:
    wishes = {"wishes": {"keepAliveMilliseconds": 1_000}}
    with Session(setting.relay, setting.clients["alice"], hello=wishes) as listener, Session(setting.relay, setting.clients["bob"]) as speaker:
        with Stopwatch() as watch:
            for _ in range(3):
                listener.event("keepalive")
        # The first was due a second after the hello.
        assert watch.seconds + watch.stood_still > 2.8 and watch.own < 4.5, watch
        for session in (listener, speaker):
            session.ask("join", room="alive")
        stream = speaker.publish()
        listener.ask("subscribe", all=True)
        listener.drain(0.2)
        listener.events.clear()
        with Stopwatch() as watch:
            for number in range(12):
                speaker.media("audio", stream, b"%d" % number)
                listener.drain(0.2)
        told = [event for event in listener.events if event["type"] == "keepalive"]
        assert len(told) <= watch.stood_still / 0.7, f"media is not silence: {watch}"
        listener.event("keepalive")
        speaker.barrier()
        assert not [event for event in speaker.events if event["type"] == "keepalive"], "it did not wish for any"


@pytest.mark.hostile
@pytest.mark.parametrize("wish", [999, 60_001, 0, -1, 1e300])
def test_keep_alive_wishes_have_bounds(setting: AdminSetting, wish: float) -> None:
    with Session(setting.relay, setting.clients["alice"], greets=False) as session:
        assert session.refusal("hello", versions=[1], wishes={"keepAliveMilliseconds": wish}) == "bad_value"


# Dead peers

needs_namespaces = pytest.mark.skipif(not namespaces.available(), reason="network namespaces need root")
PORT = 8443


class Island:
    """A relay in a namespace of its own, a witness beside it, and clients behind a cable."""

    def __init__(self, cable: Cable, folder: Path, limits: dict):
        self.cable = cable

        def start(name: str, **options) -> Relay:
            options["config"]["listen"] = [f"127.0.0.1:{PORT}", f"{HOST_A}:{PORT}"]
            return Relay.start(folder / name, **options)

        with cable.inside(cable.a):
            self.setting = AdminSetting.create(start, folder, limits={"resumeMilliseconds": 0} | limits)
            self.witness = Session(self.setting.relay, self.setting.clients["bob"])
            self.witness.ask("join", room="island")

    def client(self) -> RawWebSocket:
        """A participant of the room behind the cable."""
        with self.cable.inside(self.cable.b):
            ws = raw_session(self.setting.relay, self.setting.context("alice"), port=PORT, host=HOST_A)
        ask(ws, {"type": "join", "id": 2, "room": "island"})
        self.witness.event("participant.joined")
        return ws

    def closed(self) -> dict[str, float]:
        with self.cable.inside(self.cable.a):
            _, _, text = self.setting.relay.get("/metrics")
        return by_reason(text, "segue_websockets_closed_total")

    def __enter__(self) -> Island:
        return self

    def __exit__(self, *_: object) -> None:
        self.witness.close()
        with self.cable.inside(self.cable.a):
            self.setting.relay.stop()


@pytest.fixture
def cable() -> Iterator[Cable]:
    with Cable("live") as cable:
        yield cable


def answering(ws: RawWebSocket) -> threading.Thread:
    """Answers pings until nothing comes any more."""

    def answer() -> None:
        ws.socket.settimeout(60)
        try:
            while (received := ws.receive()) is not None:
                if received[0] == PING:
                    ws.send(frame(PONG, received[1]))
        except (OSError, AssertionError):
            pass

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    return thread


@needs_namespaces
@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_a_peer_that_dies_without_a_word_is_found_by_its_silence(cable: Cable, tmp_path: Path, how: str) -> None:
    with Island(cable, tmp_path, {"pingMilliseconds": 500, "silenceMillisecondsMax": 2_000}) as island:
        ws = island.client()
        answering(ws)
        # Long enough to see that pongs keep it alive.
        island.witness.drain(3)
        assert not island.witness.events
        with Stopwatch() as watch:
            with Stopwatch() as cutting:
                getattr(cable, how)()
            left = island.witness.event("participant.left")
        assert left["reason"] == "lost"
        # The last pong may be one interval old when the cable is cut.
        assert watch.seconds + watch.stood_still > 1.4 and watch.own < 3 + cutting.own, (watch, cutting)
        until(lambda: island.closed().get("silent") == 1, "the loops tell of it four times a second")


@needs_namespaces
def test_unacknowledged_bytes_end_a_connection_that_may_be_silent(cable: Cable, tmp_path: Path) -> None:
    """The relay may allow an hour of silence: what is not acknowledged ends it all the same, while more waits or by TCP_USER_TIMEOUT, as a lost connection."""
    limits = {"pingMilliseconds": 500, "silenceMillisecondsMax": 3_600_000, "stallMillisecondsMax": 2_000, "tcpUserTimeoutMilliseconds": 3_000}
    with Island(cable, tmp_path, limits) as island:
        ws = island.client()
        answering(ws)
        island.witness.drain(1.5)
        with Stopwatch() as watch:
            with Stopwatch() as cutting:
                cable.swallow()
            assert island.witness.event("participant.left")["reason"] == "lost"
        # The kernel looks when it sends again, after a pause that doubles each time.
        assert watch.seconds + watch.stood_still > 1.4 and watch.own < 8 + cutting.own, (watch, cutting)


@needs_namespaces
def test_a_half_open_connection_ends_with_the_next_ping(cable: Cable, tmp_path: Path) -> None:
    """The client's machine has forgotten the connection and says so when something comes."""
    with Island(cable, tmp_path, {"pingMilliseconds": 1_000}) as island:
        ws = island.client()
        cable.swallow()
        ws.socket.close()
        # Its FIN is lost; the kernel would send it again.
        forget(cable)
        cable.heal()
        with Stopwatch() as watch:
            assert island.witness.event("participant.left")["reason"] == "lost"
        assert watch.own < 6, watch


def forget(cable: Cable) -> None:
    """Ends what is left of the client's connections, as a restart of its machine would."""
    with cable.inside(cable.b):
        import subprocess

        subprocess.run(["ss", "--kill", "--tcp", "state", "all", "dst", HOST_A], capture_output=True, check=False, timeout=10)


# Clocks


@pytest.mark.slow
@pytest.mark.parametrize(("ppm", "offset"), [(200, 5_000_000.0), (-200, -3_600_000.0)])
def test_a_clock_that_is_off_and_runs_off_is_known(setting: AdminSetting, ppm: float, offset: float) -> None:
    """The client's clock is made up: the machine's, moved and stretched."""
    start = time.time() * 1_000

    def clock() -> float:
        relay = time.time() * 1_000
        return relay + offset + (relay - start) * ppm / 1e6

    with raw_session(setting.relay, setting.context("alice")) as ws:
        session = max(setting.read("/v1/sessions")["sessions"], key=lambda one: one["since"])["session"]
        last: dict = {}

        def is_known() -> bool:
            shown.update(session_of(setting, session))
            return (
                abs(shown.get("clockDriftPPM", 0) - ppm) < 60
                and abs(shown.get("clockOffsetMilliseconds", 0) - offset) < 20
                and 0 <= shown.get("clockUncertaintyMilliseconds", -1) < 20
            )

        shown: dict = {}
        # Drift is told from ten seconds on, and the better the longer; on a machine that is busy it takes more.
        began = time.monotonic()
        number = 10
        while time.monotonic() < began + 12 or not is_known():
            assert time.monotonic() < began + 60, shown
            sent = clock()
            answer = ask(ws, {"type": "time", "id": number, "clientTime": sent, **last})
            received = clock()
            assert answer["clientTime"] == sent
            last = {"last": {"clientTime": sent, "serverTime": answer["serverTime"], "received": received}}
            number += 1
            time.sleep(0.1)


def test_server_time_has_fractions_of_a_millisecond(setting: AdminSetting) -> None:
    with Session(setting.relay, setting.clients["alice"]) as session:
        times = [session.ask("time", clientTime=number)["serverTime"] for number in range(10)]
        assert times == sorted(times)
        assert any(moment % 1 for moment in times)
        assert abs(times[0] - time.time() * 1_000) < 5_000


@pytest.mark.hostile
def test_lies_about_exchanges_are_passed_over(setting: AdminSetting) -> None:
    with Session(setting.relay, setting.clients["alice"]) as session:
        answer = session.ask("time", clientTime=1)
        for last in (
            {"clientTime": 1, "serverTime": answer["serverTime"] + 5_000, "received": 2},
            {"clientTime": 1, "serverTime": answer["serverTime"], "received": -5},
            {"clientTime": 7, "serverTime": 8, "received": 9},
            {"clientTime": 1, "serverTime": answer["serverTime"], "received": 1e15},
        ):
            session.ask("time", clientTime=1, last=last)
        for last in ({"clientTime": 1e16, "serverTime": 1, "received": 1}, {"clientTime": 1, "serverTime": -1e300, "received": 1}):
            assert session.refusal("time", clientTime=1, last=last) == "bad_value"
        assert session.refusal("time", clientTime=1e16) == "bad_value"
        shown = session_of(setting, session.welcome["session"])
        assert "clockOffsetMilliseconds" not in shown
    setting.relay.assert_healthy()


# Receiver reports


def report(stream: int, **members) -> dict:
    return {"stream": stream, **members}


@pytest.mark.parametrize("loops", [1, 2])
def test_reports_reach_the_publisher_from_every_loop(
    start_relay: Callable[..., Relay], tmp_path: Path, loops: int
) -> None:
    setting = AdminSetting.create(start_relay, tmp_path, loops=loops)
    receivers = [Session(setting.relay, setting.clients["bob"]) for _ in range(6)]
    with Session(setting.relay, setting.clients["alice"]) as publisher:
        publisher.ask("join", room="reported")
        stream = publisher.publish()
        for receiver in receivers:
            receiver.ask("join", room="reported")
            receiver.ask("subscribe", all=True)
        if loops > 1:
            assert len({one["loop"] for one in setting.read("/v1/sessions")["sessions"]}) == 2, "both loops have somebody"
        publisher.events.clear()
        count = 0
        deadline = time.monotonic() + 20
        news: dict = {}
        came: list[float] = []
        while news.get("receivers") != 6 or len(came) < 3:
            assert time.monotonic() < deadline, news
            count += 100
            for place, receiver in enumerate(receivers):
                concealed = count // 4 if place == 0 else 0
                receiver.ask(
                    "report",
                    streams=[report(stream, received=count, played=count - concealed, concealed=concealed, bufferMilliseconds=40 + place * 10, bitrate=32_000)],
                )
            publisher.drain(0.25)
            for event in publisher.events:
                if event["type"] == "stream.report":
                    news = event
                    came.append(time.monotonic())
            publisher.events.clear()
        assert all(later - earlier > 1.5 for earlier, later in zip(came, came[1:])), came
        assert news["stream"] == stream
        assert abs(news["concealedShare"] - 0.25 / 6) < 0.01
        assert abs(news["concealedShareMax"] - 0.25) < 0.01
        assert news["lateShareMax"] == 0
        assert (news["bufferMilliseconds"], news["bufferMillisecondsMax"]) == (65, 90)
        shown = setting.read("/v1/rooms/reported/streams")["streams"][0]
        assert shown["reception"]["receivers"] == 6
        assert shown["codec"] == "opus"
        assert setting.read(f"/v1/sessions/{receivers[0].welcome['session']}").get("congested") in (None, False)
        mine = session_of(setting, receivers[0].welcome["session"])["reports"]
        assert mine == [
            {
                "stream": stream, "received": count, "played": count - count // 4, "concealed": count // 4, "late": 0, "concealedShare": mine[0]["concealedShare"],
                "lateShare": 0, "bufferMilliseconds": 40, "bitrate": 32_000,
            }
        ]  # fmt: skip
        until(lambda: value(setting.relay.get("/metrics")[2], "segue_sessions_reporting") == 6, "six sessions report")
    for receiver in receivers:
        receiver.close()


@pytest.mark.hostile
@pytest.mark.parametrize(
    "members",
    [
        {"received": 2**53 + 1}, {"played": 2**64 - 1}, {"bufferMilliseconds": -1}, {"bufferMilliseconds": 1e300}, {"jitterMilliseconds": -0.5},
        {"bitrate": 1e13}, {"bitrate": -1},
    ],
)  # fmt: skip
def test_reports_beyond_reason_are_refused(setting: AdminSetting, members: dict) -> None:
    with Session(setting.relay, setting.clients["alice"]) as session:
        session.ask("join", room="hostile")
        assert session.refusal("report", streams=[report(1, **members)]) == "bad_value"


@pytest.mark.hostile
def test_reports_of_what_is_not_received_are_passed_over(setting: AdminSetting) -> None:
    with Session(setting.relay, setting.clients["alice"]) as session, Session(setting.relay, setting.clients["bob"]) as publisher:
        assert session.refusal("report", streams=[]) == "not_in_room"
        for member in (session, publisher):
            member.ask("join", room="strange")
        stream = publisher.publish()
        # Of nothing, of somebody else's, of a stream that is not subscribed to, of far too many.
        for streams in ([], [report(4_000_000_000, received=1)], [report(stream, received=5)]):
            session.ask("report", streams=streams)
        assert session.refusal("report", streams=[report(number) for number in range(1_025)]) == "bad_value"
        assert session.refusal("report", streams=[report(stream, received=-1)]) == "malformed"
        assert session.refusal("report", streams=[report(stream, received=0.5)]) == "malformed"
        assert session_of(setting, session.welcome["session"])["reports"] == []
        session.ask("subscribe", all=True)
        session.ask("report", streams=[report(stream, received=5)])
        assert len(session_of(setting, session.welcome["session"])["reports"]) == 1
        publisher.ask("unpublish", stream=stream)
        session.event("stream.ended")
        session.ask("report", streams=[report(stream, received=6)])
        assert session_of(setting, session.welcome["session"])["reports"] == []
    setting.relay.assert_healthy()


# Where frames went


def test_a_session_shows_where_its_frames_went(setting: AdminSetting) -> None:
    with Session(setting.relay, setting.clients["alice"]) as listener, Session(setting.relay, setting.clients["bob"]) as speaker:
        for room in ("first", "second"):
            for session in (listener, speaker):
                session.ask("join", room=room)
            stream = speaker.publish()
            listener.ask("subscribe", all=True)
            # The publisher's loop has heard of the subscription.
            listener.wait("configuration", lambda: any(one.stream == stream and one.kind == CONFIGURATION for one in listener.frames) or None)
            for number in range(10):
                speaker.media("audio", stream, b"%d in %s" % (number, room.encode()))
            listener.frame(b"9 in " + room.encode())
            for session in (listener, speaker):
                session.ask("leave")
        frames = session_of(setting, listener.welcome["session"])["frames"]
        # Configurations are frames.
        assert len(listener.frames) == 22
        assert frames == {"entered": 22, "delivered": 22, "expired": 0, "superseded": 0, "unsubscribed": 0, "interrupted": 0, "refused": 0, "pending": 0}
        assert setting.ask("GET", "/v1/sessions/" + "0" * 32).status == 404


def test_closing_is_not_held_up_by_heartbeats(setting: AdminSetting) -> None:
    with raw_session(setting.relay, setting.context("alice")) as ws:
        ws.send(frame(CLOSE, b"\x03\xe8"))
        assert ws.close_code() == 1000
        assert ws.ends()
