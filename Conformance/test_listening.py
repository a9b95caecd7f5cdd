"""A room's mix by HTTP alone: who may listen, tickets, and what any player makes of the answer."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.admin import AdminSetting, until
from support.events import HTTP1Events, HTTP2Events
from support.relay import Relay
from support.session import Session
from support.sound import Speaking, Voice, tone_packets

POLICY = {
    "admins": ["urn:segue:client:operator"],
    "access": [
        {"identities": ["urn:segue:client:alice"], "rooms": ["*"], "roles": ["speaker", "host"]},
        {"identities": ["urn:segue:client:bob"], "rooms": ["concert", "lobby"], "roles": ["speaker", "listener"]},
    ],
    "rooms": [{"rooms": ["lobby"], "lobby": True}],
}
VERSIONS = ["http/1.1", "h2"]
TONE = tone_packets(1_000)


@pytest.fixture(scope="module", params=[1, 3], ids=["one loop", "three loops"])
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AdminSetting:
    limits = {"resumeMilliseconds": 0, "stallMillisecondsMax": 3_000, "audioDeadlineMilliseconds": 2_000}
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("listening"), loops=request.param, limits=limits, more={"policy": POLICY})


@pytest.fixture(autouse=True)
def _healthy(setting: AdminSetting):
    yield
    setting.relay.assert_healthy()
    until(lambda: setting.read("/v1/rooms")["rooms"] == [], "everybody has gone")


def ticket(setting: AdminSetting, room: str = "concert", client: str = "bob") -> str:
    answer = setting.ask("POST", "/v1/listen", json.dumps({"room": room}).encode(), client=client)
    assert answer.status == 201, answer
    given = json.loads(answer.body)
    assert set(given) == {"url", "expires"} and 0 < given["expires"] / 1_000 - time.time() <= 60
    return given["url"]


def pages(ogg: bytes) -> list[tuple[int, int, int, bytes]]:
    """(flags, granule position, sequence, packet) of each page of one packet (RFC 3533 §6), its checksum verified."""
    found = []
    while len(ogg) >= 27:
        assert ogg[:5] == b"OggS\0"
        flags, position, serial, sequence, checksum, count = struct.unpack("<BQIIIB", ogg[5:27])
        lacing = ogg[27 : 27 + count]
        end = 27 + count + sum(lacing)
        if len(lacing) < count or len(ogg) < end:
            break
        page = bytearray(ogg[:end])
        page[22:26] = bytes(4)
        total = 0
        for byte in page:
            total ^= byte << 24
            for _ in range(8):
                total = (total << 1 ^ 0x104C11DB7) if total & 1 << 31 else total << 1
        assert total & 0xFFFFFFFF == checksum and lacing[-1] < 255
        found.append((flags, position, sequence, ogg[27 + count : end]))
        ogg = ogg[end:]
    return found


def listen(setting: AdminSetting, over: str, path: str, packets: int, client: str | None = None) -> tuple[int, dict, bytes]:
    """The answer's status and fields, and what came of it until there were so many pages."""
    if over == "h2":
        answer = HTTP2Events(h2 := setting.h2(client), path)
        transport = h2.socket
    else:
        answer = HTTP1Events(setting.relay.port, setting.context(client), path)
        transport = answer.client.socket
    content, end = b"", time.monotonic() + 60
    transport.settimeout(20)
    while content.count(b"OggS") < packets and answer.status == 200 and (more := answer._next_bytes()) is not None:
        assert time.monotonic() < end, f"{content.count(b'OggS')} pages in a minute"
        content += more
    transport.close()
    return answer.status, answer.fields, content


@pytest.mark.parametrize("over", VERSIONS)
def test_a_ticket_plays_what_is_said_in_the_room(setting: AdminSetting, tmp_path: Path, over: str) -> None:
    with Session(setting.relay, setting.clients["alice"]) as alice:
        alice.ask("join", room="concert")
        with Speaking(Voice(alice, TONE)):
            status, fields, ogg = listen(setting, over, ticket(setting), 200)
    assert status == 200 and fields["content-type"] == "audio/ogg" and fields["cache-control"] == "no-store" and "content-length" not in fields
    found = pages(ogg)
    assert found[0][0] == 2 and found[0][3].startswith(b"OpusHead\1\2") and found[1][3].startswith(b"OpusTags")
    assert [page[2] for page in found] == list(range(len(found))) and len(found) > 100
    positions = [page[1] for page in found[1:]]
    assert {later - earlier for earlier, later in zip(positions, positions[1:], strict=False)} <= {480, 960, 1_920, 2_880}
    (tmp_path / "heard.ogg").write_bytes(ogg)
    command = ["ffmpeg", "-y", "-loglevel", "error", "-i", "heard.ogg", "-ac", "1", "-ar", "48000", "-f", "f32le", "heard.raw"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    samples = np.fromfile(tmp_path / "heard.raw", "<f4").astype(np.float64)[-48_000:]
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    assert abs(int(np.argmax(spectrum)) - 1_000) <= 2
    assert 20 * math.log10(np.sqrt(np.mean(np.square(samples))) + 1e-9) > -30


def test_the_listener_is_a_participant_that_all_see(setting: AdminSetting) -> None:
    with Session(setting.relay, setting.clients["alice"]) as alice:
        alice.ask("join", room="concert")
        stream = HTTP1Events(setting.relay.port, setting.context("bob"), "/v1/listen/concert.ogg")
        assert stream.status == 200
        seen = setting.read("/v1/rooms/concert/participants")["participants"]
        assert [(one["identity"]["name"], one["role"]) for one in seen] == [("urn:segue:client:alice", "speaker"), ("urn:segue:client:bob", "listener")]
        # An administrator takes it out: the answer ends.
        assert setting.ask("DELETE", f"/v1/rooms/concert/participants/{seen[1]['participant']}").status == 204
        while stream._next_bytes():
            pass
        assert setting.read("/v1/rooms/concert")["participants"] == 1
        # Whoever hangs up has left.
        with setting.h2("bob") as client:
            again = HTTP2Events(client, "/v1/listen/concert.ogg")
            assert setting.read("/v1/rooms/concert")["participants"] == 2
            again.close()
            until(lambda: setting.read("/v1/rooms/concert")["participants"] == 1, "the listener has left")


@pytest.mark.parametrize("over", VERSIONS)
def test_a_ticket_is_good_once(setting: AdminSetting, over: str) -> None:
    url = ticket(setting)
    head = setting.ask("HEAD", url, client=None)
    assert head.status == 200 and head.fields["content-type"] == "audio/ogg"
    assert listen(setting, over, url, 0)[0] == 200
    assert listen(setting, over, url, 0)[0] == 404
    assert listen(setting, over, "/listen/" + "0" * 64 + ".ogg", 0)[0] == 404
    assert listen(setting, over, url.removesuffix(".ogg"), 0)[0] == 404


def test_who_may_not_listen_is_told_so(setting: AdminSetting) -> None:
    before = len(setting.audit())
    for client, room, status in (("bob", "private", 403), ("alice", "concert", 403), (None, "concert", 403), ("bob", "\n", 403), ("bob", "pair:x", 403)):
        assert setting.ask("POST", "/v1/listen", json.dumps({"room": room}).encode(), client=client).status == status, (client, room)
    assert setting.ask("POST", "/v1/listen", b'{"room": 1}', client="bob").status == 400
    assert setting.ask("POST", "/v1/listen", b'{"room": "concert"}', client="bob", fields="Origin: https://evil.example\r\n").status == 403
    assert listen(setting, "h2", "/v1/listen/private.ogg", 0, "bob")[0] == 403
    assert listen(setting, "http/1.1", "/v1/listen/concert.ogg", 0)[0] == 403
    # Nobody waits in a lobby for an answer.
    assert listen(setting, "h2", ticket(setting, "lobby"), 0)[0] == 403
    assert listen(setting, "http/1.1", ticket(setting, "lobby"), 0)[0] == 403
    until(lambda: sum(record.get("code") == "not_allowed" for record in setting.audit()[before:]) >= 4, "refusals are in the audit")


def test_other_requests_go_on_beside_it_over_http2(setting: AdminSetting) -> None:
    with setting.h2("bob") as client:
        first = HTTP2Events(client, "/v1/listen/concert.ogg")
        second = HTTP2Events(client, "/v1/listen/concert.ogg")
        assert client.request("GET", "/healthz")[2] == b"ok\n"
        first.close()
        assert client.request("GET", "/healthz")[2] == b"ok\n"
        assert setting.read("/v1/rooms/concert")["participants"] == 1
        second.close()
