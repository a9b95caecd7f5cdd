"""The commands of Deploy/DEPLOYMENT.md, in their order, against a relay with the page's configuration. Paths, the host's name and the port are another's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import tls
from support.relay import REPOSITORY, Identity, Relay, binary
from support.session import Session

SECONDS_MAX = 60
PAGE = REPOSITORY / "Deploy/DEPLOYMENT.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Machine:
    """Where the page's commands run. `port` is the relay's, once there is one."""

    folder: Path
    port: int = 0

    def here(self, text: str) -> str:
        for there, here in (("/etc/segue", "etc"), ("/var/lib/segue", "state"), ("/var/log/segue", "log")):
            text = text.replace(there, str(self.folder / here))
        return text.replace("media.example.org:443", f"localhost:{self.port}").replace("media.example.org", "localhost")

    def start(self, script: str) -> subprocess.Popen:
        path = os.pathsep.join((str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", "umask 077\n" + self.here(script)],
            cwd=self.folder,
            env={"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, script: str) -> tuple[int, str]:
        return end(self.start(script))


def end(process: subprocess.Popen) -> tuple[int, str]:
    try:
        output, _ = process.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, output


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    folder = tmp_path_factory.mktemp("machine")
    for name in ("etc", "log", "bin"):
        (folder / name).mkdir()
    (folder / "bin/segue").symlink_to(binary())
    return Machine(folder)


def test_the_page_leads_to_a_relay_that_works(machine: Machine, start_relay: Callable[..., Relay]) -> None:
    relay: Relay | None = None
    waiting: subprocess.Popen | None = None
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language in ("json5", "python"):
            name = text.split("\n", 1)[0].split()[-1]
            (machine.folder / machine.here(name)).write_text(machine.here(text))
        elif "systemctl enable" in text:
            config = machine.folder / "etc/segue.json5"
            operator = Identity(machine.folder / "operator/operator.pem", machine.folder / "operator/operator-key.pem")
            relay = start_relay("deployed", arguments=("--config", str(config)), authority=machine.folder / "etc/ca/ca.pem", identity=operator)
            machine.port = relay.port
        elif language == "sh" and "pair accept" in text:
            waiting = machine.start(text)
        elif language == "sh" and "pair request" in text:
            deadline = time.monotonic() + SECONDS_MAX
            while (result := machine.run(text))[0] != 0 and "peer_unavailable" in result[1] and time.monotonic() < deadline:
                time.sleep(0.1)
            assert waiting is not None
            for code, output in (result, end(waiting)):
                assert code == 0 and "pair:" in output, output
        elif language == "sh":
            code, output = machine.run(text)
            assert code == 0, text + output
    assert relay is not None and waiting is not None
    works(machine, relay)


def works(machine: Machine, relay: Relay) -> None:
    """A token opens the rooms that it names and no other; who enrolled gets in, who was revoked does not; what is secret is its owner's alone."""
    token = (machine.folder / "gil.jwt").read_text().strip()
    with Session(relay, context=tls.client_context(relay.authority), fields=(("authorization", f"Bearer {token}"),)) as gil:
        assert gil.name == "token:gil"
        assert gil.ask("join", room="team-a")["role"] == "listener"
        gil.ask("leave")
        assert gil.refusal("join", room="board") == "not_allowed"
    dave = Identity(machine.folder / "dave/certificate.pem", machine.folder / "dave/key.pem")
    with Session(relay, dave) as session:
        assert session.name == "urn:segue:client:dave" and session.ask("join", room="team-a")["role"] == "speaker"
    carol = Identity(machine.folder / "carol/carol.pem", machine.folder / "carol/carol-key.pem")
    deadline = time.monotonic() + SECONDS_MAX
    while is_let_in(relay, carol):
        assert time.monotonic() < deadline, "the revoked client still gets in"
        time.sleep(0.1)
    for secret in ("carol.p12", "dave.token", "token-key.pem", "etc/ca/ca-key.pem", "dave/key.pem", "log/audit.jsonl"):
        assert (machine.folder / secret).stat().st_mode & 0o077 == 0, secret


def is_let_in(relay: Relay, identity: Identity) -> bool:
    try:
        with Session(relay, identity):
            return True
    except Exception:  # noqa: BLE001 - by an alert, or however else the library calls that
        return False
