"""Prometheus and its promtool, as programs of others that read what a relay says of itself."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from .relay import REPOSITORY

FOLDER = REPOSITORY / "Deploy/prometheus"
START_SECONDS_MAX = 60

# A name in an expression that no bracket, brace or quotation follows up on: what is left when everything else is taken out.
WORDS = frozenset(
    (
        "by without on ignoring group_left group_right and or unless offset bool"
        " sum min max avg count count_values stddev stdvar topk bottomk quantile group"
    ).split()
)
NAME = re.compile(r"[a-zA-Z_:][\w:]*")


def metrics_of(expression: str) -> set[str]:
    """The metrics that an expression in PromQL names."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    bare = re.sub(r"#.*", "", bare)
    bare = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", " ", bare)
    # Lists of labels: by (…), on (…) and their kin.
    bare = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", " ", bare)
    found = set()
    for match in NAME.finditer(bare):
        before, after = bare[: match.start()], bare[match.end() :].lstrip()
        if match.group() in WORDS or after.startswith("(") or re.search(r"[\d.]$", before):
            continue
        found.add(match.group())
    return found


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)


def is_installed() -> bool:
    return shutil.which("promtool") is not None and shutil.which("prometheus") is not None


class Prometheus:
    """A server on the loopback, with a configuration of its own."""

    def __init__(self, folder: Path, configuration: Path):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log_path = folder / "prometheus.log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={configuration}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def api(self, path: str, **query: str) -> dict | list:
        with urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(query)}", timeout=20) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[dict]:
        """Evaluated now."""
        data = self.api("query", query=expression)
        return data["result"] if data["resultType"] == "vector" else [data]

    def wait_until_scraped(self) -> dict:
        """The first target, once it has been asked."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            assert self.process.poll() is None, self.log_path.read_text()[-4000:]
            try:
                targets = self.api("targets")["activeTargets"]
                if targets and targets[0]["health"] != "unknown":
                    return targets[0]
            except (URLError, OSError):
                pass
            assert time.monotonic() < deadline, f"no target was asked within {START_SECONDS_MAX} s:\n{self.log_path.read_text()[-4000:]}"
            time.sleep(0.1)
