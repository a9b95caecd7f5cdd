"""Two network namespaces with a cable between them that can be cut without a word to either end. Needs root."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNET = 0x40000000
HOST_A, HOST_B = "10.77.41.1", "10.77.41.2"


def available() -> bool:
    """Whether this process may make namespaces at all."""
    if os.geteuid() != 0:
        return False
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return made.returncode == 0


def ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], capture_output=True, check=check, timeout=10)


class Cable:
    """A namespace with address HOST_A and one with HOST_B, of this process alone: another run beside it has its own. Both are gone with the context."""

    def __init__(self, name: str):
        self.a, self.b = f"{name}-{os.getpid()}-a", f"{name}-{os.getpid()}-b"

    def __enter__(self) -> Cable:
        self.__exit__()
        for namespace in (self.a, self.b):
            ip("netns", "add", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        ip("-n", self.a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.b)
        for namespace, address in ((self.a, HOST_A), (self.b, HOST_B)):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", "cable")
            ip("-n", namespace, "link", "set", "cable", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in (self.a, self.b):
            ip("netns", "del", namespace, check=False)

    def cut(self) -> None:
        """Nothing passes any more, and the far end's interface is down."""
        ip("-n", self.b, "link", "set", "cable", "down")

    def swallow(self) -> None:
        """What comes from HOST_B's side is lost: HOST_A hears no acknowledgement, though what it sends arrives."""
        ip("-n", self.b, "route", "add", "blackhole", f"{HOST_A}/32")

    def heal(self) -> None:
        ip("-n", self.b, "route", "del", "blackhole", f"{HOST_A}/32")

    @contextlib.contextmanager
    def inside(self, namespace: str) -> Iterator[None]:
        """This thread's new sockets and processes belong to the namespace; they stay there."""
        library = ctypes.CDLL(None, use_errno=True)
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(Path("/run/netns") / namespace, os.O_RDONLY)
        try:
            if library.setns(there, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            yield
        finally:
            library.setns(home, CLONE_NEWNET)
            os.close(there)
            os.close(home)
