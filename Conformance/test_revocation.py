"""Revocation while the relay runs: lists of several authorities, deltas, and OCSP stapling. Everything here comes by files that change; nobody sends SIGHUP."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from support import tls
from support.authority import Authority, openssl
from support.h2_websocket import H2Client
from support.metrics import measure
from support.proven import Session1, Session2
from support.relay import Identity, Relay
from support.tls import refusal_of
from support.waiting import wait_until

# The relay is told by the kernel; it must not be its looking from time to time that these tests see.
NEVER = 3_600_000
# The promise is a second. On a machine that is busy with other things a process may wait longer than that for its turn.
SECONDS_MAX = 5.0


def context_of(authority: Authority, identity: Identity, *alpn: str) -> ssl.SSLContext:
    return tls.client_context(authority.certificate, certificate=identity.certificate, key=identity.key, alpn=alpn)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.create(tmp_path / "ca")


@pytest.fixture
def launch(start_relay: Callable[..., Relay], authority: Authority) -> Callable[..., Relay]:
    server, me = authority.issue_server(), authority.issue("operator")

    def start(checks: int = NEVER, **settings: object) -> Relay:
        config = authority.configuration(server, **settings) | {"reloadCheckMilliseconds": checks}
        return start_relay("revocation", config=config, arguments=("--echo",), authority=authority.certificate, identity=me)

    return start


def test_revocation_ends_the_sessions_of_one_within_a_second(authority: Authority, launch: Callable[..., Relay]) -> None:
    """Several devices with the certificate, over both HTTP versions and on all loops; everybody else stays, on the same loops too."""
    relay = launch()
    leaver, stayers = authority.issue("leaver"), [authority.issue(f"stayer-{number}") for number in range(3)]
    leaving: list[Session1 | Session2] = [Session1(relay.port, context_of(authority, leaver)) for _ in range(4)]
    shared = H2Client(relay.port, context_of(authority, leaver, "h2"))
    leaving += [Session2(shared), Session2(shared)]
    staying: list[Session1 | Session2] = [Session1(relay.port, context_of(authority, who)) for who in stayers]
    staying += [Session2(H2Client(relay.port, context_of(authority, who, "h2"))) for who in stayers]
    assert all(session.is_alive() for session in leaving + staying)
    authority.revoke(leaver)
    written = time.monotonic()
    assert [session.close_reason(SECONDS_MAX) for session in leaving] == [(1008, "certificate_revoked")] * 6
    elapsed = time.monotonic() - written
    print(f"six sessions ended {elapsed * 1000:.0f} ms after the list was written")
    assert elapsed < SECONDS_MAX
    assert refusal_of(relay.port, context_of(authority, leaver)) == "certificate_revoked"
    assert all(session.is_alive() for session in staying)
    for session in leaving[:4]:
        session.socket.socket.close()
    shared.close()
    wait_until("the ends are counted by their reason", lambda: measure(relay, "segue_websockets_closed_total", "1008_certificate_revoked") == 6)


def test_expiry_ends_sessions_within_a_second(authority: Authority, launch: Callable[..., Relay]) -> None:
    relay = launch()
    brief = authority.issue("brief", ends=timedelta(seconds=7))
    with Session1(relay.port, context_of(authority, brief)) as first, H2Client(relay.port, context_of(authority, brief, "h2")) as client:
        second = Session2(client)
        end = float(subprocess.run(["date", "-d", end_of(brief), "+%s"], capture_output=True, check=True, timeout=10).stdout)
        assert first.close_reason(30) == (1008, "certificate_expired")
        assert second.close_reason(30) == (1008, "certificate_expired")
        late = time.time() - end
    print(f"ended {late:.2f} s after notAfter")
    # notAfter itself is still within the validity (RFC 5280 §4.1.2.5): the second after it is the first one without.
    assert 0 <= late < 1 + SECONDS_MAX


def end_of(identity: Identity) -> str:
    return openssl("x509", "-in", identity.certificate, "-noout", "-enddate").strip().removeprefix("notAfter=")


def test_lists_of_several_authorities_in_several_files(authority: Authority, launch: Callable[..., Relay], tmp_path: Path) -> None:
    other = Authority.create(tmp_path / "other", name="Another CA")
    third = Authority.create(tmp_path / "third", name="A third CA")
    together = tmp_path / "others.pem"

    def join() -> None:
        fresh = tmp_path / "others.new"
        fresh.write_text(other.revocations.read_text() + third.revocations.read_text())
        fresh.replace(together)

    join()
    relay = launch(
        clientAuthorities=[str(authority.certificate), str(other.certificate), str(third.certificate)],
        revocationLists=[str(authority.revocations), str(together)],
    )
    clients = {name: issuer.issue(name) for name, issuer in (("first", authority), ("second", other), ("third", third))}
    sessions = {name: Session1(relay.port, context_of(authority, identity)) for name, identity in clients.items()}
    third.revoke(clients["third"])
    assert sessions["second"].is_alive(), "a list that nobody reads yet"
    join()
    assert sessions["third"].close_reason(SECONDS_MAX) == (1008, "certificate_revoked")
    assert sessions["first"].is_alive() and sessions["second"].is_alive()
    authority.revoke(clients["first"])
    assert sessions["first"].close_reason(SECONDS_MAX) == (1008, "certificate_revoked")
    assert sessions["second"].is_alive()
    # The second's serial number was the first's and the third's too: a number counts with its issuer.
    numbers = {name: openssl("x509", "-in", identity.certificate, "-noout", "-serial") for name, identity in clients.items()}
    assert numbers["second"] == numbers["third"], numbers


DELTAS = """
[complete]
2.5.29.20 = DER:02:01:10
freshestCRL = URI:http://crl.example/delta
[delta]
2.5.29.20 = DER:02:01:11
2.5.29.27 = critical,DER:02:01:10
"""


def test_delta_list(authority: Authority, launch: Callable[..., Relay], tmp_path: Path) -> None:
    """RFC 5280 §5.2.4: the complete list stays as it is, the delta grows."""
    configuration = tmp_path / "deltas.cnf"
    complete, delta = tmp_path / "complete.pem", tmp_path / "delta.pem"

    def write(path: Path, section: str) -> None:
        authority._configure()
        # No counter of its own: the numbers are those of the sections.
        text = (authority.directory / "openssl.cnf").read_text()
        configuration.write_text(re.sub(r"^crlnumber.*$", "", text, flags=re.MULTILINE) + DELTAS)
        fresh = path.with_suffix(".new")
        openssl("ca", "-gencrl", "-config", configuration, "-crlexts", section, "-out", fresh)
        fresh.replace(path)

    write(complete, "complete")
    write(delta, "delta")
    relay = launch(revocationLists=[str(complete), str(delta)])
    leaver, stayer = authority.issue("leaver"), authority.issue("stayer")
    before = complete.read_bytes()
    with Session1(relay.port, context_of(authority, leaver)) as leaving, Session1(relay.port, context_of(authority, stayer)) as staying:
        authority.revoke(leaver)
        assert leaving.is_alive(), "neither of the two files has changed"
        write(delta, "delta")
        assert leaving.close_reason(SECONDS_MAX) == (1008, "certificate_revoked")
        assert staying.is_alive()
    assert complete.read_bytes() == before
    assert refusal_of(relay.port, context_of(authority, leaver)) == "certificate_revoked"
    assert refusal_of(relay.port, context_of(authority, stayer)) is None


def test_authority_taken_away_ends_its_sessions(authority: Authority, launch: Callable[..., Relay], tmp_path: Path) -> None:
    other = Authority.create(tmp_path / "other", name="Another CA")
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(authority.certificate.read_text() + other.certificate.read_text())
    relay = launch(clientAuthorities=[str(trusted)], revocationLists=[])
    first, second = authority.issue("first"), other.issue("second")
    with Session1(relay.port, context_of(authority, first)) as staying, Session1(relay.port, context_of(authority, second)) as leaving:
        trusted.write_text(authority.certificate.read_text())
        assert leaving.close_reason(SECONDS_MAX) == (1008, "certificate_unknown_authority")
        assert staying.is_alive()


def test_bad_list_keeps_the_old_and_says_so(authority: Authority, launch: Callable[..., Relay]) -> None:
    relay = launch()
    client = authority.issue("client")
    with Session1(relay.port, context_of(authority, client)) as session:
        good = authority.revocations.read_bytes()
        authority.revocations.write_bytes(good[: len(good) // 2])
        wait_until("/readyz tells", lambda: "stale: tls" in relay.get("/readyz")[2])
        assert relay.get("/readyz")[0] == 200
        assert measure(relay, "segue_reload_failed", "tls") == 1
        assert "reload_failed" in relay.log()
        assert session.is_alive()
        authority.revocations.write_bytes(good)
        wait_until("/readyz tells no more", lambda: "stale" not in relay.get("/readyz")[2])
        assert measure(relay, "segue_reload_failed", "tls") == 0
        authority.revoke(client)
        assert session.close_reason(SECONDS_MAX) == (1008, "certificate_revoked")


@pytest.mark.parametrize("what", ["list", "chain", "key"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(authority: Authority, launch: Callable[..., Relay], what: str) -> None:
    """Who reads the files also takes over policies and ends the relay: a FIFO without a writer must not hold that up."""
    relay = launch(checks=100)
    folder = authority.directory
    file = {"list": authority.revocations, "chain": folder / "server.pem", "key": folder / "server-key.pem"}[what]
    good = file.read_bytes()
    file.unlink()
    os.mkfifo(file)
    wait_until("/readyz tells", lambda: "stale: tls" in relay.get("/readyz")[2])
    wait_until("the log tells why", lambda: "is not a regular file" in relay.log())
    os.rename(file, folder / "fifo")
    file.write_bytes(good)
    wait_until("/readyz tells no more", lambda: "stale" not in relay.get("/readyz")[2])
    os.rename(folder / "fifo", file)
    wait_until("/readyz tells again", lambda: "stale: tls" in relay.get("/readyz")[2])
    relay.stop()


def test_certificate_and_key_are_two_files(authority: Authority, launch: Callable[..., Relay], tmp_path: Path) -> None:
    """Who replaces both, one after the other, does not make the relay complain of a pair that does not fit."""
    server = authority.issue_server()
    pair = Identity(tmp_path / "pair.pem", tmp_path / "pair-key.pem")
    shutil.copy(server.certificate, pair.certificate)
    shutil.copy(server.key, pair.key)
    relay = launch(certificates=[{"chain": str(pair.certificate), "key": str(pair.key)}])
    fresh = authority.issue_rsa_server()
    shutil.copy(fresh.certificate, pair.certificate)
    shutil.copy(fresh.key, pair.key)
    context = relay.context(maximum=ssl.TLSVersion.TLSv1_2)

    def has_new() -> bool:
        with tls.connect(relay.port, context) as client:
            cipher = client.cipher()
            return cipher is not None and "RSA" in cipher[0]

    wait_until("the new pair is shown", has_new)


def test_change_behind_a_link_is_seen_by_looking(authority: Authority, launch: Callable[..., Relay], tmp_path: Path) -> None:
    """As Kubernetes mounts secrets: the kernel tells nothing of the folder that is linked to."""
    (tmp_path / "link").mkdir()
    linked = tmp_path / "link" / "crl.pem"
    linked.symlink_to(authority.revocations)
    relay = launch(checks=200, revocationLists=[str(linked)])
    client = authority.issue("client")
    with Session1(relay.port, context_of(authority, client)) as session:
        authority.revoke(client)
        assert session.close_reason(SECONDS_MAX) == (1008, "certificate_revoked")


# OCSP stapling of the relay's own certificate.


class Responder:
    """Responses of `openssl ocsp` about the relay's certificate, in a file that the relay staples from."""

    def __init__(self, authority: Authority, server: Identity, path: Path):
        self.authority, self.server, self.path = authority, server, path

    def write(self, *, days: int = 7) -> None:
        fresh, ca = self.path.with_suffix(".new"), self.authority
        openssl(
            *("ocsp", "-index", ca.directory / "index.txt", "-rsigner", ca.certificate, "-rkey", ca.directory / "ca-key.pem"),
            *("-CA", ca.certificate, "-issuer", ca.certificate, "-cert", self.server.certificate, "-respout", fresh, "-ndays", str(days)),
        )
        fresh.replace(self.path)


def stapled(relay: Relay, authority: Authority, *flags: str) -> str:
    """What `openssl s_client` says of the stapled response, which it verifies like the chain."""
    identity = relay.identity
    assert identity is not None
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{relay.port}", "-servername", "localhost", "-status", "-CAfile", str(authority.certificate)]
    command += ["-cert", str(identity.certificate), "-key", str(identity.key), *flags]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=20).stdout


def test_ocsp_stapling(authority: Authority, launch: Callable[..., Relay], tmp_path: Path) -> None:
    server = authority.issue_server()
    responder = Responder(authority, server, tmp_path / "server.ocsp")
    responder.write(days=3)
    relay = launch(certificates=[{"chain": str(server.certificate), "key": str(server.key), "ocspResponse": str(responder.path)}])
    for version in ("-tls1_2", "-tls1_3"):
        output = stapled(relay, authority, version)
        assert "OCSP Response Status: successful" in output and "Cert Status: good" in output, output
    first = next_update(output)
    with Session1(relay.port, relay.context()) as session:
        responder.write(days=9)
        wait_until("the new response is stapled", lambda: next_update(stapled(relay, authority)) != first)
        second = next_update(stapled(relay, authority))
        # A bad one keeps the old, and does not keep a revocation list from coming into force.
        leaver = authority.issue("leaver")
        with Session1(relay.port, context_of(authority, leaver)) as leaving:
            responder.path.write_bytes(b"no response")
            wait_until("/readyz tells", lambda: "stale: ocsp" in relay.get("/readyz")[2])
            assert measure(relay, "segue_ocsp_responses_stale") == 1
            assert next_update(stapled(relay, authority)) == second
            authority.revoke(leaver)
            assert leaving.close_reason(SECONDS_MAX) == (1008, "certificate_revoked")
        responder.write(days=5)
        wait_until("/readyz tells no more", lambda: "stale" not in relay.get("/readyz")[2])
        assert session.is_alive(), "a response is no reason to end a session"


def next_update(output: str) -> str:
    found = re.search(r"Next Update: (.*)", output)
    assert found, output
    return found.group(1)


def test_nothing_is_stapled_unless_configured(authority: Authority, launch: Callable[..., Relay]) -> None:
    assert "OCSP response: no response sent" in stapled(launch(), authority)


@pytest.mark.parametrize("what", ["revoked", "another certificate", "not there", "not DER"])
def test_ocsp_response_that_is_of_no_use_is_a_fault_at_the_start(authority: Authority, launch: Callable[..., Relay], tmp_path: Path, what: str) -> None:
    server = authority.issue_server()
    path = tmp_path / "server.ocsp"
    if what == "not DER":
        path.write_text("no response")
    elif what != "not there":
        subject = authority.issue_rsa_server() if what == "another certificate" else server
        if what == "revoked":
            authority.revoke(server)
        Responder(authority, subject, path).write()
    with pytest.raises(AssertionError, match=r"server\.ocsp"):
        launch(certificates=[{"chain": str(server.certificate), "key": str(server.key), "ocspResponse": str(path)}])
