"""A relay with an administrator, and clients of its admin API."""

from __future__ import annotations

import json
import ssl
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from . import tls
from .authority import Authority
from .h2_websocket import H2Client
from .raw_http1 import RawHTTP1, Response
from .raw_websocket import CLOSE, TEXT, RawWebSocket
from .raw_websocket import frame as websocket_frame
from .relay import Identity, Relay

ADMIN = "urn:segue:client:operator"
POLICY = {
    "admins": [ADMIN],
    "access": [{"identities": ["*"], "rooms": ["*"], "roles": ["host", "speaker", "listener", "recorder"]}],
    "pairing": {"pairs": [], "requests": [{"from": ["*"], "to": ["*"]}], "codes": ["*"]},
}


@dataclass
class AdminSetting:
    """A relay whose certificates, its administrator's among them, come from the openssl command line."""

    relay: Relay
    authority: Authority
    folder: Path
    clients: dict[str, Identity]

    @classmethod
    def create(
        cls, start_relay: Callable[..., Relay], folder: Path, *, loops: int = 2, limits: dict | None = None, more: dict | None = None
    ) -> AdminSetting:
        """`more`: further members of the configuration."""
        authority = Authority.create(folder / "ca")
        server = authority.issue_server()
        identities = {name: authority.issue(name) for name in ("operator", "alice", "bob")}
        config = {
            "listen": ["127.0.0.1:0"],
            "origins": ["https://app.example.org"],
            "policy": POLICY,
            "auditLog": str(folder / "audit.jsonl"),
            "tls": {
                "certificates": [{"chain": str(server.certificate), "key": str(server.key)}],
                "clientAuthorities": [str(authority.certificate)],
                "revocationLists": [str(authority.revocations)],
                "clientCertificates": "optional",
            },
            "limits": limits or {},
            **(more or {}),
        }
        relay = start_relay("admin", loops=loops, config=config, authority=authority.certificate, identity=identities["operator"])
        return cls(relay, authority, folder, identities)

    def context(self, client: str | None = "operator", *, alpn: tuple[str, ...] = ()) -> ssl.SSLContext:
        shown = self.clients[client] if client else None
        return tls.client_context(self.authority.certificate, certificate=shown and shown.certificate, key=shown and shown.key, alpn=alpn)

    def connect(self, client: str | None = "operator") -> RawHTTP1:
        return RawHTTP1(self.relay.port, self.context(client))

    def h2(self, client: str | None = "operator") -> H2Client:
        return H2Client(self.relay.port, self.context(client, alpn=("h2",)))

    def ask(self, method: str, path: str, body: bytes | None = None, *, client: str | None = "operator", fields: str = "") -> Response:
        """One request over HTTP/1.1 on a connection of its own."""
        with self.connect(client) as connection:
            connection.send(request(method, path, body, fields))
            response = connection.response(to_head=method == "HEAD")
            assert response is not None, f"{method} {path}: the connection ended without an answer"
            return response

    def read(self, path: str, *, status: int = 200) -> dict:
        deadline = time.monotonic() + 20
        # The loops of a relay that others keep from running answer too late, and it says so.
        while (response := self.ask("GET", path)).status == 503 != status and b"not there in time" in response.body and time.monotonic() < deadline:
            pass
        assert response.status == status, f"GET {path}: {response.status} {response.body!r}"
        return json.loads(response.body)

    def audit(self) -> list[dict]:
        return [json.loads(line) for line in (self.folder / "audit.jsonl").read_text().splitlines()]

    def curl(self, *arguments: str, client: str = "operator") -> str:
        identity = self.clients[client]
        command = ["curl", "--silent", "--show-error", "--max-time", "10", "--cacert", str(self.authority.certificate)]
        command += ["--cert", str(identity.certificate), "--key", str(identity.key)]
        result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=20, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def url(self, path: str) -> str:
        return f"https://localhost:{self.relay.port}{path}"


def request(method: str, path: str, body: bytes | None = None, fields: str = "") -> bytes:
    if body is not None:
        if "content-type" not in fields.lower():
            fields += "Content-Type: application/json\r\n"
        fields += f"Content-Length: {len(body)}\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode() + (body or b"")


def segment(text: str) -> str:
    return quote(text, safe="")


class Member:
    """A session, maybe in a room."""

    def __init__(self, setting: AdminSetting, client: str = "alice", room: str | None = None, device: str | None = None):
        self.ws = RawWebSocket(setting.relay.port, setting.context(client), path="/v1/session", subprotocol="segue.v1")
        hello = {"type": "hello", "id": 1, "versions": [1]}
        if device:
            hello["device"] = device
        self.session = self.request(hello)["session"]
        self.participant = self.request({"type": "join", "id": 2, "room": room})["participant"] if room else None

    def request(self, message: dict) -> dict:
        self.ws.send(websocket_frame(TEXT, json.dumps(message).encode()))
        while (received := self.ws.receive()) is not None:
            if received[0] == TEXT and (answer := json.loads(received[1])).get("id") == message["id"]:
                assert answer["type"] != "error", answer
                return answer
        raise AssertionError(f"the session ended instead of answering {message}")

    def event(self, kind: str) -> dict:
        while (received := self.ws.receive()) is not None:
            if received[0] == TEXT and (event := json.loads(received[1]))["type"] == kind:
                return event
        raise AssertionError(f"the session ended before {kind}")

    def close_frame(self) -> tuple[int, str]:
        while (received := self.ws.receive()) is not None:
            if received[0] == CLOSE:
                return int.from_bytes(received[1][:2]), received[1][2:].decode()
        raise AssertionError("the session ended without a close frame")

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None:
        self.ws.socket.close()


def until(condition: Callable[[], bool], what: str, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
