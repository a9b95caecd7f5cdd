"""A stream of one's own (protocol section 5): numbers its frames, keeps the last of them for a connection that is lost, and knows what subscribers want."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Closed, ConnectionLost
from .frames import NO_FLAG, Flag, Frame, Kind, encode, serial_difference

KINDS = {"audio": Kind.AUDIO, "video": Kind.VIDEO, "data": Kind.DATA}
# What is older than that is not live any more: it is not sent again after a loss.
RECENT_SECONDS = 1.0
RECENT_BYTES_MAX = 1 << 22


@dataclass(frozen=True)
class _Sent:
    at: float
    spatial: int
    sequence: int
    message: bytes


class Publication:
    """Made by `Client.publish`. `stream` is its number, which changes when the client had to begin a new session; `is_ended`: nobody gets it any more."""

    def __init__(self, stream: int, request: Mapping[str, Any], send: Callable[[bytes], Awaitable[None]], now: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.request = stream, dict(request)
        self.kind = KINDS[request["kind"]]
        self.is_ended = False
        # Set when a key frame is wanted (section 5.4): send one, and clear it. Of streams in layers, `wanted_key_layers` says which.
        self.key_frame_wanted = asyncio.Event()
        self.wanted_key_layers: set[int] = set()
        # As in `layers.wanted`, `stream.report` and `format.wanted`; None: nothing was said yet.
        self.wanted: list[Mapping[str, int]] | None = None
        self.report: Mapping[str, Any] | None = None
        self.format: Mapping[str, Any] | None = None
        # Frames that were never sent, since there was no connection for too long.
        self.lost = 0
        self._send, self._now = send, now
        # Between a loss and what `resume` or `restart` send first: nothing else goes before it.
        self._is_suspended = False
        self._configurations: dict[int, bytes] = {}
        self._sequences: dict[int, int] = {}
        self._pending: deque[_Sent] = deque()
        self._recent: deque[_Sent] = deque()
        self._flushing = asyncio.Lock()

    async def configure(self, payload: bytes = b"", *, spatial: int = 0) -> None:
        """What a decoder needs (section 5.5), from the next frame on. `Client.publish` has sent the first."""
        self._configurations[spatial] = payload
        await self._put(self._configuration(spatial))

    async def send(
        self,
        payload: bytes,
        timestamp: int,
        *,
        flags: Flag = NO_FLAG,
        spatial: int = 0,
        temporal: int = 0,
        level: int = -127,
        voice: bool = False,
        capture_time: int | None = None,
        duration: int | None = None,
    ) -> int:
        """One frame, as soon as it is due; answers its sequence number. While there is no connection it is kept for a second, then dropped."""
        sequence = self._sequences.get(spatial, 0)
        self._sequences[spatial] = (sequence + 1) & 0xFFFF_FFFF
        frame = Frame(
            self.kind, self.stream, sequence, timestamp & 0xFFFF_FFFF, payload, flags, spatial, temporal, level, voice, capture_time, duration=duration
        )
        self._pending.append(_Sent(self._now(), spatial, sequence, encode(frame)))
        await self._flush()
        return sequence

    # Of the client

    def _configuration(self, spatial: int) -> bytes:
        frame = Frame(Kind.CONFIGURATION, self.stream, self._sequences.get(spatial, 0), 0, self._configurations[spatial], spatial=spatial)
        return encode(frame)

    async def _put(self, message: bytes) -> bool:
        if self.is_ended or self._is_suspended:
            return False
        try:
            await self._send(message)
        except (ConnectionLost, Closed):
            # Whoever reads the connection knows as well, and what to do.
            return False
        return True

    async def _flush(self) -> None:
        async with self._flushing:
            while self._pending:
                first = self._pending[0]
                if first.at < self._now() - RECENT_SECONDS:
                    self.lost += 1
                elif not await self._put(first.message):
                    break
                else:
                    self._recent.append(first)
                self._pending.popleft()
            while self._pending and (self.is_ended or self._pending[0].at < self._now() - RECENT_SECONDS):
                self._pending.popleft()
                self.lost += 1
            while self._recent and (self._recent[0].at < self._now() - RECENT_SECONDS or sum(len(sent.message) for sent in self._recent) > RECENT_BYTES_MAX):
                self._recent.popleft()

    def suspend(self) -> None:
        """The connection is lost, or is about to be replaced."""
        self._is_suspended = True

    async def resume(self, entries: list[Mapping[str, Any]]) -> None:
        """Goes on over another connection behind what the relay has (section 3.18): the configurations, then what was under way, then what waits."""
        async with self._flushing:
            self._is_suspended = False
            arrived = {entry.get("layer", 0): entry["sequence"] for entry in entries if "sequence" in entry}
            again = [sent for sent in self._recent if sent.spatial not in arrived or serial_difference(sent.sequence, arrived[sent.spatial]) > 0]
            self._recent = deque(sent for sent in self._recent if sent not in again)
            self._pending.extendleft(reversed(again))
            for spatial in self._configurations:
                await self._put(self._configuration(spatial))
        await self._flush()

    async def restart(self, stream: int) -> None:
        """Goes on as another stream, in a new session. Nothing that was sent before is repeated, and a key frame is wanted."""
        async with self._flushing:
            self.stream, self.is_ended, self.wanted, self._is_suspended = stream, False, None, False
            self.lost += len(self._pending)
            self._pending.clear()
            self._recent.clear()
            for spatial in self._configurations:
                await self._put(self._configuration(spatial))
        if self.kind is Kind.VIDEO:
            self.key_frame_wanted.set()

    def take(self, event: Mapping[str, Any]) -> None:
        """An event about this stream."""
        kind = event["type"]
        if kind == "keyframe.requested":
            self.wanted_key_layers.add(event.get("layer", 0))
            self.key_frame_wanted.set()
        elif kind == "layers.wanted":
            self.wanted = list(event["layers"])
        elif kind == "stream.report":
            self.report = event
        elif kind == "format.wanted":
            self.format = event
        elif kind in ("stream.ended", "stream.stopped") and event.get("reason") != "deactivated":
            self.is_ended = True
