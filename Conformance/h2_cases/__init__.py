"""HTTP/2 conformance cases: what a server must do, each named with its clause. Clauses are of RFC 9113 (or RFC 7541, RFC 7540 where they say so)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from support.raw_http2 import RawHTTP2


@dataclass(frozen=True)
class Case:
    clause: str
    title: str
    run: Callable[[RawHTTP2], None]
    # False: the case makes the connection preface itself.
    handshake: bool = True

    @property
    def name(self) -> str:
        return f"{self.clause} {self.title}"


CASES: list[Case] = []


def case(clause: str, title: str, *, handshake: bool = True) -> Callable[[Callable[[RawHTTP2], None]], Callable[[RawHTTP2], None]]:
    """Registers a function as a case. It gets a connection and raises AssertionError when the server misbehaves."""

    def register(run: Callable[[RawHTTP2], None]) -> Callable[[RawHTTP2], None]:
        CASES.append(Case(clause, title, run, handshake))
        return run

    return register


def load() -> list[Case]:
    """All cases, in the order of the clauses' modules."""
    if not CASES:
        from . import accepted, connection, frames, header_compression, messages, settings_and_windows, streams  # noqa: F401
    return CASES
