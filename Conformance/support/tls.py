"""TLS contexts of test clients, and the alert that a handshake ended with."""

from __future__ import annotations

import re
import socket
import ssl
from pathlib import Path

SECONDS_MAX = 10


def client_context(
    authority: Path,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    alpn: tuple[str, ...] = (),
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
    maximum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    context.minimum_version = minimum
    context.maximum_version = maximum
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def connect(
    port: int,
    context: ssl.SSLContext | None,
    *,
    session: ssl.SSLSession | None = None,
    name: str = "localhost",
    prelude: bytes = b"",
    host: str = "127.0.0.1",
) -> socket.socket:
    """A connection to the relay, on loopback unless another `host` is given: TLS, or without a context plain TCP. `prelude` goes before everything, as a proxy's header does."""
    raw = socket.create_connection((host, port), timeout=SECONDS_MAX)
    try:
        if prelude:
            raw.sendall(prelude)
        if context is None:
            return raw
        return context.wrap_socket(raw, server_hostname=name, session=session)
    except BaseException:
        raw.close()
        raise


def alert_of(fault: ssl.SSLError) -> str:
    """The alert's name in the RFC's words (`certificate_expired`), or OpenSSL's reason in lower case when it was no alert."""
    reason = (fault.reason or str(fault)).lower()
    found = re.search(r"alert_(\w+)", reason)
    return found.group(1) if found else reason


def refusal_of(port: int, context: ssl.SSLContext, *, session: ssl.SSLSession | None = None) -> str | None:
    """Shakes hands and waits for what the server says to that: the alert's name, or None when the client was let in.

    In TLS 1.3 the server judges the client's certificate after the client is done, so the verdict is the first thing to read. Nothing is sent
    before that: data that the server has not read would turn its alert into a connection reset.
    """
    try:
        with connect(port, context, session=session) as client:
            client.settimeout(1.0)
            try:
                return None if client.recv(1) else "closed"
            except TimeoutError:
                client.settimeout(SECONDS_MAX)
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return None if client.recv(16).startswith(b"HTTP/1.1 200") else "closed"
    except ssl.SSLError as fault:
        return alert_of(fault)
