"""The audit log: where it lies, who can read it, that rotation loses nothing, and what a flood of refusals does to it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.admin import AdminSetting, request, until
from support.metrics import value
from support.relay import Relay, binary

LOST = "segue_audit_records_lost_total"


@pytest.fixture
def setting(start_relay: Callable[..., Relay], tmp_path: Path) -> AdminSetting:
    return AdminSetting.create(start_relay, tmp_path)


def lost(setting: AdminSetting) -> int:
    return int(value(setting.relay.get("/metrics")[2], LOST))


def test_the_file_is_for_its_owner_alone(setting: AdminSetting) -> None:
    assert stat.S_IMODE((setting.folder / "audit.jsonl").stat().st_mode) == 0o600


def test_records_are_there_at_the_end_of_a_drain(setting: AdminSetting) -> None:
    """POST /v1/drain is the last thing that is done, and is in the file when the relay has ended."""
    assert setting.ask("POST", "/v1/drain").status == 202
    setting.relay.process.wait(20)
    setting.relay.stopped = True
    assert setting.relay.process.returncode == 0
    record = setting.audit()[-1]
    assert record["act"] == "POST /v1/drain" and record["actor"] == "urn:segue:client:operator" and record["outcome"] == "done"
    assert record["time"].endswith("Z")


def test_rotation_loses_nothing(setting: AdminSetting) -> None:
    current, moved = setting.folder / "audit.jsonl", setting.folder / "audit.jsonl.1"
    setting.ask("GET", "/v1/rooms/before")
    until(lambda: "before" in current.read_text(), "the first record")
    current.rename(moved)
    setting.relay.reload()
    until(current.exists, "the file is made anew")
    setting.ask("GET", "/v1/rooms/after")
    until(lambda: "after" in current.read_text(), "the second record")
    assert "after" not in moved.read_text() and stat.S_IMODE(current.stat().st_mode) == 0o600
    assert lost(setting) == 0


def test_a_flood_of_refusals_is_bounded_and_every_record_counted(setting: AdminSetting) -> None:
    """What is kept and what is lost add up; an administrator's act has its place all the same."""
    count = 6_000
    with setting.connect("alice") as client:
        for _ in range(count // 100):
            client.send(request("GET", "/v1/rooms") * 100)
            for _ in range(100):
                response = client.response()
                assert response is not None and response.status == 403
    setting.ask("GET", "/v1/rooms/in-the-flood")

    def kept() -> list[dict]:
        return [record for record in setting.audit() if record.get("code") == "not_admin"]

    until(lambda: len(kept()) + lost(setting) >= count, "everything is accounted for")
    assert len(kept()) + lost(setting) == count
    assert any(record.get("room") == "in-the-flood" for record in setting.audit())
    told = sum(int(record["count"]) for record in setting.audit() if record["act"] == "audit.lost")
    until(lambda: sum(int(record["count"]) for record in setting.audit() if record["act"] == "audit.lost") == lost(setting), f"the loss is told: {told}")


def refused_start(folder: Path, path: Path) -> str:
    """What the relay says when it cannot start with an audit log at `path`."""
    folder.mkdir()
    environment = {**os.environ, "SEGUE_AUDIT_LOG": str(path)}
    result = subprocess.run(
        [str(binary()), "serve", "--state", str(folder / "state"), "--listen", "127.0.0.1:0"],
        env=environment, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL,
    )
    assert result.returncode != 0
    return result.stdout + result.stderr


@pytest.mark.parametrize("kind", ["a link", "a folder", "a pipe", "a file that others can write", "a place that is not there"])
def test_a_file_that_is_not_safe_is_not_written(tmp_path: Path, kind: str) -> None:
    path, victim = tmp_path / "audit.jsonl", tmp_path / "victim"
    victim.write_text("precious")
    if kind == "a link":
        path.symlink_to(victim)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a file that others can write":
        path.touch()
        path.chmod(0o666)
    else:
        path = tmp_path / "nowhere/audit.jsonl"
    said = refused_start(tmp_path / "relay", path)
    assert "audit log" in said and victim.read_text() == "precious"
