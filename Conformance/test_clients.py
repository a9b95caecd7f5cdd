"""Third-party WebSocket clients with a client certificate: Python `websockets` and `aiohttp` over HTTP/1.1, `h2` + `wsproto` over HTTP/2."""

from __future__ import annotations

import asyncio
import random

import aiohttp
import pytest
import websockets
from support.h2_websocket import H2Client, StreamRefused
from support.relay import Relay, demo_identity
from websockets.asyncio.client import connect
from wsproto.events import Pong, TextMessage

# Sizes about each form of the payload length (RFC 6455 §5.2), a TLS record, and HTTP/2's frame and default window.
SIZES = (0, 1, 125, 126, 127, 1_000, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 200_000)
TEXTS = ("", "a", "grüße, 世界, 🎙️", "\0", "x" * 70_000)


def payload(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def url(relay: Relay, scheme: str = "wss", path: str = "/echo") -> str:
    return f"{scheme}://localhost:{relay.port}{path}"


def test_websockets_echoes_texts_and_binaries(relay: Relay) -> None:
    async def run() -> None:
        async with connect(url(relay), ssl=relay.context(), subprotocols=["segue-echo"], compression=None, max_size=1 << 20) as socket:
            assert socket.subprotocol == "segue-echo"
            for text in TEXTS:
                await socket.send(text)
                assert await socket.recv() == text
            for size in SIZES:
                await socket.send(payload(size))
                assert await socket.recv() == payload(size)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_websockets_pipelined_messages_keep_their_order(relay: Relay) -> None:
    async def run() -> None:
        async with connect(url(relay), ssl=relay.context(), compression=None) as socket:
            sent = [payload(index % 300) for index in range(1_000)]

            async def send() -> None:
                for message in sent:
                    await socket.send(message)

            sender = asyncio.create_task(send())
            assert [await socket.recv() for _ in sent] == sent
            await sender

    asyncio.run(asyncio.wait_for(run(), 60))


def test_websockets_fragments_pings_and_close(relay: Relay) -> None:
    async def run() -> None:
        async with connect(url(relay), ssl=relay.context(), compression=None) as socket:
            await socket.send(part for part in ("frag", "men", "", "ted"))
            assert await socket.recv() == "fragmented"
            await asyncio.wait_for(await socket.ping(b"are you there"), 10)
            await socket.close(1000, "done")
            assert socket.close_code == 1000

    asyncio.run(asyncio.wait_for(run(), 60))


def test_websockets_deflate_for_text_only_when_asked(relay: Relay) -> None:
    """RFC 7692: negotiated when offered; text survives it, and so does binary, compressed or not."""

    async def run() -> None:
        async with connect(url(relay), ssl=relay.context(), compression="deflate") as socket:
            names = [extension.name for extension in socket.protocol.extensions]
            assert names == ["permessage-deflate"]
            for text in TEXTS:
                await socket.send(text)
                assert await socket.recv() == text
            await socket.send(payload(5_000))
            assert await socket.recv() == payload(5_000)
        async with connect(url(relay), ssl=relay.context(), compression=None) as socket:
            assert socket.protocol.extensions == []

    asyncio.run(asyncio.wait_for(run(), 60))


def test_websockets_sees_the_refusals(relay: Relay) -> None:
    async def status_of(path: str, **options) -> int:
        with pytest.raises(websockets.exceptions.InvalidStatus) as refusal:
            async with connect(url(relay, path=path), ssl=relay.context(), **options):
                pass
        return refusal.value.response.status_code

    assert asyncio.run(status_of("/nowhere")) == 404
    assert asyncio.run(status_of("/echo", origin="https://evil.example")) == 403
    # RFC 9110 §7.8: Upgrade may be ignored where it means nothing.
    assert asyncio.run(status_of("/healthz")) in (200, 400, 404, 405, 426)


def test_session_path_speaks_segue_v1(relay: Relay) -> None:
    async def run() -> None:
        async with connect(url(relay, path="/v1/session"), ssl=relay.context(), subprotocols=["other.v9", "segue.v1"], compression=None) as socket:
            assert socket.subprotocol == "segue.v1"

    asyncio.run(asyncio.wait_for(run(), 30))


def test_aiohttp_echoes_and_reads_the_endpoints(relay: Relay) -> None:
    async def run() -> None:
        connector = aiohttp.TCPConnector(ssl=relay.context())
        async with aiohttp.ClientSession(connector=connector) as session:
            async with session.ws_connect(url(relay, "https"), protocols=("segue-echo",), max_msg_size=1 << 20) as socket:
                assert socket.protocol == "segue-echo"
                for text in TEXTS:
                    await socket.send_str(text)
                    assert await socket.receive_str() == text
                for size in SIZES:
                    await socket.send_bytes(payload(size))
                    assert await socket.receive_bytes() == payload(size)
                await socket.close(code=1000)
                assert socket.close_code == 1000
            for path in ("/healthz", "/readyz", "/metrics"):
                async with session.get(url(relay, "https", path)) as response:
                    assert response.status == 200, path
            async with session.get(url(relay, "https", "/nowhere")) as response:
                assert response.status == 404
                assert response.content_type == "application/problem+json"
                assert (await response.json())["status"] == 404

    asyncio.run(asyncio.wait_for(run(), 60))


def test_aiohttp_many_clients_at_once(relay: Relay) -> None:
    async def one(session: aiohttp.ClientSession, index: int) -> None:
        async with session.ws_connect(url(relay, "https")) as socket:
            for turn in range(10):
                message = f"client {index}, turn {turn}"
                await socket.send_str(message)
                assert await socket.receive_str() == message

    async def run() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=relay.context(), limit=0)) as session:
            await asyncio.gather(*(one(session, index) for index in range(50)))

    asyncio.run(asyncio.wait_for(run(), 60))


def test_h2_extended_connect_echoes(relay: Relay) -> None:
    with H2Client(relay.port, relay.context(alpn=("h2",))) as client:
        assert client.extended_connect, "RFC 8441 §3 SETTINGS_ENABLE_CONNECT_PROTOCOL is missing"
        socket = client.open_websocket("/echo", ("segue-echo",))
        assert socket.subprotocol == "segue-echo"
        assert "sec-websocket-accept" not in socket.fields, "RFC 8441 §5 no Sec-WebSocket-Accept over HTTP/2"
        for text in TEXTS:
            socket.send_text(text)
            assert socket.receive() == text
        for size in SIZES:
            socket.send_binary(payload(size))
            assert socket.receive() == payload(size)
        socket.ping(b"are you there")
        answer = socket.receive()
        assert isinstance(answer, Pong) and bytes(answer.payload) == b"are you there"
        assert socket.close(1000) == 1000


def test_h2_more_than_the_window_both_ways(relay: Relay) -> None:
    """RFC 9113 §5.2: a message far over the window of either side passes, so window comes back as data is consumed."""
    with H2Client(relay.port, relay.context(alpn=("h2",)), window=65_535) as client:
        socket = client.open_websocket("/echo")
        for turn in range(8):
            message = payload(150_000 + turn)
            socket.send_binary(message)
            assert socket.receive() == message
        assert socket.close() == 1000


def test_h2_several_websockets_share_a_connection_with_requests(relay: Relay) -> None:
    with H2Client(relay.port, relay.context(alpn=("h2",))) as client:
        sockets = [client.open_websocket("/echo") for _ in range(20)]
        for turn in range(5):
            for index, socket in enumerate(sockets):
                socket.send_text(f"socket {index}, turn {turn}")
            status, _, _ = client.request("GET", "/healthz")
            assert status == 200
            for index, socket in reversed(list(enumerate(sockets))):
                assert socket.receive() == f"socket {index}, turn {turn}"
        assert sockets[3].close() == 1000
        sockets[4].send_text("still here")
        assert sockets[4].receive() == "still here"


def test_h2_frames_cut_anywhere(relay: Relay) -> None:
    """A WebSocket frame need not keep to DATA frames: one octet a frame must do."""
    with H2Client(relay.port, relay.context(alpn=("h2",))) as client:
        socket = client.open_websocket("/echo")
        for octet in socket.frames.send(TextMessage(data="cut to pieces")):
            socket.send_bytes(bytes([octet]))
        assert socket.receive() == "cut to pieces"


def test_h2_refusals(relay: Relay) -> None:
    def refusal(path: str, **options) -> StreamRefused:
        with pytest.raises(StreamRefused) as caught:
            client.open_websocket(path, **options)
        return caught.value

    with H2Client(relay.port, relay.context(alpn=("h2",))) as client:
        assert refusal("/nowhere").status == 404
        assert refusal("/echo", fields=(("origin", "https://evil.example"),)).status == 403
        assert refusal("/echo", protocol="connect-udp").status in (400, 501)
        assert client.request("GET", "/nowhere")[0] == 404
        assert client.request("DELETE", "/healthz")[0] == 405
        socket = client.open_websocket("/echo")
        socket.send_text("the connection is none the worse")
        assert socket.receive() == "the connection is none the worse"


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_both_demo_clients_are_let_in(relay: Relay, name: str) -> None:
    status, _, _ = relay.get("/healthz", context=relay.context(identity=demo_identity(relay.state, name)))
    assert status == 200
