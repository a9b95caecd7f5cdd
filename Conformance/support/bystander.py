"""A well-behaved client on a connection of its own, at work while somebody else misbehaves."""

from __future__ import annotations

import threading
import time

from .h2_websocket import H2Client
from .raw_websocket import PING, PONG, TEXT, RawWebSocket, frame
from .relay import Relay


class Bystander:
    """Echoes over HTTP/1.1 and over HTTP/2 in a thread until the block ends; then tells whether every echo came back, and that there were some."""

    def __init__(self, relay: Relay):
        self.relay = relay
        self.echoes = 0
        self.fault: BaseException | None = None
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            with RawWebSocket(self.relay.port, self.relay.context()) as first, H2Client(self.relay.port, self.relay.context(alpn=("h2",))) as client:
                second = client.open_websocket("/echo")
                self._ready.set()
                while not self._stop.is_set():
                    text = f"echo {self.echoes}"
                    first.send(frame(TEXT, text.encode()))
                    assert self._next(first) == (TEXT, text.encode(), True)
                    second.send_text(text)
                    assert second.receive() == text
                    self.echoes += 1
                    time.sleep(0.01)
        except BaseException as fault:  # told to the thread that asked
            self.fault = fault
        finally:
            self._ready.set()

    @staticmethod
    def _next(client: RawWebSocket) -> tuple[int, bytes, bool] | None:
        """The next frame that is no ping; pings, which a relay sends every 15 s, are answered."""
        while (received := client.receive()) is not None and received[0] == PING:
            client.send(frame(PONG, received[1]))
        return received

    def __enter__(self) -> Bystander:
        self._thread.start()
        self._ready.wait(20)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        before = self.echoes
        deadline = time.monotonic() + 20
        while kind is None and self.fault is None and self.echoes < before + 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        self._stop.set()
        self._thread.join(20)
        if kind is None:
            assert self.fault is None, f"a well-behaved client was harmed: {self.fault!r}"
            assert self.echoes >= before + 3, "a well-behaved client got no echo any more"
