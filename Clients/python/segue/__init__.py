"""A client of the Segue relay for asyncio: `Client`, and what it gives and raises. README.md is a tour, Sources/PROTOCOL.md the protocol."""

from .client import Client
from .connection import tls_context
from .errors import Closed, ConnectionFailed, ConnectionLost, FrameError, HandshakeRefused, MessageError, NoAnswer, Refused, SegueError
from .feed import Feed
from .frames import Flag, Frame, Kind, Limits, Packet, Unpacker, decode, encode, ntp_from_unix, unix_from_ntp
from .publication import Publication
from .room import Participant, Room, Stream

__all__ = [
    "Client",
    "Closed",
    "ConnectionFailed",
    "ConnectionLost",
    "Feed",
    "Flag",
    "Frame",
    "FrameError",
    "HandshakeRefused",
    "Kind",
    "Limits",
    "MessageError",
    "NoAnswer",
    "Packet",
    "Participant",
    "Publication",
    "Refused",
    "Room",
    "SegueError",
    "Stream",
    "Unpacker",
    "decode",
    "encode",
    "ntp_from_unix",
    "tls_context",
    "unix_from_ntp",
]
