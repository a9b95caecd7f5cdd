"""Bearer tokens made by PyJWT, with real certificates beside them: who gets in, as whom, how a session ends, and what no log ever shows."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from support import metrics, proxies, session
from support.authority import Authority
from support.h2_websocket import H2Client, StreamRefused
from support.proven import Session1
from support.raw_http1 import RawHTTP1
from support.relay import Identity, Relay, binary
from support.stopwatch import Stopwatch
from support.tls import client_context

ISSUER = "https://id.example"
AUDIENCE = "segue"
PRIVATE = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def algorithm(key: PRIVATE) -> str:
    return "EdDSA" if isinstance(key, ed25519.Ed25519PrivateKey) else "ES256"


def public_jwk(key: PRIVATE, name: str) -> dict:
    maker = jwt.algorithms.OKPAlgorithm if isinstance(key, ed25519.Ed25519PrivateKey) else jwt.algorithms.ECAlgorithm
    return {**maker.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig", "alg": algorithm(key)}


@dataclass
class Provider:
    """An identity provider: named keys, and the file that the relay reads them from."""

    path: Path
    keys: dict[str, PRIVATE] = field(default_factory=dict)
    # Everything that was ever shown to a relay: none of it may turn up in a log.
    made: list[str] = field(default_factory=list)

    def publish(self, *names: str) -> None:
        """Writes these keys' public halves by rename: the relay must never read half a file."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({"keys": [public_jwk(self.keys[name], name) for name in names]}))
        fresh.replace(self.path)

    def token(self, subject: str = "alice", key: str = "ed", *, lifetime: float = 300, headers: dict | None = None, **changes) -> str:
        """Claims as good as can be but for `changes`; None takes a claim out."""
        now = time.time()
        claims = {"sub": subject, "aud": AUDIENCE, "iss": ISSUER, "iat": int(now), "exp": now + lifetime, **changes}
        claims = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode(claims, self.keys[key], algorithm=algorithm(self.keys[key]), headers={"kid": key, **(headers or {})})
        self.made.append(token)
        return token


@dataclass
class Setting:
    relay: Relay
    authority: Authority
    provider: Provider

    def context(self, identity: Identity | None = None, alpn: tuple[str, ...] = ()):
        return client_context(self.authority.certificate, certificate=identity and identity.certificate, key=identity and identity.key, alpn=alpn)

    def metric(self, name: str) -> dict[str, float]:
        status, _, text = self.relay.get("/metrics")
        assert status == 200
        return metrics.by_reason(text, name)


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp("tokens")
    authority = Authority.create(folder / "ca")
    server, operator = authority.issue_server(), authority.issue("operator")
    provider = Provider(folder / "jwks.json")
    provider.keys = {
        "ed": ed25519.Ed25519PrivateKey.generate(),
        "ec": ec.generate_private_key(ec.SECP256R1()),
        "old": ed25519.Ed25519PrivateKey.generate(),
        "stranger": ed25519.Ed25519PrivateKey.generate(),
    }
    provider.publish("ed", "ec", "old")
    policy = folder / "policy.json5"
    policy.write_text(json.dumps(POLICY))
    chain = folder / "chain.pem"
    chain.write_text(server.certificate.read_text() + authority.certificate.read_text())
    config = {
        "listen": ["127.0.0.1:0"],
        "reloadCheckMilliseconds": 100,
        "policy": str(policy),
        "tls": {
            "certificates": [{"chain": str(chain), "key": str(server.key)}],
            "clientAuthorities": [str(authority.certificate)],
            "clientCertificates": "optional",
        },
        "proxies": {"listen": ["127.0.0.1:0"], "clientCertificate": "client-cert"},
        "tokens": {"keys": str(provider.path), "issuer": ISSUER, "audience": AUDIENCE, "leewaySeconds": 0},
        "limits": {"helloMillisecondsMax": 3000},
    }
    relay = start_relay("tokens", config=config, authority=authority.certificate, identity=operator)
    yield Setting(relay, authority, provider)
    log = relay.log()
    for token in provider.made:
        header, claims, signature = token.split(".")
        # Headers are the same for all and say nothing.
        assert claims not in log and signature not in log, "a token is in the log"


POLICY = {
    "admins": ["token:*", "urn:segue:client:operator"],
    "access": [
        {"identities": ["urn:segue:client:operator"], "rooms": ["*"], "roles": ["host"]},
        {"identities": ["token:guest-*"], "rooms": ["lounge"], "roles": ["listener"]},
        {"identities": ["token:*", "urn:segue:client:*"], "rooms": ["vault"], "roles": ["speaker"]},
    ],
    "rooms": [{"rooms": ["vault"], "requires": ["certificate", "token"]}],
}


@pytest.fixture(autouse=True)
def still_healthy(setting: Setting):
    yield
    setting.relay.assert_healthy()


class Session(session.Session):
    """A session that shows exactly this certificate, or none; it says hello when it is told to, as often as it is told to."""

    def __init__(self, setting: Setting, identity: Identity | None = None, bearer: str | None = None, http: str = "1.1"):
        fields = (("authorization", f"Bearer {bearer}"),) if bearer else ()
        super().__init__(setting.relay, context=setting.context(identity), http=http, fields=fields, greets=False)

    def request(self, kind: str, /, **members) -> dict:
        """The answer, whether it is a refusal or not."""
        number = self.send(kind, **members)
        return self.wait(f"answer to {kind}", lambda: self.answers.get(number))

    def hello(self, token: str | None = None) -> dict:
        return self.request("hello", versions=[1], **({"token": token} if token else {}))

    def close_frame(self) -> tuple[int | None, str]:
        end = self.closed()
        return end.code, end.reason


def upgrade(setting: Setting, *fields: tuple[str, str], identity: Identity | None = None) -> tuple[int, dict[str, str], str]:
    """Asks for a session over HTTP/1.1: the status, the fields, and the body where there is one."""
    lines = ["GET /v1/session HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: segue.v1", *(f"{name}: {value}" for name, value in fields)]
    with RawHTTP1(setting.relay.port, setting.context(identity)) as client:
        client.send("\r\n".join([*lines, "", ""]).encode())
        answer = client.response()
    assert answer is not None
    return answer.status, answer.fields, answer.body.decode(errors="replace")


# MARK: Who gets in, and as whom


@pytest.mark.parametrize("key", ["ed", "ec"])
@pytest.mark.parametrize("place", ["request", "hello"])
def test_token_alone_is_an_identity(setting: Setting, place: str, key: str) -> None:
    token = setting.provider.token("alice", key)
    with Session(setting, bearer=token if place == "request" else None) as client:
        welcome = client.hello(token if place == "hello" else None)
    assert welcome["type"] == "welcome"
    assert welcome["identity"] == {"name": "token:alice", "proof": "token"}


def test_token_without_kid_is_tried_with_the_keys_of_its_algorithm(setting: Setting) -> None:
    for key in ("ed", "ec", "old"):
        claims = {"sub": "alice", "aud": ["other", AUDIENCE], "iss": ISSUER, "exp": int(time.time()) + 60}
        private = setting.provider.keys[key]
        with Session(setting) as client:
            assert client.hello(jwt.encode(claims, private, algorithm=algorithm(private)))["type"] == "welcome"


@pytest.mark.parametrize("place", ["request", "hello", "authenticate"])
def test_certificate_and_token_prove_together(setting: Setting, place: str) -> None:
    identity = setting.authority.issue(f"both-{place}")
    token = setting.provider.token("alice")
    with Session(setting, identity, bearer=token if place == "request" else None) as client:
        welcome = client.hello(token if place == "hello" else None)
        expected = "certificate" if place == "authenticate" else "certificate+token"
        assert welcome["identity"]["name"] == f"urn:segue:client:both-{place}"
        assert welcome["identity"]["proof"] == expected
        assert len(welcome["identity"]["fingerprint"]) == 64
        if place == "authenticate":
            answer = client.request("authenticate", token=token)
            assert answer["type"] == "ok"
            assert time.time() * 1000 < answer["expires"] < (time.time() + 301) * 1000


def test_forwarded_certificate_and_token_prove_together(setting: Setting) -> None:
    """Behind a proxy that ends TLS: the certificate in RFC 9440's field, the token beside it, or the token alone."""
    identity = setting.authority.issue("behind")
    bearer = (("authorization", f"Bearer {setting.provider.token('alice')}"),)
    with Session1(setting.relay.proxy_port, None, (*proxies.client_cert(identity), *bearer)) as client:
        assert client.identity is not None
        assert (client.identity["name"], client.identity["proof"]) == ("urn:segue:client:behind", "forwarded+token")
    with Session1(setting.relay.proxy_port, None, bearer) as client:
        assert client.identity == {"name": "token:alice", "proof": "token"}


def test_http2_streams_have_an_identity_each(setting: Setting) -> None:
    with H2Client(setting.relay.port, setting.context(alpn=("h2",))) as client:
        sockets = []
        for name in ("one", "two"):
            fields = (("authorization", f"Bearer {setting.provider.token(name)}"),)
            socket = client.open_websocket("/v1/session", ("segue.v1",), fields)
            socket.send_text('{"type":"hello","id":1,"versions":[1]}')
            welcome = json.loads(socket.receive())
            assert welcome["identity"] == {"name": f"token:{name}", "proof": "token"}
            sockets.append(socket)
        with pytest.raises(StreamRefused) as refused:
            client.open_websocket("/v1/session", ("segue.v1",), (("authorization", "Bearer a.b.c"),))
        assert refused.value.status == 401
        assert refused.value.fields["www-authenticate"] == 'Bearer realm="segue", error="invalid_token"'
        sockets[0].send_text('{"type":"time","id":2,"clientTime":1}')
        assert json.loads(sockets[0].receive())["type"] == "ok"


def test_neither_certificate_nor_token_says_hello(setting: Setting) -> None:
    with Session(setting) as client:
        assert client.hello()["code"] == "unauthenticated"
        assert client.request("join", room="lounge")["code"] == "hello_first"
        assert client.hello(setting.provider.token("late"))["identity"]["name"] == "token:late"
    with Session(setting) as client:
        assert client.hello()["code"] == "unauthenticated"
        assert client.close_frame() == (1008, "unauthenticated")


def test_tokens_open_nothing_else(setting: Setting) -> None:
    """Metrics and administration are for certificates: also when the policy's patterns name tokens."""
    fields = f"Authorization: Bearer {setting.provider.token('operator')}\r\n"
    for path in ("/metrics", "/v1/rooms", "/v1/sessions", "/v1/grants"):
        with RawHTTP1(setting.relay.port, setting.context()) as client:
            client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
            answer = client.response()
            assert answer is not None and answer.status == 403


def test_other_schemes_are_not_the_relays(setting: Setting) -> None:
    assert upgrade(setting, ("Authorization", "Basic YWxpY2U6c2VjcmV0"))[0] == 101


# MARK: Which tokens are refused


def raw(header: dict | str, claims: dict | str, signature: bytes = b"\0" * 64) -> str:
    def encode(part: dict | str | bytes) -> str:
        text = json.dumps(part) if isinstance(part, dict) else part
        octets = text.encode() if isinstance(text, str) else text
        return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()

    return ".".join(map(encode, (header, claims, signature)))


def hostile(provider: Provider) -> dict[str, tuple[str, str]]:
    """Tokens by what is wrong with them, and the reason that each is counted by."""
    claims = {"sub": "mallory", "aud": AUDIENCE, "iss": ISSUER, "exp": int(time.time()) + 300}
    good = provider.token("mallory")
    header, body, signature = good.split(".")
    public = provider.keys["ed"].public_key().public_bytes_raw()
    stranger = provider.keys["stranger"]
    return {
        "alg none": (jwt.encode(claims, None, algorithm="none"), "algorithm"),
        "HS256 with the public key": (jwt.encode(claims, public, algorithm="HS256"), "algorithm"),
        "RS256": (raw({"alg": "RS256"}, claims), "algorithm"),
        "a stranger's key": (jwt.encode(claims, stranger, algorithm="EdDSA"), "signature"),
        "a stranger's key under a known kid": (jwt.encode(claims, stranger, algorithm="EdDSA", headers={"kid": "ed"}), "signature"),
        "a stranger's key brought along": (
            jwt.encode(claims, stranger, algorithm="EdDSA", headers={"jwk": public_jwk(stranger, "x"), "jku": "https://localhost/keys"}),
            "signature",
        ),
        "an unknown kid": (provider.token("mallory", headers={"kid": "nobody"}), "unknownkey"),
        "the kid of the other kind of key": (provider.token("mallory", headers={"kid": "ec"}), "unknownkey"),
        "crit": (provider.token("mallory", headers={"crit": ["exp"]}), "header"),
        "another typ": (provider.token("mallory", headers={"typ": "segue-grant+jwt"}), "type"),
        "no exp": (provider.token("mallory", exp=None), "claimmissing"),
        "expired": (provider.token("mallory", lifetime=-1), "expired"),
        "a huge exp": (provider.token("mallory", exp=10**30), "claimmalformed"),
        "a negative exp": (provider.token("mallory", exp=-1), "claimmalformed"),
        "exp as text": (raw({"alg": "EdDSA"}, {**claims, "exp": "9999999999"}), "claimmalformed"),
        "not yet": (provider.token("mallory", nbf=int(time.time()) + 60), "notyetvalid"),
        "of the future": (provider.token("mallory", iat=int(time.time()) + 60), "issuedinfuture"),
        "another audience": (provider.token("mallory", aud="elsewhere"), "audience"),
        "no audience": (provider.token("mallory", aud=None), "claimmissing"),
        "another issuer": (provider.token("mallory", iss="https://evil.example"), "issuer"),
        "no subject": (provider.token("mallory", sub=None), "claimmissing"),
        "a subject with a line break": (provider.token("mal\nlory"), "claimmalformed"),
        "a subject of 513 bytes": (provider.token("m" * 513), "claimmalformed"),
        "rights that are none": (provider.token("mallory", segue={"rooms": [{"room": "*", "roles": ["emperor"]}]}), "rights"),
        "a member twice": (raw({"alg": "EdDSA"}, '{"sub":"a","sub":"b"}'), "malformed"),
        "a changed claim": (f"{header}.{raw('', {**claims, 'sub': 'root'}).split('.')[1]}.{signature}", "signature"),
        "a cut signature": (good[:-2], "signature"),
        "no signature": (f"{header}.{body}.", "signature"),
        "five parts": (f"{good}.AAAA.AAAA", "malformed"),
        "too large": (provider.token("mallory", pad="x" * 8192), "toolarge"),
        "no token at all": ("hello", "malformed"),
    }


HOSTILE = (
    "alg none|HS256 with the public key|RS256|a stranger's key|a stranger's key under a known kid|a stranger's key brought along|an unknown kid|"
    "the kid of the other kind of key|crit|another typ|no exp|expired|a huge exp|a negative exp|exp as text|not yet|of the future|another audience|no audience|"
    "another issuer|no subject|a subject with a line break|a subject of 513 bytes|rights that are none|a member twice|a changed claim|a cut signature|"
    "no signature|five parts|too large|no token at all"
).split("|")


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_token_is_refused_and_counted(setting: Setting, what: str) -> None:
    token, reason = hostile(setting.provider)[what]
    before = setting.metric("segue_tokens_refused_total").get(reason, 0)
    status, fields, body = upgrade(setting, ("Authorization", f"Bearer {token}"))
    assert status == 401
    assert fields["www-authenticate"] == 'Bearer realm="segue", error="invalid_token"'
    assert fields["content-type"] == "application/problem+json"
    assert "mallory" not in body and token not in body
    with Session(setting) as client:
        refusal = client.hello(token)
        assert (refusal["type"], refusal["code"], refusal["retry"]) == ("error", "token_refused", False)
        assert "mallory" not in refusal["message"]
        # The session is none the worse for it.
        assert client.hello(setting.provider.token("after"))["type"] == "welcome"
    # Both are in the audit, with the reason and without the token (the end of the module looks for all that were ever made).
    wait_until(lambda: [record["act"] for record in audited(setting, reason)][-2:] == ["session", "hello"])
    # Another loop's counters are a quarter of a second old at most.
    wait_until(lambda: setting.metric("segue_tokens_refused_total").get(reason) == before + 2)


def audited(setting: Setting, reason: str) -> list[dict]:
    """Records of refused tokens, by reason; the log has them where no audit file is configured."""
    records = [json.loads(line) for line in setting.relay.log().splitlines() if '"event":"audit"' in line]
    refused = [record for record in records if record.get("code") == "token_refused" and record["reason"].replace("_", "") == reason]
    assert all(record["outcome"] == "refused" and record["address"].startswith("127.0.0.1:") for record in refused)
    return refused


def test_list_of_hostile_tokens_is_whole(setting: Setting) -> None:
    assert set(hostile(setting.provider)) == set(HOSTILE)


def test_bad_token_is_no_better_beside_a_certificate(setting: Setting) -> None:
    identity = setting.authority.issue("careless")
    assert upgrade(setting, ("Authorization", "Bearer a.b.c"), identity=identity)[0] == 401
    with Session(setting, identity) as client:
        assert client.hello(setting.provider.token(lifetime=-5))["code"] == "token_refused"
        assert client.hello()["identity"]["proof"] == "certificate"
        assert client.request("authenticate", token="nonsense")["code"] == "token_refused"
        assert client.request("time", clientTime=1)["type"] == "ok"


def test_malformed_field_is_refused(setting: Setting) -> None:
    token = setting.provider.token()
    twice = (("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}"))
    for fields in ((("Authorization", "Bearer"),), (("Authorization", f"Bearer {token} {token}"),), twice):
        status, answer, _ = upgrade(setting, *fields)
        assert status == 400
        assert answer["www-authenticate"] == 'Bearer realm="segue", error="invalid_request"'


def test_origin_is_looked_at_before_the_token(setting: Setting) -> None:
    """Cross-site WebSocket hijacking: a page of another origin gets nowhere with a token either."""
    assert upgrade(setting, ("Authorization", f"Bearer {setting.provider.token()}"), ("Origin", "https://evil.example"))[0] == 403


def test_tries_are_bounded(setting: Setting) -> None:
    with Session(setting) as client:
        with Stopwatch() as watch:
            refusals = [client.hello("a.b.c") for _ in range(30)]
        assert {refusal["code"] for refusal in refusals} == {"token_refused"}
        # Five a second are allowed, and the slower the machine, the more of the thirty are.
        assert sum("too many" in refusal["message"] for refusal in refusals) >= 20 - 5 * watch.seconds, watch
    with H2Client(setting.relay.port, setting.context(alpn=("h2",))) as client:
        statuses = []
        with Stopwatch() as watch:
            for _ in range(30):
                with pytest.raises(StreamRefused) as refused:
                    client.open_websocket("/v1/session", ("segue.v1",), (("authorization", "Bearer a.b.c"),))
                statuses.append(refused.value.status)
        assert set(statuses) <= {401, 429} and statuses.count(429) >= 20 - 5 * watch.seconds, watch
    # Nobody else is kept out by it.
    with Session(setting) as client:
        assert client.hello(setting.provider.token())["type"] == "welcome"


# MARK: How sessions end


def test_session_ends_with_its_token(setting: Setting) -> None:
    with Session(setting) as client, Session(setting, setting.authority.issue("two-factors")) as both:
        expires = time.time() + 2
        assert client.hello(setting.provider.token(exp=expires))["type"] == "welcome"
        assert both.hello(setting.provider.token(exp=expires))["type"] == "welcome"
        assert client.close_frame() == (1008, "token_expired")
        assert time.time() >= int(expires)
        assert both.close_frame() == (1008, "token_expired")


def test_newer_token_prolongs_a_session(setting: Setting) -> None:
    with Session(setting) as client:
        assert client.hello(setting.provider.token("alice", exp=int(time.time()) + 2))["type"] == "welcome"
        assert client.request("authenticate", token=setting.provider.token("bob"))["code"] == "token_refused"
        assert client.request("authenticate", token=setting.provider.token("alice", "ec"))["type"] == "ok"
        time.sleep(3)
        assert client.request("time", clientTime=1)["type"] == "ok"


def test_key_that_is_gone_ends_its_sessions_and_a_bad_file_changes_nothing(setting: Setting) -> None:
    provider = setting.provider
    with Session(setting) as lives, Session(setting) as ends:
        assert lives.hello(provider.token("alice", "ed"))["type"] == "welcome"
        old = provider.token("alice", "old")
        assert ends.hello(old)["type"] == "welcome"
        kept = provider.path.read_text()
        try:
            secret = {**json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(provider.keys["ed"])), "kid": "ed"}
            for bad in ("{", '{"keys":[]}', json.dumps({"keys": [secret]})):
                provider.path.write_text(bad)
                wait_until(lambda: "stale: tokens" in setting.relay.get("/readyz")[2])
                assert lives.request("time", clientTime=1)["type"] == "ok"
                with Session(setting) as client:
                    assert client.hello(old)["type"] == "welcome"
                status, _, text = setting.relay.get("/metrics")
                assert status == 200 and 'segue_reload_failed{part="tokens"} 1' in text
            assert secret["d"] not in setting.relay.log()
            provider.publish("ed", "ec")
            assert ends.close_frame() == (1008, "token_revoked")
            assert lives.request("time", clientTime=1)["type"] == "ok"
            with Session(setting) as client:
                assert client.hello(old)["code"] == "token_refused"
            assert "stale" not in setting.relay.get("/readyz")[2]
        finally:
            provider.path.write_text(kept)
            setting.relay.reload()
            wait_until(lambda: admits(setting, old))


def wait_until(holds: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.05)


def admits(setting: Setting, token: str) -> bool:
    with Session(setting) as client:
        return client.hello(token)["type"] == "welcome"


def test_token_session_over_http2_ends_with_its_token(setting: Setting) -> None:
    with Session(setting, bearer=setting.provider.token(lifetime=2), http="2") as ends, Session(setting, http="2") as lives:
        assert ends.hello()["identity"] == {"name": "token:alice", "proof": "token"}
        assert lives.hello(setting.provider.token())["type"] == "welcome"
        assert ends.close_frame() == (1008, "token_expired")
        assert lives.request("time", clientTime=1)["type"] == "ok"


# MARK: Rooms


def join(setting: Setting, room: str, token: str | None = None, identity: Identity | None = None, **members) -> dict:
    with Session(setting, identity) as client:
        assert client.hello(token)["type"] == "welcome"
        return client.request("join", room=room, **members)


def test_rights_in_a_token_decide_in_the_rooms_that_they_name(setting: Setting) -> None:
    rights = {"rooms": [{"room": "ward-*", "roles": ["listener", "speaker"], "publish": ["audio"]}]}
    token = setting.provider.token("nurse", segue=rights)
    assert join(setting, "ward-7", token)["role"] == "listener"
    assert join(setting, "ward-7", token, role="speaker")["role"] == "speaker"
    assert join(setting, "ward-7", token, role="host")["code"] == "not_allowed"
    assert join(setting, "kitchen", token)["code"] == "not_allowed"
    assert join(setting, "ward-7", setting.provider.token("nurse"))["code"] == "not_allowed"
    with Session(setting) as client:
        client.hello(token)
        assert client.request("join", room="ward-7", role="speaker")["type"] == "ok"
        assert client.request("publish", kind="audio", codec="opus")["type"] == "ok"
        assert client.request("publish", kind="video", codec="vp8")["type"] == "error"


def test_policy_names_tokens_by_their_subject(setting: Setting) -> None:
    assert join(setting, "lounge", setting.provider.token("guest-7"))["role"] == "listener"
    assert join(setting, "lounge", setting.provider.token("alice"))["code"] == "not_allowed"
    # A subject that looks like a certificate's name is a token's all the same.
    assert join(setting, "lounge", setting.provider.token("urn:segue:client:operator"))["code"] == "not_allowed"


def test_a_room_may_ask_for_both_proofs(setting: Setting) -> None:
    identity = setting.authority.issue("keeper")
    assert join(setting, "vault", setting.provider.token("keeper"))["code"] == "proof_required"
    assert join(setting, "vault", identity=identity)["code"] == "proof_required"
    assert join(setting, "vault", setting.provider.token("keeper"), identity)["type"] == "ok"
    with Session(setting, identity) as client:
        client.hello()
        assert client.request("join", room="vault")["code"] == "proof_required"
        assert client.request("authenticate", token=setting.provider.token("keeper"))["type"] == "ok"
        assert client.request("join", room="vault")["type"] == "ok"


def test_a_newer_token_without_the_right_takes_its_bearer_out(setting: Setting) -> None:
    rights = {"rooms": [{"room": "stage", "roles": ["speaker"]}]}
    with Session(setting) as client:
        client.hello(setting.provider.token("singer", segue=rights))
        assert client.request("join", room="stage")["type"] == "ok"
        assert client.request("authenticate", token=setting.provider.token("singer", segue=rights))["type"] == "ok"
        assert client.request("publish", kind="audio", codec="opus")["type"] == "ok"
        assert client.request("authenticate", token=setting.provider.token("singer"))["type"] == "ok"
        assert client.request("publish", kind="audio", codec="opus")["code"] == "not_in_room"


def test_a_token_never_enters_a_pairs_room(setting: Setting) -> None:
    room = "pair:" + os.urandom(32).hex()
    rights = {"rooms": [{"room": "*", "roles": ["host"]}, {"room": "pair:*", "roles": ["host"]}]}
    answer = join(setting, room, setting.provider.token("intruder", segue=rights))
    assert answer["type"] == "error"


# MARK: Where tokens are not in use


def test_relay_without_tokens_takes_none(start_relay: Callable[..., Relay], setting: Setting) -> None:
    relay = start_relay("no-tokens", arguments=("--client-certificates", "optional"))
    with RawHTTP1(relay.port, client_context(relay.authority)) as client:
        fields = f"Authorization: Bearer {setting.provider.token()}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        fields += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: segue.v1\r\n"
        client.send(f"GET /v1/session HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        answer = client.response()
        assert answer is not None and answer.status == 403
    token = setting.provider.token()
    with session.Session(relay, greets=False) as client:
        assert client.refusal("hello", versions=[1], token=token) == "token_refused"
        assert client.ask("hello", versions=[1])["identity"]["proof"] == "certificate"
    assert token.split(".")[1] not in relay.log()


def test_relay_does_not_start_without_good_keys(start_relay: Callable[..., Relay], setting: Setting, tmp_path: Path) -> None:
    config = json.loads((setting.relay.state / "segue.json5").read_text())
    config["tokens"]["keys"] = str(tmp_path / "none.json")
    with pytest.raises(AssertionError, match="tokens.keys: open .*none.json"):
        Relay.start(tmp_path / "relay", config=config)


# MARK: The command line


def segue(setting: Setting, *words: str | Path, feed: str = "") -> subprocess.CompletedProcess[str]:
    command = [binary(), *words, "--connect", f"localhost:{setting.relay.port}", "--ca", setting.authority.certificate]
    return subprocess.run([str(word) for word in command], input=feed, capture_output=True, text=True, timeout=30)


def test_the_command_line_shows_a_token_beside_its_certificate(setting: Setting, tmp_path: Path) -> None:
    identity = setting.authority.issue("clerk")
    pair = ("--cert", identity.certificate, "--key", identity.key)
    listen = ("listen", "--room", "vault", "--for", "0.3", *pair)
    path = tmp_path / "clerk.jwt"
    path.write_text(setting.provider.token("alice") + "\n")
    without = segue(setting, *listen)
    assert without.returncode == 5 and "proof_required" in without.stderr
    for place, feed in ((path, ""), ("-", path.read_text())):
        both = segue(setting, *listen, "--token-file", place, feed=feed)
        assert both.returncode == 0 and "listening in room vault as clerk" in both.stdout, both.stderr


def test_the_command_line_can_do_without_a_certificate(setting: Setting, tmp_path: Path) -> None:
    token = setting.provider.token("guest-1")
    heard = segue(setting, "listen", "--room", "lounge", "--for", "0.3", "--token-file", "-", feed=token)
    assert heard.returncode == 0 and "listening in room lounge as guest-1" in heard.stdout, heard.stderr
    bare = segue(setting, "listen", "--room", "lounge")
    assert bare.returncode == 2 and "--token-file" in bare.stderr


@pytest.mark.parametrize("command", [("listen", "--room", "lounge"), ("room", "show", "lounge"), ("pair", "list")], ids=lambda words: words[0])
def test_a_token_that_is_refused_ends_the_command_at_once(setting: Setting, command: tuple[str, ...]) -> None:
    token = setting.provider.token("guest-1", "stranger")
    result = segue(setting, *command, "--token-file", "-", feed=token)
    assert result.returncode == 5 and "refused 'hello'" in result.stderr, result.stderr
    assert token[-40:] not in result.stderr


def test_a_token_alone_makes_no_pair(setting: Setting) -> None:
    result = segue(setting, "pair", "list", "--token-file", "-", feed=setting.provider.token("guest-1"))
    assert result.returncode == 5 and "a certificate is needed" in result.stderr, result.stderr


@pytest.mark.parametrize("text", ["", "\n", "secret-secret-secret", "a.b", "a..b", "a.b.c.d", "a.b.c=", "é.b.c", "a" * 20_000 + ".b.c"])
def test_what_is_no_token_is_not_sent_and_not_repeated(setting: Setting, text: str) -> None:
    result = segue(setting, "listen", "--room", "lounge", "--token-file", "-", feed=text)
    assert result.returncode == 3 and "is no token" in result.stderr
    assert "secret-secret" not in result.stderr
