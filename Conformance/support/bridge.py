"""HAProxy as a bridge: plain WebSocket on a local port, to the relay over TLS with a client certificate, by HTTP/1.1 or by HTTP/2 (RFC 8441)."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from .relay import Identity

CONFIGURATION = """
global
    maxconn 512
    tune.bufsize 65536
defaults
    mode http
    timeout connect 5s
    timeout client 120s
    timeout server 120s
    timeout tunnel 120s
frontend plain
    bind 127.0.0.1:{front}
    default_backend relay
backend relay
    server relay 127.0.0.1:{port} ssl verify required ca-file {authority} verifyhost localhost sni str(localhost) crt {pem} {protocol}
"""
PROTOCOLS = {"1.1": "alpn http/1.1 ws h1", "2": "alpn h2 ws h2"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bridge:
    """A running HAProxy; `port` speaks plain HTTP/1.1. Use as a context manager."""

    def __init__(self, folder: Path, relay_port: int, authority: Path, identity: Identity, http: str):
        self.folder = folder
        self.port = free_port()
        pem = folder / "client.pem"
        pem.touch(mode=0o600)
        pem.write_text(identity.certificate.read_text() + identity.key.read_text())
        self.configuration = folder / "haproxy.cfg"
        self.configuration.write_text(
            CONFIGURATION.format(front=self.port, port=relay_port, authority=authority, pem=pem, protocol=PROTOCOLS[http]),
        )

    def __enter__(self) -> Bridge:
        log = (self.folder / "haproxy.log").open("wb")
        self.process = subprocess.Popen(["haproxy", "-db", "-f", str(self.configuration)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise AssertionError("HAProxy did not start:\n" + (self.folder / "haproxy.log").read_text(errors="replace"))

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
