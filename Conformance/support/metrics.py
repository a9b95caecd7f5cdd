"""Reads the Prometheus text format, as far as the benches need it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # It reads metrics itself.
    from .relay import Relay

LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def parse(text: str) -> list[tuple[str, dict[str, str], float]]:
    """Samples as (name, labels, value); comments are left out."""
    samples = []
    for line in text.splitlines():
        found = None if line.startswith("#") else LINE.match(line)
        if found:
            samples.append((found.group(1), dict(LABEL.findall(found.group(2) or "")), float(found.group(3))))
    return samples


def by_reason(text: str, name: str) -> dict[str, float]:
    """The counter `name` by its label `reason`; reasons lower-case and without separators, so that `notYetValid` = `not_yet_valid`."""
    counts: dict[str, float] = {}
    for sample, labels, value in parse(text):
        if sample == name and "reason" in labels:
            reason = re.sub(r"[_\-\s]", "", labels["reason"]).lower()
            counts[reason] = counts.get(reason, 0) + value
    return counts


def value(text: str, name: str) -> float:
    """The one sample `name` without labels."""
    return next(value for sample, labels, value in parse(text) if sample == name and not labels)


def measure(relay: Relay, name: str, label: str = "") -> float:
    return total(_text(relay), name, label)


def total(text: str, name: str, label: str = "") -> float:
    """Of all samples `name`, or of those with that label's value."""
    return sum(value for sample, labels, value in parse(text) if sample == name and label in ("", *labels.values()))


def settled(relay: Relay, name: str, label: str = "") -> float:
    """As `measure`, with everything that has happened before: loops tell of themselves four times a second, and what one tells may have been gathered before
    it was asked for. What it tells after that was not."""
    text = _text(relay)
    for _ in range(2):
        before, deadline = _turns(text), time.monotonic() + 20
        while any(turns <= before[loop] for loop, turns in _turns(text).items()):
            assert time.monotonic() < deadline, "a loop does not tell of itself"
            time.sleep(0.05)
            text = _text(relay)
    return total(text, name, label)


def _text(relay: Relay) -> str:
    status, _, text = relay.get("/metrics")
    assert status == 200
    return text


def _turns(text: str) -> dict[str, float]:
    return {labels["loop"]: value for sample, labels, value in parse(text) if sample == "segue_loop_iterations_total"}
