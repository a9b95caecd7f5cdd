"""What a client says by itself while it is connected: exchanges of time (protocol section 3.3), and how what it receives does (section 3.16)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

from .clock import Clock, Sample
from .errors import SegueError
from .model import Asked
from .room import Room, Stream

# Four a second at first, then one every few seconds.
QUICK_EXCHANGES, QUICK_SECONDS, EXCHANGE_SECONDS = 8, 0.25, 5.0
STREAMS_MAX, JITTER_MILLISECONDS_MAX = 1_024, 60_000.0
Exchange = Callable[[Asked, float], Awaitable[dict[str, Any]]]


async def exchange_times(exchange: Exchange, clock: Clock) -> None:
    for count in itertools.count():
        asked = time.monotonic() * 1_000
        # What comes in the wrong shape counts as no answer: the session does not depend on it.
        with contextlib.suppress(SegueError, KeyError, TypeError):
            answer = await exchange(Asked("time", {"clientTime": asked, **({"last": clock.last} if clock.last else {})}), EXCHANGE_SECONDS)
            clock.take(Sample(answer["clientTime"], answer["serverTime"], time.monotonic() * 1_000))
        await asyncio.sleep(QUICK_SECONDS if count < QUICK_EXCHANGES else EXCHANGE_SECONDS)


async def report(exchange: Exchange, room: Callable[[], Room | None], seconds: float) -> None:
    """Of every audio stream that comes; of other kinds, holes in the numbering need not be losses."""
    while True:
        await asyncio.sleep(seconds)
        there = room()
        heard = [stream for stream in (there.streams.values() if there else ()) if stream.kind == "audio" and stream.reception.received]
        if heard:
            with contextlib.suppress(SegueError):
                await exchange(Asked("report", {"streams": [_entry(stream) for stream in heard[:STREAMS_MAX]]}), EXCHANGE_SECONDS)


def _entry(stream: Stream) -> dict[str, Any]:
    """A client without a jitter buffer plays what comes, and lacks what does not."""
    reception = stream.reception
    return {
        "stream": stream.number,
        "received": reception.received,
        "played": reception.received,
        "concealed": reception.missing,
        "late": 0,
        "jitterMilliseconds": min(reception.jitter_milliseconds, JITTER_MILLISECONDS_MAX),
    }
