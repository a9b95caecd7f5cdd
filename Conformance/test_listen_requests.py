"""What `segue listen` asks, and when, as a relay sees it that is not ours: Python `websockets` over TLS."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from support.authority import Authority
from support.relay import binary
from websockets.sync.server import ServerConnection, serve

SECONDS_MAX = 30
LIMITS = {"controlMessageBytesMax": 65_536, "audioFrameBytesMax": 8_192, "videoFrameBytesMax": 4_194_304, "dataFrameBytesMax": 262_144}
LIMITS |= {"streamsPerParticipantMax": 16, "controlMessagesPerSecondMax": 200}
WELCOME = {"type": "welcome", "version": 1, "session": "00" * 16, "node": "double", "serverTime": 1.8e12, "limits": LIMITS}
ROOM = {"participant": 1, "participants": [], "streams": [], "locked": False}


class Double:
    """Says welcome, and answers `join` only when a `subscribe` has come behind it; `lobby`: that there is a lobby first."""

    def __init__(self, lobby: bool):
        self.lobby, self.asked = lobby, []
        self.done = threading.Event()

    def __call__(self, connection: ServerConnection) -> None:
        join = None
        for text in connection:
            request = json.loads(text)
            kind, number = request["type"], request["id"]
            self.asked.append(kind)
            if kind == "hello":
                connection.send(json.dumps(WELCOME | {"id": number}))
            elif kind == "join":
                join = number
            elif kind == "subscribe" and self.lobby:
                self.lobby = False
                connection.send(json.dumps({"type": "ok", "id": join, "state": "waiting", "room": "demo"}))
                connection.send(json.dumps({"type": "error", "id": number, "code": "not_in_room", "message": "Not in a room.", "retry": False}))
                connection.send(json.dumps({"type": "room.admitted", "room": "demo", "role": "listener", **ROOM}))
            elif kind == "subscribe":
                if join is not None and self.asked.count("subscribe") == 1:
                    connection.send(json.dumps({"type": "ok", "id": join, "room": "demo", "role": "listener", **ROOM}))
                connection.send(json.dumps({"type": "ok", "id": number, "subscribed": []}))
                self.done.set()


@pytest.mark.parametrize(("lobby", "asked"), [(False, ["join", "subscribe"]), (True, ["join", "subscribe", "subscribe"])], ids=["room", "lobby"])
def test_listen_subscribes_behind_join_without_waiting_for_the_answer(tmp_path: Path, lobby: bool, asked: list[str]) -> None:
    authority = Authority.create(tmp_path / "ca")
    server, client = authority.issue_server(), authority.issue("bob")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(server.certificate, server.key)
    double = Double(lobby)
    with serve(double, "127.0.0.1", 0, ssl=context, subprotocols=["segue.v1"]) as relay:
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        port = relay.socket.getsockname()[1]
        command = [binary(), "listen", "--room", "demo", "--connect", f"localhost:{port}", "--http", "1.1", "--ca", authority.certificate]
        command += ["--cert", client.certificate, "--key", client.key, "--json", "--for", str(SECONDS_MAX)]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            # A client that waits for the answer to its join waits for ever.
            assert double.done.wait(SECONDS_MAX), (double.asked, process.poll() is not None and process.communicate())
            assert any('"listening"' in line for line in iter(process.stdout.readline, ""))
        finally:
            process.kill()
            process.communicate()
            relay.shutdown()
    assert [kind for kind in double.asked if kind in ("join", "subscribe")] == asked
