"""TLS for a client that reads in one thread and writes in another.

An OpenSSL connection is for one thread at a time, and CPython 3.11, on which the benches run, lets two into one `SSLSocket` at once (releases that came later
lock it, and others do not again). On a busy machine 5 of 3,000 openings lost their request so, presumably while the reader took the session tickets that follow a TLS 1.3 handshake;
the relay waits for a request as long as for any head, ten seconds, and whatever a bench had begun is over by then. With a lock before the connection, none of
3,000 did. Nobody holds it while it waits for the network.
"""

from __future__ import annotations

import socket
import ssl
import threading

RECORD_BYTES = 1 << 14


class SerialContext:
    """Stands where `websockets` takes an `ssl.SSLContext`, as far as it uses one."""

    def __init__(self, context: ssl.SSLContext):
        self.context = context

    def wrap_socket(self, raw: socket.socket, *, server_hostname: str) -> SerialSocket:
        return SerialSocket(raw, self.context, server_hostname)


class SerialSocket:
    """A blocking socket with TLS. One thread reads; any write."""

    def __init__(self, raw: socket.socket, context: ssl.SSLContext, name: str):
        self.raw = raw
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name)
        self.lock = threading.Lock()
        # Records go out in the order in which they were sealed. Apart from the lock of TLS: who waits until the peer reads must not keep others from reading.
        self.sending = threading.Lock()
        self._shake_hands()

    def _shake_hands(self) -> None:
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
            except ssl.SSLError:
                # The alert that says why.
                self._flush()
                raise
            else:
                self._flush()
                return

    def _flush(self) -> None:
        if self.outgoing.pending:
            self.raw.sendall(self.outgoing.read())

    def _fill(self) -> None:
        data = self.raw.recv(4 * RECORD_BYTES)
        with self.lock:
            if data:
                self.incoming.write(data)
            else:
                self.incoming.write_eof()

    def recv(self, _: int) -> bytes:
        """All that has come, at least one byte; b"" at the end. More than asked for, if more has come: whoever waits for the socket to be readable must not leave any here."""
        while True:
            with self.lock:
                if data := self._decrypted():
                    return data
                if self.incoming.eof:
                    return b""
            self._fill()

    def _decrypted(self) -> bytes:
        # What TLS itself answers, as to a key update, goes with the next message.
        data = b""
        try:
            while part := self.tls.read(RECORD_BYTES):
                data += part
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self.incoming.write_eof()
        except ssl.SSLError:
            if not data:
                raise
        return data

    def sendall(self, data: bytes) -> None:
        with self.sending:
            with self.lock:
                self.tls.write(data)
                sealed = self.outgoing.read()
            self.raw.sendall(sealed)

    def shutdown(self, how: int) -> None:
        self.raw.shutdown(how)

    def close(self) -> None:
        try:
            # Wakes whoever reads: the descriptor may be another's soon.
            self.raw.shutdown(socket.SHUT_RDWR)
        except OSError:
            # It has ended by itself.
            pass
        self.raw.close()

    def settimeout(self, seconds: float | None) -> None:
        self.raw.settimeout(seconds)

    def fileno(self) -> int:
        return self.raw.fileno()
