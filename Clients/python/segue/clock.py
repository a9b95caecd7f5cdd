"""The relay's clock against the client's, from exchanges of `time` (section 3.3), and when to try again after a loss (section 8.2). Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SAMPLES_KEPT = 16


@dataclass(frozen=True)
class Sample:
    """One exchange. All in milliseconds: by the client's clock when it asked and when the answer came, by the relay's when it answered."""

    asked: float
    server: float
    received: float

    @property
    def round_trip(self) -> float:
        return self.received - self.asked

    @property
    def offset(self) -> float:
        return self.server - (self.asked + self.received) / 2


class Clock:
    """The exchange with the shortest round trip of the last few is believed: what it has waited in queues is least."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_KEPT)

    def take(self, sample: Sample) -> None:
        if sample.round_trip >= 0:
            self._samples.append(sample)

    @property
    def best(self) -> Sample | None:
        return min(self._samples, key=lambda sample: sample.round_trip, default=None)

    @property
    def last(self) -> Mapping[str, float] | None:
        """As `time` wants it said."""
        if not self._samples:
            return None
        sample = self._samples[-1]
        return {"clientTime": sample.asked, "serverTime": sample.server, "received": sample.received}

    def server_time(self, local: float) -> float | None:
        """Milliseconds since 1970 at the relay when the client's clock shows `local` milliseconds; None before the first exchange."""
        best = self.best
        return None if best is None else local + best.offset

    def forget(self) -> None:
        """Another relay has another clock."""
        self._samples.clear()


class Backoff:
    """Seconds before each try: the first comes soon, then between a half and the whole of what doubles, so that not everybody comes at once."""

    def __init__(self, random: Callable[[], float], first: float = 0.1, base: float = 0.25, longest: float = 4.0) -> None:
        self._random, self._first, self._base, self._longest = random, first, base, longest
        self._tries = 0

    def next(self) -> float:
        self._tries += 1
        if self._tries == 1:
            return self._first * self._random()
        whole = min(self._base * 2.0 ** min(self._tries - 2, 20), self._longest)
        return whole * (0.5 + 0.5 * self._random())
