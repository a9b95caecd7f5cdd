"""A certificate authority run by the openssl command line, able to issue what the relay must refuse."""

from __future__ import annotations

import base64
import subprocess
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .relay import Identity

CONFIGURATION = """
[ca]
default_ca = authority
[authority]
dir = {directory}
database = {directory}/index.txt
new_certs_dir = {directory}/issued
certificate = {directory}/ca.pem
private_key = {directory}/ca-key.pem
serial = {directory}/serial
crlnumber = {directory}/crlnumber
default_md = sha256
default_crl_days = 7
policy = anything
unique_subject = no
[anything]
commonName = supplied
[request]
distinguished_name = empty
[empty]
[root]
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = {usage}
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {names}
"""

SERVER_NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"


def openssl(*arguments: str | Path) -> str:
    result = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=110, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, f"openssl {' '.join(map(str, arguments))}\n{result.stderr}"
    return result.stdout


def timestamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%SZ")


@dataclass
class Authority:
    """A root, of ECDSA P-256 unless told otherwise, with its own index and CRL in `directory`."""

    directory: Path

    @classmethod
    def create(
        cls, directory: Path, *, name: str = "Conformance CA", key_type: tuple[str, ...] = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    ) -> Authority:
        authority = cls(directory)
        (directory / "issued").mkdir(parents=True)
        (directory / "index.txt").touch()
        (directory / "serial").write_text("1000\n")
        (directory / "crlnumber").write_text("1000\n")
        configuration = authority._configure()
        openssl(
            *("req", "-x509", "-newkey", *key_type, "-noenc", "-days", "30", "-subj", f"/CN={name}"),
            *("-config", configuration, "-extensions", "root", "-keyout", directory / "ca-key.pem", "-out", directory / "ca.pem"),
        )
        authority.write_revocations()
        return authority

    @property
    def certificate(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def revocations(self) -> Path:
        return self.directory / "crl.pem"

    def _configure(self, usage: str = "clientAuth", names: str = "DNS:localhost") -> Path:
        path = self.directory / "openssl.cnf"
        path.write_text(CONFIGURATION.format(directory=self.directory, usage=usage, names=names))
        return path

    def issue(
        self,
        name: str,
        *,
        usage: str = "clientAuth",
        names: str | None = None,
        starts: timedelta = timedelta(hours=-1),
        ends: timedelta = timedelta(days=7),
        key_type: tuple[str, ...] = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    ) -> Identity:
        """A leaf certificate, valid from now + `starts` to now + `ends`. `names` is a subjectAltName of openssl's syntax."""
        configuration = self._configure(usage, names or f"URI:urn:segue:client:{name}")
        key, request, certificate = (self.directory / f"{name}{suffix}" for suffix in ("-key.pem", ".csr", ".pem"))
        openssl(
            *("req", "-new", "-newkey", *key_type, "-noenc", "-subj", f"/CN={name}"),
            *("-config", configuration, "-keyout", key, "-out", request),
        )
        now = datetime.now(timezone.utc)
        openssl(
            *("ca", "-batch", "-notext", "-config", configuration, "-extensions", "leaf", "-in", request, "-out", certificate),
            *("-startdate", timestamp(now + starts), "-enddate", timestamp(now + ends)),
        )
        return Identity(certificate, key)

    def issue_server(self) -> Identity:
        return self.issue("server", usage="serverAuth", names=SERVER_NAMES)

    def issue_rsa_server(self) -> Identity:
        return self.issue("server-rsa", usage="serverAuth", names=SERVER_NAMES, key_type=("rsa:2048",))

    def self_signed(self, name: str) -> Identity:
        """A certificate that nobody but itself vouches for."""
        configuration = self._configure("clientAuth", f"URI:urn:segue:client:{name}")
        key, certificate = self.directory / f"{name}-key.pem", self.directory / f"{name}.pem"
        openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "7", "-subj", f"/CN={name}"),
            *("-config", configuration, "-extensions", "leaf", "-keyout", key, "-out", certificate),
        )
        return Identity(certificate, key)

    def with_foreign_key(self, name: str) -> Identity:
        """A good certificate with a key file whose public half is the certificate's and whose private half is another: TLS libraries load it
        (they compare the public halves) and sign with the wrong key."""
        identity, other = self.issue(name), self.issue(f"{name}-other")
        keys = []
        for path in (identity.key, other.key):
            octets = subprocess.run(["openssl", "ec", "-in", path, "-outform", "DER"], capture_output=True, check=True, timeout=110).stdout
            # RFC 5915 §3, P-256: SEQUENCE (2), version (3), then the private key's OCTET STRING of 32 octets behind its head (2).
            assert octets[:2] == b"\x30\x77" and octets[5:7] == b"\x04\x20", octets.hex()
            keys.append(octets)
        body = base64.encodebytes(keys[0][:7] + keys[1][7:39] + keys[0][39:]).decode()
        forged = self.directory / f"{name}-forged-key.pem"
        forged.write_text(f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n")
        return Identity(identity.certificate, forged)

    def configuration(self, server: Identity, **tls: object) -> dict:
        """A relay's configuration with this authority for both sides; `tls` replaces members of its `tls`."""
        settings = {
            "certificates": [{"chain": str(server.certificate), "key": str(server.key)}],
            "clientAuthorities": [str(self.certificate)],
            "revocationLists": [str(self.revocations)],
            "clientCertificates": "required",
        }
        return {"listen": ["127.0.0.1:0"], "tls": settings | tls}

    def revoke(self, identity: Identity) -> None:
        openssl("ca", "-batch", "-config", self._configure(), "-revoke", identity.certificate, "-crl_reason", "keyCompromise")
        self.write_revocations()

    def write_revocations(self) -> None:
        """Writes the CRL anew, by rename: the relay must never read half a file."""
        fresh = self.directory / "crl.pem.new"
        openssl("ca", "-gencrl", "-config", self._configure(), "-out", fresh)
        fresh.replace(self.revocations)
