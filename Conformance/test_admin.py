"""The admin API: who may use it, what it says and does, and that pages of other sites get nothing out of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from support.admin import AdminSetting, Member, segment, until
from support.h2_websocket import StreamRefused
from support.relay import Relay

@pytest.fixture(scope="module", params=[1, 3], ids=["one loop", "three loops"])
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AdminSetting:
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("admin"), loops=request.param)


@pytest.fixture(autouse=True)
def _healthy(setting: AdminSetting):
    yield
    setting.relay.assert_healthy()


def operations(setting: AdminSetting) -> list[tuple[str, str, bool]]:
    """(method, path with something in its gaps, needs a certificate) of every operation in the document."""
    document = setting.read("/v1/openapi.json")
    found = []
    for template, methods in document["paths"].items():
        path = template.replace("{room}", "nowhere").replace("{participant}", "1").replace("{session}", "0" * 32).replace("{pair}", "0" * 32)
        found += [(method.upper(), path, "security" in about) for method, about in methods.items()]
    return found


# Who may.


@pytest.mark.parametrize("client", ["alice", None], ids=["another certificate", "no certificate"])
def test_admin_operations_are_for_administrators(setting: AdminSetting, client: str | None) -> None:
    before = len(setting.audit())
    admin_only = [(method, path) for method, path, secured in operations(setting) if secured and path != "/v1/renew" and not path.startswith("/v1/listen")]
    assert len(admin_only) >= 14
    for method, path in admin_only:
        body = b"{}" if method == "POST" else None
        response = setting.ask(method, path, body, client=client)
        assert response.status == 403, f"{method} {path}: {response.status}"
        assert response.fields["content-type"] == "application/problem+json"
        assert json.loads(response.body)["status"] == 403
    code = "not_admin" if client else "certificate_needed"

    def told() -> bool:
        return sum(record.get("code") == code for record in setting.audit()[before:]) >= len(admin_only)

    until(told, "every refusal is in the audit")
    record = next(record for record in setting.audit()[before:] if record.get("code") == code and "{room}" in record["act"])
    assert record["room"] == "nowhere" and record["outcome"] == "refused" and record["address"].startswith("127.0.0.1")
    assert record["actor"] == ("urn:segue:client:alice" if client else "")


def test_what_is_public_needs_no_certificate(setting: AdminSetting) -> None:
    response = setting.ask("GET", "/v1/openapi.json", client=None)
    assert response.status == 200 and json.loads(response.body)["openapi"].startswith("3.1")
    assert setting.ask("GET", "/v1/openapi.json", client=None, fields="Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n").status == 200


# What it says.


@pytest.mark.parametrize("over", ["http/1.1", "h2"])
def test_rooms_participants_streams_and_sessions(setting: AdminSetting, over: str) -> None:
    room = f"ward:7-{over.replace('/', '.')}"
    with Member(setting, "alice", room, device="a phone") as alice, Member(setting, "bob", room) as bob, setting.h2() as h2:

        def read(path: str) -> dict:
            if over == "h2":
                status, fields, body = h2.request("GET", path)
                assert status == 200 and fields["content-type"] == "application/json" and fields["cache-control"] == "no-store"
                return json.loads(body)
            return setting.read(path)

        stream = alice.request({"type": "publish", "id": 3, "kind": "audio", "codec": "opus", "source": "microphone"})["stream"]
        assert read(f"/v1/rooms/{segment(room)}") == {"name": room, "participants": 2, "waiting": 0, "streams": 1, "locked": False}
        assert room in [entry["name"] for entry in read("/v1/rooms?limit=500")["rooms"]]
        participants = read(f"/v1/rooms/{segment(room)}/participants")["participants"]
        assert [entry["participant"] for entry in participants] == sorted((alice.participant, bob.participant))
        entry = next(entry for entry in participants if entry["participant"] == alice.participant)
        assert entry["identity"]["name"] == "urn:segue:client:alice" and entry["role"] == "host" and entry["device"] == "a phone"
        assert entry["session"] == alice.session and entry["streams"] == 1 and not entry["waiting"]
        assert abs(entry["since"] / 1000 - time.time()) < 60 and entry["address"].startswith("127.0.0.1:")
        streams = read(f"/v1/rooms/{segment(room)}/streams")["streams"]
        assert streams == [{"stream": stream, "participant": alice.participant, "kind": "audio", "codec": "opus", "source": "microphone"}]
        sessions = {entry["session"]: entry for entry in read("/v1/sessions?limit=500")["sessions"]}
        assert sessions[alice.session]["room"] == room and sessions[alice.session]["transport"] == "http/1.1"
        assert sessions[bob.session]["participant"] == bob.participant


def test_a_session_has_begun_when_it_has(setting: AdminSetting) -> None:
    """However often one asks, and whatever the clocks' fractions."""
    with Member(setting, "alice") as alice:
        told = set()
        for _ in range(40):
            told.add(setting.read(f"/v1/sessions/{alice.session}")["since"])
            time.sleep(0.003)
        assert len(told) == 1 and float(told.pop()).is_integer()


def test_lists_come_in_parts_in_a_fixed_order(setting: AdminSetting) -> None:
    with Member(setting, "alice") as alice, Member(setting, "bob") as bob, Member(setting, "alice") as again:
        wanted = sorted(member.session for member in (alice, bob, again))
        seen, after, parts = [], "", 0
        while True:
            page = setting.read(f"/v1/sessions?limit=1&after={after}")
            assert len(page["sessions"]) <= 1
            seen += [entry["session"] for entry in page["sessions"]]
            parts += 1
            if "next" not in page:
                break
            after = page["next"]
        assert [session for session in seen if session in wanted] == wanted and seen == sorted(seen) and parts >= 3


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=-1", "limit=1e2", "limit=", "limit=1&limit=2", "after=a&after=b", "limit=%zz", "limit=%ff"])
def test_a_list_that_is_asked_for_wrongly(setting: AdminSetting, query: str) -> None:
    assert setting.ask("GET", f"/v1/sessions?{query}").status == 400


PATHS: tuple[tuple[str, str, str, int], ...] = (
    ("a room that is not there", "GET", "/v1/rooms/nowhere", 404),
    ("RFC 3986 §2.1 a name with an encoded slash", "GET", "/v1/rooms/a%2Fb", 404),
    ("RFC 3986 §2.1 a name that is not UTF-8", "GET", "/v1/rooms/%ff", 400),
    ("RFC 3986 §2.1 a control character in a name", "GET", "/v1/rooms/a%00b", 400),
    ("a participant of no room", "DELETE", "/v1/rooms/nowhere/participants/1", 404),
    ("a participant that is no number", "DELETE", "/v1/rooms/nowhere/participants/one", 404),
    ("a participant beyond all numbers", "DELETE", "/v1/rooms/nowhere/participants/99999999999999999999", 404),
    ("streams of no room", "GET", "/v1/rooms/nowhere/streams", 404),
    ("a session that is not there", "DELETE", f"/v1/sessions/{'0' * 32}", 404),
    ("nothing at all", "GET", "/v1/nothing", 404),
    ("an empty segment", "GET", "/v1/rooms/", 404),
    ("a segment too much", "GET", "/v1/rooms/a/streams/1", 404),
    ("RFC 9110 §15.5.6 another method", "PUT", "/v1/rooms", 405),
    ("RFC 9110 §15.5.6 another method of an item", "POST", "/v1/rooms/a", 405),
    ("RFC 9110 §9.3.2 HEAD", "HEAD", "/v1/rooms", 200),
)


@pytest.mark.parametrize(("what", "method", "path", "status"), PATHS, ids=[row[0] for row in PATHS])
def test_paths_and_methods(setting: AdminSetting, what: str, method: str, path: str, status: int) -> None:
    response = setting.ask(method, path)
    assert response.status == status, f"{what}: {response}"
    if status == 405:
        assert set(response.fields["allow"].split(", ")) <= {"GET", "HEAD", "DELETE"}
    if status >= 400:
        assert response.fields["content-type"] == "application/problem+json"
    if method == "HEAD":
        assert int(response.fields["content-length"]) > 0
    with setting.h2() as client:
        assert client.request(method, path)[0] == status
    # Whom it does not concern learns no more than the document says: of operations 403, of everything else what everybody is told.
    is_operation = status in (200, 404) and not what.startswith(("nothing", "an empty segment", "a segment too much"))
    assert setting.ask(method, path, client="alice").status == (403 if is_operation else status)


def test_a_percent_sign_without_two_digits(setting: AdminSetting) -> None:
    """RFC 3986 §2.1, RFC 9113 §8.1.1: the request itself is malformed."""
    assert setting.ask("GET", "/v1/rooms/a%zz").status == 400
    with setting.h2() as client:
        with pytest.raises(StreamRefused) as refused:
            client.request("GET", "/v1/rooms/a%zz")
        assert refused.value.reset == 1, "PROTOCOL_ERROR"
        assert client.request("GET", "/v1/rooms")[0] == 200, "the connection goes on"


# What it does.


def test_a_participant_is_taken_out(setting: AdminSetting) -> None:
    with Member(setting, "alice", "kick") as alice, Member(setting, "bob", "kick") as bob:
        assert setting.ask("DELETE", f"/v1/rooms/kick/participants/{alice.participant}").status == 204
        assert alice.event("room.removed")["reason"] == "admin"
        left = bob.event("participant.left")
        assert left["participant"] == alice.participant and left["reason"] == "removed"
        assert setting.read("/v1/rooms/kick")["participants"] == 1
        assert setting.ask("DELETE", f"/v1/rooms/kick/participants/{alice.participant}").status == 404
        # The session lives on.
        assert alice.request({"type": "join", "id": 9, "room": "elsewhere"})["room"] == "elsewhere"


def test_a_room_is_ended(setting: AdminSetting) -> None:
    with Member(setting, "alice", "over") as alice, Member(setting, "bob", "over") as bob:
        assert setting.ask("DELETE", "/v1/rooms/over").status == 204
        assert {alice.event("room.removed")["reason"], bob.event("room.removed")["reason"]} == {"admin"}
        assert setting.ask("GET", "/v1/rooms/over").status == 404
        assert setting.ask("DELETE", "/v1/rooms/over").status == 404


def test_a_session_is_ended(setting: AdminSetting) -> None:
    with Member(setting, "alice") as alice:
        assert setting.ask("DELETE", f"/v1/sessions/{alice.session}").status == 204
        assert alice.close_frame() == (1008, "admin")
        until(lambda: setting.ask("DELETE", f"/v1/sessions/{alice.session}").status == 404, "the session is gone")


def test_grants_are_listed_and_revoked(setting: AdminSetting) -> None:
    with Member(setting, "alice") as alice, Member(setting, "bob") as bob:
        code = alice.request({"type": "pair.code", "id": 2})["code"]
        pair = bob.request({"type": "pair.enter", "id": 2, "code": code})["pair"]
        grants = {grant["pair"]: grant for grant in setting.read("/v1/grants?limit=500")["grants"]}
        grant = grants[pair["pair"]]
        assert {member["name"] for member in grant["members"]} == {"urn:segue:client:alice", "urn:segue:client:bob"}
        assert grant["basis"] == "code" and grant["expires"] == pair["expires"]
        assert setting.ask("DELETE", f"/v1/grants/{pair['pair']}").status == 204
        assert alice.event("pair.revoked")["reason"] == bob.event("pair.revoked")["reason"] == "admin"
        assert setting.ask("DELETE", f"/v1/grants/{pair['pair']}").status == 404
        assert pair["pair"] not in [grant["pair"] for grant in setting.read("/v1/grants?limit=500")["grants"]]
        kept = setting.ask("GET", "/v1/grants").body + setting.ask("GET", "/v1/keys", client=None).body
        assert pair["grant"].encode() not in kept and pair["statement"].encode() not in kept, "what is signed is for the pair alone"


def test_the_keys_are_for_everybody(setting: AdminSetting) -> None:
    """RFC 7517 §8.5.1."""
    response = setting.ask("GET", "/v1/keys", client=None)
    assert response.status == 200 and response.fields["content-type"] == "application/jwk-set+json"
    (key,) = json.loads(response.body)["keys"]
    assert key["kty"] == "OKP" and "d" not in key


def test_acts_are_in_the_audit(setting: AdminSetting) -> None:
    with Member(setting, "alice", "audited") as alice:
        setting.ask("DELETE", f"/v1/rooms/audited/participants/{alice.participant}")
        setting.ask("DELETE", "/v1/rooms/absent")

    def found(**wanted: str) -> bool:
        return any(wanted.items() <= record.items() for record in setting.audit())

    act = {"actor": "urn:segue:client:operator"}
    participant = {"act": "DELETE /v1/rooms/{room}/participants/{participant}", "participant": str(alice.participant), "outcome": "done"}
    until(lambda: found(**act, **participant, room="audited"), "what was done")
    until(lambda: found(**act, act="DELETE /v1/rooms/{room}", room="absent", outcome="refused", code="not_found"), "what was not")


def test_reload_says_accepted_and_happens(setting: AdminSetting) -> None:
    assert setting.ask("POST", "/v1/reload").status == 202
    until(lambda: '"because":"admin"' in setting.relay.log(), "the log tells of the reload")


def test_curl_is_all_that_an_administrator_needs(setting: AdminSetting) -> None:
    with Member(setting, "alice", "curled"):
        names = json.loads(setting.curl(setting.url("/v1/rooms")))["rooms"]
        assert "curled" in [room["name"] for room in names]
        status = setting.curl("--request", "DELETE", "--write-out", "%{http_code}", setting.url("/v1/rooms/curled"))
        assert status == "204"
        assert setting.curl("--http1.1", "--request", "POST", "--write-out", "%{http_code}", setting.url("/v1/reload")) == "202"


# Other sites.

ORIGINS: tuple[tuple[str, str, str, int], ...] = (
    ("a foreign origin that reads", "GET", "Origin: https://evil.example\r\n", 403),
    ("a foreign origin that acts", "DELETE", "Origin: https://evil.example\r\n", 403),
    ("the origin null", "GET", "Origin: null\r\n", 403),
    ("two origins", "GET", "Origin: https://localhost\r\nOrigin: https://localhost\r\n", 403),
    ("an origin that may open sessions, reading", "GET", "Origin: https://app.example.org\r\n", 404),
    ("an origin that may open sessions, acting", "DELETE", "Origin: https://app.example.org\r\n", 403),
    ("the relay's own origin", "DELETE", "Origin: https://localhost\r\n", 404),
    ("a newer browser's word, reading", "GET", "Sec-Fetch-Site: cross-site\r\n", 403),
    ("a newer browser's word, acting", "DELETE", "Sec-Fetch-Site: same-site\r\n", 403),
    ("an address typed by hand", "GET", "Sec-Fetch-Site: none\r\n", 404),
)


@pytest.mark.parametrize(("what", "method", "fields", "status"), ORIGINS, ids=[row[0] for row in ORIGINS])
def test_cross_site_requests(setting: AdminSetting, what: str, method: str, fields: str, status: int) -> None:
    assert setting.ask(method, "/v1/rooms/nowhere", fields=fields).status == status, what
    pairs = [tuple(line.split(": ")) for line in fields.lower().splitlines()]
    if ("origin", "https://localhost") not in pairs:
        with setting.h2() as client:
            assert client.request(method, "/v1/rooms/nowhere", fields=tuple(pairs))[0] == status, what


# Cross-site WebSocket hijacking; over HTTP/1.1 test_http1.py has more forms.


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://app.example.org.evil.example", "http://app.example.org"])
def test_a_page_of_another_site_opens_no_session(setting: AdminSetting, origin: str) -> None:
    """RFC 6455 §10.2."""
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    before = len(setting.audit())
    response = setting.ask("GET", "/v1/session", client="alice", fields=f"{upgrade}Sec-WebSocket-Protocol: segue.v1\r\nOrigin: {origin}\r\n")
    assert response.status == 403
    with setting.h2("alice") as client:
        with pytest.raises(StreamRefused) as refused:
            client.open_websocket("/v1/session", subprotocols=("segue.v1",), fields=(("origin", origin),))
        assert refused.value.status == 403
        client.open_websocket("/v1/session", subprotocols=("segue.v1",), fields=(("origin", "https://app.example.org"),))

    def told() -> bool:
        return sum(record["act"] == "WebSocket /v1/session" and record["code"] == "origin" for record in setting.audit()[before:]) == 2

    until(told, "both refusals are in the audit")
