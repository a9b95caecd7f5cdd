"""Enrolment and renewal: keys and requests by the openssl command line, tokens by `segue ca token`, certificates over HTTP and by `segue enroll`."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import tls
from support.authority import SERVER_NAMES, openssl
from support.relay import Identity, Relay, binary

SECONDS_MAX = 60
# Requests that no certificate comes along with are tested here, not by the tool, which cannot take it off a connection.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,"
    "unsupported_method,allow_header_conformance,negative_data_rejection"
)
ATTEMPTS = 9_000
POLICY = {"admins": ["urn:segue:client:operator"]}


def segue(*arguments: str | Path, feed: str = "", expect: int = 0, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        [binary(), *map(str, arguments)],
        input=feed,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(environment or {})},
    )
    assert result.returncode == expect, f"segue {' '.join(map(str, arguments))} exited with {result.returncode}\n{result.stdout}{result.stderr}"
    return result


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def request(folder: Path, name: str, *key: str, subject: str = "/CN=whoever", extensions: tuple[str, ...] = ()) -> str:
    """A PKCS#10 request with a fresh key, which lies at `{name}-key.pem`."""
    key = key or ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    where = [] if key[0] == "-key" else ["-keyout", folder / f"{name}-key.pem"]
    options = [word for extension in extensions for word in ("-addext", extension)]
    openssl("req", "-new", "-noenc", "-subj", subject, *key, *where, *options, "-out", folder / f"{name}.csr")
    return (folder / f"{name}.csr").read_text()


@dataclass
class Setting:
    """A relay with a configuration of its own, whose authority `segue ca` made; its clients' certificates are optional."""

    relay: Relay
    authority: Path
    folder: Path
    secrets: list[str]

    def token(self, name: str, *more: str) -> str:
        token = segue("ca", "token", "--ca", self.authority, "--uri", f"urn:segue:client:{name}", *more).stdout.strip()
        self.secrets.append(token)
        return token

    def tokens(self) -> list[dict]:
        return json.loads(segue("ca", "tokens", "--ca", self.authority, "--json").stdout)

    def configuration(self) -> dict:
        """The relay's own, for another one that differs in something."""
        return {**json.loads((self.relay.state / "segue.json5").read_text()), "policy": POLICY}

    def list(self) -> list[dict]:
        return json.loads(segue("ca", "list", "--ca", self.authority, "--json").stdout)

    def context(self, identity: Identity | None = None) -> ssl.SSLContext:
        return tls.client_context(self.authority / "ca.pem", certificate=identity and identity.certificate, key=identity and identity.key)

    def post(self, path: str, body: object, *, identity: Identity | None = None, kind: str = "application/json") -> tuple[int, dict[str, str], dict]:
        connection = http.client.HTTPSConnection("localhost", self.relay.port, context=self.context(identity), timeout=20)
        try:
            text = body if isinstance(body, (bytes, str)) else json.dumps(body)
            connection.request("POST", path, text, {"content-type": kind})
            response = connection.getresponse()
            text = response.read().decode()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, json.loads(text)
        finally:
            connection.close()

    def enrol(self, name: str, *key: str) -> Identity:
        """A device by openssl and HTTP alone."""
        csr = request(self.folder, name, *key)
        status, _, issued = self.post("/v1/enroll", {"token": self.token(name), "csr": csr})
        assert status == 201, issued
        certificate = self.folder / f"{name}.pem"
        certificate.write_text(issued["certificate"])
        return Identity(certificate, self.folder / f"{name}-key.pem")

    def verify(self, certificate: Path, purpose: str = "sslclient") -> str:
        """What `openssl verify` says, revocation included."""
        both = self.folder / "ca-and-crl.pem"
        both.write_text((self.authority / "ca.pem").read_text() + (self.authority / "crl.pem").read_text())
        command = ["openssl", "verify", "-x509_strict", "-crl_check", "-purpose", purpose, "-CAfile", str(both), str(certificate)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return result.stdout + result.stderr


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("enrolment")
    authority = folder / "ca"
    segue("ca", "init", "--ca", authority, "--name", "Bench CA", "--crl-uri", "http://crl.example.org/crl.pem")
    segue("ca", "issue", "server", "localhost", "127.0.0.1", "::1", "--ca", authority)
    for name in ("watcher", "operator"):
        segue("ca", "issue", "client", name, "--ca", authority)
    watcher = Identity(authority / "live/watcher/certificate.pem", authority / "live/watcher/key.pem")
    config = {
        "listen": ["127.0.0.1:0"],
        "reloadCheckMilliseconds": 100,
        "policy": POLICY,
        "tls": {
            "certificates": [{"chain": str(authority / "live/localhost/certificate.pem"), "key": str(authority / "live/localhost/key.pem")}],
            "clientAuthorities": [str(authority / "ca.pem")],
            "revocationLists": [str(authority / "crl.pem")],
            "clientCertificates": "optional",
        },
        "enrolment": {"authority": str(authority), "renewalLifePercent": 0, "attemptsPerMinute": ATTEMPTS},
    }
    relay = start_relay("enrolling", config=config, authority=authority / "ca.pem", identity=watcher)
    return Setting(relay, authority, folder, [])


@pytest.fixture(autouse=True)
def healthy_and_silent(setting: Setting) -> Iterator[None]:
    """After every test a well-behaved client is served, and no token that was ever made stands in the relay's log or below the authority's folder."""
    yield
    setting.relay.assert_healthy()
    log = setting.relay.log()
    for secret in setting.secrets:
        assert secret.removeprefix("segue-enrol-") not in log
    assert "PRIVATE KEY" not in log
    for path in setting.authority.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace")
            assert not any(secret.removeprefix("segue-enrol-") in text for secret in setting.secrets), path


# The authority by the openssl command line.


def test_authority_certificate_and_files(setting: Setting) -> None:
    text = openssl("x509", "-in", setting.authority / "ca.pem", "-noout", "-text")
    assert "CA:TRUE, pathlen:0" in text and "Certificate Sign, CRL Sign" in text and "ASN1 OID: prime256v1" in text and "ecdsa-with-SHA256" in text
    assert mode(setting.authority) == 0o700
    for path in setting.authority.rglob("*"):
        if path.is_dir():
            assert mode(path) == 0o700, path
        elif path.name.endswith("key.pem") or path.name in ("index.jsonl", "settings.json") or "tokens" in path.parts:
            assert mode(path) == 0o600, path


@pytest.mark.parametrize(("kind", "usage", "purpose", "other"), [
    ("server", "TLS Web Server Authentication", "sslserver", "sslclient"),
    ("client", "TLS Web Client Authentication", "sslclient", "sslserver"),
])  # fmt: skip
def test_issued_certificates(setting: Setting, kind: str, usage: str, purpose: str, other: str) -> None:
    name = f"checked-{kind}"
    operands = ["checked.example.org", "192.0.2.7", "--label", name] if kind == "server" else [name]
    segue("ca", "issue", kind, *operands, "--ca", setting.authority, "--days", "30")
    certificate = setting.authority / f"live/{name}/certificate.pem"
    text = openssl("x509", "-in", certificate, "-noout", "-text")
    assert "CA:FALSE" in text and "X509v3 Key Usage: critical\n                Digital Signature\n" in text and usage in text
    assert "URI:http://crl.example.org/crl.pem" in text
    names = "DNS:checked.example.org, IP Address:192.0.2.7" if kind == "server" else f"URI:urn:segue:client:{name}"
    assert names in text
    assert openssl("x509", "-in", certificate, "-noout", "-checkend", str(29 * 86_400)).startswith("Certificate will not expire")
    assert subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-checkend", str(31 * 86_400)], capture_output=True).returncode == 1
    assert setting.verify(certificate, purpose).endswith("OK\n")
    assert not setting.verify(certificate, other).endswith("OK\n")
    assert mode(setting.authority / f"live/{name}/key.pem") == 0o600


def test_revocation_list(setting: Setting) -> None:
    segue("ca", "issue", "client", "leaver", "--ca", setting.authority)
    certificate = setting.authority / "live/leaver/certificate.pem"
    numbers = [int(openssl("crl", "-in", setting.authority / "crl.pem", "-noout", "-crlnumber").split("=0x")[1], 16)]
    assert setting.verify(certificate).endswith("OK\n")
    segue("ca", "revoke", "leaver", "--reason", "keyCompromise", "--ca", setting.authority)
    assert "certificate revoked" in setting.verify(certificate)
    segue("ca", "crl", "--ca", setting.authority)
    numbers.append(int(openssl("crl", "-in", setting.authority / "crl.pem", "-noout", "-crlnumber").split("=0x")[1], 16))
    assert numbers[1] == numbers[0] + 2
    text = openssl("crl", "-in", setting.authority / "crl.pem", "-noout", "-text", "-CAfile", setting.authority / "ca.pem")
    serial = openssl("x509", "-in", certificate, "-noout", "-serial").strip().split("=")[1]
    assert re.search(rf"Serial Number: {serial}\n.*\n.*\n.*Reason Code: \n.*Key Compromise", text), text
    kept = segue("ca", "crl", "--if-ending-within", "1", "--ca", setting.authority).stdout
    assert "still good" in kept


def test_renewal_by_the_operator_and_export(setting: Setting) -> None:
    segue("ca", "issue", "client", "browser", "--ca", setting.authority, "--key", "rsa-2048")
    before = (setting.authority / "live/browser/certificate.pem").read_text()
    segue("ca", "renew", "browser", "--ca", setting.authority)
    certificate = setting.authority / "live/browser/certificate.pem"
    assert certificate.read_text() != before and setting.verify(certificate).endswith("OK\n")
    bundle = setting.folder / "browser.p12"
    segue("ca", "export", "browser", "--out", bundle, "--password-file", "-", "--ca", setting.authority, feed="correct horse\n")
    assert mode(bundle) == 0o600
    shown = openssl("pkcs12", "-in", bundle, "-passin", "pass:correct horse", "-noenc", "-info")
    assert "BEGIN PRIVATE KEY" in shown and shown.count("BEGIN CERTIFICATE") == 2
    wrong = subprocess.run(["openssl", "pkcs12", "-in", bundle, "-passin", "pass:wrong", "-noenc"], capture_output=True, timeout=30)
    assert wrong.returncode != 0


# Enrolment over HTTP.

KEYS = {
    "P-256": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    "P-384": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"),
    "RSA 2048": ("-newkey", "rsa:2048"),
    "RSA 3072": ("-newkey", "rsa:3072"),
    "Ed25519": ("-newkey", "ed25519"),
}


@pytest.mark.parametrize("key", KEYS)
def test_device_enrols_and_is_let_in(setting: Setting, key: str) -> None:
    name = "device-" + key.replace(" ", "-")
    identity = setting.enrol(name, *KEYS[key])
    assert setting.verify(identity.certificate).endswith("OK\n")
    text = openssl("x509", "-in", identity.certificate, "-noout", "-text")
    assert f"URI:urn:segue:client:{name}\n" in text and "whoever" not in text and "URI:http://crl.example.org/crl.pem" in text
    status, _, body = setting.relay.get("/metrics", context=setting.context(identity))
    assert status == 200 and "segue_" in body


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_enrolment_by_curl(setting: Setting, version: str) -> None:
    name = "curl" + version.replace(".", "")
    body = setting.folder / f"{name}.json"
    body.write_text(json.dumps({"token": setting.token(name), "csr": request(setting.folder, name)}))
    command = ["curl", "--silent", "--show-error", version, "--max-time", "20", "--cacert", str(setting.authority / "ca.pem")]
    command += ["--header", "content-type: application/json", "--data-binary", f"@{body}", "--write-out", "\n%{http_code} %{http_version}"]
    url = f"https://localhost:{setting.relay.port}/v1/enroll"
    for status in (201, 403):
        result = subprocess.run([*command, url], capture_output=True, text=True, timeout=30)
        assert result.stdout.endswith(f"\n{status} {'1.1' if version == '--http1.1' else '2'}"), result.stdout + result.stderr


def test_the_request_names_nobody(setting: Setting) -> None:
    extensions = ("subjectAltName=URI:urn:segue:client:operator", "basicConstraints=critical,CA:TRUE", "extendedKeyUsage=serverAuth,codeSigning")
    csr = request(setting.folder, "climber", subject="/CN=operator", extensions=extensions)
    status, fields, issued = setting.post("/v1/enroll", {"token": setting.token("climber", "--certificate-days", "7"), "csr": csr})
    assert status == 201 and fields["content-type"] == "application/json" and fields["cache-control"] == "no-store"
    assert set(issued) == {"certificate", "chain", "notAfter"}
    (setting.folder / "climber.pem").write_text(issued["certificate"])
    text = openssl("x509", "-in", setting.folder / "climber.pem", "-noout", "-text")
    assert "URI:urn:segue:client:climber\n" in text and "CA:FALSE" in text and "Code Signing" not in text and "operator" not in text
    assert issued["chain"] == (setting.authority / "ca.pem").read_text()
    assert abs(issued["notAfter"] / 1_000 - time.time() - 7 * 86_400) < 60


def test_one_answer_for_every_wrong_token(setting: Setting) -> None:
    csr = request(setting.folder, "nobody")
    used, short, revoked = setting.token("used"), setting.token("short", "--valid", "1s"), setting.token("revoked")
    assert setting.post("/v1/enroll", {"token": used, "csr": request(setting.folder, "used")})[0] == 201
    [identifier] = [token["id"] for token in setting.tokens() if token["name"] == "revoked"]
    segue("ca", "token-revoke", identifier, "--ca", setting.authority)
    time.sleep(1.1)
    count = len(setting.list())
    answers = []
    for token in (used, short, revoked, "segue-enrol-" + "0" * 48, "segue-enrol-", "", "x" * 10_000, "' OR 1=1 --"):
        for body in (csr, "nonsense"):
            status, fields, problem = setting.post("/v1/enroll", {"token": token, "csr": body})
            assert status == 403 and fields["content-type"] == "application/problem+json"
            answers.append(json.dumps(problem, sort_keys=True))
    assert len(set(answers)) == 1, answers
    assert len(setting.list()) == count
    statuses = {token["name"]: token["status"] for token in setting.tokens()}
    assert (statuses["used"], statuses["short"], statuses["revoked"]) == ("used", "expired", "revoked")


def test_racing_devices(setting: Setting) -> None:
    """Ten connections and two command lines race for one token: one gets a certificate."""
    token = setting.token("racer")
    requests = [request(setting.folder, f"racer-{number}") for number in range(10)]
    file = setting.folder / "racer.token"
    file.write_text(token)
    statuses: list[int] = []
    barrier = threading.Barrier(12)

    def device(csr: str) -> None:
        barrier.wait()
        statuses.append(setting.post("/v1/enroll", {"token": token, "csr": csr})[0])

    def command(number: int) -> None:
        barrier.wait()
        arguments = ["enroll", "--connect", f"127.0.0.1:{setting.relay.port}", "--ca", setting.authority / "ca.pem", "--token-file", file]
        result = subprocess.run([binary(), *arguments, "--out", setting.folder / f"racer-out-{number}"], capture_output=True, timeout=SECONDS_MAX)
        statuses.append(201 if result.returncode == 0 else 403)

    threads = [threading.Thread(target=device, args=(csr,)) for csr in requests]
    threads += [threading.Thread(target=command, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_MAX)
    assert sorted(statuses) == [201] + [403] * 11
    assert [entry["name"] for entry in setting.list()].count("racer") == 1


def damaged(csr: str) -> str:
    """The same request with another byte inside what its key has signed."""
    lines = csr.strip().splitlines()
    octets = bytearray(base64.b64decode("".join(lines[1:-1])))
    place = octets.find(b"whoever")
    octets[place] ^= 1
    return f"{lines[0]}\n{base64.encodebytes(bytes(octets)).decode()}{lines[-1]}\n"


@pytest.mark.parametrize(("what", "code"), [
    ("bad signature", "request_signature"), ("RSA 1024", "request_key"), ("RSA 4104", "request_key"), ("secp256k1", "request_key"),
    ("P-224", "request_key"), ("explicit curve", "request_key"), ("compressed point", "request_key"), ("Ed448", "request_key"),
    ("DSA", "request_key"), ("certificate", "request_malformed"), ("private key", "request_malformed"), ("empty", "request_malformed"),
    ("cut off", "request_malformed"), ("NULs", "request_malformed"), ("60 KB", "request_malformed"),
])  # fmt: skip
def test_hostile_requests_spend_no_token(setting: Setting, what: str, code: str) -> None:
    folder, name = setting.folder, "hostile-" + what.replace(" ", "-")
    good = request(folder, name)
    match what:
        case "bad signature":
            csr = damaged(good)
        case "RSA 1024":
            csr = request(folder, "weak", "-newkey", "rsa:1024")
        case "RSA 4104":
            csr = request(folder, "costly", "-newkey", "rsa:4104")
        case "secp256k1" | "P-224":
            csr = request(folder, "curve", "-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{what}")
        case "explicit curve":
            csr = request(folder, "explicit", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit")
        case "compressed point":
            openssl("ec", "-in", folder / f"{name}-key.pem", "-conv_form", "compressed", "-out", folder / "compressed-key.pem")
            csr = request(folder, "compressed", "-key", str(folder / "compressed-key.pem"))
        case "Ed448":
            csr = request(folder, "ed448", "-newkey", "ed448")
        case "DSA":
            openssl("dsaparam", "-genkey", "-noout", "-out", folder / "dsa-key.pem", "1024")
            csr = request(folder, "dsa", "-key", str(folder / "dsa-key.pem"))
        case "certificate":
            csr = (setting.authority / "ca.pem").read_text()
        case "private key":
            csr = (folder / f"{name}-key.pem").read_text().replace("PRIVATE KEY", "CERTIFICATE REQUEST")
        case "empty":
            csr = ""
        case "cut off":
            csr = good[: len(good) // 2]
        case "NULs":
            csr = "\0" * 100 + good.replace("\n", "\0")
        case _: csr = "-----BEGIN CERTIFICATE REQUEST-----\n" + ("A" * 64 + "\n") * 900 + "-----END CERTIFICATE REQUEST-----\n"
    token = setting.token(name)
    status, _, problem = setting.post("/v1/enroll", {"token": token, "csr": csr})
    assert status == 422 and problem["type"] == f"urn:segue:problem:{code}", problem
    assert setting.post("/v1/enroll", {"token": token, "csr": good})[0] == 201


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"token": 1, "csr": 2}', b'{"token": "x"}', b"[" * 50_000, b'{"a":' * 10_000, b"token=x&csr=y",
], ids=lambda body: repr(body[:16]))  # fmt: skip
def test_hostile_bodies(setting: Setting, body: bytes) -> None:
    for path in ("/v1/enroll", "/v1/renew"):
        status, fields, _ = setting.post(path, body)
        assert status in (400, 403) and fields["content-type"] == "application/problem+json"


def test_hostile_sizes_types_and_methods(setting: Setting) -> None:
    connection = http.client.HTTPSConnection("localhost", setting.relay.port, context=setting.context(), timeout=20)
    connection.putrequest("POST", "/v1/enroll")
    connection.putheader("content-type", "application/json")
    connection.putheader("content-length", str(1 << 40))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert setting.post("/v1/enroll", {"token": "x", "csr": "y"}, kind=kind)[0] == 415
    for method in ("GET", "PUT", "DELETE"):
        status, fields, _ = setting.relay.get("/v1/enroll", method=method)
        assert status == 405 and "POST" in fields["allow"]


def test_a_key_has_one_identity(setting: Setting) -> None:
    setting.enrol("first-owner")
    csr = (setting.folder / "first-owner.csr").read_text()
    token = setting.token("second-owner")
    status, _, problem = setting.post("/v1/enroll", {"token": token, "csr": csr})
    assert status == 409 and problem["type"] == "urn:segue:problem:key_of_another"
    own = request(setting.folder, "root", "-key", str(setting.authority / "ca-key.pem"))
    assert setting.post("/v1/enroll", {"token": token, "csr": own})[0] == 409
    same = setting.token("first-owner")
    assert setting.post("/v1/enroll", {"token": same, "csr": csr})[0] == 201


def test_several_devices_of_one_identity(setting: Setting) -> None:
    identities = [request(setting.folder, f"many-{number}") for number in range(3)]
    for csr in identities:
        assert setting.post("/v1/enroll", {"token": setting.token("many"), "csr": csr})[0] == 201
    names = [entry["name"] for entry in setting.list() if entry["names"] == ["URI:urn:segue:client:many"]]
    assert len(set(names)) == 3


# Renewal by mutual TLS.


@pytest.mark.parametrize("key", ["the same", "a new one"])
def test_renewal(setting: Setting, key: str) -> None:
    name = "renews-" + key.replace(" ", "-")
    identity = setting.enrol(name)
    csr = request(setting.folder, f"{name}-2", "-key", str(identity.key)) if key == "the same" else request(setting.folder, f"{name}-2")
    status, _, issued = setting.post("/v1/renew", {"csr": csr}, identity=identity)
    assert status == 201, issued
    renewed = setting.folder / f"{name}-2.pem"
    renewed.write_text(issued["certificate"])
    texts = [openssl("x509", "-in", path, "-noout", "-ext", "subjectAltName") for path in (identity.certificate, renewed)]
    serials = [openssl("x509", "-in", path, "-noout", "-serial") for path in (identity.certificate, renewed)]
    assert texts[0] == texts[1] and serials[0] != serials[1]
    assert setting.verify(renewed).endswith("OK\n") and setting.verify(identity.certificate).endswith("OK\n"), "the old one stays good"
    status, fields, problem = setting.post("/v1/renew", {"csr": csr}, identity=identity)
    assert status == 429 and problem["type"] == "urn:segue:problem:too_early" and 1 <= int(fields["retry-after"]) <= 60


def test_renewal_needs_ones_own_certificate(setting: Setting) -> None:
    csr = request(setting.folder, "stranger")
    status, _, problem = setting.post("/v1/renew", {"csr": csr})
    assert status == 403, problem
    mine, other = setting.enrol("mine"), setting.enrol("other")
    foreign = request(setting.folder, "other-2", "-key", str(other.key))
    status, _, problem = setting.post("/v1/renew", {"csr": foreign}, identity=mine)
    assert status == 409 and problem["type"] == "urn:segue:problem:key_of_another"


def test_renewal_is_not_for_what_a_proxy_passes_on(setting: Setting, start_relay: Callable[..., Relay]) -> None:
    """Behind a proxy that has a certificate itself, a client's certificate in a field renews nothing, and the proxy's own certificate does not either."""
    proxy, client = setting.enrol("proxy"), setting.enrol("behind-proxy")
    config = setting.configuration()
    config["proxies"] = {"identities": ["urn:segue:client:proxy"], "clientCertificate": "client-cert"}
    relay = start_relay("behind-proxy", config=config, authority=setting.authority / "ca.pem", identity=setting.relay.identity)
    csr = request(setting.folder, "behind-proxy-2")
    octets = base64.b64encode(ssl.PEM_cert_to_DER_cert(client.certificate.read_text())).decode()
    count = len(setting.list())
    for fields in ({"client-cert": f":{octets}:"}, {}):
        connection = http.client.HTTPSConnection("localhost", relay.port, context=setting.context(proxy), timeout=20)
        connection.request("POST", "/v1/renew", json.dumps({"csr": csr}), {"content-type": "application/json", **fields})
        response = connection.getresponse()
        assert response.status == 403, response.read()
        connection.close()
    assert len(setting.list()) == count


def test_a_revoked_client_cannot_renew(setting: Setting) -> None:
    """Neither on a new connection nor on one that was open before."""
    identity = setting.enrol("goner")
    csr = request(setting.folder, "goner-2")
    connection = http.client.HTTPSConnection("localhost", setting.relay.port, context=setting.context(identity), timeout=20)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok\n"
    count = len(setting.list())
    segue("ca", "revoke", "goner", "--ca", setting.authority)
    try:
        connection.request("POST", "/v1/renew", json.dumps({"csr": csr}), {"content-type": "application/json"})
        response = connection.getresponse()
        assert response.status == 403, response.read()
    except (ConnectionError, http.client.HTTPException, ssl.SSLError):
        pass  # the relay has ended the connection already
    finally:
        connection.close()
    deadline = time.monotonic() + 10
    # A handshake may be through just before the relay reads the list, which then ends the connection.
    while (alert := tls.refusal_of(setting.relay.port, setting.context(identity))) in (None, "closed") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alert == "certificate_revoked"
    assert len(setting.list()) == count


def test_half_of_its_life_by_default(start_relay: Callable[..., Relay]) -> None:
    """Development mode enrols too, and renews when a certificate has half of its life behind it."""
    relay = start_relay("development-enrolling")
    csr = request(relay.state, "alice-2")
    connection = http.client.HTTPSConnection("localhost", relay.port, context=relay.context(), timeout=20)
    connection.request("POST", "/v1/renew", json.dumps({"csr": csr}), {"content-type": "application/json"})
    response = connection.getresponse()
    assert response.status == 429 and abs(int(response.headers["retry-after"]) - 365 * 43_200) < 3_600, response.read()
    assert (relay.state / "clients/operator.pem").exists() and mode(relay.state / "clients/operator-key.pem") == 0o600


def test_without_an_authority_there_is_no_enrolment(setting: Setting, start_relay: Callable[..., Relay]) -> None:
    config = setting.configuration()
    del config["enrolment"]
    relay = start_relay("not-enrolling", config=config, authority=setting.authority / "ca.pem", identity=setting.relay.identity)
    connection = http.client.HTTPSConnection("localhost", relay.port, context=relay.context(), timeout=20)
    connection.request("POST", "/v1/enroll", json.dumps({"token": "x", "csr": "y"}), {"content-type": "application/json"})
    assert connection.getresponse().status == 404


def test_attempts_are_limited(setting: Setting, start_relay: Callable[..., Relay]) -> None:
    config = setting.configuration()
    config["enrolment"]["attemptsPerMinute"] = 5
    relay = start_relay("limited", config=config, authority=setting.authority / "ca.pem", identity=setting.relay.identity)
    limited = Setting(relay, setting.authority, setting.folder, setting.secrets)
    answers = [limited.post("/v1/enroll", {"token": token, "csr": "x"}) for token in ["segue-enrol-" + "1" * 48, "x"] * 5]
    assert [status for status, _, _ in answers].count(403) in (5, 6) and answers[-1][0] == 429
    assert 1 <= int(answers[-1][1]["retry-after"]) <= 60
    relay.assert_healthy()


# For administrators.


def operator(setting: Setting) -> Identity:
    folder = setting.authority / "live/operator"
    return Identity(folder / "certificate.pem", folder / "key.pem")


def test_an_administrator_orders_tokens(setting: Setting) -> None:
    order = {"names": ["URI:urn:segue:client:ordered", "email:o@example.org"], "label": "ordered-phone", "validSeconds": 60, "certificateDays": 3}
    status, fields, made = setting.post("/v1/enrolment-tokens", order, identity=operator(setting))
    assert status == 201 and fields["cache-control"] == "no-store", made
    setting.secrets.append(made["token"])
    assert made["names"] == order["names"] and made["label"] == "ordered-phone" and abs(made["expires"] / 1_000 - time.time() - 60) < 20
    status, _, issued = setting.post("/v1/enroll", {"token": made["token"], "csr": request(setting.folder, "ordered")})
    assert status == 201 and abs(issued["notAfter"] / 1_000 - time.time() - 3 * 86_400) < 60
    assert [token["status"] for token in setting.tokens() if token["id"] == made["id"]] == ["used"]


@pytest.mark.parametrize("path", ["/v1/enrolment-tokens", "/v1/revocations"])
def test_nobody_else_orders_tokens_or_revokes(setting: Setting, path: str) -> None:
    count = len(setting.tokens())
    body = {"names": ["URI:urn:segue:client:operator"], "serial": setting.list()[0]["serial"]}
    assert setting.relay.identity is not None
    for identity in (None, setting.relay.identity):
        assert setting.post(path, body, identity=identity)[0] == 403
    assert len(setting.tokens()) == count and setting.list()[0]["status"] == "valid"


@pytest.mark.parametrize("by", ["serial", "fingerprint"])
def test_an_administrator_revokes(setting: Setting, by: str) -> None:
    identity = setting.enrol(f"revoked-by-{by}")
    assert tls.refusal_of(setting.relay.port, setting.context(identity)) is None
    key = subprocess.run(["openssl", "pkey", "-in", identity.key, "-pubout", "-outform", "DER"], capture_output=True, check=True, timeout=30).stdout
    words = {
        "serial": openssl("x509", "-in", identity.certificate, "-noout", "-serial").strip().split("=")[1],
        "fingerprint": hashlib.sha256(key).hexdigest(),
    }
    body = {by: words[by], "reason": "keyCompromise"}
    status, _, answer = setting.post("/v1/revocations", body, identity=operator(setting))
    assert status == 200 and [entry["names"] for entry in answer["revoked"]] == [[f"URI:urn:segue:client:revoked-by-{by}"]], answer
    assert answer["revoked"][0]["fingerprint"] == words["fingerprint"]
    deadline = time.monotonic() + 10
    while (alert := tls.refusal_of(setting.relay.port, setting.context(identity))) in (None, "closed") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alert == "certificate_revoked" and "certificate revoked" in setting.verify(identity.certificate)
    assert setting.post("/v1/revocations", body, identity=operator(setting))[0] == 409
    again = setting.token(f"revoked-by-{by}")
    status, _, problem = setting.post("/v1/enroll", {"token": again, "csr": (setting.folder / f"revoked-by-{by}.csr").read_text()})
    assert status == 409 and problem["type"] == "urn:segue:problem:key_compromised"


def test_schemathesis_on_the_authority(setting: Setting) -> None:
    """Requests made of the served description, good and bad ones: every answer is one that the description has."""
    program = Path(sys.executable).parent / "schemathesis"
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    identity, ca = operator(setting), str(setting.authority / "ca.pem")
    command = [str(program), "run", f"https://localhost:{setting.relay.port}/v1/openapi.json"]
    for path in ("/v1/enroll", "/v1/renew", "/v1/enrolment-tokens", "/v1/revocations"):
        command += ["--include-path", path]
    command += ["--request-cert", str(identity.certificate), "--request-cert-key", str(identity.key), "--tls-verify", ca]
    command += ["--checks", CHECKS, "--seed", "1", "--max-examples", "40", "--workers", "1", "--warnings", "off", "--no-color"]
    command += ["--generation-database", "none"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=setting.folder, env={**os.environ, "REQUESTS_CA_BUNDLE": ca})
    assert result.returncode == 0, result.stdout[-6_000:]


# The command line.


def test_enroll_and_renew_by_command(setting: Setting) -> None:
    out, ca = setting.folder / "commander", setting.authority / "ca.pem"
    common = ["enroll", "--connect", f"127.0.0.1:{setting.relay.port}", "--ca", ca, "--out", out]
    result = segue(*common, "--token-file", "-", feed=setting.token("commander") + "\n")
    assert "urn:segue:client:commander" in result.stdout
    assert mode(out / "key.pem") == 0o600 and sorted(path.name for path in out.iterdir()) == ["certificate.pem", "chain.pem", "key.pem"]
    assert setting.verify(out / "certificate.pem").endswith("OK\n") and (out / "chain.pem").read_text() == ca.read_text()
    key, certificate = (out / "key.pem").read_text(), (out / "certificate.pem").read_text()
    assert "nothing to do" in segue(*common, "--renew", "--if-ending-within", "30").stdout
    assert (out / "certificate.pem").read_text() == certificate
    segue(*common, "--renew")
    assert (out / "key.pem").read_text() == key and (out / "certificate.pem").read_text() != certificate
    refused = segue(*common, "--renew", "--new-key", expect=5)
    assert "Try again in" in refused.stderr and (out / "key.pem").read_text() == key and not (out / "key.pem.new").exists()
    again = segue(*common, "--token-file", "-", feed=setting.token("commander") + "\n", expect=1)
    assert "--renew" in again.stderr


def test_renewal_with_a_new_key_by_command(setting: Setting) -> None:
    out = setting.folder / "changer"
    common = ["enroll", "--connect", f"localhost:{setting.relay.port}", "--ca", setting.authority / "ca.pem", "--out", out]
    segue(*common, environment={"SEGUE_ENROLMENT_TOKEN": setting.token("changer")})
    key = (out / "key.pem").read_text()
    segue(*common, "--renew", "--new-key", "--key", "rsa-2048")
    assert (out / "key.pem").read_text() != key and mode(out / "key.pem") == 0o600
    status, _, _ = setting.relay.get("/metrics", context=setting.context(Identity(out / "certificate.pem", out / "key.pem")))
    assert status == 200


def test_the_command_line_never_repeats_a_token(setting: Setting) -> None:
    token = setting.token("quiet")
    port = f"127.0.0.1:{setting.relay.port}"
    common = ["enroll", "--connect", port, "--ca", setting.authority / "ca.pem", "--out", setting.folder / "quiet"]
    results = [
        segue(*common, "--token-file", "-", feed=token[:-1], expect=3),
        segue("enroll", "--connect", "127.0.0.1:1", "--ca", setting.authority / "ca.pem", "--out", setting.folder / "quiet", "--token-file", "-", feed=token, expect=4),
        segue(*common, token, expect=2),
        segue("ca", "token-revoke", token, "--ca", setting.authority, expect=2),
    ]
    for result in results[:2] + results[3:]:
        assert token[20:-1] not in result.stdout + result.stderr
    assert not (setting.folder / "quiet").exists(), "what a refused enrolment has made goes again"


def test_without_a_certificate_the_alert_is_named(setting: Setting, start_relay: Callable[..., Relay], tmp_path: Path) -> None:
    strict = start_relay("enrolment-strict")
    out = tmp_path / "strict"
    refused = segue(
        *("enroll", "--connect", f"127.0.0.1:{strict.port}", "--ca", strict.authority, "--out", out, "--token-file", "-"),
        feed=setting.token("strict"),
        expect=4,
    )
    assert "certificate required" in refused.stderr and "optional" in refused.stderr and not out.exists()


def test_a_token_into_a_file_of_its_own(setting: Setting, tmp_path: Path) -> None:
    path = tmp_path / "filed.token"
    common = ("ca", "token", "--ca", setting.authority, "--client", "filed", "--out", path)
    made = segue(*common)
    token = path.read_text().strip()
    assert made.stdout == "" and token not in made.stderr and mode(path) == 0o600
    assert "is there already" in segue(*common, expect=1).stderr and path.read_text().strip() == token
    segue("ca", "token", "--ca", setting.authority, "--client", "not a name", "--out", tmp_path / "bad", expect=2)
    assert not (tmp_path / "bad").exists()
    port = f"127.0.0.1:{setting.relay.port}"
    segue("enroll", "--connect", port, "--ca", setting.authority / "ca.pem", "--token-file", path, "--out", tmp_path / "filed")


def test_certificates_of_every_kind_of_name(setting: Setting, tmp_path: Path) -> None:
    names = ("--email", "ann@example.org", "--dns", "ann.example.org", "--uri", "urn:example:ann")
    segue("ca", "issue", "client", "named", *names, "--ca", setting.authority)
    csr_path = setting.folder / "named-elsewhere.csr"
    request(setting.folder, "named-elsewhere")
    segue("ca", "sign", csr_path, *names, "--label", "named-elsewhere", "--ca", setting.authority)
    for label in ("named", "named-elsewhere"):
        text = openssl("x509", "-in", setting.authority / f"live/{label}/certificate.pem", "-noout", "-ext", "subjectAltName")
        assert "URI:urn:example:ann, DNS:ann.example.org, email:ann@example.org" in text and "segue:client" not in text
    request(setting.folder, "named-mail")
    segue("ca", "sign", setting.folder / "named-mail.csr", "--email", "mail@example.org", "--ca", setting.authority)
    assert setting.verify(setting.authority / "live/mail-example.org/certificate.pem").endswith("OK\n")
    for words in ((), ("--server", "localhost", "--email", "ann@example.org")):
        segue("ca", "sign", csr_path, *words, "--ca", setting.authority, expect=2)


def test_a_request_signed_without_the_relay(setting: Setting) -> None:
    """Where the relay is not to hold the authority's key, `segue ca sign` signs elsewhere; what the request asks for does not matter there either."""
    csr_path = setting.folder / "elsewhere.csr"
    request(setting.folder, "elsewhere", extensions=(f"subjectAltName={SERVER_NAMES}",))
    segue("ca", "sign", csr_path, "--client", "elsewhere", "--ca", setting.authority)
    certificate = setting.authority / "live/elsewhere/certificate.pem"
    assert setting.verify(certificate).endswith("OK\n")
    assert "localhost" not in openssl("x509", "-in", certificate, "-noout", "-text")


def test_audit(setting: Setting) -> None:
    setting.enrol("audited")
    setting.post("/v1/enroll", {"token": "segue-enrol-" + "2" * 48, "csr": "x"})
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        records = [json.loads(line) for line in setting.relay.log().splitlines() if '"audit"' in line]
        acts = [record for record in records if record.get("act") == "POST /v1/enroll"]
        done = [record for record in acts if record["outcome"] == "done" and "audited" in record["names"]]
        refused = [record for record in acts if record.get("code") == "token_refused"]
        if done and refused:
            return
        time.sleep(0.1)
    raise AssertionError("the audit does not tell of enrolment")
