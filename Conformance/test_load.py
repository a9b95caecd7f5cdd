"""`segue load` and LoadTests/run against a relay: what they report is what the relay counts, and what goes wrong shows.

Each scenario under LoadTests/Scenarios is played in small. How fast the machine is decides nothing here: bounds of latency may break, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import metrics
from support.relay import REPOSITORY, Relay, binary

SECONDS_MAX = 120
SCENARIOS = REPOSITORY / "LoadTests/Scenarios"
# Clients and seconds of each scenario in small.
SMALL = {
    "talk": (8, 2),
    "conference": (6, 2),
    "grid": (5, 2),
    "webinar": (12, 2),
    "churn": (10, 3),
    "storm": (10, 10),
    "slow-readers": (12, 9),
    "interruptions": (6, 4),
    "pairs": (6, 2),
    "herd": (20, 1),
}
# In these connections are cut, or media is stopped: what was on its way then, no side can know.
CUTS = {"storm", "interruptions"}
# These depend on the machine, or on how much was made smaller.
OF_SPEED = re.compile(r"Latency|FirstFrame|handshake|fairness|rss|deliveredShare", re.IGNORECASE)
# One talks, three hear it.
TALK = {
    "name": "small talk",
    "rampPerSecond": 50,
    "clients": [
        {"who": "speaker", "count": 1, "fixed": True, "role": "speaker", "publishes": [{"kind": "audio", "perSecond": 50, "bytes": 160}]},
        {"who": "listeners", "count": 3, "role": "listener", "subscribes": True},
    ],
    "lasts": 3,
    "limits": {"deliveredShareMin": 1, "failedClientsMax": 0},
}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SEGUE_") and name != "SEGUE_BIN"]:
        monkeypatch.delenv(name)


@dataclass
class Outcome:
    code: int
    output: str
    errors: str
    report: dict | None

    @property
    def broken(self) -> set[str]:
        return {limit["name"] for limit in (self.report or {}).get("limits", []) if not limit["holds"]}


def command(relay: Relay, scenario: dict | str, folder: Path, *options: str, name: str = "report") -> list[str]:
    path = SCENARIOS / f"{scenario}.json5" if isinstance(scenario, str) else folder / "scenario.json5"
    if isinstance(scenario, dict):
        path.write_text(json.dumps(scenario))
    target = ("--target", f"wss://127.0.0.1:{relay.port}", "--state", str(relay.state), "--relay-pid", str(relay.process.pid))
    return [str(binary()), "load", str(path), *target, "--report", str(folder / f"{name}.json"), *options]


def read(path: Path) -> dict | None:
    return json.loads(path.read_text()) if path.exists() else None


def play(relay: Relay, scenario: dict | str, folder: Path, *options: str) -> Outcome:
    result = subprocess.run(command(relay, scenario, folder, *options), capture_output=True, text=True, timeout=SECONDS_MAX)
    return Outcome(result.returncode, result.stdout, result.stderr, read(folder / "report.json"))


def counted(relay: Relay) -> tuple[float, float]:
    """Frames that the relay has received, and delivered."""
    return metrics.settled(relay, "segue_frames_received_total"), metrics.total(relay.get("/metrics")[2], "segue_frames_total", "delivered")


@pytest.fixture(params=sorted(SMALL))
def scenario(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param


def test_every_scenario_is_played_here() -> None:
    assert {path.stem for path in SCENARIOS.glob("*.json5")} == set(SMALL)


def test_report_agrees_with_the_relay(relay: Relay, scenario: str, tmp_path: Path) -> None:
    clients, seconds = SMALL[scenario]
    before = counted(relay)
    outcome = play(relay, scenario, tmp_path, "--clients", str(clients), "--seconds", str(seconds), "--ramp", "20")
    assert outcome.code in (0, 1), outcome.errors
    report = outcome.report
    assert report is not None
    assert not report["clients"]["failedByReason"], outcome.output
    assert report["clients"]["wanted"] == clients
    assert report["clients"]["connected"] == clients
    assert report["handshakes"]["count"] >= clients
    assert not {name for name in outcome.broken if not OF_SPEED.search(name)}, outcome.output
    assert outcome.code == (1 if outcome.broken else 0)
    after = counted(relay)
    counts = report["counts"]
    sent, received = counts.get("frames sent in the whole run", 0), counts.get("frames received in the whole run", 0)
    if scenario in CUTS:
        assert after[0] - before[0] <= sent
        assert after[1] - before[1] >= received
    else:
        assert after[0] - before[0] == sent
        # Whoever leaves does not take what is on its way.
        assert received <= after[1] - before[1] <= received + counts.get("clients replaced", 0) * 20
    frames = report["frames"]
    assert frames["delivered"] <= frames["due"]
    if scenario == "herd":
        assert sent == received == frames["due"] == 0
        return
    assert frames["sent"] > 0
    assert sum(second["framesSent"] for second in report["timeline"]) >= frames["sent"]
    assert report["joinToFirstFrame"]["counts"], "nobody heard anything"
    missing = frames["due"] - frames["delivered"]
    if scenario not in CUTS | {"slow-readers"} and not report["frames"]["droppedByReason"]:
        assert missing == 0, report


def test_what_scenarios_have_happen_happens(relay: Relay, tmp_path: Path) -> None:
    wanted = {
        "churn": "clients replaced",
        "storm": "connections cut",
        "slow-readers": "times that somebody stopped reading",
        "interruptions": "interruptions",
    }
    for name, word in wanted.items():
        folder = tmp_path / name
        folder.mkdir()
        clients, seconds = SMALL[name]
        outcome = play(relay, name, folder, "--clients", str(clients), "--seconds", str(seconds))
        assert outcome.report["counts"].get(word, 0) >= 1, outcome.output


def test_a_limit_that_is_broken_is_named(relay: Relay, tmp_path: Path) -> None:
    scenario = TALK | {"lasts": 1, "limits": {"audioLatencyP50Milliseconds": 0, "failedClientsMax": 0}}
    outcome = play(relay, scenario, tmp_path)
    assert outcome.code == 1
    assert outcome.broken == {"audioLatencyP50Milliseconds"}
    assert "audioLatencyP50Milliseconds does not hold" in outcome.errors
    assert "failedClientsMax" not in outcome.errors


def test_slow_readers_are_seen_as_slow(relay: Relay, tmp_path: Path) -> None:
    scenario = TALK | {
        "clients": [*TALK["clients"], {"who": "slow", "count": 2, "role": "listener", "subscribes": True}],
        "lasts": 5,
        "events": [{"do": "stopReading", "who": "slow", "at": 1, "for": "2s"}],
        "limits": {},
    }
    report = play(relay, scenario, tmp_path).report
    held_up = report["latencyByKind"]["held up by their reader"]
    # The first frames of the pause had to wait for all of it.
    assert held_up["max"] > 1_500_000
    # The others', and theirs while they read, has none of it.
    assert report["latencyByKind"]["audio"]["max"] >= report["fairness"]["latencyP99"]["max"]
    assert report["counts"]["times that somebody stopped reading"] == 2


@pytest.mark.parametrize("stalled", ["relay", "generator"])
def test_what_stands_still_shows_in_every_frame_that_was_due(relay: Relay, stalled: str, tmp_path: Path) -> None:
    """No coordinated omission: a second without sending is a second's worth of late frames, not one."""
    process = subprocess.Popen(command(relay, TALK | {"limits": {}}, tmp_path), stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if "1 of 3 s" in line:
                break
        victim = relay.process.pid if stalled == "relay" else process.pid
        os.kill(victim, signal.SIGSTOP)
        time.sleep(1)
        os.kill(victim, signal.SIGCONT)
        process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
    report = read(tmp_path / "report.json")
    audio = report["latencyByKind"]["audio"]
    count = sum(times for _, times in audio["counts"])
    assert audio["max"] > 900_000
    # 50 of 150 frames were due meanwhile, and waited for half a second on average.
    assert audio["sum"] / count > 80_000
    assert count + report["frames"]["due"] - report["frames"]["delivered"] >= 3 * 140
    if stalled == "generator":
        assert any("generator itself was late" in note for note in report["notes"])


def test_ctrl_c_ends_with_the_report_so_far(relay: Relay, tmp_path: Path) -> None:
    process = subprocess.Popen(command(relay, TALK | {"lasts": 600}, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if "1 of 600 s" in line:
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    report = read(tmp_path / "report.json")
    assert process.returncode == 0, errors
    assert "ended early" in output
    assert 0.5 < report["wallSeconds"] < 60
    assert report["frames"]["due"] == report["frames"]["delivered"] > 0


def test_two_processes_make_one_report(relay: Relay, tmp_path: Path) -> None:
    scenario = TALK | {"clients": [TALK["clients"][0] | {"count": 2}, TALK["clients"][1] | {"count": 6}]}
    commands = [command(relay, scenario, tmp_path, "--part", f"{part}/2", "--quiet", name=f"part-{part}") for part in (1, 2)]
    processes = [subprocess.Popen(words) for words in commands]
    assert [process.wait(SECONDS_MAX) for process in processes] == [0, 0]
    parts = [read(tmp_path / f"part-{part}.json") for part in (1, 2)]
    page = tmp_path / "all.html"
    paths = [str(tmp_path / f"part-{part}.json") for part in (1, 2)]
    result = subprocess.run(
        [str(binary()), "load", "join", *paths, "--report", str(tmp_path / "all.json"), "--html", str(page)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    whole = read(tmp_path / "all.json")
    assert whole["parts"] == 2
    assert whole["clients"]["wanted"] == whole["clients"]["connected"] == 8
    for word in ("sent", "due", "delivered"):
        assert whole["frames"][word] == sum(part["frames"][word] for part in parts) > 0
    for wrong, words in ((paths[:1], "part 2 is missing"), ([*paths, paths[0]], "part 1 is there twice")):
        refused = subprocess.run([str(binary()), "load", "join", *wrong], capture_output=True, text=True, timeout=SECONDS_MAX)
        assert refused.returncode == 3 and words in refused.stderr, refused.stderr
    # Publishers and listeners are on both sides: each listener heard both publishers.
    assert whole["frames"]["due"] == whole["frames"]["delivered"]
    assert {entry["name"] for entry in whole["limits"]} == {"deliveredShareMin", "failedClientsMax"}
    assert "<svg" in page.read_text()


def test_who_hears_nothing_of_another_process_is_seen_when_the_parts_are_joined(relay: Relay, tmp_path: Path) -> None:
    """The second part plays in another room: its listeners get nothing of the first one's speaker."""
    scenario = TALK | {"clients": [TALK["clients"][0], TALK["clients"][1] | {"count": 5}]}
    commands = [command(relay, scenario, tmp_path, "--part", f"{part}/2", "--room", f"deaf-{part}", "--quiet", name=f"part-{part}") for part in (1, 2)]
    processes = [subprocess.Popen(words) for words in commands]
    assert [process.wait(SECONDS_MAX) for process in processes] == [0, 0]
    paths = [str(tmp_path / f"part-{part}.json") for part in (1, 2)]
    result = subprocess.run([str(binary()), "load", "join", *paths, "--report", str(tmp_path / "all.json")], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert result.returncode == 1 and "deliveredShareMin does not hold" in result.stderr, result.stdout + result.stderr
    parts, whole = [read(path) for path in map(Path, paths)], read(tmp_path / "all.json")
    speaking, deaf = sorted(parts, key=lambda part: part["frames"]["due"], reverse=True)
    assert deaf["frames"]["due"] == 0 and whole["frames"]["due"] > speaking["frames"]["due"]


def test_what_is_due_when_the_relay_dies_is_missing(start_relay: Callable[..., Relay], tmp_path: Path) -> None:
    """Clients that are lost take nothing with them: what they would have sent and heard is due to the end."""
    relay = start_relay("dying")
    process = subprocess.Popen(command(relay, TALK | {"lasts": 8}, tmp_path), stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if "2 of 8 s" in line:
                break
        relay.process.kill()
        process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
        relay.stopped = True
    report = read(tmp_path / "report.json")
    assert process.returncode == 1
    assert sum(report["clients"]["failedByReason"].values()) == 4
    # Three listeners, 50 frames a second, 8 s.
    assert report["frames"]["due"] >= 3 * 8 * 45
    assert report["frames"]["delivered"] < 0.7 * report["frames"]["due"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--part", "3/2"], 2, "--part"),
        (["--part", "1/2"], 2, "--report"),
        (["--target", "ftp://x:1"], 2, "--target"),
        (["--clients", "1"], 2, "too few"),
        (["--identities", "2", "--as", "alice"], 2, "--identities"),
        (["--target", "wss://127.0.0.1:9"], 4, "no client got in"),
    ],
)
def test_wrong_command_lines(relay: Relay, options: list[str], code: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.json5"
    path.write_text(json.dumps(TALK))
    known = ["--state", str(relay.state)] + ([] if "--target" in options else ["--target", f"127.0.0.1:{relay.port}"])
    result = subprocess.run([str(binary()), "load", str(path), *known, *options], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert result.returncode == code, result.stderr
    assert words in result.stderr


def test_faults_of_a_scenario_are_told_all_at_once(relay: Relay, tmp_path: Path) -> None:
    outcome = play(relay, TALK | {"lasts": "soon", "rampUp": 5, "limits": {"latency": 3}}, tmp_path)
    assert outcome.code == 3
    for path in ("lasts", "rampUp", "limits.latency"):
        assert f": {path}: " in outcome.errors


def processes_of(folder: str) -> list[str]:
    """Command lines that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if folder in words:
            found.append(words)
    return found


@pytest.mark.parametrize("ending", ["by itself", "by a signal"])
def test_the_script_starts_what_it_needs_and_leaves_nothing(ending: str, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json5"
    lasts = 2 if ending == "by itself" else 600
    scenario.write_text(json.dumps(TALK | {"clients": [TALK["clients"][0] | {"count": 2}, TALK["clients"][1] | {"count": 4}], "lasts": lasts}))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"SEGUE_BIN": str(binary()), "TMPDIR": str(temporary)}
    words = [str(REPOSITORY / "LoadTests/run"), str(scenario), "--processes", "2", "--report", str(tmp_path / "report.json"), "--keep", str(tmp_path / "kept")]
    # Where the benches run in the background SIGINT is ignored, and a shell cannot take back what it has inherited so.
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    try:
        if ending == "by a signal":
            # The second process shows nothing, and may come later on a busy machine: runs that do not overlap are no parts of one.
            for line in process.stdout:
                if "5 of 600 s" in line:
                    break
            process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
    assert process.returncode == 0, output
    report = read(tmp_path / "report.json")
    assert report["parts"] == 2
    assert report["clients"]["connected"] == 6
    assert report["frames"]["due"] == report["frames"]["delivered"] > 0
    assert report["relay"]["rssBytes"] > 0
    assert report["limits"]
    assert processes_of(str(temporary)) == []
    assert list(temporary.iterdir()) == []
    assert (tmp_path / "kept/relay.log").exists()


# In the program's place: the first part's report is there two seconds later than the others'.
LATE = """#!/usr/bin/env python3
import os, signal, subprocess, sys, time
program, arguments = {program!r}, sys.argv[1:]
if arguments[0] != "load" or "1/2" not in arguments:
    os.execv(program, [program, *arguments])
place = arguments.index("--report") + 1
report, arguments[place] = arguments[place], arguments[place] + ".early"
process = subprocess.Popen([program, *arguments])
signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGINT))
status = process.wait()
time.sleep(2)
os.replace(report + ".early", report)
sys.exit(status)
"""


def test_after_ctrl_c_the_script_waits_for_every_process_whichever_ends_last(tmp_path: Path) -> None:
    scenario, late = tmp_path / "scenario.json5", tmp_path / "late"
    scenario.write_text(json.dumps(TALK | {"clients": [TALK["clients"][0] | {"count": 2}, TALK["clients"][1] | {"count": 4}], "lasts": 600}))
    late.write_text(LATE.format(program=str(binary())))
    late.chmod(0o755)
    words = [str(REPOSITORY / "LoadTests/run"), str(scenario), "--processes", "2", "--report", str(tmp_path / "report.json")]
    process = subprocess.Popen(
        words, env=os.environ | {"SEGUE_BIN": str(late)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    try:
        for line in process.stdout:
            if "5 of 600 s" in line:
                break
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert read(tmp_path / "report.json")["parts"] == 2


def test_nothing_outlives_a_script_that_is_killed(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json5"
    scenario.write_text(json.dumps(TALK | {"lasts": 600}))
    words = [str(REPOSITORY / "LoadTests/run"), str(scenario)]
    environment = os.environ | {"SEGUE_BIN": str(binary()), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "of 600 s" in line:
            break
    assert processes_of(str(tmp_path / "segue-load."))
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while processes_of(str(tmp_path / "segue-load.")):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_script_takes_files_of_where_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "mine.json5").write_text(json.dumps(TALK | {"lasts": 1}))
    words = [str(REPOSITORY / "LoadTests/run"), "mine.json5", "--report", "here.json", "--quiet"]
    result = subprocess.run(words, cwd=tmp_path, env=os.environ | {"SEGUE_BIN": str(binary())}, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert result.returncode == 0, result.stdout + result.stderr
    assert read(tmp_path / "here.json")["scenario"]["name"] == TALK["name"]
    assert not (REPOSITORY / "here.json").exists()


def test_the_script_says_what_is_wrong() -> None:
    for words, wanted in ([["nowhere"], "no scenario nowhere"], [["talk", "--fast"], "--fast"], [["talk", "--processes", "0"], "--processes"]):
        result = subprocess.run([str(REPOSITORY / "LoadTests/run"), *words], capture_output=True, text=True, timeout=SECONDS_MAX)
        assert result.returncode == 64
        assert wanted in result.stderr
    help_text = subprocess.run([str(REPOSITORY / "LoadTests/run"), "--help"], capture_output=True, text=True, timeout=SECONDS_MAX).stdout
    for name in SMALL:
        assert f"  {name} " in help_text
