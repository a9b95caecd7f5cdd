"""`/v1/live`: overviews as server-sent events, for administrators, over both HTTP versions."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator

import pytest
from support.admin import POLICY, AdminSetting, Member, until
from support.events import EventStream, HTTP1Events, HTTP2Events
from support.h2_websocket import H2Client
from support.relay import Relay

VERSIONS = ["http/1.1", "h2"]
WATCHERS_MAX = 5


@pytest.fixture(scope="module", params=[1, 3], ids=["one loop", "three loops"])
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AdminSetting:
    # No session is kept for a client that has gone: a room is gone with its members.
    limits = {"liveWatchersMax": WATCHERS_MAX, "stallMillisecondsMax": 3_000, "idleHTTPMillisecondsMax": 3_000, "resumeMilliseconds": 0}
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("live"), loops=request.param, limits=limits)


@pytest.fixture(autouse=True)
def _healthy(setting: AdminSetting):
    yield
    setting.relay.assert_healthy()


@pytest.fixture
def watch(setting: AdminSetting) -> Iterator[Callable[..., EventStream]]:
    begun: list = []

    def begin(over: str, fields: tuple[tuple[str, str], ...] = ()) -> EventStream:
        if over == "h2":
            client = setting.h2()
            begun.append(client)
            return HTTP2Events(client, "/v1/live", fields)
        stream = HTTP1Events(setting.relay.port, setting.context(), "/v1/live", fields="".join(f"{name}: {value}\r\n" for name, value in fields))
        begun.append(stream)
        return stream

    yield begin
    for one in begun:
        one.close()


@pytest.mark.parametrize("over", VERSIONS)
def test_overviews_come_at_once_and_every_two_seconds(setting: AdminSetting, watch: Callable[..., EventStream], over: str) -> None:
    begun = time.monotonic()
    stream = watch(over)
    assert stream.status == 200 and stream.fields["content-type"] == "text/event-stream" and stream.fields["cache-control"] == "no-store"
    assert "content-length" not in stream.fields
    first = stream.overview()
    # Once the relay has measured for a tenth of a second; the rest is for machines under load.
    assert time.monotonic() - begun < 5
    second, third = stream.overview(), stream.overview()
    times = [overview["time"] for overview in (first, second, third)]
    assert all(1_500 < later - earlier for earlier, later in zip(times, times[1:], strict=False)), times
    assert third["uptimeSeconds"] > second["uptimeSeconds"] > first["uptimeSeconds"] > 0
    assert sum(loop["iterations"] for loop in third["loops"]) > sum(loop["iterations"] for loop in first["loops"])


@pytest.mark.parametrize("over", VERSIONS)
def test_an_overview_is_as_described_and_says_what_is_so(setting: AdminSetting, watch: Callable[..., EventStream], over: str) -> None:
    loops = setting.relay.get("/metrics")[2].count("\nsegue_loop_iterations_total{")
    schemas = setting.read("/v1/openapi.json")["components"]["schemas"]
    with Member(setting, "alice", "large") as alice, Member(setting, "bob", "large"), Member(setting, "bob", "small"):
        alice.request({"type": "publish", "id": 3, "kind": "audio", "codec": "opus"})
        stream = watch(over)
        overview = stream.overview()
        assert set(overview) == set(schemas["Overview"]["required"])
        assert overview["node"] == "segue" and overview["version"] and overview["draining"] is False and overview["stale"] == []
        assert (overview["rooms"], overview["participants"], overview["streams"]) == (2, 3, 1)
        assert overview["sessions"]["connected"] == 3 and overview["connections"] >= 4
        assert [(room["name"], room["participants"], room["streams"]) for room in overview["roomsTop"]] == [("large", 2, 1), ("small", 1, 0)]
        assert [loop["loop"] for loop in overview["loops"]] == list(range(loops))
        assert all(0 <= loop["busyShare"] <= 1 for loop in overview["loops"]) and overview["cpuShare"] >= 0
        assert overview["residentBytes"] > 1 << 20
        assert {certificate["what"] for certificate in overview["certificates"]} >= {"server", "authority"}
        assert all(certificate["notAfter"] > overview["time"] for certificate in overview["certificates"])
        assert overview["nodes"] == [{"node": "segue", "state": "up"}]
        assert set(overview["frames"]["dropped"]) == {"expired", "superseded", "interrupted", "unsubscribed", "refused", "between_loops"}
    until(lambda: stream.overview()["rooms"] == 0, "the rooms have gone")


def test_it_is_for_administrators_and_their_own_pages_and_told_of_once(setting: AdminSetting, watch: Callable[..., EventStream]) -> None:
    before = len(setting.audit())
    for client in ("alice", None):
        refused = setting.ask("GET", "/v1/live", client=client)
        assert refused.status == 403 and refused.fields["content-type"] == "application/problem+json"
    crossing = (("origin", "https://evil.example"),), (("sec-fetch-site", "cross-site"),), (("origin", "https://app.example.org"), ("sec-fetch-site", "cross-site"))
    for fields, status in zip(crossing, (403, 403, 200), strict=True):
        assert watch("h2", fields).status == status
    own = watch("http/1.1", (("origin", f"https://localhost:{setting.relay.port}"), ("sec-fetch-site", "same-origin")))
    assert own.overview() and own.overview()
    until(lambda: sum(record["act"] == "GET /v1/live" for record in setting.audit()[before:]) >= 6, "each attempt is in the audit")
    outcomes = [(record["outcome"], record.get("code")) for record in setting.audit()[before:] if record["act"] == "GET /v1/live"]
    assert sorted(outcomes, key=str) == sorted(
        [("refused", "not_admin"), ("refused", "certificate_needed"), ("refused", "origin"), ("refused", "origin"), ("done", None), ("done", None)], key=str
    )


def test_methods(setting: AdminSetting) -> None:
    head = setting.ask("HEAD", "/v1/live")
    assert head.status == 200 and head.fields["content-type"] == "text/event-stream" and "content-length" not in head.fields
    assert setting.ask("POST", "/v1/live", b"{}").status == 405


def test_a_client_of_http_1_0_gets_events_without_chunks(setting: AdminSetting) -> None:
    stream = HTTP1Events(setting.relay.port, setting.context(), "/v1/live", version="1.0")
    assert stream.fields["connection"] == "close" and "transfer-encoding" not in stream.fields
    assert stream.overview()["time"] < stream.overview()["time"]
    stream.close()


def test_more_than_may_watch_are_told_to_come_later(setting: AdminSetting, watch: Callable[..., EventStream]) -> None:
    streams = [watch(VERSIONS[place % 2]) for place in range(WATCHERS_MAX)]
    assert all(stream.overview() for stream in streams)
    refused = setting.ask("GET", "/v1/live")
    assert refused.status == 503 and "retry-after" in refused.fields
    streams[0].close()
    streams[1].close()
    until(lambda: watch("http/1.1").status == 200, "a place is free when somebody has gone")
    # All are told the same, made once.
    times = [{stream.overview()["time"] for _ in range(3)} for stream in streams[2:4]]
    assert times[0] & times[1]


def test_a_connection_that_watches_is_not_idle_and_carries_other_requests(setting: AdminSetting) -> None:
    """idleHTTPMillisecondsMax is 3 s here."""
    with setting.h2() as client:
        stream = HTTP2Events(client, "/v1/live")
        for _ in range(4):
            stream.overview()
        status, _, body = client.request("GET", "/v1/rooms")
        assert status == 200 and json.loads(body)["rooms"] == []
        assert stream.overview()
        stream.close()
    one = HTTP1Events(setting.relay.port, setting.context(), "/v1/live")
    for _ in range(4):
        one.overview()
    one.close()


@pytest.mark.parametrize("over", VERSIONS)
def test_who_reads_nothing_is_let_go_and_keeps_nobody_waiting(setting: AdminSetting, watch: Callable[..., EventStream], over: str) -> None:
    """Rooms make overviews of some KB; a window of one byte, or a socket that nobody reads, takes none of them whole."""
    members = [Member(setting, "alice", f"{'room' * 20}-{place}") for place in range(20)]
    try:
        if over == "h2":
            slow = H2Client(setting.relay.port, setting.context(alpn=("h2",)), window=1)
            slow.open_stream([(":method", "GET"), (":scheme", "https"), (":authority", slow.authority), (":path", "/v1/live")], end=True)
        else:
            slow = setting.connect()
            slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            slow.send(b"GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        stream = watch("h2")
        for _ in range(3):
            assert len(stream.overview()["roomsTop"]) == 20
        if over == "h2":
            # 3 s without a byte taken, and it is told so.
            deadline = time.monotonic() + 20
            while not any(type(event).__name__ == "StreamReset" for event in slow.events.get(1, ())):
                assert time.monotonic() < deadline, "the stream was not reset"
                slow.pump()
            slow.close()
        else:
            slow.socket.close()
    finally:
        for member in members:
            member.ws.socket.close()


def test_who_is_no_administrator_any_more_is_told_nothing_more(setting: AdminSetting, watch: Callable[..., EventStream]) -> None:
    streams = [watch("http/1.1"), watch("h2")]
    try:
        assert all(stream.overview() for stream in streams)
        setting.relay.write_policy({**POLICY, "admins": []})
        for stream in streams:
            deadline = time.monotonic() + 20
            while stream.next() is not None:
                assert time.monotonic() < deadline, "it goes on"
    finally:
        setting.relay.write_policy(POLICY)
        until(lambda: setting.ask("GET", "/v1/rooms").status == 200, "the policy is back")
