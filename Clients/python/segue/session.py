"""The session: asks and answers over whichever connection there is, and sees to it that there is one (protocol sections 3.1, 3.3, 3.16, 3.18, 8)."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from .clock import Backoff, Clock
from .connection import CLOSING_SECONDS_MAX, Connection, parse, refusal
from .errors import Closed, ConnectionFailed, ConnectionLost, FrameError, HandshakeRefused, MessageError, NoAnswer, Refused, SegueError
from .frames import Frame, Limits, Unpacker
from .model import Asked, Model
from .publication import Publication
from .room import Room, Stream
from .tending import exchange_times, report

ANSWER_SECONDS_MAX = 15.0
LOBBY_SECONDS = 0.25
# So many messages are worked off before others get a turn.
MESSAGES_AT_ONCE = 32
# Where the same client may well succeed later (section 8.2).
PASSING_CODES = (1001, 1013)
Token = str | Callable[[], "str | Awaitable[str]"] | None


class Session:
    def __init__(
        self,
        urls: list[str],
        context: ssl.SSLContext | None,
        token: Token,
        greeting: Mapping[str, Any],
        limits: Limits,
        reconnect_seconds: float,
        report_seconds: float | None,
        random: Callable[[], float],
    ) -> None:
        self.state: Literal["idle", "open", "reconnecting", "closed"] = "idle"
        self.welcome: dict[str, Any] = {}
        self.clock = Clock()
        self.over = asyncio.Event()
        self.fault: Exception | None = None
        self.on_event: Callable[[Mapping[str, Any]], None] = lambda event: None
        self.on_frame: Callable[[Stream, Frame], None] = lambda stream, frame: None
        self.on_end: Callable[[Exception | None], None] = lambda fault: None
        self._urls, self._context, self._token, self._greeting, self._limits = urls, context, token, greeting, limits
        self._reconnect_seconds, self._report_seconds, self._random = reconnect_seconds, report_seconds, random
        self.model = Model(self._send_media)
        self._connection: Connection | None = None
        # A second connection that is to replace the first, and whether it goes on with the same session.
        self._successor: tuple[Connection, bool] | None = None
        self._can_resume = True
        self._is_closing = False
        self._opened, self._opening = asyncio.Event(), asyncio.Lock()
        self._ids = itertools.count(1)
        self._asked: dict[int, tuple[Asked, asyncio.Future[dict[str, Any]]]] = {}
        self._keeper: asyncio.Task[None] | None = None
        # What goes on beside the keeper: of a connection, or of a move to another relay.
        self._tasks: set[asyncio.Task[None]] = set()
        self._counts = {"reconnects": 0, "resumptions": 0, "bytesIn": 0, "bytesOut": 0}

    # What there is

    @property
    def room(self) -> Room | None:
        return self.model.room

    @property
    def publications(self) -> dict[int, Publication]:
        return self.model.publications

    @property
    def statistics(self) -> Mapping[str, Any]:
        best, now = self.clock.best, self._connection
        return {
            **self._counts,
            "bytesIn": self._counts["bytesIn"] + (now.bytes_in if now else 0),
            "bytesOut": self._counts["bytesOut"] + (now.bytes_out if now else 0),
            "roundTripMilliseconds": best and best.round_trip,
            "congested": self.model.congested,
            "bitrate": self.model.bitrate,
            "strays": self.model.strays,
        }

    # Beginning and end

    async def begin(self) -> dict[str, Any]:
        if self.state != "idle":
            raise RuntimeError("a client connects once")
        self._adopt(await self._open(None))
        self._set_open()
        self._keeper = asyncio.create_task(self._keep())
        return self.welcome

    async def close(self, code: int, reason: str) -> None:
        self._is_closing = True
        self._cancel_tasks()
        if self.state == "open" and self._connection:
            await self._connection.close(code, reason)
        elif self._keeper:
            self._keeper.cancel()
        if self._keeper:
            await asyncio.wait([self._keeper], timeout=CLOSING_SECONDS_MAX)
            self._keeper.cancel()
        for left in (self._connection, self._successor and self._successor[0]):
            if left:
                left.abort()
        self._end(None)

    def _end(self, fault: Exception | None) -> None:
        if self.over.is_set():
            return
        self.state, self.fault = "closed", fault
        self.over.set()
        self._opened.set()
        self._cancel_tasks()
        self._drop_requests(fault or Closed(1000, "the client was closed"))
        self.on_end(fault)

    def _set_open(self) -> None:
        self.state = "open"
        self._opened.set()

    # Asking

    async def ask(self, kind: str, members: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        if self.state == "idle":
            raise RuntimeError("not connected yet")
        try:
            await asyncio.wait_for(self._opened.wait(), seconds)
        except asyncio.TimeoutError:
            raise NoAnswer(f"{kind}: no connection within {seconds} s") from None
        if self.over.is_set():
            raise self.fault or Closed(1000, "the client was closed")
        return await self.exchange(Asked(kind, members), seconds)

    async def exchange(self, asked: Asked, seconds: float) -> dict[str, Any]:
        number = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[number] = asked, future
        try:
            if self._connection is None:
                raise ConnectionLost(f"{asked.kind}: no connection")
            await self._connection.send(json.dumps({"type": asked.kind, "id": number, **asked.members}))
            return await asyncio.wait_for(future, seconds)
        except asyncio.TimeoutError:
            raise NoAnswer(f"{asked.kind} was not answered within {seconds} s") from None
        except Closed as end:
            raise (self.fault or end) if self.over.is_set() or self._is_closing else ConnectionLost(f"{asked.kind}: {end}") from None
        finally:
            self._asked.pop(number, None)
            # An exception that nobody took would be told of by the loop.
            _ = future.cancel() or future.cancelled() or future.exception()

    def _drop_requests(self, fault: Exception) -> None:
        for _, future in self._asked.values():
            if not future.done():
                future.set_exception(fault)
        self._asked.clear()

    async def _send_media(self, message: bytes) -> None:
        if self._connection is None:
            raise ConnectionLost("no connection")
        await self._connection.send(message)

    # What comes

    async def _read(self, connection: Connection) -> SegueError:
        """Takes what comes over a connection to its end; answers what it ended by. Raises for what no relay says."""
        unpacker = Unpacker(connection.limits)
        helpers = [asyncio.create_task(exchange_times(self.exchange, self.clock))]
        if self._report_seconds is not None:
            helpers.append(asyncio.create_task(report(self.exchange, lambda: self.room if self.state == "open" else None, self._report_seconds)))
        try:
            for count in itertools.count(1):
                message = await connection.receive()
                self._take(message, unpacker)
                if count % MESSAGES_AT_ONCE == 0:
                    await asyncio.sleep(0)
        except (Closed, ConnectionLost) as end:
            return end
        except FrameError as fault:
            await connection.close(fault.code, fault.name)
            raise
        except MessageError:
            await connection.close(1002, "malformed message")
            raise
        finally:
            for helper in helpers:
                helper.cancel()
        raise AssertionError("it counts for ever")

    def _take(self, message: str | bytes, unpacker: Unpacker) -> None:
        if isinstance(message, bytes):
            arrived = time.monotonic()
            for frame in unpacker.take(message):
                if (stream := self.model.frame(frame, arrived)) is not None:
                    self.on_frame(stream, frame)
            return
        received = parse(message)
        try:
            if "id" in received:
                self._answered(received)
            else:
                self._event(received)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise MessageError(f"{received['type']!r} lacks what it must have: {type(fault).__name__}") from fault

    def _answered(self, answer: dict[str, Any]) -> None:
        asked, future = self._asked.get(answer["id"], (None, None))
        if asked is None or future is None or future.done():
            # To a request of a connection before, or one that was waited for too long.
            return
        if answer["type"] == "error":
            future.set_exception(refusal(asked.kind, answer))
            return
        self.model.answered(asked, answer)
        future.set_result(answer)

    def _event(self, event: Mapping[str, Any]) -> None:
        self.model.event(event)
        self.on_event(event)
        if event["type"] == "goaway":
            self._can_resume = False
            self._start(self._move())

    # Connections

    async def _open(self, resume: Mapping[str, Any] | None) -> Connection:
        token = self._token() if callable(self._token) else self._token
        if inspect.isawaitable(token):
            token = await token
        hello = {"id": next(self._ids), **self._greeting, **({"resume": resume} if resume else {})}
        return await Connection.open(self._urls[0], self._context, token, hello, self._limits)

    def _resume(self) -> dict[str, Any]:
        return {"token": self.welcome["resumeToken"], "received": self.model.received()}

    def _adopt(self, connection: Connection) -> None:
        if self._connection:
            self._counts["bytesIn"] += self._connection.bytes_in
            self._counts["bytesOut"] += self._connection.bytes_out
        self._connection, self.welcome = connection, connection.welcome

    async def _keep(self) -> None:
        """Reads, and when a connection has ended comes back, until it is over."""
        try:
            while self._connection:
                fault = await self._read(self._connection)
                if self._is_closing or self.over.is_set():
                    break
                self._opened.clear()
                self.state = "reconnecting"
                self._drop_requests(ConnectionLost("the connection ended before the answer came"))
                for publication in self.publications.values():
                    publication.suspend()
                connection, is_resumed = self._successor or await self._return(fault)
                self._successor = None
                self._cancel_tasks()
                self._counts["reconnects"] += 1
                self._go_on(connection, is_resumed)
            self._end(None)
        except SegueError as fault:
            self._end(fault)
        except asyncio.CancelledError:
            self._end(None)
            raise
        except Exception as fault:
            self._end(fault)
            raise

    async def _return(self, fault: SegueError) -> tuple[Connection, bool]:
        """Tries to come back, to the same session while it is kept, then with a new one. Raises what makes it hopeless."""
        if isinstance(fault, Closed) and fault.code not in PASSING_CODES:
            raise fault
        self.on_event({"type": "client.lost", "reason": str(fault)})
        now = asyncio.get_running_loop().time
        begun, backoff = now(), Backoff(self._random)
        can_resume = isinstance(fault, ConnectionLost) and self._can_resume and not self.model.is_restarting and "resumeToken" in self.welcome
        while now() < begun + self._reconnect_seconds:
            await asyncio.sleep(backoff.next())
            can_resume = can_resume and now() < begun + self.welcome.get("resumeMilliseconds", 0) / 1_000
            async with self._opening:
                if self._successor:
                    return self._successor
                try:
                    return await self._open(self._resume() if can_resume else None), can_resume
                except Refused as refused:
                    if refused.code == "resume_refused":
                        can_resume = False
                    elif not refused.retry:
                        raise
                except HandshakeRefused as refused:
                    if not refused.retry:
                        raise
                except Closed as closed:
                    if closed.code not in PASSING_CODES:
                        raise
                except (ConnectionFailed, ConnectionLost, NoAnswer):
                    pass
            if not can_resume:
                self._urls.append(self._urls.pop(0))
        raise fault

    def _go_on(self, connection: Connection, is_resumed: bool) -> None:
        self._adopt(connection)
        self._can_resume = True
        if not is_resumed:
            self.clock.forget()
            self.model.restart()
            self._start(self._restart())
            return
        self._counts["resumptions"] += 1
        try:
            entries = self.model.resumed(self.welcome["resumed"])
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise MessageError("welcome lacks what was resumed") from fault
        self._start(self._resume_publications(entries))

    async def _resume_publications(self, entries: Mapping[Publication, list[Mapping[str, Any]]]) -> None:
        for publication, found in entries.items():
            await publication.resume(found)
        self._set_open()
        self.on_event({"type": "client.resumed", "gaps": self.welcome["resumed"].get("gaps", [])})

    async def _restart(self) -> None:
        """A new session is brought to where the old one was. When it is lost meanwhile, the next one begins with what is left to do."""
        model = self.model
        if model.joined is not None:
            await self.exchange(Asked("join", model.joined), ANSWER_SECONDS_MAX)
            while self.room and self.room.state == "waiting":
                await asyncio.sleep(LOBBY_SECONDS)
        while self.room and model.unpublished:
            publication = model.unpublished[0]
            answer = await self.exchange(Asked("publish", publication.request, publication), ANSWER_SECONDS_MAX)
            model.unpublished.pop(0)
            await publication.restart(answer["stream"])
        for wish in list(model.wishes) if self.room else ():
            await self.exchange(Asked("subscribe", wish), ANSWER_SECONDS_MAX)
        model.is_restarting = False
        self._set_open()
        self.on_event({"type": "client.restarted"})

    async def migrate(self) -> None:
        async with self._opening:
            if self.state != "open" or self._connection is None:
                raise ConnectionLost("there is no connection to replace")
            old = self._connection
            self._successor = await self._open(self._resume()), True
            # The relay closes the old one, and it is read to its end.
            for _ in range(int(CLOSING_SECONDS_MAX / 0.01)):
                if self._connection is not old:
                    break
                await asyncio.sleep(0.01)
            else:
                old.abort()
        try:
            await asyncio.wait_for(self._opened.wait(), ANSWER_SECONDS_MAX)
        except asyncio.TimeoutError:
            raise NoAnswer("the session did not go on in time") from None

    async def _move(self) -> None:
        """The relay is going away: a session at another one, or behind the same name, before this one is left (section 8.3)."""
        backoff, old = Backoff(self._random), self._connection
        while old and old is self._connection and not self._successor:
            self._urls.append(self._urls.pop(0))
            await asyncio.sleep(backoff.next())
            with contextlib.suppress(ConnectionFailed, ConnectionLost, NoAnswer, HandshakeRefused, Refused, Closed):
                async with self._opening:
                    if self.state == "open":
                        self._successor = await self._open(None), False
        if old and old is self._connection:
            await old.close(1000, "moved")

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        fault = None if task.cancelled() else task.exception()
        if fault is None or isinstance(fault, ConnectionLost):
            # A connection that was lost once more: the keeper knows, and begins anew.
            return
        self._end(fault if isinstance(fault, Exception) else None)
        if self._connection:
            self._connection.abort()

    def _cancel_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
