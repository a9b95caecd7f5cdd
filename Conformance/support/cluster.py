"""A nats-server and the relays of a cluster, each a process of its own, ended by the pid that was started."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from .authority import Authority
from .relay import Identity, Relay
from .waiting import wait_until

START_SECONDS_MAX = 30
# Far above what a busy machine makes a thread wait: nobody is taken for gone who is there.
LEASE_MILLISECONDS = 3_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class NATS:
    """nats-server with JetStream in a folder of its own, and mutual TLS."""

    folder: Path
    authority: Authority
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def start(self) -> None:
        server = self.authority.issue_server()
        configuration = {
            "listen": f"127.0.0.1:{self.port}",
            "max_payload": 8 << 20,
            "jetstream": {"store_dir": str(self.folder / "store"), "max_file_store": 1 << 30},
            "tls": {
                "cert_file": str(server.certificate),
                "key_file": str(server.key),
                "ca_file": str(self.authority.certificate),
                "verify": True,
            },
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "nats.conf"
        path.write_text(json.dumps(configuration, indent=2))
        with (self.folder / "nats.log").open("ab") as log:
            self.process = subprocess.Popen(["nats-server", "-c", str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "nats.log").read_text()
                time.sleep(0.02)
        raise AssertionError("nats-server does not listen")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class Cable:
    """What one relay reaches NATS through: it can be frozen, so that nothing comes through and no connection breaks, and thawed."""

    def __init__(self, port: int):
        self.target = port
        self.flows = threading.Event()
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                return
            far.settimeout(None)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                self.flows.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.flows.set()
        self.listener.close()


class Cluster:
    """Relays that share a NATS, an authority and a policy."""

    def __init__(self, folder: Path, *, lease: int = LEASE_MILLISECONDS):
        self.folder = folder
        self.authority = Authority.create(folder / "authority")
        self.lease = lease
        self.server = self.authority.issue_server()
        self.operator = self.authority.issue("operator")
        self.nats = NATS(folder / "nats", self.authority)
        self.relays: dict[str, Relay] = {}
        self.identities: dict[str, Identity] = {}
        self.cables: dict[str, Cable] = {}

    def identity(self, name: str) -> Identity:
        if name not in self.identities:
            self.identities[name] = self.authority.issue(name)
        return self.identities[name]

    def configuration(self, name: str, **more) -> dict:
        return self.authority.configuration(self.server) | {
            "node": name,
            "cluster": {
                "servers": [f"tls://127.0.0.1:{self.cables[name].port if name in self.cables else self.nats.port}"],
                "trustedCertificates": str(self.authority.certificate),
                "certificate": str(self.operator.certificate),
                "privateKey": str(self.operator.key),
                "leaseMilliseconds": self.lease,
            },
        } | more

    def start(self, name: str, *, loops: int = 2, waits: bool = True, **more) -> Relay:
        relay = Relay.start(
            self.folder / name, loops=loops, config=self.configuration(name, **more), authority=self.authority.certificate, identity=self.operator,
            arguments=("--log", "json"),
        )
        self.relays[name] = relay
        if waits:
            wait_until(f"{name} is in the cluster", lambda: self.is_ready(relay), seconds=START_SECONDS_MAX)
        return relay

    def is_ready(self, relay: Relay) -> bool:
        return relay.get("/readyz")[0] == 200

    def number(self, name: str) -> int:
        found = re.findall(r'"cluster_joined".*?"number":"(\d+)"', self.relays[name].log())
        return int(found[-1])

    def await_nodes(self) -> None:
        """Every node knows of every other."""
        for name, relay in self.relays.items():
            others = [self.number(other) for other in self.relays if other != name]
            wait_until(
                f"{name} knows of {others}",
                lambda relay=relay, others=others: all(f'"cluster_node","number":"{number}"' in relay.log() or f'"number":"{number}"' in relay.log() for number in others),
                seconds=START_SECONDS_MAX,
            )

    def kill(self, name: str) -> None:
        relay = self.relays.pop(name)
        relay.process.kill()
        relay.process.wait()
        relay.stopped = True

    def stop(self) -> None:
        faults = []
        for relay in self.relays.values():
            try:
                relay.stop()
            except AssertionError as fault:
                faults.append(str(fault))
        for cable in self.cables.values():
            cable.close()
        self.nats.stop()
        assert not faults, "\n".join(faults)
