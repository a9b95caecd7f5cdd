"""Relays behind Debian's HAProxy and nginx, by the configurations of Deploy/balancers: many clients through each, known by their own addresses and certificates."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from support.cluster import Cluster, free_port
from support.proxies import HAProxy, version_1, version_2
from support.relay import REPOSITORY, Relay
from support.session import HTTP1, Session
from support.waiting import wait_until
from websockets.asyncio.client import ClientConnection, connect
from websockets.protocol import State

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("haproxy", "nginx", "nats-server"))), reason="no HAProxy, nginx or nats-server here")

FOLDER = REPOSITORY / "Deploy/balancers"
CLIENTS = 200
IDENTITIES = 10
SILENCE_SECONDS = 35


@dataclass
class Stage:
    cluster: Cluster
    ports: dict[str, int]
    agents: dict[str, int]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two relays of a cluster that take PROXY headers from this machine."""
    cluster = Cluster(tmp_path_factory.mktemp("balanced"))
    names = ("relay-1", "relay-2")
    stage = Stage(cluster, {name: free_port() for name in names}, {name: free_port() for name in names})
    try:
        cluster.nats.start()
        for name in names:
            start(stage, name)
        cluster.await_nodes()
        yield stage
    finally:
        for relay in cluster.relays.values():
            relay.process.send_signal(signal.SIGTERM)
            relay.process.wait(30)
        cluster.nats.stop()


def start(stage: Stage, name: str) -> None:
    """Nobody but what comes with a PROXY header is served: the bench asks the agent."""
    config = stage.cluster.configuration(
        name,
        listen=[f"127.0.0.1:{stage.ports[name]}"],
        proxies={"networks": ["127.0.0.0/8"], "tlsProtocol": "required", "agent": f"127.0.0.1:{stage.agents[name]}"},
        drainMilliseconds=6_000,
    )
    config["tls"] = {**config["tls"], "clientCertificates": "optional"}
    stage.cluster.relays[name] = Relay.start(
        stage.cluster.folder / f"{name}-{time.monotonic_ns()}", config=config, authority=stage.cluster.authority.certificate,
        identity=stage.cluster.operator, arguments=("--log", "json"),
    )
    wait_until(f"{name} is up", lambda: asked(stage.agents[name]).startswith("up"), seconds=30)


def asked(port: int) -> str:
    """What the agent says."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        return connection.makefile().read()


@pytest.fixture
def haproxy(stage: Stage, tmp_path: Path) -> Iterator[HAProxy]:
    """Deploy/balancers/haproxy-tcp.cfg as it stands, but for ports and addresses; each relay's agent has a port of its own here."""
    text = (FOLDER / "haproxy-tcp.cfg").read_text()
    places = {"bind :443": "bind 127.0.0.1:{port}", " agent-port 9443": ""}
    for index, name in enumerate(stage.ports, 1):
        places[f"server {name} 10.0.0.1{index}:8443"] = f"server {name} 127.0.0.1:{stage.ports[name]} agent-port {stage.agents[name]}"
    for written, real in places.items():
        assert text.count(written) == 1, written
        text = text.replace(written, real)
    with HAProxy(tmp_path, text, defaults="") as proxy:
        yield proxy


class WithHeader(HTTP1):
    """A PROXY header before TLS begins."""

    def __init__(self, relay: Relay, context: ssl.SSLContext):
        super().__init__(relay, context, ())

    def connection(self, relay: Relay) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", relay.port), timeout=20)
        opened.sendall(version_1("192.0.2.1"))
        return opened


@dataclass
class NGINX:
    port: int
    process: subprocess.Popen


@pytest.fixture
def nginx(stage: Stage, tmp_path: Path) -> Iterator[NGINX]:
    """Deploy/balancers/nginx-stream.conf as it stands, but for ports, addresses and where it writes."""
    text = (FOLDER / "nginx-stream.conf").read_text()
    port = free_port()
    places = {"listen 443;": f"listen 127.0.0.1:{port};", "load_module modules/": "load_module /usr/lib/nginx/modules/"}
    for index, name in enumerate(stage.ports, 1):
        places[f"server 10.0.0.1{index}:8443"] = f"server 127.0.0.1:{stage.ports[name]}"
    for written, real in places.items():
        assert text.count(written) == 1, written
        text = text.replace(written, real)
    path = tmp_path / "nginx.conf"
    path.write_text(f"daemon off;\npid {tmp_path}/nginx.pid;\nerror_log {tmp_path}/error.log;\n" + text)
    process = subprocess.Popen(["nginx", "-c", str(path), "-e", str(tmp_path / "first.log")], stdin=subprocess.DEVNULL)
    wait_until("nginx listens", lambda: reachable(port), seconds=20)
    yield NGINX(port, process)
    process.terminate()
    process.wait(20)


def reachable(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def source(index: int) -> str:
    return f"127.0.{1 + index // 200}.{1 + index % 200}"


async def client(stage: Stage, port: int, index: int) -> tuple[ClientConnection, dict]:
    context = ssl.create_default_context(cafile=str(stage.cluster.authority.certificate))
    identity = stage.cluster.identity(f"client-{index % IDENTITIES}")
    context.load_cert_chain(identity.certificate, identity.key)
    opened = await connect(
        f"wss://localhost:{port}/v1/session", host="127.0.0.1", local_addr=(source(index), 0), ssl=context, subprotocols=["segue.v1"],
        compression=None, ping_interval=None, open_timeout=30,
    )
    await opened.send(json.dumps({"type": "hello", "id": 1, "versions": [1]}))
    return opened, json.loads(await asyncio.wait_for(opened.recv(), 30))


async def crowd(stage: Stage, port: int) -> list[tuple[ClientConnection, dict]]:
    for index in range(IDENTITIES):
        stage.cluster.identity(f"client-{index}")
    gate = asyncio.Semaphore(20)

    async def enter(index: int) -> tuple[ClientConnection, dict]:
        async with gate:
            return await client(stage, port, index)

    return list(await asyncio.gather(*(enter(index) for index in range(CLIENTS))))


def sessions_by_log(relay: Relay) -> dict[str, tuple[str, str]]:
    """Of each session that has ended: whose it was, and from where."""
    found = {}
    for line in relay.log().splitlines():
        if '"session_ended"' in line:
            event = json.loads(line)
            found[event["session"]] = (event["identity"], event["address"].rsplit(":", 1)[0])
    return found


@pytest.mark.parametrize("front", ["haproxy", "nginx"])
def test_two_hundred_clients_are_known_by_their_own_addresses_and_certificates(request: pytest.FixtureRequest, stage: Stage, front: str) -> None:
    port = request.getfixturevalue(front).port

    async def run() -> dict[str, tuple[str, str]]:
        opened = await crowd(stage, port)
        expected = {}
        for index, (_, welcome) in enumerate(opened):
            name = f"urn:segue:client:client-{index % IDENTITIES}"
            assert welcome["identity"]["name"] == name
            expected[welcome["session"]] = (name, source(index))
        await asyncio.gather(*(connection.close() for connection, _ in opened))
        return expected

    expected = asyncio.run(run())
    assert len(expected) == CLIENTS

    def known() -> dict[str, tuple[str, str]]:
        return {session: what for relay in stage.cluster.relays.values() for session, what in sessions_by_log(relay).items()}

    wait_until("all have ended", lambda: expected.keys() <= known().keys(), seconds=30)
    found = known()
    assert {session: found[session] for session in expected} == expected
    served = [sum(session in sessions_by_log(relay) for session in expected) for relay in stage.cluster.relays.values()]
    assert min(served) > CLIENTS // 10, f"one relay got nearly all: {served}"


@pytest.mark.hostile
@pytest.mark.parametrize("header", [version_1("203.0.113.9"), version_2("203.0.113.9")], ids=["version 1", "version 2"])
@pytest.mark.parametrize("front", ["haproxy", "nginx"])
def test_a_client_that_claims_an_address_by_a_header_of_its_own_is_not_believed(
    request: pytest.FixtureRequest, stage: Stage, front: str, header: bytes
) -> None:
    port = request.getfixturevalue(front).port
    context = ssl.create_default_context(cafile=str(stage.cluster.authority.certificate))
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(header)
        with pytest.raises((ssl.SSLError, OSError)):
            context.wrap_socket(connection, server_hostname="localhost")
    assert not any("203.0.113.9" in relay.log() for relay in stage.cluster.relays.values())


def test_a_backend_that_drains_takes_its_clients_to_the_other(stage: Stage, haproxy: HAProxy) -> None:
    """Each resumes through the balancer, which sends nobody to a relay that drains: no session is lost, and nobody is refused."""

    async def run() -> None:
        opened = await crowd(stage, haproxy.port)
        drained = stage.cluster.relays.pop("relay-1")
        went = []

        async def stay(index: int, connection: ClientConnection, welcome: dict) -> None:
            while True:
                message = json.loads(await asyncio.wait_for(connection.recv(), 60))
                if message["type"] == "goaway":
                    break
            again, answer = await resume(stage, haproxy.port, index, welcome)
            assert answer["type"] == "welcome" and answer["session"] == welcome["session"], answer
            went.append(index)
            await connection.close()
            await again.close()

        here = {welcome["session"] for _, welcome in opened}
        assert len(here) == CLIENTS
        drained.process.send_signal(signal.SIGTERM)
        tasks = [asyncio.create_task(stay(index, *pair)) for index, pair in enumerate(opened)]
        while drained.process.poll() is None:
            await asyncio.sleep(0.05)
        drained.stopped = True
        # Some may still be on their way back.
        moving = [task for task, (connection, _) in zip(tasks, opened, strict=True) if connection.state is not State.OPEN]
        if moving:
            await asyncio.wait(moving, timeout=60)
        done = [task for task in tasks if task.done()]
        for task in done:
            task.result()
        assert len(went) == len(done) > CLIENTS // 10
        # The rest was on the other relay all along, and is there still.
        for task, (connection, _) in zip(tasks, opened, strict=True):
            if not task.done():
                task.cancel()
                await connection.ping()
                await connection.close()

    asyncio.run(run())
    assert asked(stage.agents["relay-2"]).startswith("up")
    start(stage, "relay-1")


async def resume(stage: Stage, port: int, index: int, welcome: dict) -> tuple[ClientConnection, dict]:
    context = ssl.create_default_context(cafile=str(stage.cluster.authority.certificate))
    identity = stage.cluster.identity(f"client-{index % IDENTITIES}")
    context.load_cert_chain(identity.certificate, identity.key)
    last = None
    for _ in range(200):
        try:
            opened = await connect(
                f"wss://localhost:{port}/v1/session", host="127.0.0.1", local_addr=(source(index), 0), ssl=context, subprotocols=["segue.v1"],
                compression=None, ping_interval=None, open_timeout=30,
            )
        except Exception as fault:  # noqa: BLE001 – the balancer learns of a drain by its next check: a client tries again.
            last = fault
            await asyncio.sleep(0.1)
            continue
        await opened.send(json.dumps({"type": "hello", "id": 1, "versions": [1], "resume": {"token": welcome["resumeToken"]}}))
        answer = json.loads(await asyncio.wait_for(opened.recv(), 30))
        if answer["type"] == "welcome":
            return opened, answer
        await opened.close()
        last = answer
        assert answer.get("retry"), answer
        await asyncio.sleep(0.1)
    raise AssertionError(f"no way back: {last!r}")


def test_the_agent_says_how_much_more_a_relay_would_take_and_that_it_drains(stage: Stage) -> None:
    assert re.fullmatch(r"up ready \d+%\n", asked(stage.agents["relay-2"]))
    relay = stage.cluster.relays["relay-2"]
    # A session that waits keeps the relay in its drain.
    with behind(stage, "relay-2") as session:
        relay.process.send_signal(signal.SIGTERM)
        wait_until("it drains", lambda: asked(stage.agents["relay-2"]) == "drain\n")
        assert session.event("goaway")["deadlineMilliseconds"] <= 6_000
        relay.process.send_signal(signal.SIGUSR1)
        assert session.event("goaway.cancelled")
        wait_until("it stays", lambda: asked(stage.agents["relay-2"]).startswith("up ready"))
        session.barrier()


def behind(stage: Stage, name: str) -> Session:
    """A session that comes with a PROXY header of this bench's own."""
    relay = stage.cluster.relays[name]
    return Session(relay, transport=WithHeader(relay, relay.context(identity=stage.cluster.identity("client-0"))))


def test_idle_timeouts_let_the_relay_decide_who_is_silent() -> None:
    """Longer in every file than the relay waits for a silent client."""
    haproxy = [int(seconds) for path in FOLDER.glob("haproxy-*.cfg") for seconds in re.findall(r"timeout (?:client|server|tunnel) (\d+)s", path.read_text())]
    nginx = [int(seconds) for seconds in re.findall(r"proxy_timeout (\d+)s", (FOLDER / "nginx-stream.conf").read_text())]
    envoy = [int(seconds) for seconds in re.findall(r"idle_timeout: (\d+)s", (FOLDER / "envoy-tcp.yaml").read_text())]
    assert len(haproxy) == 5 and len(nginx) == 1 and len(envoy) == 1
    assert min(haproxy + nginx + envoy) > SILENCE_SECONDS


def test_envoys_file_is_yaml_of_the_shape_that_envoy_documents() -> None:
    resources = yaml.safe_load((FOLDER / "envoy-tcp.yaml").read_text())["static_resources"]
    named = [part["typed_config"]["@type"] for listener in resources["listeners"] for chain in listener["filter_chains"] for part in chain["filters"]]
    assert named == ["type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"]
    assert {cluster["name"] for cluster in resources["clusters"]} == {"relays"}


