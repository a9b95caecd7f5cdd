"""What stands in front of a relay: PROXY headers as bytes, the fields that proxies pass certificates on in, and HAProxy as a process."""

from __future__ import annotations

import base64
import socket
import struct
import subprocess
import time
import urllib.parse
from pathlib import Path

from .bridge import free_port
from .relay import Identity

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
AUTHORITY_TLV, SSL_TLV, COMMON_NAME_TLV, CERTIFICATE_TLV = 0x02, 0x20, 0x22, 0x28


def der_of(identity: Identity) -> bytes:
    """The certificate of a PEM file, as the openssl command line converts it."""
    return subprocess.run(["openssl", "x509", "-in", identity.certificate, "-outform", "DER"], capture_output=True, check=True, timeout=30).stdout


def fingerprint_of(identity: Identity) -> str:
    """SHA-256 of the SubjectPublicKeyInfo, by the openssl command line."""
    key = subprocess.run(["openssl", "x509", "-in", identity.certificate, "-noout", "-pubkey"], capture_output=True, check=True, timeout=30).stdout
    der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, capture_output=True, check=True, timeout=30).stdout
    digest = subprocess.run(["openssl", "dgst", "-sha256", "-r"], input=der, capture_output=True, check=True, timeout=30).stdout
    return digest.split()[0].decode()


def client_cert(identity: Identity) -> tuple[tuple[str, str], ...]:
    """RFC 9440 §2.2."""
    return (("client-cert", f":{base64.b64encode(der_of(identity)).decode()}:"),)


def haproxy_field(identity: Identity) -> tuple[tuple[str, str], ...]:
    return (("x-ssl-client-der", base64.b64encode(der_of(identity)).decode()),)


def envoy_field(identity: Identity) -> tuple[tuple[str, str], ...]:
    pem = urllib.parse.quote(identity.certificate.read_text(), safe="")
    return (("x-forwarded-client-cert", f'By=spiffe://edge;Hash={"0" * 64};Cert="{pem}";Subject="CN=somebody;O=\\"else\\"";URI=urn:not:looked:at'),)


def version_1(source: str = "192.0.2.7", port: int = 4711) -> bytes:
    return f"PROXY TCP4 {source} 198.51.100.1 {port} 443\r\n".encode()


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!BH", kind, len(value)) + value


def version_2(source: str = "192.0.2.7", port: int = 4711, tlvs: bytes = b"", *, command: int = 1) -> bytes:
    block = socket.inet_aton(source) + socket.inet_aton("198.51.100.1") + struct.pack("!HH", port, 443) + tlvs
    return SIGNATURE + struct.pack("!BBH", 0x20 | command, 0x11, len(block)) + block


def ssl_tlv(*, name: bytes = b"", certificate: bytes = b"", client: int = 7, verify: int = 0) -> bytes:
    """PP2_TYPE_SSL: over TLS, with a certificate on this connection and in the session, and the proxy's own verdict."""
    inner = (tlv(COMMON_NAME_TLV, name) if name else b"") + (tlv(CERTIFICATE_TLV, certificate) if certificate else b"")
    return tlv(SSL_TLV, struct.pack("!BI", client, verify) + inner)


DEFAULTS = """
global
    maxconn 256
    tune.bufsize 32768
defaults
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout tunnel 60s
"""


class HAProxy:
    """A running HAProxy with one frontend, whose port it is; `{port}` in `sections` is where to put it. Use as a context manager."""

    def __init__(self, folder: Path, sections: str, defaults: str = DEFAULTS):
        self.port = free_port()
        self.log = folder / "haproxy.log"
        self.configuration = folder / "haproxy.cfg"
        self.configuration.write_text(defaults + sections.replace("{port}", str(self.port)))

    def __enter__(self) -> HAProxy:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(["haproxy", "-db", "-f", str(self.configuration)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise AssertionError("HAProxy did not start:\n" + self.log.read_text(errors="replace"))

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def bundle(folder: Path, name: str, identity: Identity) -> Path:
    """Certificate and key in one file, as HAProxy wants them."""
    path = folder / f"{name}-bundle.pem"
    path.touch(mode=0o600)
    path.write_text(identity.certificate.read_text() + identity.key.read_text())
    return path
