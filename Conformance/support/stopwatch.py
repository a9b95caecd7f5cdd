"""How long something takes of a relay, and how much of that is the machine's doing."""

from __future__ import annotations

import threading
import time

PERIOD_SECONDS = 0.005
# A sleep is never exact.
LATE_SECONDS_MIN = 0.001


class Stopwatch:
    """Runs from its making, or as a context manager until its end. A thread of its own that sleeps again and again finds out for how long the machine let nobody on who was due.

    What must not happen too early is held against `seconds`, what must not be late against `own`: a relay that shares its machine with others answers for no more.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.ended: float | None = None
        self.stood_still = 0.0
        self.stopped = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        before = self.began
        while not self.stopped.wait(PERIOD_SECONDS):
            now = time.monotonic()
            if (late := now - before - PERIOD_SECONDS) > LATE_SECONDS_MIN:
                self.stood_still += late
            before = now

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    @property
    def own(self) -> float:
        """Without the time that the machine stood still."""
        return self.seconds - self.stood_still

    def stop(self) -> Stopwatch:
        if self.ended is None:
            self.ended = time.monotonic()
            self.stopped.set()
        return self

    def __enter__(self) -> Stopwatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return f"{self.seconds:.3f} s, of which the machine stood still for {self.stood_still:.3f} s"
