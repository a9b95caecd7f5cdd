"""A publisher of one picture in several encodings, as a real client would be: it sends what is wanted, and begins a layer with a key frame."""

from __future__ import annotations

import struct
import time

from .session import CONFIGURATION, KEY, VIDEO, Frame, Session

FRAMES_PER_SECOND = 25
# Of the layers 0, 1, 2: 100 kbit/s, 300 kbit/s, 1 Mbit/s.
FRAME_BYTES = (500, 1_500, 5_000)


def layer_of(frame: Frame) -> int:
    return frame.message[2] >> 4


def temporal_of(frame: Frame) -> int:
    return frame.message[2] & 15


class SimulcastPublisher:
    """Sends a frame of each wanted layer at every step; payloads begin with the layer and the picture's number."""

    def __init__(self, session: Session, *, obeys: bool = True, declares: bool = True, **members):
        self.session, self.obeys = session, obeys
        layers = [{"width": 320 << layer, "height": 180 << layer, "frameRate": FRAMES_PER_SECOND} for layer in range(3)]
        if declares:
            members["layers"] = layers
        self.stream = session.ask("publish", kind="video", codec="vp8", source="camera", **members)["stream"]
        self.sequences, self.picture = [0, 0, 0], 0
        # By layer: the highest temporal layer that is wanted. Until something else is said, everything is.
        self.wanted: dict[int, int] = {0: 7, 1: 7, 2: 7}
        self.needs_key = {0, 1, 2}
        self.key_frames_requested: list[int] = []
        self.wanted_told: list[dict[int, int]] = []
        for layer in range(3):
            self._send(layer, CONFIGURATION, 0, b"configuration %d" % layer)

    def _send(self, layer: int, kind: int, flags: int, payload: bytes) -> None:
        head = struct.pack("!BBBBIII", 0x10 | kind, flags, layer << 4, 0x7F, self.stream, self.sequences[layer], self.picture * 90_000 // FRAMES_PER_SECOND)
        self.session.send_message(head + payload)
        if kind == VIDEO:
            self.sequences[layer] += 1

    def hear(self) -> None:
        """Takes in what the relay said."""
        for event in self.session.events:
            if event.get("stream") != self.stream:
                continue
            if event["type"] == "keyframe.requested":
                self.key_frames_requested.append(event["layer"])
                self.needs_key.add(event["layer"])
            elif event["type"] == "layers.wanted":
                told = {layer["spatial"]: layer["temporal"] for layer in event["layers"]}
                self.wanted_told.append(told)
                self.needs_key |= told.keys() - self.wanted.keys()
                self.wanted = told
        self.session.events.clear()

    def step(self) -> None:
        self.session.drain(0.001)
        self.hear()
        for layer in sorted(self.wanted) if self.obeys else range(3):
            is_key = layer in self.needs_key
            self.needs_key.discard(layer)
            payload = b"%d %d " % (layer, self.picture)
            self._send(layer, VIDEO, KEY if is_key else 0, payload.ljust(FRAME_BYTES[layer] * (3 if is_key else 1), b"."))
        self.picture += 1

    def run(self, seconds: float, *listeners: Session, until=None) -> None:
        """Sends in real time while listeners listen, for so long or until something holds."""
        start, pictures = time.monotonic(), 0
        while (elapsed := time.monotonic() - start) < seconds:
            if until is not None and until():
                return
            while pictures <= elapsed * FRAMES_PER_SECOND:
                self.step()
                pictures += 1
            for listener in listeners or [self.session]:
                listener.drain(0.02 / max(len(listeners), 1))
        assert until is None, f"not within {seconds} s; wanted: {self.wanted_told[-3:]}"


def assert_decodable(frames: list[Frame], stream: int) -> None:
    """Every layer begins with its configuration and a key frame, and none of its frames is missing until another takes its place."""
    layer, sequence, configuration = None, None, None
    for frame in frames:
        if frame.stream != stream:
            continue
        if frame.kind == CONFIGURATION:
            configuration = frame.payload
            continue
        if layer_of(frame) != layer or frame.flags & KEY:
            assert frame.flags & KEY, f"layer {layer_of(frame)} begins without a key frame"
            assert configuration == b"configuration %d" % layer_of(frame), f"layer {layer_of(frame)} after {configuration!r}"
        else:
            assert frame.sequence == sequence + 1, f"{sequence} is followed by {frame.sequence}"
        layer, sequence = layer_of(frame), frame.sequence
