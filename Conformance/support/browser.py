"""Debian's Chromium without a screen, driven by chromedriver over WebDriver (W3C), which is plain HTTP and needs no library.

Each browser has a home folder of its own with a certificate database of its own (NSS): which authority it trusts and which certificate it shows is nobody
else's business, and nothing stays behind on the machine. Enterprise policies lie in one folder for the whole machine, so a client's certificate is chosen by
what such a policy becomes in a profile: the content setting `auto_select_certificate`. Without either, Chromium would ask a person.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .heard import RATE, write_wave
from .relay import Identity

START_SECONDS_MAX = 60
COMMAND_SECONDS_MAX = 60
SCRIPT_SECONDS_MAX = 30
LOAD_SECONDS_MAX = 30
END_SECONDS_MAX = 5
# Of an element in WebDriver's answers (W3C WebDriver §12).
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# Every relay of a bench is here, whatever its port.
ORIGINS = "https://localhost:*,*"
TONE_LEVEL = 0.3

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--mute-audio",
    # Pictures and sound are asked of the fake devices, and nobody is asked for leave. Thirty pictures a second instead of twenty.
    "--use-fake-device-for-media-stream=fps=30",
    "--use-fake-ui-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    # Several windows that nobody sees: none of them is to be slowed down for that.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # Pages too large for the small /dev/shm of a container.
    "--disable-dev-shm-usage",
)

# Runs in every page before its own scripts. What the browser forbids becomes a line of the console, which outlives the page. The microphone plays a steady
# tone, which noise suppression takes for noise and gain control turns up: both are for voices, so the bench asks for the microphone without them. CAMERA
# stands for constraints of the camera.
AT_START = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violation: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
});
if (navigator.mediaDevices) {
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  const changed = (wishes, changes) => (wishes ? { ...(typeof wishes === "object" ? wishes : {}), ...changes } : wishes);
  navigator.mediaDevices.getUserMedia = (constraints = {}) => ask({
    ...constraints,
    audio: changed(constraints.audio, { echoCancellation: false, noiseSuppression: false, autoGainControl: false }),
    video: changed(constraints.video, CAMERA),
  });
}
"""


class Refused(AssertionError):
    """What WebDriver answered instead of a value: `code` as in W3C WebDriver §6.6."""

    def __init__(self, code: str, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code


def control(test: str) -> str:
    """The selector of what is marked by `data-test`, among other marks or alone."""
    return f"[data-test~='{test}']"


def shown(test: str) -> str:
    """A JavaScript expression: the first element so marked that is visible, or undefined."""
    return f"[...document.querySelectorAll(\"{control(test)}\")].find((e) => e.checkVisibility({{ visibilityProperty: true }}))"


def is_there() -> bool:
    return all(shutil.which(program) for program in ("chromium", "chromedriver", "certutil", "pk12util"))


def write_tone(path: Path, hertz: int) -> Path:
    """A second of a tone with a whole number of periods: played over and over it has no seam."""
    return write_wave(path, TONE_LEVEL * np.sin(2 * np.pi * hertz * np.arange(RATE) / RATE))


def make_home(home: Path, authorities: Iterable[Path], identity: Identity | None) -> None:
    """A home folder whose certificate database trusts the authorities, and holds a client's certificate with its key."""
    database = home / ".pki/nssdb"
    database.mkdir(parents=True)

    def run(*command: object) -> None:
        done = subprocess.run([str(part) for part in command], env=os.environ | {"HOME": str(home)}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"

    run("certutil", "-N", "--empty-password", "-d", f"sql:{database}")
    for number, authority in enumerate(authorities):
        run("certutil", "-A", "-d", f"sql:{database}", "-n", f"authority {number}", "-t", "C,,", "-i", authority)
    if identity:
        bundle = home / "client.p12"
        run("openssl", "pkcs12", "-export", "-in", identity.certificate, "-inkey", identity.key, "-out", bundle, "-passout", "pass:-", "-name", "client")
        run("pk12util", "-i", bundle, "-d", f"sql:{database}", "-W", "-", "-K", "")
        bundle.unlink()


@dataclass
class Browser:
    """One browser with one window. Ended by `close`, with everything that it started."""

    name: str
    home: Path
    driver: subprocess.Popen
    port: int
    session: str = ""
    # What the console said, as WebDriver's log has it: level, source, message, timestamp.
    console: list[dict] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        folder: Path,
        name: str,
        *,
        authorities: Iterable[Path],
        identity: Identity | None = None,
        hertz: int = 440,
        size: tuple[int, int] = (1280, 800),
        camera: tuple[int, int, int] | None = None,
        arguments: Iterable[str] = (),
    ) -> Browser:
        """A browser whose home is `folder`/`name`, which shows `identity` where it is asked for a certificate, and whose microphone plays a tone of `hertz`.

        `camera`: width, height and pictures a second, whatever a page asks for; None: as it asks.
        """
        home = folder / name
        make_home(home, authorities, identity)
        tone = write_tone(home / "tone.wav", hertz)
        driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdin=subprocess.DEVNULL, stdout=(home / "driver.log").open("wb"), stderr=(home / "driver-errors.log").open("wb"),
            # A group of its own: what a browser leaves running is found by it. Its home decides about certificates.
            env={name: value for name, value in os.environ.items() if not name.startswith("XDG_")} | {"HOME": str(home)}, start_new_session=True,
        )  # fmt: skip
        browser = cls(name, home, driver, 0)
        try:
            browser._begin(tone, size, camera, arguments)
        except BaseException:
            browser.close()
            raise
        return browser

    def _begin(self, tone: Path, size: tuple[int, int], camera: tuple[int, int, int] | None, arguments: Iterable[str]) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while not (found := re.search(r"started successfully on port (\d+)", (self.home / "driver.log").read_text(errors="replace"))):
            assert self.driver.poll() is None and time.monotonic() < deadline, "chromedriver did not start"
            time.sleep(0.02)
        self.port = int(found.group(1))
        options = {
            "binary": shutil.which("chromium"),
            "args": [
                *ARGUMENTS,
                f"--user-data-dir={self.home / 'profile'}",
                f"--use-file-for-fake-audio-capture={tone}",
                f"--window-size={size[0]},{size[1]}",
                *arguments,
            ],
            # Any certificate will do: there is one, or none.
            "prefs": {"profile.content_settings.exceptions.auto_select_certificate": {ORIGINS: {"setting": {"filters": [{}]}}}},
        }
        timeouts = {"script": SCRIPT_SECONDS_MAX * 1_000, "pageLoad": LOAD_SECONDS_MAX * 1_000, "implicit": 0}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}, "timeouts": timeouts}
        self.session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        changes = dict(zip(("width", "height", "frameRate"), camera or ()))
        self.devtools("Page.addScriptToEvaluateOnNewDocument", source=AT_START.replace("CAMERA", json.dumps(changes)))

    # WebDriver

    def _call(self, method: str, path: str, body: dict | None = None, seconds: float = COMMAND_SECONDS_MAX) -> object:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as fault:
            value = json.loads(fault.read())["value"]
            raise Refused(value["error"], f"{self.name}: {value['message']}") from None

    def command(self, method: str, path: str, body: dict | None = None) -> object:
        return self._call(method, f"/session/{self.session}{path}", body)

    def devtools(self, method: str, /, **parameters: object) -> dict:
        """A command of the Chrome DevTools Protocol."""
        return self.command("POST", "/goog/cdp/execute", {"cmd": method, "params": parameters})

    def open(self, url: str) -> None:
        self.command("POST", "/url", {"url": url})

    def reload(self) -> None:
        self.command("POST", "/refresh", {})

    def run(self, script: str, *arguments: object) -> object:
        """What the script returns; of a promise, what it comes to. `arguments[0]` and on are the arguments."""
        return self.command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def get(self, expression: str) -> object:
        return self.run(f"return {expression};")

    def wait(self, what: str, expression: str, seconds: float = 30) -> object:
        """The first value of a JavaScript expression that is neither false nor nothing. An expression that throws is asked again, as the page may not be there yet."""
        deadline = time.monotonic() + seconds
        last: object = None
        while True:
            try:
                if last := self.get(expression):
                    return last
            except Refused as fault:
                if fault.code != "javascript error":
                    raise
                last = fault
            if time.monotonic() > deadline:
                self.read_console()
                said = "\n".join(line["message"] for line in self.console[-10:])
                raise AssertionError(f"{self.name}: not within {seconds} s: {what} (last: {last})\n{said}")
            time.sleep(0.1)

    def judge(self, what: str, value: Callable[[], object], holds: Callable[[object], bool], seconds: float = 30) -> object:
        """The first value that holds."""
        deadline = time.monotonic() + seconds
        while not holds(last := value()):
            assert time.monotonic() < deadline, f"{self.name}: not within {seconds} s: {what} (last: {last})"
            time.sleep(0.2)
        return last

    def element(self, test: str) -> str:
        """The control so marked that people can see now, when it is there."""
        return self.wait(f"{test} to be shown", shown(test))[ELEMENT]

    def click(self, test: str) -> None:
        """As a person does: it counts as a gesture. The control is named by its `data-test`; on a phone it may be in the menu."""
        if not self.is_visible(test) and self.is_visible("more"):
            self.click("more")
            test = f"menu-{test}"
        self.command("POST", f"/element/{self.element(test)}/click", {})

    def type(self, test: str, text: str) -> None:
        self.command("POST", f"/element/{self.element(test)}/value", {"text": text})

    def clear(self, test: str) -> None:
        self.command("POST", f"/element/{self.element(test)}/clear", {})

    def text(self, test: str) -> str:
        """What people read in what is marked by `data-test`; nothing where it is not there."""
        return self.get(f'({shown(test)})?.innerText ?? ""')

    def attribute(self, test: str, name: str) -> str | None:
        return self.get(f'({shown(test)})?.getAttribute("{name}") ?? null')

    def is_visible(self, test: str) -> bool:
        return self.get(f"({shown(test)}) !== undefined")

    def open_panel(self, button: str, content: str) -> None:
        if not self.is_visible(content):
            self.click(button)
        self.judge(f"{content} to be shown", lambda: self.is_visible(content), bool)

    def close_panel(self, content: str) -> None:
        """By its own button: on a phone the panel covers the one that opened it."""
        if self.is_visible(content):
            self.click("panel-close")
        self.judge(f"{content} to be gone", lambda: self.is_visible(content), lambda there: not there)

    def screenshot(self, path: Path) -> Path:
        path.write_bytes(base64.b64decode(self.command("GET", "/screenshot")))
        return path

    # What it looks like

    def colour_scheme(self, scheme: str) -> None:
        """`light` or `dark`."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def phone(self, width: int = 390, height: int = 844) -> None:
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)

    def desktop(self) -> None:
        self.devtools("Emulation.clearDeviceMetricsOverride")

    def lay_out(self, layout: str) -> None:
        """`light`, `dark`, or `phone`: a phone's width, light."""
        self.colour_scheme("dark" if layout == "dark" else "light")
        if layout == "phone":
            self.phone()
        else:
            self.desktop()

    # What went wrong

    def read_console(self) -> list[dict]:
        """Everything that the console has said so far, also of pages that are gone."""
        self.console += self.command("POST", "/se/log", {"type": "browser"})
        return self.console

    def faults(self, expected: str | None = None) -> list[str]:
        """Errors on the console: of scripts, of the network, of policies; but those whose text the pattern `expected` is found in."""
        return [
            line["message"] for line in self.read_console() if line["level"] == "SEVERE" and not (expected and re.search(expected, line["message"]))
        ]

    # CPU

    def cpu_seconds(self) -> float:
        """Of all of this browser's processes that live, since their start."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            # proc(5): after the name, session is the fourth, utime and stime the twelfth and thirteenth.
            if int(fields[3]) == self.driver.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.session:
            try:
                self._call("DELETE", f"/session/{self.session}", seconds=END_SECONDS_MAX)
            except (OSError, AssertionError):
                pass
            self.session = ""
        self.driver.terminate()
        try:
            self.driver.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            # Nothing was left.
            pass
        self.driver.wait()
        # Tens of megabytes of caches and models.
        shutil.rmtree(self.home / "profile", ignore_errors=True)
