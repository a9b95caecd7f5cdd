"""What a cluster costs and what its clients notice: several relays, a real nats-server and HAProxy in front, in figures.

    .build/venv/bin/python Conformance/cluster_evidence.py [--clients 60] [--keep FILE] [SCENARIO]…

Every client publishes a frame of audio each 20 ms and gets its room's; what is measured is the gap between two frames of one publisher at one receiver.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import ssl
import statistics
import struct
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.cluster import Cluster, free_port  # noqa: E402
from support.metrics import measure  # noqa: E402
from support.proxies import HAProxy  # noqa: E402
from support.relay import Relay  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402
from websockets.exceptions import ConnectionClosed, WebSocketException  # noqa: E402

FRAME_SECONDS = 0.02
RETRY_SECONDS = 0.05
ROOM_SIZE = 4


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


@dataclass
class Client:
    """A client that makes before it breaks, resumes wherever the balancer sends it, and never gives up."""

    name: str
    room: str
    port: int
    context: ssl.SSLContext
    participant: int = 0
    session: str = ""
    stream: int = 0
    sequence: int = 0
    token: str | None = None
    socket: object = None
    moves: int = 0
    failed: list[str] = field(default_factory=list)
    unseen: list[dict] = field(default_factory=list)
    # By stream: when the last frame came. Gaps above what is usual, and when they ended.
    last: dict[int, float] = field(default_factory=dict)
    gaps: list[tuple[float, float]] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    ended: bool = False
    requests: int = 10
    tasks: list[asyncio.Task] = field(default_factory=list)

    async def open(self) -> tuple[object, dict]:
        hello = {"type": "hello", "id": 1, "versions": [1]}
        if self.token:
            hello["resume"] = {"token": self.token}
        opened = await connect(
            f"wss://localhost:{self.port}/v1/session", ssl=self.context, subprotocols=["segue.v1"], compression=None, ping_interval=None, open_timeout=10
        )
        await opened.send(json.dumps(hello))
        while True:
            message = await asyncio.wait_for(opened.recv(), 10)
            if isinstance(message, str) and (answer := json.loads(message)).get("id") == 1:
                if answer["type"] == "error":
                    await opened.close()
                    raise ConnectionError(answer["code"])
                return opened, answer

    async def ask(self, opened, kind: str, /, **members) -> dict:
        self.requests += 1
        number = self.requests
        await opened.send(json.dumps({"type": kind, "id": number, **members}))
        while True:
            message = await asyncio.wait_for(opened.recv(), 15)
            if isinstance(message, str):
                answer = json.loads(message)
                if answer.get("id") == number:
                    if answer["type"] == "error":
                        raise ConnectionError(f"{kind}: {answer['code']}")
                    return answer
            else:
                self.take(message)

    async def start(self) -> None:
        self.socket, welcome = await self.open()
        self.session, self.token = welcome["session"], welcome["resumeToken"]
        self.participant = (await self.ask(self.socket, "join", room=self.room))["participant"]
        await self.ask(self.socket, "subscribe", all=True)
        self.stream = (await self.ask(self.socket, "publish", kind="audio", codec="opus"))["stream"]
        await self.socket.send(struct.pack("!BBBBIII", 0x13, 0, 0, 0x7F, self.stream, 0, 0))

    def take(self, message: bytes) -> None:
        now = time.monotonic()
        kind, stream = message[0] & 15, int.from_bytes(message[4:8], "big")
        if kind != 0:
            return
        before = self.last.get(stream)
        self.last[stream] = now
        if before is not None:
            self.gaps.append((now - before, now))
        self.delays.append(now - struct.unpack("!d", message[16:24])[0])

    async def talk(self) -> None:
        due = time.monotonic()
        while not self.ended:
            due += FRAME_SECONDS
            await asyncio.sleep(max(0, due - time.monotonic()))
            self.sequence += 1
            frame = struct.pack("!BBBBIII", 0x10, 0, 0, 0x7F, self.stream, self.sequence, self.sequence * 960) + struct.pack("!d", time.monotonic()) + bytes(152)
            try:
                await self.socket.send(frame)
            except ConnectionClosed:
                pass

    async def listen(self) -> None:
        while not self.ended:
            current = self.socket
            try:
                message = await current.recv()
            except ConnectionClosed:
                if current is self.socket and not self.ended:
                    await self.move(current)
                continue
            if isinstance(message, bytes):
                self.take(message)
                continue
            event = json.loads(message)
            if event["type"] == "goaway":
                await self.move(current)
            elif event["type"] in ("participant.left", "participant.joined", "stream.ended", "room.removed"):
                self.unseen.append(event)

    async def move(self, old) -> None:
        """Another connection first, as long as there is one to make; then the old one goes."""
        deadline = time.monotonic() + 30
        while not self.ended:
            try:
                opened, welcome = await self.open()
                break
            except (OSError, WebSocketException, TimeoutError, ConnectionError, EOFError) as fault:
                if time.monotonic() > deadline or "resume_refused" in str(fault):
                    self.failed.append(f"{fault}")
                    self.ended = True
                    return
                await asyncio.sleep(RETRY_SECONDS)
        self.moves += 1
        self.token = welcome["resumeToken"]
        room = welcome.get("resumed", {}).get("room")
        if welcome["session"] != self.session or not room or room["participant"] != self.participant:
            self.failed.append(f"another session or place: {welcome['session']} {room and room['participant']}")
        self.socket = opened
        asyncio.get_running_loop().create_task(self.leave(old))

    async def leave(self, old) -> None:
        """What is still under way over the old connection is taken."""
        try:
            while True:
                message = await asyncio.wait_for(old.recv(), 2)
                if isinstance(message, bytes):
                    self.take(message)
        except (ConnectionClosed, TimeoutError):
            pass
        await old.close()

    async def stop(self) -> None:
        self.ended = True
        if self.socket is not None:
            await self.socket.close()


class Stage:
    """Relays, NATS, a balancer, and clients in rooms that span the relays."""

    def __init__(self, folder: Path, nodes: int, lease: int):
        self.cluster = Cluster(folder, lease=lease)
        self.cluster.nats.start()
        self.names = [f"node-{index}" for index in range(nodes)]
        self.ports = {name: free_port() for name in self.names}
        for name in self.names:
            self.start(name)
        self.cluster.await_nodes()
        servers = "\n".join(f"    server {name} 127.0.0.1:{port} check check-ssl verify none inter 200 fall 1 rise 1" for name, port in self.ports.items())
        self.proxy = HAProxy(
            folder,
            "frontend clients\n    mode tcp\n    bind 127.0.0.1:{port}\n    default_backend relays\n"
            "backend relays\n    mode tcp\n    balance roundrobin\n    retries 3\n    option redispatch 1\n    option httpchk GET /readyz\n    http-check expect status 200\n" + servers + "\n",
        )
        self.proxy.__enter__()
        self.clients: list[Client] = []

    def start(self, name: str) -> None:
        # Health checks show no certificate.
        config = self.cluster.configuration(name, listen=[f"127.0.0.1:{self.ports[name]}"], drainMilliseconds=8_000)
        config["tls"] = {**config["tls"], "clientCertificates": "optional"}
        state = self.cluster.folder / f"{name}-{os.urandom(3).hex()}"
        relay = Relay.start(state, loops=1, config=config, authority=self.cluster.authority.certificate, identity=self.cluster.operator, arguments=("--log", "json"))
        self.cluster.relays[name] = relay
        deadline = time.monotonic() + 30
        while not self.cluster.is_ready(relay):
            assert time.monotonic() < deadline, relay.log()[-2_000:]
            time.sleep(0.05)

    async def gather(self, count: int) -> None:
        identities = [self.cluster.identity(f"client-{index}") for index in range(min(count, 60))]
        for index in range(count):
            identity = identities[index % len(identities)]
            context = ssl.create_default_context(cafile=str(self.cluster.authority.certificate))
            context.load_cert_chain(identity.certificate, identity.key)
            self.clients.append(Client(f"client-{index}", f"room-{index // ROOM_SIZE}", self.proxy.port, context))
        for client in self.clients:
            await client.start()
        for client in self.clients:
            client.tasks = [asyncio.create_task(client.talk()), asyncio.create_task(client.listen())]
        await asyncio.sleep(2)

    def begin(self) -> float:
        for client in self.clients:
            client.gaps.clear()
            client.delays.clear()
            client.unseen.clear()
        return time.monotonic()

    def worst_gaps(self, since: float) -> list[float]:
        """Of each client, the longest gap in any stream that it gets, or would get: what has not ended yet counts as long as it is by now."""
        now = time.monotonic()
        return [
            max([gap for gap, ended in client.gaps if ended >= since] + [now - last for last in client.last.values()], default=now - since) * 1_000
            for client in self.clients
            if not client.failed
        ]

    def silent(self, seconds: float = 1) -> int:
        """How many streams that somebody got before, of publishers that have not ended, bring nothing now."""
        now = time.monotonic()
        return sum(now - last > seconds for client in self.clients if not client.ended for last in client.last.values())

    def all_gaps(self) -> list[float]:
        return [gap * 1_000 for client in self.clients for gap, _ in client.gaps]

    async def stop(self) -> None:
        for client in self.clients:
            await client.stop()
            for task in client.tasks:
                task.cancel()
        self.proxy.__exit__(None, None, None)
        self.cluster.stop()


Row = tuple[str, str, str, bool | None]


def gap_row(what: str, values: list[float], share: float, bound: float) -> Row:
    value = percentile(values, share)
    return (what, f"p{share * 100:.0f} {value:.0f} ms, worst {max(values, default=0):.0f} ms of {len(values)}", f"≤ {bound:.0f} ms", value <= bound)


def silence_row(stage: Stage) -> Row:
    """A stream that never comes back has no gap that ends."""
    streams, silent = sum(len(client.last) for client in stage.clients), stage.silent()
    return ("… streams at receivers, still silent afterwards", f"{streams}, {silent}", "0 silent", silent == 0)


async def kill(stage: Stage) -> list[Row]:
    since = stage.begin()
    stage.cluster.kill(stage.names[0])
    await asyncio.sleep(8)
    moved = sum(client.moves > 0 for client in stage.clients)
    failed = [client.failed for client in stage.clients if client.failed]
    left = sum(event["type"] == "participant.left" for client in stage.clients for event in client.unseen)
    return [
        gap_row("kill −9 a node of 3: media gap of each client", stage.worst_gaps(since), 0.95, 3_000),
        ("… clients that came back elsewhere, failed, leaves seen", f"{moved}, {len(failed)}, {left}", "0 failed, 0 seen", not failed and not left),
        silence_row(stage),
    ]


async def drain(stage: Stage) -> list[Row]:
    since = stage.begin()
    relay = stage.cluster.relays.pop(stage.names[0])
    relay.process.terminate()
    while relay.process.poll() is None:
        await asyncio.sleep(0.1)
    relay.stopped = True
    await asyncio.sleep(1)
    moved = sum(client.moves > 0 for client in stage.clients)
    failed = [client.failed for client in stage.clients if client.failed]
    seen = sum(len(client.unseen) for client in stage.clients)
    return [
        gap_row("drain a node of 3: media gap of each client", stage.worst_gaps(since), 0.95, 150),
        ("… clients that moved, failed, leaves or joins seen", f"{moved}, {len(failed)}, {seen}", "0 failed, 0 seen", not failed and not seen),
        silence_row(stage),
    ]


async def rolling(stage: Stage) -> list[Row]:
    since = stage.begin()
    for name in stage.names:
        relay = stage.cluster.relays.pop(name)
        relay.process.terminate()
        while relay.process.poll() is None:
            await asyncio.sleep(0.1)
        relay.stopped = True
        await asyncio.to_thread(stage.start, name)
        await asyncio.sleep(2)
    failed = [client.failed for client in stage.clients if client.failed]
    gaps = stage.all_gaps()
    worst = stage.worst_gaps(since)
    return [
        gap_row("rolling restart of all nodes: gaps between frames", gaps, 0.99, 300),
        gap_row("… the longest of each client", worst, 0.99, 300),
        ("… sessions that failed", f"{len(failed)} of {len(stage.clients)}", "0", not failed),
        silence_row(stage),
    ]


async def nats(stage: Stage, seconds: float) -> list[Row]:
    stage.cluster.nats.stop()
    await asyncio.sleep(1)
    # Of those whose publisher is on the same node: media that needs nobody else.
    stage.begin()
    await asyncio.sleep(1)
    began = time.monotonic()
    flowing = {(client.name, stream) for client in stage.clients for stream, last in client.last.items() if began - last < 0.5}
    await asyncio.sleep(max(0, seconds - 1))
    ended = time.monotonic()
    silent = sum(ended - client.last[stream] > 1 for client in stage.clients for name, stream in flowing if name == client.name)
    local = [max(gaps) for client in stage.clients if (gaps := [gap * 1_000 for gap, _ in client.gaps])]
    left = [client for client in stage.clients[: ROOM_SIZE * 3] if client.name.endswith(("1", "5"))]
    stage.begin()
    for client in left:
        await client.stop()
    began = time.monotonic()
    stage.cluster.nats.start()
    others = [client for client in stage.clients if not client.ended]
    rooms = {client.room for client in left}
    deadline = began + 30
    while time.monotonic() < deadline:
        told = {
            (client.name, event["participant"]) for client in others for event in client.unseen if event["type"] == "participant.left"
        }
        if all((client.name, gone.participant) in told for gone in left for client in others if client.room == gone.room):
            break
        await asyncio.sleep(0.05)
    took = time.monotonic() - began
    await asyncio.sleep(3)
    twice = sum(
        len(seen) - len(set(seen))
        for client in others
        for seen in [[(event["type"], event.get("participant"), event.get("stream")) for event in client.unseen]]
    )
    return [
        gap_row(f"NATS away for {seconds:.0f} s: gaps of media within a node", local, 0.99, 150),
        ("… streams within a node, silent at the end of it", f"{len(flowing)}, {silent}", "0 silent", bool(flowing) and silent == 0),
        ("… membership right again after NATS is back", f"{took:.1f} s; {len(rooms)} rooms, {twice} told twice", "≤ 5 s, 0", took <= 5 and twice == 0),
    ]


async def hop(stage: Stage) -> list[Row]:
    """Two rooms of two: one on one node, one on two; the same clients, machine and moment."""
    context = stage.clients[0].context
    relays = [stage.cluster.relays[name] for name in stage.names]
    pairs = []
    for room, ports in (("near", (relays[0].port, relays[0].port)), ("far", (relays[0].port, relays[1].port))):
        pair = [Client(f"{room}-{index}", f"hop-{room}", port, context) for index, port in enumerate(ports)]
        for client in pair:
            await client.start()
        for client in pair:
            client.tasks = [asyncio.create_task(client.talk()), asyncio.create_task(client.listen())]
        pairs.append(pair)
    await asyncio.sleep(2)
    before = {name: measure(stage.cluster.relays[name], "segue_cluster_frames_total", "out") for name in stage.names}
    for pair in pairs:
        for client in pair:
            client.delays.clear()
    await asyncio.sleep(10)
    rows: list[Row] = []
    delays = [[delay * 1_000 for client in pair for delay in client.delays] for pair in pairs]
    added = percentile(delays[1], 0.99) - percentile(delays[0], 0.99)
    rows.append(
        (
            "a hop to another node: added one-way latency",
            f"p50 {statistics.median(delays[1]) - statistics.median(delays[0]):.2f} ms, p99 {added:.2f} ms ({len(delays[1])} frames; within a node p99 {percentile(delays[0], 0.99):.2f} ms)",
            "p99 ≤ 5 ms",
            added <= 5,
        )
    )
    for pair in pairs:
        for client in pair:
            await client.stop()
            for task in client.tasks:
                task.cancel()
    del before
    return rows


async def bytes_between(stage: Stage) -> list[Row]:
    """One publisher, three nodes, several subscribers on each: what crosses."""
    context = stage.clients[0].context
    relays = [stage.cluster.relays[name] for name in stage.names]
    publisher = Client("publisher", "bytes", relays[0].port, context)
    await publisher.start()
    listeners = [Client(f"listener-{index}", "bytes", relays[index % 3].port, context) for index in range(9)]
    for listener in listeners:
        await listener.start()
        listener.tasks = [asyncio.create_task(listener.listen())]
    await asyncio.sleep(1)

    def out() -> tuple[float, float]:
        return measure(relays[0], "segue_cluster_frames_total", "out"), measure(relays[0], "segue_cluster_media_bytes_total", "out")

    before = out()
    frames = 200
    for index in range(frames):
        publisher.sequence += 1
        await publisher.socket.send(
            struct.pack("!BBBBIII", 0x10, 0, 0, 0x7F, publisher.stream, publisher.sequence, publisher.sequence * 960) + struct.pack("!d", time.monotonic()) + bytes(152)
        )
        await asyncio.sleep(0.005)
    await asyncio.sleep(1)
    after = out()
    crossed, size = after[0] - before[0], after[1] - before[1]
    for client in [publisher, *listeners]:
        await client.stop()
    # A length, a place and the record go before each frame of 176 bytes.
    expected = frames * 2 * (176 + 24)
    return [
        (
            "one publisher, 9 subscribers on 3 nodes: what crosses",
            f"{crossed:.0f} frames and {size:.0f} bytes for {frames} frames",
            f"{frames * 2} frames, {expected} bytes",
            crossed == frames * 2 and size == expected,
        )
    ]


async def rotation(stage: Stage) -> list[Row]:
    """New server certificates of the same authority; the authority itself is not rotated here."""
    since = stage.begin()
    moves = sum(client.moves for client in stage.clients)
    fresh = stage.cluster.authority.issue("rotated", usage="serverAuth", names="DNS:localhost,IP:127.0.0.1")
    stage.cluster.server.certificate.write_bytes(fresh.certificate.read_bytes())
    stage.cluster.server.key.write_bytes(fresh.key.read_bytes())
    for relay in stage.cluster.relays.values():
        relay.reload()
    await asyncio.sleep(4)
    failed = [client.failed for client in stage.clients if client.failed]
    moved = sum(client.moves for client in stage.clients) - moves
    return [
        gap_row("server certificates renewed on all nodes under load", stage.worst_gaps(since), 0.95, 150),
        ("… sessions dropped or moved", f"{len(failed) + moved}", "0", not failed and moved == 0),
    ]


SCENARIOS = {"hop": (hop, 3), "bytes": (bytes_between, 3), "rotation": (rotation, 3), "drain": (drain, 3), "kill": (kill, 3), "rolling": (rolling, 3), "nats": (nats, 3)}


async def run(names: list[str], clients: int, lease: int, seconds: float) -> list[Row]:
    rows: list[Row] = []
    for name in names:
        scenario, nodes = SCENARIOS[name]
        with tempfile.TemporaryDirectory() as folder:
            stage = Stage(Path(folder), nodes, lease)
            try:
                await stage.gather(1 if name in ("hop", "bytes") else clients)
                found = await (nats(stage, seconds) if name == "nats" else scenario(stage))
            finally:
                await stage.stop()
        for what, value, bound, holds in found:
            print(f"{'ok  ' if holds else 'MISS'} {what}: {value} ({bound})", flush=True)
        rows += found
    return rows


def table(rows: list[Row], clients: int) -> str:
    machine = f"{os.cpu_count()} cores, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}"
    lines = [f"{clients} clients in rooms of {ROOM_SIZE} on three nodes behind HAProxy, a frame of audio each 20 ms from everybody; all processes on one machine ({machine}).", ""]
    lines += ["| What | Found | Demanded | |", "|---|---|---|---|"]
    lines += [f"| {what} | {value} | {bound} | {'' if holds else 'missed'} |" for what, value, bound, holds in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS)}; all without")
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--lease", type=int, default=1_500, help="cluster.leaseMilliseconds")
    parser.add_argument("--nats-seconds", type=float, default=120, help="how long NATS is away")
    parser.add_argument("--keep", type=Path, help="writes the table there as well")
    options = parser.parse_args()
    names = options.scenarios or list(SCENARIOS)
    if unknown := [name for name in names if name not in SCENARIOS]:
        parser.error(f"no scenario is called {unknown[0]}")
    rows = asyncio.run(run(names, options.clients, options.lease, options.nats_seconds))
    text = table(rows, options.clients)
    print("\n" + text)
    if options.keep:
        options.keep.write_text(text)
    return 0 if all(holds for *_, holds in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
