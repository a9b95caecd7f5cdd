"""Secrets stay secret: after sessions that use, misuse and present them, none of them is in the log, the audit, the metrics or what administrators read."""

from __future__ import annotations

import json
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from support.admin import AdminSetting, Member
from support.authority import openssl
from support.raw_websocket import TEXT, RawWebSocket, frame
from support.relay import Relay, binary

READABLE = ("/metrics", "/readyz", "/", "/v1/openapi.json", "/v1/keys", "/v1/rooms", "/v1/sessions", "/v1/grants", "/v1/rooms/{room}", "/v1/rooms/{room}/participants")


class Secrets:
    """Everything that must not be seen, under a name for the report."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def add(self, name: str, secret: str) -> str:
        assert len(secret) >= 8
        self.known[f"{name} {len(self.known)}"] = secret
        return secret

    def token(self, name: str, token: str) -> str:
        # A header says nothing; claims and signature are what opens a door.
        for part in token.split(".")[1:]:
            self.add(name, part)
        return token

    def key_file(self, path: Path) -> None:
        for line in path.read_text().splitlines():
            if not line.startswith("-") and len(line) > 20:
                self.add(f"key {path.name}", line)

    def found_in(self, text: str) -> list[str]:
        return [name for name, secret in self.known.items() if secret in text]


def error_of(member: Member, message: dict) -> str:
    with pytest.raises(AssertionError) as refusal:
        member.request(message)
    return str(refusal.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def provider(folder: Path) -> ed25519.Ed25519PrivateKey:
    key = ed25519.Ed25519PrivateKey.generate()
    public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    (folder / "jwks.json").write_text(json.dumps({"keys": [{**public, "kid": "one", "use": "sig", "alg": "EdDSA"}]}))
    return key


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], folder: Path, provider: ed25519.Ed25519PrivateKey) -> AdminSetting:
    made = subprocess.run([binary(), "ca", "init", "--ca", folder / "enrolment", "--name", "Bench CA"], capture_output=True, timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    more = {
        "state": str(folder / "state"),
        "tokens": {"keys": str(folder / "jwks.json"), "audience": "segue", "leewaySeconds": 0},
        "enrolment": {"authority": str(folder / "enrolment"), "attemptsPerMinute": 1_000},
    }
    return AdminSetting.create(start_relay, folder, more=more)


def bearer(key: ed25519.Ed25519PrivateKey, **changes: object) -> str:
    claims = {"sub": "carol", "aud": "segue", "iat": int(time.time()), "exp": int(time.time()) + 300, **changes}
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": "one"})


def use_tokens(setting: AdminSetting, key: ed25519.Ed25519PrivateKey, secrets: Secrets) -> None:
    good = secrets.token("token", bearer(key))
    late = secrets.token("expired token", bearer(key, exp=int(time.time()) - 60))
    forged = secrets.token("forged token", bearer(ed25519.Ed25519PrivateKey.generate(), sub="mallory"))
    garbage = secrets.add("what is no token", "c2VjcmV0LWdhcmJhZ2U" * 3)
    for number, token in enumerate((late, forged, garbage, good)):
        with setting_socket(setting, None) as session:
            session.send(frame(TEXT, json.dumps({"type": "hello", "id": 1, "versions": [1], "token": token}).encode()))
            received = session.receive()
            assert received is not None and (json.loads(received[1])["type"] == "welcome") == (number == 3), received
    for token in (late, forged, garbage, good):
        response = setting.ask("GET", "/v1/session", client=None, fields=f"Authorization: Bearer {token}\r\n")
        assert response.status in (401, 403, 426)
        assert not secrets.found_in(response.body.decode() + str(response.fields))
    with Member(setting, "alice") as alice:
        refusal = error_of(alice, {"type": "authenticate", "id": 2, "token": forged})
        assert "token_refused" in refusal and not secrets.found_in(refusal)
        alice.request({"type": "authenticate", "id": 3, "token": good})


def setting_socket(setting: AdminSetting, client: str | None) -> RawWebSocket:
    return RawWebSocket(setting.relay.port, setting.context(client), path="/v1/session", subprotocol="segue.v1")


def pair_by_code(setting: AdminSetting, secrets: Secrets) -> None:
    with Member(setting, "alice") as alice, Member(setting, "bob") as bob:
        code = secrets.add("pairing code", alice.request({"type": "pair.code", "id": 2})["code"])
        wrong = secrets.add("wrong code", "ZZZZZZZY" if code != "ZZZZZZZY" else "ZZZZZZZW")
        refusal = error_of(bob, {"type": "pair.enter", "id": 3, "code": wrong})
        assert "pair_code" in refusal and not secrets.found_in(refusal)
        pair = bob.request({"type": "pair.enter", "id": 4, "code": code})["pair"]
        secrets.token("grant", pair["grant"])
        secrets.token("statement", pair["statement"])
        bob.request({"type": "join", "id": 5, "room": pair["room"], "grant": pair["grant"]})
        assert setting.ask("DELETE", f"/v1/grants/{pair['pair']}").status == 204
        bob.event("room.removed")
        refusal = error_of(bob, {"type": "join", "id": 6, "room": pair["room"], "grant": pair["grant"]})
        assert not secrets.found_in(refusal)
        # One pair that lives on, for what administrators read.
        code = secrets.add("pairing code", alice.request({"type": "pair.code", "id": 7})["code"])
        pair = bob.request({"type": "pair.enter", "id": 8, "code": code})["pair"]
        secrets.token("grant", pair["grant"])


def enrol(setting: AdminSetting, secrets: Secrets) -> None:
    made = setting.ask("POST", "/v1/enrolment-tokens", json.dumps({"names": ["URI:urn:segue:client:dave"]}).encode())
    assert made.status == 201, made.body
    token = json.loads(made.body)["token"]
    secrets.add("enrolment token", token.removeprefix("segue-enrol-"))
    openssl("req", "-new", "-noenc", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj", "/CN=dave",
            "-keyout", setting.folder / "dave-key.pem", "-out", setting.folder / "dave.csr")  # fmt: skip
    secrets.key_file(setting.folder / "dave-key.pem")
    wrong = secrets.add("wrong enrolment token", "0123456789abcdef" * 3)
    csr = (setting.folder / "dave.csr").read_text()
    for text, status in (("segue-enrol-" + wrong, 403), (token, 201), (token, 403)):
        response = setting.ask("POST", "/v1/enroll", json.dumps({"token": text, "csr": csr}).encode(), client=None)
        assert response.status == status and not secrets.found_in(response.body.decode()), response.body


def test_no_secret_is_seen_anywhere(setting: AdminSetting, folder: Path, provider: ed25519.Ed25519PrivateKey) -> None:
    secrets = Secrets()
    for path in sorted(folder.rglob("*key*.pem")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or "/ca/" in str(path), f"{path} is for its owner alone"
        secrets.key_file(path)
    assert any(name.startswith("key signing-key.pem") for name in secrets.known), "the relay's signing key is where it belongs"
    private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    secrets.add("provider's key", provider.private_bytes(*private).decode().splitlines()[1])
    use_tokens(setting, provider, secrets)
    pair_by_code(setting, secrets)
    enrol(setting, secrets)
    # Secrets where none belong.
    misplaced = secrets.add("a secret in a query", "query-secret-5f1c")
    setting.ask("GET", f"/v1/session?token={misplaced}", client="alice")
    setting.ask("GET", f"/v1/rooms?limit={misplaced}")
    setting.ask("GET", "/v1/rooms", client=None, fields=f"Authorization: Bearer {secrets.add('a bearer at the admin API', 'bearer-secret-77a0')}\r\n")
    setting.ask("POST", "/v1/enroll", secrets.add("broken content", '{"token": "broken-secret-9d2e').encode(), client=None)

    with Member(setting, "alice", "open") as _:
        for path in READABLE:
            response = setting.ask("GET", path.replace("{room}", "open"))
            assert response.status == 200, f"{path}: {response.status}"
            assert not secrets.found_in(response.body.decode()), path
    setting.relay.reload()
    setting.relay.stop()
    assert len(secrets.known) > 30
    assert not secrets.found_in(setting.relay.log()), "the log"
    assert not secrets.found_in((setting.folder / "audit.jsonl").read_text()), "the audit"
    told = (setting.folder / "audit.jsonl").read_text()
    for act in ("hello", "authenticate", "pair.enter", "POST /v1/enroll", "POST /v1/enrolment-tokens", "DELETE /v1/grants/{pair}"):
        assert f'"act":"{act}"' in told, f"{act} is in the audit, so that there was something to be seen"
