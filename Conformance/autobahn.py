#!/usr/bin/env python3
"""Autobahn's WebSocket fuzzing client against the relay's echo path, through HAProxy (its client cannot show a certificate).

Prints a table by section and `N passed, N failed`. A case passes when both its behaviour and its closing are OK, NON-STRICT or INFORMATIONAL. The
detailed reports are HTML pages in the folder that is printed. The relay must allow messages of 16 MiB (`--echo --echo-message-bytes-max 16777216`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from support.bridge import Bridge
from support.relay import REPOSITORY, Identity, demo_identity

WSTEST = REPOSITORY / ".build/venv27/bin/wstest"
SECONDS_MAX = 900
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}
SECTIONS = {
    "framing": ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"],
    "limits": ["9.*"],
    # Each case of 12 and 13 exchanges a thousand compressed messages: a sample of sizes and window settings.
    "deflate": ["12.1.1", "12.1.4", "12.1.8", "12.1.11", "12.2.5", "12.3.5", "12.4.5", "12.5.5"]
    + [f"13.{parameters}.{size}" for parameters in range(1, 8) for size in (1, 6)],
}
# How many cases the sections hold at least: a run that lost some must not pass.
CASES_MIN = {"framing": 247, "limits": 54, "deflate": 22}


def is_available() -> bool:
    return WSTEST.exists()


def run(folder: Path, port: int, authority: Path, identity: Identity, http: str, sections: list[str], path: str = "/echo") -> dict[str, dict]:
    """Runs the sections and returns the report: case → what Autobahn found. `folder` gets the HTML reports.

    The cases of 6.4 send invalid text in pieces a second apart, and judge by the suite's own clock at which piece they were closed: those that fail are run once more by themselves.
    """
    report = run_cases(folder, port, authority, identity, http, [case for section in sections for case in SECTIONS[section]], path)
    timed = [case for case in report if case.startswith("6.4.") and not is_good(report[case])]
    if timed:
        report |= run_cases(folder / "again", port, authority, identity, http, timed, path)
    return report


def run_cases(folder: Path, port: int, authority: Path, identity: Identity, http: str, cases: list[str], path: str) -> dict[str, dict]:
    folder.mkdir(parents=True, exist_ok=True)
    agent = f"segue-http{http}"
    with Bridge(folder, port, authority, identity, http) as bridge:
        specification = {
            "outdir": str(folder / "reports"),
            "servers": [{"agent": agent, "url": f"ws://127.0.0.1:{bridge.port}{path}"}],
            "cases": cases,
            "exclude-cases": [],
            "exclude-agent-cases": {},
        }
        spec_path = folder / "fuzzingclient.json"
        spec_path.write_text(json.dumps(specification, indent=2))
        with (folder / "wstest.log").open("wb") as log:
            environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
            command = [str(WSTEST), "--mode", "fuzzingclient", "--spec", str(spec_path)]
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=SECONDS_MAX, env=environment, cwd=folder)
    index = folder / "reports/index.json"
    assert result.returncode == 0 and index.exists(), (
        f"wstest exited with {result.returncode}:\n" + (folder / "wstest.log").read_text(errors="replace")[-2000:]
    )
    return json.loads(index.read_text())[agent]


def key(case: str) -> tuple[int, ...]:
    return tuple(int(part) for part in case.split("."))


def faults(report: dict[str, dict], sections: list[str]) -> list[str]:
    """The cases that failed, and a line when cases are missing."""
    found = [
        f"{case}: {report[case]['behavior']}, closing {report[case]['behaviorClose']}"
        for case in sorted(report, key=key)
        if not is_good(report[case])
    ]
    expected = sum(CASES_MIN[section] for section in sections)
    if len(report) < expected:
        found.append(f"only {len(report)} cases ran, {expected} were expected")
    return found


def is_good(row: dict) -> bool:
    return row["behavior"] in GOOD and row["behaviorClose"] in GOOD


def print_table(report: dict[str, dict]) -> None:
    groups: dict[str, dict[str, int]] = {}
    for case in sorted(report, key=key):
        group = groups.setdefault(case.split(".")[0], {})
        verdict = report[case]["behavior"] if is_good(report[case]) else "FAILED"
        group[verdict] = group.get(verdict, 0) + 1
    for section, verdicts in groups.items():
        print(f"  section {section:>2}  " + "  ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True, help="the relay's port on 127.0.0.1")
    parser.add_argument("--state", type=Path, required=True, help="the relay's state folder: its CA and its demo client alice are used")
    parser.add_argument("--http", choices=("1.1", "2"), action="append", help="only over this version")
    parser.add_argument("--section", choices=tuple(SECTIONS), action="append", help="only these sections")
    parser.add_argument("--out", type=Path, default=REPOSITORY / ".build/autobahn", help="where the reports go (default %(default)s)")
    arguments = parser.parse_args()
    if not is_available():
        print("SKIPPED: no Autobahn (it needs CPython 2.7): run Deploy/python-environment and read what it says")
        return 69
    identity = demo_identity(arguments.state, "alice")
    sections = arguments.section or list(SECTIONS)
    passed = failed = 0
    for http in arguments.http or ("1.1", "2"):
        folder = (arguments.out / f"http{http}").absolute()
        report = run(folder, arguments.port, (arguments.state / "ca.pem").absolute(), identity, http, sections)
        wrong = faults(report, sections)
        print(f"HTTP/{http}: {folder}/reports/index.html")
        print_table(report)
        for fault in wrong:
            print(f"  FAIL {fault}")
        failed += len(wrong)
        passed += sum(is_good(row) for row in report.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
