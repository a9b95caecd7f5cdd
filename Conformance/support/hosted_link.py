"""An emulated link whose near end leads on to this machine itself: who sits at its far end has real TCP to relays that run here."""

from __future__ import annotations

import os
import subprocess

from .emulated_link import FAR_ADDRESS, SECONDS_MAX, EmulatedLink

HOST_ADDRESS, DOOR_ADDRESS = "10.97.1.1", "10.97.1.2"


class HostedLink(EmulatedLink):
    """Relays that listen at HOST_ADDRESS (or everywhere) are reached from the namespace `far`. Nothing of it stays when the context ends."""

    def __init__(self, **settings: float):
        super().__init__(**settings)
        cable = f"segue{os.getpid() % 100_000}"
        try:
            _ip("link", "add", cable, "type", "veth", "peer", "name", "door", "netns", self.near)
            _ip("address", "add", f"{HOST_ADDRESS}/30", "dev", cable)
            _ip("link", "set", cable, "up")
            _ip("-n", self.near, "address", "add", f"{DOOR_ADDRESS}/30", "dev", "door")
            _ip("-n", self.near, "link", "set", "door", "up")
            # The cable goes with the namespace, and this route with the cable.
            _ip("route", "add", FAR_ADDRESS, "via", DOOR_ADDRESS, "dev", cable)
            device = _ip("-n", self.far, "-brief", "address", "show", "to", FAR_ADDRESS).split()[0]
            _ip("-n", self.far, "route", "add", HOST_ADDRESS, "dev", device)
            # Of the namespace in which it is written.
            _ip("netns", "exec", self.near, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        except BaseException:
            self.__exit__()
            raise


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout
