"""The Python client library against a relay that says what no relay says: each fault is an exception, told to everybody who waits. Nothing hangs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from support.python_client import JOINED, WELCOME, FakeRelay, run
from websockets.asyncio.server import ServerConnection

import segue  # isort: skip  (found by support.python_client)
from segue import Client, FrameError, MessageError  # isort: skip
from segue import client as client_module  # isort: skip
from segue import connection as connection_module  # isort: skip

HEADER = bytes.fromhex("1000007f 00000001 00000002 00000003")
STREAM = {"stream": 1, "participant": 1, "kind": "audio", "codec": "opus"}
# What comes in place of the answer to `leave`, and what it is an instance of.
FAULTS: dict[str, tuple[bytes | str, type[Exception], str]] = {
    "an empty frame": (b"", FrameError, "media_header_truncated"),
    "half a header": (HEADER[:9], FrameError, "media_header_truncated"),
    "another version": (b"\x20" + HEADER[1:], FrameError, "media_version_unsupported"),
    "another kind": (b"\x1f" + HEADER[1:], FrameError, "media_kind_unknown"),
    "a bundle in a bundle": (bytes.fromhex("1400007f") + bytes(12) + b"\0\0\0\x10" + bytes.fromhex("1400007f") + bytes(12), FrameError, "media_bundle_nested"),
    "a part that follows nothing": (b"\x15\0" + HEADER[2:] + bytes.fromhex("00000010 00000100") + b"x", FrameError, "media_part_out_of_order"),
    "an audio frame too long": (HEADER + bytes(8_192), FrameError, "media_frame_over_audioFrameBytesMax"),
    "no JSON": ("{", MessageError, "no JSON"),
    "JSON too deep": ("[" * 100_000, MessageError, "no JSON"),
    "no object": ("[1]", MessageError, "no object"),
    "no type": ('{"id":1}', MessageError, "no object with a type"),
    "a type that is no word": ('{"type":[]}', MessageError, "no object with a type"),
    "an event without its members": ('{"type":"participant.joined"}', MessageError, "participant.joined"),
    "an event with members of another type": ('{"type":"stream.ended","stream":[]}', MessageError, "stream.ended"),
    "an identity without a name": ('{"type":"participant.joined","participant":2,"role":"speaker","identity":7}', MessageError, "participant.joined"),
    "an id that is none": ('{"type":"ok","id":{}}', MessageError, "'ok'"),
}


def say(request: str, message: bytes | str) -> Callable[[ServerConnection, dict], Awaitable[None]]:
    async def script(socket: ServerConnection, asked: dict) -> None:
        if asked["type"] == request:
            await socket.send(message)

    return script


@pytest.mark.parametrize("name", FAULTS)
def test_what_no_relay_says_ends_the_session_and_everybody_is_told(name: str) -> None:
    message, kind, text = FAULTS[name]

    async def work() -> None:
        async with FakeRelay(say("leave", message)) as relay, Client(relay.url) as client:
            await client.join("r")
            frames, events = client.frames(), client.events()
            with pytest.raises(kind, match=text):
                await client.request("leave")
            assert isinstance(await client.closed(), kind) and client.state == "closed"
            for waits in (anext(frames), anext(events), client.request("leave"), client.join("r"), client.event("room.removed")):
                with pytest.raises(kind):
                    await waits
            assert relay.connections == 1, "the same client would fail the same way"

    run(work())


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"type": "error", "code": "internal"}, MessageError),
        ({"type": "error", "code": "internal", "message": "It failed.", "retry": "yes"}, MessageError),
        ({"type": "error", "code": "internal", "message": "It failed.", "retry": True}, segue.Refused),
        ({key: value for key, value in JOINED.items() if key != "streams"}, MessageError),
        (JOINED | {"participants": 7}, MessageError),
        (JOINED | {"streams": [{"stream": 1}]}, MessageError),
    ],
)
def test_an_answer_that_lacks_what_it_must_have_is_told_to_who_asked(answer: dict, kind: type[Exception]) -> None:
    async def script(socket: ServerConnection, asked: dict) -> None:
        if asked["type"] == "join":
            await socket.send(json.dumps({**answer, "id": asked["id"]}))

    async def work() -> None:
        async with FakeRelay(script) as relay, Client(relay.url) as client:
            with pytest.raises(kind):
                await client.join("r")
            assert client.state == ("open" if kind is segue.Refused else "closed")

    run(work())


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (b"media", MessageError),
        ("?", MessageError),
        (json.dumps({"type": "ok", "id": 1}), MessageError),
        (json.dumps({**WELCOME, "id": 77}), MessageError),
        (json.dumps({"type": "welcome", "id": 1}), MessageError),
        (json.dumps({**WELCOME, "id": 1, "limits": {"audioFrameBytesMax": "many"}}), MessageError),
        (json.dumps({"type": "error", "id": 1, "code": "version", "message": "It speaks 2.", "retry": False}), segue.Refused),
    ],
    ids=["media", "no JSON", "ok", "another id", "no limits", "limits that are none", "error"],
)
def test_a_beginning_that_is_none_is_told(message: bytes | str, kind: type[Exception]) -> None:
    async def work() -> None:
        async with FakeRelay(say("hello", message)) as relay:
            with pytest.raises(kind):
                async with Client(relay.url):
                    pass

    run(work())


@pytest.mark.parametrize(("code", "reason"), [(1008, "certificate_expired"), (1002, "broken"), (1000, "replaced"), (4000, "whatever")])
def test_a_close_frame_that_is_final_is_raised_as_it_is(code: int, reason: str) -> None:
    async def script(socket: ServerConnection, asked: dict) -> None:
        if asked["type"] == "leave":
            await socket.close(code, reason)

    async def work() -> None:
        async with FakeRelay(script) as relay, Client(relay.url) as client:
            await client.join("r")
            frames = client.frames()
            with pytest.raises((segue.Closed, segue.ConnectionLost)):
                await client.request("leave")
            ended = await client.closed()
            assert isinstance(ended, segue.Closed) and (ended.code, ended.reason) == (code, reason)
            with pytest.raises(segue.Closed):
                await anext(frames)

    run(work())


@pytest.mark.parametrize("end", ["1001", "1013", "cut"])
def test_after_an_end_that_passes_the_client_comes_back_and_is_in_its_room(end: str) -> None:
    """This relay keeps no sessions: what comes back is a new one."""
    asked: list[str] = []

    async def script(socket: ServerConnection, request: dict) -> None:
        asked.append(request["type"])
        if request["type"] == "leave" and asked.count("leave") == 1:
            if end == "cut":
                socket.transport.abort()
            else:
                await socket.close(int(end), "later")
        elif request["type"] == "subscribe":
            await socket.send(json.dumps({"type": "ok", "id": request["id"], "subscribed": []}))

    async def work() -> None:
        async with FakeRelay(script) as relay, Client(relay.url, random=lambda: 0.0) as client:
            await client.join("r")
            await client.subscribe(all=True)
            back = asyncio.create_task(client.event("client.restarted", seconds=30))
            await asyncio.sleep(0)
            with pytest.raises(segue.ConnectionLost):
                await client.request("leave")
            await back
            assert [kind for kind in asked if kind != "time"] == ["hello", "join", "subscribe", "leave", "hello", "join", "subscribe"]
            assert client.state == "open" and relay.connections == 2 and client.statistics["reconnects"] == 1

    run(work())


def test_a_relay_that_never_answers_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ANSWER_SECONDS_MAX", 0.2)

    async def work() -> None:
        async with FakeRelay(say("nothing", "")) as relay, Client(relay.url) as client:
            with pytest.raises(segue.NoAnswer):
                await client.request("leave")
            with pytest.raises(segue.NoAnswer):
                await client.event("room.removed", seconds=0.1)
            assert client.state == "open"

    run(work())


@pytest.mark.parametrize("stage", ["tcp", "hello", "later"])
def test_a_relay_that_falls_silent_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    monkeypatch.setattr(connection_module, "OPENING_SECONDS_MAX", 0.3 if stage != "later" else 15)
    monkeypatch.setattr(connection_module, "SILENCE_SECONDS_MAX", 0.5)
    silent = asyncio.Event()

    async def script(socket: ServerConnection, request: dict) -> None:
        if request["type"] == ("hello" if stage == "hello" else "leave"):
            await silent.wait()

    async def work() -> None:
        if stage == "tcp":
            listener = await asyncio.start_server(lambda reader, writer: silent.wait(), "127.0.0.1", 0)
            with pytest.raises(segue.ConnectionFailed):
                await Client(f"ws://127.0.0.1:{listener.sockets[0].getsockname()[1]}").connect()
            listener.close()
            return
        async with FakeRelay(script) as relay:
            if stage == "hello":
                with pytest.raises(segue.NoAnswer):
                    await Client(relay.url).connect()
            else:
                async with Client(relay.url, reconnect_seconds=0) as client:
                    with pytest.raises(segue.SegueError):
                        await client.request("leave")
                    assert isinstance(await client.closed(), segue.ConnectionLost)
            silent.set()

    run(work())


def test_who_gives_up_says_by_what_it_ended_and_a_client_can_be_closed_while_it_tries() -> None:
    async def script(socket: ServerConnection, request: dict) -> None:
        if request["type"] == "leave":
            socket.transport.abort()

    async def work() -> None:
        async with FakeRelay(script) as relay:
            patient, hasty = Client(relay.url), Client(relay.url, reconnect_seconds=0.5)
            for client in (patient, hasty):
                await client.connect()
            relay.server.close(close_connections=False)
            for client in (patient, hasty):
                with pytest.raises(segue.ConnectionLost):
                    await client.request("leave")
            assert isinstance(await hasty.closed(), segue.ConnectionLost)
            assert patient.state == "reconnecting"
            frames = patient.frames()
            await patient.close()
            assert [frame async for frame in frames] == [] and patient.state == "closed"

    run(work())


def test_what_is_not_known_is_passed_over() -> None:
    """Newer relays say more (protocol §3): types and members, frames of streams that are not there."""

    async def script(socket: ServerConnection, request: dict) -> None:
        if request["type"] == "join":
            joined = JOINED | {"streams": [STREAM | {"colour": "red"}], "weather": "fair"}
            await socket.send(json.dumps({**joined, "id": request["id"]}))
        if request["type"] == "leave":
            for message in ('{"type":"weather.changed","participant":7}', HEADER[:7] + b"\x63" + HEADER[8:], HEADER + b"\xf8", '{"type":"ok","id":12345}'):
                await socket.send(message)
            await socket.send(json.dumps({"type": "ok", "id": request["id"]}))

    async def work() -> None:
        async with FakeRelay(script) as relay, Client(relay.url) as client:
            room = await client.join("r")
            frames, events = client.frames(), client.events("weather.changed")
            assert room.streams[1].participant is None
            await client.leave()
            assert [(stream.number, frame.payload) async for stream, frame in frames] == [(1, b"\xf8")]
            assert (await anext(events))["participant"] == 7 and client.statistics["strays"] == 1

    run(work())
