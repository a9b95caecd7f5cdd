"""The options that a bot's command line has for its relay and its identity."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from .client import Client
from .errors import SegueError


def parser(description: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--url", default="wss://localhost:8443", help="the relay (default: %(default)s)")
    made.add_argument("--room", required=True)
    made.add_argument("--ca", type=Path, help="the relay's certificate authority (PEM), where the system does not know it")
    made.add_argument("--cert", type=Path, help="a client certificate (PEM)")
    made.add_argument("--key", type=Path, help="its key (PEM)")
    made.add_argument("--token-file", type=Path, help="a file with a bearer token, beside a certificate or in its place; or the environment's SEGUE_TOKEN")
    return made


def client(options: argparse.Namespace, name: str, **others: Any) -> Client:
    """As the options say. The token is read for each connection, so that a newer one may be put there."""
    path: Path | None = options.token_file
    token = (lambda: path.read_text().strip()) if path else os.environ.get("SEGUE_TOKEN")
    return Client(options.url, authority=options.ca, certificate=options.cert, key=options.key, token=token, name=name, **others)


def run(main: Callable[[Client, argparse.Namespace], Coroutine[Any, Any, None]], arguments: argparse.ArgumentParser, name: str) -> None:
    """Connects as the command line says, and runs `main` to its end, or until Ctrl-C or SIGTERM. The session is closed in good order.

    Failures of the session are told in a line.
    """
    options = arguments.parse_args()

    async def connected() -> None:
        async with client(options, name) as opened:
            await main(opened, options)

    async def cancellable() -> None:
        task = asyncio.create_task(connected())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    try:
        asyncio.run(cancellable())
    except SegueError as fault:
        raise SystemExit(f"{type(fault).__name__}: {fault}") from None
