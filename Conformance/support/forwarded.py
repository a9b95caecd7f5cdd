"""A port of this machine behind which connections go on wherever a function makes them: for clients that cannot be put into a network namespace themselves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable


class Forwarded:
    """Use as a context manager; clients are pointed at `port`.

    What it has taken from one side it gives to the other before it takes more, with the kernel's smallest buffers, so that a slow link behind it is felt
    in front of it.
    """

    def __init__(self, connect: Callable[[], socket.socket]):
        self.connect = connect
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = self.connect()
        except OSError:
            # As if nobody listened.
            client.close()
            return
        self.ends += [client, server]
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(16_384):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, target):
                end.close()

    def __enter__(self) -> Forwarded:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        for end in self.ends:
            end.close()
