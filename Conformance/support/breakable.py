"""A TCP proxy in front of a relay whose connections can be made to die as connections die: reset, ended, or silent."""

from __future__ import annotations

import copy
import socket
import struct
import threading

from .relay import Relay

RESET = struct.pack("ii", 1, 0)


class Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket):
        self.client, self.server = client, server
        self.frozen = threading.Event()
        self.deaf = threading.Event()
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if self.frozen.is_set() or (source is self.server and self.deaf.is_set()):
                    # A network that is gone: nothing arrives, nothing is refused.
                    continue
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def freeze(self) -> None:
        self.frozen.set()

    def deafen(self) -> None:
        """The client hears nothing any more; what it says still arrives."""
        self.deaf.set()

    def reset(self) -> None:
        """RST to the relay; the client sees its connection end."""
        self.frozen.set()
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        try:
            # close() alone would wait for the thread that is reading.
            self.server.shutdown(socket.SHUT_RD)
        except OSError:
            # It has ended by itself.
            pass
        self._close()

    def end(self) -> None:
        """FIN to the relay, without a word of TLS or WebSocket."""
        self.frozen.set()
        self.server.shutdown(socket.SHUT_WR)
        self._close(keep_server=True)

    def close(self) -> None:
        """In good order, at both ends."""
        for end in (self.client, self.server):
            try:
                # close() alone would wait for the thread that is reading, and the relay for the end of the connection, as long as a drain waits.
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                # It has ended by itself.
                pass
            end.close()

    def _close(self, keep_server: bool = False) -> None:
        for end in [self.client] if keep_server else [self.client, self.server]:
            try:
                if end is self.client:
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            except OSError:
                pass


class Breakable:
    """Use as a context manager; `relay` is what clients are pointed at."""

    def __init__(self, relay: Relay, port: int | None = None):
        """In front of the relay's `port`; without it, of its first with TLS."""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.target = port or relay.port
        self.relay = copy.copy(relay)
        self.relay.port = self.listener.getsockname()[1]
        self.links: list[Link] = []
        self.shut = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                client, _ = self.listener.accept()
                if self.shut.is_set():
                    client.close()
                    continue
                self.links.append(Link(client, socket.create_connection(("127.0.0.1", self.target))))
        except OSError:
            pass

    def shut_out(self) -> None:
        """Nobody gets through any more, until `let_in`."""
        self.shut.set()

    def let_in(self) -> None:
        self.shut.clear()

    @property
    def last(self) -> Link:
        return self.links[-1]

    def __enter__(self) -> Breakable:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        for link in self.links:
            link.close()
