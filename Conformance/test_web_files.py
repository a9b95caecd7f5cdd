"""What the relay serves of its web folder: bytes, types, validators, compression, headers; over both HTTP versions; and what it does not serve."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.authority import Authority
from support.h2_websocket import H2Client
from support.raw_http1 import RawHTTP1
from support.relay import Relay
from support.tls import client_context
from support.waiting import wait_until

FILES = {
    "index.html": b"<!doctype html><html lang=en><title>Segue</title>" + b"<p>Text, again and again.</p>" * 100,
    "admin/index.html": b"<!doctype html><title>Operators</title>",
    "app/app.mjs": b"export const name = 'app';\n" * 50,
    "app/style.css": b"body { margin: 0 }\n" * 50,
    "app/data.json": b'{"a": 1}',
    "app/icon.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "app/picture.png": bytes(range(256)) * 8,
    "jitter-buffer/jitter-buffer.wasm": b"\0asm\1\0\0\0" + bytes(500),
}
TYPES = {
    "/": "text/html",
    "/admin/": "text/html",
    "/app/app.mjs": "text/javascript",
    "/app/style.css": "text/css",
    "/app/data.json": "application/json",
    "/app/icon.svg": "image/svg+xml",
    "/app/picture.png": "image/png",
    "/jitter-buffer/jitter-buffer.wasm": "application/wasm",
}
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
POLICY_PARTS = {
    "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
    "frame-ancestors 'none'", "require-trusted-types-for 'script'",
}  # fmt: skip
# None of these is in the folder, however it is written.
OUTSIDE = [
    "/..%2fsecret", "/../secret", "/app/../../secret", "/%2e%2e/secret", "/app/..%5c..%5csecret", "//secret", "/app/app.mjs/",
    "/app", "/app/", "/app%2fapp.mjs", "/APP/app.mjs", "/app/app.mjs%00.css", "/app/outside", "/.hidden",
]  # fmt: skip
VERSIONS = ("1.1", "2")


@dataclass
class Answer:
    status: int
    fields: dict[str, str]
    body: bytes


@dataclass
class Site:
    relay: Relay
    folder: Path

    def ask(self, version: str, path: str, method: str = "GET", **fields: str) -> Answer:
        """One request on a connection of its own, without a certificate, in what is plainly this and no other version of HTTP."""
        asked = {name.replace("_", "-"): value for name, value in fields.items()}
        if version == "2":
            with H2Client(self.relay.port, client_context(self.relay.authority, alpn=("h2",))) as client:
                return Answer(*client.request(method, path, tuple(asked.items())))
        with RawHTTP1(self.relay.port, client_context(self.relay.authority, alpn=("http/1.1",))) as client:
            lines = "".join(f"{name}: {value}\r\n" for name, value in asked.items())
            client.send(f"{method} {path} HTTP/1.1\r\nHost: localhost:{self.relay.port}\r\n{lines}\r\n".encode())
            response = client.response(to_head=method == "HEAD")
            assert response is not None, "the connection ended without an answer"
            return Answer(response.status, response.fields, response.body)


def write_files(folder: Path) -> None:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def content_of(path: str) -> bytes:
    return FILES[path.lstrip("/") + ("index.html" if path.endswith("/") else "")]


@pytest.fixture(scope="module")
def site(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("web")
    authority = Authority.create(folder / "ca")
    server = authority.issue_server()
    write_files(folder / "web")
    (folder / "secret").write_text("not for anybody")
    (folder / "web/app/outside").symlink_to(folder / "secret")
    config = authority.configuration(server, clientCertificates="optional") | {"web": str(folder / "web")}
    relay = start_relay("web-relay", config=config, authority=authority.certificate, identity=authority.issue("operator"))
    return Site(relay, folder)


@pytest.fixture(autouse=True)
def still_healthy(site: Site) -> Iterator[None]:
    yield
    site.relay.assert_healthy()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", TYPES)
def test_files_come_whole_and_with_their_type(site: Site, path: str, version: str) -> None:
    answer = site.ask(version, path)
    assert answer.status == 200 and answer.body == content_of(path)
    assert answer.fields["content-type"].partition(";")[0] == TYPES[path]
    assert int(answer.fields["content-length"]) == len(content_of(path))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_answer_has_the_headers_that_bind_a_page(site: Site, version: str) -> None:
    for path in TYPES:
        fields = site.ask(version, path).fields
        for name, value in HEADERS.items():
            assert fields.get(name) == value, (path, name)
        policy = {part.strip() for part in fields["content-security-policy"].split(";")}
        assert policy >= POLICY_PARTS and "unsafe-inline" not in fields["content-security-policy"], (path, policy)
        assert "camera=(self)" in fields["permissions-policy"] and "display-capture=(self)" in fields["permissions-policy"], path


@pytest.mark.parametrize("version", VERSIONS)
def test_a_head_is_the_get_without_its_body(site: Site, version: str) -> None:
    """RFC 9110 §9.3.2."""
    got, asked = site.ask(version, "/app/app.mjs"), site.ask(version, "/app/app.mjs", "HEAD")
    assert asked.status == 200 and asked.body == b""
    assert {name: value for name, value in asked.fields.items() if name != "date"} == {name: value for name, value in got.fields.items() if name != "date"}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_known_is_not_sent_again(site: Site, version: str) -> None:
    """RFC 9110 §13.1.2: a list, weak comparison, and "*"."""
    tag = site.ask(version, "/app/app.mjs").fields["etag"]
    assert re.fullmatch(r'"[^"]+"', tag), "not a strong validator"
    for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        answer = site.ask(version, "/app/app.mjs", if_none_match=known)
        assert answer.status == 304 and answer.body == b"" and answer.fields["etag"] == tag, known
        assert "content-security-policy" in answer.fields
    assert site.ask(version, "/app/app.mjs", if_none_match='"other"').status == 200
    assert site.ask(version, "/app/style.css").fields["etag"] != tag


@pytest.mark.parametrize("version", VERSIONS)
def test_text_is_compressed_for_who_takes_it(site: Site, version: str) -> None:
    plain = site.ask(version, "/app/app.mjs")
    assert "content-encoding" not in plain.fields and "accept-encoding" in plain.fields["vary"].lower()
    packed = site.ask(version, "/app/app.mjs", accept_encoding="br, gzip")
    assert packed.fields["content-encoding"] == "gzip" and gzip.decompress(packed.body) == FILES["app/app.mjs"] and len(packed.body) < len(plain.body)
    # Two representations, two validators (RFC 9110 §8.8.3.3).
    assert packed.fields["etag"] != plain.fields["etag"]
    for refused in ("identity", "gzip;q=0", "br"):
        assert "content-encoding" not in site.ask(version, "/app/app.mjs", accept_encoding=refused).fields, refused
    assert "content-encoding" not in site.ask(version, "/app/picture.png", accept_encoding="gzip").fields


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_of_the_folder_is_served(site: Site, path: str, version: str) -> None:
    answer = site.ask(version, path)
    assert answer.status in (400, 404) and b"not for anybody" not in answer.body and answer.body != FILES["app/app.mjs"], answer.status


@pytest.mark.parametrize("version", VERSIONS)
def test_the_operators_folder_without_its_slash_points_there(site: Site, version: str) -> None:
    answer = site.ask(version, "/admin")
    assert answer.status == 308 and answer.fields["location"] == "/admin/"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_files_are_only_read(site: Site, method: str, version: str) -> None:
    answer = site.ask(version, "/app/app.mjs", method, content_length="0")
    assert answer.status == 405 and {word.strip() for word in answer.fields["allow"].split(",")} >= {"GET", "HEAD"}


def test_a_reload_serves_what_is_there_then(site: Site) -> None:
    """On SIGHUP. Until then a file that changes is served as it was read: never half of it."""
    before = site.ask("1.1", "/app/data.json")
    (site.folder / "web/app/data.json").write_bytes(b'{"a": 2}')
    (site.folder / "web/app/new.txt").write_bytes(b"new")
    try:
        assert site.ask("1.1", "/app/data.json").body == before.body
        assert site.ask("1.1", "/app/new.txt").status == 404
        site.relay.reload()
        wait_until("the new file is served", lambda: site.ask("2", "/app/new.txt").status == 200)
        after = site.ask("1.1", "/app/data.json", if_none_match=before.fields["etag"])
        assert after.status == 200 and after.body == b'{"a": 2}'
    finally:
        (site.folder / "web/app/new.txt").unlink()
        write_files(site.folder / "web")
        site.relay.reload()
        wait_until("the old files are served", lambda: site.ask("1.1", "/app/new.txt").status == 404)


@pytest.mark.parametrize("origin, opens", [("own", True), ("https://elsewhere.example", False), ("null", False)])
def test_pages_of_the_relay_open_sessions_and_others_do_not(site: Site, origin: str, opens: bool) -> None:
    """RFC 6455 §10.2, without a word in `origins`."""
    with RawHTTP1(site.relay.port, site.relay.context(alpn=("http/1.1",))) as client:
        host = f"localhost:{site.relay.port}"
        head = f"GET /v1/session HTTP/1.1\r\nHost: {host}\r\nOrigin: {f'https://{host}' if origin == 'own' else origin}\r\nUpgrade: websocket\r\n"
        client.send((head + "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: segue.v1\r\n\r\n").encode())
        response = client.response(to_head=True)
        assert response is not None and response.status == (101 if opens else 403)
