"""What comes, handed to whoever iterates: bounded, so that a consumer that stands still costs no more than that."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Feed(Generic[Item]):
    """An asynchronous iterator of one consumer. Of a consumer that falls behind, the oldest items are dropped and counted in `dropped`.

    It ends when the client is closed, and raises what the session ended by, once what came before has been taken.
    """

    def __init__(self, length_max: int, wants: Callable[[Item], bool] = lambda item: True) -> None:
        self.dropped = 0
        self._items: deque[Item] = deque()
        self._length_max, self._wants = length_max, wants
        self._changed = asyncio.Event()
        self._is_over = False
        self._fault: Exception | None = None

    def put(self, item: Item) -> None:
        if self._is_over or not self._wants(item):
            return
        if len(self._items) >= self._length_max:
            self._items.popleft()
            self.dropped += 1
        self._items.append(item)
        self._changed.set()

    def end(self, fault: Exception | None = None) -> None:
        self._is_over, self._fault = True, fault
        self._changed.set()

    def __aiter__(self) -> Feed[Item]:
        return self

    async def __anext__(self) -> Item:
        while not self._items:
            if self._is_over:
                if self._fault is not None:
                    raise self._fault
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._items.popleft()
