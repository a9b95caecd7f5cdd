"""Fixtures: relays as processes, shared by a module so that a crash is pinned to the module that caused it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.protocol_description import Description  # noqa: E402
from support.relay import Relay, binary  # noqa: E402
from support.traffic import TRAFFIC, Judge, Verdict  # noqa: E402

VERDICT = pytest.StashKey[tuple[Verdict, Description]]()
WORKERS = pytest.StashKey[list[tuple[list[str], dict[str, int]]]]()
FAULTS_SHOWN_MAX = 50
# Apart from failed benches (1): those may be asked once more by Deploy/test, this not.
NOT_AS_DESCRIBED = 8


def pytest_configure(config: pytest.Config) -> None:
    if not binary().exists():
        raise pytest.UsageError(f"no relay at {binary()}: build it (`swift build -c release`) or name another by SEGUE_BIN")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    TRAFFIC.begin(item.nodeid, item.get_closest_marker("hostile") is not None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Holds every control message of the run against the protocol's description; one that is not in it fails the run.

    Of benches that run side by side, each worker judges its own messages, and the run what they found together.
    """
    description = Description.of_binary()
    verdict = Judge(description).judge(TRAFFIC.records)
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["verdict"] = (verdict.faults, dict(verdict.seen))
        return
    for faults, seen in session.config.stash.get(WORKERS, []):
        verdict.faults.extend(faults)
        verdict.seen.update(seen)
    if not verdict.seen and not verdict.faults:
        return
    session.config.stash[VERDICT] = verdict, description
    if verdict.faults and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.TESTS_FAILED):
        session.exitstatus = NOT_AS_DESCRIBED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:  # noqa: ANN001
    """A worker has ended; what it found is there unless it was killed, which fails the run by itself."""
    if (found := getattr(node, "workeroutput", {}).get("verdict")) is not None:
        node.config.stash.setdefault(WORKERS, []).append(found)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if (found := config.stash.get(VERDICT, None)) is None:
        return
    verdict, description = found
    if verdict.faults:
        terminalreporter.section("messages that are not as described", red=True)
        for fault in verdict.faults[:FAULTS_SHOWN_MAX]:
            terminalreporter.line(fault)
        if (more := len(verdict.faults) - FAULTS_SHOWN_MAX) > 0:
            terminalreporter.line(f"and {more} more")
        # Among the closing lines: a run in which every bench has passed fails for it all the same.
        terminalreporter.line(f"NOTICE {len(verdict.faults)} control messages are not as described: the run has failed")
    terminalreporter.line(verdict.summary(description))


@pytest.fixture(scope="module")
def start_relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Relay]]:
    """Starts relays; each is ended and judged when the module is done."""
    started: list[Relay] = []

    def start(name: str = "relay", **options) -> Relay:
        relay = Relay.start(tmp_path_factory.mktemp(name), **options)
        started.append(relay)
        return relay

    yield start
    faults = []
    for relay in started:
        try:
            relay.stop()
        except AssertionError as fault:
            faults.append(str(fault))
    assert not faults, "\n".join(faults)


@pytest.fixture(scope="module")
def module_relay(start_relay: Callable[..., Relay]) -> Relay:
    """In development mode with the echo path; client certificates are required."""
    return start_relay(arguments=("--echo", "--client-certificates", "required"))


@pytest.fixture
def relay(module_relay: Relay) -> Iterator[Relay]:
    """The module's relay, which must still serve a well-behaved client after every test."""
    yield module_relay
    module_relay.assert_healthy()


@pytest.fixture(scope="module")
def module_open_relay(start_relay: Callable[..., Relay]) -> Relay:
    """As `module_relay`, but client certificates are optional: for tools that cannot show one."""
    return start_relay("open-relay", arguments=("--echo", "--client-certificates", "optional"))


@pytest.fixture
def open_relay(module_open_relay: Relay) -> Iterator[Relay]:
    yield module_open_relay
    module_open_relay.assert_healthy()
