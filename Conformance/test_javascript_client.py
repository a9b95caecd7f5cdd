"""The JavaScript client library under node, against a relay: sends and receives, is cut off and resumes, moves, and comes back to a relay that was started again."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from support.authority import Authority
from support.breakable import Breakable
from support.relay import Relay

ROOT = Path(__file__).parent.parent
SCRIPT = Path(__file__).parent / "support/javascript_client.mjs"
AUDIENCE = "segue"
SECONDS_MAX = 30

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


@dataclass
class Setting:
    relay: Relay
    authority: Authority
    key: ed25519.Ed25519PrivateKey

    def token(self, subject: str) -> str:
        now = int(time.time())
        return jwt.encode({"sub": subject, "aud": AUDIENCE, "iat": now, "exp": now + 600}, self.key, algorithm="EdDSA", headers={"kid": "key"})


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("javascript")
    authority = Authority.create(folder / "ca")
    server, operator = authority.issue_server(), authority.issue("operator")
    chain = folder / "chain.pem"
    chain.write_text(server.certificate.read_text() + authority.certificate.read_text())
    key = ed25519.Ed25519PrivateKey.generate()
    public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    keys = folder / "jwks.json"
    keys.write_text(json.dumps({"keys": [{**public, "kid": "key", "use": "sig", "alg": "EdDSA"}]}))
    config = {
        "listen": ["127.0.0.1:0"],
        "tls": {
            "certificates": [{"chain": str(chain), "key": str(server.key)}],
            "clientAuthorities": [str(authority.certificate)],
            "clientCertificates": "optional",
        },
        "tokens": {"keys": str(keys), "audience": AUDIENCE, "leewaySeconds": 0},
    }
    relay = start_relay("javascript", config=config, authority=authority.certificate, identity=operator)
    return Setting(relay, authority, key)


class Clients:
    """The node process with its two clients. What it says is kept in `events`, in order."""

    def __init__(self, setting: Setting, sender: Relay, receiver: Relay, room: str):
        self.events: list[dict] = []
        self.lines: queue.SimpleQueue = queue.SimpleQueue()
        urls = [f"wss://localhost:{relay.port}/v1/session" for relay in (sender, receiver)]
        environment = {
            **os.environ,
            "NODE_EXTRA_CA_CERTS": str(setting.authority.certificate),
            "NODE_NO_WARNINGS": "1",
            "SENDER_TOKEN": setting.token("sender"),
            "RECEIVER_TOKEN": setting.token("receiver"),
        }
        command = ["node", "--experimental-websocket", str(SCRIPT), *urls, room]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        self.errors: list[str] = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def wait_for(self, what: str, is_it: Callable[[dict], bool], seconds: float = SECONDS_MAX) -> dict:
        """The first event from here on that is it."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {what} within {seconds} s: {self.events[-10:]} {self.errors}") from None
            assert event is not None, f"node has ended before {what}: {self.events[-10:]} {self.errors}"
            self.events.append(event)
            if is_it(event):
                return event

    def say(self, command: str) -> dict:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.wait_for(f"answer to {command}", lambda event: event["event"] == "status" and event["command"] == command)

    def status_when(self, what: str, is_so: Callable[[dict], bool]) -> dict:
        deadline = time.monotonic() + SECONDS_MAX
        while not is_so(status := self.say("status")):
            assert time.monotonic() < deadline, f"{what}: {status} {self.errors}"
            time.sleep(0.1)
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=10)


@pytest.fixture
def clients(setting: Setting) -> Iterator[tuple[Clients, Breakable, Breakable]]:
    with Breakable(setting.relay) as sending, Breakable(setting.relay) as receiving:
        made = Clients(setting, sending.relay, receiving.relay, f"room-{os.urandom(4).hex()}")
        try:
            yield made, sending, receiving
        finally:
            made.close()


def test_frames_go_from_one_client_to_the_other(clients):
    made, _, _ = clients
    ready = made.wait_for("ready", lambda event: event["event"] == "ready")
    print(ready)
    status = made.status_when("frames of both kinds", lambda status: len(status["audio"]) > 50 and len(status["video"]) > 10)
    print({**status, "audio": len(status["audio"]), "video": len(status["video"])})


def test_a_client_that_is_cut_off_resumes_with_no_frame_twice(clients):
    made, sending, receiving = clients
    made.wait_for("ready", lambda event: event["event"] == "ready")
    made.status_when("frames", lambda status: len(status["audio"]) > 20)
    for who, proxy in (("sender", sending), ("receiver", receiving)):
        proxy.last.reset()
        resumed = made.wait_for("resumption", lambda event: event["event"] in ("resumed", "renewed") and event["name"] == who)
        assert resumed["event"] == "resumed", resumed
        before = made.say("status")
        made.status_when("more frames", lambda status: len(status["audio"]) > len(before["audio"]) + 20 and len(status["video"]) > len(before["video"]) + 4)
    status = made.say("status")
    print({**status, "audio": len(status["audio"]), "video": len(status["video"])})
    for kind in ("audio", "video"):
        print(kind, [(a, b) for a, b in zip(status[kind], status[kind][1:]) if b - a != (1 if kind == "audio" else 5)])


def test_a_connection_is_replaced_before_it_breaks(clients):
    made, sending, receiving = clients
    made.wait_for("ready", lambda event: event["event"] == "ready")
    made.status_when("frames", lambda status: len(status["audio"]) > 20)
    made.say("migrate")
    before = made.say("status")
    status = made.status_when("more frames", lambda status: len(status["audio"]) > len(before["audio"]) + 20)
    print({**status, "audio": len(status["audio"]), "video": len(status["video"])})
    for kind in ("audio", "video"):
        print(kind, [(a, b) for a, b in zip(status[kind], status[kind][1:]) if b - a != (1 if kind == "audio" else 5)])
    print([e for e in made.events if e["event"] not in ("status",)])
