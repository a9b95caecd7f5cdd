"""A client of a relay: one session, one room at a time, over connections that come and go."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast
from weakref import WeakSet

from . import messages
from .clock import Clock
from .connection import tls_context
from .errors import Closed, ConnectionLost, NoAnswer
from .feed import Feed, Item
from .frames import Frame, Limits
from .publication import Publication
from .requests import Requests
from .room import Room, Stream
from .session import Session

Token = str | Callable[[], "str | Awaitable[str]"]
Event = Mapping[str, Any]
ANSWER_SECONDS_MAX = 15.0
STREAM_END_SECONDS = 3.0


class _Requests(Requests):
    def __init__(self, client: Client) -> None:
        self._client = client

    async def _ask(self, kind: str, members: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self._client.request(kind, **members)


class Client:
    """Use as an asynchronous context manager, or call `connect` and `close`.

    `urls` are relays that serve the same rooms, as "wss://relay.example.org:8443"; one is enough. Who one is, a certificate with its key says, or a
    bearer token, or both; `token` may be a function that answers a fresh one, asked for each connection. A connection that is lost is made anew, for up
    to `reconnect_seconds`; the room, the streams and the subscriptions go on. After that, iterators and waits raise what it ended by.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        authority: str | Path | None = None,
        certificate: str | Path | None = None,
        key: str | Path | None = None,
        context: ssl.SSLContext | None = None,
        token: Token | None = None,
        name: str = "segue-python",
        version: str | None = None,
        device: str | None = None,
        wishes: messages.HelloRequestWishes | None = None,
        limits: Limits = Limits(),
        reconnect_seconds: float = 60.0,
        report_seconds: float | None = 2.0,
        random: Callable[[], float] = random.random,
    ) -> None:
        greeting: dict[str, Any] = {"client": {"name": name, "version": version} if version else {"name": name}}
        greeting |= {} if device is None else {"device": device}
        greeting |= {} if wishes is None else {"wishes": wishes}
        self._session = Session(
            [urls] if isinstance(urls, str) else list(urls),
            context or tls_context(authority, certificate, key),
            token,
            greeting,
            limits,
            reconnect_seconds,
            report_seconds,
            random,
        )
        self._session.on_event, self._session.on_frame, self._session.on_end = self._event, self._frame, self._ended
        self._session.model.on_left, self._session.model.on_ended = self._left, self._stream_ended
        self.requests: Requests = _Requests(self)
        self._media: WeakSet[Feed[tuple[Stream, Frame | None]]] = WeakSet()
        self._events: WeakSet[Feed[Event]] = WeakSet()

    # Connecting

    async def connect(self) -> messages.Welcome:
        """Raises ConnectionFailed, HandshakeRefused, Refused, NoAnswer and what else an opening can fail by; from then on losses are made good."""
        return cast(messages.Welcome, await self._session.begin())

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Ends the session in good order. Iterators end; requests that wait raise Closed."""
        await self._session.close(code, reason)

    async def __aenter__(self) -> Client:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def migrate(self) -> None:
        """Takes the session to a new connection before the old one ends, as when the network has changed (make before break, section 3.18)."""
        await self._session.migrate()

    async def closed(self) -> Exception | None:
        """Waits until the session is over; answers what it ended by, None when `close` was called."""
        await self._session.over.wait()
        return self._session.fault

    @property
    def state(self) -> Literal["idle", "open", "reconnecting", "closed"]:
        return self._session.state

    @property
    def welcome(self) -> messages.Welcome:
        """The latest: identity, session, node, limits."""
        return cast(messages.Welcome, self._session.welcome)

    @property
    def room(self) -> Room | None:
        return self._session.room

    @property
    def publications(self) -> Mapping[int, Publication]:
        """One's own streams by their numbers."""
        return self._session.publications

    @property
    def clock(self) -> Clock:
        return self._session.clock

    def server_time(self, local: float | None = None) -> float | None:
        """Milliseconds since 1970 at the relay, now or when `time.monotonic()` was `local`; None until a first exchange is there."""
        return self.clock.server_time((time.monotonic() if local is None else local) * 1_000)

    @property
    def statistics(self) -> Mapping[str, Any]:
        """Reconnects, resumptions, bytes, round trip (milliseconds), and whether the relay finds the connection congested, with its bit rate if known."""
        return self._session.statistics

    # Asking

    async def request(self, kind: str, /, **members: Any) -> dict[str, Any]:
        """Any request of the protocol; members that are None are left out. `requests` has them all with types.

        Raises Refused, NoAnswer, ConnectionLost (it may or may not have been done), Closed.
        """
        given = {name: value for name, value in members.items() if value is not None}
        return await self._session.ask(kind, given, ANSWER_SECONDS_MAX)

    async def join(self, room: str, *, role: messages.Role | None = None, display_name: str | None = None, grant: str | None = None) -> Room:
        """The room's `state` is "waiting" where there is a lobby; the event `room.admitted` or `room.removed` says what has come of it."""
        await self.request("join", room=room, role=role, displayName=display_name, grant=grant)
        if self.room is None:
            raise ConnectionLost("the room was left, or lost, meanwhile")
        return self.room

    async def leave(self) -> None:
        await self.request("leave")

    async def publish(
        self,
        kind: messages.StreamKind,
        codec: str,
        *,
        configuration: bytes = b"",
        description: messages.StreamDescription | None = None,
        source: str | None = None,
        layers: list[messages.StreamLayer] | None = None,
        priority: Literal["very-low", "low", "medium", "high"] | None = None,
    ) -> Publication:
        """Announces a stream and sends its configuration (section 5.5); `Publication.send` sends its frames."""
        answer = await self.request("publish", kind=kind, codec=codec, description=description, source=source, layers=layers, priority=priority)
        if (publication := self.publications.get(answer["stream"])) is None:
            raise ConnectionLost("the stream was ended, or lost, meanwhile")
        await publication.configure(configuration)
        return publication

    async def unpublish(self, publication: Publication) -> None:
        await self.request("unpublish", stream=publication.stream)

    async def subscribe(self, **members: Any) -> messages.SubscribeOK:
        """As `requests.subscribe`: `all=True`, `sources=[…]` or `streams=[…]`, and wishes. `all` and `sources` hold in a new session, too."""
        return cast(messages.SubscribeOK, await self.request("subscribe", **members))

    async def unsubscribe(self, **members: Any) -> messages.UnsubscribeOK:
        return cast(messages.UnsubscribeOK, await self.request("unsubscribe", **members))

    # What comes

    def frames(self, length_max: int = 4_096) -> Feed[tuple[Stream, Frame]]:
        """Every frame that comes from now on, configurations included, each with its stream: `async for stream, frame in client.frames()`.

        It ends when the room is left, whoever has ended that.
        """
        return cast("Feed[tuple[Stream, Frame]]", self._add(self._media, Feed(length_max, lambda item: item[1] is not None)))

    def media(self, length_max: int = 4_096) -> Feed[tuple[Stream, Frame | None]]:
        """As `frames`, and None in place of a frame when nothing more comes of a stream: some seconds after its end."""
        return self._add(self._media, Feed(length_max))

    def events(self, *kinds: str, length_max: int = 1_024) -> Feed[Event]:
        """The relay's events of these types (all: without any) from now on, after the room model took them.

        The client's own have types too: `client.lost`, `client.resumed` (what is missing is told by `stream.gap`), and `client.restarted`: a new session,
        in the same room, with new numbers of participants and streams.
        """
        feed: Feed[Event] = Feed(length_max, (lambda event: event["type"] in kinds) if kinds else lambda event: True)
        return self._add(self._events, feed)

    async def event(self, kind: str, *, seconds: float = ANSWER_SECONDS_MAX, **members: Any) -> Event:
        """Waits for the next event of that type with these members. Raises NoAnswer when none comes, and what the session ended by."""

        async def found() -> Event:
            async for event in feed:
                if all(event.get(name) == value for name, value in members.items()):
                    return event
            raise Closed(1000, "the client was closed")

        feed = self.events(kind)
        try:
            return await asyncio.wait_for(found(), seconds)
        except asyncio.TimeoutError:
            raise NoAnswer(f"no {kind} within {seconds} s") from None

    def _add(self, feeds: WeakSet[Feed[Item]], feed: Feed[Item]) -> Feed[Item]:
        feeds.add(feed)
        if self._session.over.is_set():
            feed.end(self._session.fault)
        return feed

    def _event(self, event: Event) -> None:
        for feed in list(self._events):
            feed.put(event)

    def _frame(self, stream: Stream, frame: Frame | None) -> None:
        for feed in list(self._media):
            feed.put((stream, frame))

    def _stream_ended(self, stream: Stream) -> None:
        """What is queued, or in a buffer of the relay's, may still come (sections 3.12, 6.5)."""

        def over() -> None:
            if self.room:
                self.room.forget(stream)
            self._frame(stream, None)

        asyncio.get_running_loop().call_later(STREAM_END_SECONDS, over)

    def _left(self) -> None:
        for feed in list(self._media):
            feed.end()
        self._media.clear()

    def _ended(self, fault: Exception | None) -> None:
        for media in list(self._media):
            media.end(fault)
        for events in list(self._events):
            events.end(fault)
