"""`segue listen --script`: a phone as a process, its lines as they come, on the clock of time.monotonic()."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from .relay import REPOSITORY, Relay, binary

SECONDS_MAX = 60
SCRIPTS = REPOSITORY / "Deploy/scripts"
INIT = {"do": "session.init"}
ACTIVATE = {"do": "session.setActive", "active": True}


def playable(path: Path, folder: Path) -> Path:
    """A documented script whose word on the age of audio is beyond what a busy machine makes of it; that an age is told is demanded all the same."""
    text = path.read_text()
    assert 'youngerThan: "200ms"' in text or "tablet" in path.name
    copy = folder / path.name
    copy.write_text(text.replace('youngerThan: "200ms"', 'youngerThan: "1min"'))
    return copy


class Phone:
    """Use as a context manager; `identity` is one of the development mode's clients, `script` a list of steps or a file's path."""

    def __init__(self, relay: Relay, room: str, script: list[dict] | Path, *, device: str = "phone", identity: str = "bob", arguments: tuple[str, ...] = ()):
        self.errors_file = tempfile.TemporaryFile("w+")
        command = [str(binary()), "listen", "--room", room, "--as", identity, "--state", str(relay.state), "--connect", f"127.0.0.1:{relay.port}"]
        command += ["--json", "--script", "-" if isinstance(script, list) else str(script), *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors_file, text=True)
        if isinstance(script, list):
            self.process.stdin.write(json.dumps({"device": device, "steps": script}))
        self.process.stdin.close()
        self.lines: list[dict] = []
        self.began: float | None = None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for text in self.process.stdout:
            line = json.loads(text)
            if line["event"] == "began":
                self.began = line["monotonicMilliseconds"] / 1_000
            if self.began is not None:
                line["monotonic"] = self.began + line["at"]
            self.lines.append(line)

    # What it told

    def all(self, event: str, **members) -> list[dict]:
        return [line for line in list(self.lines) if line["event"] == event and all(line.get(name) == value for name, value in members.items())]

    def steps(self, word: str) -> list[dict]:
        return self.all("step", do=word)

    def messages(self, kind: str, **members) -> list[dict]:
        """What the relay told it, as lines whose `message` is of this type."""
        return [
            line
            for line in self.all("relay")
            if line["message"]["type"] == kind and all(line["message"].get(name) == value for name, value in members.items())
        ]

    def place(self, line: dict) -> int:
        """Of a line among all: what came before and after it."""
        return next(place for place, other in enumerate(self.lines) if other is line)

    def wait(self, what: str, found, seconds: float = SECONDS_MAX):
        """Until `found()` is something that is not empty."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if result := found():
                return result
            if self.process.poll() is not None and not self.reader.is_alive():
                if result := found():
                    return result
                break
            time.sleep(0.01)
        raise AssertionError(f"no {what} of the phone; exit code {self.process.poll()}; {self.errors()}\n" + "\n".join(map(str, self.lines[-12:])))

    def wait_message(self, kind: str, seconds: float = SECONDS_MAX, **members) -> dict:
        return self.wait(f"{kind} {members}", lambda: self.messages(kind, **members), seconds)[0]

    def wait_step(self, word: str, count: int = 1, seconds: float = SECONDS_MAX) -> dict:
        return self.wait(f"step {word}", lambda: len(self.steps(word)) >= count and self.steps(word), seconds)[count - 1]

    # Its end

    def errors(self) -> str:
        self.errors_file.seek(0)
        return self.errors_file.read()

    def finish(self, code: int = 0, seconds: float = SECONDS_MAX) -> list[dict]:
        """It plays its script to the end, which must come to this exit code."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the phone is not done after {seconds} s\n" + "\n".join(map(str, self.lines[-12:]))) from None
        self.reader.join(SECONDS_MAX)
        told = "\n".join(map(str, self.lines[-20:]))
        assert self.process.returncode == code, f"exit code {self.process.returncode}: {self.errors()}\n{told}"
        return self.lines

    def kill(self) -> None:
        """As the system ends an app: without a word."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS_MAX)

    def __enter__(self) -> Phone:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(SECONDS_MAX)
        self.process.stdout.close()
        self.errors_file.close()
