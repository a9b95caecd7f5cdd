"""What benches wait for that no event tells them."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(what: str, condition: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
