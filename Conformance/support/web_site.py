"""A relay that serves the web client, and who may come in: by a client's certificate, or by a token in the address."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .admin import ADMIN, POLICY
from .authority import Authority
from .relay import REPOSITORY, Identity, Relay

ASSEMBLE_SECONDS_MAX = 900
AUDIENCE, ISSUER = "segue", "https://id.example"


def web_folder() -> Path:
    """What is served: the web client with the jitter buffer as WebAssembly, assembled by Deploy/web; or what BROWSER_WEB names."""
    if named := os.environ.get("BROWSER_WEB"):
        return Path(named).absolute()
    done = subprocess.run([REPOSITORY / "Deploy/web"], cwd=REPOSITORY, capture_output=True, text=True, timeout=ASSEMBLE_SECONDS_MAX)
    assert done.returncode == 0, done.stdout + done.stderr
    return REPOSITORY / ".build/web"


@dataclass
class Site:
    """`config` starts the same relay anew; `token` makes a bearer token for a subject."""

    relay: Relay
    authority: Authority
    config: dict
    token: Callable[[str], str]
    identities: dict[str, Identity]

    @classmethod
    def create(
        cls,
        start_relay: Callable[..., Relay],
        folder: Path,
        *,
        token: Callable[[str], str],
        keys: Path,
        names: tuple[str, ...] = ("ann",),
        listen: str = "127.0.0.1:0",
        **options: object,
    ) -> Site:
        """`keys` is the JWK set that the tokens are held against. `names` get certificates. Further options go to `start_relay`."""
        authority = Authority.create(folder / "ca")
        server = authority.issue_server()
        identities = {name: authority.issue(name) for name in (ADMIN.rpartition(":")[2], *names)}
        config = {
            "listen": [listen],
            "web": str(web_folder()),
            "policy": POLICY,
            # Pages leave when they are told that the relay goes; those that do not are not waited for long.
            "drainMilliseconds": 2_000,
            "tls": {
                "certificates": [{"chain": str(server.certificate), "key": str(server.key)}],
                "clientAuthorities": [str(authority.certificate)],
                "clientCertificates": "optional",
            },
            "tokens": {"keys": str(keys), "issuer": ISSUER, "audience": AUDIENCE},
        }
        operator = identities[ADMIN.rpartition(":")[2]]
        relay = start_relay("site", config=config, authority=authority.certificate, identity=operator, **options)
        return cls(relay, authority, config, token, identities)

    def link(self, room: str, subject: str | None = None, port: int | None = None) -> str:
        """The address of a room; with the subject's token if there is one. The token stands in the fragment, which no server is sent."""
        token = f"?token={self.token(subject)}" if subject else ""
        return f"https://localhost:{port or self.relay.port}/#/r/{room}{token}"

    def restart(self, start_relay: Callable[..., Relay], stop: Callable[[Relay], None] = Relay.stop) -> None:
        """Ends the relay and starts another on the same port, with nothing of the old one's sessions."""
        port, identity = self.relay.port, self.relay.identity
        stop(self.relay)
        config = self.config | {"listen": [f"{self.config['listen'][0].rpartition(':')[0]}:{port}"]}
        self.relay = start_relay("site-again", config=config, authority=self.authority.certificate, identity=identity)
