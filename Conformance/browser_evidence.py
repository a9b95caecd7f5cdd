#!/usr/bin/env python3
"""Four browsers in one room, measured: what each sees and hears of the others, how old it is, what it costs, and what happens when things go wrong.

    browser_evidence.py [--seconds 10] [--camera 640x360x30] [--keep FILE] [--screenshots FOLDER]

One of the four sits behind an emulated link, where network namespaces and TUN devices are allowed (root). Prints a table: what was measured, its value, what
is demanded, whether it holds. The exit status is 0 when everything that is demanded holds. Figures are of one machine and one hour: run it where nothing else runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ed25519
from support import emulated_link
from support.browser import Browser, is_there, shown
from support.caller import TONE_HERTZ_MAX, Caller
from support.forwarded import Forwarded
from support.hosted_link import HOST_ADDRESS, HostedLink
from support.relay import Relay
from support.web_site import Site
from test_tokens import Provider

ROOM = "evidence"
# Of the issue: pictures a second that each page decodes of each other, and the age of sound and pictures when they come out, on loopback.
PICTURES_MIN, LATENCY_MILLISECONDS_MAX = 20.0, 150.0
# What people come with: name, tone, whether by certificate. The last one is behind the emulated link.
PEOPLE = (("ann", 440, True), ("ben", 660, False), ("cem", 880, True), ("dia", 1_100, False))
# Too little for the largest picture of three, enough for the smallest of each and for sound.
NARROW_KBIT = 700
SWITCH_SECONDS_MAX = 30
LINK_DELAY_MILLISECONDS = 10


@dataclass
class Table:
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    def tell(self, what: str, value: object, demanded: str = "", holds: bool | None = None) -> None:
        row = (what, f"{value:.1f}" if isinstance(value, float) else str(value), demanded, {True: "holds", False: "FAILS", None: ""}[holds])
        self.rows.append(row)
        print("  ".join(part for part in row if part), file=sys.stderr, flush=True)

    @property
    def holds(self) -> bool:
        return all(row[3] != "FAILS" for row in self.rows)

    def __str__(self) -> str:
        head = f"{datetime.now(timezone.utc):%Y-%m-%d}, {os.cpu_count()} × {platform.machine()}, Linux {platform.release()}"
        lines = [head, "", "| what | value | demanded | |", "|---|---|---|---|"]
        return "\n".join(lines + [f"| {' | '.join(row)} |" for row in self.rows])


@contextlib.contextmanager
def timed(table: Table, what: str) -> Iterator[None]:
    """In milliseconds; told also of what comes too late, and then the run ends."""
    begin = time.monotonic()
    yield
    table.tell(what, f"{(time.monotonic() - begin) * 1_000:.0f} ms")


@dataclass
class Evidence:
    table: Table
    seconds: float
    screenshots: Path | None
    site: Site
    callers: list[Caller]
    ports: list[int]
    link: HostedLink | None
    start_relay: Callable[..., Relay]

    def address(self, number: int) -> str:
        name, _, by_certificate = PEOPLE[number]
        return self.site.link(ROOM, None if by_certificate else name, self.ports[number])

    def picture(self, name: str, caller: Caller) -> None:
        if self.screenshots:
            caller.browser.screenshot(self.screenshots / f"{name}.png")

    # What is measured

    def flow(self, count: int) -> None:
        """The first `count` are in the room: what comes of it within the time."""
        callers = self.callers[:count]
        for caller in callers:
            caller.browser.wait("everybody", f"segue.client.room.participants.size === {count}")
            for other in callers:
                if other is not caller:
                    caller.sees(other)
        counts = {(a.name, b.name): -a.pictures(b.participant) for a in callers for b in callers if a is not b}
        begun = {caller.name: time.monotonic() for caller in callers}
        busy = {caller.name: -caller.browser.cpu_seconds() for caller in callers}
        relay, relay_begun = -cpu_seconds(self.site.relay.process.pid), time.monotonic()
        time.sleep(self.seconds)
        relay = (relay + cpu_seconds(self.site.relay.process.pid)) / (time.monotonic() - relay_begun)
        for caller in callers:
            elapsed = time.monotonic() - begun[caller.name]
            busy[caller.name] = (busy[caller.name] + caller.browser.cpu_seconds()) / elapsed
            for other in callers:
                if other is not caller:
                    counts[caller.name, other.name] = (counts[caller.name, other.name] + caller.pictures(other.participant)) / (time.monotonic() - begun[caller.name])
        least, most = min(counts.values()), max(counts.values())
        # Four encoders and twelve decoders do not fit on two cores: there it is told and not judged.
        judged = count == 2 or (os.cpu_count() or 1) >= 2 * count
        self.table.tell(f"{count} browsers: pictures/s decoded, least and most of {len(counts)}", f"{least:.1f}, {most:.1f}", f"> {PICTURES_MIN:.0f}", least > PICTURES_MIN if judged else None)
        for kind in ("latencies", "videoLatencies"):
            values = [caller.browser.run(f"return segue.media.test.{kind} ?? null;") for caller in callers]
            values = [value for value in values if value and value.get("p95") is not None]
            what = "sound, from capture to what is played" if kind == "latencies" else "pictures, from capture to screen"
            if not values:
                self.table.tell(f"{count} browsers: age of {what}", "not measured", "", False if kind == "latencies" else None)
                continue
            p50, p95 = max(value["p50"] for value in values), max(value["p95"] for value in values)
            demand = f"p95 ≤ {LATENCY_MILLISECONDS_MAX:.0f}"
            self.table.tell(f"{count} browsers: age of {what}, worst page's p50 and p95 (ms)", f"{p50:.0f}, {p95:.0f}", demand, p95 <= LATENCY_MILLISECONDS_MAX if judged else None)
        self.table.tell(f"{count} browsers: CPU of a browser, of the relay (cores)", f"{min(busy.values()):.2f} to {max(busy.values()):.2f}, {relay:.3f}")

    def tones(self, count: int) -> None:
        """Each hears each: by what the worklet played of the other's stream."""
        callers = self.callers[:count]
        faults = [fault for caller in callers for fault in deaf_to(caller, [other for other in callers if other is not caller])]
        self.table.tell(f"{count} browsers: tones of {count * (count - 1)} heard as they were spoken", ", ".join(faults) or "all", "all", not faults)

    def transports(self) -> None:
        status, _, body = self.site.relay.get("/v1/sessions")
        assert status == 200, body
        used = sorted(session["transport"] for session in json.loads(body)["sessions"])
        self.table.tell("WebSocket over", ", ".join(used))

    def actions(self) -> None:
        """From one person's act to what the other's page makes of it. Each look takes some milliseconds and there is one each 0.1 to 0.2 s."""
        ann, ben = self.callers[:2]
        ben.hears(ann)
        ann.browser.click("mute")
        with timed(self.table, "mute, until it is silent at the other"):
            ben.hears(ann, gone=True)
        ann.browser.click("mute")
        with timed(self.table, "unmute, until it is heard"):
            ben.hears(ann)
        ann.browser.click("screen")
        with timed(self.table, "screen shared, until pictures of it are drawn"):
            ben.sees(ann, "screen", count=1)
        self.picture("screen", ben)
        ann.browser.click("screen")
        ann.browser.run('await segue.client.audioSession.interruptionBegan("default");')
        with timed(self.table, "interruption, until the other shows held"):
            ben.shows(ann, "held")
        with timed(self.table, "and until nothing is heard any more"):
            ben.hears(ann, gone=True)
        self.picture("held", ben)
        ann.browser.run("await segue.client.audioSession.interruptionEnded({ shouldResume: true });")
        with timed(self.table, "end of it, until the other hears again"):
            ben.hears(ann)
        with timed(self.table, "page loaded again, until the other hears again"):
            ann.browser.reload()
            ann.browser.wait("the page or the call", f"segue.client?.room?.me != null || {shown('join')}")
            if not ann.browser.get("segue.client?.room?.me != null"):
                ann.enter()
            ben.hears(ann)

    def narrow_link(self) -> None:
        """The last one's link carries too little: smaller layers come, sound stays; then it is wide again."""
        if self.link is None:
            self.table.tell("layer switch under a narrow link", f"not measured: {emulated_link.reason_to_skip()}")
            return
        far, others = self.callers[-1], self.callers[:-1]
        wide = self.widths(far, others)
        begin = time.monotonic()
        self.link.change(rate=NARROW_KBIT)
        down = wait_for(lambda: sum(self.widths(far, others)) < sum(wide), SWITCH_SECONDS_MAX)
        narrow = self.widths(far, others)
        switched = time.monotonic() - begin
        self.table.tell(f"link narrowed to {NARROW_KBIT} kbit/s: widths {wide} → {narrow}, after", f"{switched:.1f} s", f"≤ {SWITCH_SECONDS_MAX} s", down)
        faults = deaf_to(far, others)
        self.table.tell("narrow: tones of the others", ", ".join(faults) or "all", "all", not faults)
        first = {other.name: far.pictures(other.participant) for other in others}
        time.sleep(5)
        moving = [far.pictures(other.participant) - first[other.name] for other in others]
        self.table.tell("narrow: pictures in 5 s of each other", moving)
        begin = time.monotonic()
        self.link.change(rate=0)
        up = wait_for(lambda: sum(self.widths(far, others)) >= sum(wide), 2 * SWITCH_SECONDS_MAX)
        self.table.tell("link wide again: widths as before after", f"{time.monotonic() - begin:.1f} s", f"≤ {2 * SWITCH_SECONDS_MAX} s", up)

    @staticmethod
    def widths(caller: Caller, others: list[Caller]) -> list[int]:
        participants = [other.participant for other in others]
        videos = caller.statistics()["video"]
        return [max((video["width"] or 0 for video in videos if video["participant"] == participant), default=0) for participant in participants]

    def restart(self) -> None:
        ann, ben = self.callers[:2]
        begin = time.monotonic()
        self.site.restart(self.start_relay)
        self.table.tell("relay ended and started anew", f"{(time.monotonic() - begin) * 1_000:.0f} ms")
        with timed(self.table, "from there until they hear each other again"):
            for caller in (ann, ben):
                caller.browser.wait("to be connected again", 'segue.client.state === "open" && segue.client.room?.participants.size === 2', 60)
            ann.hears(ben)
            ben.hears(ann)

    def layouts(self) -> None:
        """Pictures for people to look at."""
        if not self.screenshots:
            return
        ann = self.callers[0].browser
        for layout in ("light", "dark", "phone"):
            ann.lay_out(layout)
            self.picture(f"grid-{layout}", self.callers[0])
            ann.click("view")
            time.sleep(0.5)
            self.picture(f"speaker-{layout}", self.callers[0])
            ann.click("view")
            ann.open_panel("details", "details-panel")
            time.sleep(1)
            self.picture(f"details-{layout}", self.callers[0])
            ann.close_panel("details-panel")
            ann.open_panel("chat", "chat-text")
            self.picture(f"chat-{layout}", self.callers[0])
            ann.close_panel("chat-text")
        ann.lay_out("light")


def deaf_to(caller: Caller, others: list[Caller]) -> list[str]:
    """Whose tone does not come out within a while, and what does instead."""
    faults = []
    for other in others:
        if not wait_for(lambda: abs(caller.heard_of(other)[0] - other.hertz) < TONE_HERTZ_MAX, 20):
            faults.append(f"{caller.name} of {other.name}: {caller.heard_of(other)[0]:.0f} Hz")
    return faults


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return holds


def far_away(link: HostedLink, port: int) -> socket.socket:
    with emulated_link.inside(link.far):
        return socket.create_connection((HOST_ADDRESS, port), timeout=20)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def prepared(folder: Path, table: Table, options: argparse.Namespace) -> Iterator[Evidence]:
    with contextlib.ExitStack() as stack:
        started: list[Relay] = []

        def start_relay(name: str, **options: object) -> Relay:
            started.append(Relay.start(folder / f"{name}-{len(started)}", **options))
            return started[-1]

        stack.callback(lambda: [relay.stop() for relay in started])
        provider = Provider(folder / "jwks.json", {"ed": ed25519.Ed25519PrivateKey.generate()})
        provider.publish("ed")
        names = tuple(name for name, _, by_certificate in PEOPLE if by_certificate)
        site = Site.create(start_relay, folder, token=lambda subject: provider.token(subject, lifetime=3_600), keys=provider.path, names=names, listen="0.0.0.0:0")
        link = None
        ports = [site.relay.port] * len(PEOPLE)
        if emulated_link.reason_to_skip() is None:
            link = stack.enter_context(HostedLink(delay=LINK_DELAY_MILLISECONDS))
            ports[-1] = stack.enter_context(Forwarded(lambda: far_away(link, site.relay.port))).port
        callers = []
        for name, hertz, by_certificate in PEOPLE:
            identity = site.identities[name] if by_certificate else None
            browser = stack.enter_context(Browser.start(folder, name, authorities=[site.authority.certificate], identity=identity, hertz=hertz, camera=options.camera))
            callers.append(Caller(browser, name.capitalize(), hertz))
        yield Evidence(table, options.seconds, options.screenshots, site, callers, ports, link, start_relay)


def camera(text: str) -> tuple[int, int, int]:
    width, height, rate = (int(part) for part in text.split("x"))
    return width, height, rate


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="how long pictures, ages and CPU are measured")
    parser.add_argument("--camera", type=camera, metavar="WIDTHxHEIGHTxRATE", help="what cameras give, instead of what the page asks for")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the table there as well")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER", help="pictures of the views, to be looked at")
    options = parser.parse_args()
    if not is_there():
        parser.error("no Chromium with its driver: Deploy/install dev")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    # What runs is ended however this ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    table = Table()
    with tempfile.TemporaryDirectory(prefix="segue-browsers-") as folder, prepared(Path(folder), table, options) as evidence:
        measure(evidence)
    print(table)
    if options.keep:
        options.keep.write_text(f"{table}\n")
    return 0 if table.holds else 1


def measure(evidence: Evidence) -> None:
    callers = evidence.callers
    for number in (0, 1):
        with timed(evidence.table, f"{callers[number].name}: from the address to the room"):
            callers[number].join(evidence.address(number))
    evidence.flow(2)
    evidence.tones(2)
    evidence.actions()
    for number in (2, 3):
        callers[number].join(evidence.address(number))
    evidence.flow(4)
    evidence.tones(4)
    evidence.transports()
    evidence.narrow_link()
    evidence.layouts()
    for caller in callers[2:]:
        caller.browser.click("leave")
    faults = [f"{caller.name}: {fault}" for caller in callers for fault in caller.browser.faults()]
    evidence.restart()
    evidence.table.tell("console errors and policy violations", "; ".join(faults) or "none", "none", not faults)


if __name__ == "__main__":
    sys.exit(main())
