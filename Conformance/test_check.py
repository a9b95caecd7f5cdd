"""`segue check`: it tells everything that is wrong, one fault hides no other, and what it passes the relay starts with."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.authority import Authority
from support.relay import Identity, Relay, binary, write_whole

POLICY = {"access": [{"identities": ["*"], "rooms": ["*"], "roles": ["listener"]}]}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Identity:
    return authority.issue_server()


def segue(*arguments: str | Path, seconds: float = 60) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEGUE_")}
    return subprocess.run([str(binary()), *map(str, arguments)], capture_output=True, text=True, timeout=seconds, env=environment)


class Setting:
    def __init__(self, folder: Path, authority: Authority, server: Identity) -> None:
        self.folder = folder
        self.path = folder / "segue.json5"
        self.policy = folder / "policy.json5"
        self.policy.write_text(json.dumps(POLICY))
        self.base = authority.configuration(server) | {"policy": str(self.policy), "state": str(folder / "state")}

    def write(self, **changes: object) -> None:
        self.path.write_text(json.dumps({name: value for name, value in (self.base | changes).items() if value is not None}))

    def check(self, **changes: object) -> tuple[int, list[tuple[str, str, str]]]:
        """The exit code, and (status, subject, message) of each finding."""
        self.write(**changes)
        result = segue("check", "--config", self.path, "--json")
        findings = json.loads(result.stdout)["findings"]
        return result.returncode, [(one["status"], one["subject"], one["message"]) for one in findings]

    def refusal(self) -> subprocess.CompletedProcess:
        """What a relay says that must not start."""
        result = segue("serve", "--config", self.path, "--log", "json", seconds=30)
        assert result.returncode != 0, result
        return result


@pytest.fixture
def setting(tmp_path: Path, authority: Authority, server: Identity) -> Setting:
    return Setting(tmp_path, authority, server)


def having(findings: list[tuple[str, str, str]], status: str, text: str) -> list[str]:
    return [f"{subject}: {message}" for found, subject, message in findings if found == status and text in f"{subject}: {message}"]


# What is well


def test_what_is_well_is_told_section_by_section(setting: Setting) -> None:
    code, findings = setting.check(auditLog=str(setting.folder / "audit.jsonl"))
    assert code == 0, findings
    for section in ("configuration", "policy", "state", "auditLog", "proxies", "enrolment", "tokens", "listen"):
        assert having(findings, "ok", f"{section}: "), (section, findings)
    # A look changes nothing.
    assert sorted(path.name for path in setting.folder.iterdir()) == ["policy.json5", "segue.json5"]


def test_what_is_left_out_and_missed_later_is_a_warning(setting: Setting) -> None:
    code, findings = setting.check(policy=None, state=None)
    assert code == 0
    assert having(findings, "warn", "policy: not named: nobody may join")
    assert having(findings, "warn", "state: not named")


# What keeps the relay from starting


def state_is_a_file(setting: Setting) -> dict:
    (setting.folder / "plain").touch()
    return {"state": str(setting.folder / "plain")}


def state_without_a_parent(setting: Setting) -> dict:
    return {"state": str(setting.folder / "no/such")}


def state_that_others_write(setting: Setting) -> dict:
    (setting.folder / "open").mkdir()
    (setting.folder / "open").chmod(0o777)
    return {"state": str(setting.folder / "open")}


def damaged_grants(setting: Setting) -> dict:
    (setting.folder / "state").mkdir(mode=0o700)
    (setting.folder / "state/grants.json").write_text("{")
    return {}


def audit_without_a_folder(setting: Setting) -> dict:
    return {"auditLog": str(setting.folder / "missing/audit.jsonl")}


def audit_is_a_link(setting: Setting) -> dict:
    (setting.folder / "link").symlink_to(setting.folder / "elsewhere")
    return {"auditLog": str(setting.folder / "link")}


def audit_is_a_folder(setting: Setting) -> dict:
    return {"auditLog": str(setting.folder)}


def audit_that_others_write(setting: Setting) -> dict:
    (setting.folder / "audit").touch()
    (setting.folder / "audit").chmod(0o666)
    return {"auditLog": str(setting.folder / "audit")}


def the_same_address_twice(_: Setting) -> dict:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return {"listen": [f"127.0.0.1:{port}"], "proxies": {"listen": [f"127.0.0.1:{port}"]}}


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (state_is_a_file, "is no folder"),
        (state_without_a_parent, "the folder above is missing"),
        (state_that_others_write, "can be written to by others"),
        (damaged_grants, "grants.json: is damaged"),
        (audit_without_a_folder, "its folder is missing"),
        (audit_is_a_link, "it is a symbolic link"),
        (audit_is_a_folder, "it is no regular file"),
        (audit_that_others_write, "only its owner can write to"),
        (the_same_address_twice, None),
    ],
)
def test_check_fails_where_serve_does(setting: Setting, break_it: Callable[[Setting], dict], told: str | None) -> None:
    code, findings = setting.check(**break_it(setting))
    assert code == 3 and having(findings, "fail", told or "is taken by"), findings
    assert having(findings, "ok", "configuration: "), "nothing else is at fault"
    refusal = setting.refusal()
    if told:
        assert told in refusal.stderr, refusal


def test_a_congestion_control_that_the_kernel_lacks_is_a_fault(setting: Setting) -> None:
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for good in [*known, ""]:
        code, findings = setting.check(congestionControl=good)
        assert code == 0 and not having(findings, "fail", "congestionControl"), findings
    for wrong in ("cubik", "no such thing", "x" * 15):
        code, findings = setting.check(congestionControl=wrong)
        told = having(findings, "fail", "congestionControl")
        assert code == 3 and told and all(name in told[0] for name in known), findings
        assert "congestionControl" in setting.refusal().stderr


def test_a_taken_proxy_listener_is_told(setting: Setting) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, findings = setting.check(proxies={"listen": [address]})
        assert code == 0 and having(findings, "warn", f"proxies.listen: {address} is taken"), findings


def test_one_fault_hides_no_other(setting: Setting) -> None:
    """The sample, where nothing is that it names, and faults of the file itself besides."""
    missing = str(setting.folder / "missing")
    setting.policy.write_text("{ admin: [] }")
    code, findings = setting.check(
        colour=1,
        listen=["nonsense"],
        limits={"roomsMax": 0},
        state=f"{missing}/state",
        auditLog=f"{missing}/audit",
        tokens={"keys": f"{missing}/jwks.json"},
        enrolment={"authority": f"{missing}/ca"},
        tls={
            "certificates": [{"chain": f"{missing}/server.pem", "key": f"{missing}/server-key.pem"}],
            "clientAuthorities": [f"{missing}/ca.pem"],
            "revocationLists": [f"{missing}/crl.pem"],
            "clientCertificates": "required",
        },
    )
    assert code == 3
    told = (
        *("colour: is not a known key", "listen[0]: must be", "limits.roomsMax: ", "policy.admin: is not a known key", "server.pem: cannot read"),
        *("server-key.pem: cannot read", "ca.pem: cannot read", "crl.pem: cannot read", "tokens.keys: ", "enrolment.authority: ", "state: ", "auditLog: "),
    )
    for text in told:
        assert len(having(findings, "fail", text)) == 1, (text, findings)
    assert having(findings, "warn", "a device without a certificate does not get through")


def test_two_certificates_of_one_kind_are_told(setting: Setting, authority: Authority, server: Identity) -> None:
    pair = {"chain": str(server.certificate), "key": str(server.key)}
    code, findings = setting.check(**authority.configuration(server, certificates=[pair, pair]))
    assert code == 3 and having(findings, "fail", "at most one pair for each kind of key"), findings
    setting.refusal()


# Revocation lists


def test_an_authority_without_a_list_is_told(setting: Setting, authority: Authority, server: Identity, tmp_path: Path) -> None:
    other = Authority.create(tmp_path / "other", name="Other CA")
    both = [str(authority.certificate), str(other.certificate)]
    changes = authority.configuration(server, clientAuthorities=both)
    code, findings = setting.check(**changes)
    assert code == 0 and len(having(findings, "warn", "CN=Other CA: all its clients are refused")) == 1, findings
    state = tmp_path / "relay"
    relay = Relay.start(state, config=changes, authority=authority.certificate, identity=authority.issue("alice"))
    try:
        events = [json.loads(line) for line in relay.log().splitlines() if line.startswith("{")]
        assert [one["authority"] for one in events if one["event"] == "authority_without_revocation_list"] == ["CN=Other CA"]
        relay.assert_healthy()
    finally:
        relay.stop()
    code, findings = setting.check(**authority.configuration(server, clientAuthorities=both, revocationLists=[str(authority.revocations), str(other.revocations)]))
    assert code == 0 and not having(findings, "warn", "all its clients are refused"), findings


# The policy


def test_a_fault_of_the_policy_names_its_file(setting: Setting) -> None:
    setting.policy.write_text("{ admin: [] }")
    setting.write()
    result = segue("check", "--config", setting.path)
    assert f"fail  {setting.policy}: policy.admin: is not a known key\n" in result.stdout
    assert "Deploy/policy.json5 explains" in result.stdout
    assert f"{setting.policy}: policy.admin: is not a known key" in setting.refusal().stderr
    setting.policy.unlink()
    assert f"fail  {setting.policy}: policy: cannot be read\n" in segue("check", "--config", setting.path).stdout


def test_rules_that_are_mistakes_are_warned_of(setting: Setting) -> None:
    everybody = {"identities": ["*"], "rooms": ["*"], "roles": ["listener"]}
    policy = {
        "admins": ["operator", "token:root", "spki:abcd"],
        "access": [everybody, everybody | {"identities": ["urn:a"]}],
        "rooms": [{"rooms": ["pair:*"]}, {"rooms": ["board"], "requires": ["token"]}],
    }
    setting.policy.write_text(json.dumps(policy))
    code, findings = setting.check()
    assert code == 0, findings
    told = (
        *("admins[0]: 'operator' matches DNS names only", "admins[1]: never applies", "admins[2]: 'spki:abcd' matches no key"),
        *("access[1]: is never reached", "rooms[0].rooms[0]: 'pair:*' never applies", "rooms[1]: asks for a token, but tokens are not in use"),
    )
    for text in told:
        assert having(findings, "warn", f"{setting.policy}: {text}"), (text, findings)
    assert len([one for one in findings if one[0] == "warn" and one[1] == str(setting.policy)]) == len(told), findings


# One relay, one state folder


def running(state: Path, config: dict | None, authority: Authority) -> Relay:
    return Relay.start(state, config=config, authority=authority.certificate if config else None, identity=authority.issue("keeper") if config else None)


@pytest.mark.parametrize("deployed", [True, False])
def test_a_second_relay_on_a_state_folder_does_not_start(setting: Setting, authority: Authority, tmp_path: Path, deployed: bool) -> None:
    home = tmp_path / "first"
    first = running(home, setting.base if deployed else None, authority)
    try:
        if deployed:
            setting.write()
            command, code = ["--config", setting.path], 3
            assert having(setting.check()[1], "warn", f"state: {setting.folder / 'state'} is in use by a relay")
        else:
            command, code = ["--state", home, "--listen", "127.0.0.1:0"], 3
        refused = segue("serve", *command, seconds=30)
        assert refused.returncode == code and "is in use by another relay" in refused.stderr, refused
        first.assert_healthy()
        # The kernel drops the lock of a process that had no time to.
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        first.stopped = True
        second = running(home, setting.base if deployed else None, authority)
        try:
            second.assert_healthy()
        finally:
            second.stop()
    finally:
        if not first.stopped:
            first.stop()


# Reloads


def test_a_failed_reload_is_told_once_until_it_changes(setting: Setting, authority: Authority, tmp_path: Path) -> None:
    relay = running(tmp_path / "relay", setting.base | {"reloadCheckMilliseconds": 100}, authority)

    def failures() -> list[str]:
        return [json.loads(line)["fault"] for line in relay.log().splitlines() if '"reload_failed"' in line]

    def until(count: int) -> None:
        deadline = time.monotonic() + 20
        while len(failures()) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        # Many looks later it is still told no more often.
        time.sleep(1)
        assert len(failures()) == count, failures()

    try:
        write_whole(setting.policy, "{")
        until(1)
        write_whole(setting.policy, "{ admin: [] }")
        until(2)
        # Somebody who asks is answered.
        relay.reload()
        until(3)
        write_whole(setting.policy, json.dumps(POLICY))
        deadline = time.monotonic() + 20
        while relay.get("/readyz")[2] != "ready\n" and time.monotonic() < deadline:
            time.sleep(0.05)
        write_whole(setting.policy, "{ admin: [] }")
        until(4)
    finally:
        relay.stop()
