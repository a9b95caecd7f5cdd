"""The relay under a service manager: sd_notify(3), the watchdog, sockets that it is started with (sd_listen_fds(3)), and the units of Deploy."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.authority import Authority
from support.relay import REPOSITORY, Relay
from support.session import Session
from support.waiting import wait_until


class Manager:
    """The socket that NOTIFY_SOCKET names, and what has come to it."""

    def __init__(self, path: Path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(20)

    def next(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def until(self, key: str) -> dict[str, str]:
        while key not in (state := self.next()):
            pass
        return state


def test_the_manager_is_told_of_each_state(start_relay: Callable[..., Relay], tmp_path: Path) -> None:
    manager = Manager(tmp_path / "notify")
    environment = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "1000000", "SEGUE_DRAIN_MILLISECONDS": "5000"}
    relay = start_relay("notified", extra_environment=environment)
    assert manager.until("READY")["READY"] == "1"
    # Twice as often as it must.
    began = time.monotonic()
    for _ in range(3):
        manager.until("WATCHDOG")
    assert time.monotonic() - began < 15
    relay.reload()
    assert int(manager.until("RELOADING")["MONOTONIC_USEC"]) > 0
    assert manager.until("READY")
    with Session(relay):
        relay.process.send_signal(signal.SIGTERM)
        state = manager.until("STOPPING")
        assert int(state["EXTEND_TIMEOUT_USEC"]) == 15_000_000
        relay.process.send_signal(signal.SIGUSR1)
        assert manager.until("READY")


def test_a_process_that_stands_still_does_not_feed_the_watchdog(start_relay: Callable[..., Relay], tmp_path: Path) -> None:
    manager = Manager(tmp_path / "notify")
    relay = start_relay("watched", extra_environment={"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "600000"})
    manager.until("WATCHDOG")
    # One loop alone: its thread is stopped by a debugger's means, as one that hangs would be.
    loop = next(task for task in Path(f"/proc/{relay.process.pid}/task").iterdir() if (task / "comm").read_text().strip() == "segue-loop-1")
    script = f"""
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
thread = {loop.name}
if libc.ptrace(0x4206, thread, 0, 0) != 0: sys.exit(77)
libc.ptrace(0x4207, thread, 0, 0)
os.waitpid(thread, 0x40000000)
print("stopped", flush=True)
time.sleep(30)
"""
    holder = subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline().strip() != "stopped":
            pytest.skip("no thread can be stopped here")
        # Two may have been on their way.
        manager.socket.settimeout(3)
        came = 0
        with pytest.raises(TimeoutError):
            while came < 10:
                manager.until("WATCHDOG")
                came += 1
        assert came <= 3
    finally:
        holder.kill()
        holder.wait()
    manager.socket.settimeout(20)
    manager.until("WATCHDOG")


def activated(folder: Path, authority: Authority, listener: socket.socket) -> subprocess.Popen:
    """A relay with the socket as its descriptor 3, as systemd would start it."""
    import json

    folder.mkdir()
    port = listener.getsockname()[1]
    config = authority.configuration(authority.issue_server()) | {"listen": [f"127.0.0.1:{port}"]}
    (folder / "segue.json5").write_text(json.dumps(config))
    binary = os.environ.get("SEGUE_BIN") or str(REPOSITORY / ".build/release/segue")
    command = f"exec env LISTEN_PID=$$ LISTEN_FDS=1 SEGUE_DRAIN_MILLISECONDS=500 {binary} serve --config {folder}/segue.json5 --state {folder} --loops 2"

    def take() -> None:
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)

    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=take, close_fds=False)
    wait_until("it is ready", lambda: "ready https://" in (folder / "log").read_text(), seconds=60)
    return process


def test_nobody_is_refused_while_a_relay_with_a_socket_of_its_managers_starts_anew(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path / "authority")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(512)
    refused, connected, ended = [], [0], threading.Event()

    def knock() -> None:
        while not ended.is_set():
            try:
                socket.create_connection(listener.getsockname(), timeout=10).close()
                connected[0] += 1
            except OSError as fault:
                refused.append(fault)
            time.sleep(0.005)

    first = activated(tmp_path / "first", authority, listener)
    knocking = threading.Thread(target=knock)
    knocking.start()
    try:
        first.terminate()
        assert first.wait(30) == 0
        before = connected[0]
        wait_until("connections wait in the queue", lambda: connected[0] > before)
        second = activated(tmp_path / "second", authority, listener)
        context = __import__("ssl").create_default_context(cafile=str(authority.certificate))
        alice = authority.issue("alice")
        context.load_cert_chain(alice.certificate, alice.key)
        with socket.create_connection(listener.getsockname(), timeout=20) as connection:
            assert context.wrap_socket(connection, server_hostname="localhost").version() == "TLSv1.3"
        second.terminate()
        assert second.wait(30) == 0
    finally:
        ended.set()
        knocking.join()
    assert not refused and connected[0] > 10


UNITS = [REPOSITORY / "Deploy/systemd" / name for name in ("segue.service", "segue.socket")]


def test_the_units_ask_for_what_the_relay_does() -> None:
    service, listening = (unit.read_text() for unit in UNITS)
    settings = dict(re.findall(r"^(\w+)=(.*)$", service, re.MULTILINE))
    assert settings["Type"] == "notify" and settings["DynamicUser"] == "yes" and settings["ProtectSystem"] == "strict"
    assert settings["CapabilityBoundingSet"] == ""
    # More than a drain (drainMilliseconds) and what comes after it.
    assert int(settings["TimeoutStopSec"]) > 60
    assert int(settings["WatchdogSec"]) >= 10
    assert "ListenStream=443" in listening


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text().replace("/usr/local/bin/segue", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    result = subprocess.run(["systemd-analyze", "verify", *(str(tmp_path / unit.name) for unit in UNITS)], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
