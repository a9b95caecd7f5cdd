"""The Python client library under test, importable as `segue`: its clients and its bots against a relay, and a relay that says what no relay says."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import numpy as np
from cryptography.hazmat.primitives.asymmetric import ed25519
from websockets.asyncio.server import ServerConnection, serve

from . import heard
from .authority import Authority
from .relay import ALLOW_ALL, REPOSITORY, Identity, Relay
from .traffic import Conversation
from .waiting import wait_until

LIBRARY = REPOSITORY / "Clients" / "python"
sys.path.insert(0, str(LIBRARY))

import segue  # noqa: E402
from segue.connection import Connection  # noqa: E402

SECONDS_MAX = 60
AUDIENCE = "segue"


@dataclass
class Stage:
    """A relay that takes certificates and tokens, and who may come."""

    relay: Relay
    authority: Authority
    identities: dict[str, Identity]
    key: ed25519.Ed25519PrivateKey
    programs: Path

    @classmethod
    def create(cls, start_relay: Callable[..., Relay], folder: Path, **limits: int) -> Stage:
        authority = Authority.create(folder / "ca")
        server = authority.issue_server()
        key = ed25519.Ed25519PrivateKey.generate()
        jwk = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": "key", "use": "sig", "alg": "EdDSA"}
        (folder / "jwks.json").write_text(json.dumps({"keys": [jwk]}))
        config = authority.configuration(server, clientCertificates="optional")
        config |= {"tokens": {"keys": str(folder / "jwks.json"), "audience": AUDIENCE, "leewaySeconds": 0}, "policy": ALLOW_ALL, "limits": limits}
        identities = {name: authority.issue(name) for name in ("ann", "ben", "cid")}
        relay = start_relay("python", config=config, authority=authority.certificate, identity=identities["ann"])
        # Where `segue publish --as ann` looks for what development mode would have put there.
        programs = folder / "programs"
        (programs / "clients").mkdir(parents=True)
        shutil.copy(authority.certificate, programs / "ca.pem")
        for name, identity in identities.items():
            shutil.copy(identity.certificate, programs / f"clients/{name}.pem")
            shutil.copy(identity.key, programs / f"clients/{name}-key.pem")
        return cls(relay, authority, identities, key, programs)

    @property
    def for_programs(self) -> Relay:
        """The relay as `heard.Program` takes it."""
        relay = copy.copy(self.relay)
        relay.state = self.programs
        return relay

    def token(self, subject: str, seconds: float = 600) -> str:
        return jwt.encode({"sub": subject, "aud": AUDIENCE, "exp": time.time() + seconds}, self.key, algorithm="EdDSA", headers={"kid": "key"})

    def client(self, name: str, relay: Relay | None = None, **options: Any) -> segue.Client:
        """By certificate, unless there is a token."""
        identity = self.identities[name]
        proof = {} if "token" in options else {"certificate": identity.certificate, "key": identity.key}
        return segue.Client(url(relay or self.relay), authority=self.authority.certificate, **proof, **options)


def url(relay: Relay) -> str:
    return f"wss://localhost:{relay.port}"


def run(work: Awaitable[Any]) -> Any:
    """A test's coroutine, within a bound."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, SECONDS_MAX)

    return asyncio.run(bounded())


async def until(what: str, condition: Callable[[], Any], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.01)


def record(monkeypatch: Any) -> None:
    """Every control message of the library's clients is kept, to be held against the protocol's description (`traffic`)."""
    send, receive, conversations = Connection.send, Connection.receive, {}

    async def sent(self: Connection, message: str | bytes) -> None:
        conversations.setdefault(self, Conversation()).sent(message)
        await send(self, message)

    async def received(self: Connection) -> str | bytes:
        message = await receive(self)
        conversations.setdefault(self, Conversation()).received(message)
        return message

    monkeypatch.setattr(Connection, "send", sent)
    monkeypatch.setattr(Connection, "receive", received)


class Bot:
    """One of the examples as a process. Use as a context manager."""

    def __init__(self, name: str, stage: Stage, room: str, identity: str, *options: object, token: bool = False):
        self.out = tempfile.TemporaryFile("w+")
        command = [sys.executable, LIBRARY / name, "--url", url(stage.relay), "--ca", stage.authority.certificate, "--room", room, *options]
        environment = dict(os.environ)
        if token:
            environment["SEGUE_TOKEN"] = stage.token(identity)
        else:
            command += ["--cert", stage.identities[identity].certificate, "--key", stage.identities[identity].key]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT, env=environment)

    def text(self) -> str:
        self.out.seek(0)
        return self.out.read()

    def wait_text(self, pattern: str) -> None:
        wait_until(f"{pattern} in {self.text()}", lambda: re.search(pattern, self.text()) is not None, SECONDS_MAX)

    def stop(self, number: int = signal.SIGINT) -> str:
        """It ends well. What it has said."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(SECONDS_MAX)
        assert self.process.returncode == 0, self.text()
        assert "Traceback" not in self.text(), self.text()
        return self.text()

    def __enter__(self) -> Bot:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.close()


def tone_packets(hertz: float, seconds: float) -> list[bytes]:
    encoder, samples = heard.OpusEncoder(), heard.tone(hertz, seconds)
    return [encoder.encode(samples[place : place + 960]) for place in range(0, len(samples) - 959, 960)]


def sound(packets: list[bytes]) -> np.ndarray:
    decoder = heard.OpusDecoder()
    return np.concatenate([decoder.decode(packet)[:, 0] for packet in packets])


# A relay that says what it is told to

WELCOME = {
    "type": "welcome",
    "version": 1,
    "session": "0" * 32,
    "node": "fake",
    "serverTime": 1_760_000_000_000,
    "identity": {"name": "urn:fake", "proof": "certificate"},
    "limits": {
        "controlMessageBytesMax": 65_536,
        "audioFrameBytesMax": 8_192,
        "videoFrameBytesMax": 4_194_304,
        "dataFrameBytesMax": 65_536,
        "streamsPerParticipantMax": 16,
        "controlMessagesPerSecondMax": 200,
    },
}
JOINED = {"type": "ok", "room": "r", "participant": 1, "role": "speaker", "state": "joined", "locked": False, "participants": [], "streams": []}
Script = Callable[[ServerConnection, dict], Awaitable[None]]


class FakeRelay:
    """Welcomes everybody, answers `time` and `join`, and hands each request to `script` first. Use as an asynchronous context manager; `url` is where it is."""

    def __init__(self, script: Script):
        self.script, self.connections = script, 0

    async def _serve(self, socket: ServerConnection) -> None:
        self.connections += 1
        async for text in socket:
            if isinstance(text, bytes):
                continue
            request = json.loads(text)
            await self.script(socket, request)
            answers = {"hello": WELCOME, "join": JOINED, "time": {"type": "ok", "clientTime": request.get("clientTime"), "serverTime": 1}}
            if request["type"] in answers:
                await socket.send(json.dumps({**answers[request["type"]], "id": request["id"]}))

    async def __aenter__(self) -> FakeRelay:
        self.server = await serve(self._serve, "127.0.0.1", 0, subprotocols=["segue.v1"], compression=None)
        self.url = f"ws://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
