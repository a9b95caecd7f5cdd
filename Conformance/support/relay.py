"""A relay under test: a process started by its command line, watched by its log, ended by its pid."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import metrics, tls

# For benches that are about other things than who may do what.
ALLOW_ALL = {
    "access": [{"identities": ["*"], "rooms": ["*"], "roles": ["speaker", "listener", "recorder", "host"]}],
    "pairing": {"pairs": [{"a": ["*"], "b": ["*"]}], "requests": [{"from": ["*"], "to": ["*"]}], "codes": ["*"]},
}

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS_MAX = 60
DRAIN_SECONDS_MAX = 30
SETTLE_SECONDS_MAX = 3

# What a Swift process or a sanitizer prints when it dies of its own fault.
CRASH = re.compile(
    r"Fatal error|Program crashed|Illegal instruction|Segmentation fault|SIGILL|SIGSEGV|SIGTRAP|SIGABRT"
    r"|runtime failure|AddressSanitizer|ThreadSanitizer|LeakSanitizer|precondition failed|\bcrash(ed)?\b|\btrap(ped)?\b",
    re.IGNORECASE,
)


def binary() -> Path:
    """The relay's executable: SEGUE_BIN, or the release build."""
    return Path(os.environ.get("SEGUE_BIN", REPOSITORY / ".build/release/segue")).absolute()


@dataclass
class Identity:
    """Where one client's certificate chain and key lie (PEM)."""

    certificate: Path
    key: Path


def demo_identity(state: Path, name: str) -> Identity:
    """A client of development mode: `alice` or `bob`."""
    return Identity(state / f"clients/{name}.pem", state / f"clients/{name}-key.pem")


def policy_path(state: Path) -> Path:
    return state / "policy.json5"


def write_whole(path: Path, text: str) -> None:
    """By rename: the relay must never read half a file."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


@dataclass
class Relay:
    """A running relay. `state` is its state folder, `port` the port that it printed."""

    process: subprocess.Popen
    port: int
    state: Path
    log_paths: tuple[Path, Path]
    authority: Path
    identity: Identity | None
    stopped: bool = field(default=False)

    @classmethod
    def start(
        cls,
        state: Path,
        *,
        loops: int = 2,
        arguments: tuple[str, ...] = (),
        config: dict | None = None,
        authority: Path | None = None,
        identity: Identity | None = None,
        prefix: tuple[str, ...] = (),
        extra_environment: dict[str, str] | None = None,
    ) -> Relay:
        """Starts `segue serve` on a port that the kernel chooses and waits for its `ready` line.

        `config` is written as JSON (which is JSON5); `authority` and `identity` are what clients use, by default the development mode's own. The policy
        is `config["policy"]`: an object, which is written to a file, or a file's path, or None for none at all; left out, it allows everything to everybody.
        `prefix` is a command that runs the relay in its own place, as `ip netns exec NAME`, and becomes it.
        """
        state.mkdir(parents=True, exist_ok=True)
        command = [*prefix, str(binary()), "serve", "--state", str(state), "--loops", str(loops)]
        if config is not None:
            config_path = state / "segue.json5"
            config = dict(config)
            policy = config.pop("policy", ALLOW_ALL)
            if isinstance(policy, str):
                config["policy"] = policy
            elif policy is not None:
                write_whole(policy_path(state), json.dumps(policy, indent=2))
                config["policy"] = str(policy_path(state))
            config_path.write_text(json.dumps(config, indent=2))
            command += ["--config", str(config_path)]
        else:
            command += ["--listen", "127.0.0.1:0"]
        command += arguments
        log_paths = (state / "stdout.log", state / "stderr.log")
        with log_paths[0].open("wb") as output, log_paths[1].open("wb") as errors:
            # What a bench leaves open must not hold up its end for a minute.
            environment = {"SEGUE_DRAIN_MILLISECONDS": "10000"} if "drainMilliseconds" not in (config or {}) else {}
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment | dict(os.environ) | (extra_environment or {})
            )
        relay = cls(
            process=process,
            port=0,
            state=state,
            log_paths=log_paths,
            authority=authority or state / "ca.pem",
            identity=identity or demo_identity(state, "alice"),
        )
        relay.port = relay._wait_until_ready()
        return relay

    def _wait_until_ready(self) -> int:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            found = re.search(r"^ready https://[^\s:]+:(\d+)", self.log_paths[0].read_text(errors="replace"), re.MULTILINE)
            if found:
                return int(found.group(1))
            if self.process.poll() is not None:
                raise AssertionError(f"the relay ended with {self.process.returncode} before it was ready:\n{self.log()}")
            time.sleep(0.02)
        self.process.kill()
        raise AssertionError(f"the relay was not ready after {START_SECONDS_MAX} s:\n{self.log()}")

    @property
    def proxy_port(self) -> int:
        """The port of the first listener without TLS."""
        found = re.search(r"^proxy http://[^\s:]+:(\d+)", self.log_paths[0].read_text(errors="replace"), re.MULTILINE)
        assert found, self.log()
        return int(found.group(1))

    def log(self) -> str:
        return "".join(path.read_text(errors="replace") for path in self.log_paths if path.exists())

    def context(self, *, alpn: tuple[str, ...] = (), identity: Identity | None = None, **versions) -> ssl.SSLContext:
        """A client's TLS context: trusts this relay's authority, shows the default identity or the one given."""
        shown = identity or self.identity
        return tls.client_context(self.authority, certificate=shown and shown.certificate, key=shown and shown.key, alpn=alpn, **versions)

    def get(self, path: str, *, method: str = "GET", context: ssl.SSLContext | None = None) -> tuple[int, dict[str, str], str]:
        """One request over HTTP/1.1 on a connection of its own: (status, fields by lower-case name, body)."""
        connection = http.client.HTTPSConnection("localhost", self.port, context=context or self.context(), timeout=15)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read().decode(errors="replace")
        finally:
            connection.close()

    def assert_healthy(self) -> None:
        """The process is there and a client that behaves is served."""
        assert self.process.poll() is None, f"the relay died with {self.process.returncode}:\n{self.log()[-4000:]}"
        status, _, body = self.get("/healthz")
        assert status == 200, f"/healthz answered {status}: {body}"

    def write_policy(self, policy: dict | str) -> None:
        """Replaces the policy file; the relay notices by itself."""
        write_whole(policy_path(self.state), policy if isinstance(policy, str) else json.dumps(policy, indent=2))

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def assert_accounted(self) -> None:
        """Every frame that was due to a subscriber is in exactly one counter, and none is pending when nobody is there.

        Asked of every relay before it is stopped, as far as it still lives and lets this client in.
        """
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while True:
            if self.process.poll() is not None or self.identity is None:
                return
            try:
                status, _, text = self.get("/metrics")
            except (OSError, http.client.HTTPException):
                return
            if status != 200:
                return
            unaccounted = metrics.value(text, "segue_frames_unaccounted")
            assert unaccounted == 0, f"{unaccounted} frames are in no counter, or in two"
            pending, sessions = metrics.value(text, "segue_frames_pending"), metrics.value(text, "segue_sessions")
            if pending == 0 or sessions != 0:
                return
            # Loops tell of themselves four times a second.
            assert time.monotonic() < deadline, f"{pending} frames are pending for nobody"
            time.sleep(0.1)

    def stop(self) -> None:
        """SIGTERM; the relay must have accounted for every frame, drain, exit 0, and its log must tell of no crash."""
        if self.stopped:
            return
        self.stopped = True
        fault = None
        try:
            self.assert_accounted()
        except AssertionError as found:
            fault = found
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(DRAIN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the relay still ran {DRAIN_SECONDS_MAX} s after SIGTERM:\n{self.log()[-4000:]}") from None
        assert self.process.returncode == 0, f"the relay exited with {self.process.returncode} after SIGTERM:\n{self.log()[-4000:]}"
        faults = [line for line in self.log().splitlines() if CRASH.search(line)]
        assert not faults, "the relay's log tells of a crash:\n" + "\n".join(faults)
        if fault:
            raise fault
