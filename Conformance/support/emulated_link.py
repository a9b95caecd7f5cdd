"""Two network namespaces and the project's link emulator between them: real TCP on a link that can be slow, far, or stand still."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .relay import REPOSITORY, binary

SECONDS_MAX = 20
NEAR_ADDRESS, FAR_ADDRESS = "10.97.0.1", "10.97.0.2"
CLONE_NEWNET = 0x40000000


def emulator() -> Path | None:
    """Beside the relay, or in the repository's own builds."""
    for folder in (binary().parent, REPOSITORY / ".build/release", REPOSITORY / ".build/debug"):
        if (folder / "link-emulator").exists():
            return folder / "link-emulator"
    return None


def reason_to_skip() -> str | None:
    """Why no link can be emulated here, if so."""
    if emulator() is None:
        return "no link emulator: swift build --product link-emulator"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun is missing: no TUN devices here"
    probe = f"segue-probe-{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run(["ip", "netns", "add", probe], capture_output=True, timeout=SECONDS_MAX).returncode == 0:
            subprocess.run(["ip", "netns", "del", probe], check=True, timeout=SECONDS_MAX)
            return None
    return "network namespaces cannot be made here"


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """With the calling thread in a namespace: sockets made there stay there."""
    library = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if library.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns to {namespace}")
        try:
            yield
        finally:
            assert library.setns(home, CLONE_NEWNET) == 0
    finally:
        os.close(there)
        os.close(home)


class EmulatedLink:
    """`near` and `far` are the namespaces' names. Everything goes when the context ends."""

    def __init__(self, **settings: float):
        self.near, self.far = (f"segue-{os.getpid()}-{end}" for end in ("near", "far"))
        options = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
        # The emulator makes and deletes both namespaces, and ends with its input.
        self.process = subprocess.Popen(
            [str(emulator()), "--a", f"{self.near}:{NEAR_ADDRESS}", "--b", f"{self.far}:{FAR_ADDRESS}", "--control", "--seconds", "300", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer("ready")

    def __enter__(self) -> EmulatedLink:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(SECONDS_MAX) == 0

    def change(self, **settings: float) -> None:
        """Now, in both directions."""
        assert self.process.stdin is not None
        self.process.stdin.write("set " + ",".join(f"{key}={value}" for key, value in settings.items()) + "\n")
        self.process.stdin.flush()
        self._answer("set")

    def _answer(self, word: str) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS_MAX)
        line = self.process.stdout.readline() if ready else ""
        assert line.startswith(word), f"the link emulator answered {line!r}"

    def connect(self, namespace: str, port: int) -> socket.socket:
        """A TCP connection to the near end from one of the namespaces."""
        with inside(namespace):
            return socket.create_connection((NEAR_ADDRESS, port), timeout=SECONDS_MAX)
