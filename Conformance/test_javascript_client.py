"""The JavaScript client library under node, against a relay: sends and receives, is cut off and resumes, moves, and goes to another relay at a drain."""

from __future__ import annotations

import json
import os
import queue
import re
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
from support.session import Session

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "Web/segue"
SCRIPT = Path(__file__).parent / "support/javascript_client.mjs"
AUDIENCE = "segue"
SECONDS_MAX = 30

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


@dataclass
class Setting:
    relay: Relay
    authority: Authority
    # What relays of this bench are started with.
    options: dict
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
        "drainMilliseconds": 5_000,
    }
    options = {"config": config, "authority": authority.certificate, "identity": operator}
    return Setting(start_relay("javascript", **options), authority, options, key)


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


def gaps(numbers: list[int], step: int) -> list[tuple[int, int]]:
    return [(before, after) for before, after in zip(numbers, numbers[1:], strict=False) if after - before != step]


def ready(made: Clients) -> dict:
    event = made.wait_for("ready", lambda event: event["event"] == "ready")
    made.status_when("frames of both kinds", lambda status: len(status["audio"]) > 10 and len(status["video"]) > 2)
    return event


def goes_on(made: Clients) -> dict:
    """Sound and pictures come, from here on."""
    before = made.say("status")
    return made.status_when("more frames", lambda now: len(now["audio"]) > len(before["audio"]) + 20 and len(now["video"]) > len(before["video"]) + 4)


def test_frames_go_from_one_client_to_the_other_whole_and_in_order(clients):
    made, _, _ = clients
    assert ready(made)["identity"] == "token:sender"
    status = made.status_when("a second and more", lambda status: len(status["audio"]) > 60)
    assert gaps(status["audio"], 1) == gaps(status["video"], 5) == []
    assert status["broken"] == status["repeated"] == 0
    assert status["configurations"] >= 2
    # Pictures of 60 KB come in parts where the connection does not take them at once, sound between them.
    receiver = status["receiver"]
    assert receiver["parts"] > 0, receiver
    assert receiver["malformed"] == status["sender"]["malformed"] == 0
    # On one machine the relay's clock is ours.
    assert all(abs(offset) < 250 for offset in status["offsets"]), status["offsets"]
    assert 0 < receiver["roundTripMilliseconds"] < 1_000
    made.process.stdin.write("end\n")
    made.process.stdin.flush()
    closed = made.wait_for("end", lambda event: event["event"] == "closed")
    assert closed["states"] == ["closed", "closed"]
    assert made.process.wait(timeout=10) == 0, "a client that is closed holds nothing open"


def test_chat_goes_from_one_client_to_the_other(clients):
    made, _, _ = clients
    ready(made)
    made.say("chat")
    chat = next((event for event in made.events if event["event"] == "chat"), None) or made.wait_for("chat", lambda event: event["event"] == "chat")
    assert chat["text"] == "hello, all"
    assert abs(chat["at"] / 1_000 - time.time()) < 10


@pytest.mark.parametrize("who", ["sender", "receiver"])
@pytest.mark.parametrize("how", ["reset", "end"])
def test_a_client_that_is_cut_off_resumes_its_session_with_no_frame_twice(clients, who: str, how: str):
    made, sending, receiving = clients
    ready(made)
    proxy = sending if who == "sender" else receiving
    getattr(proxy.last, how)()
    made.wait_for("loss", lambda event: event["event"] == "state" and event["name"] == who and event["detail"]["state"] == "reconnecting")
    back = made.wait_for("resumption", lambda event: event["event"] in ("resumed", "renewed") and event["name"] == who)
    assert back["event"] == "resumed", back
    status = goes_on(made)
    assert status["repeated"] == status["broken"] == 0
    assert status[who]["reconnects"] == 1
    assert status["states"] == ["open", "open"]
    assert status["participants"] == 2
    # What was under way is sent again: no more is missing than what grew too old meanwhile, in one place.
    assert len(gaps(status["audio"], 1)) <= 2, gaps(status["audio"], 1)


def test_a_connection_is_replaced_before_it_breaks_with_no_frame_lost_or_twice(clients):
    made, sending, receiving = clients
    ready(made)
    made.say("migrate")
    status = goes_on(made)
    assert len(sending.links) == len(receiving.links) == 2
    assert status["repeated"] == status["broken"] == 0
    assert gaps(status["audio"], 1) == gaps(status["video"], 5) == []
    assert not [event for event in made.events if event["event"] == "state" and event["detail"]["state"] == "reconnecting"]
    assert status["sender"]["reconnects"] == status["receiver"]["reconnects"] == 1


@pytest.mark.slow
def test_a_connection_that_says_nothing_is_replaced_by_another_that_resumes(clients):
    made, _, receiving = clients
    ready(made)
    receiving.last.freeze()
    resumed = made.wait_for("resumption", lambda event: event["event"] in ("resumed", "renewed") and event["name"] == "receiver")
    assert resumed["event"] == "resumed", resumed
    assert goes_on(made)["repeated"] == 0


def test_clients_join_and_publish_again_at_another_relay_when_theirs_goes_away(setting: Setting, start_relay: Callable[..., Relay]):
    leaving, staying = (start_relay(name, **setting.options) for name in ("leaving", "staying"))
    with Breakable(leaving) as sending, Breakable(leaving) as receiving:
        made = Clients(setting, sending.relay, receiving.relay, "moving")
        try:
            ready(made)
            sending.target = receiving.target = staying.port
            leaving.process.terminate()
            for who in ("sender", "receiver"):
                if not any(event["event"] == "renewed" and event["name"] == who for event in made.events):
                    made.wait_for(f"{who} at the other relay", lambda event, who=who: event["event"] == "renewed" and event["name"] == who)
            status = goes_on(made)
            assert status["states"] == ["open", "open"]
            made.status_when("both in the room", lambda now: now["participants"] == 2)
            assert status["repeated"] == status["broken"] == 0
            assert not [event for event in made.events if event["event"] in ("rejoin-refused", "ended")]
        finally:
            made.close()
    leaving.process.wait(timeout=30)
    staying.stop()


def until_it_comes(session: Session, what: str, send: Callable[[], object], end: bytes) -> None:
    """Sends twice a second until a frame comes whose payload ends so."""
    deadline = time.monotonic() + SECONDS_MAX
    while not any(payload.endswith(end) for payload in session.payloads()):
        assert time.monotonic() < deadline, f"no {what}: {session.events[-5:]}"
        send()
        session.drain(0.5)


def test_the_readme_example_echoes_sound_and_text(setting: Setting):
    readme = (LIBRARY / "README.md").read_text()
    (example,) = re.findall(r"^```js\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert len(example.splitlines()) <= 22
    room = f"room-{os.urandom(4).hex()}"
    environment = {
        **os.environ,
        "NODE_EXTRA_CA_CERTS": str(setting.authority.certificate),
        "NODE_NO_WARNINGS": "1",
        "RELAY": f"https://localhost:{setting.relay.port}",
        "TOKEN": setting.token("echo"),
        "ROOM": room,
    }
    with Session(setting.relay, setting.authority.issue("alice")) as alice:
        alice.ask("join", room=room)
        alice.ask("subscribe", all=True)
        stream = alice.ask("publish", kind="audio", codec="opus")["stream"]
        text = alice.ask("publish", kind="data", codec="text/plain;charset=utf-8", source="chat")["stream"]
        alice.configure(stream)
        alice.configure(text)
        command = ["node", "--experimental-websocket", "--input-type=module", "--eval", example]
        echo = subprocess.Popen(command, cwd=LIBRARY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said: list[str] = []
            for line in echo.stdout:
                said.append(line.strip())
                if " in " in line:
                    break
            assert said == ["connecting", "open", f"2 in {room}"], (said, echo.stderr.read() if echo.poll() is not None else "")
            # Between loops a subscription takes its time: what is sent before it is there is not for it.
            until_it_comes(alice, "sound", lambda: alice.media("audio", stream, b"sound"), b"sound")
            # Before the text stands when it was written: an extension of the header.
            until_it_comes(alice, "answer", lambda: alice.media("data", text, "grüß dich".encode()), "You said: grüß dich".encode())
            assert echo.stdout.readline().strip() == "urn:segue:client:alice: grüß dich"
        finally:
            echo.terminate()
            echo.wait(timeout=10)
