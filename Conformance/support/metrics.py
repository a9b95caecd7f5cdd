"""Reads the Prometheus text format, as far as the benches need it."""

from __future__ import annotations

import re
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
    status, _, text = relay.get("/metrics")
    assert status == 200
    return sum(value for sample, labels, value in parse(text) if sample == name and label in ("", *labels.values()))
