"""The web client's files over both HTTP versions: what is served, with which fields, to slow readers, and what no path leads to."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hyperframe.frame import DataFrame, HeadersFrame, SettingsFrame
from support import raw_http2, tls
from support.admin import AdminSetting, request, until
from support.h2_websocket import StreamRefused
from support.raw_http1 import Response
from support.raw_http2 import RawHTTP2
from support.raw_websocket import TEXT, RawWebSocket, frame
from support.relay import Relay, binary

SCRIPT = b"".join(b"export const name%d = %d;\n" % (n, n * 7919) for n in range(12_000))
BYTES = bytes(hashlib.sha256(b"%d" % n).digest()[0] for n in range(300_000))
FILES = {
    "index.html": b"<!doctype html><title>Segue</title><p>page page page page page page page",
    "app/app.mjs": SCRIPT,
    "admin/index.html": b"<!doctype html><title>Operators</title>",
    "jitter-buffer/jitter-buffer.wasm": BYTES,
    "icon.png": b"\x89PNG",
}
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(self), microphone=(self), display-capture=(self), speaker-selection=(self)",
}
VERSIONS = ["http/1.1", "h2"]


@dataclass
class WebSetting:
    setting: AdminSetting
    folder: Path

    @property
    def relay(self) -> Relay:
        return self.setting.relay

    def get(self, over: str, path: str, method: str = "GET", **fields: str) -> Response:
        lines = {name.replace("_", "-"): value for name, value in fields.items()}
        if over == "h2":
            with self.setting.h2(None) as client:
                status, answer, body = client.request(method, path, tuple(lines.items()))
                return Response(status, answer, body)
        return self.setting.ask(method, path, client=None, fields="".join(f"{name}: {value}\r\n" for name, value in lines.items()))


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.fixture(scope="module")
def web(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> WebSetting:
    folder = tmp_path_factory.mktemp("web")
    write(folder, FILES)
    (folder / "passwd").symlink_to("/etc/passwd")
    (folder / ".hidden").write_text("secret")
    setting = AdminSetting.create(start_relay, tmp_path_factory.mktemp("static"), more={"web": str(folder)})
    return WebSetting(setting, folder)


@pytest.fixture(autouse=True)
def _healthy(web: WebSetting):
    yield
    web.relay.assert_healthy()


# What is served


@pytest.mark.parametrize("over", VERSIONS)
def test_files_with_their_kind_and_the_fields_of_a_page_on_its_own(web: WebSetting, over: str) -> None:
    kinds = {
        "/": ("index.html", "text/html; charset=utf-8"),
        "/index.html?x=1": ("index.html", "text/html; charset=utf-8"),
        "/app/app.mjs": ("app/app.mjs", "text/javascript; charset=utf-8"),
        "/admin/": ("admin/index.html", "text/html; charset=utf-8"),
        "/jitter-buffer/jitter-buffer.wasm": ("jitter-buffer/jitter-buffer.wasm", "application/wasm"),
        "/icon.png": ("icon.png", "image/png"),
    }
    for path, (name, kind) in kinds.items():
        answer = web.get(over, path)
        assert answer.status == 200 and answer.body == FILES[name], path
        assert answer.fields["content-type"] == kind and answer.fields["content-length"] == str(len(FILES[name]))
        assert answer.fields["etag"] == f'"{hashlib.sha256(FILES[name]).hexdigest()}"'
        assert answer.fields["cache-control"] == "no-cache"
        assert {field: answer.fields.get(field) for field in SECURITY} == SECURITY
        assert "set-cookie" not in answer.fields and "access-control-allow-origin" not in answer.fields


@pytest.mark.parametrize("over", VERSIONS)
def test_gzip_head_and_conditions(web: WebSetting, over: str) -> None:
    plain, coded = web.get(over, "/app/app.mjs"), web.get(over, "/app/app.mjs", accept_encoding="gzip, br")
    assert coded.fields["content-encoding"] == "gzip" and gzip.decompress(coded.body) == SCRIPT
    assert len(coded.body) < len(SCRIPT) / 3
    assert plain.fields["vary"] == coded.fields["vary"] == "accept-encoding" and plain.fields["etag"] != coded.fields["etag"]
    assert web.get(over, "/icon.png", accept_encoding="gzip").fields.get("content-encoding") is None
    head = web.get(over, "/app/app.mjs", method="HEAD", accept_encoding="gzip")
    assert head.status == 200 and head.body == b""
    assert {k: v for k, v in head.fields.items() if k != "date"} == {k: v for k, v in coded.fields.items() if k != "date"}
    for answer, encoding in ((plain, "identity"), (coded, "gzip")):
        again = web.get(over, "/app/app.mjs", if_none_match=f'"x", W/{answer.fields["etag"]}', accept_encoding=encoding)
        assert again.status == 304 and again.body == b"" and again.fields["etag"] == answer.fields["etag"]
        assert {field: again.fields.get(field) for field in SECURITY} == SECURITY
    assert web.get(over, "/app/app.mjs", if_none_match=coded.fields["etag"]).status == 200, "the other form"
    assert web.get(over, "/app/app.mjs", if_match='"x"').status == 412
    assert web.get(over, "/app/app.mjs", range="bytes=0-1").status == 200


@pytest.mark.parametrize("over", VERSIONS)
def test_folders_methods_and_what_is_not_there(web: WebSetting, over: str) -> None:
    for path in ("/admin", "//admin"):
        moved = web.get(over, path)
        assert (moved.status, moved.fields["location"]) == (308, "/admin/")
    refused = web.get(over, "/app/app.mjs", method="POST", content_length="0")
    assert (refused.status, refused.fields["allow"]) == (405, "GET, HEAD")
    paths = ["/nothing", "/app", "/app/", "/passwd", "/.hidden", "/app/app.mjs/", "/index.html%00", "/%00", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd"]
    paths += ["/../../../../etc/passwd", "/app/../../../etc/passwd", "/app/..", "/app%2fapp.mjs", "/app%5Capp.mjs", "//etc/passwd", "/%c0%ae%c0%ae/etc/passwd", "/%FF"]
    for path in paths:
        answer = web.get(over, path)
        assert answer.status == 404 and answer.fields["content-type"] == "application/problem+json", path
        assert json.loads(answer.body)["status"] == 404 and b"root:" not in answer.body
    # What has a meaning of its own keeps it.
    assert web.get(over, "/healthz").body == b"ok\n"
    assert web.get(over, "/v1/session").status == 426
    assert web.get(over, "/v1/rooms").status == 403


@pytest.mark.parametrize("target", ["/\x00", "/a b", "/%", "/%zz", "/\xff"], ids=repr)
def test_a_target_that_is_none_is_no_path(web: WebSetting, target: str) -> None:
    with web.setting.connect(None) as client:
        client.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
        answer = client.response()
        assert answer is None or answer.status == 400


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_gets_what_is_there(web: WebSetting, tmp_path: Path, version: str) -> None:
    for name in ("app/app.mjs", "jitter-buffer/jitter-buffer.wasm"):
        target = tmp_path / "got"
        web.setting.curl(version, "--compressed", "--output", str(target), f"https://localhost:{web.relay.port}/{name}")
        assert target.read_bytes() == FILES[name]


# Slow readers


def test_many_requests_in_one_piece_are_answered_in_order(web: WebSetting) -> None:
    paths = ["/jitter-buffer/jitter-buffer.wasm", "/", "/app/app.mjs", "/healthz", "/jitter-buffer/jitter-buffer.wasm", "/icon.png"]
    with web.setting.connect(None) as client:
        client.send(b"".join(request("GET", path) for path in paths))
        bodies = [client.response().body for _ in paths]
    assert bodies == [BYTES, FILES["index.html"], SCRIPT, b"ok\n", BYTES, FILES["icon.png"]]


def test_an_answer_that_ends_the_connection_arrives_whole(web: WebSetting) -> None:
    with web.setting.connect(None) as client:
        client.send(request("GET", "/jitter-buffer/jitter-buffer.wasm", fields="Connection: close\r\n"))
        time.sleep(1)
        answer = client.response()
        assert answer is not None and answer.body == BYTES and answer.fields["connection"] == "close"
        assert client.response() is None


def test_flow_control_cuts_an_answer_into_what_the_client_asks_for(web: WebSetting) -> None:
    """A stream window of 10,000 bytes, opened again and again by odd amounts."""
    with RawHTTP2(web.relay.port, web.setting.context(None, alpn=("h2",)), path="/jitter-buffer/jitter-buffer.wasm") as client:
        client.handshake((4, 10_000))
        block = client.encoder.encode([(":method", "GET"), (":scheme", "https"), (":authority", client.authority), (":path", client.path)])
        client.send(raw_http2.frame(raw_http2.HEADERS, raw_http2.END_HEADERS | raw_http2.END_STREAM, 1, block))
        body, window, ended = b"", 10_000, False
        while not ended:
            received = client.receive(5.0)
            assert isinstance(received, DataFrame | HeadersFrame | SettingsFrame), received
            if not isinstance(received, DataFrame):
                continue
            body += received.data
            window -= len(received.data)
            assert window >= 0
            ended = "END_STREAM" in received.flags
            if window == 0:
                window = 7_001
                client.send(raw_http2.window_update(0, 10_000), raw_http2.window_update(1, window))
        assert body == BYTES


def resident(relay: Relay) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{relay.process.pid}/status").read_text().splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0]) << 10


@pytest.mark.parametrize("over", VERSIONS)
def test_who_does_not_read_costs_no_copy_of_the_file_and_delays_nobody(web: WebSetting, over: str) -> None:
    """200 clients each ask for 600 KB and read nothing: they are held by reference, not 120 MB of copies."""
    held: list[socket.socket] = []
    path = "/jitter-buffer/jitter-buffer.wasm"
    try:
        before = resident(web.relay)
        for _ in range(200):
            if over == "h2":
                client = RawHTTP2(web.relay.port, web.setting.context(None, alpn=("h2",)), path=path)
                client.handshake((4, 0))
                head = [(":method", "GET"), (":scheme", "https"), (":authority", client.authority), (":path", path)]
                for stream in (1, 3):
                    client.send(raw_http2.frame(raw_http2.HEADERS, raw_http2.END_HEADERS | raw_http2.END_STREAM, stream, client.encoder.encode(head)))
            else:
                client = web.setting.connect(None)
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                client.send(request("GET", path) * 2)
            held.append(client.socket)
        begun = time.monotonic()
        assert web.get(over, "/app/app.mjs").body == SCRIPT
        assert time.monotonic() - begun < 5
        grown = resident(web.relay) - before
        assert grown < 60 << 20, f"{grown >> 20} MiB for 200 readers that do not read"
    finally:
        for one in held:
            one.close()


def test_a_large_file_does_not_hold_up_a_session_on_the_same_connection(web: WebSetting) -> None:
    with web.setting.h2("alice") as client:
        # Enough for the connection: only the streams' windows stand in the way of who is read later.
        client.connection.increment_flow_control_window(8 << 20)
        socket = client.open_websocket("/v1/session", ("segue.v1",))
        streams = [
            client.open_stream([(":method", "GET"), (":scheme", "https"), (":authority", client.authority), (":path", "/app/app.mjs")], end=True)
            for _ in range(3)
        ]
        socket.send_text(json.dumps({"type": "hello", "id": 1, "versions": [1]}))
        assert json.loads(socket.receive())["type"] == "welcome"
        for stream in streams:
            status, _, body = client.response(stream)
            assert status == 200 and body == SCRIPT


# Origins


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [("https://localhost:PORT", True), ("https://LOCALHOST:PORT", True), ("https://localhost", False), ("http://localhost:PORT", False), ("https://evil.example", False)]
    + [("null", False), ("https://app.example.org", True), ("https://localhost:PORT.evil.example", False)],
)
@pytest.mark.parametrize("over", VERSIONS)
def test_a_page_of_the_relays_own_may_open_a_session(web: WebSetting, over: str, origin: str, is_let_in: bool) -> None:
    origin = origin.replace("PORT", str(web.relay.port))
    if over == "h2":
        with web.setting.h2("alice") as client:
            try:
                client.open_websocket("/v1/session", ("segue.v1",), (("origin", origin),))
                assert is_let_in
            except StreamRefused as refused:
                assert not is_let_in and refused.status == 403
        return
    lines = f"Host: localhost:{web.relay.port}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    lines += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: segue.v1\r\n"
    with web.setting.connect("alice") as client:
        client.send(f"GET /v1/session HTTP/1.1\r\n{lines}\r\n".encode())
        answer = client.response()
        assert answer is not None and answer.status == (101 if is_let_in else 403)


# Reload


def test_sighup_takes_a_new_folder_whole_and_keeps_the_old_for_a_bad_one(web: WebSetting, tmp_path: Path) -> None:
    tag = web.get("h2", "/").fields["etag"]
    write(web.folder, {"index.html": b"<p>new", "added.txt": b"more"})
    assert web.get("h2", "/").fields["etag"] == tag, "nothing changes unasked"
    web.relay.reload()
    until(lambda: web.get("h2", "/").body == b"<p>new", "the new page is served")
    assert web.get("http/1.1", "/", if_none_match=tag).status == 200
    assert web.get("http/1.1", "/added.txt").body == b"more"

    away = web.folder.with_name("away")
    web.folder.rename(away)
    web.relay.reload()
    until(lambda: "stale: web" in web.relay.get("/readyz")[2], "the relay says that the folder is bad")
    assert web.get("h2", "/").body == b"<p>new"
    assert 'segue_reload_failed{part="web"} 1' in web.relay.get("/metrics")[2]

    shutil.copytree(away, web.folder)
    write(web.folder, FILES)
    (web.folder / "added.txt").unlink()
    web.relay.reload()
    until(lambda: "stale" not in web.relay.get("/readyz")[2], "the relay has the folder again")
    assert web.get("h2", "/added.txt").status == 404 and web.get("h2", "/").body == FILES["index.html"]


def test_without_the_key_nothing_is_served(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> None:
    setting = AdminSetting.create(start_relay, tmp_path_factory.mktemp("bare"))
    page = setting.ask("GET", "/", client=None)
    assert page.status == 200 and page.body.startswith(b"Segue relay.") and "content-security-policy" not in page.fields
    assert setting.ask("GET", "/index.html", client=None).status == 404
    with setting.connect("alice") as client:
        fields = f"Origin: https://localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n"
        client.send(request("GET", "/v1/session", fields=fields + "Sec-WebSocket-Protocol: segue.v1\r\n"))
        assert client.response().status == 403, "without a web client its own origin is one as any"


@pytest.mark.parametrize("fault", ["missing", "empty"])
def test_a_bad_folder_keeps_the_relay_from_starting(tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "web"
    if fault == "empty":
        folder.mkdir()
    command = [str(binary()), "serve", "--state", str(tmp_path / "state"), "--listen", "127.0.0.1:0", "--web", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 3 and f"web: {folder}: " in result.stderr, result.stderr


# Development mode


def test_development_mode_prints_a_link_that_lets_a_browser_in(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("client")
    write(folder, FILES)
    relay = start_relay("development", arguments=("--web", str(folder)))
    link = next(line.strip() for line in relay.log().splitlines() if "/#/r/demo?token=" in line)
    assert link.startswith(f"https://localhost:{relay.port}/#/r/demo?token=")
    token = link.partition("token=")[2]
    bare = tls.client_context(relay.authority)
    assert relay.get("/", context=bare)[2].encode() == FILES["index.html"]
    with RawWebSocket(relay.port, bare, path="/v1/session", subprotocol="segue.v1") as socket:
        messages = [{"type": "hello", "id": 1, "versions": [1], "token": token}, {"type": "join", "id": 2, "room": "demo"}]
        for message in messages:
            socket.send(frame(TEXT, json.dumps(message).encode()))
        answers = {}
        while set(answers) != {1, 2}:
            answer = json.loads(socket.receive()[1])
            if "id" in answer:
                answers[answer["id"]] = answer
    assert answers[1]["type"] == "welcome" and answers[1]["identity"]["name"] == "token:dev"
    assert answers[2]["type"] == "ok" and answers[2]["room"] == "demo"
    assert (relay.state / "token-key.pem").stat().st_mode & 0o777 == 0o600
    assert token not in relay.log_paths[1].read_text(), "a token is in no log"
    keys = json.loads((relay.state / "token-keys.json").read_text())["keys"]
    assert len(keys) == 1 and "d" not in keys[0], "the public half alone"
