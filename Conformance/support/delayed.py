"""A TCP proxy in front of a relay through which everything takes so long, each way, and which can hold everything up."""

from __future__ import annotations

import copy
import queue
import socket
import threading
import time

from .relay import Relay


class Delayed:
    """Use as a context manager; `relay` is what clients are pointed at."""

    def __init__(self, relay: Relay, seconds: float):
        self.seconds, self.target = seconds, relay.port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.relay = copy.copy(relay)
        self.relay.port = self.listener.getsockname()[1]
        self.ends: list[socket.socket] = []
        self.flows = threading.Event()
        self.flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.ends += [client, server]
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, target in ((client, server), (server, client)):
                    under_way: queue.SimpleQueue = queue.SimpleQueue()
                    threading.Thread(target=self._take, args=(source, under_way), daemon=True).start()
                    threading.Thread(target=self._give, args=(target, under_way), daemon=True).start()
        except OSError:
            pass

    def _take(self, source: socket.socket, under_way: queue.SimpleQueue) -> None:
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            under_way.put((time.monotonic() + self.seconds, data))

    def _give(self, target: socket.socket, under_way: queue.SimpleQueue) -> None:
        try:
            while True:
                due, data = under_way.get()
                time.sleep(max(0.0, due - time.monotonic()))
                self.flows.wait()
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
        except OSError:
            pass

    def hold(self) -> None:
        """Nothing goes on either way, until it is released: then everything at once."""
        self.flows.clear()

    def release(self) -> None:
        self.flows.set()

    def __enter__(self) -> Delayed:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self.listener.close()
        for end in self.ends:
            end.close()
